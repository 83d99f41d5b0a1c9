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
static u32 nr_timers;
static bool closed; /* no timer starts */
/* Operations of several CPUs may make, start and cancel one timer at once. */
static struct host_lock lock = { .rank = HOST_RANK_LEAF };

static struct timer *known(const struct bpf_timer *timer)
{
	u64 id = READ_ONCE(timer->id);

	return id && id <= ARRAY_SIZE(timers) && timers[id - 1].owner == timer ? &timers[id - 1]
									       : NULL;
}

static struct timer *timer_of(struct bpf_timer *timer)
{
	scx_need(timer, sizeof(*timer), true);
	return known(timer);
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

/* 0 or -errno. The memory of @timer is there, and @lock is held. */
static long make_timer(struct bpf_timer *timer, void *map)
{
	struct timer *t = &timers[nr_timers];

	debug_assert(host_lock_held(&lock));
	if (known(timer))
		return -EBUSY;
	if (nr_timers == ARRAY_SIZE(timers))
		return -ENOMEM;
	*t = (struct timer){ .map = map };
	ktimer_init(&t->timer, expire, NULL);
	WRITE_ONCE(t->owner, timer);
	WRITE_ONCE(timer->id, ++nr_timers);
	return 0;
}

long bpf_timer_init(struct bpf_timer *timer, void *map, u64 flags)
{
	long err;

	(void)flags;
	scx_need(timer, sizeof(*timer), true);
	host_lock(&lock);
	err = make_timer(timer, map);
	host_unlock(&lock);
	return err;
}

long bpf_timer_set_callback(struct bpf_timer *timer, void *callback)
{
	struct timer *t = timer_of(timer);

	if (!t)
		return -EINVAL;
	t->function = callback;
	return 0;
}

static void start(struct timer *t, u64 when)
{
	host_lock(&lock);
	ktimer_start(&t->timer, when);
	host_unlock(&lock);
}

long bpf_timer_start(struct bpf_timer *timer, u64 ns, u64 flags)
{
	struct timer *t = timer_of(timer);
	u64 now = clock_ns();

	if (!t || !t->function || READ_ONCE(closed))
		return -EINVAL;
	start(t, flags & 1 ? max(ns, now) : now + max(ns, (u64)1));
	return 0;
}

/* A timer that fires just now is not waited for: it may be the caller. */
long bpf_timer_cancel(struct bpf_timer *timer)
{
	struct timer *t = timer_of(timer);

	if (!t)
		return -EINVAL;
	start(t, TIME_NEVER);
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
