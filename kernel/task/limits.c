/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits on CPU time (setrlimit(2)): RLIMIT_CPU, seconds of a process, and RLIMIT_RTTIME,
 * microseconds that a real-time thread runs without blocking.
 *
 * The tick marks a running thread whose process has such a limit; on its way to user space the
 * thread adds up what was used. So a limit is enforced at most a tick late. SIGXCPU comes at the
 * soft limit and, as on Linux, a second later again, because the soft limit moves; SIGKILL comes at
 * the hard one.
 */
#include "kernel/contract.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "kernel/time/time.h"
#include "lib/errno.h"

void limits_tick(void)
{
	const struct rlimit *limit = current->proc->rlimit;

	debug_assert(!arch_irq_enabled());
	if (likely(racy_load(&limit[RLIMIT_CPU].cur) == RLIM_INFINITY &&
		   racy_load(&limit[RLIMIT_RTTIME].cur) == RLIM_INFINITY))
		return;
	if (!thread_has(current, THREAD_KERNEL | THREAD_IDLE | THREAD_EXITING))
		thread_set_flags(current, THREAD_LIMITS);
}

/* @used of the limit @kind, whose soft value moves by @step when it is reached. */
static void check(struct proc *p, enum rlimit_kind kind, u64 used, u64 step)
{
	unsigned long flags = spin_lock_irqsave(&p->sig_lock);
	struct rlimit *limit = &p->rlimit[kind];
	int sig = 0;

	debug_assert(kind < NR_RLIMITS);
	if (used >= limit->max) {
		sig = SIGKILL;
	} else if (used >= limit->cur) {
		sig = SIGXCPU;
		limit->cur += step;
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	if (sig)
		signal_send_proc(p, sig, NULL);
}

static u64 runtime_of(struct thread *t)
{
	u64 ns;

	with_irqs_off(ns = sched_task_runtime(machine, &t->task));
	return ns;
}

void limits_check(void)
{
	struct thread *t = current;
	struct proc *p = t->proc;
	struct usage u;

	debug_assert(may_sleep());
	thread_clear_flags(t, THREAD_LIMITS);
	if (READ_ONCE(p->rlimit[RLIMIT_CPU].cur) != RLIM_INFINITY) {
		u = proc_usage(p);
		check(p, RLIMIT_CPU, (u.user_ns + u.system_ns) / NS_PER_SEC, 1);
	}
	if (READ_ONCE(p->rlimit[RLIMIT_RTTIME].cur) == RLIM_INFINITY ||
	    !sched_policy_info(READ_ONCE(t->task.policy)).priority)
		return;
	if (t->rt_blocked != t->task.nr_voluntary + 1 || !t->rt_since_ns) {
		t->rt_blocked = t->task.nr_voluntary + 1;
		t->rt_since_ns = runtime_of(t);
		return;
	}
	check(p, RLIMIT_RTTIME, (runtime_of(t) - t->rt_since_ns) / NS_PER_US,
	      NS_PER_SEC / NS_PER_US);
}
