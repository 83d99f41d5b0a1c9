/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The least and the most that each tunable takes. What lies beyond is refused, and changes nothing.
 * Tunables that take any number (kind U32 of tunable.def) are in test_tunable.c.
 */
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "lib/errno.h"
#include "swap.h"

struct border {
	const char *name, *policy;
	s64 least, most;
};

#define INTS	 INT32_MIN, INT32_MAX
#define NATURALS 0, UINT32_MAX

static const struct border borders[] = {
	{ "tunable_scaling", "cfs", 0, 2 },
	{ "sched_child_runs_first", "cfs", INTS },
	{ "sched_rt_period_us", "cfs", 950000, INT32_MAX },
	{ "sched_rt_runtime_us", "cfs", -1, 1000000 },
	{ "sched_rr_timeslice_ms", "cfs", INTS },
	{ "sched_deadline_period_max_us", "cfs", 100, UINT32_MAX },
	{ "sched_deadline_period_min_us", "cfs", 0, 4194304 },
	{ "sched_cfs_bandwidth_slice_us", "cfs", 1, INT32_MAX },
	{ "sched_schedstats", "cfs", 0, 1 },
	{ "sched_energy_aware", "cfs", 0, 1 },
	{ "sched_cfs_boost", "cfs", 0, 100 },
	{ "throttle_ns", "cfs", 0, 1000000000 },
	{ "throttle_defer", "cfs", 0, 1 },
	{ "rate_limit_us", "cfs", 0, 1000000 },
	{ "sched_bore", "bore", 0, 1 },
	{ "sched_burst_exclude_kthreads", "bore", 0, 1 },
	{ "sched_burst_smoothness_long", "bore", 0, 1 },
	{ "sched_burst_smoothness_short", "bore", 0, 1 },
	{ "sched_burst_fork_atavistic", "bore", 0, 3 },
	{ "sched_burst_parity_threshold", "bore", 0, 255 },
	{ "sched_burst_penalty_offset", "bore", 0, 64 },
	{ "sched_burst_penalty_scale", "bore", 0, 4095 },
	{ "sched_burst_cache_stop_count", "bore", NATURALS },
	{ "sched_burst_cache_lifetime", "bore", NATURALS },
	{ "sched_deadline_boost_mask", "bore", NATURALS },
	{ "min_base_slice_ns", "bore", 0, 1000000000 },
	{ "sched_bore", "bore-cfs", 0, 3 },
	{ "sched_burst_penalty_offset", "bore-cfs", 0, 64 },
	{ "sched_burst_penalty_scale", "bore-cfs", 0, 4095 },
	{ "sched_burst_smoothness", "bore-cfs", 0, 3 },
	{ "sched_burst_cache_lifetime", "bore-cfs", NATURALS },
	{ "dl_slack", "fdl", 0, 1024 },
	{ "tick_margin", "fdl", 0, 1024 },
	{ "tick_skip", "fdl", 10000, INT32_MAX },
	{ "dl_skip", "fdl", 1, INT32_MAX },
	{ "max_tick_interval", "fdl", 10000, INT32_MAX },
	{ "default_fair_dl", "fdl", 1, INT32_MAX },
	{ "wake_dl_scan", "fdl", 0, 1 },
	{ "wake_dl_interval_shift", "fdl", 0, 31 },
	{ "wake_dl_margin", "fdl", NATURALS },
	{ "wake_prefer_preempt_prev", "fdl", 0, 1 },
	{ "wake_prefer_preempt_others", "fdl", 0, 1 },
	{ "target_wait_fraction", "fdl", NATURALS },
	{ "avg_usage_alpha", "fdl", 0, 1024 },
	{ "avg_wait_alpha", "fdl", 0, 1024 },
	{ "control_loop_interval", "fdl", 100000, INT32_MAX },
	{ "max_share_boost", "fdl", 0, 1024 },
	{ "shared_runq_shard_size", "cfs", 1, INT32_MAX },
	{ "sched_util_clamp_min", "cfs", 0, 1024 },
	{ "sched_util_clamp_max", "cfs", 1024, 1024 }, /* not below the minimum */
	{ "sched_util_clamp_min_rt_default", "cfs", 0, 1024 },
};

static int write_number(struct machine *m, const char *name, s64 value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	return sched_tunable_write(m->s, name, text, strlen(text));
}

static s64 read_number(struct machine *m, const char *name)
{
	char text[32];
	long long value;

	assert_true(sched_tunable_read(m->s, name, text, sizeof(text)) > 0);
	assert_int_equal(sscanf(text, "%lld", &value), 1);
	return value;
}

/* Both borders are taken; the next numbers beyond them are refused, and change nothing. */
static void expect_borders(struct machine *m, const struct border *b)
{
	assert_int_equal(write_number(m, b->name, b->least), 0);
	assert_int_equal(write_number(m, b->name, b->least - 1), -EINVAL);
	assert_int_equal(write_number(m, b->name, b->most + 1), -EINVAL);
	if (strcmp(b->name, "sched_rr_timeslice_ms")) /* where less than 1 stands for the default */
		assert_int_equal(read_number(m, b->name), b->least);
	assert_int_equal(write_number(m, b->name, b->most), 0);
	assert_int_equal(write_number(m, b->name, b->most + 1), -EINVAL);
	assert_int_equal(write_number(m, b->name, b->least - 1), -EINVAL);
	assert_int_equal(read_number(m, b->name), b->most);
}

static void a_tunable_takes_what_lies_within_its_borders(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(borders); i++) {
		struct machine *m = machine_under(1, borders[i].policy);

		expect_borders(m, &borders[i]);
		machine_free(m);
	}
}

/* One is the border of the other. */
static void of_two_the_least_is_not_above_the_most(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	for (unsigned n = 0; n <= 1024; n += 256) {
		assert_int_equal(write_number(m, "sched_util_clamp_min", 0), 0);
		assert_int_equal(write_number(m, "sched_util_clamp_max", n), 0);
		expect_borders(m, &(struct border){ "sched_util_clamp_min", NULL, 0, n });
		expect_borders(m, &(struct border){ "sched_util_clamp_max", NULL, n, 1024 });
	}
	assert_int_equal(write_number(m, "sched_rt_runtime_us", 5000), 0);
	expect_borders(m, &(struct border){ "sched_rt_period_us", NULL, 5000, INT32_MAX });
	assert_int_equal(write_number(m, "sched_rt_period_us", 7000), 0);
	expect_borders(m, &(struct border){ "sched_rt_runtime_us", NULL, -1, 7000 });
	machine_free(m);
}

/* All tunables that are not in the table take any number, modulo 2^32. */
static void every_other_tunable_has_no_borders(void **state)
{
	struct machine *m = machine_new(1, 1000);
	const struct sched_tunable_info *info;

	(void)state;
	for_each_tunable(info)
	{
		unsigned i = 0;

		while (i < ARRAY_SIZE(borders) && strcmp(borders[i].name, info->name))
			i++;
		if (i < ARRAY_SIZE(borders))
			continue;
		assert_int_equal(write_number(m, info->name, 1ll << 40), 0);
		assert_int_equal(read_number(m, info->name), 0);
		assert_int_equal(write_number(m, info->name, -1), -EINVAL);
	}
	machine_free(m);
}

/* The files of the fair server, by number, until there are no more. */
static void the_fair_server_has_two_files(void **state)
{
	(void)state;
	assert_string_equal(sched_fair_server_file(0), "runtime");
	assert_string_equal(sched_fair_server_file(1), "period");
	assert_null(sched_fair_server_file(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tunable_takes_what_lies_within_its_borders),
		cmocka_unit_test(of_two_the_least_is_not_above_the_most),
		cmocka_unit_test(every_other_tunable_has_no_borders),
		cmocka_unit_test(the_fair_server_has_two_files),
	};

	return cmocka_run_group_tests_name("borders", tests, NULL, NULL);
}
