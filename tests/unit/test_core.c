/* SPDX-License-Identifier: GPL-2.0-only */
/* The core's protocols: sleep and wake, switch, death, invariants, traces, statistics, dumps. */
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "sched/rt/rt.h"

/* --- sleeping and waking -------------------------------------------------- */

static void a_wakeup_before_the_switch_cancels_the_sleep(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	sched_block(t, TASK_INTERRUPTIBLE);
	assert_true(sched_wake(m->s, t, TASK_NORMAL, 0, 0));
	assert_ptr_equal(switch_cpu(m, 0, false), t);
	assert_int_equal(t->state, TASK_RUNNING);
	assert_int_equal(t->on_rq, TASK_QUEUED);
	machine_free(m);
}

/*
 * Card F-11: meanwhile virtual time advanced by more than 2^63 ns, so the sleeper's own seems to be
 * ahead.
 */
static void a_sleep_of_a_year_beside_a_light_task_freezes_nobody(void **state)
{
	static const struct sched_cpu_desc one = { .core = 0 };

	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++) {
		struct machine *m = machine_new_on(1, 1000, &one, sched_fair_name(i));
		struct task *t = spawn_nice(m, "t", 0);
		unsigned ticks = 0;

		advance(m, MS);
		block(m, 0, TASK_INTERRUPTIBLE);
		spawn(m, "light", SCHED_IDLE, 0);
		/* In small steps, because virtual time runs up to 23,000 times as fast. */
		for (unsigned step = 0; step < 4 * 365; step++) {
			m->now += 6ull * 3600 * NS_PER_SEC;
			tick(m);
			sched_check(m->s);
		}
		wake(m, t, 0);
		for (; running(m, 0) != t; ticks++)
			tick(m);
		assert_in_range(ticks, 0, 8);
		sched_check(m->s);
		machine_free(m);
	}
}

static void a_task_preempted_on_its_way_to_sleep_stays_runnable(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	sched_block(t, TASK_INTERRUPTIBLE);
	switch_cpu(m, 0, true);
	assert_ptr_equal(running(m, 0), t);
	switch_cpu(m, 0, false);
	assert_ptr_equal(running(m, 0), &m->idle[0]);
	machine_free(m);
}

static void a_wakeup_needs_a_matching_state(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	block(m, 0, TASK_UNINTERRUPTIBLE);
	assert_false(sched_wake(m->s, t, TASK_INTERRUPTIBLE, 0, 0));
	assert_int_equal(m->s->rq[0].nr_uninterruptible, 1);
	assert_true(sched_wake(m->s, t, TASK_UNINTERRUPTIBLE, 0, 0));
	assert_false(sched_wake(m->s, t, TASK_NORMAL, 0, 0));
	assert_int_equal(m->s->rq[0].nr_uninterruptible, 0);
	machine_free(m);
}

static void kernel_threads_waiting_for_work_are_not_load(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	spawn_nice(m, "kworker", 0);
	block(m, 0, TASK_IDLE);
	assert_int_equal(m->s->rq[0].nr_uninterruptible, 0);
	machine_free(m);
}

static void a_wakeup_of_an_idle_cpu_kicks_it_once(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0);

	(void)state;
	block(m, a->cpu, TASK_INTERRUPTIBLE);
	block(m, b->cpu, TASK_INTERRUPTIBLE);
	m->nr_kicks = 0;
	sched_wake(m->s, a, TASK_NORMAL, b->cpu, 0);
	assert_int_equal(m->nr_kicks, 1);
	assert_true(m->kicked[a->cpu]);
	settle(m);
	assert_ptr_equal(running(m, a->cpu), a);
	machine_free(m);
}

/* A request on behalf of a fair task may wait while another one runs, but only until a tick. */
static void fair_wakeups_ask_patiently(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *sleeper = spawn_nice(m, "sleeper", 0);

	(void)state;
	block(m, 0, TASK_INTERRUPTIBLE);
	sched_wake(m->s, sleeper, TASK_INTERRUPTIBLE, 0, 0);
	assert_false(m->patient[0]); /* the CPU idles */
	settle(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	spawn_nice(m, "hog", 0);
	advance(m, 50 * MS);
	sched_wake(m->s, sleeper, TASK_INTERRUPTIBLE, 0, 0);
	assert_true(m->kicked[0] && m->patient[0]);
	sched_tick(m->s, 0);
	assert_true(m->kicked[0] && !m->patient[0]);
	settle(m);
	assert_ptr_equal(running(m, 0), sleeper);
	machine_free(m);
}

static void an_urgent_wakeup_does_not_hide_behind_a_patient_one(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 1), *sleeper;

	(void)state;
	block(m, 0, TASK_INTERRUPTIBLE);
	sleeper = spawn_nice(m, "sleeper", 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	spawn_nice(m, "hog", 0);
	advance(m, 50 * MS);
	sched_wake(m->s, sleeper, TASK_INTERRUPTIBLE, 0, 0);
	assert_true(m->patient[0]);
	sched_wake(m->s, fifo, TASK_INTERRUPTIBLE, 0, 0);
	assert_false(m->patient[0]);
	settle(m);
	assert_ptr_equal(running(m, 0), fifo);
	machine_free(m);
}

static void the_tick_of_an_idle_cpu_stops_unless_work_has_come(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	assert_false(sched_tick_can_stop(m->s, 0));
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_true(sched_tick_can_stop(m->s, 0));
	m->s->rq[0].tick_stopped = false;
	/* It is woken but not switched to yet. */
	assert_true(sched_wake(m->s, t, TASK_NORMAL, 0, 0));
	assert_ptr_equal(running(m, 0), &m->idle[0]);
	assert_false(sched_tick_can_stop(m->s, 0));
	machine_free(m);
}

static void a_dead_task_is_returned_by_the_switch_and_forgotten(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0), *next;

	(void)state;
	sched_task_exit(m->s, 0);
	next = sched_switch_begin(m->s, 0, false);
	assert_ptr_equal(next, &m->idle[0]);
	assert_ptr_equal(sched_switch_end(m->s, 0), t);
	assert_int_equal(t->state, TASK_DEAD);
	assert_false(sched_wake(m->s, t, TASK_NORMAL, 0, 0));
	assert_int_equal(m->s->rq[0].fair.avg.load_avg, 0);
	machine_free(m);
}

static void the_switch_holds_the_lock_until_its_end(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct rq *rq = &m->s->rq[0];

	(void)state;
	spawn_nice(m, "t", 0);
	assert_false(host_lock_held(&rq->lock));
	sched_switch_begin(m->s, 0, true);
	assert_true(host_lock_held(&rq->lock));
	sched_switch_end(m->s, 0);
	assert_false(host_lock_held(&rq->lock));
	machine_free(m);
}

static void children_inherit_but_not_privilege_that_must_reset(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *parent = spawn(m, "parent", SCHED_FIFO, 50), child;
	struct sched_attr_req req;

	(void)state;
	sched_task_fork(m->s, parent, &child, 77, 0);
	assert_int_equal(child.policy, SCHED_FIFO);
	assert_int_equal(child.prio, 49);
	assert_int_equal(child.pid, 77);
	assert_string_equal(child.comm, "parent");
	sched_task_unlink(m->s, &child);
	sched_get_attr(parent, &req);
	req.reset_on_fork = true;
	assert_int_equal(sched_set_attr(m->s, parent, &req), 0);
	sched_task_fork(m->s, parent, &child, 78, 0);
	assert_int_equal(child.policy, SCHED_NORMAL);
	assert_int_equal(child.prio, 120);
	assert_false(child.reset_on_fork);
	sched_task_unlink(m->s, &child);
	req = (struct sched_attr_req){ .policy = SCHED_BATCH, .nice = -5, .reset_on_fork = true };
	assert_int_equal(sched_set_attr(m->s, parent, &req), 0);
	sched_task_fork(m->s, parent, &child, 79, 0);
	assert_int_equal(child.policy, SCHED_BATCH);
	assert_int_equal(child.prio, 120);
	machine_free(m);
}

static void bad_attributes_are_refused_and_change_nothing(void **state)
{
	static const struct sched_attr_req bad[] = {
		{ .policy = 4 },
		{ .policy = -1 },
		{ .policy = 6 },
		{ .policy = SCHED_NORMAL, .nice = 20 },
		{ .policy = SCHED_NORMAL, .nice = -21 },
		{ .policy = SCHED_NORMAL, .rt_priority = 1 },
		{ .policy = SCHED_FIFO },
		{ .policy = SCHED_RR, .rt_priority = 100 },
	};
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 3);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(sched_set_attr(m->s, t, &bad[i]), -EINVAL);
	assert_int_equal(t->prio, 123);
	assert_int_equal(sched_set_attr(m->s, &m->idle[0], &(struct sched_attr_req){ 0 }), -EINVAL);
	machine_free(m);
}

static void bad_machines_are_refused(void **state)
{
	struct sched_cpu_desc desc[1] = { { 0, 0, 0, 0 } };
	struct machine *m = machine_new(1, 1000);
	struct sched_config good = { .nr_cpus = 1, .hz = 250, .topology = desc }, bad;

	(void)state;
	bad = good, bad.hz = 300;
	assert_int_equal(sched_init(m->s, &bad), -EINVAL);
	bad = good, bad.nr_cpus = CPU_MAX + 1;
	assert_int_equal(sched_init(m->s, &bad), -EINVAL);
	bad = good, bad.nr_cpus = 0;
	assert_int_equal(sched_init(m->s, &bad), -EINVAL);
	bad = good, bad.topology = NULL;
	assert_int_equal(sched_init(m->s, &bad), -EINVAL);
	bad = good, bad.fair_policy = "lottery";
	assert_int_equal(sched_init(m->s, &bad), -EINVAL);
	machine_free(m);
}

/* --- invariants ----------------------------------------------------------- */

static void the_checker_names_the_invariant_that_broke(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0);
	struct rq *rq = &m->s->rq[0];
	const char *what;

	(void)state;
	assert_null(CATCH_BUG(m, sched_check(m->s)));

#define EXPECT_BROKEN(id, break_it, repair)                                                        \
	do {                                                                                       \
		break_it;                                                                          \
		what = CATCH_BUG(m, sched_check(m->s));                                            \
		assert_non_null(what);                                                             \
		assert_memory_equal(what, id ":", sizeof(id));                                     \
		repair;                                                                            \
		assert_null(CATCH_BUG(m, sched_check(m->s)));                                      \
	} while (0)

	EXPECT_BROKEN("T1", a->on_rq = TASK_OFF_RQ, a->on_rq = TASK_QUEUED);
	EXPECT_BROKEN("T2", b->cpu = 7, b->cpu = 0);
	EXPECT_BROKEN("T3", b->allowed = cpumask_none(), b->allowed = cpumask_of(0));
	EXPECT_BROKEN("T4", b->state = TASK_WAKING, b->state = TASK_RUNNING);
	EXPECT_BROKEN("T5", b->static_prio = 121, b->static_prio = 120);
	EXPECT_BROKEN("R1", rq->nr_running++, rq->nr_running--);
	EXPECT_BROKEN("R2", rq->fair.curr = NULL, rq->fair.curr = &a->fair);
	EXPECT_BROKEN("Q4", rq->fair.nr_running++, rq->fair.nr_running--);
	EXPECT_BROKEN("Q5", rq->fair.load.weight++, rq->fair.load.weight--);
	EXPECT_BROKEN("Q6", rq->fair.nr_idle++, rq->fair.nr_idle--);
	EXPECT_BROKEN("Q7", cfs_queue(&rq->fair)->checked_min_vruntime++,
		      cfs_queue(&rq->fair)->checked_min_vruntime--);
	EXPECT_BROKEN("Q10", b->fair.vruntime += 1ull << 62, b->fair.vruntime -= 1ull << 62);
	EXPECT_BROKEN("G1", b->fair.policy = NULL, b->fair.policy = rq->fair.policy);
	EXPECT_BROKEN("G2", rq->fair.tasks.nr_idle++, rq->fair.tasks.nr_idle--);
	EXPECT_BROKEN("P4", rq->fair.avg.util_est_enqueued++, rq->fair.avg.util_est_enqueued--);
	EXPECT_BROKEN("R12", rq->active ^= BIT(CLASS_fair), rq->active ^= BIT(CLASS_fair));
	EXPECT_BROKEN("R6", rt_of(rq)->throttled = true, rt_of(rq)->throttled = false);
	machine_free(m);
}

/* Neither may end as a switch that never ends. */
static void a_class_that_is_active_and_picks_nobody_is_found(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct rq *rq = &m->s->rq[0];
	const char *what;

	(void)state;
	rq_lock(rq);
	class_set_active(rq, CLASS_stop, true);
	rq_unlock(rq);
	what = CATCH_BUG(m, sched_switch_begin(m->s, 0, true));
	assert_true(what && strstr(what, "an active class picks a task"));
	machine_free(m);
}

static void a_runnable_task_of_a_class_that_is_not_active_is_found(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct rq *rq = &m->s->rq[0];
	const char *what;

	(void)state;
	spawn_nice(m, "A", 0);
	rq_lock(rq);
	class_set_active(rq, CLASS_fair, false);
	rq_unlock(rq);
	what = CATCH_BUG(m, sched_switch_begin(m->s, 0, true));
	assert_true(what && strstr(what, "a class with a runnable task is active"));
	machine_free(m);
}

/* --- traces --------------------------------------------------------------- */

static const void *last_event(struct machine *m, unsigned type)
{
	for (unsigned i = min(m->nr_trace, (unsigned)MAX_TRACE); i-- > 0;)
		if (m->trace[i].common.type == type)
			return m->trace[i].bytes;
	return NULL;
}

static void events_are_recorded_only_when_enabled(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	for (unsigned n = 0; n < 10; n++)
		tick(m);
	assert_int_equal(m->nr_trace, 0);
	sched_trace_set(m->s, BIT(EVENT_sched_switch));
	block(m, 0, TASK_INTERRUPTIBLE);
	wake(m, t, 0);
	assert_int_equal(m->nr_trace, 2);
	machine_free(m);
}

static void a_switch_event_tells_who_and_why(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "sleeper", 5);
	const struct event_sched_switch *e;

	(void)state;
	sched_trace_set(m->s, ~DECISION_EVENTS);
	block(m, 0, TASK_UNINTERRUPTIBLE);
	e = last_event(m, EVENT_ID_sched_switch);
	assert_string_equal(e->prev_comm, "sleeper");
	assert_int_equal(e->prev_pid, t->pid);
	assert_int_equal(e->prev_prio, 125);
	assert_int_equal(e->prev_state, TASK_UNINTERRUPTIBLE);
	assert_string_equal(e->next_comm, "swapper/0");
	assert_int_equal(e->next_prio, 120);
	advance(m, 7 * MS);
	wake(m, t, 0);
	e = last_event(m, EVENT_ID_sched_switch);
	assert_int_equal(e->prev_state, 0); /* the idle task only gives way */
	assert_int_equal(((const struct event_sched_stat_blocked *)last_event(
				  m, EVENT_ID_sched_stat_blocked))
				 ->delay,
			 7 * MS);
	spawn_nice(m, "hog", 0);
	for (unsigned n = 0; n < 20; n++)
		tick(m);
	e = last_event(m, EVENT_ID_sched_switch);
	assert_int_equal(e->prev_state, 0); /* as if in user mode */
	machine_free(m);
}

static void wakeups_and_migrations_are_traced_where_they_happen(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task *t = spawn_nice(m, "t", 0);
	struct cpumask one = cpumask_of(1);
	const struct event_sched_migrate_task *move;
	const struct event_sched_waking *waking;

	(void)state;
	sched_trace_set(m->s, ~DECISION_EVENTS);
	sched_set_affinity(m->s, t, &one);
	settle(m);
	move = last_event(m, EVENT_ID_sched_migrate_task);
	assert_int_equal(move->orig_cpu, 0);
	assert_int_equal(move->dest_cpu, 1);
	block(m, 1, TASK_INTERRUPTIBLE);
	wake(m, t, 0);
	waking = last_event(m, EVENT_ID_sched_waking);
	assert_int_equal(waking->common.cpu, 0);
	assert_int_equal(waking->target_cpu, 1);
	assert_string_equal(waking->comm, "t");
	assert_non_null(last_event(m, EVENT_ID_sched_wakeup));
	assert_null(last_event(m, EVENT_ID_sched_wakeup_new));
	spawn_nice(m, "new", 0);
	assert_non_null(last_event(m, EVENT_ID_sched_wakeup_new));
	machine_free(m);
}

static void charged_time_is_traced(void **state)
{
	struct machine *m = machine_new(1, 1000);
	const struct event_sched_stat_runtime *e;

	(void)state;
	spawn_nice(m, "t", 5);
	sched_trace_set(m->s, ~DECISION_EVENTS);
	tick(m);
	e = last_event(m, EVENT_ID_sched_stat_runtime);
	assert_int_equal(e->runtime, MS);
	assert_string_equal(e->comm, "t");
	assert_int_equal(e->common.size, 48);
	machine_free(m);
}

/* Leaves a pattern where the next calls have their variables. */
static __noinline void stain_stack(void)
{
	volatile u8 area[4096];

	for (unsigned i = 0; i < sizeof(area); i++)
		area[i] = 0xfe;
}

/* Records are copied as bytes: what lies between two fields must not be left over. */
static void holes_in_events_are_zero(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);
	const u8 *bytes;

	(void)state;
	sched_trace_set(m->s, ~DECISION_EVENTS);
	stain_stack();
	tick(m);
	bytes = last_event(m, EVENT_ID_sched_stat_runtime);
	for (size_t i = offsetof(struct event_sched_stat_runtime, pid) + 4;
	     i < offsetof(struct event_sched_stat_runtime, runtime); i++)
		assert_int_equal(bytes[i], 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	stain_stack();
	wake(m, t, 0);
	bytes = last_event(m, EVENT_ID_sched_stat_sleep);
	for (size_t i = offsetof(struct event_sched_stat_sleep, pid) + 4;
	     i < offsetof(struct event_sched_stat_sleep, delay); i++)
		assert_int_equal(bytes[i], 0);
	machine_free(m);
}

/* --- statistics and dumps ------------------------------------------------- */

static void waiting_and_running_add_up(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *a = spawn_nice(m, "A", 0), *b = spawn_nice(m, "B", 0);
	struct sched_cpu_stat st;

	(void)state;
	for (unsigned n = 0; n < 1000; n++)
		tick(m);
	sched_cpu_stat(m->s, 0, &st);
	assert_int_equal(st.run_ns, 1000 * MS);
	assert_int_equal(a->fair.sum_exec + b->fair.sum_exec, 1000 * MS);
	/* While one task runs the other waits; the present wait is not counted yet. */
	assert_in_range(a->wait_sum + b->wait_sum, 990 * MS, 1000 * MS);
	assert_int_equal(st.wait_ns, a->wait_sum + b->wait_sum);
	assert_int_equal(st.nr_running, 2);
	block(m, 0, TASK_INTERRUPTIBLE);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 50 * MS);
	sched_cpu_stat(m->s, 0, &st);
	assert_int_equal(st.idle_ns, 50 * MS);
	machine_free(m);
}

static void optional_counters_count_on_request(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);
	struct sched_cpu_stat st;

	(void)state;
	for (unsigned pass = 0; pass < 2; pass++) {
		block(m, 0, TASK_INTERRUPTIBLE);
		wake(m, t, 0);
		sched_yield(m->s, 0);
		switch_cpu(m, 0, false);
		sched_cpu_stat(m->s, 0, &st);
		assert_int_equal(st.ttwu_count, pass);
		assert_int_equal(st.ttwu_local, pass);
		assert_int_equal(st.yield_count, pass);
		assert_int_equal(st.sched_goidle, pass);
		set_tunable(m, "sched_schedstats", "1");
	}
	machine_free(m);
}

static void dumps_have_linux_keys_and_report_their_length(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task *t = spawn_nice(m, "shown", 5);
	char text[8192], small[10];
	size_t len;

	(void)state;
	tick(m);
	advance(m, NS_PER_MS / 2); /* not charged yet, and looking does not charge it */
	len = sched_dump_task(m->s, t, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_non_null(strstr(
		text, "se.load.weight                               :               343040\n"));
	assert_non_null(strstr(
		text, "se.sum_exec_runtime                          :             1.000000\n"));
	assert_non_null(strstr(
		text, "prio                                         :                  125\n"));
	assert_int_equal(sched_dump_task(m->s, t, small, sizeof(small)), len);
	assert_int_equal(strlen(small), sizeof(small) - 1);
	len = sched_dump_cpu(m->s, t->cpu, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_non_null(strstr(text, "  .nr_running                    : 1\n"));
	assert_non_null(strstr(text, ">R           shown"));
	sched_dump_schedstat(m->s, text, sizeof(text));
	assert_memory_equal(text, "version 15\ntimestamp ", 21);
	assert_non_null(strstr(text, "\ncpu1 0 0 0 0 0 0 0 0 0\n"));
	assert_non_null(strstr(text, "\ndomain0 3 0 0 "));
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wakeup_before_the_switch_cancels_the_sleep),
		cmocka_unit_test(a_sleep_of_a_year_beside_a_light_task_freezes_nobody),
		cmocka_unit_test(a_task_preempted_on_its_way_to_sleep_stays_runnable),
		cmocka_unit_test(a_wakeup_needs_a_matching_state),
		cmocka_unit_test(kernel_threads_waiting_for_work_are_not_load),
		cmocka_unit_test(a_wakeup_of_an_idle_cpu_kicks_it_once),
		cmocka_unit_test(fair_wakeups_ask_patiently),
		cmocka_unit_test(an_urgent_wakeup_does_not_hide_behind_a_patient_one),
		cmocka_unit_test(the_tick_of_an_idle_cpu_stops_unless_work_has_come),
		cmocka_unit_test(a_dead_task_is_returned_by_the_switch_and_forgotten),
		cmocka_unit_test(the_switch_holds_the_lock_until_its_end),
		cmocka_unit_test(children_inherit_but_not_privilege_that_must_reset),
		cmocka_unit_test(bad_attributes_are_refused_and_change_nothing),
		cmocka_unit_test(bad_machines_are_refused),
		cmocka_unit_test(the_checker_names_the_invariant_that_broke),
		cmocka_unit_test(a_class_that_is_active_and_picks_nobody_is_found),
		cmocka_unit_test(a_runnable_task_of_a_class_that_is_not_active_is_found),
		cmocka_unit_test(events_are_recorded_only_when_enabled),
		cmocka_unit_test(a_switch_event_tells_who_and_why),
		cmocka_unit_test(wakeups_and_migrations_are_traced_where_they_happen),
		cmocka_unit_test(charged_time_is_traced),
		cmocka_unit_test(holes_in_events_are_zero),
		cmocka_unit_test(waiting_and_running_add_up),
		cmocka_unit_test(optional_counters_count_on_request),
		cmocka_unit_test(dumps_have_linux_keys_and_report_their_length),
	};

	return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
