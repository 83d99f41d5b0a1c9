/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The promises of CFS: slices and waits, computed from the tunables of the running kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cfs_params {
	uint64_t latency_ns, min_granularity_ns, tick_ns;
};

/*
 * Read the parameters of the running kernel. False if its fair class is not CFS or debugfs cannot
 * be read.
 */
bool cfs_read_params(struct cfs_params *p);

/* Slice of the @i-th of @nr always-runnable tasks of one CPU with these weights. */
uint64_t cfs_slice_ns(const struct cfs_params *p, const unsigned *weight, int nr, int i);

/* Upper bound of the time that task stays without the CPU once all of them run. */
uint64_t cfs_wait_bound_ns(const struct cfs_params *p, const unsigned *weight, int nr, int i);
