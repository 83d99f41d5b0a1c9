/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Log-linear histogram: see hist.h. The bucket of a value is its top HIST_SUB_BITS + 1 bits and
 * their position, which is what a floating-point format stores; the idea is that of HdrHistogram.
 */
#include "lib/hist.h"

#include <string.h>

static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < 2u << HIST_SUB_BITS)
		return value;
	shift = 63 - __builtin_clzll(value) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (value >> shift);
}

/* The largest value that falls into bucket @b. */
static uint64_t bucket_top(unsigned b)
{
	uint64_t mantissa = UINT64_C(1) << HIST_SUB_BITS | (b & ((1u << HIST_SUB_BITS) - 1));

	if (b < 2u << HIST_SUB_BITS)
		return b;
	return ((mantissa + 1) << ((b >> HIST_SUB_BITS) - 1)) - 1;
}

void hist_add(struct hist *h, uint64_t value)
{
	if (!h->nr || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->nr++;
	h->sum += value;
	h->bucket[bucket_of(value)]++;
}

void hist_merge(struct hist *into, const struct hist *from)
{
	unsigned b;

	if (!from->nr)
		return;
	if (!into->nr || from->min < into->min)
		into->min = from->min;
	if (from->max > into->max)
		into->max = from->max;
	into->nr += from->nr;
	into->sum += from->sum;
	for (b = 0; b < HIST_BUCKETS; b++)
		into->bucket[b] += from->bucket[b];
}

void hist_clear(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

uint64_t hist_percentile(const struct hist *h, double percent)
{
	double wanted = h->nr * percent / 100;
	uint64_t seen = 0;
	unsigned b;

	for (b = 0; b < HIST_BUCKETS; b++) {
		seen += h->bucket[b];
		if (seen && seen >= wanted)
			break;
	}
	if (!h->nr)
		return 0;
	return bucket_top(b) < h->max ? bucket_top(b) : h->max;
}

uint64_t hist_between(const struct hist *h, uint64_t low, uint64_t high)
{
	uint64_t nr = 0;
	unsigned b;

	for (b = bucket_of(low) + 1; b <= bucket_of(high); b++)
		nr += h->bucket[b];
	return nr;
}

double hist_mean(const struct hist *h)
{
	return h->nr ? (double)h->sum / h->nr : 0;
}
