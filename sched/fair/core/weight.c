/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weights: how nice values become shares, and the one arithmetic primitive of
 * the fair class, delta * weight / total.
 *
 * One nice step is a factor of about 1.25, so that between two tasks it moves
 * about 10 % of the CPU. Stored weights are the table's << 10, which gives group
 * shares room for fractions. Divisions are multiplications by a cached inverse;
 * both roundings are downwards. Source: Linux 6.1 (docs/sources.md).
 */
#include "sched/fair/core/fair.h"

static const u32 nice_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548,  7620,  6100,  4904,  3906,  3121,  2501,	 1991,	1586,  1277,
	1024,  820,   655,   526,   423,   335,	  272,	 215,	172,   137,
	110,   87,    70,    56,    45,	   36,	  29,	 23,	18,    15,
};

/*
 * 2^32 / weight, rounded: half a unit more precise than what update_inverse() computes at run time.
 * Of weights 56, 45, 29 and 23 it is rounded down, as in Linux.
 */
static const u32 nice_inverse[40] = {
	48388,	  59856,    76040,    92818,	 118348,    147320,    184698,	  229616,
	287308,	  360437,   449829,   563644,	 704093,    875809,    1099582,	  1376151,
	1717300,  2157191,  2708050,  3363326,	 4194304,   5237765,   6557202,	  8165337,
	10153587, 12820798, 15790321, 19976592,	 24970740,  31350126,  39045157,  49367440,
	61356676, 76695844, 95443717, 119304647, 148102320, 186737708, 238609294, 286331153,
};

u32 sched_nice_weight(int nice)
{
	return (u32)weight_down(weight_of_nice(nice).weight);
}

#define IDLE_WEIGHT  3u
#define IDLE_INVERSE 1431655765u

struct load_weight weight_of_nice(int nice)
{
	unsigned i = (unsigned)(nice + 20);

	SCHED_ASSERT(i < ARRAY_SIZE(nice_weight));
	return (struct load_weight){ (u64)nice_weight[i] << WEIGHT_SHIFT, nice_inverse[i] };
}

struct load_weight weight_of_idle(void)
{
	return (struct load_weight){ (u64)IDLE_WEIGHT << WEIGHT_SHIFT, IDLE_INVERSE };
}

struct load_weight weight_of_task(const struct task *t)
{
	return t->policy == SCHED_IDLE ? weight_of_idle()
				       : weight_of_nice(PRIO_TO_NICE(t->static_prio));
}

/* Lab 3, inverse: make @load->inverse 2^32 / weight, rounded down, unless it is known (not 0). */
static void update_inverse(struct load_weight *load)
{
	u64 w = weight_down(load->weight);

	if (likely(load->inverse))
		return;
	if (w >= UINT32_MAX)
		load->inverse = 1;
	else
		load->inverse = w ? UINT32_MAX / (u32)w : UINT32_MAX;
}

/* Bits by which @v must be shifted right to fit 32 bits. */
static inline unsigned excess_bits(u64 v)
{
	return bit_length(v >> 32);
}

/* Lab 3, calc_delta: @delta * @weight / @total by the inverse, without a division or overflow. */
u64 calc_delta(u64 delta, u64 weight, struct load_weight *total)
{
	u64 factor = weight_down(weight);
	unsigned shift = 32, excess;

	update_inverse(total);
	excess = excess_bits(factor);
	factor >>= excess;
	shift -= excess;
	factor *= total->inverse;
	/* Here low bits are lost: 32 are kept, so the relative error is below 2^-31. */
	excess = excess_bits(factor);
	factor >>= excess;
	shift -= excess;
	return mul_shr(delta, factor, shift);
}
