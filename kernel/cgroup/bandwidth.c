/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller `cpu`, its second part: the most CPU time that a group may use, and how often this
 * limit held it back.
 *
 * v1 has a file for each of quota, period and burst; v2 puts the first two on one line. All are
 * microseconds, except the times of v1's cpu.stat, which are nanoseconds. A file changes one of the
 * three and leaves the others; the scheduler judges all three together
 * (sched/fair/core/bandwidth.c).
 *
 * Reference: Linux 6.1, Documentation/scheduler/sched-bwc.rst and admin-guide/cgroup-v2.rst; the
 * odd texts that cpu.max accepts were observed on that Linux.
 */
#include "kernel/cgroup/internal.h"

#include "kernel/kernel.h"
#include "kernel/scx/group.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define MAX_US (UINT64_MAX / NS_PER_US) /* what 64 bits of nanoseconds can hold */

static u64 ns_of_us(u64 us)
{
	return us * NS_PER_US;
}

static u64 us_of_ns(u64 ns)
{
	return ns / NS_PER_US;
}

/*
 * Set all three at once, in microseconds; @quota_us of ~0 means no quota. v1 refuses a quota that
 * the quotas of ancestors or descendants contradict. v2 takes it, and the smallest one on the path
 * to the root counts.
 */
static int set_bandwidth(struct cgroup *cg, u64 quota_us, u64 period_us, u64 burst_us)
{
	bool nested = cg->hierarchy == HIERARCHY_V1;
	u64 quota_ns = SCHED_QUOTA_NONE;
	int err;

	assert(mutex_is_held(&cgroup_mutex));
	if (period_us > MAX_US || burst_us > MAX_US)
		return -EINVAL;
	if (quota_us != SCHED_QUOTA_NONE) {
		if (quota_us > MAX_US)
			return -EINVAL;
		quota_ns = ns_of_us(quota_us);
	}
	with_irqs_off(err = task_group_set_bandwidth(machine, cg->tg, quota_ns, ns_of_us(period_us),
						     ns_of_us(burst_us), nested));
	if (!err)
		scx_group_changed(cg->tg, EXT_GROUP_BANDWIDTH);
	return err;
}

struct bandwidth { /* microseconds; quota ~0: none */
	u64 quota, period, burst;
};

static struct bandwidth bandwidth_of(const struct cgroup *cg)
{
	struct task_group_params p = {
		.quota_ns = SCHED_QUOTA_NONE,
		.period_ns = SCHED_PERIOD_DEFAULT_NS,
	};

	debug_assert(mutex_is_held(&cgroup_mutex));
	/* The root has none; it shows what a new group has. */
	if (cg->tg)
		task_group_params(cg->tg, &p);
	return (struct bandwidth){
		.quota = p.quota_ns == SCHED_QUOTA_NONE ? SCHED_QUOTA_NONE : us_of_ns(p.quota_ns),
		.period = us_of_ns(p.period_ns),
		.burst = us_of_ns(p.burst_ns),
	};
}

static u64 get_quota(struct cgroup *cg)
{
	return bandwidth_of(cg).quota; /* none: -1 */
}

static int set_quota(struct cgroup *cg, u64 value)
{
	struct bandwidth b = bandwidth_of(cg);

	return set_bandwidth(cg, (s64)value < 0 ? SCHED_QUOTA_NONE : value, b.period, b.burst);
}

static u64 get_period(struct cgroup *cg)
{
	return bandwidth_of(cg).period;
}

static int set_period(struct cgroup *cg, u64 value)
{
	struct bandwidth b = bandwidth_of(cg);

	return set_bandwidth(cg, b.quota, value, b.burst);
}

static u64 get_burst(struct cgroup *cg)
{
	return bandwidth_of(cg).burst;
}

static int set_burst(struct cgroup *cg, u64 value)
{
	struct bandwidth b = bandwidth_of(cg);

	return set_bandwidth(cg, b.quota, b.period, value);
}

/* v2: "$MAX $PERIOD" */
static size_t show_max(struct cgroup *cg, char *buf, size_t size)
{
	struct bandwidth b = bandwidth_of(cg);
	struct text t = text_of(buf, size);

	if (b.quota == SCHED_QUOTA_NONE)
		text_add(&t, "max %lu\n", b.period);
	else
		text_add(&t, "%lu %lu\n", b.quota, b.period);
	return t.len;
}

/*
 * The decimal number that @text begins with; whatever follows its digits is ignored, as by Linux.
 * -EINVAL: no digit. A number that does not fit 64 bits is too large for every use, so it becomes
 * the largest.
 */
static int leading_number(const char *text, u64 *out)
{
	size_t digits = 0;

	while ((u8)(text[digits] - '0') <= 9)
		digits++;
	while (digits > 1 && *text == '0') /* not octal */
		text++, digits--;
	if (!digits)
		return -EINVAL;
	if (parse_u64(text, digits, out))
		*out = UINT64_MAX;
	return 0;
}

static char *skip_blanks(char *text)
{
	size_t len = strlen(text);

	return cgroup_strip(text, &len);
}

/*
 * One word changes only the quota. A second word changes the period if it is a number; further
 * words change nothing.
 */
static int store_max(struct cgroup *cg, char *text, size_t len)
{
	struct bandwidth b = bandwidth_of(cg);
	u64 quota, period;
	char *end;

	text = cgroup_strip(text, &len);
	for (end = text; *end && *end != ' ' && *end != '\t' && *end != '\n'; end++)
		;
	if (*end) {
		*end = '\0';
		if (!leading_number(skip_blanks(end + 1), &period))
			b.period = period;
	}
	if (!strcmp(text, "max"))
		return set_bandwidth(cg, SCHED_QUOTA_NONE, b.period, b.burst);
	if (leading_number(text, &quota))
		return -EINVAL;
	/* UINT64_MAX would mean "no quota"; a number that large is an error instead. */
	return set_bandwidth(cg, min(quota, UINT64_MAX - 1), b.period, b.burst);
}

/* --- cpu.stat ------------------------------------------------------------------------- */

static struct task_group_stat stat_of(const struct cgroup *cg)
{
	struct task_group_stat s = { 0 };

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (cg->tg) /* the root is never held back */
		with_irqs_off(task_group_stat(machine, cg->tg, &s));
	return s;
}

static size_t show_stat(struct cgroup *cg, char *buf, size_t size)
{
	struct task_group_stat s = stat_of(cg);
	struct text t = text_of(buf, size);

	text_add(&t, "nr_periods %lu\nnr_throttled %lu\nthrottled_time %lu\n", s.nr_periods,
		 s.nr_throttled, s.throttled_ns);
	if (s.schedstats)
		text_add(&t, "wait_sum %lu\n", s.wait_sum_ns);
	text_add(&t, "nr_bursts %lu\nburst_time %lu\n", s.nr_bursts, s.burst_ns);
	return t.len;
}

void cgroup_add_bandwidth_stat(const struct cgroup *cg, struct text *t)
{
	struct task_group_stat s = stat_of(cg);

	text_add(t, "nr_periods %lu\nnr_throttled %lu\nthrottled_usec %lu\n", s.nr_periods,
		 s.nr_throttled, us_of_ns(s.throttled_ns));
	text_add(t, "nr_bursts %lu\nburst_usec %lu\n", s.nr_bursts, us_of_ns(s.burst_ns));
}

/* --- the table ------------------------------------------------------------------------ */

#define V1	 (CGF_V1 | CGF_ROOT | CGF_CHILD | CGF_CPU)
#define V2_CHILD (CGF_V2 | CGF_CHILD | CGF_CPU)

const struct cgroup_file cgroup_bandwidth_files[] = {
	{ "cpu.cfs_quota_us", V1 | CGF_SIGNED, .get = get_quota, .set = set_quota },
	{ "cpu.cfs_period_us", V1, .get = get_period, .set = set_period },
	{ "cpu.cfs_burst_us", V1, .get = get_burst, .set = set_burst },
	{ "cpu.stat", V1, .show = show_stat },
	{ "cpu.max", V2_CHILD, .show = show_max, .store = store_max },
	{ "cpu.max.burst", V2_CHILD, .get = get_burst, .set = set_burst },
};
const unsigned nr_cgroup_bandwidth_files = ARRAY_SIZE(cgroup_bandwidth_files);
