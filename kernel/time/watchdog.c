/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watchdog: a thread that could run but has not for a long time is a bug of the scheduler, and
 * the machine stops with a dump of every runqueue (watchdog= seconds on the command line, 0 turns
 * it off).
 *
 * Only fair threads are watched. Real-time ones may rightly be kept waiting for ever by more urgent
 * ones, and fair ones too while real-time throttling is off (sched_rt_runtime_us = -1): that is the
 * user's decision.
 *
 * A busy CPU ticks, and a thread that waits makes its CPU busy, so the tick is enough to look from:
 * it wakes the thread that walks the lists.
 */
#include "kernel/kernel.h"
#include "kernel/task/proc.h"
#include "kernel/time/tick.h"
#include "kernel/time/time.h"
#include "lib/string.h"

static u64 limit_ns = 60 * NS_PER_SEC;
static u64 next_check_ns;
static struct waitq wake = WAITQ_INIT(wake);

static bool throttling_is_off(void)
{
	char text[32] = "";

	return sched_tunable_read(machine, "sched_rt_runtime_us", text, sizeof(text)) > 0 &&
	       text[0] == '-';
}

static bool starves(const struct thread *t, u64 now)
{
	u64 since = READ_ONCE(t->task.wait_start);

	return t->task.on_rq == TASK_QUEUED && since && now > since + limit_ns &&
	       task_is_fair_policy(t->task.policy);
}

static void check_list(const struct list *threads, u64 now)
{
	struct thread *t;

	list_for_each(t, threads, proc_link)
		if (unlikely(starves(t, now)))
			panic("watchdog: %s (%d) is runnable on cpu %u but has not run for %llu s",
			      t->task.comm, t->tid, t->task.cpu,
			      (unsigned long long)((now - t->task.wait_start) / NS_PER_SEC));
}

static void check_all(void)
{
	struct proc *p;

	if (throttling_is_off())
		return;
	spin_lock(&proc_tree_lock);
	u64 now = clock_ns();
	check_list(&kernel_proc.threads, now);
	list_for_each(p, &all_procs, all_link)
		check_list(&p->threads, now);
	spin_unlock(&proc_tree_lock);
}

static void watchdog_main(void *unused)
{
	(void)unused;
	for (;;) {
		wait_event_idle(&wake, clock_ns() >= next_check_ns);
		check_all();
		WRITE_ONCE(next_check_ns, clock_ns() + limit_ns / 4);
	}
}

void watchdog_tick(u64 now_ns)
{
	if (unlikely(now_ns >= READ_ONCE(next_check_ns)))
		waitq_wake(&wake, 0);
}

static int watchdog_init(void)
{
	limit_ns = cmdline_get_u64("watchdog", 60) * NS_PER_SEC;
	next_check_ns = limit_ns ? clock_ns() + limit_ns / 4 : TIME_NEVER;
	return !limit_ns || kthread_create("watchdog", watchdog_main, NULL) ? 0 : -1;
}
INITCALL(watchdog_init);
