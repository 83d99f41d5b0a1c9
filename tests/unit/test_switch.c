/* SPDX-License-Identifier: GPL-2.0-only */
/* Switches, and the timer that asks for them: what is counted, and what is set again. */
#include "group.h"

/* An interrupt that comes too early ends nothing, and the timer is set for the same time again. */
static void a_timer_that_comes_too_early_is_set_again(void **state)
{
	struct machine *m = machine_timed(1, 1000);
	u64 when;

	(void)state;
	spawn_dl(m, "dl", 3 * MS, 10 * MS, 0);
	when = m->timer[0];
	assert_int_equal(when - m->now, 3 * MS);
	m->now += MS;
	m->timer[0] = 0;
	sched_timer(m->s, 0);
	assert_int_equal(m->timer[0], when);
	machine_free(m);
}

/* A task that goes to sleep leaves by itself; a task that yields would have gone on. */
static void only_sleep_is_a_voluntary_switch(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	spawn_nice(m, "other", 0);
	while (running(m, 0) != t)
		tick(m);
	t->nr_involuntary = 0;
	advance(m, MS);
	assert_true(sched_yield(m->s, 0));
	assert_ptr_not_equal(switch_cpu(m, 0, false), t);
	settle(m);
	assert_int_equal(t->nr_voluntary, 0);
	assert_int_equal(t->nr_involuntary, 1);
	while (running(m, 0) != t)
		tick(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(t->nr_voluntary, 1);
	assert_int_equal(t->nr_involuntary, 1);
	machine_free(m);
}

static s64 prev_state(struct machine *m)
{
	const struct event_sched_switch *e = last_record(m, EVENT_ID_sched_switch);

	return e->prev_state;
}

/* A trace shows R of a task that yields or loses its CPU in user mode; amid kernel code R+. */
static void only_kernel_code_is_preempted(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	spawn_nice(m, "other", 0);
	sched_trace_set(m->s, BIT(EVENT_sched_switch));
	while (running(m, 0) == t)
		tick(m);
	assert_int_equal(prev_state(m), 0);
	t = running(m, 0);
	sched_block(t, TASK_INTERRUPTIBLE);
	while (running(m, 0) == t)
		tick(m);
	assert_int_equal(prev_state(m), 0x100);
	assert_true(sched_yield(m->s, 0));
	switch_cpu(m, 0, false);
	assert_int_equal(prev_state(m), 0);
	machine_free(m);
}

/* A CPU that was asked for a switch need not be asked again, unless it is more urgent now. */
static void one_kick_is_enough(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *sleeper[2], *urgent, *more_urgent;

	(void)state;
	urgent = spawn(m, "urgent", SCHED_FIFO, 10);
	block(m, 0, TASK_INTERRUPTIBLE);
	more_urgent = spawn(m, "more urgent", SCHED_FIFO, 20);
	block(m, 0, TASK_INTERRUPTIBLE);
	for (unsigned i = 0; i < 2; i++) {
		sleeper[i] = spawn_nice(m, "sleeper", 0);
		block(m, 0, TASK_INTERRUPTIBLE);
	}
	spawn_nice(m, "runs", 0);
	advance(m, 100 * MS);
	m->nr_kicks = 0;
	sched_wake(m->s, sleeper[0], TASK_NORMAL, 0, 0);
	assert_int_equal(m->s->rq[0].need_resched, RESCHED_PATIENT);
	sched_wake(m->s, sleeper[1], TASK_NORMAL, 0, 0);
	assert_int_equal(m->nr_kicks, 1);
	sched_wake(m->s, urgent, TASK_NORMAL, 0, 0);
	assert_int_equal(m->nr_kicks, 2);
	sched_wake(m->s, more_urgent, TASK_NORMAL, 0, 0);
	assert_int_equal(m->nr_kicks, 2);
	settle(m);
	assert_ptr_equal(running(m, 0), more_urgent);
	machine_free(m);
}

/* Also of a task that stayed in its queue: the event is the waker's. */
static void a_wakeup_is_an_event_of_the_waker(void **state)
{
	static const struct sched_cpu_desc cpus[2] = { { .core = 0 }, { .core = 1 } };
	struct machine *m = machine_new_on(2, 1000, cpus, "eevdf");
	const struct event_sched_wakeup *wakeup = NULL;
	struct task *t, *sleeper = NULL;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		t = spawn_nice(m, "t", 0);
		assert_int_equal(sched_set_affinity(m->s, t, &(struct cpumask){ { 1 } }), 0);
		settle(m);
	}
	advance(m, 2 * MS);
	sleeper = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(sleeper->on_rq, TASK_DELAYED);
	sched_trace_set(m->s, BIT(EVENT_sched_wakeup));
	m->nr_trace = 0;
	sched_wake(m->s, sleeper, TASK_NORMAL, 1, 0);
	assert_int_equal(m->nr_trace, 1);
	wakeup = (const void *)m->trace[0].bytes;
	assert_int_equal(wakeup->common.cpu, 1);
	assert_int_equal(wakeup->target_cpu, 0);
	assert_int_equal(wakeup->pid, sleeper->pid);
	machine_free(m);
}

/* A task was woken beside another that runs; no CPU has switched since. */
struct woken {
	struct machine *m;
	struct task *sleeper, *runs;
	u64 had; /* how long @runs had run at the wakeup */
};

/* @lazy: the host lets requests for a switch wait. */
static struct woken wake_beside(bool lazy)
{
	struct woken w = { .m = machine_new(1, 1000) };

	sched_set_lazy(w.m->s, lazy);
	w.sleeper = spawn_nice(w.m, "sleeper", 0);
	block(w.m, 0, TASK_INTERRUPTIBLE);
	w.runs = spawn_nice(w.m, "runs", 0);
	advance(w.m, 100 * MS);
	sched_wake(w.m->s, w.sleeper, TASK_NORMAL, 0, 0);
	w.had = w.runs->fair.sum_exec;
	return w;
}

/* The woken task is charged for the time between the wakeup, which asks for it, and the switch. */
static void a_switch_goes_by_the_clock_of_the_wakeup(void **state)
{
	struct woken w = wake_beside(false);

	(void)state;
	w.m->now += MS / 4;
	settle(w.m);
	assert_ptr_equal(running(w.m, 0), w.sleeper);
	assert_int_equal(w.runs->fair.sum_exec, w.had);
	w.m->now += MS / 4;
	block(w.m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(w.sleeper->fair.sum_exec, MS / 2);
	machine_free(w.m);
}

/* But a later look at the clock counts, as that of a tick. */
static void a_switch_goes_by_the_latest_clock(void **state)
{
	struct woken w = wake_beside(false);

	(void)state;
	w.m->now += MS / 4;
	sched_tick(w.m->s, 0);
	w.m->now += MS / 4;
	settle(w.m);
	assert_ptr_equal(running(w.m, 0), w.sleeper);
	assert_int_equal(w.runs->fair.sum_exec, w.had + MS / 4);
	machine_free(w.m);
}

/* A host that lets requests wait does so for long: that time is the running task's. */
static void a_request_that_may_wait_stops_no_clock(void **state)
{
	struct woken w = wake_beside(true);

	(void)state;
	w.m->now += MS / 4;
	settle(w.m);
	assert_ptr_equal(running(w.m, 0), w.sleeper);
	assert_int_equal(w.runs->fair.sum_exec, w.had + MS / 4);
	machine_free(w.m);
}

/* --- news for a class ----------------------------------------------------------------- */

/* Two CPUs, each with a hog and a member of a group that has 3 ms of CPU time in 10. */
struct limited {
	struct machine *m;
	struct task_group *tg;
	struct task *member[2], *hog[2];
};

static struct limited limited_group(const char *policy)
{
	static const struct sched_cpu_desc cores[] = { { .core = 0 }, { .core = 1 } };
	struct limited l = { .m = machine_new_on(2, 250, cores, policy) };

	l.tg = new_group(l.m, NULL);
	assert_int_equal(task_group_set_bandwidth(l.m->s, l.tg, 3 * MS, 10 * MS, 0, true), 0);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		struct cpumask here = cpumask_of(cpu);

		l.member[cpu] = spawn_in(l.m, l.tg, 0);
		assert_int_equal(sched_set_affinity(l.m->s, l.member[cpu], &here), 0);
		l.hog[cpu] = spawn_nice(l.m, "hog", 0);
		assert_int_equal(sched_set_affinity(l.m->s, l.hog[cpu], &here), 0);
		settle(l.m);
	}
	return l;
}

/* A period ends. Returns on how many CPUs the group was paid for. */
static unsigned refill(struct limited *l)
{
	struct task *before[2] = { running(l->m, 0), running(l->m, 1) };
	bool throttled[2];
	unsigned paid = 0;

	for (unsigned cpu = 0; cpu < 2; cpu++)
		throttled[cpu] = l->tg->cpu[cpu].queue.throttled;
	advance(l->m, l->tg->bandwidth.period.at - l->m->now);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		bool idled = before[cpu] == &l->m->idle[cpu];

		if (!throttled[cpu] || l->tg->cpu[cpu].queue.throttled)
			continue;
		assert_task(running(l->m, cpu), idled ? l->member[cpu] : before[cpu]);
		paid++;
	}
	return paid;
}

static unsigned refills(struct limited *l)
{
	unsigned paid = 0;

	for (unsigned n = 0; n < 500; n++) {
		u64 left = l->tg->bandwidth.period.at - l->m->now;

		if (l->tg->bandwidth.period.rq && left < 4 * MS)
			paid += refill(l);
		tick(l->m);
		sched_check(l->m->s);
	}
	return paid;
}

/*
 * A refill brings a group back at once. Who runs there goes on to the next tick at least; only a
 * CPU that idles takes the group. As on Linux.
 */
static void a_refill_takes_no_cpu_away(void **state)
{
	static const char *const policy[] = { "cfs", "eevdf" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(policy); i++) {
		struct limited l = limited_group(policy[i]);
		u64 had;

		assert_true(refills(&l) > 50);
		had = l.member[0]->fair.sum_exec + l.member[1]->fair.sum_exec;
		assert_in_range(had, 500 * MS, 800 * MS); /* 3 in 10 of some 2.2 s */
		for (unsigned cpu = 0; cpu < 2; cpu++) {
			while (running(l.m, cpu) != l.hog[cpu])
				tick(l.m);
			block(l.m, cpu, TASK_INTERRUPTIBLE);
		}
		assert_true(refills(&l) > 50);
		machine_free(l.m);
	}
}

/* The CPU whose timer ends a period has its group back at once: a tick may come with the timer. */
static void a_tick_at_the_end_of_a_period_sees_the_group(void **state)
{
	struct limited l = limited_group("cfs");
	const struct fair_queue *q = &l.tg->cpu[0].queue;

	(void)state;
	while (!q->throttled)
		tick(l.m);
	assert_ptr_equal(l.tg->bandwidth.period.rq, q->rq);
	do {
		l.m->now = l.tg->bandwidth.period.at;
		sched_timer(l.m->s, 0);
	} while (q->debt);
	assert_false(q->throttled);
	assert_task(running(l.m, 0), l.hog[0]);
	machine_free(l.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timer_that_comes_too_early_is_set_again),
		cmocka_unit_test(only_sleep_is_a_voluntary_switch),
		cmocka_unit_test(only_kernel_code_is_preempted),
		cmocka_unit_test(one_kick_is_enough),
		cmocka_unit_test(a_wakeup_is_an_event_of_the_waker),
		cmocka_unit_test(a_switch_goes_by_the_clock_of_the_wakeup),
		cmocka_unit_test(a_switch_goes_by_the_latest_clock),
		cmocka_unit_test(a_request_that_may_wait_stops_no_clock),
		cmocka_unit_test(a_refill_takes_no_cpu_away),
		cmocka_unit_test(a_tick_at_the_end_of_a_period_sees_the_group),
	};

	return cmocka_run_group_tests_name("switch", tests, NULL, NULL);
}
