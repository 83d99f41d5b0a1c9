/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Texts for people: /proc/PID/sched, debugfs debug, /proc/schedstat. The layouts are Linux's, built
 * here with libc's printf. The numbers are those of a scenario whose times a reader can add up, or
 * the fields that a line is named after.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "sched/balance/domain.h"
#include "sched/dl/dl.h"
#include "sched/fair/bore/burst.h"
#include "sched/fair/eevdf/eevdf.h"
#include "sched/rt/rt.h"

static char text[1 << 14];

/* One line for a task as Linux prints it: a number, or a time in ms with six decimals. */
static void assert_number(const char *name, s64 value)
{
	char line[128];

	snprintf(line, sizeof(line), "%-45s:%21ld\n", name, (long)value);
	if (!strstr(text, line))
		fail_msg("no line \"%s\" in\n%s", line, text);
}

static const char *ms(s64 ns)
{
	static char out[32];
	u64 abs = (u64)labs((long)ns);

	snprintf(out, sizeof(out), "%s%lu.%06lu", ns < 0 ? "-" : "", abs / 1000000, abs % 1000000);
	return out;
}

static void assert_ms(const char *name, s64 ns)
{
	char line[128];

	snprintf(line, sizeof(line), "%-45s:%21s\n", name, ms(ns));
	if (!strstr(text, line))
		fail_msg("no line \"%s\" in\n%s", line, text);
}

/* One line for a CPU. */
static void assert_cpu_line(const char *name, const char *value)
{
	char line[128];

	snprintf(line, sizeof(line), "  .%-30s: %s\n", name, value);
	if (!strstr(text, line))
		fail_msg("no line \"%s\" in\n%s", line, text);
}

static void assert_cpu_number(const char *name, u64 value)
{
	char number[32];

	snprintf(number, sizeof(number), "%lu", value);
	assert_cpu_line(name, number);
}

static void assert_cpu_ms(const char *name, s64 ns)
{
	assert_cpu_line(name, ms(ns));
}

static unsigned count_lines(void)
{
	unsigned nr = 0;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		nr++;
	return nr;
}

/*
 * One CPU under @policy. "shown" and "other" share it for 20 ms; then "shown" sleeps for 5 ms, is
 * blocked for 3 ms, and has run for 123,456 ns when it is dumped.
 */
static struct machine *machine_with_a_past(const char *policy, struct task **shown)
{
	const struct sched_cpu_desc one = { 0 };
	struct machine *m = machine_new_on(1, 1000, &one, policy);
	struct task *other;

	set_tunable(m, "sched_schedstats", "1");
	*shown = spawn_nice(m, "shown", 0);
	other = spawn_nice(m, "other", 0);
	for (unsigned n = 0; n < 20; n++)
		tick(m);
	while (running(m, 0) != other)
		tick(m);
	block(m, 0, TASK_UNINTERRUPTIBLE);
	assert_ptr_equal(running(m, 0), *shown);
	for (unsigned i = 0; i < 2; i++) {
		sched_block(*shown, i ? TASK_UNINTERRUPTIBLE : TASK_INTERRUPTIBLE);
		switch_cpu(m, 0, false);
		advance(m, (i ? 3 : 5) * MS);
		sched_wake(m->s, *shown, TASK_NORMAL | TASK_UNINTERRUPTIBLE, 0, 0);
		settle(m);
		assert_ptr_equal(running(m, 0), *shown);
	}
	advance(m, 123456);
	return m;
}

static unsigned dump_task(struct machine *m, struct task *t)
{
	size_t len = sched_dump_task(m->s, t, text, sizeof(text));

	assert_int_equal(len, strlen(text));
	return count_lines();
}

static void a_task_s_file_says_what_it_did(void **state)
{
	struct task *t;
	struct machine *m = machine_with_a_past("cfs", &t);
	u64 sum = t->fair.sum_exec;

	(void)state;
	assert_int_equal(dump_task(m, t), 28);
	/* It runs, and the time since it was charged last is not in. */
	assert_int_equal(t->fair.sum_exec, sum);
	assert_ms("se.sum_exec_runtime", (s64)sum);
	assert_ms("se.exec_start", (s64)m->now - 123456);
	assert_ms("se.vruntime", (s64)t->fair.vruntime);
	assert_number("se.nr_migrations", 0);
	assert_ms("sum_sleep_runtime", 5 * MS);
	assert_ms("sum_block_runtime", 3 * MS);
	assert_ms("sleep_max", 5 * MS);
	assert_ms("block_max", 3 * MS);
	assert_true(t->wait_sum > t->wait_max && t->wait_max > 0);
	assert_ms("wait_max", (s64)t->wait_max);
	assert_ms("wait_sum", (s64)t->wait_sum);
	assert_number("wait_count", (s64)t->nr_slices);
	assert_number("nr_wakeups", 2);
	assert_number("nr_voluntary_switches", 2);
	assert_true(t->nr_involuntary > 0);
	assert_number("nr_involuntary_switches", (s64)t->nr_involuntary);
	assert_number("nr_switches", 2 + (s64)t->nr_involuntary);
	assert_number("se.load.weight", 1024 * 1024);
	assert_number("se.avg.load_sum", (s64)t->fair.avg.load_sum);
	assert_number("se.avg.runnable_sum", (s64)t->fair.avg.runnable_sum);
	assert_number("se.avg.util_sum", (s64)t->fair.avg.util_sum);
	assert_number("se.avg.load_avg", (s64)t->fair.avg.load_avg);
	assert_number("se.avg.runnable_avg", (s64)t->fair.avg.runnable_avg);
	assert_number("se.avg.util_avg", (s64)t->fair.avg.util_avg);
	assert_number("se.avg.last_update_time", (s64)t->fair.avg.last_update);
	assert_number("se.avg.util_est.ewma", (s64)t->fair.avg.util_est_ewma);
	assert_number("se.avg.util_est.enqueued", (s64)t->fair.avg.util_est_enqueued);
	assert_number("policy", SCHED_NORMAL);
	assert_number("prio", 120);
	assert_number("clock-delta", 0);
	set_tunable(m, "sched_schedstats", "0");
	assert_int_equal(dump_task(m, t), 20);
	assert_null(strstr(text, "wait_sum"));
	machine_free(m);
}

static void eevdf_adds_the_request_and_its_deadline(void **state)
{
	struct task *t, *other;
	struct machine *m = machine_with_a_past("eevdf", &t);
	s64 deadline;

	(void)state;
	assert_int_equal(dump_task(m, t), 28 + 5);
	deadline = (s64)eevdf_entity(&t->fair)->deadline;
	assert_number("se.slice", (s64)eevdf_entity(&t->fair)->slice);
	assert_ms("se.deadline", deadline);
	/* At nice 0 virtual time passes as real time does. */
	assert_ms("se.request_left", deadline - (s64)t->fair.vruntime);
	assert_ms("se.vlag", 0); /* it is alone */
	assert_number("se.sched_delayed", 0);
	other = spawn_nice(m, "late", 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	t = running(m, 0) == other ? t : other;
	dump_task(m, t);
	assert_number("se.sched_delayed", t->on_rq == TASK_DELAYED);
	while (t->on_rq == TASK_DELAYED)
		tick(m);
	dump_task(m, t);
	assert_ms("se.deadline", 0);
	assert_ms("se.request_left",
		  eevdf_entity(&t->fair)->relative ? (s64)eevdf_entity(&t->fair)->deadline : 0);
	assert_ms("se.vlag", eevdf_entity(&t->fair)->vlag);
	machine_free(m);
}

static void eevdf_s_queue_says_where_its_entities_are(void **state)
{
	const struct sched_cpu_desc one = { 0 };
	struct machine *m = machine_new_on(1, 1000, &one, "eevdf");
	struct task *t[3];
	s64 left, right, v = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn_nice(m, "abc" + i, 0);
	for (unsigned n = 0; n < 10; n++)
		tick(m);
	sched_dump_cpu(m->s, 0, text, sizeof(text));
	left = right = (s64)t[0]->fair.vruntime;
	for (unsigned i = 0; i < 3; i++) {
		s64 at = (s64)t[i]->fair.vruntime;

		left = at < left ? at : left;
		right = at > right ? at : right;
		v += at;
	}
	assert_true(left < right);
	assert_cpu_ms("left_vruntime", left);
	assert_cpu_ms("right_vruntime", right);
	assert_cpu_ms("spread", right - left);
	/* Of equal weights the average is the plain one; it is rounded down. */
	assert_cpu_ms("avg_vruntime", v >= 0 ? v / 3 : -((-v + 2) / 3));
	assert_cpu_ms("zero_vruntime", (s64)eevdf_queue(&m->s->rq[0].fair)->v0);
	machine_free(m);
}

static void the_bores_add_bursts(void **state)
{
	static const struct {
		const char *policy, *past, *worst, *score;
	} bores[] = {
		{ "bore", "se.prev_burst_penalty", "se.burst_penalty", "se.burst_score" },
		{ "bore-cfs", "se.prev_burst_time", "se.max_burst_time", "se.penalty_score" },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bores); i++) {
		struct task *t;
		struct machine *m = machine_with_a_past(bores[i].policy, &t);
		struct burst *b = burst_entity(&t->fair);

		for (unsigned n = 0; n < 300; n++)
			tick(m);
		b->past = 77; /* whatever it is */
		dump_task(m, t);
		assert_int_equal(b->time, 300 * MS + 123456);
		assert_number("se.burst_time", 300 * MS + 123456);
		assert_number(bores[i].past, 77);
		assert_true(b->worst && b->score);
		assert_number(bores[i].worst, (s64)b->worst);
		assert_number(bores[i].score, b->score);
		/* It was charged to the end of this burst, its longest. */
		if (i == 0)
			assert_number("se.curr_burst_penalty", (s64)b->worst);
		machine_free(m);
	}
}

static void assert_head(const char *format, const struct rq *rq)
{
	char head[64];

	snprintf(head, sizeof(head), format, rq->cpu);
	if (!strstr(text, head))
		fail_msg("no \"%s\" in\n%s", head, text);
}

/* Two CPUs with tasks of all nice values, an idle one and a real-time one, which runs on *@rq. */
static struct machine *busy_machine(struct rq **rq)
{
	struct machine *m = machine_new(2, 1000);

	set_tunable(m, "sched_schedstats", "1");
	for (unsigned i = 0; i < 4; i++)
		spawn_nice(m, "fair", 5 - (int)i);
	spawn(m, "idle", SCHED_IDLE, 0);
	spawn(m, "fifo", SCHED_FIFO, 7);
	for (unsigned n = 0; n < 20; n++)
		tick(m);
	*rq = &m->s->rq[running(m, 0)->policy == SCHED_FIFO ? 0 : 1];
	sched_dump_cpu(m->s, (*rq)->cpu, text, sizeof(text));
	return m;
}

static void a_cpu_s_text_begins_with_the_runqueue(void **state)
{
	struct rq *rq;
	struct machine *m = busy_machine(&rq);

	(void)state;
	assert_head("cpu#%u\n", rq);
	assert_cpu_number("nr_running", rq->nr_running);
	assert_cpu_number("nr_switches", rq->nr_switches);
	assert_cpu_number("nr_uninterruptible", 0);
	assert_cpu_number("next_balance", rq->next_balance);
	assert_cpu_number("curr->pid", (u64)rq->curr->pid);
	assert_cpu_ms("clock", (s64)rq->clock);
	assert_cpu_ms("avg_idle", (s64)rq->avg_idle);
	assert_cpu_ms("max_idle_balance_cost", (s64)rq->max_idle_balance_cost);
	assert_cpu_number("run_ns", rq->run_ns);
	machine_free(m);
}

static void each_class_has_a_part(void **state)
{
	struct rq *rq;
	struct machine *m = busy_machine(&rq);
	const struct fair_queue *q = &rq->fair;

	(void)state;
	assert_head("\ncfs_rq[%u]:/\n", rq);
	assert_true(q->nr_running > 0 && q->avg.load_avg > 0);
	assert_cpu_number("h_nr_running", q->tasks.nr);
	assert_cpu_number("h_nr_delayed", 0);
	assert_cpu_number("idle_nr_running", q->nr_idle);
	assert_cpu_number("idle_h_nr_running", q->tasks.nr_idle);
	assert_cpu_number("load", q->load.weight);
	assert_cpu_number("load_avg", q->avg.load_avg);
	assert_cpu_number("runnable_avg", q->avg.runnable_avg);
	assert_cpu_number("util_avg", q->avg.util_avg);
	assert_cpu_number("util_est_enqueued", q->avg.util_est_enqueued);
	assert_head("\nrt_rq[%u]:\n", rq);
	assert_cpu_number("rt_nr_running", 1);
	assert_cpu_number("rt_nr_migratory", 1);
	assert_cpu_number("rt_throttled", 0);
	assert_true(rt_of(rq)->used_ns > 0);
	assert_cpu_ms("rt_time", (s64)rt_of(rq)->used_ns);
	assert_cpu_ms("rt_runtime", 950 * MS);
	machine_free(m);
}

static void bandwidth_of_deadline_tasks_is_a_fraction_of_2_20(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct rq *rq = &m->s->rq[0];
	struct task *t = spawn_nice(m, "t", 0);
	struct sched_attr_req edf = { .policy = SCHED_DEADLINE,
				      .runtime_ns = 2 * MS,
				      .deadline_ns = 10 * MS,
				      .period_ns = 10 * MS };

	(void)state;
	assert_int_equal(sched_set_attr(m->s, t, &edf), 0);
	settle(m);
	sched_dump_cpu(m->s, 0, text, sizeof(text));
	assert_head("\ndl_rq[%u]:\n", rq);
	assert_cpu_number("dl_nr_running", 1);
	assert_cpu_number("dl_nr_migratory", 0); /* there is one CPU */
	assert_cpu_number("dl_nr_throttled", 0);
	assert_cpu_number("dl_bw->bw", 950000 * (1ull << 20) / 1000000);
	assert_cpu_number("dl_bw->total_bw", 2 * (1ull << 20) / 10);
	sched_dump_task(m->s, t, text, sizeof(text));
	assert_number("dl.runtime", 2 * MS);
	assert_number("dl.deadline", (s64)dl_part(t)->deadline);
	/* It has used up its budget, and waits for the next period. */
	advance(m, 2 * MS);
	tick(m);
	sched_dump_cpu(m->s, 0, text, sizeof(text));
	assert_cpu_number("dl_nr_running", 1);
	assert_cpu_number("dl_nr_throttled", 1);
	machine_free(m);
}

/* Runs, waits, and one that is about to sleep. */
static void each_task_of_a_cpu_has_a_row(void **state)
{
	const struct sched_cpu_desc one = { 0 };
	struct machine *m = machine_new_on(1, 1000, &one, "cfs");
	struct task *t[2] = { spawn_nice(m, "first", 0), spawn_nice(m, "second", 3) };
	const struct task *r;
	char row[256], wait[32], sum[32], v[32];

	(void)state;
	for (unsigned n = 0; n < 9; n++)
		tick(m);
	sched_dump_cpu(m->s, 0, text, sizeof(text));
	assert_non_null(strstr(text, "\nrunnable tasks:\n S            task   PID"));
	r = running(m, 0);
	for (unsigned i = 0; i < 2; i++) {
		strcpy(wait, ms((s64)t[i]->wait_sum));
		strcpy(sum, ms((s64)t[i]->fair.sum_exec));
		strcpy(v, ms((s64)t[i]->fair.vruntime));
		snprintf(row, sizeof(row), "\n %s %15s %5d  %15s  %9lu  %4d  %s  %s\n",
			 t[i] == r ? ">R" : " R", t[i]->comm, t[i]->pid, v,
			 t[i]->nr_voluntary + t[i]->nr_involuntary, t[i]->prio, wait, sum);
		if (!strstr(text, row))
			fail_msg("no row \"%s\" in\n%s", row, text);
	}
	r = t[0] == r ? t[1] : t[0];
	WRITE_ONCE(((struct task *)(uintptr_t)r)->state, TASK_INTERRUPTIBLE);
	sched_dump_cpu(m->s, 0, text, sizeof(text));
	snprintf(row, sizeof(row), "\n  S %15s ", r->comm);
	assert_non_null(strstr(text, row));
	machine_free(m);
}

/* By its key: its virtual time, if it is eligible (E) or not (N), its deadline and its slice. */
static void a_row_has_the_key_of_eevdf(void **state)
{
	const struct sched_cpu_desc one = { 0 };
	struct machine *m = machine_new_on(1, 1000, &one, "eevdf");
	struct task *t[3];
	s64 sum = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn_nice(m, "t", 0);
	for (unsigned n = 0; n < 10; n++)
		tick(m);
	sched_dump_cpu(m->s, 0, text, sizeof(text));
	assert_non_null(strstr(text, "vruntime  eligible         deadline            slice"));
	for (unsigned i = 0; i < 3; i++)
		sum += (s64)t[i]->fair.vruntime;
	for (unsigned i = 0; i < 3; i++) {
		const struct eevdf_entity *e = eevdf_entity(&t[i]->fair);
		char row[256], v[32], deadline[32];

		strcpy(v, ms((s64)t[i]->fair.vruntime));
		strcpy(deadline, ms((s64)e->deadline));
		snprintf(row, sizeof(row), " %15s %5d  %15s  %8s  %15s  %15s  %9lu  ", "t",
			 t[i]->pid, v, 3 * (s64)t[i]->fair.vruntime <= sum ? "E" : "N", deadline,
			 ms((s64)e->slice), t[i]->nr_voluntary + t[i]->nr_involuntary);
		if (!strstr(text, row))
			fail_msg("no row \"%s\" in\n%s", row, text);
	}
	machine_free(m);
}

static void schedstat_has_nine_numbers_a_cpu(void **state)
{
	struct task *t;
	struct machine *m = machine_with_a_past("cfs", &t);
	const struct rq *rq = &m->s->rq[0];
	char line[256];

	(void)state;
	sched_yield(m->s, 0);
	switch_cpu(m, 0, false);
	sched_dump_schedstat(m->s, text, sizeof(text));
	snprintf(line, sizeof(line),
		 "version 15\ntimestamp %lu\ncpu0 1 0 %lu %lu %lu %lu %lu %lu %lu\n",
		 (unsigned long)(m->now / MS), rq->sched_count, rq->sched_goidle, rq->ttwu_count,
		 rq->ttwu_local, rq->run_ns, rq->wait_ns, rq->slices);
	assert_string_equal(text, line);
	assert_int_equal(rq->ttwu_count, 2);
	assert_int_equal(rq->ttwu_local, 2);
	assert_int_equal(rq->sched_goidle, 2);
	assert_int_equal(rq->idle_ns, 8 * MS);
	machine_free(m);
}

/* The numbers of a domain in Linux's order: eight for each kind of pass, then 12. */
static void schedstat_has_36_numbers_a_domain(void **state)
{
	struct machine *m = machine_new(40, 1000);
	struct domain *sd = m->s->rq[0].domains;
	u64 nr = 1;
	char line[512], *at = line;

	(void)state;
	at += sprintf(at, "\ndomain0 ff,ffffffff");
	for (unsigned type = 0; type < NR_IDLE_TYPES; type++) {
		sd->stat[type] = (struct balance_stat){
			.count = nr,
			.balanced = nr + 1,
			.failed = nr + 2,
			.imbalance = nr + 3,
			.gained = nr + 4,
			.hot_gained = nr + 5,
			.nobusyq = nr + 6,
			.nobusyg = nr + 7,
		};
		for (unsigned i = 0; i < 8; i++)
			at += sprintf(at, " %lu", nr++);
	}
	sd->alb_count = 25;
	sd->alb_failed = 26;
	sd->ttwu_wake_remote = 27;
	sd->ttwu_move_affine = 28;
	sprintf(at, " 25 26 0 0 0 0 0 0 0 27 28 0\n");
	sched_dump_schedstat(m->s, text, sizeof(text));
	if (!strstr(text, line))
		fail_msg("no line \"%s\" in\n%s", line, text);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_s_file_says_what_it_did),
		cmocka_unit_test(eevdf_adds_the_request_and_its_deadline),
		cmocka_unit_test(eevdf_s_queue_says_where_its_entities_are),
		cmocka_unit_test(the_bores_add_bursts),
		cmocka_unit_test(a_cpu_s_text_begins_with_the_runqueue),
		cmocka_unit_test(each_class_has_a_part),
		cmocka_unit_test(bandwidth_of_deadline_tasks_is_a_fraction_of_2_20),
		cmocka_unit_test(each_task_of_a_cpu_has_a_row),
		cmocka_unit_test(a_row_has_the_key_of_eevdf),
		cmocka_unit_test(schedstat_has_nine_numbers_a_cpu),
		cmocka_unit_test(schedstat_has_36_numbers_a_domain),
	};

	return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
