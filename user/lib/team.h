/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A team: processes that are set up one by one, begin together and report once. Everything passes
 * through pipes, so a team needs no shared memory and no signals.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct team_job {
	/* In each member before the start: affinity, policy; exits on failure. May be NULL. */
	void (*setup)(int member, const void *arg);
	/* In each member from CLOCK_MONOTONIC @start_ns on: do the work and fill @result. */
	void (*run)(int member, uint64_t start_ns, const void *arg, void *result);
	const void *arg;
	size_t result_size;
	/* If given, they start whole steps after run_team() was called, not once all are set up. */
	uint64_t step_ns;
};

/*
 * Run @nr members and store their results one after the other in @results. Returns 0, or -1 when a
 * member could not be made or ended without a result; all members are gone either way.
 */
int run_team(int nr, const struct team_job *job, void *results);
