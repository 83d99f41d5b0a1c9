/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SCHED_DEADLINE on several CPUs: the earliest deadlines run, wherever they wait; a CPU leaves only
 * if the others have room. The oracle sorts deadlines and knows nothing of runqueues.
 */

#include "host.h"
#include "lib/errno.h"
#include "sched/dl/dl.h"
#include "smp.h"

static bool runs(struct machine *m, const struct task *t)
{
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		if (running(m, cpu) == t)
			return true;
	return false;
}

/* By definition: a ready task runs just if fewer than m ready ones have an earlier deadline. */
static void expect_the_earliest(struct machine *m, struct task **t, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		unsigned earlier = 0;

		if (t[i]->on_rq != TASK_QUEUED || dl_part(t[i])->throttled) {
			assert_false(runs(m, t[i]));
			continue;
		}
		for (unsigned k = 0; k < nr; k++)
			earlier += t[k]->on_rq == TASK_QUEUED && !dl_part(t[k])->throttled &&
				   time_before(dl_part(t[k])->deadline, dl_part(t[i])->deadline);
		assert_int_equal(runs(m, t[i]), earlier < m->nr_cpus);
	}
}

static void the_m_earliest_deadlines_run(void **state)
{
	struct machine *m = machine_new(4, 1000);
	struct task *t[12];
	u64 seed = 1;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		/* No two deadlines are equal. */
		t[i] = spawn_dl(m, "dl", 2 * MS, (10 + 3 * ((i * 7) % 12)) * MS + i * 1001, 0);
		expect_the_earliest(m, t, i + 1);
	}
	for (unsigned n = 0; n < 3000; n++) {
		struct task *x;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		x = t[(seed >> 33) % 12];
		if (runs(m, x))
			block(m, x->cpu, TASK_INTERRUPTIBLE);
		else if (x->on_rq == TASK_OFF_RQ)
			wake(m, x, (unsigned)(seed >> 50) % 4);
		else
			advance(m, 100000 + (seed >> 45) % 100000);
		sched_check(m->s);
		expect_the_earliest(m, t, 12);
	}
	machine_free(m);
}

static void a_cpu_leaves_if_the_others_have_room(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task *a = spawn_dl(m, "dl", 9 * MS, 20 * MS, 0);
	struct task *b = spawn_dl(m, "dl", 9 * MS, 21 * MS, 0);
	struct task *c = spawn_dl(m, "dl", 3 * MS, 22 * MS, 0);

	(void)state;
	assert_true(runs(m, a) && runs(m, b) && !runs(m, c));
	assert_int_equal(sched_cpu_offline(m->s, 1), -EBUSY);
	assert_int_equal(
		sched_set_attr(m->s, c, &(struct sched_attr_req){ .policy = SCHED_NORMAL }), 0);
	settle(m);
	assert_int_equal(sched_cpu_offline(m->s, 1), 0);
	settle(m);
	sched_check(m->s);
	assert_ptr_equal(running(m, 0), a);
	assert_int_equal(b->cpu, 0);
	machine_free(m);
}

/* It runs on the only CPU that is busy; the deadline task that wakes there does not hold it up. */
static void an_outranked_real_time_task_goes_where_it_can_run(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task *dl = spawn_dl(m, "dl", 2 * MS, 10 * MS, 0), *rt;
	unsigned cpu = dl->cpu;

	(void)state;
	assert_ptr_equal(running(m, cpu), dl);
	block(m, cpu, TASK_INTERRUPTIBLE);
	rt = spawn(m, "rt", SCHED_FIFO, 50);
	assert_int_equal(rt->cpu, cpu);
	wake(m, dl, cpu);
	settle(m);
	assert_ptr_not_equal(running(m, 0), running(m, 1));
	assert_true(runs(m, dl) && runs(m, rt));
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_m_earliest_deadlines_run),
		cmocka_unit_test(an_outranked_real_time_task_goes_where_it_can_run),
		cmocka_unit_test(a_cpu_leaves_if_the_others_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
