/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions and their terminal, which is the serial line, or a new one where the system has such.
 * The line of a shell is that shell's: nothing is tried, unless filecheck took the shell's place.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "filecheck/filecheck.h"

static const char *terminal = "/dev/ttyS0";
static volatile int nr_sizes;

static void has_no_terminal(void)
{
	EXPECT_ERROR(ENXIO, open("/dev/tty", O_RDWR));
}

static void begin_session(void *unused)
{
	(void)unused;
	EXPECT(setsid() == getpid());
	has_no_terminal();
}

/* The terminal of one session is not another's until the first leaves it. */
static void try_as_another(void *unused)
{
	int fd;

	begin_session(unused);
	fd = open(terminal, O_RDWR);
	EXPECT(fd >= 0);
	has_no_terminal();
	EXPECT_ERROR(EPERM, ioctl(fd, TIOCSCTTY, 0));
	has_no_terminal();
}

/* Only the leader of a session can give it a terminal. */
static void try_as_member(void *unused)
{
	int fd;

	(void)unused;
	fd = open(terminal, O_RDWR);
	EXPECT(fd >= 0);
	has_no_terminal();
	EXPECT_ERROR(EPERM, ioctl(fd, TIOCSCTTY, 0));
	has_no_terminal();
}

static void await_hangup(void *unused)
{
	(void)unused;
	alarm(5);
	for (;;)
		pause();
}

/* A group of another session cannot be in the foreground; one of this session is, if told. */
static void change_foreground(int fd, pid_t other)
{
	pid_t child = spawn(await_hangup, NULL);

	EXPECT(!setpgid(child, child));
	EXPECT_ERROR(EINVAL, tcsetpgrp(fd, -1));
	EXPECT_ERROR(EPERM, tcsetpgrp(fd, other));
	EXPECT_ERROR(ESRCH, tcsetpgrp(fd, 0));
	EXPECT_ERROR(ESRCH, tcsetpgrp(fd, 99999));
	EXPECT(tcgetpgrp(fd) == getpgrp() && !tcsetpgrp(fd, child) && tcgetpgrp(fd) == child);
	/* In the background, where nobody would continue the leader if that stopped it. */
	EXPECT_ERROR(ENOTTY, tcsetpgrp(fd, getpgrp()));
	signal(SIGTTOU, SIG_IGN);
	EXPECT(!tcsetpgrp(fd, getpgrp()) && tcgetpgrp(fd) == getpgrp());
	EXPECT(!tcsetpgrp(fd, child));
}

static void count_size(int sig)
{
	nr_sizes += sig == SIGWINCH;
}

/* The foreground is told of another size, not of the same again. */
static void change_size(int fd)
{
	struct winsize old, new = { .ws_row = 31, .ws_col = 97 }, seen;

	signal(SIGWINCH, count_size);
	EXPECT(!ioctl(fd, TIOCGWINSZ, &old) && !ioctl(fd, TIOCSWINSZ, &new) && nr_sizes == 1);
	EXPECT(!ioctl(fd, TIOCGWINSZ, &seen) && seen.ws_row == 31 && seen.ws_col == 97);
	EXPECT(!ioctl(fd, TIOCSWINSZ, &new) && nr_sizes == 1);
	EXPECT(!ioctl(fd, TIOCSWINSZ, &old) && nr_sizes == 2);
}

static void lead(void *arg)
{
	pid_t other = *(pid_t *)arg;
	int fd, status;

	begin_session(NULL);
	fd = open(terminal, O_RDWR | O_NOCTTY);
	EXPECT(fd >= 0);
	has_no_terminal();
	EXPECT_ERROR(ENOTTY, tcgetpgrp(fd));
	EXPECT_ERROR(ENOTTY, tcsetpgrp(fd, getpgrp()));
	await_child(spawn(try_as_member, NULL));
	EXPECT(open(terminal, O_RDWR) >= 0 && open("/dev/tty", O_RDWR) >= 0);
	EXPECT(tcgetsid(fd) == getpid() && !ioctl(fd, TIOCSCTTY, 0));
	await_child(spawn(try_as_another, NULL));
	change_size(fd);
	EXPECT(!tcflush(fd, TCIFLUSH) && !tcflush(fd, TCOFLUSH) && !tcflush(fd, TCIOFLUSH));
	EXPECT_ERROR(EINVAL, tcflush(fd, 3));
	change_foreground(fd, other);
	/* Giving the terminal up hangs up on its foreground. */
	EXPECT(!ioctl(fd, TIOCNOTTY));
	EXPECT(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
	has_no_terminal();
	EXPECT(!ioctl(fd, TIOCSCTTY, 0) && tcgetpgrp(fd) == getpgrp());
}

void leave_terminal(void)
{
	if (getsid(0) != getpid() || access(terminal, F_OK))
		return;
	signal(SIGHUP, SIG_IGN); /* it hangs up on itself, too */
	ioctl(STDIN_FILENO, TIOCNOTTY);
	signal(SIGHUP, SIG_DFL);
}

static void sessions_and_terminals(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	pid_t group = getpgrp();

	await_child(spawn(begin_session, NULL));
	if (master >= 0) {
		EXPECT(!grantpt(master) && !unlockpt(master));
		terminal = ptsname(master);
	} else if (open("/dev/tty", O_RDWR) >= 0) {
		puts("# not tried: the serial line is a shell's; try `exec filecheck`");
		return;
	}
	await_child(spawn(lead, &group));
	await_child(spawn(lead, &group)); /* the first has left it */
}

const struct check terminal_tests[] = {
	{ "sessions-and-terminals", sessions_and_terminals },
	{ NULL, NULL },
};
