/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work conservation (sched/balance/waste.c) in situations made by hand. tests/prop/prop_waste.c
 * compares it with its definition in many others.
 */
#include "group.h"

static struct cpumask mask_of(u64 bits)
{
	struct cpumask mask = cpumask_none();

	mask.bits[0] = bits;
	return mask;
}

static void allow(struct machine *m, struct task *t, u64 cpus)
{
	struct cpumask mask = mask_of(cpus);

	assert_int_equal(sched_set_affinity(m->s, t, &mask), 0);
}

static struct sched_waste_stat waste_of(struct machine *m)
{
	struct sched_waste_stat stat;

	sched_waste(m->s, 0, &stat);
	return stat;
}

/* @nr tasks on CPU 0, of which the first runs; the other CPUs idle. */
static struct machine *crowd(struct machine *m, struct task **tasks, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		tasks[i] = spawn_nice(m, "crowd", 0);
		allow(m, tasks[i], 1);
		settle(m);
	}
	assert_ptr_equal(running(m, 0), tasks[0]);
	set_tunable(m, "sched_schedstats", "1");
	return m;
}

static struct machine *crowded(unsigned nr_cpus, struct task **tasks, unsigned nr)
{
	return crowd(machine_new(nr_cpus, 1000), tasks, nr);
}

static void waste_is_the_time_that_idle_cpus_could_have_given(void **state)
{
	struct task *t[2];
	struct machine *m = crowded(2, t, 2);

	(void)state;
	assert_int_equal(waste_of(m).nr_idle, 1);
	assert_int_equal(waste_of(m).nr_waiting, 1);
	advance(m, 2 * MS);
	assert_int_equal(waste_of(m).ns, 0); /* the task may not run there */
	allow(m, t[1], 3);
	assert_int_equal(waste_of(m).nr_wasted, 1);
	advance(m, 2500000);
	assert_int_equal(waste_of(m).ns, 2500000);
	allow(m, t[1], 2);
	settle(m);
	assert_int_equal(waste_of(m).nr_wasted, 0);
	advance(m, MS);
	assert_int_equal(waste_of(m).ns, 2500000);
	machine_free(m);
}

static void the_fewer_of_waiting_tasks_and_idle_cpus_count(void **state)
{
	struct task *t[6];
	struct machine *m = crowded(4, t, 6);

	(void)state;
	for (unsigned i = 1; i < 6; i++) {
		allow(m, t[i], 15);
		assert_int_equal(waste_of(m).nr_wasted, min(i, 3u));
	}
	machine_free(m);
}

/*
 * The task that is looked at first, which was queued last, takes the CPU that the other one needs.
 */
static void a_task_makes_way_for_one_with_less_choice(void **state)
{
	struct task *t[3];
	struct machine *m = crowded(4, t, 3);

	(void)state;
	allow(m, t[2], 1 | 2);
	assert_int_equal(waste_of(m).nr_wasted, 1);
	allow(m, t[1], 1 | 2 | 4);
	assert_int_equal(waste_of(m).nr_wasted, 2);
	allow(m, t[1], 1 | 2);
	assert_int_equal(waste_of(m).nr_wasted, 1); /* both tasks may go to one CPU only */
	machine_free(m);
}

/*
 * Two CPUs share a cache, and all tasks are on CPU 0: its neighbour counts within the cache, the
 * others do not.
 */
static void within_a_cache_only_its_own_cpus_count(void **state)
{
	struct task *t[4];
	const struct sched_cpu_desc two_caches[4] = {
		{ .core = 0, .llc = 0 },
		{ .core = 1, .llc = 0 },
		{ .core = 2, .llc = 1 },
		{ .core = 3, .llc = 1 },
	};
	struct machine *m = crowd(machine_new_on(4, 1000, two_caches, "cfs"), t, 4);

	(void)state;
	for (unsigned i = 1; i < 4; i++)
		allow(m, t[i], 15);
	assert_int_equal(waste_of(m).nr_wasted, 3);
	advance(m, MS);
	assert_int_equal(waste_of(m).ns, 3 * MS);
	assert_int_equal(waste_of(m).llc_ns, MS);
	for (unsigned i = 1; i < 4; i++)
		allow(m, t[i], 1 | 4 | 8);
	advance(m, MS);
	assert_int_equal(waste_of(m).ns, 5 * MS);
	assert_int_equal(waste_of(m).llc_ns, MS);
	machine_free(m);
}

static void nothing_is_counted_without_schedstats(void **state)
{
	struct task *t[2];
	struct machine *m = crowded(2, t, 2);

	(void)state;
	allow(m, t[1], 3);
	advance(m, MS);
	set_tunable(m, "sched_schedstats", "0");
	advance(m, MS);
	assert_false(waste_of(m).counted);
	assert_int_equal(waste_of(m).nr_wasted, 0);
	assert_int_equal(waste_of(m).ns, MS);
	set_tunable(m, "sched_schedstats", "1");
	advance(m, MS);
	assert_int_equal(waste_of(m).ns, 2 * MS);
	machine_free(m);
}

/* Nobody idles, and nobody waits, as far as is counted. */
static void without_schedstats_nobody_is_in_the_books(void **state)
{
	struct machine *m = machine_new(3, 1000);

	(void)state;
	set_tunable(m, "sched_schedstats", "0");
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(waste_of(m).nr_idle, 0);
		assert_int_equal(waste_of(m).nr_waiting, 0);
		allow(m, spawn_nice(m, "t", 0), 1);
		settle(m);
	}
	block(m, 0, TASK_INTERRUPTIBLE);
	set_tunable(m, "sched_schedstats", "1");
	assert_int_equal(waste_of(m).nr_idle, 2);
	assert_int_equal(waste_of(m).nr_waiting, 1);
	set_tunable(m, "sched_schedstats", "0");
	assert_int_equal(waste_of(m).nr_idle, 0);
	assert_int_equal(waste_of(m).nr_waiting, 0);
	machine_free(m);
}

/* A task of a throttled group is queued, and does not wait. */
static void who_may_not_be_picked_does_not_wait(void **state)
{
	struct task *t[2];
	struct machine *m = crowded(2, t, 1);
	struct task_group *tg = new_group(m, NULL);
	struct task *hidden = member_asleep_on(m, tg, 0);

	(void)state;
	assert_int_equal(task_group_set_bandwidth(m->s, tg, MS, 100 * MS, 0, true), 0);
	wake(m, hidden, 0);
	for (unsigned n = 0; n < 20 && !group_queue(m->s, tg, 0)->throttled; n++)
		tick(m);
	assert_true(group_queue(m->s, tg, 0)->throttled);
	allow(m, hidden, 3);
	t[1] = spawn_nice(m, "other", 0);
	allow(m, t[1], 1);
	settle(m);
	assert_int_equal(waste_of(m).nr_idle, 1);
	assert_int_equal(waste_of(m).nr_wasted, 0);
	machine_free(m);
}

/*
 * How many of the waiting tasks CPUs 1 and 2, which idle, could run at once: of each set of tasks
 * those CPUs that any of it may use, and one for each task beside the set; the least of all sets.
 */
static unsigned matched(const u64 *waiting, unsigned nr)
{
	unsigned least = nr;

	for (unsigned set = 0; set < BIT(nr); set++) {
		u64 usable = 0;

		for (unsigned i = 0; i < nr; i++)
			usable |= set & BIT(i) ? waiting[i] & 6 : 0;
		least = min(least, (unsigned)__builtin_popcountll(usable) + nr -
					   (unsigned)__builtin_popcount(set));
	}
	return least;
}

/* Returns the waste of @m, of whose @nr tasks on CPU 0 one runs, while the others wait. */
static unsigned waste_beside_the_runner(struct machine *m, struct task **t, unsigned nr)
{
	u64 waiting[3];
	unsigned nr_waiting = 0;

	for (unsigned i = 0; i < nr; i++)
		if (t[i] != running(m, 0))
			waiting[nr_waiting++] = t[i]->allowed.bits[0];
	assert_int_equal(m->s->rq[0].nr_running, nr);
	return matched(waiting, nr_waiting);
}

/* Two or three tasks on CPU 0 take turns: who may go elsewhere counts while it waits, only then. */
static void each_switch_is_news_of_who_waits(void **state)
{
	(void)state;
	for (unsigned nr = 2; nr <= 3; nr++)
		for (unsigned masks = 0; masks < BIT(2 * nr); masks++) {
			struct task *t[3];
			struct machine *m = crowded(3, t, nr);
			unsigned turns = 0;

			m->s->nohz_next_balance = UINT64_MAX; /* nobody is called for help */
			for (unsigned i = 0; i < nr; i++)
				allow(m, t[i], 1 | (masks >> 2 * i & 3) << 1);
			for (unsigned n = 0; n < 40 && turns < 4; n++) {
				struct task *before = running(m, 0);

				tick(m);
				turns += running(m, 0) != before;
				assert_int_equal(waste_of(m).nr_wasted,
						 waste_beside_the_runner(m, t, nr));
			}
			assert_int_equal(turns, 4);
			machine_free(m);
		}
}

/* A task that sleeps, last on CPU 0, and may run on @cpus. */
static struct task *asleep(struct machine *m, u64 cpus)
{
	struct task *t = spawn_nice(m, "asleep", 0);

	allow(m, t, 1);
	settle(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	allow(m, t, cpus);
	return t;
}

/*
 * Two tasks have come to CPU 0, which has not switched to one yet: of two that differ the one that
 * may not run everywhere is taken for the next, and the other one waits.
 */
static void before_the_switch_a_restricted_task_is_the_next(void **state)
{
	(void)state;
	for (unsigned free = 0; free < 3; free++) { /* who may go elsewhere; 0: neither */
		struct machine *m = machine_new(2, 1000);
		struct task *t[2];

		for (unsigned i = 0; i < 2; i++)
			t[i] = asleep(m, free == i + 1 ? 3 : 1);
		set_tunable(m, "sched_schedstats", "1");
		/* The free one is woken first, and stays because CPU 0 idles. */
		sched_wake(m->s, t[free == 2], TASK_NORMAL, 0, 0);
		sched_wake(m->s, t[free != 2], TASK_NORMAL, 0, 0);
		assert_int_equal(m->s->rq[0].nr_running, 2);
		assert_ptr_equal(running(m, 0), &m->idle[0]);
		assert_int_equal(waste_of(m).nr_idle, 1);
		assert_int_equal(waste_of(m).nr_wasted, free != 0);
		m->now += MS;
		assert_int_equal(waste_of(m).ns, free ? MS : 0);
		settle(m);
		sched_check(m->s);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waste_is_the_time_that_idle_cpus_could_have_given),
		cmocka_unit_test(the_fewer_of_waiting_tasks_and_idle_cpus_count),
		cmocka_unit_test(a_task_makes_way_for_one_with_less_choice),
		cmocka_unit_test(within_a_cache_only_its_own_cpus_count),
		cmocka_unit_test(nothing_is_counted_without_schedstats),
		cmocka_unit_test(who_may_not_be_picked_does_not_wait),
		cmocka_unit_test(without_schedstats_nobody_is_in_the_books),
		cmocka_unit_test(each_switch_is_news_of_who_waits),
		cmocka_unit_test(before_the_switch_a_restricted_task_is_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
