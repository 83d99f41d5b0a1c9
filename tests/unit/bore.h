/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the tests of both BOREs. The file that includes this defines BORE as the name of its
 * version.
 */
#pragma once

#include "cfs.h"
#include "sched/fair/bore/burst.h"

static inline struct machine *bore_machine(unsigned hz)
{
	const struct sched_cpu_desc one = { 0 };

	return machine_new_on(1, hz, &one, BORE);
}

static inline const struct fair_policy *policy(struct machine *m)
{
	return queue(m)->policy;
}

static inline void being_preempted_does_not_end_a_burst(void **state)
{
	struct machine *m = bore_machine(1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	spawn_nice(m, "other", 0);
	for (unsigned n = 0; n < 100; n++)
		tick(m);
	assert_int_equal(burst_entity(&t->fair)->past, 0);
	assert_int_equal(burst_entity(&t->fair)->time, t->fair.sum_exec);
	assert_in_range(t->fair.sum_exec, 40 * MS, 60 * MS);
	sched_check(m->s);
	machine_free(m);
}
