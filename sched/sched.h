/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The public face of the scheduler: the only header that hosts include.
 *
 * A `struct sched` is one machine: its CPUs, runqueues, tunables. The host
 * owns all memory, tells the scheduler what happens (a tick, a wakeup, a task
 * that blocks) and asks it who runs next. Switching stacks is the host's job:
 *
 *	next = sched_switch_begin(s, cpu, preempt);   locks the runqueue, picks
 *	... the host switches to next's stack ...
 *	prev = sched_switch_end(s, cpu);              unlocks it
 *
 * Unless a comment says otherwise: the caller has interrupts off, holds no
 * lock of the scheduler, and errors are negative errno with nothing changed.
 */
#pragma once

#include "lib/types.h"
#include "lib/cpumask.h"
#include "sched/freq.h"
#include "sched/group.h"
#include "sched/host.h"
#include "sched/task.h" /* struct task, complete, so that hosts can embed it */

struct sched;

/* Which hardware thread shares what with whom. Ids are arbitrary but equal ids mean "same". */
struct sched_cpu_desc {
	u32 core, llc, package, node;
};

struct sched_config {
	unsigned nr_cpus;
	unsigned hz;			       /* 100, 250 or 1000 */
	const struct sched_cpu_desc *topology; /* nr_cpus entries; copied */
	const char *fair_policy;	       /* a name of sched_fair_name(); NULL: the first */
	const struct fair_policy *guest;       /* a policy beside the built-in ones, or NULL */
	const struct cpumask *isolated;	       /* see sched_isolated(); NULL: none */
	u64 seed;			       /* of the machine's only source of randomness */
};

/* Bytes that a machine of @nr_cpus needs; the host allocates them, 64-byte aligned, zeroed. */
size_t sched_size(unsigned nr_cpus);
/* Build a machine in @mem. -EINVAL for a bad configuration. All CPUs start offline. */
int sched_init(struct sched *s, const struct sched_config *config);
/*
 * CPUs that are isolated (isolcpus= of Linux): in no domain, so nothing balances them, wakeups and
 * forks do not look at them, and real-time and deadline tasks move between them and the others
 * neither way. Tasks are not allowed them at first; an affinity that names one brings a task there.
 * Constant.
 */
const struct cpumask *sched_isolated(const struct sched *s);
/*
 * From now on the host lets kicks that are not urgent wait (host_kick), or no longer. Not at first.
 * No lock.
 */
void sched_set_lazy(struct sched *s, bool lazy);
/*
 * Bring @cpu into service with @idle (initialised by sched_task_init_idle) as its current task. A
 * CPU that was in service before has the same one; that or its stopper runs, and PROTOCOL: hotplug.
 */
void sched_cpu_online(struct sched *s, unsigned cpu, struct task *idle);
/*
 * PROTOCOL: hotplug. Take @cpu out of service. The caller has stopped the machine: no other CPU is
 * in the scheduler, or enters it before the return. Then no task is queued on @cpu any more, the
 * running one leaves at its next switch (which is to come soon; the idle task and the stopper
 * stay), and the host may stop the CPU once that idles. Groups, domains and tunables are as if
 * @cpu did not exist. -EBUSY: it is the last one, or the others have no room for the bandwidth that
 * is admitted. -EINVAL: it is out of service.
 */
int sched_cpu_offline(struct sched *s, unsigned cpu);
/*
 * A task that needs a CPU while all that it is allowed are out of service may run anywhere from
 * then on. The CPU that @t was on when that happened, or -1; said once. Was there any such task
 * since the last time somebody asked?
 */
int sched_affinity_lost(struct task *t);
bool sched_affinity_losses(struct sched *s);

/*
 * A hint, without effect but on speed: the host is soon to call for @cpu. For one that plays more
 * CPUs than its cache holds.
 */
void sched_prefetch(struct sched *s, unsigned cpu);

/* --- tasks ---------------------------------------------------------------- */

struct sched_attr_req {
	int policy;	 /* SCHED_NORMAL, FIFO, RR, BATCH, IDLE, DEADLINE, EXT */
	int nice;	 /* -20..19, fair policies */
	int rt_priority; /* 1..99, real-time policies */
	u64 slice_ns;	 /* fair policies: how much to ask for at a time; 0: what is usual */
	bool reset_on_fork;
	/* SCHED_DEADLINE: so much CPU time, so soon after each period begins; period 0: deadline */
	u64 runtime_ns, deadline_ns, period_ns;
	/* util[x], 0..1024 or SCHED_CLAMP_RESET, is asked for if BIT(x) is in clamps: freq.h */
	u32 clamps;
	u32 util[NR_SCHED_CLAMPS];
};

void sched_task_init_idle(struct sched *s, struct task *t, unsigned cpu);
/*
 * The stopper of @cpu: preempts everything there and never leaves. Start it as any task; one per
 * CPU.
 */
void sched_task_init_stop(struct sched *s, struct task *t, unsigned cpu, int pid, const char *comm);
/* A first task, without a family: SCHED_NORMAL, nice 0, every CPU allowed. */
void sched_task_init(struct sched *s, struct task *t, int pid, const char *comm);
/* The same for a thread of the kernel itself. */
void sched_task_init_kthread(struct sched *s, struct task *t, int pid, const char *comm);

/* May @parent have children? Not in a class that is not inherited, unless it has reset_on_fork. */
bool sched_task_forks(const struct task *parent);

enum sched_fork_flags {
	FORK_THREAD = 0x1,  /* @child belongs to the process of @parent */
	FORK_SIBLING = 0x2, /* not @parent but its parent becomes the parent of @child */
};

/*
 * Prepare @child as a copy of the running @parent's scheduling attributes, and make it a member of
 * its family: it must be started, or unlinked. @child is not yet runnable. @flags:
 * sched_fork_flags.
 */
void sched_task_fork(struct sched *s, struct task *parent, struct task *child, int pid,
		     unsigned flags);
/* Make a new task runnable for the first time (SD_BALANCE_FORK placement). @cpu is the caller's. */
void sched_task_start(struct sched *s, struct task *t, unsigned cpu);
/*
 * exec: a chance to move the calling task, which owns little cache now. Returns true if a switch
 * was requested.
 */
bool sched_task_exec(struct sched *s, unsigned cpu);
/*
 * The running task of @cpu, which a host switches away from at the next chance, is about to end; to
 * be called before its parent is woken. It leaves its group and joins it again, as each dying task
 * does on Linux with CONFIG_SCHED_AUTOGROUP. Meanwhile CFS's min_vruntime is that of waiting tasks.
 * From here on it does not sleep: a waker that saw it asleep is done once this had the lock, and so
 * does not write TASK_RUNNING over TASK_DEAD.
 */
void sched_task_ends(struct sched *s, unsigned cpu);
/*
 * The running task of @cpu ends: the next sched_switch_begin() there never returns to it. Calls
 * sched_task_unlink() unless the host has.
 */
void sched_task_exit(struct sched *s, unsigned cpu);
/*
 * @t leaves its family, once: it is about to end. Children of a process that ends with it become
 * its parent's, unless sched_task_reparent() gave them away before; O(those children). The memory
 * of a process's first task must last until the process's last task was unlinked.
 */
void sched_task_unlink(struct sched *s, struct task *t);
/* The process whose first task is @child becomes a child of @parent's, or of none (NULL). */
void sched_task_reparent(struct sched *s, struct task *child, struct task *parent);
/*
 * @t takes the place of its process's first task, which has ended as have all others of the process
 * (exec by another than the first). O(children).
 */
void sched_task_lead(struct sched *s, struct task *t);

/* The name of a policy, and which parameters tasks under it have. */
struct sched_policy_info {
	const char *name; /* NULL: there is no such policy */
	bool nice;	  /* a nice value, and a slice */
	bool priority;	  /* a real-time priority */
	bool deadline;	  /* runtime, deadline and period */
};
/* Of SCHED_x @policy, any number. */
struct sched_policy_info sched_policy_info(int policy);
/* Is there such a policy, and are nice value, priority and deadline parameters in its range? */
bool sched_attr_is_valid(const struct sched *s, const struct sched_attr_req *req);
/*
 * Policy, nice value, real-time priority, slice, clamps. -EINVAL: no such combination, or an idle
 * task or stopper. -EOPNOTSUPP: clamps on a machine of one speed. A slice is moved into 0.1 to 100
 * ms; fair policies without requests (CFS) ignore it, and it outlasts a time as a real-time task.
 */
int sched_set_attr(struct sched *s, struct task *t, const struct sched_attr_req *req);
/* @nice, -20..19, alone. A real-time task keeps it for when it is no longer one. */
void sched_set_nice(struct sched *s, struct task *t, int nice);
/* All parameters of @t as they are at one moment: with its lock, or if nobody changes them. */
void sched_get_attr(const struct task *t, struct sched_attr_req *req);
/* The same, and takes the lock. */
void sched_read_attr(struct sched *s, struct task *t, struct sched_attr_req *req);
/*
 * Restrict @t to @mask; a task running or queued elsewhere is moved at once. -EINVAL if no online
 * CPU is allowed. -EBUSY: its class admitted it for all CPUs (SCHED_DEADLINE).
 */
int sched_set_affinity(struct sched *s, struct task *t, const struct cpumask *mask);
/* Writes the online CPUs that @t may use to @mask. */
void sched_get_affinity(struct sched *s, struct task *t, struct cpumask *mask);
/* How much @t asks for at a time in ns; 0 for real time and under policies without requests. */
u64 sched_task_slice(struct sched *s, struct task *t);
/* Round-robin interval in ns, as sched_rr_get_interval(2): 0 for FIFO. */
u64 sched_rr_interval(struct sched *s, struct task *t);

#define NICE_MIN (-20)
#define NICE_MAX 19

static inline bool nice_is_valid(s64 nice)
{
	return nice >= NICE_MIN && nice <= NICE_MAX;
}

/* The weight of a task of nice value @nice, a valid one: 1024 for 0. Shares of groups are alike. */
u32 sched_nice_weight(int nice);

/* --- blocking and waking -------------------------------------------------- */

/*
 * PROTOCOL: sleep. The running task announces that it will block, checks its
 * condition, then switches. A wakeup between the announcement and the switch
 * makes the switch a no-op, so none is lost:
 *
 *	sched_block(t, TASK_INTERRUPTIBLE);       full barrier
 *	if (condition) sched_unblock(t); else switch
 */
void sched_block(struct task *t, u32 state);
void sched_unblock(struct task *t);

enum sched_wake_flags {
	WAKE_SYNC = 0x10, /* the waker is about to sleep */
};

/*
 * Wake @t if its state is in @state_mask. @cpu is the waker's CPU. Returns true if this
 * call made the task runnable (or cancelled its block). Callable from interrupt context.
 */
bool sched_wake(struct sched *s, struct task *t, u32 state_mask, unsigned cpu, unsigned flags);

/* --- events from the host ------------------------------------------------- */

/* The periodic tick of a busy @cpu, every 1/HZ s, on that CPU. */
void sched_tick(struct sched *s, unsigned cpu);
/* The one-shot armed by host_timer() expired. */
void sched_timer(struct sched *s, unsigned cpu);
/*
 * May @cpu stop its tick? True when it idles (NOHZ); the host restarts the tick when it leaves
 * idle.
 */
bool sched_tick_can_stop(struct sched *s, unsigned cpu);
/*
 * sched_yield(2) by the running task of @cpu. If true the host switches, and the yield takes place
 * there. False: the yield makes no difference and is over; a switch would be harmless.
 */
bool sched_yield(struct sched *s, unsigned cpu);

/* --- switching ------------------------------------------------------------ */

/*
 * Choose the next task of @cpu. With @preempt the current task is amid code of the host: it stays
 * runnable whatever its state says, and a trace shows R+. Without, a task that called sched_block()
 * and was not woken since is dequeued; one that leaves from user mode announced nothing, and is R.
 * Returns with the runqueue lock held and the task to run, which may be the current one.
 */
struct task *sched_switch_begin(struct sched *s, unsigned cpu, bool preempt);
/*
 * Complete the switch on the new stack. Returns the task that ran before; if it is dead the host
 * may free it.
 */
struct task *sched_switch_end(struct sched *s, unsigned cpu);

struct task *sched_current(struct sched *s, unsigned cpu);

/* --- introspection -------------------------------------------------------- */

struct sched_cpu_stat {
	u64 nr_switches, yield_count, sched_count, sched_goidle, ttwu_count, ttwu_local;
	u64 run_ns, wait_ns, slices, idle_ns;
	u64 clock; /* of the CPU; idle_ns is up to date as of then */
	u32 nr_running, nr_uninterruptible;
};
void sched_cpu_stat(struct sched *s, unsigned cpu, struct sched_cpu_stat *out);

/* Work conservation; see waste.c. Counted while the tunable sched_schedstats is 1. */
struct sched_waste_stat {
	bool counted;
	u64 ns;		/* CPU time that idle CPUs could have given to waiting tasks, ever */
	u64 llc_ns;	/* the same if each could only take tasks of its own last-level cache */
	u32 nr_wasted;	/* idle CPUs that could give some now */
	u32 nr_idle;	/* CPUs with nothing to run */
	u32 nr_waiting; /* tasks beyond the one that each CPU can run */
};
/* @cpu is the caller's. */
void sched_waste(struct sched *s, unsigned cpu, struct sched_waste_stat *out);
/* Up-to-date CPU time of @t in ns, whether running or not. Takes the runqueue lock. */
u64 sched_task_runtime(struct sched *s, struct task *t);
/* Kernel priority as traces and /proc show it: 0..99 real time, 100..139 fair. */
int sched_task_prio(const struct task *t);
/* Text dumps; return the length that was or would have been written, as snprintf. */
size_t sched_dump_cpu(struct sched *s, unsigned cpu, char *buf,
		      size_t size); /* "runnable tasks" of debugfs `debug` */
size_t sched_dump_task(struct sched *s, struct task *t, char *buf,
		       size_t size); /* body of /proc/PID/sched */
size_t sched_dump_schedstat(struct sched *s, char *buf,
			    size_t size); /* /proc/schedstat, version 15 */
/*
 * Check every invariant of sched/observe/invariant.def that can be checked from here; host_bug() on
 * violation.
 */
void sched_check(struct sched *s);

/*
 * From now on the events of @mask (BIT(EVENT_x), sched/observe/event.h) are passed to host_trace().
 * At first none are. Takes each runqueue's lock in turn if the first event of DECISION_EVENTS is
 * switched on, or the last one off.
 */
void sched_trace_set(struct sched *s, u64 mask);

/* --- the fair policy ------------------------------------------------------- */

/* The name of the @index-th fair policy, or NULL past the end. */
const char *sched_fair_name(unsigned index);
/*
 * The properties of a policy that a host may ask for. sched_fair_policy() returns the @index-th
 * policy that is built in, or NULL past the end; a machine's guest is not counted.
 */
enum sched_trait {
#define TRAIT(name, text) TRAIT_##name,
#include "sched/fair/trait.def"
#undef TRAIT
};
const struct fair_policy *sched_fair_policy(unsigned index);
const char *sched_policy_name(const struct fair_policy *policy);
bool sched_policy_has(const struct fair_policy *policy, enum sched_trait trait);
/* Has the policy a name and every hook? One that has not is not accepted as a guest. */
bool sched_policy_complete(const struct fair_policy *policy);
/* The name of the @index-th trait, or NULL past the end. */
const char *sched_trait_name(unsigned index);
/* Has the policy in use the trait? */
bool sched_fair_has(const struct sched *s, enum sched_trait trait);
/* The name of the policy in use. */
const char *sched_fair_current(const struct sched *s);
/*
 * Schedule fair tasks by the policy called @name from now on; @cpu is the caller's. -EINVAL if
 * there is none; -EBUSY if it brings fair servers, and deadline tasks leave them no room. Every
 * task starts anew under it, owed nothing and with its CPU time, averages and parameters kept; the
 * features that the policy cares for take its defaults. Calls must not overlap; O(queued tasks).
 */
int sched_fair_swap(struct sched *s, const char *name, unsigned cpu);

/* --- tunables and features ------------------------------------------------ */

struct sched_tunable_info {
	const char *name; /* "latency_ns" */
	/*
	 * "debug" = /sys/kernel/debug/sched, "sysctl" = /proc/sys/kernel; "qos": a line of
	 * /sys/kernel/debug/qos/qos_params.
	 */
	const char *where;
	const char *doc;
};
/* The tunable after @info, the first one if that is NULL; NULL after the last. */
const struct sched_tunable_info *sched_tunable_after(const struct sched_tunable_info *info);
#define for_each_tunable(info)                                                                     \
	for (info = sched_tunable_after(NULL); info; info = sched_tunable_after(info))

/*
 * Text as Linux's file would show it, newline included; -ENOENT for an unknown name. Returns the
 * length.
 */
int sched_tunable_read(struct sched *s, const char *name, char *buf, size_t size);
/* @text as written to the file, any trailing newline included. -EINVAL changes nothing. */
int sched_tunable_write(struct sched *s, const char *name, const char *text, size_t len);
int sched_features_read(struct sched *s, char *buf, size_t size);
int sched_features_write(struct sched *s, const char *text, size_t len);

/* --- the fair server as files ----------------------------------------------- */

/* The @index-th file of /sys/kernel/debug/sched/fair_server/cpuN, or NULL past the end. */
const char *sched_fair_server_file(unsigned index);
/* Text of a file of @cpu, in ns, newline included; returns the length. */
int sched_fair_server_read(struct sched *s, unsigned cpu, unsigned file, char *buf, size_t size);
/*
 * @text as written to the file. 0; -EINVAL: no number, more runtime than period, or a period that
 * is not 100 us to 4.19 s; -EBUSY: deadline tasks leave no room. Errors change nothing.
 */
int sched_fair_server_write(struct sched *s, unsigned cpu, unsigned file, const char *text,
			    size_t len);

/* --- domains as files ------------------------------------------------------ */

struct sched_domain_file {
	const char *name; /* "busy_factor" */
	bool writable;
};
/* The @index-th file of /sys/kernel/debug/sched/domains/cpuN/domainM, or NULL past the end. */
const struct sched_domain_file *sched_domain_file(unsigned index);
#define SCHED_DOMAINS_MAX 4 /* of a CPU; they are numbered bottom-up */
/*
 * Text of a file of the @level-th domain of @cpu, newline included; returns the length. -ENOENT:
 * @cpu has no such domain.
 */
int sched_domain_read(struct sched *s, unsigned cpu, unsigned level, unsigned file, char *buf,
		      size_t size);
/* @text as written to the file. -ENOENT, or -EINVAL with nothing changed. */
int sched_domain_write(struct sched *s, unsigned cpu, unsigned level, unsigned file,
		       const char *text, size_t len);
