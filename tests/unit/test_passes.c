/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When balancing passes are made (docs/sources.md, Linux 6.1), on random machines: before each tick
 * the rule is worked out from what the CPU's domains say, after it the machine is compared with it.
 * See test_rebalance.c for single situations.
 */
#include <string.h>

#include "smp.h"

#define LEVELS	8
#define SEARCH	1000 /* ns that a newly idle search of a level takes here */
#define MINUTE	60
#define REFRESH 32 /* ms between two refreshes of idle CPUs */

static u64 dice_state;

/* 0 .. @n - 1 */
static unsigned dice(unsigned n)
{
	dice_state = dice_state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)((dice_state >> 33) % n);
}

static u64 jiffy(struct machine *m)
{
	return m->now * m->s->hz / NS_PER_SEC;
}

/* @ms in whole jiffies, at least as long. */
static u64 in_jiffies(struct machine *m, u64 ms)
{
	return ms * m->s->hz / 1000 + (ms * m->s->hz % 1000 != 0);
}

/* How long a level waits for its next pass: a busy CPU's is longer, by one jiffy out of step. */
static u64 interval_of(struct machine *m, const struct domain *sd, bool busy)
{
	u64 longest = (u64)m->s->hz * m->nr_cpus / 10, n;

	if (busy) {
		n = in_jiffies(m, sd->balance_interval_ms * sd->busy_factor);
		n = n ? n - 1 : 0;
	} else {
		n = in_jiffies(m, sd->balance_interval_ms);
	}
	n = n < 1 ? 1 : n;
	return n > longest ? longest : n;
}

static bool only_idle_policy(const struct rq *rq)
{
	return rq->nr_running && rq->fair.tasks.nr_idle == rq->nr_running;
}

static u64 passes_of(const struct domain *sd)
{
	return sd->stat[CPU_IDLE].count + sd->stat[CPU_BUSY].count;
}

static u64 moved_by(const struct domain *sd)
{
	return sd->stat[CPU_IDLE].gained + sd->stat[CPU_BUSY].gained;
}

/* The CPU that balances for the part: its first idle CPU, or its first. */
static unsigned balancer_of(struct machine *m, const struct domain *sd)
{
	unsigned cpu;

	for_each_cpu(cpu, &sd->parts->cpus)
		if (rq_of(m, cpu)->curr == rq_of(m, cpu)->idle && !rq_of(m, cpu)->nr_running)
			return cpu;
	return sd->parts->first;
}

/* --- the periodic passes ----------------------------------------------------------------- */

/* A level as it was before a tick. */
struct before {
	u64 passes, moved, last, interval_ms, cost, decay;
	bool ours;
};

static unsigned look(struct machine *m, unsigned cpu, struct before *b)
{
	struct domain *sd;
	unsigned n = 0;

	for_each_domain(sd, rq_of(m, cpu))
		b[n++] = (struct before){
			passes_of(sd),
			moved_by(sd),
			sd->last_balance,
			sd->balance_interval_ms,
			sd->max_newidle_lb_cost,
			sd->last_decay,
			balancer_of(m, sd) == cpu,
		};
	return n;
}

/* One 256th of what is remembered is forgotten three times, at most once in a second. */
static u64 forgotten(struct machine *m, const struct before *b)
{
	return jiffy(m) > b->decay + m->s->hz ? b->cost * 253 / 256 : b->cost;
}

static bool was_due(struct machine *m, const struct domain *sd, const struct before *b, bool busy)
{
	struct domain then = *sd;

	then.balance_interval_ms = b->interval_ms;
	return jiffy(m) >= b->last + interval_of(m, &then, busy);
}

/* The tick of @cpu balanced, if it @was_time: each level that was due, as far as the rule goes. */
static void compare_levels(struct machine *m, unsigned cpu, const struct before *b, bool was_time,
			   bool busy, bool hindered)
{
	struct rq *rq = rq_of(m, cpu);
	u64 next = jiffy(m) + MINUTE * m->s->hz, cost = 0;
	bool proceed = true, moved = false;
	struct domain *sd;
	unsigned n = 0;

	for_each_domain(sd, rq) {
		const struct before *was = &b[n++];
		bool made = was_time && proceed && was_due(m, sd, was, busy) &&
			    !(hindered && (sd->flags & SD_SERIALIZE));

		assert_int_equal(sd->last_balance, made ? jiffy(m) : was->last);
		assert_int_equal(sd->max_newidle_lb_cost, was_time ? forgotten(m, was) : was->cost);
		cost += sd->max_newidle_lb_cost;
		/* If something moved, the CPU is what it is now: another one may balance. */
		if (!moved)
			assert_int_equal(passes_of(sd) - was->passes, made && was->ours);
		if (made && passes_of(sd) == was->passes)
			proceed = false;
		if (moved_by(sd) > was->moved) {
			moved = true;
			busy = rq->nr_running != rq->fair.tasks.nr_idle;
		}
		next = min(next, sd->last_balance + interval_of(m, sd, busy));
	}
	if (!was_time)
		return;
	assert_int_equal(rq->next_balance, next);
	assert_int_equal(rq->max_idle_balance_cost, max(cost, m->s->tunable.migration_cost_ns));
}

/* --- help for idle CPUs ------------------------------------------------------------------ */

/* Would @cpu, which is busy, like idle CPUs to balance? */
static bool wants_help(struct machine *m, unsigned cpu)
{
	const struct rq *rq = rq_of(m, cpu);
	unsigned other, busy = 0;

	if (rq->nr_running > 1)
		return true;
	if (rq->fair.tasks.nr && rq->capacity * rq->domains->imbalance_pct < 1024 * 100)
		return true;
	for (other = 0; other < m->nr_cpus; other++)
		if (rq_of(m, other)->llc_id == rq->llc_id && !cpumask_test(&m->s->nohz_idle, other))
			busy++;
	return rq->llc && busy > 1;
}

/* The first CPU that stopped its tick and idles still; CPU_MAX: none. */
static unsigned first_helper(struct machine *m)
{
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		if (cpumask_test(&m->s->nohz_idle, cpu) &&
		    rq_of(m, cpu)->curr == rq_of(m, cpu)->idle && !rq_of(m, cpu)->nr_running)
			return cpu;
	return CPU_MAX;
}

/* The helper looks: at each idle CPU whose time has come, and at itself last. */
static void compare_help(struct machine *m, unsigned helper)
{
	struct cpumask idle = m->s->nohz_idle;
	bool due[CPU_MAX];
	u64 next;

	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++)
		due[cpu] = cpumask_test(&idle, cpu) && jiffy(m) >= rq_of(m, cpu)->next_balance &&
			   jiffy(m) >= domain_of(m, cpu, 0)->last_balance +
					       interval_of(m, domain_of(m, cpu, 0), false);
	next = jiffy(m) + m->s->hz;
	switch_cpu(m, helper, true);
	if (rq_of(m, helper)->nr_running)
		return; /* there is work for itself: it may have left in the middle */
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
		if (!cpumask_test(&idle, cpu))
			continue;
		if (due[cpu] && !rq_of(m, cpu)->nr_running)
			assert_int_equal(domain_of(m, cpu, 0)->last_balance, jiffy(m));
		/* The averages of a CPU that is balanced for are up to date. */
		if (due[cpu] && !rq_of(m, cpu)->nr_running)
			assert_true(m->now - rq_of(m, cpu)->fair.avg.last_update < 1024);
		next = min(next, rq_of(m, cpu)->next_balance);
	}
	assert_int_equal(m->s->nohz_next_balance, next);
}

/* --- a tick ------------------------------------------------------------------------------- */

static void judged_tick(struct machine *m, unsigned cpu)
{
	struct rq *rq = rq_of(m, cpu);
	bool idle = rq->curr == rq->idle && !rq->nr_running;
	bool busy = !idle && !only_idle_policy(rq), hindered = !dice(8);
	bool was_time = jiffy(m) >= rq->next_balance;
	bool refreshes = jiffy(m) >= m->s->nohz_next_refresh && !cpumask_empty(&m->s->nohz_idle);
	u64 refresh = m->s->nohz_next_refresh, call = m->s->nohz_next_balance;
	u64 calls = rq->nohz_kick_count;
	bool asleep[CPU_MAX], kicked[CPU_MAX];
	struct before b[LEVELS];
	unsigned helper;

	look(m, cpu, b);
	for (unsigned other = 0; other < m->nr_cpus; other++) {
		const struct pelt *avg = &rq_of(m, other)->fair.avg;

		asleep[other] =
			cpumask_test(&m->s->nohz_idle, other) && (avg->load_avg || avg->util_avg);
		kicked[other] = rq_of(m, other)->nohz_kicked;
	}
	m->s->numa_balancing_now = hindered;
	sched_tick(m->s, cpu);
	assert_int_equal(m->s->numa_balancing_now, hindered);
	m->s->numa_balancing_now = false;
	compare_levels(m, cpu, b, was_time, busy, hindered);
	assert_int_equal(m->s->nohz_next_refresh,
			 refreshes ? jiffy(m) + in_jiffies(m, REFRESH) : refresh);
	for (unsigned other = 0; other < m->nr_cpus && refreshes; other++)
		if (asleep[other])
			assert_int_equal(rq_of(m, other)->clock, m->now);
	/* With its averages a CPU that balances is up to date, too. */
	assert_int_equal(rq->clock, m->now);
	helper = first_helper(m);
	if (jiffy(m) < call || helper == CPU_MAX || !wants_help(m, cpu)) {
		assert_int_equal(m->s->nohz_next_balance, call);
		assert_int_equal(rq->nohz_kick_count, calls);
		settle(m);
		return;
	}
	assert_int_equal(m->s->nohz_next_balance, jiffy(m) + 1);
	assert_true(rq_of(m, helper)->nohz_kicked);
	assert_int_equal(rq->nohz_kick_count - calls, !kicked[helper]);
	if (m->kicked[helper])
		compare_help(m, helper);
	assert_false(rq_of(m, helper)->nohz_kicked);
	settle(m);
}

static struct task *tasks[3 * CPU_MAX];
static unsigned nr_tasks;

/* A task comes, falls asleep or wakes up; now and then a CPU loses or gets back capacity. */
static void come_and_go(struct machine *m)
{
	unsigned cpu = dice(m->nr_cpus);
	struct task *t = running(m, cpu);

	if (nr_tasks < 2 * m->nr_cpus) {
		t = dice(6) ? put(m, cpu) : spawn(m, "idle", SCHED_IDLE, 0);
		tasks[nr_tasks++] = t;
	} else if (dice(2) && t != rq_of(m, cpu)->idle) {
		block(m, cpu, TASK_INTERRUPTIBLE);
	} else {
		wake(m, tasks[dice(nr_tasks)], cpu);
	}
	if (!dice(20))
		leave_capacity(m, cpu, dice(2) ? 1024 : 300 + dice(700));
}

static void every_pass_comes_when_it_is_due(void **state)
{
	static const unsigned shapes[][4] = {
		{ 1, 1, 4, 1 }, { 1, 2, 2, 1 }, { 2, 1, 2, 2 }, { 2, 2, 2, 1 }, { 1, 1, 2, 2 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(shapes); i++) {
		const unsigned *shape = shapes[i];
		struct machine *m = cold_machine(shape[0], shape[1], shape[2], shape[3]);
		struct domain *sd;

		dice_state = i + 1;
		nr_tasks = 0;
		for (unsigned n = 0; n < m->nr_cpus; n++)
			for_each_domain(sd, rq_of(m, n)) {
				sd->max_newidle_lb_cost = 1000 * dice(1000);
				sd->last_decay = dice(2000);
				if (!dice(2))
					sd->busy_factor = dice(6);
			}
		for (unsigned n = 0; n < 1500; n++) {
			unsigned cpu;

			if (!dice(4))
				come_and_go(m);
			if (!dice(100))
				advance(m, dice(3000) * MS);
			advance(m, m->s->tick_ns);
			cpu = dice(m->nr_cpus);
			if (!sched_tick_can_stop(m->s, cpu))
				judged_tick(m, cpu);
			sched_check(m->s);
		}
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pass_comes_when_it_is_due),
	};

	return cmocka_run_group_tests_name("passes", tests, NULL, NULL);
}
