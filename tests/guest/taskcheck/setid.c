/* SPDX-License-Identifier: GPL-2.0-only */
/* exec with descriptors or a place that others share; programs that act for others. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "taskcheck/taskcheck.h"

enum { ALICE = 1001, BOB = 1002 };

/* --- the program that says what it was given ------------------------------------------- */

enum { TOLD = 64, FOR_BOB = 1, SECURE = 2, DIES_WITH_PARENT = 4 };

/* AT_SECURE as the kernel put it; musl's getauxval() has an opinion of its own. */
static bool is_secure(void)
{
	const unsigned long *word;
	char **end = environ;

	while (*end)
		end++;
	for (word = (unsigned long *)(end + 1); word[0]; word += 2)
		if (word[0] == AT_SECURE)
			return word[1];
	return false;
}

int tell_what_exec_gave(void)
{
	int signal = 0;

	while (waitpid(-1, NULL, __WALL) > 0)
		;
	prctl(PR_GET_PDEATHSIG, &signal);
	return TOLD | (geteuid() == BOB ? FOR_BOB : 0) | (is_secure() ? SECURE : 0) |
	       (signal ? DIES_WITH_PARENT : 0);
}

static _Noreturn void run(const char *program)
{
	char tell[] = TELL "=1", *envp[] = { tell, NULL };

	execle(program, program, NULL, envp);
	_exit(127);
}

static void copy_self(const char *to, uid_t owner, mode_t mode)
{
	int in = open("/proc/self/exe", O_RDONLY), out = open(to, O_CREAT | O_WRONLY, 0600);
	char bytes[4096];
	ssize_t n;

	EXPECT(in >= 0 && out >= 0);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		EXPECT(write(out, bytes, (size_t)n) == n);
	EXPECT(!n && !fchown(out, owner, owner) && !fchmod(out, mode));
	EXPECT(!close(in) && !close(out));
}

static pid_t clone_with(unsigned long flags)
{
	pid_t pid = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);

	EXPECT(pid >= 0);
	return pid;
}

/* --- the descriptor table ------------------------------------------------------------------ */

static void exec_leaves_a_shared_table(void)
{
	int kept = open("/dev/null", O_RDONLY | O_CLOEXEC), other = open("/dev/null", O_RDONLY);
	pid_t pid;

	EXPECT(kept >= 0 && other >= 0 && dup2(other, 9) == 9);
	pid = clone_with(CLONE_FILES | SIGCHLD);
	if (!pid) {
		execlp("sh", "sh", "-c", "exec 9<&- 8</dev/null", NULL);
		_exit(127);
	}
	await_child(pid);
	EXPECT(fcntl(kept, F_GETFD) == FD_CLOEXEC);
	EXPECT(fcntl(9, F_GETFD) == 0);
	EXPECT_ERROR(EBADF, fcntl(8, F_GETFD));
}

static atomic_int over;

static void *open_and_close(void *first)
{
	while (!over)
		for (int fd = *(int *)first; fd < *(int *)first + 20; fd++) {
			dup3(0, fd, O_CLOEXEC);
			close(fd);
		}
	return NULL;
}

static void exec_beside_closing_threads(void)
{
	int first[2] = { 20, 40 };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		EXPECT(!pthread_create(&threads[i], NULL, open_and_close, &first[i]));
	for (int i = 0; i < 100; i++) {
		pid_t pid = clone_with(CLONE_FILES | SIGCHLD);

		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(127);
		}
		await_child(pid);
	}
	over = 1;
	for (int i = 0; i < 2; i++)
		EXPECT(!pthread_join(threads[i], NULL));
}

/* --- who it acts for ------------------------------------------------------------------------- */

/* Make the programs "plain" and "bobs"; false where the test cannot be made. */
static bool make_programs(void)
{
	struct statvfs fs;

	if (geteuid() || statvfs(".", &fs) || (fs.f_flag & ST_NOSUID))
		return false;
	EXPECT(!chmod(".", 0755));
	copy_self("plain", 0, 0755);
	copy_self("bobs", BOB, 04755);
	return true;
}

/* The answer of @program, run by a child of ALICE made with @flags, after @prepare. */
static int told_by(const char *program, unsigned long flags, void (*prepare)(void))
{
	pid_t pid;
	int said;

	pid = fork();
	if (!pid) {
		become(ALICE);
		pid = clone_with(flags | SIGCHLD);
		if (!pid) {
			if (prepare)
				prepare();
			run(program);
		}
		said = status_of(pid, 0);
		_exit(WIFEXITED(said) ? WEXITSTATUS(said) : 126);
	}
	said = status_of(pid, 0);
	EXPECT(WIFEXITED(said) && (WEXITSTATUS(said) & TOLD));
	return WEXITSTATUS(said) - TOLD;
}

static void give_up_privileges(void)
{
	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static void die_with_parent(void)
{
	EXPECT(!prctl(PR_SET_PDEATHSIG, SIGKILL));
}

/* A child whose end, after the exec, would kill this process. */
static void have_a_dangerous_child(void)
{
	int until_exec[2];
	char byte;

	EXPECT(!pipe2(until_exec, O_CLOEXEC));
	if (clone_with(SIGKILL))
		return;
	close(until_exec[1]);
	_exit((int)read(until_exec[0], &byte, 1));
}

static void a_set_id_program_is_safe_from_its_caller(void)
{
	if (!make_programs())
		return;
	EXPECT(told_by("./plain", 0, NULL) == 0);
	EXPECT(told_by("./bobs", 0, NULL) == (FOR_BOB | SECURE));
	EXPECT(told_by("./bobs", CLONE_FILES, NULL) == (FOR_BOB | SECURE));
	EXPECT(told_by("./bobs", CLONE_FS, NULL) == SECURE);
	EXPECT(told_by("./bobs", 0, give_up_privileges) == 0);
	EXPECT(told_by("./plain", 0, die_with_parent) == DIES_WITH_PARENT);
	EXPECT(told_by("./bobs", 0, die_with_parent) == (FOR_BOB | SECURE));
	EXPECT(told_by("./plain", 0, have_a_dangerous_child) == 0);
	EXPECT(told_by("./bobs", 0, have_a_dangerous_child) == (FOR_BOB | SECURE));
}

/* A program that acts for another user is told so, even if its own file gives nothing. */
static void the_difference_is_told(void)
{
	int said;
	pid_t pid;

	if (!make_programs())
		return;
	pid = fork();
	if (!pid) {
		EXPECT(!setresuid(ALICE, BOB, BOB));
		run("./plain");
	}
	said = status_of(pid, 0);
	EXPECT(WIFEXITED(said) && WEXITSTATUS(said) == (TOLD | FOR_BOB | SECURE));
}

const struct check exec_tests[] = {
	{ "exec-leaves-a-table", exec_leaves_a_shared_table },
	{ "exec-beside-threads", exec_beside_closing_threads },
	{ "set-id-is-safe", a_set_id_program_is_safe_from_its_caller },
	{ "difference-is-told", the_difference_is_told },
	{ NULL, NULL },
};
