/* SPDX-License-Identifier: GPL-2.0-only */
/* v2 otherwise than by rows: which files there are when, the controller, counters, limits. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroupcheck/cgroupcheck.h"

static bool has(const char *group, const char *file, mode_t mode)
{
	char name[64];
	struct stat st;

	snprintf(name, sizeof(name), "%s/%s", group, file);
	return !stat(name, &st) && st.st_mode == (S_IFREG | mode);
}

static const char *const cpu_files[] = { "cpu.weight", "cpu.weight.nice", "cpu.max",
					 "cpu.max.burst", "cpu.idle" };

static bool has_cpu(const char *group)
{
	unsigned i, nr = 0;

	for (i = 0; i < 5; i++)
		nr += has(group, cpu_files[i], 0644);
	EXPECT(nr == 0 || nr == 5);
	return nr;
}

static const struct {
	const char *name;
	mode_t mode;
	bool in_root;
} files[] = {
	{ "cgroup.procs", 0644, true },
	{ "cgroup.threads", 0644, true },
	{ "cgroup.controllers", 0444, true },
	{ "cgroup.subtree_control", 0644, true },
	{ "cgroup.stat", 0444, true },
	{ "cgroup.max.depth", 0644, true },
	{ "cgroup.max.descendants", 0644, true },
	{ "cpu.stat", 0444, true },
	{ "cgroup.type", 0644, false },
	{ "cgroup.events", 0444, false },
	{ "cgroup.kill", 0200, false },
};

static void present(void)
{
	unsigned i;

	enter_v2();
	EXPECT(!mkdir("g", 0755) && !mkdir("g/h", 0755));
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		EXPECT(has("g", files[i].name, files[i].mode));
		EXPECT(has("g/h", files[i].name, files[i].mode));
		EXPECT(has(".", files[i].name, files[i].mode) == files[i].in_root);
	}
	EXPECT(!has_cpu(".") && has_cpu("g") && !has_cpu("g/h") && !has("g", "tasks", 0644));
	EXPECT(strstr(get("/proc/self/cgroup"), "0::/\n") &&
	       !strstr(get("/proc/self/cgroup"), "cpu"));
	EXPECT(strstr(get("/proc/cgroups"), "\ncpu\t0\t3\t1\n"));
	EXPECT(!rmdir("g/h") && !rmdir("g"));
	leave_v2();
}

/* In v2 a child's limit may exceed its parent's. */
static void no_ratios(void)
{
	enter_v2();
	EXPECT(!mkdir("g", 0755) && !put("g/cgroup.subtree_control", "+cpu") &&
	       !mkdir("g/h", 0755));
	EXPECT(!put("g/cpu.max", "10000 100000") && !put("g/h/cpu.max", "50000 100000"));
	EXPECT(!put("g/cpu.max", "5000 100000") && reads("g/h/cpu.max", "50000 100000"));
	EXPECT(!rmdir("g/h") && !rmdir("g"));
	leave_v2();
}

static bool has_word(const char *file, const char *word)
{
	size_t len = strlen(word);
	const char *at = get(file);

	while ((at = strstr(at, word))) {
		if ((at[len] == ' ' || at[len] == '\n') && (at == get(file) || at[-1] == ' '))
			return true;
		at += len;
	}
	return false;
}

/* The controller goes down level by level, and comes back from below. */
static void subtree_control(void)
{
	enter_v2();
	EXPECT(has_word("cgroup.controllers", "cpu") && reads("cgroup.subtree_control", "cpu"));
	EXPECT(!mkdir("a", 0755) && !mkdir("a/b", 0755) && !mkdir("a/b/c", 0755));
	EXPECT(has_word("a/cgroup.controllers", "cpu") && reads("a/b/cgroup.controllers", ""));
	EXPECT(put("a/b/cgroup.subtree_control", "+cpu") == ENOENT);
	EXPECT(put("a/cgroup.subtree_control", "cpu") == EINVAL);
	EXPECT(put("a/cgroup.subtree_control", "+none") == EINVAL);
	EXPECT(put("a/cgroup.subtree_control", "+cpu -none") == EINVAL);
	EXPECT(put("a/cgroup.subtree_control", "+cpux") == EINVAL);
	EXPECT(put("a/cgroup.subtree_control", "+cpx") == EINVAL);
	EXPECT(!put("a/cgroup.subtree_control", "") && !put("a/cgroup.subtree_control", " "));
	EXPECT(!put("a/cgroup.subtree_control", "+cpu -cpu") &&
	       reads("a/cgroup.subtree_control", ""));
	EXPECT(!has_cpu("a/b"));
	EXPECT(!put("a/cgroup.subtree_control", " -cpu  +cpu\n") &&
	       reads("a/cgroup.subtree_control", "cpu"));
	EXPECT(has_cpu("a/b") && !has_cpu("a/b/c") && !put("a/b/cpu.weight", "33"));
	EXPECT(!put("a/b/cgroup.subtree_control", "+cpu") && has_cpu("a/b/c"));
	EXPECT(put("a/cgroup.subtree_control", "-cpu") == EBUSY && reads("a/b/cpu.weight", "33"));
	EXPECT(put("cgroup.subtree_control", "-cpu") == EBUSY);
	EXPECT(!put("a/b/cgroup.subtree_control", "-cpu") && !has_cpu("a/b/c"));
	EXPECT(!put("a/cgroup.subtree_control", "-cpu") && !has_cpu("a/b"));
	/* A group's parameters are forgotten when it loses the controller. */
	EXPECT(!put("a/cgroup.subtree_control", "+cpu") && reads("a/b/cpu.weight", "100"));
	EXPECT(!put("a/cgroup.subtree_control", "-cpu"));
	EXPECT(!rmdir("a/b/c") && !rmdir("a/b") && !rmdir("a"));
	leave_v2();
}

/* While a group of v2 has the controller, v1 cannot have it. */
static void exclusive(void)
{
	char dir[64];

	enter_v2();
	EXPECT(getcwd(dir, sizeof(dir) - 3) && !mkdir("g", 0755));
	strcat(dir, "/g");
	EXPECT_ERROR(EBUSY, mount("none", dir, "cgroup", 0, "cpu"));
	EXPECT(!rmdir("g"));
	leave_v2();
}

static void burn_in(void *group)
{
	EXPECT(!put(group, "0"));
	burn(200);
}

/* Time is kept when members end or leave and when groups are removed. */
static void statistics(void)
{
	long user, system, usage;

	enter_v2();
	EXPECT(!mkdir("g", 0755) && !mkdir("g/h", 0755) && !mkdir("x", 0755));
	EXPECT(value_of("cpu.stat", "usage_usec") > 0 && !value_of("g/cpu.stat", "usage_usec"));
	await_child(spawn(burn_in, (char *)"g/h/cgroup.procs"));
	usage = value_of("g/h/cpu.stat", "usage_usec");
	EXPECT(usage >= 190000 && usage < 10000000);
	user = value_of("g/cpu.stat", "user_usec");
	system = value_of("g/cpu.stat", "system_usec");
	usage = value_of("g/cpu.stat", "usage_usec");
	EXPECT(usage - user - system <= 1 && user + system - usage <= 1 && user >= 50000);
	EXPECT(!value_of("x/cpu.stat", "usage_usec"));
	EXPECT(!rmdir("g/h") && value_of("g/cpu.stat", "usage_usec") == usage);
	EXPECT(!value_of("g/cpu.stat", "nr_periods") && !value_of("g/cpu.stat", "burst_usec"));
	EXPECT(put("g/cpu.stat", "0") == EINVAL && !rmdir("g") && !rmdir("x"));
	leave_v2();
}

static void burn_a_little(void *unused)
{
	(void)unused;
	EXPECT(!put("cgroup.procs", "0"));
	burn(20);
}

/* At a tenth of a CPU, 20 ms of work are throttled several times, for milliseconds each. */
static void check_throttled(void)
{
	long times, usec;

	EXPECT(!put("cpu.max", "1000 10000"));
	await_child(spawn(burn_a_little, NULL));
	times = value_of("cpu.stat", "nr_throttled");
	usec = value_of("cpu.stat", "throttled_usec");
	EXPECT(times >= 1 && times <= value_of("cpu.stat", "nr_periods") && usec > 100 * times);
}

static void throttled(void)
{
	in_group(&v2, check_throttled);
}

static const struct row limit_rows[] = {
	{ "cgroup.max.depth", NULL, 0, "max" },
	{ "cgroup.max.depth", "-1", ERANGE, "max" },
	{ "cgroup.max.depth", "x", EINVAL, "max" },
	{ "cgroup.max.depth", "99999999999", ERANGE, "max" },
	{ "cgroup.max.depth", "2147483648", ERANGE, "max" },
	{ "cgroup.max.depth", "0", 0, "0" },
	{ "cgroup.max.depth", " max \n", 0, "max" },
	{ "cgroup.max.depth", "1", 0, "1" },
	{ "cgroup.max.descendants", "-1", ERANGE, "max" },
	{ "cgroup.max.descendants", "3", 0, "3" },
	{ "cgroup.stat", "5", EINVAL, NULL },
	{ "cgroup.events", "5", EINVAL, NULL },
	{ "cgroup.controllers", "5", EINVAL, NULL },
	{ NULL, NULL, 0, NULL },
};

static void check_limits(void)
{
	check_rows(limit_rows);
	EXPECT(!mkdir("a", 0755) && !mkdir("b", 0755));
	EXPECT_ERROR(EAGAIN, mkdir("a/c", 0755));
	EXPECT(!put("cgroup.max.depth", "2") && !mkdir("a/c", 0755));
	EXPECT_ERROR(EAGAIN, mkdir("a/d", 0755));
	EXPECT(value_of("cgroup.stat", "nr_descendants") == 3);
	EXPECT(value_of("a/cgroup.stat", "nr_descendants") == 1);
	EXPECT(!rmdir("a/c") && !rmdir("b") && !rmdir("a"));
	EXPECT(!value_of("cgroup.stat", "nr_descendants"));
}

static void limits_of_tree(void)
{
	in_group(&v2, check_limits);
}

const struct check v2_tests[] = {
	{ "v2_present", present },
	{ "v2_no_ratios", no_ratios },
	{ "v2_subtree", subtree_control },
	{ "v2_exclusive", exclusive },
	{ "v2_throttled", throttled },
	{ "v2_stat", statistics },
	{ "v2_limits", limits_of_tree },
	{ NULL, NULL },
};
