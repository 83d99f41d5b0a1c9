/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shared wake queue: what is near goes before what is far, who came too early comes when it is
 * time, and each core has its shard whatever CPUs came and went.
 */
#include "sharedq.h"
#include "sched/balance/sharedq.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_finds_work_near_steals_nothing),
		cmocka_unit_test(an_early_timer_changes_nothing),
		cmocka_unit_test(each_core_keeps_its_shard),
	};

	return cmocka_run_group_tests_name("sharedq_near", tests, NULL, NULL);
}
