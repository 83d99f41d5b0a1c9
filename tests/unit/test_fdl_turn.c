/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * FDL: how long a turn may last, when a tick ends one, which buddies CFS may use, and what a new
 * guarantee begins with. See also test_fdl.c.
 */
#include "fdl.h"
#include "sched/fair/fdl/fdl.h"

static struct fair_queue *root(struct lab *lab)
{
	return &lab->m->s->rq[0].fair;
}

static struct entity *of_group(struct actor *a)
{
	return &a->tg->cpu[0].entity;
}

/* Two groups with deadlines of 10 ms and a hog; @a runs. */
static struct lab *two_groups(struct actor **a, struct actor **b)
{
	struct lab *lab = lab_new("fdl");

	*a = lab_group(lab, 1024, 10 * MS, 0);
	*b = lab_group(lab, 1024, 10 * MS, 0);
	lab_hog(lab);
	settle(lab->m);
	for (unsigned n = 0; n < 1000 && running(lab->m, 0) != (*a)->t; n++)
		lab_step(lab);
	assert_ptr_equal(running(lab->m, 0), (*a)->t);
	return lab;
}

/*
 * Until the next deadline, by 970/1024 less, or until the slice ends, whichever is earlier; of what
 * is past nothing is left, and a turn of 80 us is the least; 100 ms are the most. Times in us.
 */
static void a_turn_ends_before_the_next_deadline(void **state)
{
	static const struct {
		s64 due, container, left; /* from now; container 0: none */
		u64 turn;
	} cases[] = {
		{ 1024, 0, 9000, 970 },
		{ 1024, 2048, 9000, 970 },
		{ 2048, 1024, 9000, 970 },
		{ 1024, 0, 900, 900 },
		{ 900000, 0, 3000, 3000 },
		{ 900000, 1024, 3000, 970 },
		{ 900000, 0, 200000, 100000 },
		{ -500, 0, 3000, 80 },
		{ 1024, -500, 3000, 80 },
		{ 1024, 0, -500, 970 },
		{ 10, 0, 3000, 9 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct actor *a, *b;
		struct lab *lab = two_groups(&a, &b);
		struct fair_queue *q = root(lab);
		struct entity *e = &a->t->fair;
		u64 now = fdl_now(q), slice = e->queue->policy->slice(e->queue, e);

		assert_ptr_equal(q->curr, of_group(a));
		of_group(b)->due = now + (u64)(cases[i].due * (s64)US);
		fdl_queue(q)->container =
			cases[i].container ? now + (u64)(cases[i].container * (s64)US) : 0;
		e->prev_sum_exec = e->sum_exec - slice + (u64)(cases[i].left * (s64)US);
		assert_int_equal(q->policy->turn(q->rq, e) / US, cases[i].turn);
		lab_free(lab);
	}
}

/* Others are told when on the clock the earliest deadline ends, by how much time is behind it. */
static void a_hint_is_in_the_clocks_time(void **state)
{
	static const u64 lag[] = { 0, 3 * MS, NS_PER_SEC };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(lag); i++) {
		struct actor *a, *b;
		struct lab *lab = two_groups(&a, &b);
		struct fair_queue *q = root(lab);

		fdl_queue(q)->lag = lag[i];
		q->policy->turn(q->rq, &a->t->fair);
		assert_int_equal(fdl_queue(q)->next_hint, of_group(b)->due + lag[i]);
		assert_int_equal(fdl_queue(q)->curr_hint, 10 * MS);
		lab_free(lab);
	}
}

/* Below the root a tick ends a turn if another deadline is the earliest, or the container's. */
static void below_the_root_a_tick_ends_turns(void **state)
{
	static const struct {
		s64 own, other, container; /* us from now; own, container 0: none */
		bool below;
	} cases[] = {
		{ 1000, 2000, 0, false },  { 2000, 1000, 0, true }, { 1000, 2000, 5000, false },
		{ 1000, 2000, 500, true }, { 0, 2000, 5000, true },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned below = 0; below < 2; below++) {
			struct actor *a, *b;
			struct lab *lab = two_groups(&a, &b);
			struct fair_queue *q = root(lab);
			struct entity *above = of_group(b);
			u64 now = fdl_now(q);

			of_group(a)->due = cases[i].own ? now + (u64)(cases[i].own * (s64)US) : 0;
			of_group(b)->due = now + (u64)(cases[i].other * (s64)US);
			fdl_queue(q)->container =
				cases[i].container ? now + (u64)(cases[i].container * (s64)US) : 0;
			q->owner = below ? above : NULL;
			/* At the root the timer does that; who has no deadline has its slice. */
			of_group(a)->prev_sum_exec = of_group(a)->sum_exec;
			assert_int_equal(q->policy->hooks.tick_expired(q, of_group(a)),
					 below && cases[i].below);
			q->owner = NULL;
			lab_free(lab);
		}
}

/* An entity that got a deadline since it was nominated is no buddy for CFS. */
static void who_has_a_deadline_is_no_buddy(void **state)
{
	(void)state;
	for (unsigned of = 0; of < 3; of++)
		for (unsigned due = 0; due < 2; due++) {
			struct actor *a, *b;
			struct lab *lab = two_groups(&a, &b);
			struct fair_queue *q = root(lab);
			struct cfs_queue *cfs = cfs_queue(q);
			struct entity **buddy[] = { &cfs->next, &cfs->last, &cfs->skip };
			struct entity *hog = queue_first(q), *marked = due ? of_group(b) : hog;

			assert_non_null(hog);
			assert_int_equal(hog->due, 0);
			*buddy[of] = marked;
			of_group(b)->vruntime = hog->vruntime;
			fdl_queue(q)->container = fdl_now(q) - MS;
			of_group(a)->due = of_group(b)->due = fdl_now(q) + 10 * MS;
			rq_lock(q->rq);
			assert_ptr_equal(q->policy->hooks.pick(q), hog);
			rq_unlock(q->rq);
			if (due)
				assert_null(*buddy[of]);
			lab_free(lab);
		}
}

/* CPU time that a group was guaranteed is forgotten with the first share and with the last. */
static void a_guarantee_begins_with_no_cpu_time(void **state)
{
	struct lab *lab = lab_new("fdl");
	struct actor *a = lab_group(lab, 1024, 0, 0);
	struct fdl_group *fdl = fdl_group(a->tg);

	(void)state;
	for (unsigned round = 0; round < 4; round++) {
		u64 shares = round % 2 ? 0 : 512;

		fdl->abs_guaranteed = 333;
		fdl->increased = fdl->decreased = true;
		assert_int_equal(task_group_set_guaranteed(lab->m->s, a->tg, shares), 0);
		assert_int_equal(fdl->abs_guaranteed, 0);
		assert_false(fdl->increased || fdl->decreased);
		assert_int_equal(fdl->shares, shares);
		/* Another amount is no beginning. */
		fdl->abs_guaranteed = 333;
		if (shares)
			assert_int_equal(task_group_set_guaranteed(lab->m->s, a->tg, 256), 0);
		assert_int_equal(fdl->abs_guaranteed, 333);
	}
	lab_free(lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_ends_before_the_next_deadline),
		cmocka_unit_test(a_hint_is_in_the_clocks_time),
		cmocka_unit_test(below_the_root_a_tick_ends_turns),
		cmocka_unit_test(who_has_a_deadline_is_no_buddy),
		cmocka_unit_test(a_guarantee_begins_with_no_cpu_time),
	};

	return cmocka_run_group_tests_name("fdl_turn", tests, NULL, NULL);
}
