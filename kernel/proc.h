/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads and processes. A thread is what runs: it embeds the scheduler's `struct task`. A process
 * is what threads share: address space, files, signal handlers, a place in the family tree. Kernel
 * threads belong to `kernel_proc` and have no address space.
 */
#pragma once

#include "kernel/arch.h"
#include "kernel/sync.h"
#include "lib/list.h"
#include "sched/sched.h"

struct mm;
struct files;
struct fs_context;
struct tty;
struct file;

#define KSTACK_SIZE   (16 * 1024)
#define COMM_LEN      16
#define LOCKDEP_DEPTH 16 /* locks that one thread or CPU may hold at a time (debug builds) */

/* Internal results of interrupted system calls; never seen by user space. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

typedef u64 sigset_t; /* bit sig-1 */
#define SIGMASK(sig) (1ull << ((sig)-1))
#define NSIG	     64

struct siginfo { /* Linux layout, 128 bytes */
	int signo, err, code, pad;
	union {
		struct {
			int pid;
			u32 uid;
			u64 value;
		} rt;
		struct {
			int pid;
			u32 uid;
			int status;
			int pad;
			s64 utime, stime;
		} chld;
		struct {
			int timerid, overrun;
			u64 value;
		} timer;
		struct {
			u64 addr;
		} fault;
		u8 bytes[112];
	};
};
STATIC_ASSERT(sizeof(struct siginfo) == 128, "siginfo_t is 128 bytes");

struct sigaction { /* as rt_sigaction(2) copies it */
	u64 handler, flags, restorer;
	sigset_t mask;
};

struct sigpending {
	sigset_t set;
	struct list queue; /* struct sigqueue: the siginfo of each pending signal */
};

struct restart_block { /* for restart_syscall(2): a timed sleep cut short by SIGSTOP/SIGCONT */
	long (*fn)(struct restart_block *rb);
	u64 deadline_ns;
	u64 arg[4];
};

/* The two trees of control groups; see kernel/cgroup/cgroup.h. */
enum hierarchy_id { HIERARCHY_V1, HIERARCHY_V2, NR_HIERARCHIES };

struct cgroup_member {	      /* a thread's place in one of them; guarded by: proc_tree_lock */
	struct cgroup *group; /* NULL once it has left its process */
	struct list link;     /* group->members */
	u64 joined_user_ns, joined_system_ns; /* its usage when it joined (v2, not in the root) */
};

struct thread {
	/* --- read by assembly: offsets are asserted in arch/x86 --- */
	u32 flags;	 /* THREAD_*; changed atomically */
	u32 user_stamp;	 /* arch_cycles32() when it entered user space; 0 while it is not there */
	u64 user_cycles; /* arch_cycles() spent in user space; written by the thread itself */
	/* --- C only --- */
	struct task task;	 /* the scheduler's part; holds the name (task.comm) too */
	struct arch_thread arch; /* saved context */
	void *kstack;		 /* lowest address; KSTACK_SIZE bytes, guard page below */

	struct proc *proc;
	struct mm *mm; /* == proc->mm; NULL for kernel threads */
	int tid;
	struct list proc_link; /* proc->threads */
	struct cgroup_member member[NR_HIERARCHIES];
	u32 refs; /* +1 while alive, +1 per holder of a pointer: thread_get/put */

	/* guarded by: proc->sig_lock */
	sigset_t blocked, saved_mask;
	sigset_t awaited;	 /* rt_sigtimedwait: these wake it although they are blocked */
	bool restore_saved_mask; /* rt_sigsuspend, pselect6 */
	struct sigpending pending;
	u64 altstack, altstack_size;
	u32 altstack_flags;

	struct restart_block restart;
	u32 *set_child_tid;   /* gets the thread's number when it first runs */
	u32 *clear_child_tid; /* zeroed and woken (futex) at exit: pthread_join waits here */
	u64 robust_list;
	int exit_code; /* wait status of this thread */
	u64 start_ns;
	u64 min_flt, maj_flt;
	u64 timer_slack_ns, default_timer_slack_ns;
	struct waitq
		*vfork_done; /* where the parent of a vfork waits; guarded by: proc->sig_lock */
	void (*kthread_fn)(void *arg); /* kernel threads: what to run */
	void *kthread_arg;
#if DEBUG
	struct held_mutexes {
		u64 words[2 * LOCKDEP_DEPTH + 1];
	} held_mutexes; /* of lockdep.c */
#endif
};

enum thread_flags {
	THREAD_KERNEL = 1,
	THREAD_EXITING = 2,
	THREAD_SIGPENDING =
		4, /* recalculated under sig_lock; read without it at the exit to user space */
	THREAD_FORKNOEXEC = 8,
	THREAD_IDLE = 16,
	THREAD_RESTART =
		32, /* the system call returned -ERESTART*: look at it before user space does */

	THREAD_EXIT_WORK = THREAD_SIGPENDING | THREAD_RESTART,
};

/* What getrusage(2) and wait4(2) report. */
struct usage {
	u64 user_ns, system_ns;
	u64 min_flt, maj_flt;
	u64 nr_voluntary, nr_involuntary; /* switches */
};

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
	int pid; /* == tid of the first thread, tgid */
	u32 refs;
	struct list threads; /* written with proc_tree_lock and sig_lock, read with either */
	unsigned nr_threads; /* likewise; those that have not ended */
	struct thread *leader;

	/* family, guarded by: proc_tree_lock */
	struct proc *parent;
	int ppid; /* parent->pid: getppid(2) reads it without the lock */
	struct list children, sibling;
	int pgid, sid;
	struct list all_link;	 /* every process */
	struct tty *tty;	 /* controlling terminal */
	struct waitq child_wait; /* wait4 sleeps here, and exec until it is alone */

	/* Resources: changed with proc_tree_lock held; other processes reach them by proc_mm_get()
	 * and its like. */
	struct mm *mm; /* all threads' */
	struct files *files;
	struct fs_context *fs; /* cwd, root, umask */
	struct file *exe;

	/* guarded by: sig_lock */
	struct spinlock sig_lock;
	struct sigaction action[NSIG];
	struct sigpending pending; /* signals for the process as a whole */
	int stop_signal;	   /* the threads are stopping or stopped by it; 0: they run */
	unsigned
		nr_stopped; /* threads that wait for SIGCONT; all of them: the process is stopped */
	bool stop_taken;    /* a thread is about to set stop_signal; SIGCONT forbids it */
	bool continue_pending;	/* the first thread that continues tells the parent */
	bool group_exit;	/* every thread is to exit, with exit_code */
	struct thread *execing; /* every thread but this one is to exit */
	int exit_code;		/* wait status */

	/* guarded by: proc_tree_lock */
	bool zombie;		  /* all threads ended; waits for wait4 */
	int stop_unreported;	  /* stop signal that wait4(WUNTRACED) has not told yet */
	bool continue_unreported; /* likewise WCONTINUED */
	int exit_signal;	  /* to the parent: SIGCHLD, or what clone asked for */
	int parent_death_signal;  /* prctl(PR_SET_PDEATHSIG) */
	unsigned nr_alive;	  /* threads that have not begun to end; guarded by: sig_lock */

	struct rlimit rlimit[NR_RLIMITS];
	u64 start_ns;
	struct usage exited;	 /* of threads that ended; guarded by: proc_tree_lock */
	struct usage reaped;	 /* of children waited for; guarded by: proc_tree_lock */
	struct itimers *itimers; /* alarm, setitimer, timer_create; NULL until first used */
	u32 oom_score_adj;
	bool did_exec; /* setpgid of a child is refused after exec */
};

#define current (arch_current())

extern struct sched *machine;	/* the one scheduler of this kernel */
extern struct proc kernel_proc; /* owner of kernel threads; pid 0 */
extern struct proc *init_proc;	/* pid 1 */
extern struct spinlock proc_tree_lock;
extern struct list all_procs; /* guarded by: proc_tree_lock */

/* For /proc/stat and /proc/loadavg: threads created since boot, threads there are, the newest
 * number. */
extern u64 nr_forks;
extern unsigned nr_threads_total;
int pid_last(void);
/* The largest number plus one. Linux's default, enough for 10,000 threads beside their groups. */
#define PID_MAX 32768

static inline void thread_set_flags(struct thread *t, u32 flags)
{
	__atomic_fetch_or(&t->flags, flags, __ATOMIC_SEQ_CST);
}

static inline void thread_clear_flags(struct thread *t, u32 flags)
{
	__atomic_fetch_and(&t->flags, ~flags, __ATOMIC_SEQ_CST);
}

static inline struct thread *thread_of(struct task *t)
{
	return container_of(t, struct thread, task);
}

/* Reference counting; the last put frees. find_* return a reference or NULL. */
struct thread *thread_get(struct thread *t);
void thread_put(struct thread *t);
struct thread *thread_find(int tid);
struct proc *proc_get(struct proc *p);
void proc_put(struct proc *p);
struct proc *proc_find(int pid);
/* The address space of @p with a reference, or NULL: a kernel thread or a zombie. */
struct mm *proc_mm_get(struct proc *p);
/* Likewise the other resources. */
struct files *proc_files_get(struct proc *p);
struct fs_context *proc_fs_get(struct proc *p);
struct file *proc_exe_get(struct proc *p);

/*
 * A kernel thread, started; NULL when memory is short. It ends when @fn returns. The caller gets no
 * reference: use it only while @fn cannot have returned.
 */
struct thread *kthread_create(const char *name, void (*fn)(void *), void *arg);

/*
 * Bring-up, called by kernel/base/main.c. task_init() runs on the boot CPU once memory works: it
 * builds the scheduler, gives every CPU of arch_cpus[] (as far as smp= allows) its struct cpu
 * and idle
 * thread, and makes the caller CPU 0's idle thread. task_cpu_online() puts the running CPU into
 * service.
 */
void task_init(void);
void task_cpu_online(void);
__noreturn void idle_loop(void);
/* Start process 1: a new process whose thread executes @path. */
int proc_start_init(const char *path);

/* --- CPU time: exact up to now -------------------------------------------- */
struct usage thread_usage(struct thread *t);
struct usage proc_usage(struct proc *p); /* of all its threads, ended ones too */
struct cpu_usage {
	u64 user_ns, system_ns, idle_ns;
};
struct sched_cpu_stat cpu_stat(unsigned cpu); /* of the scheduler; takes the runqueue's lock */
struct cpu_usage cpu_usage(unsigned cpu);     /* for /proc/stat */
struct cpu_usage machine_usage(void);	      /* of all CPUs */

/*
 * First thing after an entry from user space: time spent there ends here. Half of the counter is
 * enough: a CPU that is in user space ticks, so no stay is longer than a tick.
 */
static inline void kernel_enter_from_user(void)
{
	struct thread *t = current;
	u64 spent = arch_cycles32() - t->user_stamp;

	t->user_stamp = 0;
	t->user_cycles += spent;
	arch_count_user_cycles(spent);
}

/* Names longer than COMM_LEN - 1 are cut off. */
void thread_set_name(struct thread *t, const char *name);
/* Wake @t from a sleep in one of the states @state_mask. Any context. */
bool thread_wake(struct thread *t, u32 state_mask);

/* --- signals ------------------------------------------------------------- */
/* Is the running thread about to be ended? Sleeps in TASK_KILLABLE are interrupted by that alone.
 */
bool signal_fatal_pending(void);
static inline bool signal_pending(void)
{
	return READ_ONCE(current->flags) & THREAD_SIGPENDING;
}
/* Any context. A NULL @info is SI_KERNEL. Returns 0 or -EAGAIN (queue full, real-time signals
 * only). */
int signal_send_thread(struct thread *t, int sig, const struct siginfo *info);
int signal_send_proc(struct proc *p, int sig, const struct siginfo *info);
/* To every process of the group; -ESRCH if there is none. */
int signal_send_group(int pgid, int sig, const struct siginfo *info);
/*
 * Replace the running thread's set of blocked signals (SIGKILL and SIGSTOP stay open); returns the
 * old set. For ppoll and pselect6, which put it back themselves or leave it to saved_mask and
 * restore_saved_mask.
 */
sigset_t signal_set_blocked(sigset_t mask);
bool signal_is_blocked_or_ignored(int sig); /* by the current thread: tty background rules */
bool proc_group_is_orphaned(int pgid);
/* Ends the whole process with wait status @code; does not return. */
__noreturn void proc_exit_group(int code);

/* --- exec ------------------------------------------------------------------- */
struct exec_image { /* made by exec_load() (kernel/mm/mm.h) */
	u64 entry, sp;
	struct mm *mm;
	char comm[COMM_LEN];
	struct file *exe;
	bool fatal; /* exec_load() failed where Linux has no program to return to any more */
};
/*
 * The point of no return of execve(2), kernel/syscall/exec.c: give the current process @image's
 * address space, name and registers, close descriptors, reset handlers. Consumes @image. The first
 * process calls it too.
 */
void exec_commit(struct exec_image *image);
/* exec and exit: the thread leaves its address space: clear_child_tid, robust list, a vfork parent
 * that waits. */
void thread_release_mm(struct thread *t);
/* End every other thread of the process and wait for them. -ERESTARTNOINTR if this one is being
 * ended itself. */
int proc_kill_other_threads(void);
/* exec: handlers to default (ignored ones stay), no alternate stack. Pending signals and the mask
 * stay. */
void signal_exec(void);
