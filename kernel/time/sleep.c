/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The real-time clock, and sleeping.
 *
 * CLOCK_REALTIME is the monotonic clock plus an offset: the CMOS clock's time at boot until
 * somebody sets it.
 */
#include "kernel/contract.h"
#include "kernel/exec/exec.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/thread.h"
#include "kernel/time/tick.h"
#include "kernel/time/time.h"

static struct spinlock realtime_lock = SPINLOCK_INIT("realtime");
static u64 realtime_offset_ns; /* written with realtime_lock */

void clock_init(void)
{
	realtime_offset_ns = arch_boot_epoch() * NS_PER_SEC;
}

u64 clock_realtime_ns(void)
{
	return clock_ns() + READ_ONCE(realtime_offset_ns);
}

u64 clock_monotonic_of(u64 realtime_ns)
{
	u64 offset = READ_ONCE(realtime_offset_ns);

	return realtime_ns > offset ? realtime_ns - offset : 1;
}

void clock_set_realtime(u64 ns)
{
	spin_lock(&realtime_lock);
	WRITE_ONCE(realtime_offset_ns, ns - clock_ns());
	vdso_publish(realtime_offset_ns);
	spin_unlock(&realtime_lock);
}

void clock_publish(void)
{
	spin_lock(&realtime_lock);
	vdso_publish(realtime_offset_ns);
	spin_unlock(&realtime_lock);
}

struct sleeper {
	struct thread *thread;
	bool expired;
};

static void sleep_expired(struct ktimer *timer)
{
	struct sleeper *s = timer->arg;
	/* Read the thread first: once the sleeper sees the mark it may leave. */
	struct thread *t = s->thread;

	debug_assert(arch_in_irq());
	WRITE_ONCE(s->expired, true);
	thread_wake(t, TASK_INTERRUPTIBLE);
}

long sleep_until(u64 deadline_ns, u64 slack_ns)
{
	struct sleeper s = { .thread = current };
	struct ktimer timer;

	might_sleep();
	ktimer_init(&timer, sleep_expired, &s);
	if (deadline_ns != TIME_NEVER)
		ktimer_start_slack(&timer, deadline_ns, slack_ns);
	for (;;) {
		sched_block(&current->task, TASK_INTERRUPTIBLE);
		if (READ_ONCE(s.expired) || signal_pending())
			break;
		schedule();
	}
	sched_unblock(&current->task);
	debug_assert(!s.thread->task.state);
	/* This also waits until the callback is done with this frame and this thread. */
	ktimer_cancel(&timer);
	return s.expired ? 0 : -ERESTARTSYS;
}

static void wake_sleeper(struct ktimer *t)
{
	debug_assert(arch_in_irq());
	thread_wake(t->arg, TASK_INTERRUPTIBLE);
}

bool schedule_until(u64 deadline_ns)
{
	struct ktimer timer;

	debug_assert(may_sleep());
	if (!deadline_ns) {
		schedule();
		return true;
	}
	if (clock_ns() >= deadline_ns)
		return false;
	ktimer_init(&timer, wake_sleeper, current);
	ktimer_start(&timer, deadline_ns);
	schedule();
	return ktimer_cancel(&timer);
}
