/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF as a whole against the golden traces of docs/sources.md: which task runs when, and the
 * resulting shares.
 */
#include <stdio.h>
#include <string.h>

#include "eevdf.h"

/* --- whole traces ----------------------------------------------------------- */

struct step {
	unsigned at;   /* ms */
	bool switched; /* the tick asked for a switch */
	s64 now;
	struct {
		s64 v, d;
	} task[3];
	const char *eligible;
	char next;
};

static void check_step(struct machine *m, struct task **tasks, const struct step *s)
{
	assert_int_equal(running(m, 0)->comm[0], s->next);
	assert_int_equal(v_now(m), s->now);
	for (unsigned i = 0; i < 3; i++) {
		bool eligible = strchr(s->eligible, tasks[i]->comm[0]);

		assert_int_equal(v_of(tasks[i]), s->task[i].v);
		assert_int_equal(d_of(tasks[i]), s->task[i].d);
		assert_int_equal(eevdf_eligible(queue(m), &tasks[i]->fair), eligible);
	}
}

/* As tick(); returns whether a switch was asked for. */
static bool watched_tick(struct machine *m)
{
	bool asked;

	advance(m, m->s->tick_ns);
	sched_tick(m->s, 0);
	asked = m->kicked[0];
	settle(m);
	return asked;
}

static const struct step golden[] = {
	{ 1, 0, 429710, { { 1000000, 1500000 }, { 0, 1500000 }, { 0, 4585074 } }, "BC", 'A' },
	{ 2, 1, 859420, { { 2000000, 5000000 }, { 0, 1500000 }, { 0, 4585074 } }, "BC", 'B' },
	{ 3,
	  0,
	  1289131,
	  { { 2000000, 5000000 }, { 1000000, 1500000 }, { 0, 4585074 } },
	  "BC",
	  'B' },
	{ 4, 1, 1718841, { { 2000000, 5000000 }, { 2000000, 5000000 }, { 0, 4585074 } }, "C", 'C' },
	{ 5,
	  0,
	  2148552,
	  { { 2000000, 5000000 }, { 2000000, 5000000 }, { 3056716, 4585074 } },
	  "AB",
	  'C' },
	{ 6,
	  1,
	  2578262,
	  { { 2000000, 5000000 }, { 2000000, 5000000 }, { 6113432, 15283581 } },
	  "AB",
	  'A' },
	{ 7,
	  0,
	  3007973,
	  { { 3000000, 5000000 }, { 2000000, 5000000 }, { 6113432, 15283581 } },
	  "AB",
	  'A' },
	{ 8,
	  0,
	  3437683,
	  { { 4000000, 5000000 }, { 2000000, 5000000 }, { 6113432, 15283581 } },
	  "B",
	  'A' },
	{ 9,
	  1,
	  3867393,
	  { { 5000000, 8000000 }, { 2000000, 5000000 }, { 6113432, 15283581 } },
	  "B",
	  'B' },
	{ 12,
	  1,
	  5156525,
	  { { 5000000, 8000000 }, { 5000000, 8000000 }, { 6113432, 15283581 } },
	  "AB",
	  'A' },
	{ 15,
	  1,
	  6445656,
	  { { 8000000, 11000000 }, { 5000000, 8000000 }, { 6113432, 15283581 } },
	  "BC",
	  'B' },
	{ 18,
	  1,
	  7734787,
	  { { 8000000, 11000000 }, { 8000000, 11000000 }, { 6113432, 15283581 } },
	  "C",
	  'C' },
	{ 21,
	  0,
	  9023919,
	  { { 8000000, 11000000 }, { 8000000, 11000000 }, { 15283580, 15283581 } },
	  "AB",
	  'C' },
	/*
	 * C is 1 ns short of its deadline, because of three roundings down: it runs a fourth tick.
	 */
};

static void three_hogs_follow_the_golden_trace(void **state)
{
	static const struct hog hogs[] = { { "A", 0, 0 }, { "B", 0, 0 }, { "C", 5, 0 } };
	struct machine *m = eevdf_machine(1000);
	struct task *t[3];
	unsigned ms = 0;
	bool asked = false;

	(void)state;
	start_hogs(m, t, hogs, 3);
	assert_int_equal(running(m, 0)->comm[0], 'A');
	assert_int_equal(d_of(t[0]), 1500000);
	assert_int_equal(d_of(t[2]), 4585074);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		for (; ms < golden[i].at; ms++) {
			asked = watched_tick(m);
			sched_check(m->s);
		}
		assert_int_equal(asked, golden[i].switched);
		check_step(m, t, &golden[i]);
	}
	machine_free(m);
}

/* The tasks that run after each switch: "0S" for S at time 0, and so on. */
static void picks_of(struct machine *m, unsigned until_ms, char *out)
{
	out += sprintf(out, "0%c", running(m, 0)->comm[0]);
	for (unsigned ms = 1; ms <= until_ms; ms++)
		if (watched_tick(m))
			out += sprintf(out, " %u%c", ms, running(m, 0)->comm[0]);
}

static const struct hog mixed[] = { { "A", 0, 0 }, { "B", 0, 0 }, { "S", 0, MS } };

static void a_short_slice_among_long_ones_follows_the_golden_picks(void **state)
{
	struct machine *m = eevdf_machine(1000);
	struct task *t[3];
	char picks[200];

	(void)state;
	start_hogs(m, t, mixed, 3);
	assert_int_equal(d_of(t[2]), 500000);
	picks_of(m, 15, picks);
	assert_string_equal(picks, "0S 1A 3B 5S 6S 7A 10S 11B 14S 15S");
	machine_free(m);
}

static void check_shares(const struct hog *hogs, const double *percent)
{
	struct machine *m = eevdf_machine(1000);
	struct task *t[3];

	start_hogs(m, t, hogs, 3);
	for (unsigned ms = 0; ms < 20000; ms++)
		tick(m);
	for (unsigned i = 0; i < 3; i++)
		assert_float_equal((float)t[i]->fair.sum_exec / 2e8f, (float)percent[i], 0.0005f);
	machine_free(m);
}

static void shares_after_20_s_are_golden(void **state)
{
	static const struct hog hogs[] = { { "A", 0, 0 }, { "B", 0, 0 }, { "C", 5, 0 } };

	(void)state;
	check_shares(hogs, (const double[]){ 42.970, 42.960, 14.070 });
	check_shares(mixed, (const double[]){ 33.34, 33.325, 33.335 });
}

/*
 * A runs within its request, and C is nominated: C is next if it is eligible, and A if C is not.
 */
static void a_nominated_one_goes_before_a_request_that_lasts(void **state)
{
	(void)state;
	for (unsigned right_of_v = 0; right_of_v < 2; right_of_v++) {
		struct task *t[3], *next;
		struct machine *m = equal_hogs(t, 3);
		struct fair_queue *q = queue(m);
		struct entity *c = &t[2]->fair;

		queue_erase(q, c);
		eevdf_sums_sub(q, c);
		c->vruntime += right_of_v * MS;
		eevdf_sums_add(q, c);
		queue_insert(q, c);
		eevdf_entity(&t[0]->fair)->protected = true;
		eevdf_queue(q)->next = c;
		next = task_of(eevdf_best(q));
		if (next != t[right_of_v ? 0 : 2])
			fail_msg("C is nominated and %s, A is protected: %s is next, where %s is "
				 "right",
				 right_of_v ? "not eligible" : "eligible", next->comm,
				 right_of_v ? "A" : "C");
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_hogs_follow_the_golden_trace),
		cmocka_unit_test(a_short_slice_among_long_ones_follows_the_golden_picks),
		cmocka_unit_test(shares_after_20_s_are_golden),
		cmocka_unit_test(a_nominated_one_goes_before_a_request_that_lasts),
	};

	return cmocka_run_group_tests_name("eevdf", tests, NULL, NULL);
}
