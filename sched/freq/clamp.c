/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Utilisation clamps: what a governor takes the utilisation of a CPU for at least and at most. Each
 * task has two, 0 and 1024 unless it asked for others; the minimum of a real-time task is
 * sched_util_clamp_min_rt_default. They replaced SchedTune's boosts in Linux 5.3.
 *
 * A CPU has the greatest minimum and the greatest maximum of its runnable tasks. To find them
 * without a search it counts the tasks in 20 buckets by their value, and a bucket remembers the
 * greatest value that it had since it was last empty. So the clamp of a CPU may be too large by
 * less than a bucket's width, until the last task of the bucket leaves. A CPU without runnable
 * tasks keeps the maximum of its last task. Otherwise what that task used, which decays slowly,
 * would count in full as soon as its limit is gone.
 *
 * A greater minimum than maximum is possible, of different tasks; then the minimum holds.
 * Source: Linux 6.1, core.c and sched.h, which has 5 buckets unless it is built with up to 20.
 */
#include "sched/freq/governor.h"
#include "lib/errno.h"
#include "sched/core/core.h"

#define BUCKET_WIDTH	      51 /* 1024 / 20, rounded */
#define for_each_clamp(which) for (unsigned which = 0; (which) < NR_SCHED_CLAMPS; (which)++)

/* The clamps of a task that never asked for any. */
static const u16 nothing_asked[NR_SCHED_CLAMPS] = { 0, OPP_CAPACITY };

/* --- of a task ----------------------------------------------------------------------------- */

u32 clamp_requested(const struct sched *s, const struct task *t, enum sched_clamp which)
{
	if (t->clamp.own[which])
		return t->clamp.request[which];
	if (which == SCHED_CLAMP_MIN && t->prio < MAX_RT_PRIO)
		return READ_ONCE(s->tunable.clamp_min_rt);
	return nothing_asked[which];
}

u32 clamp_effective(const struct sched *s, const struct task *t, enum sched_clamp which)
{
	const struct task_group *tg = t->group;
	u32 value = clamp_requested(s, t, which);

	if (tg)
		value = max(min(value, (u32)READ_ONCE(tg->clamp[SCHED_CLAMP_MAX])),
			    (u32)READ_ONCE(tg->clamp[SCHED_CLAMP_MIN]));
	return min(value, which == SCHED_CLAMP_MIN ? READ_ONCE(s->tunable.clamp_min)
						   : READ_ONCE(s->tunable.clamp_max));
}

static bool is_valid(u32 util)
{
	return util <= OPP_CAPACITY || util == SCHED_CLAMP_RESET;
}

/* A reset is compared with nothing. */
int clamp_admit(const struct rq *rq, const struct task *t, const struct sched_attr_req *req)
{
	u32 util[NR_SCHED_CLAMPS];

	debug_assert_locked(rq);
	if (!req->clamps)
		return 0;
	if (!rq->freq)
		return -EOPNOTSUPP;
	for_each_clamp(i)
	{
		bool asked = req->clamps & BIT(i);

		util[i] = asked ? req->util[i] : clamp_requested(rq->s, t, i);
		if (!is_valid(util[i]))
			return -EINVAL;
	}
	if (util[SCHED_CLAMP_MIN] == SCHED_CLAMP_RESET)
		return 0;
	return util[SCHED_CLAMP_MIN] > util[SCHED_CLAMP_MAX] ? -EINVAL : 0;
}

void clamp_request(struct rq *rq, struct task *t, const struct sched_attr_req *req)
{
	assert_locked(rq);
	for_each_clamp(i)
	{
		if (!(req->clamps & BIT(i)))
			continue;
		t->clamp.own[i] = req->util[i] != SCHED_CLAMP_RESET;
		t->clamp.request[i] = (u16)req->util[i];
		WRITE_ONCE(rq->s->freq->clamped, true);
	}
}

void clamp_fork(const struct task *parent, struct task *child)
{
	if (parent->reset_on_fork)
		return;
	child->clamp = parent->clamp;
	child->clamp.counted = false;
}

void clamp_get(const struct task *t, struct sched_attr_req *req)
{
	const struct rq *rq = t->fair.queue->rq;

	for_each_clamp(i) req->util[i] = rq->freq ? clamp_requested(rq->s, t, i) : 0;
}

/* --- of a CPU ------------------------------------------------------------------------------ */

static u32 bucket_of(u32 value)
{
	return min(value / BUCKET_WIDTH, CLAMP_BUCKETS - 1u);
}

/* @first: none was counted, so what is left of the last one's maximum ends. */
static void count_in(struct clamp_count *c, u16 value, bool first)
{
	u32 bucket = bucket_of(value);

	SCHED_DEBUG_ASSERT(value <= OPP_CAPACITY);
	if (!c->nr[bucket]++ || value > c->most[bucket])
		c->most[bucket] = value;
	if (first || value > c->value)
		WRITE_ONCE(c->value, value);
}

/* The value of the last bucket with a task; there is one. */
static u16 greatest(const struct clamp_count *c)
{
	u32 bucket = CLAMP_BUCKETS - 1;

	while (!c->nr[bucket]) {
		SCHED_DEBUG_ASSERT(bucket);
		bucket--;
	}
	return c->most[bucket];
}

/* @last: no task is counted any more, and @left remains. */
static void count_out(struct clamp_count *c, u16 value, bool last, u16 left)
{
	u32 bucket = bucket_of(value);

	SCHED_ASSERT(c->nr[bucket]);
	if (!--c->nr[bucket] && c->most[bucket] >= c->value)
		WRITE_ONCE(c->value, last ? left : greatest(c));
}

/* Deadline tasks and fixtures have no clamps. */
static bool has_clamps(const struct task *t)
{
	return t->class->rank == CLASS_rt || t->class->rank == CLASS_fair;
}

void clamp_enter(struct rq *rq, struct task *t)
{
	struct freq_cpu *f = rq->freq;

	SCHED_DEBUG_ASSERT(!t->clamp.counted);
	debug_assert_locked(rq);
	if (!has_clamps(t))
		return;
	for_each_clamp(i)
	{
		t->clamp.value[i] = (u16)clamp_effective(rq->s, t, i);
		count_in(&f->clamp[i], t->clamp.value[i], !f->nr_clamped);
	}
	t->clamp.counted = true;
	WRITE_ONCE(f->nr_clamped, f->nr_clamped + 1);
}

void clamp_leave(struct rq *rq, struct task *t)
{
	struct freq_cpu *f = rq->freq;
	u16 least = t->clamp.value[SCHED_CLAMP_MIN], most = t->clamp.value[SCHED_CLAMP_MAX];
	bool last = f->nr_clamped == 1;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(!t->clamp.counted || f->nr_clamped);
	if (!t->clamp.counted)
		return;
	t->clamp.counted = false;
	WRITE_ONCE(f->nr_clamped, f->nr_clamped - 1);
	count_out(&f->clamp[SCHED_CLAMP_MIN], least, last, 0);
	count_out(&f->clamp[SCHED_CLAMP_MAX], most, last, most);
}

static bool is_as_counted(const struct rq *rq, const struct task *t)
{
	debug_assert_locked(rq);
	if (t->clamp.counted != has_clamps(t))
		return false;
	for_each_clamp(i) if (t->clamp.counted &&
			      t->clamp.value[i] != clamp_effective(rq->s, t, i)) return false;
	return true;
}

bool clamp_renew(struct rq *rq, struct task *t)
{
	assert_locked(rq);
	if (t->on_rq != TASK_QUEUED || is_as_counted(rq, t))
		return false;
	clamp_leave(rq, t);
	clamp_enter(rq, t);
	return true;
}

u64 clamp_util(const struct rq *rq, u64 util)
{
	const struct clamp_count *c = rq->freq->clamp;
	u32 least = READ_ONCE(c[SCHED_CLAMP_MIN].value), most = READ_ONCE(c[SCHED_CLAMP_MAX].value);

	if (!rq->s->freq->clamped)
		return util;
	return max(min(util, (u64)most), (u64)least);
}

bool clamp_caps(const struct rq *rq, u64 util)
{
	u32 most = READ_ONCE(rq->freq->clamp[SCHED_CLAMP_MAX].value);

	return most < OPP_CAPACITY && util >= most;
}

unsigned sched_clamp_cpu(struct sched *s, unsigned cpu, enum sched_clamp which)
{
	return READ_ONCE(cpu_rq(s, cpu)->freq->clamp[which].value);
}

/* --- invariants ---------------------------------------------------------------------------- */

struct census {
	u32 nr[CLAMP_BUCKETS];
	u16 least[CLAMP_BUCKETS]; /* that the bucket's value may be: the greatest of its tasks */
};

static void check_count(struct rq *rq, enum sched_clamp which, const struct census *census)
{
	const struct clamp_count *c = &rq->freq->clamp[which];
	u32 nr = 0;

	for (u32 i = 0; i < CLAMP_BUCKETS; i++) {
		nr += census->nr[i];
		SCHED_CHECK(E7, c->nr[i] == census->nr[i]);
		SCHED_CHECK(E8, !c->nr[i] || (c->most[i] >= census->least[i] &&
					      bucket_of(c->most[i]) == i));
	}
	SCHED_CHECK(E7, rq->freq->nr_clamped == nr);
	if (nr)
		SCHED_CHECK(E8, c->value == greatest(c));
	else
		SCHED_CHECK(E8, which == SCHED_CLAMP_MAX || !c->value);
}

void clamp_check(struct rq *rq)
{
	struct census census[NR_SCHED_CLAMPS] = { 0 };
	struct task *t;

	debug_assert_locked(rq);
	for_each_queued(t, rq)
	{
		SCHED_CHECK(E7, t->on_rq == TASK_QUEUED ? is_as_counted(rq, t) : !t->clamp.counted);
		for_each_clamp(i)
		{
			u32 bucket = bucket_of(t->clamp.value[i]);

			if (!t->clamp.counted)
				continue;
			census[i].nr[bucket]++;
			census[i].least[bucket] = max(census[i].least[bucket], t->clamp.value[i]);
		}
	}
	for_each_clamp(i) check_count(rq, i, &census[i]);
}
