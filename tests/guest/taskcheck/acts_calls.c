/* SPDX-License-Identifier: GPL-2.0-only */
/* Acts that an ordinary user is refused: each of them one system call. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "taskcheck/acts.h"
#include "taskcheck/taskcheck.h"

#define KEEP	     (-1L)
#define A(address)   ((long)(address))
#define REAL(i)	     ((1L << 13) | (i)) /* an I/O priority of the real-time class */
#define BEST(i)	     ((2L << 13) | (i))
#define OF_PROCESS   1 /* whom an I/O priority is for */
#define OF_GROUP     2
#define PAGES	     (64 * 4096L)
#define MOVE_ALL     4 /* MPOL_MF_MOVE_ALL */
#define AT_ONCE	     (&(struct timespec){ 0, 0 })
#define LIMIT(value) (&(struct rlimit){ value, value })

static const gid_t roots_group;
static const struct sched_param normal, urgent = { .sched_priority = 1 };
static const unsigned long node = 1;
static unsigned long room[128];
static const siginfo_t faked = { .si_code = SI_USER };
static siginfo_t queued = { .si_code = SI_QUEUE };
static const struct sched_attr0 plain = { sizeof(plain) };
static const struct sched_attr0 nicer = { .size = sizeof(nicer), .nice = -5 };
static const struct sched_attr0 by_deadline = {
	sizeof(by_deadline), 6, 0, 0, 0, 1000000, 10000000, 10000000
};
static unsigned caps_of_self[2] = { 0x20080522, 0 };
static const unsigned all_caps[6] = { ~0u, ~0u };
static const struct {
	unsigned type, size;
	unsigned long config, period, sample, read, flags, rest[9];
} on_kernel = { .type = 1, .size = 112, .config = 3 },
  in_user = { .type = 1, .size = 112, .config = 3, .flags = 1 << 5 };

const struct call_act call_acts[] = {
	/* who one is */
	{ "setuid", EPERM, SYS_setuid, { 0 } },
	{ "setreuid", EPERM, SYS_setreuid, { 0, KEEP } },
	{ "setreuid effective", EPERM, SYS_setreuid, { KEEP, 0 } },
	{ "setresuid", EPERM, SYS_setresuid, { KEEP, KEEP, 0 } },
	{ "setgid", EPERM, SYS_setgid, { 0 } },
	{ "setregid", EPERM, SYS_setregid, { KEEP, 0 } },
	{ "setresgid", EPERM, SYS_setresgid, { KEEP, 0, KEEP } },
	{ "setgroups", EPERM, SYS_setgroups, { 1, A(&roots_group) } },
	{ "setgroups to none", EPERM, SYS_setgroups, { 0, 0 } },
	{ "capset", EPERM, SYS_capset, { A(caps_of_self), A(all_caps) } },
	{ "PR_CAPBSET_DROP", EPERM, SYS_prctl, { PR_CAPBSET_DROP, 0 } },
	{ "PR_SET_SECUREBITS", EPERM, SYS_prctl, { PR_SET_SECUREBITS, 1 } },
	{ "PR_CAP_AMBIENT", EPERM, SYS_prctl, { PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0 } },
	/* another's process */
	{ "kill", EPERM, SYS_kill, { VICTIM, SIGKILL } },
	{ "kill with 0", EPERM, SYS_kill, { VICTIM, 0 } },
	{ "kill with SIGCONT", EPERM, SYS_kill, { VICTIM, SIGCONT } },
	{ "kill of init", EPERM, SYS_kill, { 1, SIGTERM } },
	{ "tkill", EPERM, SYS_tkill, { VICTIM, SIGKILL } },
	{ "tgkill", EPERM, SYS_tgkill, { VICTIM, VICTIM, SIGKILL } },
	{ "sigqueue", EPERM, SYS_rt_sigqueueinfo, { VICTIM, SIGUSR1, A(&queued) } },
	{ "sigqueue as kill", EPERM, SYS_rt_sigqueueinfo, { VICTIM, SIGUSR1, A(&faked) } },
	{ "tgsigqueue", EPERM, SYS_rt_tgsigqueueinfo, { VICTIM, VICTIM, SIGUSR1, A(&queued) } },
	{ "prlimit", EPERM, SYS_prlimit64, { VICTIM, RLIMIT_NOFILE, A(LIMIT(0)), 0 } },
	{ "prlimit to read", EPERM, SYS_prlimit64, { VICTIM, RLIMIT_NOFILE, 0, A(room) } },
	{ "get_robust_list", EPERM, SYS_get_robust_list, { VICTIM, A(room), A(room + 1) } },
	{ "setpgid", ESRCH, SYS_setpgid, { VICTIM, 0 } },
	{ "setpgid into another session", EPERM, SYS_setpgid, { 0, VICTIM } },
	/* how others are scheduled, and oneself better */
	{ "setpriority", EPERM, SYS_setpriority, { PRIO_PROCESS, VICTIM, 10 } },
	{ "setpriority of a group", EPERM, SYS_setpriority, { PRIO_PGRP, VICTIM, 10 } },
	{ "setpriority below 0", EACCES, SYS_setpriority, { PRIO_PROCESS, 0, -1 } },
	{ "sched_setaffinity", EPERM, SYS_sched_setaffinity, { VICTIM, 8, A(&node) } },
	{ "sched_setscheduler", EPERM, SYS_sched_setscheduler, { VICTIM, 0, A(&normal) } },
	{ "sched_setparam", EPERM, SYS_sched_setparam, { VICTIM, A(&normal) } },
	{ "sched_setattr", EPERM, SYS_sched_setattr, { VICTIM, A(&plain), 0 } },
	{ "FIFO", EPERM, SYS_sched_setscheduler, { 0, SCHED_FIFO, A(&urgent) } },
	{ "RR", EPERM, SYS_sched_setscheduler, { 0, SCHED_RR, A(&urgent) } },
	{ "DEADLINE", EPERM, SYS_sched_setattr, { 0, A(&by_deadline), 0 } },
	{ "sched_setattr below 0", EPERM, SYS_sched_setattr, { 0, A(&nicer), 0 } },
	{ "ioprio_set", EPERM, SYS_ioprio_set, { OF_PROCESS, VICTIM, BEST(4) } },
	{ "ioprio_set of a group", EPERM, SYS_ioprio_set, { OF_GROUP, VICTIM, BEST(4) } },
	{ "ioprio_set to real-time", EPERM, SYS_ioprio_set, { OF_PROCESS, 0, REAL(4) } },
	{ "migrate_pages", EPERM, SYS_migrate_pages, { VICTIM, 2, A(&node), A(&node) } },
	{ "mbind of all", EPERM, SYS_mbind, { 0x1000000, 4096, 0, 0, 0, MOVE_ALL } },
	{ "perf of another", EACCES, SYS_perf_event_open, { A(&in_user), VICTIM, -1, -1, 0 } },
	{ "perf of a CPU", EACCES, SYS_perf_event_open, { A(&in_user), -1, 0, -1, 0 } },
	{ "perf of the kernel", EACCES, SYS_perf_event_open, { A(&on_kernel), 0, -1, -1, 0 } },
	/* one's limits */
	{ "RLIMIT_NICE", EPERM, SYS_setrlimit, { RLIMIT_NICE, A(LIMIT(40)) } },
	{ "RLIMIT_RTPRIO", EPERM, SYS_setrlimit, { RLIMIT_RTPRIO, A(LIMIT(99)) } },
	{ "RLIMIT_NOFILE", EPERM, SYS_setrlimit, { RLIMIT_NOFILE, A(LIMIT(1 << 29)) } },
	{ "mmap of page 0",
	  EPERM,
	  SYS_mmap,
	  { 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0 } },
	/* the machine */
	{ "clock_settime", EPERM, SYS_clock_settime, { CLOCK_REALTIME, A(AT_ONCE) } },
	{ "settimeofday", EPERM, SYS_settimeofday, { A(AT_ONCE), 0 } },
	{ "sethostname", EPERM, SYS_sethostname, { A("x"), 1 } },
	{ "setdomainname", EPERM, SYS_setdomainname, { A("x"), 1 } },
	{ "reboot", EPERM, SYS_reboot, { 0xfee1dead, 672274793, RB_ENABLE_CAD } },
	{ "reboot without magic", EPERM, SYS_reboot, { 0, 0, 0 } },
	{ "syslog to clear", EPERM, SYS_syslog, { 5, 0, 0 } },
	{ "syslog's console", EPERM, SYS_syslog, { 6, 0, 0 } },
	{ "syslog to read", EPERM, SYS_syslog, { 2, A(room), 8 } },
	{ "mount", EPERM, SYS_mount, { A("none"), A("sticky"), A("tmpfs"), 0, 0 } },
	{ "mount of a directory", EPERM, SYS_mount, { A("/"), A("sticky"), 0, MS_BIND, 0 } },
	{ "mount anew", EPERM, SYS_mount, { 0, A("/proc"), 0, MS_REMOUNT, 0 } },
	{ "umount", EPERM, SYS_umount2, { A("/proc"), 0 } },
	{ "umount later", EPERM, SYS_umount2, { A("/proc"), MNT_DETACH } },
	{ "chroot", EPERM, SYS_chroot, { A("sticky") } },
	{ "mknod", EPERM, SYS_mknod, { A("sticky/null"), S_IFCHR | 0666, 1 << 8 | 3 } },
	{ "mknod of a disk", EPERM, SYS_mknod, { A("sticky/disk"), S_IFBLK | 0666, 8 << 8 } },
	{ "clone with mounts", EPERM, SYS_clone, { CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0 } },
	{ "clone with numbers", EPERM, SYS_clone, { CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0 } },
	{ "clone with a name", EPERM, SYS_clone, { CLONE_NEWUTS | SIGCHLD, 0, 0, 0, 0 } },
	{ 0 },
};
