/*
 * FDL, the fair deadline policy: its arithmetic to the nanosecond, parameters, flips. What it comes
 * to over seconds is in test_fdl_shares.c. Numbers: docs/sources.md, FDL.
 */
#include <stdlib.h>
#include <string.h>

#include "fdl.h"
#include "lib/errno.h"
#include "sched/fair/fdl.h"

static struct fair_queue *root(struct lab *lab)
{
	return &lab->m->s->rq[0].fair;
}

static struct entity *of_group(struct actor *a)
{
	return &a->tg->cpu[0].entity;
}

/* --- one group against the container, step by step -------------------------------------------- */

static void a_group_takes_turns_with_the_container(void **state)
{
	static const struct {
		u64 at, deadline, container, timer;
		bool group_runs;
	} steps[] = {
		{ 0, 2000000, 5000000, 4736328, true },
		{ 4736328, 6736328, 5000000, 4736328 + 1894531, false },
		{ 6630859, 6736328, 8999999, 6630859 + 2244204, true },
		{ 8875063, 10875063, 8999999, 8875063 + 1894531, false },
	};
	struct lab *lab = lab_new("fdl");
	struct actor *a = lab_group(lab, 1024, 2 * MS, 0), *c = lab_hog(lab);
	u64 start = lab->m->now;

	(void)state;
	settle(lab->m);
	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		if (i)
			lab_step(lab);
		assert_int_equal(lab->m->now - start, steps[i].at);
		assert_int_equal(of_group(a)->deadline - start, steps[i].deadline);
		assert_int_equal(root(lab)->fdl.container - start, steps[i].container);
		assert_int_equal(lab->m->timer[0] - start, steps[i].timer);
		assert_ptr_equal(running(lab->m, 0), steps[i].group_runs ? a->t : c->t);
		assert_int_equal(root(lab)->fdl.lag, 0);
		sched_check(lab->m->s);
	}
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_takes_turns_with_the_container),
	};

	return cmocka_run_group_tests_name("fdl", tests, NULL, NULL);
}
