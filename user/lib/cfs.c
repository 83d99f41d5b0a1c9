/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CFS's arithmetic for tasks that never sleep, on one CPU: see cfs.h.
 *
 * Slice: the period is latency_ns, or nr * min_granularity_ns when that many tasks no longer fit;
 * each task gets its weight's part of it, at least min_granularity_ns. The slice is checked in the
 * tick only, so a turn lasts until the first tick after the slice is used up.
 *
 * Wait: a turn g_i moves the virtual time of task i ahead by g_i / w_i, and it runs again when it
 * is leftmost. Until then every other task j must use up that lead, g_i * w_j / w_i of CPU time,
 * and may overshoot it by one turn. So the wait is at most the sum over j of g_i * w_j / w_i + g_j.
 */
#include "lib/cfs.h"

#include <stdio.h>
#include <string.h>

#include "lib/clock.h"

#define DEBUG_SCHED "/sys/kernel/debug/sched/"

static bool read_text(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "r");
	bool ok = f && fgets(buf, size, f);

	if (f)
		fclose(f);
	return ok;
}

static bool read_number(const char *path, uint64_t *value)
{
	unsigned long long n;
	char text[64];

	if (!read_text(path, text, sizeof(text)) || sscanf(text, "%llu", &n) != 1)
		return false;
	*value = n;
	return true;
}

/* The tick is a boot parameter; 250 Hz is the default. */
static uint64_t read_tick_ns(void)
{
	char text[1024], *hz;
	unsigned value = 250;

	if (read_text("/proc/cmdline", text, sizeof(text)) && (hz = strstr(text, "hz=")))
		sscanf(hz, "hz=%u", &value);
	return NS_PER_S / (value ? value : 250);
}

bool cfs_read_params(struct cfs_params *p)
{
	char text[256];

	if (read_text(DEBUG_SCHED "fair_class", text, sizeof(text)) && !strstr(text, "[cfs]"))
		return false;
	p->tick_ns = read_tick_ns();
	return read_number(DEBUG_SCHED "latency_ns", &p->latency_ns) &&
	       read_number(DEBUG_SCHED "min_granularity_ns", &p->min_granularity_ns);
}

static uint64_t total_weight(const unsigned *weight, int nr)
{
	uint64_t sum = 0;

	while (nr--)
		sum += weight[nr];
	return sum;
}

uint64_t cfs_slice_ns(const struct cfs_params *p, const unsigned *weight, int nr, int i)
{
	uint64_t period = p->latency_ns, slice;

	if (nr * p->min_granularity_ns > period)
		period = nr * p->min_granularity_ns;
	slice = period * weight[i] / total_weight(weight, nr);
	return slice > p->min_granularity_ns ? slice : p->min_granularity_ns;
}

static uint64_t turn_ns(const struct cfs_params *p, const unsigned *weight, int nr, int i)
{
	return (cfs_slice_ns(p, weight, nr, i) / p->tick_ns + 1) * p->tick_ns;
}

uint64_t cfs_wait_bound_ns(const struct cfs_params *p, const unsigned *weight, int nr, int i)
{
	uint64_t mine = turn_ns(p, weight, nr, i), bound = 0;
	int j;

	for (j = 0; j < nr; j++)
		if (j != i)
			bound += mine * weight[j] / weight[i] + turn_ns(p, weight, nr, j);
	return bound;
}
