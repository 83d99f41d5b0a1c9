/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads. A thread is what runs: it embeds the scheduler's `struct task`. Every thread belongs to
 * a process (kernel/task/proc.h); kernel threads belong to `kernel_proc` and have no address space.
 */
#pragma once

#include "kernel/arch.h"
#include "kernel/sync.h"
#include "kernel/task/cred.h"
#include "kernel/task/siginfo.h"
#include "lib/list.h"
#include "sched/sched.h"

struct account;
struct mm;
struct proc;

#define KSTACK_SIZE   (16 * 1024 << SAN_ADDRESS) /* gaps between variables need room */
#define COMM_LEN      16
#define LOCKDEP_DEPTH 16 /* locks that one thread or CPU may hold at a time (debug builds) */

/* Internal results of interrupted system calls; never seen by user space. */
#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define ERESTARTNOHAND	      514
#define ERESTART_RESTARTBLOCK 516

struct restart_block { /* for restart_syscall(2): a timed sleep cut short by SIGSTOP/SIGCONT */
	long (*fn)(struct restart_block *rb);
	u64 deadline_ns;
	u64 arg[4];
};

/* The trees of control groups; see kernel/cgroup/internal.h. */
enum hierarchy_id { HIERARCHY_V1, HIERARCHY_V2, HIERARCHY_TUNE, NR_HIERARCHIES };

struct cgroup_member { /* a thread's place in one tree */
	GUARDED(proc_tree_lock, "the thread itself; cgroup_of(): one word");
	struct cgroup *group; /* NULL once the thread has left its process */
	GUARDED(proc_tree_lock);
	struct list link;		      /* group->members */
	u64 joined_user_ns, joined_system_ns; /* usage on joining (v2, not in the root) */
};

struct thread {
	GUARDED(atomic);
	/* --- read by assembly: offsets are asserted in arch/x86 --- */
	u32 flags; /* THREAD_* */
	GUARDED(self, "statistics");
	u32 user_stamp;	 /* arch_cycles32() on entering user space; 0 while in the kernel */
	u64 user_cycles; /* arch_cycles() spent in user space */

#if DEBUG
	struct injection {
		u32 nth;	  /* the nth call from now on that can fail does; 0: none */
		bool may_fail;	  /* those with a task-filter look at this; a child has it too */
		bool took_memory; /* an allocation failed on order */
	} injection;		  /* private to inject.c and place.h */
#endif
	/* --- C only --- */
	struct arch_thread arch; /* saved context */
	void *kstack;		 /* lowest address; KSTACK_SIZE bytes, guard page below */

	GUARDED(constant);
	struct proc *proc;
	GUARDED(self, "one word");
	struct mm *mm; /* == proc->mm; NULL for kernel threads */
	GUARDED(proc_tree_lock, "anybody: one word");
	int tid;
	GUARDED(proc_tree_lock, proc->sig_lock);
	struct list proc_link; /* proc->threads */

	struct cgroup_member member[NR_HIERARCHIES];
	GUARDED(atomic);
	u32 refs; /* +1 while alive, +1 per holder of a pointer: thread_get/put */

	GUARDED(proc->sig_lock, "itself");
	sigset_t blocked;
	sigset_t awaited; /* rt_sigtimedwait: these wake the thread although blocked */
	struct sigpending pending;
	GUARDED(self);
	sigset_t saved_mask;
	u64 altstack, altstack_size;

	bool restore_saved_mask; /* rt_sigsuspend, pselect6 */

	struct restart_block restart;
	u32 *set_child_tid;   /* gets the thread's number when the thread first runs */
	u32 *clear_child_tid; /* zeroed and woken (futex) at exit: pthread_join waits here */
	u64 robust_list;
	u64 start_ns;
	u64 hung_said_ns; /* hung_task.c has told of the sleep that began then */
	struct spinlock blocked_on_lock;
	GUARDED(blocked_on_lock, "itself");
	struct mutex *blocked_on; /* it waits for that one */
	GUARDED(self, "statistics");
	u64 min_flt, maj_flt;
	u64 read_bytes, written_bytes, nr_reads, nr_writes; /* by read(2) and write(2) and family */

	struct cred cred;
	GUARDED(proc_tree_lock, proc->sig_lock, "itself");
	struct account *account; /* of its real user */

	u64 rt_since_ns, rt_blocked; /* limits.c: runtime and switches at the last block */
	u16 io_priority;	     /* ioprio_set(2): only kept */
	u16 mempolicy;		     /* set_mempolicy(2): the mode, with its flags */
	u64 timer_slack_ns, default_timer_slack_ns;
	GUARDED(self, "whoever ends as the parent: one word");
	int parent_death_signal; /* to the process: prctl(PR_SET_PDEATHSIG) */
	GUARDED(proc->sig_lock, "the child, for NULL");
	struct waitq *vfork_done; /* where the parent of a vfork waits */

	void (*kthread_fn)(void *arg); /* kernel threads: what to run */
	void *kthread_arg;
	GUARDED(trace_lock, "itself");
	struct perf_link *perf; /* its events: trace/perf.c */

	unsigned nr_perf;
#if DEBUG
	struct held_mutexes {
		u64 words[2 * LOCKDEP_DEPTH + 1];
	} held_mutexes; /* private to lockdep.c */
#endif
	struct task task; /* the scheduler's part and the name (comm); the scheduler clears it */
};

enum thread_flags {
	THREAD_KERNEL = 1,
	THREAD_EXITING = 2,
	THREAD_SIGPENDING =
		4, /* changed under sig_lock; read without it on the way to user space */
	THREAD_FORKNOEXEC = 8,
	THREAD_IDLE = 16,
	THREAD_RESTART =
		32, /* the system call returned -ERESTART*, which user space must not see */

	THREAD_LIMITS = 64, /* set by the tick: see limits_check() */
	THREAD_PERF = 128,  /* has events of perf_event_open(2) */

	THREAD_EXIT_WORK = THREAD_SIGPENDING | THREAD_RESTART | THREAD_LIMITS,
};

#define current (arch_current())

/* For /proc/stat and /proc/loadavg: threads created since boot, and threads alive now. */
extern u64 nr_forks;
extern unsigned nr_threads_total;

/* Has @t one of @flags? Others may set and clear theirs meanwhile. */
static inline __racy bool thread_has(const struct thread *t, u32 flags)
{
	return t->flags & flags;
}

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

/* Reference counting; the last thread_put() frees. */
struct thread *thread_get(struct thread *t);
void thread_put(struct thread *t);
/* The thread numbered @tid, with a reference, or NULL. */
struct thread *thread_find(int tid);

/*
 * A new kernel thread, already started, or NULL when memory is short. The thread ends when @fn
 * returns. The caller gets no reference: the pointer is valid only while @fn cannot have returned.
 */
struct thread *kthread_create(const char *name, void (*fn)(void *), void *arg);

/* Names longer than COMM_LEN - 1 are cut off. */
void thread_set_name(struct thread *t, const char *name);
/* Wake @t from a sleep in one of the states @state_mask. True: @t did sleep so. Any context. */
bool thread_wake(struct thread *t, u32 state_mask);

static inline bool signal_pending(void)
{
	return READ_ONCE(current->flags) & THREAD_SIGPENDING;
}

/*
 * Must come first after an entry from user space: the time spent there ends here. The low
 * half of the counter is enough: a CPU in user space ticks, so no stay is longer than a tick.
 */
static inline void kernel_enter_from_user(void)
{
	struct thread *t = current;
	u64 spent = arch_cycles32() - t->user_stamp;

	t->user_stamp = 0;
	t->user_cycles += spent;
	arch_count_user_cycles(spent);
}
