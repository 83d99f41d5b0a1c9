/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BORE's bursts, by their definition: what a burst of CPU time is worth, and what becomes of it
 * when a task sleeps or yields.
 *
 *	greed    the place after the point of log2(burst) + 1, its mantissa taken for linear:
 *	         2^p <= burst < 2^(p+1) is p + 1 + (burst - 2^p) / 2^p, rounded down to so many bits
 *	penalty  (greed - offset) * scale, not below 0
 *
 * The policy shifts; the oracle divides, in 128 bits.
 */
#include "sched/fair/bore/burst.h"
#include "tests/oracle/oracle.h"

/* A nice level is a factor of about 1.25; nice 0 weighs 1024 (docs/sources.md). */
static const u32 nice_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

s64 weight_of_row(unsigned row)
{
	return nice_weight[row];
}

unsigned row_of_weight(s64 weight)
{
	unsigned row = 0;

	while (nice_weight[row] > weight)
		row++;
	return row;
}

/*
 * A stretched value is value * inverse / 2^22, rounded down. The inverse is 2^32 / weight, less
 * than a unit too small or half a unit too large. So the value is value * 1024 / weight, by less
 * than value / 2^22 and 1 too small, or by value / 2^23 too large.
 */
struct range stretched_range(struct range range, unsigned row)
{
	s128 weight = weight_of_row(row);

	if (row == ROW_OF_NICE_0)
		return range;
	return (struct range){
		.low = range.low * 1024 / weight - (range.low >> 22) - 2,
		.high = range.high * 1024 / weight + (range.high >> 23) + 2,
	};
}

/* --- what a burst is worth -------------------------------------------------------------------- */

/* Both versions begin the state of a queue with them. */
const struct burst_params *bore_params_of(const struct fair_queue *q)
{
	const struct queue_state *root = &q->rq->fair.policy_state;

	return q->policy == &bore_policy ? (const struct burst_params *)root->bore
					 : (const struct burst_params *)root->bore_cfs;
}

/* (log2(@burst) + 1 - offset) * scale, of which @bits are after the point; 0 if less. */
static s128 penalty(const struct burst_params *params, u64 burst, unsigned bits)
{
	s128 one = (s128)1 << bits, power = 1, greed = 0;

	while (power * 2 <= burst) {
		power *= 2;
		greed += one;
	}
	if (burst)
		greed += one * burst / power;
	greed -= params->offset * one;
	return greed > 0 ? greed * params->scale : 0;
}

unsigned score_2(const struct fair_queue *q, u64 burst)
{
	s128 exact = penalty(bore_params_of(q), burst, 10) / 1024 / 1024;

	return exact < 39 ? (unsigned)exact : 39;
}

unsigned penalty_5(const struct fair_queue *q, u64 burst)
{
	s128 exact = penalty(bore_params_of(q), burst, 8) / 65536;

	return exact < 156 ? (unsigned)exact : 156;
}

/* --- what becomes of it ----------------------------------------------------------------------- */

static const struct burst *of(const struct row *row)
{
	return &((const struct bore_entity *)row->state)->burst;
}

bool bursts_2(const struct view *v, const struct row *was, const struct entity *e, u64 delta,
	      bool ended)
{
	const struct burst *b = of(was), *now = burst_entity(e);
	u64 time = b->time + delta, past = b->past, worst = max(b->worst, time);
	s128 parts = (s128)1 << v->s->tunable.bore_cfs_smoothness;

	if (ended) {
		past = worst = (u64)((time + past * (parts - 1)) / parts);
		time = 0;
	}
	return now->time == time && now->past == past && now->worst == worst &&
	       now->score == score_2(v->q, worst);
}

/* The past follows half of the way to a worse burst, and all of it to a better one, by default. */
static u64 smoothed(const struct tunables *tn, u64 past, u64 present)
{
	if (present >= past)
		return past + (present - past) / (1ull << tn->bore_smoothness_long);
	return past - (past - present) / (1ull << tn->bore_smoothness_short);
}

u64 past_after_5(const struct rq *rq, const struct task *t)
{
	const struct burst *b = burst_entity(&t->fair);

	return smoothed(&rq->s->tunable, b->past, penalty_5(&rq->fair, b->time));
}

static s64 weight_by_score(const struct task *t, unsigned score)
{
	unsigned row = (unsigned)(t->static_prio - MAX_RT_PRIO) + score;

	return t->policy == SCHED_IDLE ? 3 : weight_of_row(min(row, 39u));
}

bool bursts_5(const struct view *v, const struct row *was, const struct entity *e, u64 delta,
	      bool ended)
{
	const struct burst_params *params = bore_params_of(v->q);
	const struct burst *b = of(was), *now = burst_entity(e);
	u64 time = b->time + delta, past = b->past, worst;
	const struct task *t = task_of((struct entity *)e);
	unsigned score, counts;

	if (ended) {
		past = smoothed(&v->s->tunable, past, penalty_5(v->q, time));
		time = 0;
	}
	worst = max(past, (u64)penalty_5(v->q, time));
	score = t->kthread && params->spare_kthreads ? 0 : (unsigned)worst / 4;
	counts = params->mode && t->policy != SCHED_IDLE ? score : 0;
	return now->time == time && now->past == past && now->worst == worst &&
	       now->score == score && now->applied == counts &&
	       weight_of(e) == weight_by_score(t, counts);
}

bool bursts_stay(const struct row *was, const struct entity *e)
{
	const struct burst *b = of(was), *now = burst_entity(e);

	return now->time == b->time && now->past == b->past && now->worst == b->worst &&
	       now->score == b->score && now->applied == b->applied;
}

/* --- tunables --------------------------------------------------------------------------------- */

static bool has_params(const struct burst_params *p, u32 mode, u32 offset, u32 scale, bool spare)
{
	return p->mode == mode && p->offset == offset && p->scale == scale &&
	       p->spare_kthreads == spare;
}

bool bore_is_tuned(const struct sched *s)
{
	const struct tunables *tn = &s->tunable;

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		const struct fair_queue *q = &cpu_rq((struct sched *)s, cpu)->fair;
		const struct burst_params *params = bore_params_of(q);

		if (q->policy == &bore_policy &&
		    !has_params(params, tn->bore, tn->bore_offset, tn->bore_scale,
				tn->bore_exclude_kthreads))
			return false;
		if (q->policy == &bore_cfs_policy &&
		    !has_params(params, tn->bore_cfs, tn->bore_cfs_offset, tn->bore_cfs_scale,
				false))
			return false;
	}
	return true;
}
