/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bursts, as both BORE policies measure and inherit them.
 *
 * A burst is the CPU time of a task since it last slept or yielded. Its penalty is the logarithm of
 * that, less an offset, scaled; whole steps of it are the score, 0..39, which works like as many
 * nice levels. Earlier bursts are remembered smoothed, so that one short burst does not wash a hog
 * clean; a new task begins with what is usual in its family.
 *
 * Source: docs/sources.md.
 */
#pragma once

#include "lib/fmt.h"
#include "sched/fair/eevdf/eevdf.h"
#include "sched/record/candidates.h"

/*
 * A task's bursts. A burst is its CPU time since it last slept or yielded.
 * @past and @worst are times under bore-cfs and penalties under bore.
 */
struct burst {
	u64 time;   /* ns of the current burst */
	u64 past;   /* earlier bursts, smoothed; of a new task, what it inherited */
	u64 worst;  /* the larger of @past and the current burst: what the score is made of */
	u8 score;   /* 0..39, as nice levels */
	u8 applied; /* of the score, what its weight contains (bore) */
};

/* Both policies keep this of an entity. EEVDF's part comes first, because bore is built on it. */
struct bore_entity {
	struct eevdf_entity eevdf;
	struct burst burst;
};
POLICY_ENTITY_STATE(bore)

static inline struct burst *burst_entity(const struct entity *e)
{
	return &bore_entity(e)->burst;
}

/* A BORE's tunables as of the last time the runqueue was told of a change: tuned(). */
struct burst_params {
	u32 mode;	     /* sched_bore */
	u32 offset;	     /* sched_burst_penalty_offset */
	u32 scale;	     /* sched_burst_penalty_scale */
	bool spare_kthreads; /* sched_burst_exclude_kthreads */
};

/* An average over a task's relatives, kept for a while. guarded by: sched.family_lock */
struct burst_cache {
	const struct fair_policy *policy; /* whose terms it is in */
	u64 stamp;			  /* when it was computed; 0: never */
	u64 value;
	u32 count; /* tasks it is over */
};

/* Both policies keep this of a family: averages over the leader's children and threads. */
struct burst_family {
	struct burst_cache children, threads;
};
_Static_assert(sizeof(struct burst_family) <= sizeof(((struct family *)0)->policy_state),
	       "FAMILY_STATE_WORDS are too few");

static inline struct burst_family *burst_family(const struct task *leader)
{
	return (struct burst_family *)leader->family.policy_state;
}

#define BURST_SCORE_MAX 39u

/* log2(@ns) + 1 in fixed point, the mantissa taken for linear; 0 for 0. At most 65 << @bits. */
static inline u32 burst_greed(u64 ns, unsigned bits)
{
	unsigned length = bit_length(ns);

	if (!length)
		return 0;
	/* The leading one off, the @bits after it are the fraction. */
	return (u32)(length << bits | ((ns << (64 - length)) << 1) >> (64 - bits));
}

/* (greed - offset) * scale >> @shift, not below 0. */
static inline u32 burst_penalty(const struct burst_params *params, u64 ns, unsigned bits,
				unsigned shift)
{
	u32 greed = burst_greed(ns, bits), tolerated = params->offset << bits;

	return greed > tolerated ? (greed - tolerated) * params->scale >> shift : 0;
}

/* @value for a nice-0 task as for one @levels - 20 nice levels above it, levels 0..39. */
static inline u64 burst_stretch(u64 value, unsigned levels)
{
	return mul_shr(value, weight_of_nice((int)levels - 20).inverse, 22);
}

/* --- families --------------------------------------------------------------- */

/* An average over relatives: whose, how, and how much work that may be. */
struct burst_survey {
	const struct fair_policy *policy; /* others' tasks do not count */
	u64 now, lifetime_ns;		  /* averages are reused so long */
	u32 stop_count;			  /* relatives are enough */
	unsigned unit_shift;		  /* bits dropped of each burst before they are added */
	unsigned nr_looks;		  /* tasks that may still be looked at */
};

/*
 * Forks in a big family must not hold the lock for long: a survey looks at no more tasks than
 * this, which is twice as many as it counts by default.
 */
#define BURST_LOOKS 128

/*
 * The larger of @t's own worst burst and the average of its children's, of its threads', or of its
 * descendants' @depth + 1 branchings below it. family_lock held, @t leads a process.
 */
u64 burst_of_children(struct burst_survey *survey, struct task *t);
u64 burst_of_threads(struct burst_survey *survey, struct task *t);
u64 burst_of_descendants(struct burst_survey *survey, struct task *t, unsigned depth);

/* name_numbers() and name_candidates() of a policy that adds bursts to @base. */
#define BURST_CANDIDATES(name, base)                                                               \
	static void name##_numbers(struct fair_queue *q, struct entity *e, unsigned where,         \
				   struct decision_numbers *n)                                     \
	{                                                                                          \
		base##_numbers(q, e, where, n);                                                    \
		n->score = burst_entity(e)->score;                                                 \
	}                                                                                          \
	static POLICY_CANDIDATES(name)
