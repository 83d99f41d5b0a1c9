/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadlines and guarantees of groups: files that no Linux has, so there these tests have nothing to
 * look at, say so and pass.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroupcheck/cgroupcheck.h"

static bool is_there(void)
{
	static bool told;

	if (!access("/sys/kernel/debug/qos/qos_params", F_OK))
		return true;
	if (!told)
		printf("this kernel has no FDL: nothing to check\n");
	told = true;
	return false;
}

/* --- what is written ------------------------------------------------------------------ */

static const struct row rows[] = {
	{ "cpu.deadline_rr", NULL, 0, "0" },
	{ "cpu.deadline_wakeup", NULL, 0, "0" },
	{ "cpu.guaranteed_shares", NULL, 0, "0" },
	{ "cpu.deadline_wakeup", "100000", EINVAL, "0" },
	{ "cpu.deadline_wakeup", "0", 0, "0" },
	{ "cpu.deadline_rr", "49999", EINVAL, "0" },
	{ "cpu.deadline_rr", "1000000001", EINVAL, "0" },
	{ "cpu.deadline_rr", "-1", EINVAL, "0" },
	{ "cpu.deadline_rr", "abc", EINVAL, "0" },
	{ "cpu.deadline_rr", "5 ", EINVAL, "0" },
	{ "cpu.deadline_rr", "18446744073709551615", EINVAL, "0" },
	{ "cpu.deadline_rr", "18446744073709551616", ERANGE, "0" },
	{ "cpu.deadline_rr", "", 0, "0" },
	{ "cpu.deadline_rr", "1000000000", 0, "1000000000" },
	{ "cpu.deadline_rr", "50000", 0, "50000" },
	{ "cpu.deadline_rr", "200000\n", 0, "200000" },
	{ "cpu.deadline_wakeup", "200001", EINVAL, "0" },
	{ "cpu.deadline_wakeup", "-1", EINVAL, "0" },
	{ "cpu.deadline_wakeup", "abc", EINVAL, "0" },
	{ "cpu.deadline_wakeup", "18446744073709551616", ERANGE, "0" },
	{ "cpu.deadline_wakeup", "200000", 0, "200000" },
	{ "cpu.deadline_wakeup", "1", 0, "1" },
	{ "cpu.deadline_wakeup", "100000", 0, "100000" },
	{ "cpu.deadline_rr", "99999", EINVAL, "200000" },
	{ "cpu.deadline_rr", "100000", 0, "100000" },
	{ "cpu.deadline_rr", "0", 0, "0" },
	{ "cpu.deadline_wakeup", NULL, 0, "0" },
	{ "cpu.guaranteed_shares", "-1", EINVAL, "0" },
	{ "cpu.guaranteed_shares", "abc", EINVAL, "0" },
	{ "cpu.guaranteed_shares", "18446744073709551615", EINVAL, "0" },
	{ "cpu.guaranteed_shares", "18446744073709551616", ERANGE, "0" },
	{ "cpu.guaranteed_shares", "100000000", EINVAL, "0" }, /* more than 256 for each of 255 */
	{ "cpu.guaranteed_shares", "", 0, "0" },
	{ "cpu.guaranteed_shares", "7000", 0, "7000" },
	{ "cpu.guaranteed_shares", "262144", 0, "262144" },
	{ "cpu.guaranteed_shares", "1", 0, "1" },
	{ "cpu.idle", "1", EINVAL, "0" },
	{ "cpu.guaranteed_shares", "0", 0, "0" },
	{ "cpu.idle", "1", 0, "1" },
	{ "cpu.guaranteed_shares", "1", EINVAL, "0" },
	{ "cpu.idle", "0", 0, "0" },
	{ "cpu.qos_debug", "0", EINVAL, NULL },
	{ NULL, NULL, 0, NULL },
};

static void values(void)
{
	if (!is_there())
		return;
	check_in_group(&v1, rows);
	check_in_group(&v2, rows);
}

/* v1's shares are the group's own, whatever the controller makes of them. */
static void shares(void)
{
	if (!is_there())
		return;
	enter_v1();
	EXPECT(!mkdir("g", 0755) && !put("g/cpu.guaranteed_shares", "5000"));
	EXPECT(reads("g/cpu.shares", "1024") &&
	       value_of("g/cpu.qos_debug", "legacy_shares") == 1024);
	EXPECT(value_of("g/cpu.qos_debug", "dynamic_shares") == 5000);
	EXPECT(!put("g/cpu.shares", "2048") && reads("g/cpu.shares", "2048"));
	EXPECT(value_of("g/cpu.qos_debug", "dynamic_shares") == 5000);
	EXPECT(!put("g/cpu.guaranteed_shares", "6000"));
	EXPECT(value_of("g/cpu.qos_debug", "guaranteed_shares") == 6000);
	EXPECT(!put("g/cpu.guaranteed_shares", "0"));
	EXPECT(value_of("g/cpu.qos_debug", "dynamic_shares") == 2048);
	EXPECT(!rmdir("g"));
	leave_v1();
}

static void root_is_fixed(void)
{
	static const struct row of_root[] = {
		{ "cpu.deadline_rr", "200000", EINVAL, "0" },
		{ "cpu.deadline_wakeup", "100000", EINVAL, "0" },
		{ "cpu.guaranteed_shares", "1024", EINVAL, "0" },
		{ "cpu.qos_debug", NULL, 0, "overcommit 0" },
		{ NULL, NULL, 0, NULL },
	};

	if (!is_there())
		return;
	enter_v1();
	check_rows(of_root);
	leave_v1();
	enter_v2();
	EXPECT(access("cpu.deadline_rr", F_OK) && access("cpu.qos_debug", F_OK));
	leave_v2();
}

/* --- groups that come and go ---------------------------------------------------------- */

static bool has_overcommit(long wanted)
{
	return value_of("cpu.qos_debug", "overcommit") == wanted;
}

/* A group's guarantee ends with the group. */
static void removal(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!is_there())
		return;
	enter_v1();
	EXPECT(!mkdir("g", 0755) && !mkdir("g/h", 0755));
	EXPECT(!put("g/cpu.deadline_rr", "200000") &&
	       !put_number("g/cpu.guaranteed_shares", 1024 * cpus));
	EXPECT(!put("g/h/cpu.deadline_rr", "400000") && !put("g/h/cpu.guaranteed_shares", "512"));
	EXPECT(has_overcommit(1024));
	EXPECT_ERROR(EBUSY, rmdir("g"));
	EXPECT(has_overcommit(1024) && !rmdir("g/h") && has_overcommit(1024));
	EXPECT(!rmdir("g") && has_overcommit(0));
	EXPECT(!mkdir("g", 0755) && reads("g/cpu.deadline_rr", "0") &&
	       reads("g/cpu.guaranteed_shares", "0") && !rmdir("g"));
	leave_v1();
}

enum { MANY = 1000, ROUNDS = 100 };

static void thousand(void)
{
	char name[48];
	int i;

	if (!is_there())
		return;
	enter_v1();
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "g%d", i);
		EXPECT(!mkdir(name, 0755));
		snprintf(name, sizeof(name), "g%d/cpu.deadline_rr", i);
		EXPECT(!put_number(name, 50000 + i));
		snprintf(name, sizeof(name), "g%d/cpu.guaranteed_shares", i);
		EXPECT(!put_number(name, 1 + i));
	}
	usleep(50000); /* the controller has them all a few times */
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "g%d/cpu.qos_debug", i);
		EXPECT(value_of(name, "dynamic_shares") == 1 + i);
		snprintf(name, sizeof(name), "g%d", i);
		EXPECT(!rmdir(name));
	}
	EXPECT(has_overcommit(0));
	leave_v1();
}

/* --- many at once --------------------------------------------------------------------- */

/* Every value read is one that some process wrote. */
static void write_deadlines(void *arg)
{
	int i, mine = 1 + *(int *)arg, seen;

	for (i = 0; i < ROUNDS; i++) {
		EXPECT(!put_number("g/cpu.deadline_rr", mine * 100000));
		EXPECT(!put_number("g/cpu.deadline_wakeup", 100000));
		EXPECT(!put_number("g/cpu.guaranteed_shares", mine * 100));
		seen = atoi(get("g/cpu.deadline_rr"));
		EXPECT(seen % 100000 == 0 && seen >= 100000 && seen <= PARTIES * 100000);
		EXPECT(reads("g/cpu.deadline_wakeup", "100000"));
		seen = atoi(get("g/cpu.guaranteed_shares"));
		EXPECT(seen % 100 == 0 && seen >= 100 && seen <= PARTIES * 100);
		EXPECT(put("g/cpu.deadline_rr", "99999") == EINVAL);
	}
}

static void writers(void)
{
	if (!is_there())
		return;
	enter_v1();
	EXPECT(!mkdir("g", 0755));
	run_parties(write_deadlines);
	EXPECT(!rmdir("g"));
	leave_v1();
}

static void run_and_sleep(void *group)
{
	EXPECT(!put(group, "0"));
	for (;;) {
		burn(1);
		usleep(300);
	}
}

/* Each writer changes groups of its own and their parent, all of them in use. */
static void flip(void *arg)
{
	unsigned seed = (unsigned)*(int *)arg + 1;
	char file[48];
	int i, error;

	for (i = 0; i < 2 * ROUNDS; i++) {
		const char *group = rand_r(&seed) % 3 ? "a" : "a/b";
		long ns = rand_r(&seed) % 3 ? 50000 + rand_r(&seed) % 10000000 : 0;

		snprintf(file, sizeof(file), "%s/cpu.deadline_rr", group);
		error = put_number(file, ns);
		EXPECT(!error || error == EINVAL); /* less than a wakeup's */
		snprintf(file, sizeof(file), "%s/cpu.deadline_wakeup", group);
		error = put_number(file, ns / 2);
		EXPECT(!error || error == EINVAL);
		snprintf(file, sizeof(file), "%s/cpu.guaranteed_shares", group);
		EXPECT(!put_number(file, rand_r(&seed) % 2 ? 0 : rand_r(&seed) % 5000));
		usleep(rand_r(&seed) % 500);
	}
}

/* Groups get deadlines and lose them while their members run and sleep; everybody goes on. */
static void flip_storm(void)
{
	static char groups[][16] = { "a/tasks", "a/b/tasks", "a/b/tasks", "tasks" };
	pid_t pids[4];
	int i;

	if (!is_there())
		return;
	enter_v1();
	EXPECT(!mkdir("a", 0755) && !mkdir("a/b", 0755));
	for (i = 0; i < 4; i++)
		pids[i] = spawn(run_and_sleep, groups[i]);
	run_parties(flip);
	for (i = 0; i < 4; i++)
		end_child(pids[i]);
	EXPECT(!rmdir("a/b") && !rmdir("a") && has_overcommit(0));
	leave_v1();
}

const struct check fdl_tests[] = {
	{ "fdl_values", values },	  { "fdl_shares", shares },
	{ "fdl_root", root_is_fixed },	  { "fdl_removal", removal },
	{ "fdl_thousand", thousand },	  { "fdl_writers", writers },
	{ "fdl_flip_storm", flip_storm }, { NULL, NULL },
};
