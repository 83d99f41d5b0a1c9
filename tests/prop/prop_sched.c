/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator's exploration (sim/explore/explore.h) with sanitizers: random operations on random
 * machines, and all short sequences, under each fair policy. build/schedsim does the same twenty
 * times as fast. A failure here is replayed there, or under gdb with
 *
 *     build/unit/prop_sched --sched NAME --replay "..."
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sim/explore/explore.h"

static struct explore_options option = { .seed = 1, .ops = 60000 };

static void random_operations_keep_every_invariant(void **state)
{
	option.policy = *state;
	assert_int_equal(explore_random(&option), 0);
}

static void loaded_schedulers_keep_every_invariant(void **state)
{
	struct explore_options loads = option;

	loads.policy = *state;
	loads.ext = true;
	assert_int_equal(explore_random(&loads), 0);
}

static void short_sequences_keep_every_invariant(void **state)
{
	assert_int_equal(explore_exhaustive(*state, 4), 0);
}

static void what_was_found_once_stays_right(void **state)
{
	static const struct {
		const char *policy, *story, *text;
	} replays[] = {
#define REPLAY(policy, story, text) { policy, story, text },
#include "replays.def"
#undef REPLAY
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(replays); i++)
		if (explore_replay(replays[i].policy, replays[i].text, false))
			fail_msg("%s", replays[i].story);
}

/* --- shrinking -------------------------------------------------------------------------------- */

static bool at_most_one_sleeps(const struct world *w)
{
	unsigned nr_asleep = 0;

	for (unsigned i = 0; i < w->nr_tasks; i++)
		nr_asleep += w->subject[i].t && w->subject[i].state == ASLEEP;
	return nr_asleep <= 1;
}

static void a_failure_shrinks_to_what_it_takes(void **state)
{
	struct script script = { .policy = sched_fair_name(0), .holds = at_most_one_sleeps }, copy;
	struct verdict verdict;
	char *text = NULL;
	size_t size;
	FILE *out;

	(void)state;
	script_draw(&script, 2, 500);
	verdict = script_run(&script);
	assert_non_null(strstr(verdict.what, "the caller's condition"));
	script_shrink(&script, verdict.what);
	/* Two tasks are created, two sleep. */
	assert_int_equal(script.nr_ops, 4);
	assert_int_equal(script.shape.nr_cpus, 1);

	out = open_memstream(&text, &size);
	script_print(&script, out);
	fclose(out);
	copy = script;
	assert_true(script_parse(&copy, text));
	assert_string_equal(script_run(&copy).what, verdict.what);
	copy.nr_ops--;
	assert_string_equal(script_run(&copy).what, "");
	free(copy.ops);
	free(script.ops);
	free(text);
}

static void what_is_no_script_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"machine",
		"machine.250.2.1.2.2",
		"machine.250.2.1.2.2.3x",
		"fork",
		"machine.250.2.1.2.2.3 forks",
		"machine.250.2.1.2.2.3 fork.",
		"machine.250.2.1.2.2.3 fork.1.2.3.4",
		"machine.250.2.1.2.2.3 fork.256",
		"machine.250.2.1.2.2.3 fork.-1",
		"machine.250.2.1.2.2.3 fork.0.0.4294967296",
		"machine.250.2.1.2.2.3 fork~~",
		"machine.250.2.1.2.2.3 fork~^1",
		"machine.250.2.1.2.2.3 fork^",
		"machine.250.2.1.2.2.3 fork^256",
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		struct script script = { .policy = NULL };

		assert_false(script_parse(&script, texts[i]));
		free(script.ops);
	}
}

/* --- the runner ------------------------------------------------------------------------------- */

static void add_test(struct CMUnitTest *test, const char *what, CMUnitTestFunction run,
		     const char *policy)
{
	char *name = NULL;
	size_t size;
	FILE *out = open_memstream(&name, &size);

	fprintf(out, "%s%s%s", what, policy ? "_under_" : "", policy ? policy : "");
	fclose(out);
	*test = (struct CMUnitTest){ name, run, NULL, NULL, (void *)(uintptr_t)policy };
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[64];
	unsigned nr = 0;

	if (explore_wanted(argc, argv))
		return explore_main(argc, argv);
	add_test(&tests[nr++], "what_is_no_script_is_refused", what_is_no_script_is_refused, NULL);
	add_test(&tests[nr++], "a_failure_shrinks_to_what_it_takes",
		 a_failure_shrinks_to_what_it_takes, NULL);
	add_test(&tests[nr++], "what_was_found_once_stays_right", what_was_found_once_stays_right,
		 NULL);
	add_test(&tests[nr++], "loaded_schedulers_keep_every_invariant",
		 loaded_schedulers_keep_every_invariant, "eevdf");
	for (unsigned i = 0; sched_fair_name(i) && nr + 2 <= ARRAY_SIZE(tests); i++) {
		const char *policy = sched_fair_name(i);

		add_test(&tests[nr++], "short_sequences_keep_every_invariant",
			 short_sequences_keep_every_invariant, policy);
		add_test(&tests[nr++], "random_operations_keep_every_invariant",
			 random_operations_keep_every_invariant, policy);
	}
	return _cmocka_run_group_tests("prop_sched", tests, nr, NULL, NULL);
}
