/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work conservation as the scheduler reports it against its definition. After each random operation
 * V is computed anew, by looking at every task and searching a maximum matching the simple way. Its
 * sum over time is compared with the counter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sched/dl/dl.h"
#include "sched/rt/rt.h"
#include "sim/explore/explore.h"

#define NR_SEEDS    40
#define NR_OPS_EACH 1000

static bool is_limited(const struct task *t)
{
	for (const struct fair_queue *q = t->fair.queue; q; q = q->owner ? q->owner->queue : NULL)
		if (q->throttled)
			return true;
	return false;
}

static bool could_be_picked(const struct rq *rq, const struct task *t)
{
	if (t->on_rq != TASK_QUEUED || t->cpu != rq->cpu)
		return false;
	if (t->class->rank == CLASS_rt)
		return !rt_seen(rq)->throttled;
	if (t->policy == SCHED_DEADLINE)
		return !dl_part_seen(t)->throttled;
	return t->class->rank != CLASS_fair || !is_limited(t);
}

struct situation {
	u64 waiting[WORLD_TASKS]; /* the CPUs that each may run on */
	unsigned nr_waiting;
	u64 idle;
	int taken_by[WORLD_CPUS]; /* index of a waiting task; -1: free */
};

/*
 * Notes the tasks that wait on the CPU of @rq: all that could be picked except the one that runs or
 * will run.
 */
static void look_at(struct situation *now, const struct world *w, const struct rq *rq)
{
	u64 all = world_cpus(w), others[WORLD_TASKS];
	unsigned nr = 0, nr_free = 0;

	/* A CPU out of service neither idles nor has waiting tasks. */
	if (!rq->online)
		return;
	for (unsigned i = 0; i < w->nr_tasks; i++) {
		const struct task *t = w->subject[i].t ? &w->subject[i].t->task : NULL;

		if (!t || t == rq->curr || !could_be_picked(rq, t))
			continue;
		others[nr++] = t->allowed.bits[0] & all;
		nr_free += (t->allowed.bits[0] & all) == all;
	}
	if (rq->curr == rq->idle && !nr)
		now->idle |= BIT(rq->cpu);
	if (rq->curr != rq->idle && could_be_picked(rq, rq->curr)) {
		for (unsigned i = 0; i < nr; i++)
			now->waiting[now->nr_waiting++] = others[i];
		return;
	}
	/* The CPU is between two tasks: one of them will run, a restricted one if there is any. */
	nr_free = nr && nr_free == nr ? nr - 1 : nr_free;
	while (nr_free--)
		now->waiting[now->nr_waiting++] = all;
}

/* Kuhn's algorithm, recursively. */
static bool find_cpu(struct situation *now, unsigned task, u64 *seen)
{
	for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++) {
		u64 bit = BIT(cpu);

		if (!(now->waiting[task] & now->idle & bit) || (*seen & bit))
			continue;
		*seen |= bit;
		if (now->taken_by[cpu] >= 0 && !find_cpu(now, (unsigned)now->taken_by[cpu], seen))
			continue;
		now->taken_by[cpu] = (int)task;
		return true;
	}
	return false;
}

/* V of the CPUs @cpus as if there were no others. */
static unsigned wasted_by_definition(const struct world *w, u64 cpus)
{
	struct situation now = { .nr_waiting = 0 };
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++)
		now.taken_by[cpu] = -1;
	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++)
		if (cpus & BIT(cpu))
			look_at(&now, w, cpu_rq(w->sim->s, cpu));
	for (unsigned i = 0; i < now.nr_waiting; i++) {
		u64 seen = 0;

		nr += find_cpu(&now, i, &seen);
	}
	return nr;
}

static unsigned wasted_within_caches(const struct world *w)
{
	u64 behind[WORLD_CPUS] = { 0 }; /* bit per CPU, by the first CPU behind the same cache */
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++)
		behind[cpu_rq(w->sim->s, cpu)->llc_id] |= BIT(cpu);
	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++)
		nr += wasted_by_definition(w, behind[cpu]);
	return nr;
}

/*
 * V summed over time. Time passes between operations. It counts if the CPUs agree on it and none is
 * late: a switch that was asked for begins at the time of the request, so V changes then.
 */
static struct {
	bool sum, late; /* late: after the last operation a CPU had not done a switch yet */
	u64 at, ns, llc_ns;
	unsigned nr_wasted, nr_llc_wasted;
	/* how often V was not 0, with restricted tasks, beyond one cache */
	u64 nr_nonzero, nr_restricted, nr_far;
} seen;

static bool waste_is_as_defined(const struct world *w)
{
	struct sched *s = w->sim->s;
	struct sched_waste_stat stat;
	bool agree = !seen.late;

	seen.late = false;
	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++) {
		const struct sim_cpu *c = &w->sim->cpus[cpu];

		agree &= !c->skew_ns;
		seen.late |= c->kicked || event_queued(&c->kick);
	}
	sched_waste(s, 0, &stat);
	if (seen.at > w->sim->now)
		seen.at = 0; /* the machine is new */
	if (!seen.at) {
		seen.ns = stat.ns;
		seen.llc_ns = stat.llc_ns;
	} else {
		seen.ns += seen.nr_wasted * (w->sim->now - seen.at);
		seen.llc_ns += seen.nr_llc_wasted * (w->sim->now - seen.at);
	}
	seen.at = w->sim->now;
	seen.nr_wasted = stat.counted ? wasted_by_definition(w, world_cpus(w)) : 0;
	seen.nr_llc_wasted = stat.counted ? wasted_within_caches(w) : 0;
	seen.nr_nonzero += seen.nr_wasted != 0;
	seen.nr_far += seen.nr_llc_wasted && seen.nr_llc_wasted < seen.nr_wasted;
	seen.nr_restricted += seen.nr_wasted && s->waste.nr_restricted;
	if (!agree || !seen.sum) {
		seen.ns = stat.ns;
		seen.llc_ns = stat.llc_ns;
	}
	return stat.nr_wasted == seen.nr_wasted && stat.ns == seen.ns && stat.llc_ns == seen.llc_ns;
}

static void waste_is_its_definition_after_every_operation(void **state)
{
	struct verdict verdict;

	seen.nr_nonzero = seen.nr_restricted = seen.nr_far = 0;
	for (u64 seed = 1; seed <= NR_SEEDS; seed++) {
		struct script script = { .policy = *state, .holds = waste_is_as_defined };

		seen.at = 0;
		seen.sum = seed % 2;
		script_draw(&script, seed, NR_OPS_EACH);
		for (unsigned i = 0; seen.sum && i < script.nr_ops; i++)
			script.ops[i].inside = 0;
		verdict = script_run(&script);
		if (verdict.what[0]) {
			script.nr_ops = verdict.nr_ops;
			script_shrink(&script, verdict.what);
			script_print(&script, stdout);
			fail_msg("seed %llu: %s", (unsigned long long)seed, verdict.what);
		}
		free(script.ops);
	}
	/* Otherwise nothing was tested. */
	assert_true(seen.nr_nonzero > NR_SEEDS * NR_OPS_EACH / 100);
	assert_true(seen.nr_restricted > NR_SEEDS);
	assert_true(seen.nr_far > NR_SEEDS / 4);
}

int main(void)
{
	struct CMUnitTest tests[16];
	unsigned nr = 0;

	for (const char *name; (name = sched_fair_name(nr)) && nr < ARRAY_SIZE(tests); nr++)
		tests[nr] =
			(struct CMUnitTest){ name, waste_is_its_definition_after_every_operation,
					     NULL, NULL, (void *)(uintptr_t)name };
	return _cmocka_run_group_tests("prop_waste", tests, nr, NULL, NULL);
}
