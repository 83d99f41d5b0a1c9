/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which part of a domain is the busiest, whether tasks should move, how much, and from which
 * runqueue: balancing (Linux 6.1, docs/sources.md) beside a reference that is worked out here from
 * the definitions, on machines whose numbers are drawn. They are small: all borders are met.
 */
#include <stdio.h>
#include <string.h>

#include "smp.h"
#include "sched/balance/pass.h"

static u64 dice_state;

/* 0 .. @n - 1 */
static unsigned dice(unsigned n)
{
	dice_state = dice_state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)((dice_state >> 33) % n);
}

/* --- the reference ------------------------------------------------------------------------- */

enum state { SPARE, FULL, MISFIT, HINDERED, OVERLOADED };

struct sums {
	const struct group *of;
	double load, util, runnable, capacity;
	unsigned tasks, fair, idle, size;
	u64 misfit;
	enum state state;
};

static bool idles(const struct rq *rq)
{
	return rq->curr == rq->idle && rq->nr_running == 0;
}

static bool lost_much(const struct rq *rq, unsigned pct)
{
	return (double)rq->capacity < 1024.0 * 100 / pct;
}

static enum state state_of(const struct sums *g, unsigned pct)
{
	if (g->tasks > g->size &&
	    (g->util * pct > g->capacity * 100 || g->runnable * 100 > g->capacity * pct))
		return OVERLOADED;
	if (g->of->imbalance)
		return HINDERED;
	if (g->misfit)
		return MISFIT;
	if (g->tasks < g->size)
		return SPARE;
	return g->runnable * 100 <= g->capacity * pct && g->util * pct < g->capacity * 100 ? SPARE
											   : FULL;
}

static struct sums sum_up(struct machine *m, const struct group *of, unsigned pct, bool misfits)
{
	struct sums g = { .of = of };
	unsigned cpu;

	for_each_cpu(cpu, &of->cpus) {
		const struct rq *rq = rq_of(m, cpu);

		g.load += rq->fair.avg.load_avg;
		g.util += min(1024u, (unsigned)rq->fair.avg.util_avg);
		g.runnable += rq->fair.avg.runnable_avg;
		g.capacity += rq->capacity;
		g.tasks += rq->nr_running;
		g.fair += rq->fair.tasks.nr;
		g.idle += idles(rq);
		g.size++;
		if (misfits && rq->fair.tasks.nr == 1 && lost_much(rq, pct))
			g.misfit = max(g.misfit, rq->fair.avg.load_avg);
	}
	g.state = state_of(&g, pct);
	return g;
}

static u64 mean(const struct sums *g)
{
	return (u64)g->load * 1024 / (u64)g->capacity;
}

static bool is_busier(const struct sums *a, const struct sums *b)
{
	if (!a->fair)
		return false;
	if (!b->of)
		return true;
	if (a->state != b->state)
		return a->state > b->state;
	if (a->state == OVERLOADED)
		return mean(a) > mean(b);
	if (a->state == MISFIT)
		return a->misfit > b->misfit;
	if (a->state != SPARE)
		return false;
	return a->idle != b->idle ? a->idle < b->idle : a->tasks > b->tasks;
}

static bool spreads(const struct domain *sd)
{
	return sd->child && (sd->child->flags & SD_PREFER_SIBLING);
}

/* Should tasks move from @far to @here? @all: both and the rest. */
static bool should_move(const struct pass *p, const struct sums *here, const struct sums *far,
			const struct sums *all)
{
	unsigned pct = p->sd->imbalance_pct;

	if (!far->of)
		return false;
	if (far->state == MISFIT || far->state == HINDERED)
		return true;
	if (here->state > far->state)
		return false;
	if (here->state == OVERLOADED)
		return mean(here) < mean(far) &&
		       mean(here) * (u64)all->capacity < (u64)all->load * 1024 &&
		       mean(far) * 100 > mean(here) * pct;
	if (spreads(p->sd) && here->state == SPARE && far->tasks > here->tasks + 1)
		return true;
	if (far->state == OVERLOADED)
		return true;
	if (p->idle == CPU_BUSY || (far->size > 1 && here->idle <= far->idle + 1))
		return false;
	return far->fair != 1;
}

struct wish {
	enum migration_type type;
	u64 amount;
};

static u64 less(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static struct wish fill(const struct pass *p, const struct sums *here, const struct sums *far)
{
	u64 tasks;

	if (far->state > FULL && !(p->sd->flags & SD_SHARE_LLC)) {
		u64 room = less((u64)here->capacity, (u64)here->util);

		return room || p->idle == CPU_BUSY ? (struct wish){ MIGRATE_UTIL, room }
						   : (struct wish){ MIGRATE_TASKS, 1 };
	}
	tasks = far->size == 1 || spreads(p->sd) ? less(far->tasks, here->tasks)
						 : less(here->idle, far->idle);
	/* On one node a pair may stay while few run. */
	if ((p->sd->flags & SD_NUMA) && here->tasks + 1 <= p->sd->imb_numa_nr && tasks <= 2)
		tasks = 0;
	return (struct wish){ MIGRATE_TASKS, tasks / 2 };
}

static struct wish wish_of(const struct pass *p, const struct sums *here, const struct sums *far,
			   const struct sums *all)
{
	u64 average = (u64)all->load * 1024 / (u64)all->capacity, most, lack;

	if (far->state == MISFIT)
		return (struct wish){ MIGRATE_LOAD, far->misfit };
	if (far->state == HINDERED)
		return (struct wish){ MIGRATE_TASKS, 1 };
	if (here->state == SPARE)
		return fill(p, here, far);
	most = far->state == OVERLOADED ? mean(far) : 0;
	if (mean(here) >= most || mean(here) >= average)
		return (struct wish){ MIGRATE_LOAD, 0 };
	lack = (average - mean(here)) * (u64)here->capacity;
	/* Below the average itself, the far part has no excess that would be a limit. */
	if (most >= average)
		lack = min(lack, (most - average) * (u64)far->capacity);
	return (struct wish){ MIGRATE_LOAD, lack / 1024 };
}

/* The runqueue with the most of what is to move; that of an only task does not count. */
static int source_of(struct machine *m, const struct pass *p, const struct group *of,
		     const struct wish *w)
{
	double most = 0;
	unsigned cpu;
	int found = -1;

	for_each_cpu(cpu, &of->cpus) {
		const struct rq *rq = rq_of(m, cpu);
		unsigned nr = rq->fair.tasks.nr;
		double has = nr;

		if (w->type == MIGRATE_UTIL)
			has = min(1024u, (unsigned)rq->fair.avg.util_avg);
		else if (w->type == MIGRATE_LOAD)
			has = (double)rq->fair.avg.load_avg / (double)rq->capacity;
		if (!nr || has <= most)
			continue;
		if (nr == 1 && w->type == MIGRATE_UTIL)
			continue;
		if (nr == 1 && w->type == MIGRATE_LOAD && rq->fair.avg.load_avg > w->amount &&
		    !lost_much(rq, p->sd->imbalance_pct))
			continue;
		most = has;
		found = (int)cpu;
	}
	return found;
}

/* --- machines ------------------------------------------------------------------------------- */

static void draw_cpu(struct machine *m, unsigned cpu, struct task *someone)
{
	static const u64 capacities[] = { 1024, 1024, 1024, 512, 875, 876, 500 };
	static const u64 part[] = { 0, 1, 437, 512, 585, 875, 1024, 550, 1198, 2048 };
	struct rq *rq = rq_of(m, cpu);
	unsigned fair = dice(4), urgent = !dice(6);

	rq->nr_running = fair + urgent;
	rq->fair.tasks.nr = fair;
	rq->curr = rq->nr_running ? someone : rq->idle;
	rq->capacity = capacities[dice(ARRAY_SIZE(capacities))];
	rq->fair.avg.load_avg = dice(3) ? dice(6) * 512 : dice(4000);
	rq->fair.avg.util_avg = dice(3) ? part[dice(7)] : dice(1025);
	rq->fair.avg.runnable_avg = dice(3) ? part[dice(10)] : dice(3000);
	rq->fair.avg.util_est_enqueued = 0;
}

static void draw_machine(struct machine *m, struct task *someone)
{
	struct domain *sd;
	bool calm = dice(2);

	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
		draw_cpu(m, cpu, someone);
		if (calm && !dice(2))
			rq_of(m, cpu)->capacity = 1024;
	}
	for_each_domain(sd, rq_of(m, 0)) {
		struct group *g = sd->parts;

		do
			g->imbalance = !dice(10);
		while ((g = g->next) != sd->parts);
		sd->imb_numa_nr = dice(4);
	}
}

static const char *kind_of(enum migration_type type)
{
	return type == MIGRATE_LOAD ? "load" : type == MIGRATE_UTIL ? "utilisation" : "tasks";
}

/* "CPU 2 with 3", or "nobody". The text lasts as long as one more is asked for. */
static const char *cpu_with(struct machine *m, const struct wish *w, int cpu)
{
	static char texts[2][80];
	static unsigned turn;
	const struct rq *rq = cpu < 0 ? NULL : rq_of(m, (unsigned)cpu);
	char *text = texts[turn++ % 2];

	if (!rq)
		return "nobody";
	if (w->type == MIGRATE_LOAD)
		snprintf(text, sizeof(texts[0]), "CPU %d with %lu, and a capacity of %lu", cpu,
			 rq->fair.avg.load_avg, rq->capacity);
	else
		snprintf(text, sizeof(texts[0]), "CPU %d with %lu", cpu,
			 w->type == MIGRATE_UTIL ? rq->fair.avg.util_avg : rq->fair.tasks.nr);
	return text;
}

static void compare(struct machine *m, struct domain *sd, enum idle_type idle)
{
	struct pass p = { .s = m->s, .sd = sd, .dst = rq_of(m, 0), .idle = idle };
	struct sums here = { 0 }, far = { 0 }, all = { 0 };
	const struct group *g = sd->parts, *found;
	struct wish w;

	p.cpus = sd->span->cpus;
	do {
		struct sums s = sum_up(m, g, sd->imbalance_pct, g != sd->parts && idle != CPU_BUSY);

		all.load += s.load;
		all.capacity += s.capacity;
		if (g == sd->parts)
			here = s;
		else if (is_busier(&s, &far))
			far = s;
	} while ((g = g->next) != sd->parts);
	found = find_busiest_group(&p);
	if (!should_move(&p, &here, &far, &all)) {
		if (found)
			fail_msg("tasks are to come from the part of CPU %u, where none should "
				 "move (level %s)",
				 cpumask_first(&found->cpus), sd->name);
		return;
	}
	w = wish_of(&p, &here, &far, &all);
	if (p.type != w.type || p.imbalance != (s64)w.amount)
		fail_msg("%lld (%s) are to move, where %llu (%s) are right (level %s)",
			 (long long)p.imbalance, kind_of(p.type), (unsigned long long)w.amount,
			 kind_of(w.type), sd->name);
	if (found != (w.amount ? far.of : NULL))
		fail_msg("the busiest part is that of CPU %d, where that of CPU %d is right (level "
			 "%s)",
			 found ? (int)cpumask_first(&found->cpus) : -1,
			 w.amount ? (int)cpumask_first(&far.of->cpus) : -1, sd->name);
	if (found) {
		const struct rq *rq = find_busiest_queue(&p, found);
		int got = rq ? (int)rq->cpu : -1, right = source_of(m, &p, found, &w);

		if (got != right)
			fail_msg("%s come from %s, where %s is right (level %s)", kind_of(w.type),
				 cpu_with(m, &w, got), cpu_with(m, &w, right), sd->name);
	}
}

static void the_busiest_is_found_as_by_definition(void **state)
{
	static const unsigned shapes[][4] = {
		{ 1, 1, 3, 1 }, { 1, 1, 3, 2 }, { 1, 3, 2, 1 }, { 2, 1, 3, 1 }, { 3, 1, 2, 2 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++) {
		const unsigned *shape = shapes[i];
		struct machine *m = cold_machine(shape[0], shape[1], shape[2], shape[3]);
		struct task *someone = spawn_nice(m, "someone", 0);
		struct domain *sd;

		set_feature(m, "NO_UTIL_EST");
		dice_state = i + 1;
		for (unsigned n = 0; n < 6000; n++) {
			draw_machine(m, someone);
			for_each_domain(sd, rq_of(m, 0))
				for (enum idle_type idle = 0; idle < NR_IDLE_TYPES; idle++)
					compare(m, sd, idle);
		}
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_busiest_is_found_as_by_definition),
	};

	return cmocka_run_group_tests_name("busiest", tests, NULL, NULL);
}
