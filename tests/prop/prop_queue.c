/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator's event queue against its definition: events leave in order of time, equal times in
 * the order in which they were set. The model searches all events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/prng.h"
#include "sim/engine/queue.h"

#define NR_EVENTS 300u
#define NR_OPS	  200000u
#define START	  1000000000ull

struct model {
	struct prng rng;
	struct event_queue queue;
	struct event event[NR_EVENTS];
	u64 when[NR_EVENTS], order[NR_EVENTS]; /* order 0: not queued */
	u64 now, nr_set, nr_popped;
};

/* A time from now to years ahead; most are near, and many are at the same moment. */
static u64 draw_time(struct model *m)
{
	u64 distance = prng_u64(&m->rng) >> (8 + prng_below(&m->rng, 56));

	return m->now + (prng_below(&m->rng, 4) ? distance : distance % 4);
}

static void set(struct model *m, unsigned i)
{
	m->when[i] = draw_time(m);
	m->order[i] = ++m->nr_set;
	queue_set(&m->queue, &m->event[i], m->when[i]);
}

static void cancel(struct model *m, unsigned i)
{
	m->order[i] = 0;
	queue_cancel(&m->queue, &m->event[i]);
}

static unsigned first_of(const struct model *m)
{
	unsigned first = NR_EVENTS;

	for (unsigned i = 0; i < NR_EVENTS; i++)
		if (m->order[i] &&
		    (first == NR_EVENTS || m->when[i] < m->when[first] ||
		     (m->when[i] == m->when[first] && m->order[i] < m->order[first])))
			first = i;
	return first;
}

static void pop(struct model *m)
{
	u64 limit = draw_time(m);
	unsigned first = first_of(m);
	struct event *ev = queue_pop(&m->queue, limit);

	if (first == NR_EVENTS || m->when[first] > limit) {
		assert_null(ev);
		m->now = m->queue.time = limit;
		return;
	}
	assert_ptr_equal(ev, &m->event[first]);
	assert_false(event_queued(ev));
	m->now = m->when[first];
	assert_int_equal(m->queue.time, m->now);
	m->order[first] = 0;
	m->nr_popped++;
}

static void events_leave_in_order(void **state)
{
	static struct model m;

	(void)state;
	m.now = START;
	prng_seed(&m.rng, 1);
	queue_init(&m.queue, START);
	for (unsigned n = 0; n < NR_OPS; n++) {
		unsigned i = prng_below(&m.rng, NR_EVENTS), what = prng_below(&m.rng, 16);

		if (what < 8)
			set(&m, i);
		else if (what < 9)
			cancel(&m, i);
		else
			pop(&m);
		assert_int_equal(event_queued(&m.event[i]), m.order[i] != 0);
	}
	assert_true(m.nr_popped > NR_OPS / 10);
	queue_free(&m.queue);
}

/* An event that is set again and again does not use more and more memory. */
static void what_is_moved_takes_no_memory(void **state)
{
	struct event_queue queue;
	struct event ev = { .kind = 0 };

	(void)state;
	queue_init(&queue, START);
	for (u64 n = 0; n < NR_OPS; n++)
		queue_set(&queue, &ev, START + n * n);
	assert_in_range(queue.nr, 1, 128);
	assert_in_range(queue.size, 1, 256);
	assert_ptr_equal(queue_pop(&queue, UINT64_MAX), &ev);
	assert_null(queue_pop(&queue, UINT64_MAX));
	queue_free(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_leave_in_order),
		cmocka_unit_test(what_is_moved_takes_no_memory),
	};

	return cmocka_run_group_tests_name("event queue", tests, NULL, NULL);
}
