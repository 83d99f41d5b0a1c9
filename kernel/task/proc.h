/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes. A process is what its threads share: address space, files, signal handlers, a place in
 * the family tree.
 */
#pragma once

#include "kernel/task/cpu.h"
#include "kernel/task/thread.h"

struct autogroup;
struct files;
struct fs_context;
struct path;
struct tty;
struct file;

struct rlimit {
	u64 cur, max;
};
enum rlimit_kind {
	RLIMIT_CPU,
	RLIMIT_FSIZE,
	RLIMIT_DATA,
	RLIMIT_STACK,
	RLIMIT_CORE,
	RLIMIT_RSS,
	RLIMIT_NPROC,
	RLIMIT_NOFILE,
	RLIMIT_MEMLOCK,
	RLIMIT_AS,
	RLIMIT_LOCKS,
	RLIMIT_SIGPENDING,
	RLIMIT_MSGQUEUE,
	RLIMIT_NICE,
	RLIMIT_RTPRIO,
	RLIMIT_RTTIME,
	NR_RLIMITS
};
#define RLIM_INFINITY UINT64_MAX
#define NOFILE_MAX    4096 /* hard limit of descriptors */

struct proc {
	GUARDED(constant);
	int pid; /* == tid of the first thread, tgid */
	GUARDED(atomic);
	u32 refs;
	GUARDED(proc_tree_lock, sig_lock);
	struct list threads;
	GUARDED(proc_tree_lock, sig_lock, "one word");
	unsigned nr_threads; /* threads that have not ended */

	struct thread *leader;

	/* family */
	GUARDED(proc_tree_lock);
	struct proc *parent;
	GUARDED(proc_tree_lock, "getppid(2)");
	int ppid; /* parent->pid: getppid(2) reads it without the lock */
	GUARDED(proc_tree_lock);
	struct list children;

	struct list sibling; /* parent->children, by proc_tree_lock; then exit.c's graves */
	GUARDED(proc_tree_lock, "the process itself; getpgid(2), getsid(2): one word");
	int pgid, sid;
	GUARDED(proc_tree_lock);
	struct list all_link; /* every process */
	GUARDED(proc_tree_lock, "itself");
	struct tty *tty; /* controlling terminal */
	GUARDED(proc_tree_lock, "the process itself: whether it has one");
	struct autogroup *autogroup; /* of its session; NULL: none */

	struct waitq child_wait; /* wait4 sleeps here, and exec until it is alone */

	/* Resources. Other processes reach them through proc_mm_get() and its siblings. */
	GUARDED(proc_tree_lock, "itself");
	struct mm *mm; /* shared by all threads */
	struct files *files;
	struct fs_context *fs; /* cwd, root, umask */
	struct file *exe;

	struct spinlock sig_lock;
	GUARDED(sig_lock, "the process itself: whether one is there");
	struct sigpending pending; /* signals for the process as a whole */
	GUARDED(sig_lock, "threads that look again");
	int stop_signal; /* the threads are stopping or stopped by it; 0: they run */
	GUARDED(sig_lock);
	unsigned nr_stopped;   /* threads waiting for SIGCONT; if all do, the process is stopped */
	bool stop_taken;       /* a thread is about to set stop_signal; SIGCONT forbids it */
	bool continue_pending; /* the first thread that continues tells the parent */
	GUARDED(sig_lock, "threads that look again");
	bool group_exit;	/* every thread is to exit, with exit_code */
	struct thread *execing; /* every thread but this one is to exit */
	GUARDED(sig_lock, "wait4, of a zombie");
	int exit_code; /* wait status */

	GUARDED(proc_tree_lock, "/proc/PID/stat: one word");
	bool zombie; /* all threads ended; waits for wait4 */
	GUARDED(proc_tree_lock);
	int stop_unreported;	  /* stop signal that wait4(WUNTRACED) has not told yet */
	bool continue_unreported; /* a SIGCONT that wait4(WCONTINUED) has not told yet */
	GUARDED(proc_tree_lock, "the process itself; /proc/PID/stat: one word");
	int exit_signal; /* to the parent: SIGCHLD, or what clone asked for */
	GUARDED(self, proc_tree_lock);
	bool is_subreaper; /* prctl(PR_SET_CHILD_SUBREAPER): gets its descendants' orphans */
	GUARDED(sig_lock, "one word");
	unsigned nr_alive; /* threads that have not begun to end */

	GUARDED(constant);
	u64 start_ns;
	GUARDED(proc_tree_lock);
	struct usage exited; /* of threads that ended */
	struct usage reaped; /* of children waited for */

	struct itimers *itimers; /* alarm, setitimer, timer_create; NULL until first used */
	u32 oom_score_adj;
	GUARDED(proc_tree_lock, "itself");
	u32 nr_execs; /* setpgid of a child is refused after exec */

	u32 parent_execs; /* the parent's at birth: exit_signal is for the program that it was */

	/* copies of the parent's at first: proc_alloc() clears what is above */
	GUARDED(sig_lock, "the process itself; /proc: one word");
	struct rlimit rlimit[NR_RLIMITS];
	GUARDED(sig_lock, "the process itself; a child that ends: one word");
	struct sigaction action[NSIG];
};

extern struct proc kernel_proc; /* owner of kernel threads; pid 0 */
extern struct proc *init_proc;	/* pid 1 */
extern struct spinlock proc_tree_lock;
extern struct list all_procs; /* guarded by: proc_tree_lock */

/* The newest number given to a thread. */
int pid_last(void);
/* The largest number plus one. Linux's default, enough for 10,000 threads beside their groups. */
#define PID_MAX 32768

/* Reference counting; the last proc_put() frees. */
struct proc *proc_get(struct proc *p);
void proc_put(struct proc *p);
/* The process numbered @pid, with a reference, or NULL. */
struct proc *proc_find(int pid);
/* Resources of @p with a reference, or NULL: a kernel thread or a zombie has none. */
struct mm *proc_mm_get(struct proc *p);
struct file *proc_exe_get(struct proc *p);
struct file *proc_file_get(struct proc *p, int fd);
/*
 * These are for procfs and count no reference to a table or a place, so that the count is that of
 * the processes that use it.
 */
int proc_next_fd(struct proc *p, int fd); /* the lowest >= @fd, or -1 */
bool proc_fd_cloexec(struct proc *p, int fd);
unsigned proc_fd_slots(struct proc *p);
u32 proc_umask(struct proc *p);
/* Its root or working directory, with references; false if it has ended. */
bool proc_place(struct proc *p, bool root, struct path *out);
/*
 * Give the running process, which has one thread, a descriptor table of its own, and with @place
 * also root, cwd and umask. 0 or -ENOMEM.
 */
int proc_unshare(bool place);

/* Has no process of the group a parent in another group of the same session? (POSIX's term.) */
bool proc_group_is_orphaned(int pgid);
