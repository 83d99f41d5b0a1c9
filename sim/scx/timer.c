/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers of programs in the simulator. */
#include <string.h>

#include "lib/errno.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"
#include "sim/scx/scx.h"

struct timer {
	struct sim_call call;
	struct bpf_timer *owner;
	void *map, *function;
};
static struct timer timers[64];
static u32 nr_timers;

static struct timer *timer_of(struct bpf_timer *timer)
{
	bool known = timer->id && timer->id <= nr_timers && timers[timer->id - 1].owner == timer;

	return known ? &timers[timer->id - 1] : NULL;
}

static void call_back(struct ext_call *c, void *argument)
{
	struct timer *t = argument;
	int key = 0;

	scx_call(c, "a timer", t->function, (u64)t->map, (u64)&key, (u64)t->owner);
}

static void expire(struct sim *sim, struct sim_call *call)
{
	sched_ext_outside(sim->s, call_back, container_of(call, struct timer, call));
}

void scx_timers_end(bool alive)
{
	for (u32 i = 0; alive && i < nr_timers; i++)
		sim_call_cancel(scx_sim(), &timers[i].call);
	memset(timers, 0, sizeof(timers));
	nr_timers = 0;
}

long bpf_timer_init(struct bpf_timer *timer, void *map, u64 flags)
{
	(void)flags;
	if (timer_of(timer))
		return -EBUSY;
	if (nr_timers == ARRAY_SIZE(timers))
		return -ENOMEM;
	timers[nr_timers] = (struct timer){ .owner = timer, .map = map };
	timer->id = ++nr_timers;
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
	u64 now = scx_clock();

	if (!t || !t->function)
		return -EINVAL;
	sim_call_at(scx_sim(), &t->call, flags & 1 ? max(ns, now) : now + max(ns, (u64)1), expire);
	return 0;
}

long bpf_timer_cancel(struct bpf_timer *timer)
{
	struct timer *t = timer_of(timer);

	return t ? sim_call_cancel(scx_sim(), &t->call) : -EINVAL;
}
