/* The files of v2: which there are when, what they take, what they answer. */
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

static const struct row weight_rows[] = {
	{ "cpu.weight", NULL, 0, "100" },
	{ "cpu.weight.nice", NULL, 0, "0" },
	{ "cpu.weight", "0", ERANGE, "100" },
	{ "cpu.weight", "10001", ERANGE, "100" },
	{ "cpu.weight", "18446744073709551616", ERANGE, "100" },
	{ "cpu.weight", "-1", EINVAL, "100" },
	{ "cpu.weight", "abc", EINVAL, "100" },
	{ "cpu.weight", "200 ", EINVAL, "100" },
	{ "cpu.weight", " 5", EINVAL, "100" },
	{ "cpu.weight", "", 0, "100" },
	{ "cpu.weight", "1", 0, "1" },
	{ "cpu.weight", "10000", 0, "10000" },
	{ "cpu.weight", "200\n", 0, "200" },
	{ "cpu.weight", "+7", 0, "7" },
	{ "cpu.weight", "0x10", 0, "16" },
	{ "cpu.weight.nice", "-21", ERANGE, "8" },
	{ "cpu.weight.nice", "20", ERANGE, "8" },
	{ "cpu.weight.nice", "abc", EINVAL, "8" },
	{ "cpu.weight.nice", "5 ", EINVAL, "8" },
	{ "cpu.weight.nice", "", 0, "8" },
	{ "cpu.idle", NULL, 0, "0" },
	{ "cpu.idle", "2", EINVAL, "0" },
	{ "cpu.idle", "-1", EINVAL, "0" },
	{ "cpu.idle", "x", EINVAL, "0" },
	{ "cpu.idle", "1", 0, "1" },
	{ "cpu.weight", NULL, 0, "0" },
	{ "cpu.weight.nice", NULL, 0, "19" },
	{ "cpu.weight", "100", EINVAL, "0" },
	{ "cpu.weight.nice", "0", EINVAL, "19" },
	{ "cpu.idle", "0", 0, "0" },
	{ "cpu.weight", NULL, 0, "100" },
	{ NULL, NULL, 0, NULL },
};

static const struct row max_rows[] = {
	{ "cpu.max", NULL, 0, "max 100000" },
	{ "cpu.max.burst", NULL, 0, "0" },
	{ "cpu.max", "20000 50000", 0, "20000 50000" },
	{ "cpu.max", "999", EINVAL, "20000 50000" },
	{ "cpu.max", "1000 999", EINVAL, "20000 50000" },
	{ "cpu.max", "1000 1000001", EINVAL, "20000 50000" },
	{ "cpu.max", "0", EINVAL, "20000 50000" },
	{ "cpu.max", "-1", EINVAL, "20000 50000" },
	{ "cpu.max", "abc", EINVAL, "20000 50000" },
	{ "cpu.max", "MAX", EINVAL, "20000 50000" },
	{ "cpu.max", "maxx", EINVAL, "20000 50000" },
	{ "cpu.max", "max 5", EINVAL, "20000 50000" },
	{ "cpu.max", "0x10000", EINVAL, "20000 50000" },
	{ "cpu.max", "18446744073709551615", EINVAL, "20000 50000" },
	{ "cpu.max", "17592186044416", EINVAL, "20000 50000" },
	{ "cpu.max", " ", EINVAL, "20000 50000" },
	{ "cpu.max", "", 0, "20000 50000" },
	{ "cpu.max", "50000 abc", 0, "50000 50000" },
	{ "cpu.max", "max max", 0, "max 50000" },
	{ "cpu.max", "5000 50000 7", 0, "5000 50000" },
	{ "cpu.max", " 6000", 0, "6000 50000" },
	{ "cpu.max", "7000x", 0, "7000 50000" },
	{ "cpu.max", "8000 60000x", 0, "8000 60000" },
	{ "cpu.max", "010000\t50000\n", 0, "10000 50000" },
	{ "cpu.max", "17592186044415", 0, "17592186044415 50000" },
	{ "cpu.max", "max 200000", 0, "max 200000" },
	{ "cpu.max", "10000 -1", 0, "10000 200000" },
	{ "cpu.max", "20000 50000", 0, "20000 50000" },
	{ "cpu.max.burst", "25000", EINVAL, "0" },
	{ "cpu.max.burst", "20000", 0, "20000" },
	{ "cpu.max.burst", "-1", EINVAL, "20000" },
	{ "cpu.max.burst", "abc", EINVAL, "20000" },
	{ "cpu.max.burst", "max", EINVAL, "20000" },
	{ "cpu.max.burst", "", 0, "20000" },
	{ "cpu.max.burst", "0", 0, "0" },
	{ "cpu.max", "max", 0, "max 50000" },
	{ "cpu.max.burst", "25000", 0, "25000" },
	{ "cpu.max", "20000 50000", EINVAL, "max 50000" },
	{ "cpu.max.burst", "0", 0, "0" },
	{ NULL, NULL, 0, NULL },
};

static void in_group(void (*fn)(void))
{
	enter_v2();
	EXPECT(!mkdir("g", 0755) && !chdir("g"));
	fn();
	EXPECT(!chdir("..") && !rmdir("g"));
	leave_v2();
}

static void check_weights(void)
{
	static const struct {
		int nice, weight;
	} by_nice[] = { { -20, 8668 }, { -19, 7007 }, { -15, 2847 }, { -10, 932 },
			{ -5, 305 },   { -1, 125 },   { 0, 100 },    { 1, 80 },
			{ 5, 33 },     { 10, 11 },    { 15, 4 },     { 19, 1 } },
	  by_weight[] = { { 19, 1 },	 { 18, 2 },	{ 16, 3 },     { 10, 10 },
			  { 3, 50 },	 { 0, 99 },	{ 0, 100 },    { 0, 101 },
			  { -10, 1000 }, { -17, 5000 }, { -20, 10000 } };
	char text[16];
	unsigned i;

	check_rows(weight_rows);
	for (i = 0; i < sizeof(by_nice) / sizeof(by_nice[0]); i++) {
		EXPECT(!put_number("cpu.weight.nice", by_nice[i].nice));
		snprintf(text, sizeof(text), "%d", by_nice[i].nice);
		EXPECT(reads("cpu.weight.nice", text));
		snprintf(text, sizeof(text), "%d", by_nice[i].weight);
		EXPECT(reads("cpu.weight", text));
	}
	for (i = 0; i < sizeof(by_weight) / sizeof(by_weight[0]); i++) {
		EXPECT(!put_number("cpu.weight", by_weight[i].weight));
		snprintf(text, sizeof(text), "%d", by_weight[i].nice);
		EXPECT(reads("cpu.weight.nice", text));
	}
}

static void weights(void)
{
	in_group(check_weights);
}

static void check_max(void)
{
	check_rows(max_rows);
}

static void limits_of_cpu(void)
{
	in_group(check_max);
}

/* In v2 nothing is wrong with a child that may use more than its parent. */
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
	/* What it was told is forgotten with it. */
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
	in_group(check_limits);
}

const struct check v2_tests[] = {
	{ "v2_present", present },
	{ "v2_weights", weights },
	{ "v2_max", limits_of_cpu },
	{ "v2_no_ratios", no_ratios },
	{ "v2_subtree", subtree_control },
	{ "v2_exclusive", exclusive },
	{ "v2_stat", statistics },
	{ "v2_limits", limits_of_tree },
	{ NULL, NULL },
};
