/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the tests of swapping the fair policy. */
#pragma once

#include "group.h"

static inline struct machine *machine_under(unsigned nr_cpus, const char *policy)
{
	struct sched_cpu_desc one_llc[CPU_MAX] = { 0 };

	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		one_llc[cpu].core = cpu;
	return machine_new_on(nr_cpus, 1000, one_llc, policy);
}

static inline void swap(struct machine *m, const char *to)
{
	assert_int_equal(sched_fair_swap(m->s, to, 0), 0);
	sched_check(m->s);
	assert_string_equal(sched_fair_current(m->s), to);
}

/* True if the @index-th policy promises all of @traits, a mask of BIT(TRAIT_x). */
static inline bool promises(unsigned index, u32 traits)
{
	const struct fair_policy *policy = sched_fair_policy(index);

	for (unsigned trait = 0; sched_trait_name(trait); trait++)
		if (traits & BIT(trait) && !sched_policy_has(policy, (enum sched_trait)trait))
			return false;
	return true;
}

/* Runs @body with every ordered pair of the policies that promise all of @traits. */
static inline void each_pair(u32 traits, void (*body)(const char *from, const char *to))
{
	const char *from, *to;
	unsigned nr = 0;

	for (unsigned i = 0; (from = sched_fair_name(i)); i++)
		for (unsigned j = 0; (to = sched_fair_name(j)); j++)
			if (i != j && promises(i, traits) && promises(j, traits)) {
				body(from, to);
				nr++;
			}
	assert_true(nr >= 2);
}

#define EACH_PAIR_WITH(traits, test, body)                                                         \
	static void test(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		each_pair(traits, body);                                                           \
	}

#define EACH_PAIR(test, body) EACH_PAIR_WITH(0, test, body)

static inline void pin(struct machine *m, struct task *t, unsigned cpu)
{
	struct cpumask only = cpumask_of(cpu);

	assert_int_equal(sched_set_affinity(m->s, t, &only), 0);
	settle(m);
}

static inline u64 total_runtime(struct machine *m, struct task *const *tasks, unsigned nr)
{
	u64 sum = 0;

	for (unsigned i = 0; i < nr; i++)
		sum += sched_task_runtime(m->s, tasks[i]);
	return sum;
}

static inline void set_class(struct machine *m, struct task *t, int policy, int prio)
{
	struct sched_attr_req req = { .policy = policy, .rt_priority = prio };

	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
	sched_check(m->s);
}
