/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables of operating points (lib/opp.h): what is read, and what is refused with which words. */
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "lib/opp.h"

static struct cpu_place places[CPU_MAX];
static struct opp_table table;

static bool read_on(const char *machine, const char *text)
{
	struct cpu_tree tree;

	assert_true(cpu_tree_read(&tree, machine));
	cpu_tree_places(&tree, places);
	return opp_read(&table, text, places, tree.total[TREE_THREADS]);
}

#define ONE_POINT "type t\nopp 1000 1024 10 5\nidle 1 1 0\n"

static void the_small_cores_of_juno(void **state)
{
	static const u32 mhz[] = { 450, 575, 700, 775, 850 };
	const char *machine, *text = opp_builtin("juno-a53", &machine);

	(void)state;
	assert_true(read_on(machine, text));
	assert_int_equal(table.nr_domains, 1);
	assert_int_equal(table.type[0].nr_opps, ARRAY_SIZE(mhz));
	for (u32 i = 0; i < ARRAY_SIZE(mhz); i++) {
		assert_int_equal(table.type[0].opp[i].mhz, mhz[i]);
		assert_int_equal(table.type[0].opp[i].capacity, 1024 * mhz[i] / 850);
	}
	/* One domain for each cache, on whatever machine. */
	assert_true(read_on("4x2x1", text));
	assert_int_equal(table.nr_domains, 4);
	for (u32 cpu = 0; cpu < 8; cpu++)
		assert_int_equal(table.domain_of[cpu], cpu / 2);
}

/* The numbers of facts that were published: capacity and power of the extremes. */
static void both_clusters_of_juno(void **state)
{
	const char *machine, *text = opp_builtin("juno", &machine);
	const struct opp_type *big, *little;

	(void)state;
	assert_true(read_on(machine, text));
	assert_int_equal(table.nr_domains, 2);
	big = &table.type[table.type_of[0]];
	little = &table.type[table.type_of[1]];
	assert_string_equal(big->name, "a57");
	assert_int_equal(big->opp[4].capacity, 1024);
	assert_int_equal(big->opp[4].power.cpu, 616);
	assert_int_equal(big->idle[1].power.domain, 24);
	assert_string_equal(little->name, "a53");
	assert_int_equal(little->opp[0].capacity, 235);
	assert_int_equal(little->opp[4].power.domain, 57);
	for (u32 cpu = 0; cpu < 6; cpu++)
		assert_int_equal(table.domain_of[cpu], cpu >= 2);
	assert_null(opp_builtin("venus", &machine));
}

/* The order of the statements does not matter. */
static void domains_are_numbered_by_their_first_cpu(void **state)
{
	(void)state;
	assert_true(read_on("cores=6",
			    ONE_POINT "type u\nopp 500 100 1 1\nidle 0 0 0\n"
				      "domain 5+1-2 u # from CPU 1 on\ndomain 0+3-4 t\n"));
	assert_int_equal(table.nr_domains, 2);
	assert_int_equal(table.type_of[0], 0);
	assert_int_equal(table.type_of[1], 1);
	for (u32 cpu = 0; cpu < 6; cpu++)
		assert_int_equal(table.domain_of[cpu], cpu == 1 || cpu == 2 || cpu == 5);
}

static void what_is_no_table_is_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{ "", "the table is empty: it has no type" },
		{ "# nothing\n\n", "the table is empty: it has no type" },
		{ "type t\nidle 0 0 0\ndomain llc t", "type 't' has no point" },
		{ "type t\nopp 1 1024 1 1\ndomain llc t", "type 't' has no idle state" },
		{ "opp 1 2 3 4", "line 1: 'opp' before any type" },
		{ "type", "line 1: a type needs a name of at most 15 characters" },
		{ "type t\ntype t", "line 2: type 't' twice" },
		{ "type t\nopp 450 1025 1 1",
		  "line 2: the capacity '1025' is not a number from 1 to 1024" },
		{ "type t\nopp 450 0 1 1",
		  "line 2: the capacity '0' is not a number from 1 to 1024" },
		{ "type t\nopp -1 5 1 1",
		  "line 2: the frequency '-1' is not a number from 1 to 100000" },
		{ "type t\nopp 450 500 1", "line 2: the power of a domain is missing" },
		{ "type t\nopp 450 500 1 1 1", "line 2: '1' is too much" },
		{ "type t\nopp 450 500 1 1\nopp 450 600 1 1",
		  "line 3: a point must be faster than the one before: 450 MHz, capacity 500" },
		{ "type t\nopp 450 500 1 1\nopp 500 500 1 1",
		  "line 3: a point must be faster than the one before: 450 MHz, capacity 500" },
		{ "type t\nopp 450 500 9 1\nopp 500 600 8 1",
		  "line 3: a faster point takes less power than a slower one: 8, after 9" },
		{ "type t\nidle 1 1 5", "line 2: the first idle state begins after 0 us" },
		{ "type t\nidle 1 1 0\nidle 0 0 0",
		  "line 3: an idle state must begin later than the one before: after 0 us" },
		{ "type t\nlatency 0",
		  "line 2: the latency in us '0' is not a number from 1 to 1000000" },
		{ "turbo 9", "line 1: 'turbo' is none of type, opp, idle, latency, domain" },
		{ ONE_POINT "domain llc",
		  "line 4: a domain needs CPUs and the name of their type" },
		{ ONE_POINT "domain llc u", "line 4: there is no type 'u' above" },
		{ ONE_POINT "domain 0-4 t", "line 4: there is no CPU 4: the machine has 4" },
		{ ONE_POINT "domain 0-1 t\ndomain 1-3 t", "line 5: CPU 1 is in two domains" },
		{ ONE_POINT "domain 0-2 t\ndomain llc t", "line 5: CPU 0 is in two domains" },
		{ ONE_POINT "domain 3-0 t",
		  "line 4: '3-0' is not a list of CPUs, as 0-3+5, or llc" },
		{ ONE_POINT "domain 0,1 t",
		  "line 4: '0,1' is not a list of CPUs, as 0-3+5, or llc" },
		{ ONE_POINT "domain 0-2 t", "CPU 3 is in no domain" },
		{ ONE_POINT "domain 0 t\ndomain 1-3 t",
		  "CPUs 0 and 1 are one core in two domains" },
		{ "type t\nopp 450 447 1 1\nidle 0 0 0\ndomain llc t",
		  "the fastest CPU has capacity 447: it must be 1024" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_false(read_on("cores=2,threads=2", bad[i].text));
		assert_string_equal(table.error, bad[i].error);
	}
}

/* One more of anything than there is room for. */
static void limits_are_kept(void **state)
{
	char text[4096] = "type t\n";
	size_t at = strlen(text);

	(void)state;
	for (u32 i = 0; i <= OPP_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "opp %u %u 1 1\n", 100 + i,
				       100 + i);
	assert_false(read_on("1", text));
	assert_string_equal(table.error, "line 18: type 't' has more than 16 points");
	at = 0;
	for (u32 i = 0; i <= OPP_TYPES_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "type t%u\n", i);
	assert_false(read_on("1", text));
	assert_string_equal(table.error, "line 9: more than 8 types");
	at = (size_t)snprintf(text, sizeof(text), "type t\n");
	for (u32 i = 0; i <= OPP_IDLE_MAX; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "idle 0 0 %u\n", i);
	assert_false(read_on("1", text));
	assert_string_equal(table.error, "line 6: type 't' has more than 4 idle states");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_small_cores_of_juno),
		cmocka_unit_test(both_clusters_of_juno),
		cmocka_unit_test(domains_are_numbered_by_their_first_cpu),
		cmocka_unit_test(what_is_no_table_is_refused),
		cmocka_unit_test(limits_are_kept),
	};

	return cmocka_run_group_tests_name("opp", tests, NULL, NULL);
}
