/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers of programs in the kernel. They expire in interrupts, with no operation under way. */
#include "kernel/kernel.h"
#include "kernel/scx/scx.h"
#include "kernel/task/cpu.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "sim/scx/include/scx/functions.h"

struct timer {
	struct ktimer timer;
	struct bpf_timer *owner;
	void *map, *function;
};
static struct timer timers[64];
static u32 nr_timers; /* atomic */
static bool closed;   /* no timer starts */

static struct timer *timer_of(struct bpf_timer *timer)
{
	u64 id;

	scx_need(timer, sizeof(*timer), true);
	id = READ_ONCE(timer->id);
	return id && id <= ARRAY_SIZE(timers) && timers[id - 1].owner == timer ? &timers[id - 1]
									       : NULL;
}

static void call_back(struct ext_call *c, void *argument)
{
	struct timer *t = argument;
	int key = 0;

	scx_call(c, "a timer", t->function, (u64)t->map, (u64)&key, (u64)t->owner);
}

static void expire(struct ktimer *timer)
{
	sched_ext_outside(machine, call_back, container_of(timer, struct timer, timer));
}

long bpf_timer_init(struct bpf_timer *timer, void *map, u64 flags)
{
	u32 id;

	(void)flags;
	if (timer_of(timer))
		return -EBUSY;
	id = __atomic_fetch_add(&nr_timers, 1, __ATOMIC_RELAXED);
	if (id >= ARRAY_SIZE(timers)) {
		__atomic_fetch_sub(&nr_timers, 1, __ATOMIC_RELAXED);
		return -ENOMEM;
	}
	timers[id] = (struct timer){ .map = map };
	ktimer_init(&timers[id].timer, expire, NULL);
	WRITE_ONCE(timers[id].owner, timer);
	timer->id = id + 1;
	return 0;
}

long bpf_timer_set_callback(struct bpf_timer *timer, void *callback)
{
	struct timer *t = timer_of(timer);

	if (!t)
		return -EINVAL;
	t->function = callback;
	return 0;
}

long bpf_timer_start(struct bpf_timer *timer, u64 ns, u64 flags)
{
	struct timer *t = timer_of(timer);
	u64 now = clock_ns();

	if (!t || !t->function || READ_ONCE(closed))
		return -EINVAL;
	ktimer_start(&t->timer, flags & 1 ? max(ns, now) : now + max(ns, (u64)1));
	return 0;
}

/* A timer that fires just now is not waited for: it may be the caller. */
long bpf_timer_cancel(struct bpf_timer *timer)
{
	struct timer *t = timer_of(timer);

	if (!t)
		return -EINVAL;
	ktimer_start(&t->timer, TIME_NEVER);
	return 0;
}

void scx_timers_close(void)
{
	WRITE_ONCE(closed, true);
	for (u32 i = 0; i < min(nr_timers, (u32)ARRAY_SIZE(timers)); i++)
		ktimer_cancel(&timers[i].timer);
	memset(timers, 0, sizeof(timers));
	nr_timers = 0;
	closed = false;
}
