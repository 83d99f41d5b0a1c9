/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The controller `cpu`, its third part: deadlines of groups and CPU time guaranteed to them, which
 * the fair policy fdl keeps (sched/fair/fdl/fdl.c). v1 and v2 have the same files. No Linux has
 * them, because FDL was proposed and never merged.
 *
 * While any group has a guarantee, a kernel thread makes the scheduler adapt the shares every 10
 * ms. The thread ends with the last guarantee, so that an idle machine can stop its ticks.
 *
 * Reference: Fair Deadline RFC (docs/sources.md).
 */
#include "kernel/cgroup/internal.h"

#include "kernel/kernel.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/fmt.h"

/* The root has no parameters: it shows what a new group has. */
static struct task_group_params params_of(const struct cgroup *cg)
{
	struct task_group_params p = { 0 };

	debug_assert(mutex_is_held(&cgroup_mutex));
	if (cg->tg)
		task_group_params(cg->tg, &p);
	return p;
}

/* --- deadlines ------------------------------------------------------------------------ */

static u64 get_rr(struct cgroup *cg)
{
	return params_of(cg).deadline_rr_ns;
}

static u64 get_wakeup(struct cgroup *cg)
{
	return params_of(cg).deadline_wakeup_ns;
}

static int set_deadline(struct cgroup *cg, u64 rr_ns, u64 wakeup_ns)
{
	int err;

	debug_assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(err = task_group_set_deadline(machine, cg->tg, rr_ns, wakeup_ns));
	return err;
}

/* A group without a round-robin deadline has no wakeup deadline either. */
static int set_rr(struct cgroup *cg, u64 value)
{
	return set_deadline(cg, value, value ? get_wakeup(cg) : 0);
}

static int set_wakeup(struct cgroup *cg, u64 value)
{
	return set_deadline(cg, get_rr(cg), value);
}

/* --- guarantees ----------------------------------------------------------------------- */

static bool controlling; /* the kernel thread exists; guarded by: cgroup_mutex */

static bool control(void)
{
	bool more;

	assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(more = sched_fdl_control(machine));
	return more;
}

/*
 * The control thread has nice -20 but is not real-time. A real-time task that used up the runtime
 * of its class would be kept from running while it holds the mutex.
 */
static void control_main(void *unused)
{
	struct sched_attr_req attr = { .policy = SCHED_NORMAL, .nice = -20 };
	u64 next = clock_ns();
	bool more = true;

	(void)unused;
	with_irqs_off(sched_set_attr(machine, &current->task, &attr));
	while (more) {
		next = max(next + sched_fdl_interval_ns(machine), clock_ns());
		sleep_until(next, 0);
		mutex_lock(&cgroup_mutex);
		more = control();
		controlling = more;
		mutex_unlock(&cgroup_mutex);
	}
}

static u64 get_guaranteed(struct cgroup *cg)
{
	return params_of(cg).guaranteed_shares;
}

static int set_guaranteed(struct cgroup *cg, u64 value)
{
	u64 before = get_guaranteed(cg);
	int err;

	assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(err = task_group_set_guaranteed(machine, cg->tg, value));
	if (err || !value || controlling)
		return err;
	controlling = kthread_create("fdl_control", control_main, NULL);
	if (controlling)
		return 0;
	with_irqs_off(task_group_set_guaranteed(machine, cg->tg, before));
	return -ENOMEM;
}

/* --- what became of it ---------------------------------------------------------------- */

static void add_parameters(const struct cgroup *cg, struct text *t)
{
	struct task_group_params p = params_of(cg);

	text_add(t, "deadline_rr %lu\ndeadline_wakeup %lu\nguaranteed_shares %lu\n",
		 p.deadline_rr_ns, p.deadline_wakeup_ns, p.guaranteed_shares);
}

/* Usage is in 1024ths of a CPU, times are in ns. */
static size_t show_debug(struct cgroup *cg, char *buf, size_t size)
{
	struct task_group_fdl_stat s;
	struct text t = text_of(buf, size);

	debug_assert(mutex_is_held(&cgroup_mutex));
	with_irqs_off(task_group_fdl_stat(machine, cg->tg, &s));
	if (cg->tg) {
		add_parameters(cg, &t);
		text_add(&t, "dynamic_shares %lu\nlegacy_shares %lu\nabs_guaranteed %lu\n",
			 s.dynamic_shares, s.legacy_shares, s.abs_guaranteed);
		text_add(&t, "shares_increased %d\nshares_decreased %d\n", s.increased,
			 s.decreased);
		text_add(&t, "avg_usage %lu\navg_wait %lu\n", s.avg_usage, s.avg_wait);
		text_add(&t, "nr_dl_picks %lu\nnr_container_picks %lu\nnr_misses %lu\n",
			 s.nr_dl_picks, s.nr_container_picks, s.nr_misses);
		text_add(&t, "lag_pushed_ns %lu\nmax_gap_ns %lu\n", s.lag_pushed_ns, s.max_gap_ns);
	}
	text_add(&t, "overcommit %lu\n", s.overcommit);
	return t.len;
}

/* --- the table ------------------------------------------------------------------------ */

#define V1	 (CGF_V1 | CGF_ROOT | CGF_CHILD | CGF_CPU)
#define V2_CHILD (CGF_V2 | CGF_CHILD | CGF_CPU)

const struct cgroup_file cgroup_fdl_files[] = {
	{ "cpu.deadline_rr", V1, .get = get_rr, .set = set_rr },
	{ "cpu.deadline_rr", V2_CHILD, .get = get_rr, .set = set_rr },
	{ "cpu.deadline_wakeup", V1, .get = get_wakeup, .set = set_wakeup },
	{ "cpu.deadline_wakeup", V2_CHILD, .get = get_wakeup, .set = set_wakeup },
	{ "cpu.guaranteed_shares", V1, .get = get_guaranteed, .set = set_guaranteed },
	{ "cpu.guaranteed_shares", V2_CHILD, .get = get_guaranteed, .set = set_guaranteed },
	{ "cpu.qos_debug", V1, .show = show_debug },
	{ "cpu.qos_debug", V2_CHILD, .show = show_debug },
};
const unsigned nr_cgroup_fdl_files = ARRAY_SIZE(cgroup_fdl_files);
