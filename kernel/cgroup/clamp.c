/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller `cpu`: clamps of utilisation, where CPUs have several speeds. The files speak of
 * percent with two decimals, or of `max`; the scheduler of 1024ths (sched/freq/clamp_group.c). What
 * was written is kept, because its rounding cannot be undone.
 *
 * Reference: Linux 6.1, Documentation/admin-guide/cgroup-v2.rst, "CPU".
 */
#include "kernel/cgroup/internal.h"

#include "kernel/kernel.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define PERCENT 100 /* a hundredth is 1 */
#define ALL	(100 * PERCENT)

static u32 util_of(u64 percent)
{
	return (u32)((percent * 1024 + ALL / 2) / ALL);
}

static size_t show(const struct cgroup *cg, enum sched_clamp which, char *buf, size_t size)
{
	u32 percent = cg->clamp_percent[which];
	struct text t = text_of(buf, size);

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (util_of(percent) == 1024)
		text_add(&t, "max\n");
	else
		text_add(&t, "%u.%02u\n", percent / PERCENT, percent % PERCENT);
	return t.len;
}

/* Returns the number at *@at and moves *@at behind it. Beyond 64 bits it is just very large. */
static u64 take_digits(const char **at)
{
	u64 value = 0;

	for (; (u8)(**at - '0') <= 9; ++*at)
		value = min(value, UINT64_MAX / 16) * 10 + (u64)(**at - '0');
	return value;
}

/* The two digits behind the point at @text, rounded; whatever follows is ignored, as by Linux. */
static u64 hundredths(const char *text)
{
	const char *end = text;
	u64 value = take_digits(&end);

	if (end - text == 1)
		return value * 10;
	for (; end - text > 3; end--)
		value /= 10;
	return end - text == 3 ? (value + 5) / 10 : value;
}

/* 0 and *@percent, in hundredths. -EINVAL: no number. -ERANGE: negative, or over 100 %. */
static int parse_percent(const char *text, u64 *percent)
{
	bool negative = *text == '-';
	const char *at = text + negative;
	u64 whole;

	*percent = ALL;
	if (!strcmp(text, "max"))
		return 0;
	if ((u8)(*at - '0') > 9)
		return -EINVAL;
	whole = take_digits(&at);
	if (*at == '.' && at[1] == '-')
		return -EINVAL;
	*percent = min(whole, ALL + 1ull) * PERCENT + (*at == '.' ? hundredths(at + 1) : 0);
	return (negative && whole) || *percent > ALL ? -ERANGE : 0;
}

static int store(struct cgroup *cg, enum sched_clamp which, char *text, size_t len)
{
	u64 percent;
	int err = parse_percent(cgroup_strip(text, &len), &percent);

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (err)
		return err;
	with_irqs_off(err = task_group_set_clamp(machine, cg->tg, which, util_of(percent)));
	if (!err)
		cg->clamp_percent[which] = (u32)percent;
	return err;
}

void cgroup_reset_clamps(struct cgroup *cg)
{
	debug_assert(mutex_is_held(&cgroup_mutex));
	cg->clamp_percent[SCHED_CLAMP_MIN] = 0;
	cg->clamp_percent[SCHED_CLAMP_MAX] = ALL;
}

/* --- the table ------------------------------------------------------------------------ */

static size_t show_min(struct cgroup *cg, char *buf, size_t size)
{
	return show(cg, SCHED_CLAMP_MIN, buf, size);
}

static size_t show_max(struct cgroup *cg, char *buf, size_t size)
{
	return show(cg, SCHED_CLAMP_MAX, buf, size);
}

static int store_min(struct cgroup *cg, char *text, size_t len)
{
	return store(cg, SCHED_CLAMP_MIN, text, len);
}

static int store_max(struct cgroup *cg, char *text, size_t len)
{
	return store(cg, SCHED_CLAMP_MAX, text, len);
}

#define CHILD (CGF_V1 | CGF_V2 | CGF_CHILD | CGF_CPU | CGF_SPEEDS)

const struct cgroup_file cgroup_clamp_files[] = {
	{ "cpu.uclamp.min", CHILD, .show = show_min, .store = store_min },
	{ "cpu.uclamp.max", CHILD, .show = show_max, .store = store_max },
};
const unsigned nr_cgroup_clamp_files = ARRAY_SIZE(cgroup_clamp_files);
