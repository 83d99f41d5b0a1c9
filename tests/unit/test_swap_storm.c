/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swaps of the fair policy that come faster than turns, and in the middle of everything else.
 */
#include "swap.h"

#define CROWD 9

/* A swap before every tick: order is kept, so every task still gets a turn in each round. */
static void check_turns(const char *from, const char *to)
{
	struct machine *m = machine_under(1, from);
	struct task *tasks[CROWD];

	for (unsigned i = 0; i < CROWD; i++)
		tasks[i] = spawn_nice(m, "t", 0);
	for (unsigned n = 0; n < 20 * CROWD; n++) {
		swap(m, n % 2 ? from : to);
		settle(m);
		run_ticks(m, 1);
	}
	for (unsigned i = 0; i < CROWD; i++)
		assert_in_range(sched_task_runtime(m->s, tasks[i]), 10 * MS, 30 * MS);
	machine_free(m);
}

EACH_PAIR_WITH(BIT(TRAIT_CARRIES_ORDER), frequent_swaps_starve_nobody, check_turns)

/*
 * A swap at each tick, with longer turns: the heavy tasks still do not always go first. The
 * policies' virtual times differ, so shares follow weights only roughly.
 */
static void check_shares(const char *from, const char *to)
{
	static const u64 weight[] = { 1586, 1024, 655 };
	struct machine *m = machine_under(1, from);
	struct task *t[] = { spawn_nice(m, "A", -2), spawn_nice(m, "B", 0), spawn_nice(m, "C", 2) };
	u64 got;

	for (unsigned n = 0; n < 1000; n++) {
		swap(m, n % 2 ? from : to);
		settle(m);
		run_ticks(m, 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		got = sched_task_runtime(m->s, t[i]) / MS;
		assert_in_range(got, 1000 * weight[i] / 3265 / 2, 1000 * weight[i] / 3265 * 2);
	}
	machine_free(m);
}

EACH_PAIR_WITH(BIT(TRAIT_CARRIES_ORDER) | BIT(TRAIT_WEIGHTED), frequent_swaps_keep_shares,
	       check_shares)

/* --- all of it, at random ------------------------------------------------------ */

#define STORM 12

static void storm_step(struct machine *m, struct task *const *tasks, struct prng *rng)
{
	struct task *t = tasks[prng_below(rng, STORM)];
	unsigned cpu = (unsigned)prng_below(rng, m->nr_cpus);
	struct sched_attr_req req = { .nice = (int)prng_below(rng, 40) - 20 };

	switch (prng_below(rng, 6)) {
	case 0:
		if (running(m, cpu) != &m->idle[cpu])
			block(m, cpu, TASK_INTERRUPTIBLE);
		break;
	case 1:
		wake(m, t, cpu);
		break;
	case 2:
		assert_int_equal(sched_set_attr(m->s, t, &req), 0);
		settle(m);
		break;
	case 3:
		pin(m, t, cpu);
		break;
	case 4:
		sched_set_affinity(m->s, t, &m->s->possible);
		break;
	default:
		tick(m);
	}
}

static void a_thousand_swaps_keep_every_invariant(void **state)
{
	struct machine *m = machine_under(4, NULL);
	struct task *tasks[STORM];
	struct prng rng;
	unsigned policies = 0;
	u64 ran;

	(void)state;
	while (sched_fair_name(policies))
		policies++;
	prng_seed(&rng, 4711);
	for (unsigned i = 0; i < STORM; i++)
		tasks[i] = spawn_nice(m, "t", 0);
	for (unsigned n = 0; n < 1000; n++) {
		for (unsigned step = 0; step < 5; step++)
			storm_step(m, tasks, &rng);
		swap(m, sched_fair_name((unsigned)prng_below(&rng, policies)));
	}
	/* All tasks come to rest; none is lost. */
	for (unsigned i = 0; i < STORM; i++) {
		sched_set_affinity(m->s, tasks[i], &m->s->possible);
		wake(m, tasks[i], 0);
		set_class(m, tasks[i], SCHED_NORMAL, 0);
	}
	ran = total_runtime(m, tasks, STORM);
	for (unsigned i = 0; i < STORM; i++) {
		u64 before = sched_task_runtime(m->s, tasks[i]);

		for (unsigned n = 0; n < 2000 && sched_task_runtime(m->s, tasks[i]) == before; n++)
			tick(m);
		assert_true(sched_task_runtime(m->s, tasks[i]) > before);
	}
	assert_true(total_runtime(m, tasks, STORM) > ran);
	sched_check(m->s);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frequent_swaps_starve_nobody),
		cmocka_unit_test(frequent_swaps_keep_shares),
		cmocka_unit_test(a_thousand_swaps_keep_every_invariant),
	};

	return cmocka_run_group_tests_name("swap storm", tests, NULL, NULL);
}
