/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tunables and features: Linux's names, defaults, scaling and errno.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "lib/errno.h"

static void assert_reads(struct machine *m, const char *name, const char *expected)
{
	char text[64];

	assert_int_equal(sched_tunable_read(m->s, name, text, sizeof(text)), strlen(expected));
	assert_string_equal(text, expected);
}

static int write_text(struct machine *m, const char *name, const char *text)
{
	return sched_tunable_write(m->s, name, text, strlen(text));
}

static void defaults_scale_with_the_cpus(void **state)
{
	static const struct {
		unsigned cpus;
		const char *latency, *granularity, *wakeup;
	} golden[] = {
		{ 1, "6000000\n", "750000\n", "1000000\n" },
		{ 2, "12000000\n", "1500000\n", "2000000\n" },
		{ 3, "12000000\n", "1500000\n", "2000000\n" },
		{ 4, "18000000\n", "2250000\n", "3000000\n" },
		{ 7, "18000000\n", "2250000\n", "3000000\n" },
		{ 8, "24000000\n", "3000000\n", "4000000\n" },
		{ 64, "24000000\n", "3000000\n", "4000000\n" },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = machine_new(golden[i].cpus, 250);

		assert_reads(m, "latency_ns", golden[i].latency);
		assert_reads(m, "min_granularity_ns", golden[i].granularity);
		assert_reads(m, "wakeup_granularity_ns", golden[i].wakeup);
		assert_reads(m, "idle_min_granularity_ns", "750000\n");
		assert_reads(m, "migration_cost_ns", "500000\n");
		assert_int_equal(m->s->nr_latency, 8);
		machine_free(m);
	}
}

static void other_defaults_are_linux_s(void **state)
{
	struct machine *m = machine_new(4, 250);

	(void)state;
	assert_reads(m, "nr_migrate", "32\n");
	assert_reads(m, "tunable_scaling", "1\n");
	assert_reads(m, "sched_child_runs_first", "0\n");
	assert_reads(m, "sched_rt_period_us", "1000000\n");
	assert_reads(m, "sched_rt_runtime_us", "950000\n");
	assert_reads(m, "sched_rr_timeslice_ms", "100\n");
	assert_reads(m, "sched_schedstats", "0\n");
	assert_int_equal(sched_tunable_read(m->s, "none", NULL, 0), -ENOENT);
	assert_int_equal(write_text(m, "none", "1"), -ENOENT);
	machine_free(m);
}

static void debugfs_numbers_are_any_base_modulo_2_32(void **state)
{
	struct machine *m = machine_new(1, 250);

	(void)state;
	assert_int_equal(write_text(m, "latency_ns", "0x10\n"), 0);
	assert_reads(m, "latency_ns", "16\n");
	assert_int_equal(write_text(m, "latency_ns", "010"), 0);
	assert_reads(m, "latency_ns", "8\n");
	assert_int_equal(write_text(m, "latency_ns", "4294967296"), 0);
	assert_reads(m, "latency_ns", "0\n");
	assert_int_equal(write_text(m, "latency_ns", "5"), 0);
	assert_int_equal(write_text(m, "latency_ns", "-1"), -EINVAL);
	assert_int_equal(write_text(m, "latency_ns", "abc"), -EINVAL);
	assert_int_equal(write_text(m, "latency_ns", ""), -EINVAL);
	assert_int_equal(write_text(m, "latency_ns", "\n"), -EINVAL);
	assert_int_equal(write_text(m, "latency_ns", "1 2"), -EINVAL);
	assert_reads(m, "latency_ns", "5\n");
	machine_free(m);
}

static void sysctls_accept_what_linux_accepts(void **state)
{
	static const struct {
		const char *name, *text;
		int result;
		const char *then;
	} golden[] = {
		{ "sched_rt_runtime_us", "-1", 0, "-1\n" },
		{ "sched_rt_runtime_us", "-2", -EINVAL, "-1\n" },
		{ "sched_rt_runtime_us", "1000001", -EINVAL, "-1\n" },
		{ "sched_rt_runtime_us", "0", 0, "0\n" },
		{ "sched_rt_runtime_us", "950000", 0, "950000\n" },
		{ "sched_rt_period_us", "0", -EINVAL, "1000000\n" },
		{ "sched_rt_period_us", "-1", -EINVAL, "1000000\n" },
		{ "sched_rt_period_us", "1", -EINVAL, "1000000\n" },
		{ "sched_rt_period_us", "2147483648", -EINVAL, "1000000\n" },
		{ "sched_rt_period_us", "2000000", 0, "2000000\n" },
		{ "sched_rr_timeslice_ms", "10", 0, "10\n" },
		{ "sched_rr_timeslice_ms", "0", 0, "100\n" },
		{ "sched_rr_timeslice_ms", "-1", 0, "100\n" },
		{ "sched_schedstats", "1", 0, "1\n" },
		{ "sched_schedstats", "2", -EINVAL, "1\n" },
		{ "sched_child_runs_first", "-7", 0, "-7\n" },
		{ "sched_child_runs_first", "x", -EINVAL, "-7\n" },
	};
	struct machine *m = machine_new(1, 250);

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		assert_int_equal(write_text(m, golden[i].name, golden[i].text), golden[i].result);
		assert_reads(m, golden[i].name, golden[i].then);
	}
	machine_free(m);
}

static void scaling_shows_at_the_next_change_of_cpus(void **state)
{
	struct machine *m = machine_new(4, 250);

	(void)state;
	assert_int_equal(write_text(m, "tunable_scaling", "3"), -EINVAL);
	assert_int_equal(write_text(m, "min_granularity_ns", "4500000"), 0);
	assert_int_equal(write_text(m, "tunable_scaling", "2"), 0);
	assert_reads(m, "latency_ns", "18000000\n");
	assert_int_equal(m->s->nr_latency, 4);
	/* 18 ms were taken as the value for four CPUs. */
	tunables_rescale(m->s);
	assert_reads(m, "latency_ns", "18000000\n");
	assert_int_equal(m->s->normalised.latency_ns, 4500000);
	machine_free(m);
}

static void every_tunable_can_be_listed_read_and_written_back(void **state)
{
	struct machine *m = machine_new(1, 250);
	const struct sched_tunable_info *info;
	unsigned n = 0;

	(void)state;
	for_each_tunable(info)
	{
		char text[64];
		int len = sched_tunable_read(m->s, info->name, text, sizeof(text));

		assert_true(len > 1 && text[len - 1] == '\n');
		assert_int_equal(sched_tunable_write(m->s, info->name, text, (size_t)len), 0);
		assert_true(!strcmp(info->where, "debug") || !strcmp(info->where, "sysctl") ||
			    !strcmp(info->where, "qos") || !strcmp(info->where, "freq"));
		assert_true(strlen(info->doc) > 10);
		n++;
	}
	assert_true(n >= 10);
	machine_free(m);
}

static void features_read_and_write_as_linux_does(void **state)
{
	static const char *const bad[] = {
		"",    "\n",	  "start_debit", "NOPE", "START_DEBIT LB_MIN",
		"NO_", "NO_NOPE", "START_DEBI",	 "N",	 "NO"
	};
	struct machine *m = machine_new(1, 250);
	char text[1024];

	(void)state;
	sched_features_read(m->s, text, sizeof(text));
	assert_memory_equal(text, "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY LAST_BUDDY ", 58);
	assert_non_null(strstr(text, " BASE_SLICE "));
	assert_string_equal(text + strlen(text) - 2, " \n");
	assert_int_equal(sched_features_write(m->s, "NO_START_DEBIT\n", 15), 0);
	sched_features_read(m->s, text, sizeof(text));
	assert_non_null(strstr(text, " NO_START_DEBIT "));
	assert_int_equal(sched_features_write(m->s, "START_DEBIT", 11), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		size_t len = strlen(bad[i]);
		char *exact = malloc(len + !len); /* no byte behind the text may be read */

		memcpy(exact, bad[i], len);
		assert_int_equal(sched_features_write(m->s, exact, len), -EINVAL);
		free(exact);
	}
	machine_free(m);
}

static void a_name_is_listed_once(void **state)
{
	const struct sched_tunable_info *a, *b;
	unsigned nr = 0, pairs = 0;

	(void)state;
	for_each_tunable(a)
	{
		nr++;
		for_each_tunable(b) pairs += !strcmp(a->name, b->name);
	}
	assert_true(nr > 40);
	assert_int_equal(pairs, nr);
}

/* 0 is a number like others, where it is one. */
static void the_least_scaling_is_none(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	set_tunable(m, "tunable_scaling", "2");
	set_tunable(m, "tunable_scaling", "0");
	assert_reads(m, "tunable_scaling", "0\n");
	assert_int_equal(sched_tunable_write(m->s, "tunable_scaling", "3", 1), -EINVAL);
	assert_int_equal(sched_tunable_write(m->s, "tunable_scaling", "-1", 2), -EINVAL);
	assert_reads(m, "tunable_scaling", "0\n");
	machine_free(m);
}

/*
 * The number of tasks that fit the latency, counted when its scaling is written: the least number
 * of granularities that are not less.
 */
static void the_number_of_tasks_in_a_latency_is_rounded_up(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	set_tunable(m, "min_granularity_ns", "1000000");
	for (u64 latency = 1000000; latency < 6000000; latency += 500000)
		for (s64 more = -1; more < 2; more++) {
			char text[24];
			u64 ns = latency + (u64)more, nr = 0;

			if (ns < 1000000)
				continue;
			while (nr * 1000000 < ns)
				nr++;
			snprintf(text, sizeof(text), "%lu", (unsigned long)ns);
			set_tunable(m, "latency_ns", text);
			set_tunable(m, "tunable_scaling", "0");
			assert_int_equal(m->s->nr_latency, nr);
		}
	machine_free(m);
}

/* Only "NO_" turns a feature off: whatever else stands before a name makes it another name. */
static void a_feature_has_one_prefix(void **state)
{
	static const char *const bad[] = {
		"NOxSTART_DEBIT", "NO START_DEBIT",    "NO_",		"NO", "",
		"no_START_DEBIT", "NO_NO_START_DEBIT", "xO_START_DEBIT"
	};
	struct machine *m = machine_new(1, 1000);
	u64 before = m->s->features;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(sched_features_write(m->s, bad[i], strlen(bad[i])), -EINVAL);
		assert_int_equal(m->s->features, before);
	}
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_scale_with_the_cpus),
		cmocka_unit_test(other_defaults_are_linux_s),
		cmocka_unit_test(debugfs_numbers_are_any_base_modulo_2_32),
		cmocka_unit_test(sysctls_accept_what_linux_accepts),
		cmocka_unit_test(scaling_shows_at_the_next_change_of_cpus),
		cmocka_unit_test(every_tunable_can_be_listed_read_and_written_back),
		cmocka_unit_test(features_read_and_write_as_linux_does),
		cmocka_unit_test(a_name_is_listed_once),
		cmocka_unit_test(the_least_scaling_is_none),
		cmocka_unit_test(the_number_of_tasks_in_a_latency_is_rounded_up),
		cmocka_unit_test(a_feature_has_one_prefix),
	};

	return cmocka_run_group_tests_name("tunable", tests, NULL, NULL);
}
