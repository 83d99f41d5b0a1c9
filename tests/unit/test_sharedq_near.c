/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shared wake queue: what is near goes before what is far, who came too early comes when it is
 * time, and each core has its shard whatever CPUs came and went.
 */
#include "sharedq.h"
#include "sched/balance/sharedq.h"
#include "lib/prng.h"

/* A task waits on the other CPU of the cache, be its number 0, and others wait long far away. */
static void who_finds_work_near_steals_nothing(void **state)
{
	(void)state;
	for (unsigned from = 0; from < 2; from++) {
		struct machine *m = caches(1, 2, 3);

		put(m, from);
		advance(m, 10 * MS);
		assert_true(takes_work(m, !from));
		assert_int_equal(rq_of(m, from)->nr_running, 1);
		assert_int_equal(rq_of(m, !from)->shared_steal_tried, 0);
		assert_int_equal(rq_of(m, !from)->shared_stolen, 0);
		assert_null(rq_of(m, !from)->shared.claim);
		sched_check(m->s);
		machine_free(m);
	}
}

/* A timer of somebody else goes off before: the CPU is to come later, and is not asked to. */
static void an_early_timer_changes_nothing(void **state)
{
	struct machine *m = caches(2, 2, 3);
	struct rq *rq = rq_of(m, 0);
	u64 when;

	(void)state;
	advance(m, MS / 4);
	assert_false(takes_work(m, 0));
	when = rq->shared.steal_at;
	assert_true(when > m->now);
	for (unsigned early = 0; early < 2; early++) {
		rq_lock(rq);
		rq->clock = when - early;
		rq->need_resched = false;
		sharedq_timer(rq);
		assert_int_equal(!!rq->need_resched, !early);
		assert_int_equal(rq->shared.steal_at, early ? when : 0);
		rq->shared.steal_at = when;
		rq_unlock(rq);
	}
	machine_free(m);
}

/* Cores are numbered within their cache, from 0; not on from where the last numbering ended. */
static void each_core_keeps_its_shard(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct machine *m = machine_of(1, 2, 4, 2, NULL);

		set_tunable(m, "shared_runq_shard_size", "2");
		set_feature(m, on ? "SHARED_RUNQ" : "NO_SHARED_RUNQ");
		for (unsigned again = 0; again < 3; again++) {
			for (unsigned cpu = 0; cpu < 16; cpu++)
				assert_int_equal(rq_of(m, cpu)->shared.core_index, cpu % 8 / 2);
			assert_int_equal(sched_cpu_offline(m->s, 15), 0);
			sched_cpu_online(m->s, 15, &m->idle[15]);
		}
		machine_free(m);
	}
}

/* One of many things that tasks and users do. */
static void something_happens(struct machine *m, struct task **t, unsigned nr, struct prng *rng)
{
	static const char *const modes[] = { "SWQUEUE", "NO_SWQUEUE", "SHARED_RUNQ",
					     "NO_SHARED_RUNQ", "SHARED_RUNQ_STEAL" };
	unsigned cpu = prng_below(rng, m->nr_cpus);
	struct task *any = t[prng_below(rng, nr)];

	switch (prng_below(rng, 16)) {
	case 0:
		set_feature(m, modes[prng_below(rng, ARRAY_SIZE(modes))]);
		break;
	case 1:
		allow(m, any, cpumask_first_n(1 + cpu));
		break;
	case 2:
	case 3:
	case 4:
		tick(m);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		if (running(m, cpu) != &m->idle[cpu])
			block(m, cpu, TASK_INTERRUPTIBLE);
		break;
	default:
		wake(m, any, cpu);
	}
}

/* Of its tasks a CPU has in the queue what it has linked and not taken out again. */
static void what_was_linked_and_not_taken_out_is_there(void **state)
{
	struct machine *m = machine_of(1, 2, 2, 1, NULL);
	struct task *t[12];
	struct prng rng;
	u64 linked = 0;

	(void)state;
	prng_seed(&rng, 5);
	set_feature(m, "SHARED_RUNQ");
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = spawn_nice(m, "t", 0);
	for (unsigned n = 0; n < 2000; n++) {
		something_happens(m, t, ARRAY_SIZE(t), &rng);
		settle(m);
		for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
			struct rq *rq = rq_of(m, cpu);
			u64 nr = 0;

			for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
				nr += t[i]->cpu == cpu && !is_free(t[i]);
			assert_int_equal(rq->shared_linked - rq->shared_unlinked, nr);
			linked += nr;
		}
	}
	assert_true(linked > 100);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_finds_work_near_steals_nothing),
		cmocka_unit_test(an_early_timer_changes_nothing),
		cmocka_unit_test(each_core_keeps_its_shard),
		cmocka_unit_test(what_was_linked_and_not_taken_out_is_there),
	};

	return cmocka_run_group_tests_name("sharedq_near", tests, NULL, NULL);
}
