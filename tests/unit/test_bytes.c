/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of decisions are the same bytes whoever hosts the scheduler. This program plays
 *	hogs:n=2 hogs:n=1,nice=5 bursts:run=1300us,sleep=7100us
 * of `schedsim --cpus 1 --time 300ms` on the unit host, with a loop of its own for the engine's
 * events, and checks that each record comes with all its rows.
 * With DIR in RECORD_BYTES it writes DIR/POLICY.bytes: of each event its time and its bytes, as
 * FILE.bin of `schedsim --decisions` has them (docs/decisions.md).
 * The tests of the simulator compare the two (test_bytes.py).
 */
#include <stdio.h>
#include <stdlib.h>

#include "host.h"

#define RUN_NS	 (1300 * NS_PER_US)
#define SLEEP_NS (7100 * NS_PER_US)
#define LAST_NS	 (NS_PER_SEC + 300 * MS)

/* Where the records go, and how many there were. */
static FILE *out;
static unsigned nr_decisions, nr_rows, nr_rows_told;

/* A task that runs, sleeps, over and over. */
struct burst {
	struct task *t;
	u64 left;  /* to run */
	u64 until; /* it sleeps; 0: it does not */
};

static void note(struct machine *m, const struct sched_event *event)
{
	u64 time = max(m->now - NS_PER_SEC, (u64)1);

	if (event->type < EVENT_ID_sched_decision_candidate)
		return;
	if (event->type == EVENT_ID_sched_decision_candidate) {
		nr_rows++;
	} else {
		nr_decisions++;
		if (event->type <= EVENT_ID_sched_decision_leave)
			nr_rows_told += ((const struct event_sched_decision_pick *)event)->nr_rows;
	}
	if (out) {
		fwrite(&time, sizeof(time), 1, out);
		fwrite(event, event->size, 1, out);
	}
}

static struct task *start(struct machine *m, const char *comm, int nice)
{
	struct task *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	sched_task_init(m->s, t, m->next_pid++, comm);
	assert_int_equal(
		sched_set_attr(m->s, t,
			       &(struct sched_attr_req){ .policy = SCHED_NORMAL, .nice = nice }),
		0);
	sched_task_start(m->s, t, 0);
	return t;
}

/* Switches, and lets the burst begin its next sleep when its work is done. */
static void go_on(struct machine *m, struct burst *b)
{
	settle(m);
	while (running(m, 0) == b->t && !b->left) {
		b->left = RUN_NS;
		b->until = m->now + SLEEP_NS;
		block(m, 0, TASK_INTERRUPTIBLE);
	}
}

/* The next thing that happens at or after now, and when. */
static u64 next_event(const struct machine *m, const struct burst *b, u64 tick)
{
	u64 next = tick;

	if (m->timer[0])
		next = min(next, max(m->timer[0], m->now));
	if (b->until)
		next = min(next, b->until);
	else if (sched_current(m->s, 0) == b->t)
		next = min(next, m->now + b->left);
	return next;
}

static void play(struct machine *m, struct burst *b)
{
	u64 tick = m->now + m->s->tick_ns, next;

	while ((next = next_event(m, b, tick)) < LAST_NS) {
		if (running(m, 0) == b->t)
			b->left -= next - m->now;
		m->now = next;
		if (m->timer[0] && next >= m->timer[0]) {
			m->timer[0] = 0;
			sched_timer(m->s, 0);
		} else if (b->until == next) {
			b->until = 0;
			sched_wake(m->s, b->t, TASK_NORMAL, 0, 0);
		} else if (tick == next) {
			tick += m->s->tick_ns;
			sched_tick(m->s, 0);
		}
		go_on(m, b);
	}
}

static void record_under(const char *policy)
{
	static const struct sched_cpu_desc cpu;
	struct machine *m = machine_new_on(1, 250, &cpu, policy);
	const char *directory = getenv("RECORD_BYTES");
	struct burst b = { .left = RUN_NS };
	struct task *t[4];
	char path[256];

	if (directory) {
		snprintf(path, sizeof(path), "%s/%s.bytes", directory, policy);
		out = fopen(path, "w");
		assert_non_null(out);
	}
	nr_decisions = nr_rows = nr_rows_told = 0;
	m->on_trace = note;
	sched_trace_set(m->s, DECISION_EVENTS);
	t[0] = start(m, "hog", 0);
	t[1] = start(m, "hog", 0);
	t[2] = start(m, "hog", 5);
	t[3] = b.t = start(m, "burst", 0);
	go_on(m, &b);
	play(m, &b);
	assert_true(nr_decisions > 300);
	assert_int_equal(nr_rows, nr_rows_told);
	if (out)
		assert_int_equal(fclose(out), 0);
	out = NULL;
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		free(t[i]);
	machine_free(m);
}

static void every_record_comes_with_its_rows(void **state)
{
	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++)
		record_under(sched_fair_name(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_comes_with_its_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
