/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bursts, as both BORE policies measure and inherit them.
 *
 * A burst is the CPU time of a task since it last slept or yielded. Its penalty is the logarithm of
 * that, less an offset, scaled; whole steps of it are the score, 0..39, which works like as many
 * nice levels. Earlier bursts are remembered smoothed, so that one short burst does not wash a hog
 * clean; a new task begins with what is usual in its family.
 *
 * struct burst is in task.h. Source: docs/sources.md.
 */
#pragma once

#include "sched/fair/core/fair.h"

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
 * Forks in a big family must not hold the lock for long: a survey looks at so many tasks at most,
 * twice as many as it counts by default.
 */
#define BURST_LOOKS 128

/*
 * The larger of @t's own worst burst and the average of its children's, of its threads', or of its
 * descendants' @depth + 1 branchings below it. family_lock held, @t leads a process.
 */
u64 burst_of_children(struct burst_survey *survey, struct task *t);
u64 burst_of_threads(struct burst_survey *survey, struct task *t);
u64 burst_of_descendants(struct burst_survey *survey, struct task *t, unsigned depth);
