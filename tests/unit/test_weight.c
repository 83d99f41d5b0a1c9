/* SPDX-License-Identifier: GPL-2.0-only */
/* Weights and calc_delta against the golden numbers (docs/sources.md). */
#include "host.h"

static struct entity of_nice(int nice)
{
	return (struct entity){ .load = weight_of_nice(nice) };
}

static void nice_levels_have_linux_weights_and_inverses(void **state)
{
	static const struct {
		int nice;
		u64 weight;
		u32 inverse;
	} golden[] = {
		{ -20, 88761, 48388 }, { -19, 71755, 59856 }, { -10, 9548, 449829 },
		{ -5, 3121, 1376151 }, { -1, 1277, 3363326 }, { 0, 1024, 4194304 },
		{ 1, 820, 5237765 },   { 5, 335, 12820798 },  { 10, 110, 39045157 },
		{ 19, 15, 286331153 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct load_weight w = weight_of_nice(golden[i].nice);

		assert_int_equal(w.weight, golden[i].weight << 10);
		assert_int_equal(w.inverse, golden[i].inverse);
	}
	assert_int_equal(weight_of_idle().weight, 3 << 10);
	assert_int_equal(weight_of_idle().inverse, 1431655765u);
}

static void each_nice_step_is_a_factor_of_about_1_25(void **state)
{
	(void)state;
	for (int nice = -20; nice < 19; nice++) {
		double ratio = (double)weight_of_nice(nice).weight /
			       (double)weight_of_nice(nice + 1).weight;

		assert_true(ratio >= 1.19 && ratio <= 1.28);
	}
}

static void inverses_of_the_table_are_quotients_to_one_unit(void **state)
{
	(void)state;
	for (int nice = -20; nice <= 19; nice++) {
		struct load_weight w = weight_of_nice(nice);
		u64 weight = w.weight >> 10;

		assert_in_range(w.inverse, (1ull << 32) / weight, (1ull << 32) / weight + 1);
	}
}

static void virtual_time_of_a_nice_level_is_golden(void **state)
{
	static const struct {
		int nice;
		u64 ns[5];
	} golden[] = {
		{ -20, { 0, 8652, 11536, 34609, 46146 } },
		{ -10, { 0, 80435, 107247, 321742, 428990 } },
		{ -5, { 0, 246074, 328099, 984299, 1312399 } },
		{ -1, { 0, 601409, 801879, 2405638, 3207517 } },
		{ 0, { 1, 750000, 1000000, 3000000, 4000000 } },
		{ 1, { 1, 936585, 1248780, 3746341, 4995121 } },
		{ 5, { 3, 2292537, 3056716, 9170149, 12226865 } },
		{ 10, { 9, 6981818, 9309090, 27927272, 37236363 } },
		{ 19, { 68, 51199999, 68266666, 204799999, 273066666 } },
	};
	static const u64 real[5] = { 1, 750000, 1000000, 3000000, 4000000 };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct entity e = of_nice(golden[i].nice);

		for (unsigned k = 0; k < 5; k++)
			assert_int_equal(calc_delta_fair(real[k], &e), golden[i].ns[k]);
	}
}

static void virtual_time_of_sched_idle_is_golden(void **state)
{
	struct entity e = { .load = weight_of_idle() };

	(void)state;
	assert_int_equal(calc_delta_fair(1, &e), 341);
	assert_int_equal(calc_delta_fair(750000, &e), 255999999);
	assert_int_equal(calc_delta_fair(1000000, &e), 341333333);
}

static void pieces_of_a_delta_may_lose_a_nanosecond_against_the_whole(void **state)
{
	struct entity e = of_nice(5);

	(void)state;
	assert_int_equal(3 * calc_delta_fair(1000000, &e), 9170148);
	assert_int_equal(calc_delta_fair(3000000, &e), 9170149);
}

static void an_inverse_computed_at_run_time_is_rounded_down(void **state)
{
	struct load_weight sum = { 0 };

	(void)state;
	load_add(&sum, NICE_0_LOAD);
	assert_int_equal(sum.inverse, 0);
	calc_delta(1, NICE_0_LOAD, &sum);
	assert_int_equal(sum.inverse, 4194303);
	load_add(&sum, NICE_0_LOAD);
	assert_int_equal(sum.inverse, 0);
	load_sub(&sum, 2 * NICE_0_LOAD);
	calc_delta(1, NICE_0_LOAD, &sum);
	assert_int_equal(sum.inverse, UINT32_MAX);
}

/* The advance of v in 1 ms for group weights. The inverse is computed at run time. */
static void weights_outside_the_table_convert_as_golden(void **state)
{
	static const struct {
		u64 weight, ns;
	} golden[] = {
		{ 524288, 1999999 },
		{ 786432, 1333333 },
		{ 262144, 3999999 },
		{ 2, 511999999 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct load_weight w = { golden[i].weight, 0 };

		assert_int_equal(calc_delta(1000000, NICE_0_LOAD, &w), golden[i].ns);
	}
}

/*
 * calc_delta() by definition: the weight, then its product with the inverse, keep their 32 highest
 * bits, and no bit less. Every other pair is shifted left by up to 28 bits: then some have more
 * than 32.
 */
static void a_conversion_keeps_32_bits(void **state)
{
	u64 dice = host_seed(1);

	(void)state;
	for (unsigned n = 0; n < 20000; n++) {
		u64 weight, total, delta, factor;
		struct load_weight w = { 0 };
		unsigned dropped = 0, more_bits = n % 2 * (n % 29);

		dice = dice * 6364136223846793005ull + 1442695040888963407ull;
		weight = (2 + ((dice >> 20 & 0xffffff) >> (dice >> 50) % 20)) << more_bits;
		weight += dice >> 36 >> (28 - more_bits); /* none of its bits is always 0 */
		total = (2 + ((dice >> 30 & 0xffffff) >> (dice >> 55) % 20)) << more_bits;
		delta = dice >> 34 >> (dice >> 5) % 20;
		w.weight = total << 10;
		calc_delta(1, 1024, &w);
		for (factor = weight; factor >> 32; factor >>= 1)
			dropped++;
		for (factor *= w.inverse; factor >> 32; factor >>= 1)
			dropped++;
		assert_int_equal(calc_delta(delta, weight << 10, &w),
				 (u64)((unsigned __int128)delta * factor >> (32 - dropped)));
	}
}

static void huge_weights_and_deltas_do_not_overflow(void **state)
{
	struct load_weight huge = { UINT64_MAX / 2, 0 }, one = { 1024, 0 };

	(void)state;
	/*
	 * For weights beyond 32 bits the inverse is 1; a factor beyond 32 bits is shifted down
	 * first.
	 */
	assert_in_range(calc_delta(1ull << 40, UINT64_MAX / 2, &huge) >> 40, 0x1ffffe, 0x200000);
	assert_true(calc_delta(1ull << 62, 1024, &one) <= 1ull << 62);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nice_levels_have_linux_weights_and_inverses),
		cmocka_unit_test(each_nice_step_is_a_factor_of_about_1_25),
		cmocka_unit_test(inverses_of_the_table_are_quotients_to_one_unit),
		cmocka_unit_test(virtual_time_of_a_nice_level_is_golden),
		cmocka_unit_test(virtual_time_of_sched_idle_is_golden),
		cmocka_unit_test(pieces_of_a_delta_may_lose_a_nanosecond_against_the_whole),
		cmocka_unit_test(an_inverse_computed_at_run_time_is_rounded_down),
		cmocka_unit_test(weights_outside_the_table_convert_as_golden),
		cmocka_unit_test(a_conversion_keeps_32_bits),
		cmocka_unit_test(huge_weights_and_deltas_do_not_overflow),
	};

	return cmocka_run_group_tests_name("weight", tests, NULL, NULL);
}
