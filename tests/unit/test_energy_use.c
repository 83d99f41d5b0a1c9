/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Placement by energy beside its definition, with numbers that are drawn: how much of each CPU is
 * used, what each frequency domain takes without the task and with it, and where the task goes.
 * The machine is a Juno: CPUs 0 and 1 have a capacity of 1024, 2 to 5 of 447. No time passes, so
 * all averages stay as drawn. Rules one by one: test_energy.c.
 */
#include "group.h"
#include "lib/prng.h"
#include "sched/balance/energy.h"
#include "sched/balance/placement.h"
#include "speeds.h"

#define NR_CPUS 6
#define EVENTS	(ENERGY_DECISION_EVENTS | BIT(EVENT_sched_decision_select))

/* The tables of both types, as lib/opp.c has them: MHz, and power of a CPU. */
struct domain_desc {
	unsigned first, nr_cpus;
	u64 full;
	u64 mhz[5], power[5];
};

static const struct domain_desc domains[2] = {
	{ 0, 2, 1024, { 450, 625, 800, 950, 1100 }, { 168, 251, 359, 479, 616 } },
	{ 2, 4, 447, { 450, 575, 700, 775, 850 }, { 33, 46, 61, 76, 93 } },
};

/* --- drawing ------------------------------------------------------------------------------- */

struct drawn {
	u64 util, estimate, urgent, capacity;
};

struct question {
	struct machine *m;
	struct prng rng;
	struct task *t;
	struct drawn cpu[NR_CPUS];
	u64 util, estimate; /* the task's */
	bool estimates;	    /* those of CPUs count */
};

static u64 one_of(struct question *q, const u64 *values, unsigned nr)
{
	return values[prng_below(&q->rng, nr)];
}

static void draw_cpu(struct question *q, unsigned cpu)
{
	static const u64 utils[] = { 0, 50, 100, 187, 188, 300, 357, 500 };
	static const u64 estimates[] = { 0, 20, 150, 250, 350, 700 };
	static const u64 others[] = { 0, 0, 0, 60, 200 };
	struct rq *rq = rq_of(q->m, cpu);
	struct drawn *d = &q->cpu[cpu];

	d->util = one_of(q, utils, ARRAY_SIZE(utils));
	d->estimate = one_of(q, estimates, ARRAY_SIZE(estimates));
	d->urgent = one_of(q, others, ARRAY_SIZE(others));
	d->capacity = rq->capacity_orig - one_of(q, others, ARRAY_SIZE(others));
	rq->fair.avg.util_avg = d->util;
	rq->fair.avg.util_est_enqueued = (u32)d->estimate;
	rq->urgent.util_avg = d->urgent;
	rq->capacity = d->capacity;
}

static void draw(struct question *q)
{
	static const u64 utils[] = { 0, 1, 50, 100, 200, 300 }, estimates[] = { 0, 0, 120, 300 };

	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++)
		draw_cpu(q, cpu);
	q->util = one_of(q, utils, ARRAY_SIZE(utils));
	q->estimate = one_of(q, estimates, ARRAY_SIZE(estimates));
	q->t->fair.avg.util_avg = q->util;
	q->t->fair.avg.util_est_ewma = (u32)q->estimate;
	q->t->fair.avg.util_est_enqueued = 0;
	q->t->allowed.bits[0] = 1 + prng_below(&q->rng, 63);
	q->t->nr_allowed = cpumask_weight(&q->t->allowed);
	q->estimates = prng_below(&q->rng, 2);
	q->m->s->features &= ~BIT(FEATURE_UTIL_EST);
	if (q->estimates)
		q->m->s->features |= BIT(FEATURE_UTIL_EST);
}

/* --- the definition ------------------------------------------------------------------------ */

static u64 full_of(unsigned cpu)
{
	return domains[cpu > 1].full;
}

/* Fair tasks use so much of @cpu without the task, or with it. Its last CPU counts it already. */
static u64 used(const struct question *q, unsigned cpu, bool with)
{
	const struct drawn *d = &q->cpu[cpu];
	u64 others = d->util, all = d->util + q->util, use;

	if (cpu == q->t->cpu) {
		all = d->util;
		others = d->util > q->util ? d->util - q->util : 0;
	}
	use = with ? all : others;
	if (q->estimates)
		use = max(use, d->estimate + (with ? q->estimate : 0));
	return min(use, full_of(cpu));
}

/* For so much the governor is asked. */
static u64 asked(const struct question *q, unsigned cpu, bool with)
{
	return min(used(q, cpu, with) + q->cpu[cpu].urgent, full_of(cpu));
}

/* So much is left of @cpu with the task; 0 if that is not more than a fifth. */
static u64 left(const struct question *q, unsigned cpu)
{
	u64 use = used(q, cpu, true), capacity = q->cpu[cpu].capacity;

	return use * 5 < capacity * 4 ? capacity - use : 0;
}

/* The task is expected to use so much. */
static u64 expected(const struct question *q)
{
	return max(q->util, q->estimate);
}

/* The energy of @d with the task on @with; -1: without it. */
static u64 energy(const struct question *q, const struct domain_desc *d, int with)
{
	u64 most = 0, runs = with < 0 ? 0 : expected(q), cost;
	unsigned at = 0;

	for (unsigned cpu = d->first; cpu < d->first + d->nr_cpus; cpu++) {
		most = max(most, asked(q, cpu, (int)cpu == with));
		runs += asked(q, cpu, false);
	}
	/* A fifth of the point is to be left. */
	while (at < 4 && d->mhz[at] * 1000 < d->mhz[4] * 1250 * most / d->full)
		at++;
	cost = d->power[at] * 1000 * d->mhz[4] / d->mhz[at];
	return cost * min(runs, d->full * d->nr_cpus) / d->full;
}

static bool is_allowed(const struct question *q, unsigned cpu)
{
	return cpumask_test(&q->t->allowed, cpu);
}

/* The task's last CPU if that is one of @d and can have the task; else -1. */
static int last_of(const struct question *q, const struct domain_desc *d)
{
	unsigned cpu = q->t->cpu;

	return cpu - d->first < d->nr_cpus && is_allowed(q, cpu) && left(q, cpu) ? (int)cpu : -1;
}

/* The CPU with most left, of equals the last one or the first; -1: it is the last one, or none. */
static int best_of(const struct question *q, const struct domain_desc *d)
{
	int best = last_of(q, d);

	for (unsigned cpu = d->first; cpu < d->first + d->nr_cpus; cpu++)
		if (is_allowed(q, cpu) && left(q, cpu) > (best < 0 ? 0 : left(q, (unsigned)best)))
			best = (int)cpu;
	return best == last_of(q, d) ? -1 : best;
}

struct answer {
	enum cpu_rule rule;
	unsigned cpu;
};

static struct answer right_answer(const struct question *q)
{
	struct answer stay = { CPU_no_saving, q->t->cpu }, go = { CPU_least_energy, CPU_MAX };
	s64 least = INT64_MAX, last = INT64_MAX;

	if (!expected(q))
		return (struct answer){ CPU_uses_nothing, q->t->cpu };
	for (unsigned i = 2; i--;) {
		const struct domain_desc *d = &domains[i];
		s64 without = (s64)energy(q, d, -1), more;

		if (last_of(q, d) >= 0) {
			last = (s64)energy(q, d, last_of(q, d)) - without;
			if (last < 0)
				return (struct answer){ CPU_no_estimate, q->t->cpu };
		}
		if (best_of(q, d) < 0)
			continue;
		more = (s64)energy(q, d, best_of(q, d)) - without;
		if (more < 0)
			return (struct answer){ CPU_no_estimate, q->t->cpu };
		if (more < least) {
			least = more;
			go.cpu = (unsigned)best_of(q, d);
		}
	}
	return least < last ? go : stay;
}

/* --- comparing ----------------------------------------------------------------------------- */

static void judge_use(const struct question *q, const struct event_sched_decision_use *row)
{
	assert_int_equal(row->full, full_of(row->of_cpu));
	assert_int_equal(row->domain, row->of_cpu < 2 ? 0 : 2);
	assert_int_equal(row->with_task, used(q, row->of_cpu, true));
	assert_int_equal(row->spare, left(q, row->of_cpu));
}

static void judge_energy(const struct question *q, const struct event_sched_decision_energy *row)
{
	const struct domain_desc *d = &domains[row->domain > 0];
	int last = last_of(q, d), best = best_of(q, d);

	assert_int_equal(row->without, energy(q, d, -1));
	assert_int_equal(row->last, last);
	assert_int_equal(row->best, best);
	assert_int_equal(row->with_last, last < 0 ? 0 : energy(q, d, last));
	assert_int_equal(row->with_best, best < 0 ? 0 : energy(q, d, best));
}

static void judge(const struct question *q, enum cpu_rule rule)
{
	unsigned nr_uses = 0, nr_energies = 0;

	for (unsigned i = 0; i < q->m->nr_trace; i++) {
		const void *row = q->m->trace[i].bytes;

		if (q->m->trace[i].common.type == EVENT_ID_sched_decision_use) {
			judge_use(q, row);
			nr_uses++;
		} else if (q->m->trace[i].common.type == EVENT_ID_sched_decision_energy) {
			judge_energy(q, row);
			nr_energies++;
		}
	}
	if (rule == CPU_no_estimate)
		return;
	assert_int_equal(nr_uses, rule == CPU_uses_nothing ? 0 : NR_CPUS);
	assert_int_equal(nr_energies, rule == CPU_uses_nothing ? 0 : 2);
}

static enum cpu_rule ask(struct question *q)
{
	struct rq *rq = rq_of(q->m, q->t->cpu);
	struct answer right;
	struct choice to;

	draw(q);
	right = right_answer(q);
	q->m->nr_trace = 0;
	host_lock(&rq->lock);
	to = energy_select(rq, q->t, 0, true);
	host_unlock(&rq->lock);
	judge(q, to.rule);
	assert_int_equal(to.rule, right.rule);
	assert_int_equal(to.cpu, right.cpu);
	assert_int_equal(to.aim.cpu, q->t->cpu);
	return to.rule;
}

/* A task that sleeps, last on @cpu, on a machine where energy decides. */
static struct question begin(unsigned cpu)
{
	struct question q = { .m = builtin_machine("juno", NULL) };

	govern(q.m, "schedutil");
	q.t = sleeper_on(q.m, cpu);
	sched_trace_set(q.m->s, EVENTS);
	prng_seed(&q.rng, cpu);
	return q;
}

static void a_task_goes_where_the_definition_says(void **state)
{
	unsigned nr[CPU_only_allowed + 20] = { 0 };

	(void)state;
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++) {
		struct question q = begin(cpu);

		for (unsigned n = 0; n < 2000; n++)
			nr[ask(&q)]++;
		sched_trace_set(q.m->s, 0);
		machine_free(q.m);
	}
	assert_true(nr[CPU_uses_nothing] && nr[CPU_no_saving] && nr[CPU_least_energy]);
}

/* A task, alone or in a group, that ran on CPU 0 for 50 ticks and sleeps now. */
static struct task *slept(struct machine *m, bool grouped)
{
	struct task *t = spawn_in(m, grouped ? new_group(m, NULL) : NULL, 0);

	allow(m, t, cpumask_of(0));
	for (unsigned n = 0; n < 50; n++)
		tick(m);
	block(m, 0, TASK_INTERRUPTIBLE);
	allow(m, t, cpumask_first_n(NR_CPUS));
	assert_true(rq_of(m, 0)->fair.avg.util_avg > 400 && t->fair.avg.util_avg > 400);
	return t;
}

/* @now is @before, halved so often. */
static void assert_halved(u64 now, u64 before, unsigned halves)
{
	assert_in_range(now, (before >> halves) - 4, (before >> halves) + 4);
}

/*
 * The task sleeps, and its last CPU idles. The use of both fades: half of it is left after 32
 * periods of 1024 * 1024 ns, whoever looked last.
 */
static void use_fades_while_a_task_sleeps(void **state)
{
	(void)state;
	for (unsigned halves = 0; halves < 4; halves++)
		for (unsigned grouped = 0; grouped < 2; grouped++) {
			struct machine *m = builtin_machine("juno", NULL);
			const struct event_sched_decision_energy *energy;
			const struct event_sched_decision_use *use;
			struct task *t;
			u64 util, own;

			govern(m, "performance"); /* at the fastest point time counts in full */
			t = slept(m, grouped);
			util = rq_of(m, 0)->fair.avg.util_avg;
			own = t->fair.avg.util_avg;
			advance(m, halves * 32ull * 1024 * 1024);
			sched_trace_set(m->s, EVENTS);
			m->nr_trace = 0;
			rq_lock(rq_of(m, 0));
			energy_select(rq_of(m, 0), t, 3, true);
			rq_unlock(rq_of(m, 0));
			energy = last_record(m, EVENT_ID_sched_decision_energy);
			use = record_of(m, EVENT_ID_sched_decision_use, 4); /* after 2 to 5 */
			assert_int_equal(use->of_cpu, 0);
			assert_int_equal(use->flags & DECISION_USE_COUNTED, DECISION_USE_COUNTED);
			assert_halved(use->util, util, halves);
			assert_halved(energy->util, own, halves);
			sched_trace_set(m->s, 0);
			machine_free(m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_goes_where_the_definition_says),
		cmocka_unit_test(use_fades_while_a_task_sleeps),
	};

	return cmocka_run_group_tests_name("energy_use", tests, NULL, NULL);
}
