/* SPDX-License-Identifier: GPL-2.0-only */
/* Users, groups, capabilities: kept, inherited, and obeyed by signals, nice, policies and files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "taskcheck/taskcheck.h"

enum { CAP_KILL = 5, CAP_SETGID, CAP_SETUID };
enum { ALICE = 1001, BOB = 1002, STAFF = 50, GAMES = 60 };

/* A process of user 0 that ends with the test, which may not end it: then the pipe is closed. */
static pid_t spawn_of_root(void)
{
	int alive[2];
	char byte;

	EXPECT(!pipe(alive));
	pid_t pid = fork();
	EXPECT(pid >= 0);
	if (pid)
		return pid;
	close(alive[1]);
	while (read(alive[0], &byte, 1) < 0)
		;
	_exit(0);
}

/* Every test that gives its user up runs as a child, so only these need user 0. */
static void need_root(void)
{
	if (geteuid())
		_exit(0);
}

static void ids_are_kept(void)
{
	uid_t r, e, s;
	gid_t groups[2] = { STAFF, GAMES }, got[4];

	need_root();
	EXPECT(!setgroups(2, groups));
	EXPECT(getgroups(0, NULL) == 2 && getgroups(4, got) == 2);
	EXPECT(got[0] == STAFF && got[1] == GAMES);
	EXPECT_ERROR(EINVAL, getgroups(1, got));
	EXPECT(!setresgid(1, 2, 3));
	EXPECT(!getresgid(&r, &e, &s) && r == 1 && e == 2 && s == 3);
	EXPECT(!setresuid(ALICE, BOB, ALICE));
	EXPECT(getuid() == ALICE && geteuid() == BOB);
	EXPECT_ERROR(EPERM, setresuid(0, -1, -1));
	EXPECT_ERROR(EPERM, setgroups(0, NULL));
	EXPECT(!setreuid(-1, ALICE));
	EXPECT_ERROR(EPERM, setuid(BOB));
	EXPECT(!getresuid(&r, &e, &s) && r == ALICE && e == ALICE && s == ALICE);
}

static void effective_user_comes_back(void)
{
	need_root();
	EXPECT(!seteuid(ALICE));
	EXPECT(geteuid() == ALICE && getuid() == 0);
	EXPECT_ERROR(EPERM, setgroups(0, NULL));
	EXPECT(!seteuid(0));
	EXPECT(!setgroups(0, NULL));
}

static void children_inherit(void)
{
	need_root();
	become(ALICE);
	pid_t pid = fork();
	EXPECT(pid >= 0);
	if (!pid)
		_exit(getuid() == ALICE && getegid() == ALICE ? 0 : 1);
	await_child(pid);
}

static void strangers_cannot_signal(void)
{
	need_root();
	pid_t root = spawn_of_root(), own;

	become(ALICE);
	EXPECT_ERROR(EPERM, kill(root, SIGTERM));
	EXPECT_ERROR(EPERM, kill(root, 0));
	EXPECT(!kill(root, SIGCONT)); /* of one session */
	own = spawn_pausing();
	EXPECT(!kill(own, SIGTERM));
	EXPECT(WTERMSIG(status_of(own, 0)) == SIGTERM);
}

static void only_root_hurries(void)
{
	struct sched_param fifo = { .sched_priority = 1 }, normal = { 0 };
	struct rlimit none = { 0, 0 };
	pid_t root;

	need_root();
	EXPECT(!setrlimit(RLIMIT_NICE, &none) && !setrlimit(RLIMIT_RTPRIO, &none));
	EXPECT(!setpriority(PRIO_PROCESS, 0, 0));
	root = spawn_of_root();
	become(ALICE);
	EXPECT(!setpriority(PRIO_PROCESS, 0, 5));
	EXPECT_ERROR(EACCES, setpriority(PRIO_PROCESS, 0, 4));
	EXPECT_ERROR(EPERM, setpriority(PRIO_PROCESS, root, 10));
	EXPECT_ERROR(EPERM, syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &fifo));
	EXPECT_ERROR(EPERM, syscall(SYS_sched_setscheduler, root, SCHED_BATCH, &normal));
	EXPECT(!syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &normal));
	cpu_set_t all;
	EXPECT(!sched_getaffinity(0, sizeof(all), &all));
	EXPECT_ERROR(EPERM, sched_setaffinity(root, sizeof(all), &all));
	EXPECT(!sched_setaffinity(0, sizeof(all), &all));
	EXPECT_ERROR(EPERM, setrlimit(RLIMIT_NICE, &(struct rlimit){ 0, 20 }));
}

/* Parameters that nobody may have are invalid to a user without privileges, too. */
static void invalid_before_forbidden(void)
{
	struct sched_param none = { 0 }, some = { .sched_priority = 1 },
			   more = { .sched_priority = 100 };
	struct sched_attr0 too_long = { .size = sizeof(too_long),
					.policy = SCHED_DEADLINE,
					.runtime = 3 * MS,
					.deadline = 2 * MS,
					.period = 4 * MS };
	struct rlimit nothing = { 0, 0 };

	need_root();
	EXPECT(!setrlimit(RLIMIT_RTPRIO, &nothing));
	become(ALICE);
	EXPECT_ERROR(EINVAL, syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &none));
	EXPECT_ERROR(EINVAL, syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &more));
	EXPECT_ERROR(EINVAL, syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &some));
	EXPECT_ERROR(EINVAL, syscall(SYS_sched_setscheduler, 0, 99, &none));
	EXPECT_ERROR(EINVAL, syscall(SYS_sched_setscheduler, 1, 99, &none));
	EXPECT_ERROR(EINVAL, syscall(SYS_sched_setattr, 0, &too_long, 0));
	too_long.runtime = too_long.deadline;
	EXPECT_ERROR(EPERM, syscall(SYS_sched_setattr, 0, &too_long, 0));
}

static void limits_allow_what_they_say(void)
{
	struct sched_param fifo = { .sched_priority = 5 }, more = { .sched_priority = 6 };

	need_root();
	if (setrlimit(RLIMIT_NICE, &(struct rlimit){ 25, 25 }))
		return; /* a container that may not raise limits */
	EXPECT(!setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 5, 5 }));
	EXPECT(!setpriority(PRIO_PROCESS, 0, 0));
	become(ALICE);
	EXPECT(!setpriority(PRIO_PROCESS, 0, -5));
	EXPECT_ERROR(EACCES, setpriority(PRIO_PROCESS, 0, -6));
	EXPECT_ERROR(EPERM, syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &more));
	EXPECT(!syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &fifo));
}

static void files_have_owners(void)
{
	struct stat st;
	int fd;

	need_root();
	EXPECT(!chmod(".", 0755));
	EXPECT((fd = open("secret", O_CREAT | O_WRONLY, 0600)) >= 0 && !close(fd));
	EXPECT((fd = open("public", O_CREAT | O_WRONLY, 0644)) >= 0 && !close(fd));
	EXPECT(!mkdir("hers", 0755) && !chown("hers", ALICE, ALICE));
	EXPECT(!mkdir("common", 0755) && !chmod("common", 01777));
	EXPECT((fd = open("common/root", O_CREAT | O_WRONLY, 0644)) >= 0 && !close(fd));
	EXPECT(!mkdir("hall", 0755) && !chown("hall", ALICE, ALICE) && !chmod("hall", 01777));
	EXPECT((fd = open("hall/root", O_CREAT | O_WRONLY, 0644)) >= 0 && !close(fd));
	become(ALICE);
	EXPECT(!unlink("hall/root"));
	EXPECT_ERROR(EACCES, open("secret", O_RDONLY));
	EXPECT_ERROR(EACCES, open("public", O_WRONLY));
	EXPECT((fd = open("public", O_RDONLY)) >= 0);
	EXPECT_ERROR(EACCES, open("new", O_CREAT | O_WRONLY, 0644));
	EXPECT_ERROR(EACCES, unlink("public"));
	EXPECT_ERROR(EPERM, unlink("common/root"));
	EXPECT_ERROR(EPERM, chmod("public", 0666));
	EXPECT_ERROR(EPERM, chown("hers", BOB, -1));
	EXPECT_ERROR(EACCES, access("public", W_OK));
	EXPECT((fd = open("hers/own", O_CREAT | O_RDWR, 0600)) >= 0);
	EXPECT(!fstat(fd, &st) && st.st_uid == ALICE && st.st_gid == ALICE);
	EXPECT(!unlink("hers/own"));
	EXPECT_ERROR(EPERM, mknod("hers/null", S_IFCHR | 0666, 1 << 8 | 3));
	EXPECT_ERROR(EPERM, chroot("hers"));
}

struct caps {
	unsigned effective, permitted, inheritable;
};
struct cap_header {
	unsigned version;
	int pid;
};
#define CAP_VERSION_3 0x20080522

static void get_caps(struct caps d[2])
{
	struct cap_header h = { CAP_VERSION_3, 0 };

	EXPECT(!syscall(SYS_capget, &h, d));
}

static long set_caps(const struct caps d[2])
{
	struct cap_header h = { CAP_VERSION_3, 0 };

	return syscall(SYS_capset, &h, d);
}

static void capabilities_are_given_up(void)
{
	struct caps d[2];

	need_root();
	get_caps(d);
	EXPECT(d[0].permitted & 1u << CAP_SETGID);
	d[0].effective &= ~(1u << CAP_SETGID);
	EXPECT(!set_caps(d));
	EXPECT_ERROR(EPERM, setgroups(0, NULL));
	d[0].effective |= 1u << CAP_SETGID;
	EXPECT(!set_caps(d));
	EXPECT(!setgroups(0, NULL));
	d[0].effective &= ~(1u << CAP_SETGID);
	d[0].permitted &= ~(1u << CAP_SETGID);
	EXPECT(!set_caps(d));
	d[0].permitted |= 1u << CAP_SETGID;
	EXPECT_ERROR(EPERM, set_caps(d));
}

static void capabilities_follow_the_user(void)
{
	struct caps d[2];

	need_root();
	EXPECT(!prctl(PR_SET_KEEPCAPS, 1));
	EXPECT(!setresuid(ALICE, ALICE, ALICE));
	get_caps(d);
	EXPECT(!d[0].effective && d[0].permitted & 1u << CAP_KILL);
	d[0].effective = d[0].inheritable = 1u << CAP_SETUID;
	EXPECT(!set_caps(d));
	EXPECT(!prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SETUID, 0, 0));
	EXPECT(!setresuid(BOB, BOB, BOB));
	EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

/* Arguments that an option has not are 0; where Linux never looked at them they may be anything. */
static void spare_arguments(void)
{
	static const struct {
		long option, a, b, c, d;
	} refused[] = {
		{ PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0 },
		{ PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0 },
		{ PR_SET_NO_NEW_PRIVS, 1, 0, 1, 0 },
		{ PR_SET_NO_NEW_PRIVS, 1, 0, 0, 1 },
		{ PR_GET_NO_NEW_PRIVS, 1, 0, 0, 0 },
		{ PR_GET_NO_NEW_PRIVS, 0, 1, 0, 0 },
		{ PR_GET_NO_NEW_PRIVS, 0, 0, 0, 1 },
		{ PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 1, 0, 0 },
		{ PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 1, 0 },
		{ PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 1 },
		{ PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 99, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		EXPECT_ERROR(EINVAL, prctl((int)refused[i].option, refused[i].a, refused[i].b,
					   refused[i].c, refused[i].d));
	EXPECT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
	EXPECT(!prctl(PR_SET_KEEPCAPS, 0, 1, 1, 1) && !prctl(PR_SET_PDEATHSIG, 0, 1, 1, 1));
}

const struct check credential_tests[] = {
	{ "spare-arguments", spare_arguments },
	{ "ids-are-kept", ids_are_kept },
	{ "effective-user-comes-back", effective_user_comes_back },
	{ "children-inherit-ids", children_inherit },
	{ "strangers-cannot-signal", strangers_cannot_signal },
	{ "only-root-hurries", only_root_hurries },
	{ "invalid-before-forbidden", invalid_before_forbidden },
	{ "limits-allow-what-they-say", limits_allow_what_they_say },
	{ "files-have-owners", files_have_owners },
	{ "capabilities-are-given-up", capabilities_are_given_up },
	{ "capabilities-follow-the-user", capabilities_follow_the_user },
	{ NULL, NULL },
};
