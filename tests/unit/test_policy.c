/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bargain of the fair class with every policy. A policy has a complete table and its choices
 * agree with the queue; the class calls each hook where its contract says.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"

static const struct fair_policy *const policies[] = {
#define POLICY(name, queue_bytes, group_bytes) &name##_policy,
#define GUEST(name, queue_bytes)
#include "sched/fair/policies.def"
#undef GUEST
#undef POLICY
};

static const char *const c_names[] = {
#define POLICY(name, queue_bytes, group_bytes) #name,
#define GUEST(name, queue_bytes)
#include "sched/fair/policies.def"
#undef GUEST
#undef POLICY
};

/* A machine of one CPU on which @guest schedules two tasks. */
static struct machine *machine_under_guest(const struct fair_policy *guest)
{
	struct machine *m = machine_new(1, 250);

	m->s->policy[NR_POLICIES] = guest;
	assert_int_equal(sched_fair_swap(m->s, guest->name, 0), 0);
	spawn_nice(m, "a", 0);
	spawn_nice(m, "b", 0);
	return m;
}

/* Tools find a policy's name in policies.def, with a hyphen for each underscore. */
static void tables_are_complete_and_named_as_listed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(policies); i++) {
		const char *name = policies[i]->name;

		assert_true(sched_policy_complete(policies[i]));
		assert_string_equal(sched_fair_name(i), name);
		assert_int_equal(strlen(name), strlen(c_names[i]));
		for (unsigned n = 0; name[n]; n++)
			assert_int_equal(name[n], c_names[i][n] == '_' ? '-' : c_names[i][n]);
	}
	assert_null(sched_fair_name(ARRAY_SIZE(policies)));
}

static void a_guest_that_lacks_a_hook_is_refused(void **state)
{
	static const struct sched_cpu_desc cpu;
	struct fair_policy guest = cfs_policy;
	struct sched_config config = { .nr_cpus = 1, .hz = 250, .topology = &cpu, .guest = &guest };
	struct sched *s = aligned_alloc(64, ALIGN_UP(sched_size(1), 64ul));

	(void)state;
	memset(s, 0, sched_size(1));
	guest.hooks.pick = NULL;
	assert_true(sched_init(s, &config) < 0);
	free(s);
}

static struct entity *pick_nobody(struct fair_queue *q)
{
	(void)q;
	return NULL;
}

static void picking_nobody_is_found(void **state)
{
	struct fair_policy guest = cfs_policy;
	struct machine *m;
	const char *what;

	(void)state;
	guest.name = "nobody";
	m = machine_under_guest(&guest);
	settle(m);
	guest.hooks.pick = pick_nobody;
	what = CATCH_BUG(m, switch_cpu(m, 0, true));
	assert_non_null(what);
	assert_non_null(strstr(what, "picked nobody"));
}

static struct entity *somebody;

static struct entity *pick_somebody(struct fair_queue *q)
{
	(void)q;
	return somebody;
}

static void picking_an_entity_that_is_not_queued_is_found(void **state)
{
	struct fair_policy guest = cfs_policy;
	struct machine *m;
	const char *what;

	(void)state;
	guest.name = "sleeper";
	m = machine_under_guest(&guest);
	settle(m);
	somebody = &running(m, 0)->fair;
	block(m, 0, TASK_INTERRUPTIBLE);
	guest.hooks.pick = pick_somebody;
	what = CATCH_BUG(m, switch_cpu(m, 0, true));
	assert_non_null(what);
	assert_non_null(strstr(what, "a sleeping entity"));
}

static u64 long_slice(struct fair_queue *q, struct entity *e)
{
	return 2 * cfs_slice(q, e);
}

/* How often the running task changes in a second. */
static unsigned turns(struct machine *m)
{
	unsigned nr = 0;

	for (unsigned n = 0; n < 250; n++) {
		const struct task *before = running(m, 0);

		tick(m);
		nr += running(m, 0) != before;
	}
	return nr;
}

static void a_slice_twice_as_long_halves_the_turns(void **state)
{
	struct fair_policy guest = cfs_policy;
	unsigned nr, nr_longer;
	struct machine *m;

	(void)state;
	guest.name = "patient";
	m = machine_under_guest(&guest);
	/* Slices of many ticks, so that rounding up to ticks does not hide what changes. */
	set_tunable(m, "latency_ns", "80000000");
	settle(m);
	nr = turns(m);
	guest.slice = long_slice;
	nr_longer = turns(m);
	assert_in_range(nr_longer, nr / 2 - 2, nr / 2 + 2);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_complete_and_named_as_listed),
		cmocka_unit_test(a_guest_that_lacks_a_hook_is_refused),
		cmocka_unit_test(picking_nobody_is_found),
		cmocka_unit_test(picking_an_entity_that_is_not_queued_is_found),
		cmocka_unit_test(a_slice_twice_as_long_halves_the_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
