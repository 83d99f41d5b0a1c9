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

/* Where a policy has nothing to say it names a hook of the class: no hook is missing. */
static void a_table_is_complete_with_each_of_its_hooks_only(void **state)
{
#define HOOK(field)                                                                                \
	{                                                                                          \
#field, offsetof(struct fair_policy, field)                                        \
	}
	static const struct {
		const char *name;
		size_t at;
	} needed[] = {
		HOOK(name),
		HOOK(key_columns),
		HOOK(hooks.place),
		HOOK(hooks.charge),
		HOOK(hooks.pick),
		HOOK(hooks.tick_expired),
		HOOK(hooks.leave),
		HOOK(hooks.preempts),
		HOOK(choose_hooks),
		HOOK(init_queue),
		HOOK(demand),
		HOOK(params),
		HOOK(hooks.yield),
		HOOK(nominate),
		HOOK(nominated),
		HOOK(progress),
		HOOK(weight),
		HOOK(hooks.reweight),
		HOOK(slice),
		HOOK(pass),
		HOOK(shares),
		HOOK(turn),
		HOOK(select_cpu),
		HOOK(reset),
		HOOK(fork),
		HOOK(tuned),
		HOOK(forget_group),
		HOOK(numbers),
		HOOK(candidates),
		HOOK(queue_numbers),
		HOOK(dump),
		HOOK(dump_queue),
		HOOK(dump_key),
		HOOK(check),
		HOOK(nominates_woken),
	};
#undef HOOK
	struct fair_policy lacks;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(needed); i++) {
		lacks = cfs_policy;
		memset((char *)&lacks + needed[i].at, 0, sizeof(void *));
		if (sched_policy_complete(&lacks))
			fail_msg("a policy without %s passes for complete", needed[i].name);
	}
	lacks = cfs_policy;
	lacks.key = 0;
	assert_false(sched_policy_complete(&lacks));
}

/* The hooks of the class, for a policy that has nothing to say, do nothing or what is usual. */
static void hooks_of_the_class_are_modest(void **state)
{
	struct fair_policy guest = cfs_policy;
	struct machine *m;
	struct task *first, *second;
	struct fair_queue *q;

	(void)state;
	guest.name = "modest";
	guest.hooks.pick = fair_pick_first;
	guest.hooks.tick_expired = fair_slice_expired;
	guest.hooks.leave = fair_just_leave;
	guest.hooks.preempts = fair_no_preempts;
	guest.nominated = fair_none_nominated;
	guest.progress = fair_no_progress;
	guest.select_cpu = fair_no_select_cpu;
	m = machine_under_guest(&guest);
	q = &m->s->rq[0].fair;
	first = running(m, 0);
	second = task_of(queue_first(q) == &first->fair ? queue_after(queue_first(q))
							: queue_first(q));
	assert_false(fair_no_preempts(q, &first->fair, &second->fair, 0));
	assert_false(fair_none_nominated(q, &second->fair));
	assert_int_equal(fair_no_progress(q, &first->fair), 0);
	assert_int_equal(fair_no_select_cpu(m->s, first, 0, 0), -1);

	/* A turn ends after one slice, not before. */
	first->fair.prev_sum_exec = first->fair.sum_exec;
	first->fair.sum_exec += guest.slice(q, &first->fair) - 1;
	assert_false(fair_slice_expired(q, &first->fair));
	first->fair.sum_exec++;
	assert_true(fair_slice_expired(q, &first->fair));
	first->fair.sum_exec = first->fair.prev_sum_exec;

	/* The first in order is picked; the running one if it is before all others. */
	second->fair.vruntime = first->fair.vruntime + 1;
	assert_ptr_equal(fair_pick_first(q), &first->fair);
	first->fair.vruntime = second->fair.vruntime + 1;
	assert_ptr_equal(fair_pick_first(q), &second->fair);
	first->fair.vruntime -= 2;

	/* A task that sleeps is off the queue at once, and the other one runs. */
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(first->on_rq, TASK_OFF_RQ);
	assert_false(first->fair.queued);
	assert_ptr_equal(running(m, 0), second);
	assert_ptr_equal(fair_pick_first(q), &second->fair);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_null(fair_pick_first(q));
	machine_free(m);
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

/* No two CPUs draw the same random numbers, though all begin with one seed. */
static void each_cpu_has_numbers_of_its_own(void **state)
{
	struct machine *m = machine_new(4, 1000);

	(void)state;
	for (unsigned a = 0; a < 4; a++)
		for (unsigned b = 0; b < a; b++)
			assert_memory_not_equal(&cpu_rq(m->s, a)->prng, &cpu_rq(m->s, b)->prng,
						sizeof(cpu_rq(m->s, a)->prng));
	machine_free(m);
}

/* The lock of a runqueue says whose it is: hosts order them by that. */
static void each_lock_names_its_cpu(void **state)
{
	struct machine *m = machine_new(4, 1000);

	(void)state;
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		assert_int_equal(cpu_rq(m->s, cpu)->lock.cpu, cpu);
		assert_int_equal(cpu_rq(m->s, cpu)->lock.rank, HOST_RANK_RQ);
	}
	machine_free(m);
}

/* Time is charged once; where the clock is behind, none is, and what was charged stays. */
static void time_is_charged_forwards_only(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct rq *rq = cpu_rq(m->s, 0);
	struct entity e = { .exec_start = 500, .sum_exec = 7 };
	static const struct {
		u64 clock, charged, sum, start;
	} steps[] = {
		{ 500, 0, 7, 500 },
		{ 400, 0, 7, 500 },
		{ 501, 1, 8, 501 },
		{ 601, 100, 108, 601 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		u64 charged;

		rq->clock = steps[i].clock;
		host_lock(&rq->lock);
		charged = charge_time(rq, &e);
		host_unlock(&rq->lock);
		assert_int_equal(charged, steps[i].charged);
		assert_int_equal(e.sum_exec, steps[i].sum);
		assert_int_equal(e.exec_start, steps[i].start);
	}
	machine_free(m);
}

/* An eighth of the difference each time, and at most twice the longest search. */
static void the_average_of_idle_times_is_as_defined(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct rq *rq = cpu_rq(m->s, 0);
	struct task *t = spawn_nice(m, "t", 0);
	s64 expected = (s64)rq->avg_idle;
	u64 dice = 1;

	(void)state;
	for (unsigned n = 0; n < 500; n++) {
		u64 ns;

		dice = dice * 6364136223846793005ull + 1442695040888963407ull;
		ns = (dice >> 33) % (2 * MS);
		rq->idle_stamp = 0;
		block(m, 0, TASK_INTERRUPTIBLE);
		rq->idle_stamp = m->now;
		advance(m, ns);
		wake(m, t, 0);
		expected += ((s64)ns - expected) / 8;
		expected = min(expected, (s64)(2 * rq->max_idle_balance_cost));
		assert_int_equal(rq->avg_idle, expected);
		assert_int_equal(rq->idle_stamp, 0);
		advance(m, MS / 3);
	}
	machine_free(m);
}

/* A wait for a disk is over with the wakeup: what comes then is another sleep. */
static void a_wait_for_a_device_ends_with_the_wakeup(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	block(m, 0, TASK_UNINTERRUPTIBLE);
	assert_true(t->contributes_to_load);
	sched_wake(m->s, t, TASK_UNINTERRUPTIBLE, 0, 0);
	settle(m);
	assert_false(t->contributes_to_load);
	machine_free(m);
}

/* A stopper that sleeps has left its queue, and wakes up again as often as it is asked. */
static void a_stopper_comes_and_goes(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task stopper, *t = spawn_nice(m, "t", 0);

	(void)state;
	sched_task_init_stop(m->s, &stopper, 0, 1000, "migration/0");
	sched_task_start(m->s, &stopper, 0);
	settle(m);
	for (unsigned n = 0; n < 3; n++) {
		assert_ptr_equal(running(m, 0), &stopper);
		assert_int_equal(m->s->rq[0].nr_running, 2);
		block(m, 0, TASK_INTERRUPTIBLE);
		assert_int_equal(stopper.on_rq, TASK_OFF_RQ);
		assert_ptr_equal(running(m, 0), t);
		assert_int_equal(m->s->rq[0].nr_running, 1);
		assert_true(wake(m, &stopper, 0));
	}
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_complete_and_named_as_listed),
		cmocka_unit_test(a_guest_that_lacks_a_hook_is_refused),
		cmocka_unit_test(a_table_is_complete_with_each_of_its_hooks_only),
		cmocka_unit_test(hooks_of_the_class_are_modest),
		cmocka_unit_test(picking_nobody_is_found),
		cmocka_unit_test(picking_an_entity_that_is_not_queued_is_found),
		cmocka_unit_test(a_slice_twice_as_long_halves_the_turns),
		cmocka_unit_test(each_cpu_has_numbers_of_its_own),
		cmocka_unit_test(each_lock_names_its_cpu),
		cmocka_unit_test(time_is_charged_forwards_only),
		cmocka_unit_test(the_average_of_idle_times_is_as_defined),
		cmocka_unit_test(a_wait_for_a_device_ends_with_the_wakeup),
		cmocka_unit_test(a_stopper_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
