/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Families: children, parents and processes at fork, exit, exec by a thread and for orphans; and
 * what a new task inherits of its relatives' bursts.
 */
#include <stdlib.h>
#include <string.h>

#include "cfs.h"
#include "sched/fair/bore/burst.h"

static struct machine *machine_under(const char *policy)
{
	const struct sched_cpu_desc one = { 0 };

	return machine_new_on(1, 1000, &one, policy);
}

static struct task *child_of(struct machine *m, struct task *parent, unsigned flags)
{
	struct task *t = calloc(1, sizeof(*t));

	sched_task_fork(m->s, parent, t, m->next_pid++, flags);
	sched_task_start(m->s, t, 0);
	settle(m);
	return t;
}

static void make_run(struct machine *m, struct task *t)
{
	for (unsigned n = 0; running(m, 0) != t; n++) {
		assert_in_range(n, 0, 10000);
		tick(m);
	}
}

static void end(struct machine *m, struct task *t)
{
	make_run(m, t);
	sched_task_exit(m->s, 0);
	switch_cpu(m, 0, false);
	assert_int_equal(t->state, TASK_DEAD);
	/* So that any use of a stale pointer is found. */
	if (!t->family.nr_threads)
		memset(t, 0x5a, sizeof(*t));
	sched_check(m->s);
}

/* --- membership ------------------------------------------------------------- */

static void children_threads_and_siblings_have_their_places(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *init = spawn_nice(m, "init", 0);
	struct task *shell = child_of(m, init, 0), *thread = child_of(m, shell, FORK_THREAD);
	struct task *by_thread = child_of(m, thread, 0);
	struct task *sibling = child_of(m, thread, FORK_SIBLING);

	(void)state;
	assert_null(init->family.parent);
	assert_ptr_equal(shell->family.parent, init);
	assert_ptr_equal(shell->family.leader, shell);
	assert_ptr_equal(thread->family.leader, shell);
	assert_int_equal(shell->family.nr_threads, 2);
	assert_int_equal(thread->family.nr_threads, 0); /* its leader counts */
	/* A process's children belong to the process, not to its threads. */
	assert_ptr_equal(by_thread->family.parent, shell);
	assert_ptr_equal(sibling->family.parent, init);
	assert_int_equal(init->family.nr_children, 2);
	assert_int_equal(shell->family.nr_children, 1);
	sched_check(m->s);
	machine_free(m);
}

static void a_process_stays_until_its_last_thread_ends(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *init = spawn_nice(m, "init", 0), *first = child_of(m, init, 0);
	struct task *second = child_of(m, first, FORK_THREAD);
	struct task *grandchild = child_of(m, first, 0);

	(void)state;
	end(m, first);
	assert_int_equal(init->family.nr_children, 1);
	assert_ptr_equal(second->family.leader, first);
	assert_ptr_equal(grandchild->family.parent, first);
	assert_int_equal(first->family.nr_threads, 1);
	end(m, second);
	/* The orphan was not given away: it belongs to its grandparent. */
	assert_null(first->family.leader);
	assert_int_equal(first->family.nr_threads, 0);
	assert_ptr_equal(grandchild->family.parent, init);
	assert_int_equal(init->family.nr_children, 1);
	end(m, grandchild);
	assert_int_equal(init->family.nr_children, 0);
	machine_free(m);
}

static void orphans_go_to_whom_the_host_says(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *init = spawn_nice(m, "init", 0), *shell = child_of(m, init, 0);
	struct task *child = child_of(m, shell, 0), *orphan = child_of(m, child, 0);
	struct task *thread = child_of(m, child, FORK_THREAD);

	(void)state;
	sched_task_reparent(m->s, orphan, init);
	assert_ptr_equal(orphan->family.parent, init);
	assert_int_equal(child->family.nr_children, 0);
	/* The thread is not a process of its own. */
	sched_task_reparent(m->s, thread, init);
	assert_ptr_equal(thread->family.leader, child);
	assert_int_equal(init->family.nr_children, 2);
	sched_task_reparent(m->s, orphan, NULL);
	assert_null(orphan->family.parent);
	assert_int_equal(init->family.nr_children, 1);
	sched_check(m->s);
	machine_free(m);
}

static void a_thread_that_calls_exec_takes_the_first_ones_place(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *init = spawn_nice(m, "init", 0), *first = child_of(m, init, 0);
	struct task *thread = child_of(m, first, FORK_THREAD), *child = child_of(m, first, 0);

	(void)state;
	end(m, first);
	sched_task_lead(m->s, thread);
	memset(first, 0x5a, sizeof(*first));
	assert_ptr_equal(thread->family.leader, thread);
	assert_ptr_equal(thread->family.parent, init);
	assert_ptr_equal(child->family.parent, thread);
	assert_int_equal(thread->family.nr_children, 1);
	assert_int_equal(init->family.nr_children, 1);
	sched_check(m->s);
	end(m, thread);
	assert_ptr_equal(child->family.parent, init);
	machine_free(m);
}

static void relatives_that_disagree_are_noticed(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *init = spawn_nice(m, "init", 0), *child = child_of(m, init, 0);

	(void)state;
	init->family.nr_children++;
	assert_non_null(strstr(CATCH_BUG(m, sched_check(m->s)), "T7"));
	init->family.nr_children--;
	child->family.parent = NULL;
	assert_non_null(strstr(CATCH_BUG(m, sched_check(m->s)), "T7"));
	child->family.parent = init;
	sched_check(m->s);
	machine_free(m);
}

/* --- averages ------------------------------------------------------------------ */

/* The time of surveys: later than any that forks make. */
static u64 survey_time;

static struct burst_survey survey_of(struct machine *m)
{
	survey_time = max(survey_time, m->now + NS_PER_SEC);
	return (struct burst_survey){
		.policy = queue(m)->policy,
		.now = survey_time,
		.lifetime_ns = 75000000,
		.stop_count = 64,
		.nr_looks = BURST_LOOKS,
	};
}

static struct task *with_burst(struct machine *m, struct task *parent, unsigned flags, u64 worst)
{
	struct task *t = child_of(m, parent, flags);

	burst_entity(&t->fair)->worst = worst;
	return t;
}

static u64 of_children(struct machine *m, struct task *t)
{
	struct burst_survey survey = survey_of(m);

	return burst_of_children(&survey, t);
}

static u64 of_threads(struct machine *m, struct task *t)
{
	struct burst_survey survey = survey_of(m);

	return burst_of_threads(&survey, t);
}

static u64 of_descendants(struct machine *m, struct task *t, unsigned depth)
{
	struct burst_survey survey = survey_of(m);

	return burst_of_descendants(&survey, t, depth);
}

/* All averages of the family are computed anew. */
static void expire(void)
{
	survey_time += 75000001;
}

static void children_count_by_their_average_unless_the_parent_is_worse(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *parent = spawn_nice(m, "parent", 0), *last;

	(void)state;
	burst_entity(&parent->fair)->worst = 3;
	assert_int_equal(of_children(m, parent), 3);
	expire();
	with_burst(m, parent, 0, 10);
	with_burst(m, parent, 0, 20);
	last = with_burst(m, parent, 0, 33);
	with_burst(m, parent, FORK_THREAD, 1000);
	with_burst(m, last, 0, 1000);
	assert_int_equal(of_children(m, parent), 21);
	expire();
	burst_entity(&parent->fair)->worst = 22;
	assert_int_equal(of_children(m, parent), 22);
	machine_free(m);
}

static void threads_count_by_their_average_the_first_included(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *first = spawn_nice(m, "first", 0);

	(void)state;
	burst_entity(&first->fair)->worst = 2;
	with_burst(m, first, FORK_THREAD, 30);
	with_burst(m, first, FORK_THREAD, 40);
	with_burst(m, first, 0, 1000);
	assert_int_equal(of_threads(m, first), 24);
	assert_int_equal(of_threads(m, first), burst_family(first)->threads.value);
	assert_int_equal(burst_family(first)->threads.count, 3);
	machine_free(m);
}

static void an_average_is_reused_for_its_lifetime(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *parent = spawn_nice(m, "parent", 0), *child = with_burst(m, parent, 0, 10);

	(void)state;
	assert_int_equal(of_children(m, parent), 10);
	burst_entity(&child->fair)->worst = 50;
	survey_time += 75000000;
	assert_int_equal(of_children(m, parent), 10);
	survey_time++;
	assert_int_equal(of_children(m, parent), 50);
	/* The average does not outlive the policy in whose terms it is, either. */
	burst_entity(&child->fair)->worst = 60;
	burst_family(parent)->children.policy = &cfs_policy;
	assert_int_equal(of_children(m, parent), 60);
	machine_free(m);
}

static void other_classes_and_policies_do_not_count(void **state)
{
	struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = 1 };
	struct machine *m = machine_under("bore-cfs");
	struct task *parent = spawn_nice(m, "parent", 0);
	struct task *rt = with_burst(m, parent, 0, 100), *foreign = with_burst(m, parent, 0, 200);

	(void)state;
	with_burst(m, parent, 0, 10);
	assert_int_equal(sched_set_attr(m->s, rt, &req), 0);
	foreign->fair.policy = &cfs_policy;
	assert_int_equal(of_children(m, parent), 10);
	machine_free(m);
}

/*
 *	init 1 - login 7 - shell 5 -+- make 0 -+- cc 10
 *	                            |          +- cc 20
 *	                            |          +- sudo 90 - cc 30
 *	                            +- editor 4
 */
static void descendants_count_as_deep_as_asked(void **state)
{
	static const u64 golden[] = {
		(0 + 4) / 2,		/* what branches has leaves: make, editor */
		(10 + 20 + 30 + 4) / 4, /* its children count instead; only children are skipped */
		(10 + 20 + 30 + 4) / 4,
	};

	(void)state;
	for (unsigned depth = 0; depth < ARRAY_SIZE(golden); depth++) {
		struct machine *m = machine_under("bore-cfs");
		struct task *init = spawn_nice(m, "init", 0), *login, *shell, *make, *sudo;

		burst_entity(&init->fair)->worst = 1;
		login = with_burst(m, init, 0, 7);
		shell = with_burst(m, login, 0, 5);
		make = with_burst(m, shell, 0, 0);
		with_burst(m, shell, 0, 4);
		with_burst(m, make, 0, 10);
		with_burst(m, make, 0, 20);
		sudo = with_burst(m, make, 0, 90);
		with_burst(m, sudo, 0, 30);
		assert_int_equal(of_descendants(m, shell, depth), max(golden[depth], 5ull));
		/* An average is used as long as it is fresh, whatever happens below. */
		burst_family(shell)->children.value = 77;
		assert_int_equal(of_descendants(m, shell, depth), 77);
		/* The task that branches on the way now has its own average, which is used. */
		if (depth) {
			assert_int_equal(burst_family(make)->children.value, 20);
			assert_int_equal(burst_family(make)->children.count, 3);
			burst_family(shell)->children.stamp = 0;
			burst_family(make)->children.value = 100;
			assert_int_equal(of_descendants(m, shell, depth), (3 * 100 + 4) / 4);
		}
		/* From above, only children are looked through: login is one, shell is not. */
		expire();
		assert_int_equal(of_descendants(m, init, 0), 5);
		machine_free(m);
	}
}

static void a_survey_is_bounded_whatever_the_family(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *init = spawn_nice(m, "init", 0), *t = init;
	struct burst_survey survey;

	(void)state;
	for (unsigned n = 0; n < 300; n++)
		with_burst(m, init, 0, n < 64 ? 10 : 1000);
	assert_int_equal(of_children(m, init), 10);
	assert_int_equal(burst_family(init)->children.count, 64);
	expire();
	assert_int_equal(of_descendants(m, init, 2), 10);
	expire();
	/* Tasks that do not count cost a look as well. */
	for (t = list_first(&init->family.children, struct task, family.sibling);
	     &t->family.sibling != &init->family.children;
	     t = list_entry(t->family.sibling.next, struct task, family.sibling))
		t->fair.policy = &cfs_policy;
	survey = survey_of(m);
	burst_of_children(&survey, init);
	assert_int_equal(survey.nr_looks, 0);
	expire();
	/* A chain of only children. */
	for (unsigned n = 0; n < 300; n++)
		t = with_burst(m, n ? t : init, 0, 5);
	survey = survey_of(m);
	burst_of_descendants(&survey, init, 2);
	assert_int_equal(survey.nr_looks, 0);
	for (t = list_first(&init->family.children, struct task, family.sibling);
	     &t->family.sibling != &init->family.children;
	     t = list_entry(t->family.sibling.next, struct task, family.sibling))
		t->fair.policy = queue(m)->policy;
	machine_free(m);
}

/* --- what a child begins with under 2.2.8 ----------------------------------------- */

static void a_child_begins_with_its_creators_past_or_its_aunts_average(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *shell = spawn_nice(m, "shell", 0), *make = child_of(m, shell, 0), *cc;

	(void)state;
	m->now += 15000001;
	*burst_entity(&make->fair) =
		(struct burst){ .past = 3 * MS, .worst = 40 * MS, .time = 40 * MS };
	make->fair.vruntime = 0;
	cc = child_of(m, make, 0);
	/* (40 ms / 512) * 512, the average of make alone, shell's only child */
	assert_int_equal(burst_entity(&cc->fair)->past, 40 * MS / 512 * 512);
	assert_int_equal(burst_entity(&cc->fair)->worst, burst_entity(&cc->fair)->past);
	/* For 15 ms the average is not computed anew: the creator's own past is longer now. */
	*burst_entity(&make->fair) = (struct burst){ .past = 60 * MS, .worst = 60 * MS };
	cc = child_of(m, make, 0);
	assert_int_equal(burst_entity(&cc->fair)->past, 60 * MS);
	/* Scores follow the bursts that this test made up. */
	set_tunable(m, "sched_bore", "3");
	sched_check(m->s);
	machine_free(m);
}

static void children_of_real_time_tasks_begin_with_nothing(void **state)
{
	struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = 1 };
	struct machine *m = machine_under("bore-cfs");
	struct task *t = spawn_nice(m, "t", 0), *child;

	(void)state;
	burst_entity(&t->fair)->past = burst_entity(&t->fair)->worst = 50 * MS;
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
	child = child_of(m, t, 0);
	assert_int_equal(child->policy, SCHED_FIFO);
	assert_int_equal(burst_entity(&child->fair)->past, 0);
	req = (struct sched_attr_req){ .policy = SCHED_NORMAL };
	assert_int_equal(sched_set_attr(m->s, child, &req), 0);
	assert_int_equal(burst_entity(&child->fair)->past, 0);
	machine_free(m);
}

/* --- under 5.9.6 ---------------------------------------------------------------- */

/* Sets a past penalty of @past and everything else to match. */
static void remember(struct machine *m, struct task *t, u64 past)
{
	burst_entity(&t->fair)->past = past;
	burst_entity(&t->fair)->time = 0;
	set_tunable(m, "sched_burst_penalty_offset", "24");
}

static void a_childs_past_is_its_creators_as_if_the_burst_ended(void **state)
{
	struct machine *m = machine_under("bore");
	struct task *t = spawn_nice(m, "t", 0), *child;

	(void)state;
	set_tunable(m, "sched_burst_fork_atavistic", "0");
	burst_entity(&t->fair)->time = NS_PER_SEC;
	set_tunable(m, "sched_bore", "1");
	/* The task's own worst burst is its usual one: 34. */
	child = child_of(m, t, 0);
	assert_int_equal(burst_entity(&child->fair)->past, 34);
	assert_int_equal(burst_entity(&child->fair)->score, 8);
	assert_int_equal(child->fair.load.weight, 172 << WEIGHT_SHIFT);
	/*
	 * The average is kept for a while; without it the result is half of the way from 0 to 34.
	 */
	burst_family(t)->children.value = 3;
	child = child_of(m, t, 0);
	assert_int_equal(burst_entity(&child->fair)->past, 17);
	assert_int_equal(burst_entity(&child->fair)->time, 0);
	sched_check(m->s);
	machine_free(m);
}

static void a_thread_begins_with_the_average_of_its_process(void **state)
{
	struct machine *m = machine_under("bore");
	struct task *t = spawn_nice(m, "t", 0), *thread = child_of(m, t, FORK_THREAD);
	struct task *child = child_of(m, t, 0);

	(void)state;
	remember(m, t, 4);
	remember(m, thread, 40);
	remember(m, child, 100);
	m->now += 75000001;
	thread = child_of(m, t, FORK_THREAD);
	assert_int_equal(burst_entity(&thread->fair)->past, 22);
	machine_free(m);
}

/* init - login - shell - make, and make forks: whose children are looked at? */
static void a_process_takes_after_the_hub_of_its_family(void **state)
{
	struct machine *m = machine_under("bore");
	struct task *init = spawn_nice(m, "init", 0), *login = child_of(m, init, 0);
	struct task *shell = child_of(m, login, 0), *make = child_of(m, shell, 0), *t;
	struct task *daemon = child_of(m, init, 0);

	(void)state;
	remember(m, daemon, 60);
	/* All are only children up to init, which has two: 60 and make's 0. */
	m->now += 75000001;
	t = child_of(m, make, 0);
	assert_int_equal(burst_entity(&t->fair)->past, 30);
	/* make has two children and another to come: it is the hub. */
	remember(m, t, 10);
	m->now += 75000001;
	t = child_of(m, make, 0);
	remember(m, t, 50);
	m->now += 75000001;
	t = child_of(m, make, 0);
	assert_int_equal(burst_entity(&t->fair)->past, 30);
	/*
	 * A sibling of make would belong to shell: the search goes up again, because make counts as
	 * one.
	 */
	m->now += 75000001;
	burst_family(init)->children.stamp = 0;
	t = child_of(m, make, FORK_SIBLING);
	assert_ptr_equal(t->family.parent, shell);
	assert_true(burst_family(init)->children.stamp == m->now);
	sched_check(m->s);
	machine_free(m);
}

static void the_average_of_threads_is_reused_for_its_lifetime(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *first = spawn_nice(m, "first", 0);
	struct task *thread = with_burst(m, first, FORK_THREAD, 30);

	(void)state;
	burst_entity(&first->fair)->worst = 10;
	assert_int_equal(of_threads(m, first), 20);
	burst_entity(&thread->fair)->worst = 50;
	survey_time += 75000000;
	assert_int_equal(of_threads(m, first), 20);
	survey_time++;
	assert_int_equal(of_threads(m, first), 30);
	machine_free(m);
}

/* A survey that is to stop after none has looked at one, at least. */
static void one_child_counts_in_any_case(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *parent = spawn_nice(m, "parent", 0);
	struct burst_survey survey = survey_of(m);

	(void)state;
	burst_entity(&parent->fair)->worst = 3;
	with_burst(m, parent, 0, 10);
	with_burst(m, parent, 0, 40);
	survey.stop_count = 0;
	assert_int_equal(burst_of_children(&survey, parent), 10);
	assert_int_equal(burst_family(parent)->children.count, 1);
	machine_free(m);
}

/* A chain of only children is followed as far as looks are left, not further. */
static void a_chain_costs_a_look_for_each_child(void **state)
{
	struct machine *m = machine_under("bore-cfs");
	struct task *init = spawn_nice(m, "init", 0), *t = init;

	(void)state;
	for (unsigned n = 0; n < 6; n++)
		t = with_burst(m, t, 0, 10 * (n + 1));
	for (unsigned looks = 1; looks < 9; looks++) {
		struct burst_survey survey = survey_of(m);

		survey.nr_looks = looks;
		burst_of_descendants(&survey, init, 2);
		assert_int_equal(survey.nr_looks, looks > 6 ? looks - 6 : 0);
		expire();
	}
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_threads_and_siblings_have_their_places),
		cmocka_unit_test(a_process_stays_until_its_last_thread_ends),
		cmocka_unit_test(orphans_go_to_whom_the_host_says),
		cmocka_unit_test(a_thread_that_calls_exec_takes_the_first_ones_place),
		cmocka_unit_test(relatives_that_disagree_are_noticed),
		cmocka_unit_test(children_count_by_their_average_unless_the_parent_is_worse),
		cmocka_unit_test(threads_count_by_their_average_the_first_included),
		cmocka_unit_test(an_average_is_reused_for_its_lifetime),
		cmocka_unit_test(other_classes_and_policies_do_not_count),
		cmocka_unit_test(descendants_count_as_deep_as_asked),
		cmocka_unit_test(a_survey_is_bounded_whatever_the_family),
		cmocka_unit_test(a_child_begins_with_its_creators_past_or_its_aunts_average),
		cmocka_unit_test(a_childs_past_is_its_creators_as_if_the_burst_ended),
		cmocka_unit_test(a_thread_begins_with_the_average_of_its_process),
		cmocka_unit_test(a_process_takes_after_the_hub_of_its_family),
		cmocka_unit_test(children_of_real_time_tasks_begin_with_nothing),
		cmocka_unit_test(the_average_of_threads_is_reused_for_its_lifetime),
		cmocka_unit_test(one_child_counts_in_any_case),
		cmocka_unit_test(a_chain_costs_a_look_for_each_child),
	};

	return cmocka_run_group_tests_name("family", tests, NULL, NULL);
}
