/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small rules of the classes as tables: a priority that changes, slices of RR, a limit that is
 * lifted, records of preemptions, a swap that needs no room, and a yield under each CFS.
 */
#include "lib/errno.h"
#include "sched/dl/dl.h"
#include "sched/rt/rt.h"
#include "smp.h"
#include "swap.h"

static void retune(struct machine *m, struct task *t, int prio)
{
	struct sched_attr_req req = { .policy = SCHED_FIFO, .rt_priority = prio };

	m->s->rq[0].need_resched = RESCHED_NONE;
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
}

/* Lowered, the running one asks for a switch; raised above it, one that waits does. */
static void a_new_priority_asks_for_a_switch_by_table(void **state)
{
	static const struct {
		bool runs;
		int prio; /* from 5 of the waiting one, 10 of the running one */
		bool asks;
	} cases[] = {
		{ true, 11, false }, { true, 10, false }, { true, 9, true },	{ true, 1, true },
		{ false, 1, false }, { false, 9, false }, { false, 10, false }, { false, 11, true },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_new(1, 1000);
		struct task *runs = spawn(m, "runs", SCHED_FIFO, 10);
		struct task *waits = spawn(m, "waits", SCHED_FIFO, 5);

		assert_ptr_equal(running(m, 0), runs);
		retune(m, cases[i].runs ? runs : waits, cases[i].prio);
		assert_int_equal(!!m->s->rq[0].need_resched, cases[i].asks);
		machine_free(m);
	}
}

/* A slice is in whole ticks, rounded up. */
static void a_slice_of_rr_has_so_many_ticks(void **state)
{
	static const struct {
		unsigned hz;
		const char *ms;
		u32 ticks;
	} golden[] = {
		{ 1000, "100", 100 }, { 250, "100", 25 }, { 100, "100", 10 }, { 100, "25", 3 },
		{ 1000, "1", 1 },     { 250, "1", 1 },	  { 100, "9", 1 },    { 250, "7", 2 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = machine_new(1, golden[i].hz);

		set_tunable(m, "sched_rr_timeslice_ms", golden[i].ms);
		assert_int_equal(rr_slice_ticks(m->s), golden[i].ticks);
		machine_free(m);
	}
}

/* Throttled tasks run again in the next period; if the limit is lifted, whatever they have used. */
static void a_limit_that_is_lifted_ends_with_the_period(void **state)
{
	(void)state;
	for (unsigned lifted = 0; lifted < 2; lifted++) {
		struct machine *m = machine_new(1, 1000);
		struct task *t = spawn(m, "t", SCHED_FIFO, 10);
		struct rq *rq = &m->s->rq[0];

		for (unsigned n = 0; n < 960; n++)
			tick(m);
		assert_true(rt_of(rq)->throttled);
		assert_ptr_not_equal(running(m, 0), t);
		/* More than a period's share is owed. */
		rt_of(rq)->used_ns = 5 * NS_PER_SEC;
		if (lifted)
			m->s->tunable.rt_runtime_us = -1;
		for (unsigned n = 0; n < 60; n++)
			tick(m);
		assert_int_equal(rt_of(rq)->throttled, !lifted);
		assert_int_equal(running(m, 0) == t, lifted);
		machine_free(m);
	}
}

/* Its periods are counted while somebody uses them, or the limit was: then no timer is left. */
static void without_a_limit_periods_end(void **state)
{
	(void)state;
	for (unsigned lifted = 0; lifted < 2; lifted++) {
		struct machine *m = machine_new(1, 1000);
		struct rq *rq = &m->s->rq[0];

		spawn(m, "t", SCHED_FIFO, 10);
		advance(m, 600 * MS);
		assert_true(rt_of(rq)->period_end);
		if (lifted)
			m->s->tunable.rt_runtime_us = -1;
		block(m, 0, TASK_INTERRUPTIBLE);
		for (unsigned n = 0; n < 500; n++)
			advance(m, MS);
		assert_int_equal(rt_of(rq)->used_ns, 0);
		assert_int_equal(rt_of(rq)->period_end, 0);
		assert_int_equal(m->timer[0], 0);
		machine_free(m);
	}
}

/* sched_rr_get_interval(2) of a fair task: whole ticks; 0 while its queue is empty. */
static void a_slice_of_an_empty_queue_is_none(void **state)
{
	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++) {
		struct machine *m = machine_under(1, sched_fair_name(i));
		struct task *t = spawn_nice(m, "t", 0), *other;
		u64 slice = m->s->rq[0].fair.policy->slice(&m->s->rq[0].fair, &t->fair);

		assert_true(slice > 0);
		assert_int_equal(sched_rr_interval(m->s, t), slice / MS * MS);
		block(m, 0, TASK_UNINTERRUPTIBLE);
		assert_int_equal(t->on_rq, TASK_OFF_RQ);
		assert_int_equal(sched_rr_interval(m->s, t), 0);
		m->s->tick_ns = 1;
		assert_int_equal(sched_rr_interval(m->s, t), 0);
		other = spawn_nice(m, "other", 0);
		assert_true(sched_rr_interval(m->s, t) > 0);
		assert_ptr_equal(running(m, 0), other);
		machine_free(m);
	}
}

/* A wakeup is compared once, and the record has the answer. */
static void a_class_records_its_preemptions(void **state)
{
	static const int prios[] = { 5, 10, 15 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(prios); i++) {
		struct machine *m = machine_new(1, 1000);
		struct task *t = spawn(m, "t", SCHED_FIFO, prios[i]);
		unsigned nr = 0;

		block(m, 0, TASK_INTERRUPTIBLE);
		spawn(m, "runs", SCHED_FIFO, 10);
		sched_trace_set(m->s, CLASS_DECISION_EVENTS);
		m->nr_trace = 0;
		wake(m, t, 0);
		for (unsigned k = 0; k < m->nr_trace; k++) {
			const struct event_sched_decision_class *d =
				(const void *)m->trace[k].bytes;

			if (m->trace[k].common.type != EVENT_ID_sched_decision_class ||
			    d->act != ACT_preempt)
				continue;
			assert_int_equal(d->pid, t->pid);
			assert_int_equal(d->answer, prios[i] > 10);
			nr++;
		}
		assert_int_equal(nr, 1);
		assert_int_equal(running(m, 0) == t, prios[i] > 10);
		machine_free(m);
	}
}

/* Servers need room where there were none: not from one policy with them to another. */
static void a_swap_asks_for_room_if_servers_come(void **state)
{
	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++)
		for (unsigned j = 0; sched_fair_name(j); j++) {
			struct machine *m = machine_under(1, sched_fair_name(i));
			bool had = sched_fair_has(m->s, TRAIT_FAIR_SERVER), comes;

			spawn_dl(m, "t", 80 * MS, 100 * MS, 100 * MS);
			/* 93 % and a server's 5 % are more than 95 %. */
			spawn_dl(m, "u", had ? 9 * MS : 13 * MS, 100 * MS, 100 * MS);
			if (had) /* others came without being asked */
				dl_machine(m->s)->total_bw += (1 << 20) * 4 / 100;
			comes = sched_policy_has(sched_fair_policy(j), TRAIT_FAIR_SERVER) && !had;
			assert_int_equal(sched_fair_swap(m->s, sched_fair_name(j), 0),
					 comes ? -EBUSY : 0);
			machine_free(m);
		}
}

/* Under CFS and BORE on CFS the task that yields is to be passed over. */
static void a_yielder_is_remembered(void **state)
{
	static const char *const names[] = { "cfs", "bore-cfs", "fdl" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		struct machine *m = machine_under(1, names[i]);
		struct task *t;

		spawn_nice(m, "a", 0);
		spawn_nice(m, "b", 0);
		t = running(m, 0);
		rq_lock(&m->s->rq[0]);
		m->s->rq[0].fair.hooks->yield(&m->s->rq[0].fair, &t->fair);
		rq_unlock(&m->s->rq[0]);
		assert_ptr_equal(cfs_queue(&m->s->rq[0].fair)->skip, &t->fair);
		machine_free(m);
	}
}

/* A class has eight operations and, if it has policies, prio. Nothing asks it for another. */
static void a_class_needs_eight_operations(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct sched_class *c = &m->s->class_copy[CLASS_rt];
	struct task *first, *second, *fair;
	struct task child;
	char text[4096];

	(void)state;
	*c = (struct sched_class){
		.name = c->name,
		.rank = c->rank,
		.policies = c->policies,
		.enqueue = c->enqueue,
		.dequeue = c->dequeue,
		.nr_queued = c->nr_queued,
		.queued = c->queued,
		.pick = c->pick,
		.set_next = c->set_next,
		.charge = c->charge,
		.tick = c->tick,
		.params = { .prio = c->params.prio },
		.smp = { .push = c->smp.push }, /* real-time tasks that wait ask for it */
	};
	fair = spawn_nice(m, "fair", 0);
	pin(m, fair, 0);
	first = spawn(m, "first", SCHED_FIFO, 10);
	pin(m, first, 0);
	second = spawn(m, "second", SCHED_FIFO, 10);
	pin(m, second, 0);
	settle(m);
	assert_ptr_equal(running(m, 0), first);
	sched_yield(m->s, 0);
	switch_cpu(m, 0, false);
	assert_ptr_equal(running(m, 0), first);
	tick(m);
	assert_true(sched_task_runtime(m->s, first) > 0);
	assert_int_equal(sched_rr_interval(m->s, first), 0);
	assert_int_equal(sched_task_slice(m->s, first), 0);
	assert_true(sched_dump_task(m->s, first, text, sizeof(text)) < sizeof(text));
	sched_task_fork(m->s, first, &child, 99, 0);
	assert_ptr_equal(child.class, c);
	sched_task_unlink(m->s, &child);
	set_class(m, second, SCHED_NORMAL, 0);
	set_class(m, second, SCHED_FIFO, 20);
	settle(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), second);
	assert_true(wake(m, first, 1));
	assert_int_equal(sched_cpu_offline(m->s, 1), 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), first);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), fair);
	sched_check(m->s);
	machine_free(m);
}

/* The parameters that a policy has, as a host is told, are those that are valid for it. */
static void a_policy_has_what_its_class_says(void **state)
{
	struct machine *m = machine_new(1, 1000);
	unsigned found = 0;

	(void)state;
	for (int policy = -1; policy <= POLICY_LIMIT; policy++) {
		struct sched_policy_info info = sched_policy_info(policy);
		struct sched_attr_req plain = { .policy = policy }, prio = plain, deadline = plain;

		prio.rt_priority = 10;
		deadline.runtime_ns = NS_PER_MS;
		deadline.deadline_ns = deadline.period_ns = 10 * NS_PER_MS;
		assert_int_equal(info.name != NULL, class_of_policy(m->s, policy) != NULL);
		assert_true(info.nice || !task_is_fair_policy(policy));
		assert_int_equal(sched_attr_is_valid(m->s, &plain), info.nice);
		assert_int_equal(sched_attr_is_valid(m->s, &prio), info.priority);
		assert_int_equal(sched_attr_is_valid(m->s, &deadline), info.deadline || info.nice);
		assert_int_equal(info.nice + info.priority + info.deadline, info.name != NULL);
		found += info.name != NULL;
	}
	assert_true(found >= 6);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_has_what_its_class_says),
		cmocka_unit_test(a_new_priority_asks_for_a_switch_by_table),
		cmocka_unit_test(a_slice_of_rr_has_so_many_ticks),
		cmocka_unit_test(a_limit_that_is_lifted_ends_with_the_period),
		cmocka_unit_test(a_class_records_its_preemptions),
		cmocka_unit_test(a_swap_asks_for_room_if_servers_come),
		cmocka_unit_test(a_yielder_is_remembered),
		cmocka_unit_test(without_a_limit_periods_end),
		cmocka_unit_test(a_slice_of_an_empty_queue_is_none),
		cmocka_unit_test(a_class_needs_eight_operations),
	};

	return cmocka_run_group_tests_name("class_rules", tests, NULL, NULL);
}
