/* SPDX-License-Identifier: GPL-2.0-only */
/* The laboratory of FDL's tests; see fdl.h. */
#include <stdlib.h>

#include "fdl.h"

struct lab *lab_new(const char *policy)
{
	struct lab *lab = calloc(1, sizeof(*lab));
	struct sched_cpu_desc one = { 0 };

	lab->m = machine_new_on(1, 100, &one, policy);
	set_feature(lab->m, "NO_START_DEBIT");
	set_tunable(lab->m, "latency_ns", "24000000");
	set_tunable(lab->m, "min_granularity_ns", "3000000");
	set_tunable(lab->m, "wakeup_granularity_ns", "4000000");
	lab->start = lab->m->now;
	lab->tick_ns = lab->m->s->tick_ns;
	lab->next_tick = lab->m->now + lab->tick_ns;
	lab->next_control = lab->m->now + 10 * MS;
	return lab;
}

void lab_free(struct lab *lab)
{
	machine_free(lab->m);
	free(lab);
}

static struct actor *add(struct lab *lab, struct task_group *tg)
{
	struct actor *a = &lab->actor[lab->nr++];

	*a = (struct actor){ .tg = tg };
	a->t = tg ? spawn_in(lab->m, tg, 0) : spawn_nice(lab->m, "hog", 0);
	return a;
}

struct actor *lab_hog(struct lab *lab)
{
	return add(lab, NULL);
}

struct actor *lab_group(struct lab *lab, u64 shares, u64 rr_ns, u64 wakeup_ns)
{
	struct task_group *tg = new_group(lab->m, NULL);

	assert_int_equal(task_group_set_shares(lab->m->s, tg, shares), 0);
	assert_int_equal(task_group_set_deadline(lab->m->s, tg, rr_ns, wakeup_ns), 0);
	return add(lab, tg);
}

/* --- events ------------------------------------------------------------------- */

static struct actor *runner(struct lab *lab)
{
	struct task *t = running(lab->m, 0);

	for (unsigned i = 0; i < lab->nr; i++)
		if (lab->actor[i].t == t)
			return &lab->actor[i];
	return NULL;
}

static void note(struct lab *lab)
{
	u64 now = lab->m->now;
	struct actor *runs = runner(lab);

	for (unsigned i = 0; i < lab->nr; i++) {
		struct actor *a = &lab->actor[i];

		if (a != runs && a->t->on_rq == TASK_QUEUED) {
			a->waits_since = a->waits_since ?: now;
			continue;
		}
		if (a == runs && a->waits_since)
			a->max_gap_ns = max(a->max_gap_ns, now - a->waits_since);
		a->waits_since = 0;
		if (a == runs && a->woken_at) {
			a->max_latency_ns = max(a->max_latency_ns, now - a->woken_at);
			a->woken_at = 0;
		}
	}
}

static void sleep_now(struct lab *lab, struct actor *a)
{
	a->left_ns = a->run_ns;
	a->wake_at = a->period_ns ? a->wake_at + a->period_ns : lab->m->now + a->sleep_ns;
	/* The task is late: its next job has been waiting. */
	if (a->wake_at <= lab->m->now)
		return;
	block(lab->m, 0, TASK_INTERRUPTIBLE);
}

static bool asleep(const struct actor *a)
{
	return a->t->on_rq == TASK_OFF_RQ;
}

void lab_periodic(struct lab *lab, struct actor *a, u64 run_ns, u64 period_ns, u64 offset_ns)
{
	a->run_ns = run_ns;
	a->period_ns = period_ns;
	a->left_ns = 1;
	/* Set up as if it had woken one period earlier. */
	a->wake_at = lab->m->now + offset_ns - period_ns;
}

void lab_farmer(struct actor *a, u64 run_ns, u64 sleep_ns)
{
	a->run_ns = a->left_ns = run_ns;
	a->sleep_ns = sleep_ns;
}

static u64 next_event(struct lab *lab)
{
	struct machine *m = lab->m;
	struct actor *runs = runner(lab);
	u64 next = min(lab->next_tick, lab->next_control);

	if (m->timer[0])
		next = min(next, max(m->timer[0], m->now));
	if (runs && runs->run_ns)
		next = min(next, m->now + runs->left_ns);
	for (unsigned i = 0; i < lab->nr; i++)
		if (asleep(&lab->actor[i]))
			next = min(next, lab->actor[i].wake_at);
	return next;
}

static void wake_sleepers(struct lab *lab)
{
	for (unsigned i = 0; i < lab->nr; i++) {
		struct actor *a = &lab->actor[i];

		if (!asleep(a) || a->wake_at > lab->m->now)
			continue;
		a->woken_at = lab->m->now;
		wake(lab->m, a->t, 0);
	}
}

static void pass_to(struct lab *lab, u64 when)
{
	struct machine *m = lab->m;
	struct actor *runs = runner(lab);
	u64 before = m->s->rq[0].nr_switches;

	if (runs && runs->run_ns)
		runs->left_ns -= min(runs->left_ns, when - m->now);
	advance(m, when - m->now);
	if (runs && runs == runner(lab) && runs->run_ns && !runs->left_ns)
		sleep_now(lab, runs);
	wake_sleepers(lab);
	if (when == lab->next_control) {
		lab->next_control += 10 * MS;
		if (lab->controls)
			sched_fdl_control(m->s);
	}
	if (when == lab->next_tick) {
		lab->next_tick += lab->tick_ns;
		if (!lab->tickless)
			sched_tick(m->s, 0);
		settle(m);
	}
	lab->nr_switches += m->s->rq[0].nr_switches - before;
	note(lab);
	if (lab->checks)
		sched_check(m->s);
}

void lab_step(struct lab *lab)
{
	pass_to(lab, next_event(lab));
}

void lab_run(struct lab *lab, u64 ns)
{
	u64 end = lab->m->now + ns;

	settle(lab->m);
	note(lab);
	while (lab->m->now < end)
		pass_to(lab, min(next_event(lab), end));
}

/* --- results ------------------------------------------------------------------- */

void lab_mark(struct lab *lab)
{
	lab->start = lab->m->now;
	lab->nr_switches = 0;
	for (unsigned i = 0; i < lab->nr; i++) {
		struct actor *a = &lab->actor[i];

		a->start_ns = sched_task_runtime(lab->m->s, a->t);
		a->max_gap_ns = a->max_latency_ns = a->waits_since = 0;
	}
	note(lab);
}

u64 lab_share(const struct lab *lab, const struct actor *a)
{
	return (sched_task_runtime(lab->m->s, a->t) - a->start_ns) * 10000 /
	       (lab->m->now - lab->start);
}

u64 lab_switches(const struct lab *lab)
{
	return lab->nr_switches * NS_PER_SEC / (lab->m->now - lab->start);
}
