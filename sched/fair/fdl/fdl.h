/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What FDL's files share: its virtual time, and what it keeps of a group on one
 * CPU. The algorithm is in fdl.c; parameters and counters in fdl_group.c, the
 * controller of shares in fdl_control.c, placement in fdl_place.c.
 */
#pragma once

#include "sched/fair/core/fair.h"

/* The time that deadlines are in: the clock, put off by what was missed. */
static inline u64 fdl_now(const struct fair_queue *q)
{
	return q->rq->clock - q->fdl.lag;
}

static inline struct fdl_cpu *fdl_of(struct entity *e)
{
	return &group_cpu_of(e)->fdl;
}

/* How long after its turn @e, a task or a group, is due again; 0: it has no deadlines. */
static inline u64 fdl_period(struct entity *e)
{
	return e->own_queue ? fdl_of(e)->rr_ns : 0;
}

/* One that is "none" by chance moves by a nanosecond. */
static inline u64 fdl_some(u64 deadline)
{
	return deadline ?: 1;
}

/* @e, running, or the container if it has no deadline, used @delta ns (fdl_vtime.c). */
void fdl_charge_deadline(struct fair_queue *q, struct entity *e, u64 delta);

/* Hook shares: those that the controller keeps, if something is guaranteed to @tg (fdl_group.c). */
u64 fdl_shares(const struct task_group *tg);

/* Hook forget_group: @tg is guaranteed nothing any more, and has no deadline (fdl_group.c). */
void fdl_forget_group(struct sched *s, struct task_group *tg);

/* The invariants of fair/fdl_debug.c, and the policy's lines in dumps. */
void fdl_check(struct fair_queue *q);
void fdl_dump(struct entity *e, struct text *out);
void fdl_dump_queue(struct fair_queue *q, struct text *out);

/* Hook select_cpu (fdl_place.c). */
int fdl_select_cpu(struct sched *s, const struct task *t, unsigned prev, unsigned target);

/* What the controller makes the shares of a group from; CPU time in 1024ths of a CPU. */
struct fdl_input {
	u64 guaranteed, target; /* shares, and what CPU time they stand for; not 0 */
	u64 shares;
	u64 usage, wait; /* averages */
	bool parent_increased, parent_decreased;
};
u64 fdl_next_shares(const struct tunables *tn, const struct fdl_input *in);
/* An average over the controller's intervals, in ns, as CPU time. */
u64 fdl_cpu_time(const struct sched *s, u64 ns);
