/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Histogram of durations. Buckets are exact below 128 and then 64 to each power of two, so a
 * percentile is at most 1.6 % above the true value, over the whole range of 64 bits and in constant
 * memory. Minimum, maximum, sum and count are exact. One writer at a time.
 */
#pragma once

#include <stdint.h>

#define HIST_SUB_BITS 6
#define HIST_BUCKETS  ((64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

struct hist {
	uint64_t nr, sum, min, max;
	uint32_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t value);
void hist_merge(struct hist *into, const struct hist *from);
void hist_clear(struct hist *h);

/* The smallest value that @percent of all samples do not exceed; 0 without samples. */
uint64_t hist_percentile(const struct hist *h, double percent);
/* How many samples lie above @low and not above @high, at the histogram's resolution. */
uint64_t hist_between(const struct hist *h, uint64_t low, uint64_t high);
double hist_mean(const struct hist *h);
