/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runtime that moves on two CPUs at once (sched/fair/core/bandwidth.c): whatever CPU 1 does to the
 * pool between any two accesses of CPU 0, what comes out is what one after the other gives.
 */
#include <stdlib.h>

#include "group.h"
#include "race.h"
#include "smp.h"
#include "sched/core/core.h"
#include "sched/fair/core/fair.h"

static struct machine *m;
static struct task_group *tg;
static struct task *member[2];

static struct bandwidth *pool(void)
{
	return &tg->bandwidth;
}

static struct fair_queue *queue_on(unsigned cpu)
{
	return &tg->cpu[cpu].queue;
}

/* --- where both begin ------------------------------------------------------------------------- */

/* A member of a limited group runs on each CPU, and @server serves the period's timer. */
static void two_members(unsigned server)
{
	m = machine_new(2, 1000);
	tg = new_group(m, NULL);
	for (unsigned cpu = 0; cpu < 2; cpu++)
		member[cpu] = member_asleep_on(m, tg, cpu);
	assert_int_equal(task_group_set_bandwidth(m->s, tg, 20 * MS, 1000 * MS, 20 * MS, true), 0);
	settle(m);
	for (unsigned i = 0; i < 2; i++) {
		unsigned cpu = i ? !server : server;

		wake(m, member[cpu], cpu);
		advance(m, 0);
		tick(m);
	}
	assert_ptr_equal(pool()->period.rq, rq_of(m, server));
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		assert_task(running(m, cpu), member[cpu]);
		rq_of(m, cpu)->notice = m->kicked[cpu] = false;
	}
	rq_lock(rq_of(m, 0)); /* CPU 0 has it, whatever it does then */
}

static void has(unsigned cpu, s64 remaining)
{
	queue_on(cpu)->remaining = remaining;
}

static void owes(unsigned cpu, u64 debt)
{
	has(cpu, 1);
	queue_on(cpu)->debt = debt;
	queue_on(cpu)->throttled = true;
	list_add_tail(&rq_of(m, cpu)->bandwidth.throttled, &queue_on(cpu)->throttled_link);
	list_add_tail(&pool()->throttled, &queue_on(cpu)->debtor_link);
}

/* The refill is due on the CPU that serves it. */
static void period_is_over(void)
{
	m->now = rq_of(m, 0)->clock = pool()->period.at;
}

static void end(void)
{
	machine_free(m);
	for (unsigned cpu = 0; cpu < 2; cpu++)
		free(member[cpu]);
}

/* --- parts ------------------------------------------------------------------------------------ */

static void give_back(unsigned cpu)
{
	bandwidth_return(queue_on(cpu));
}

static void use_two(unsigned cpu)
{
	bandwidth_charge(queue_on(cpu), 2 * MS);
}

static void throttle(unsigned cpu)
{
	bandwidth_check_running(rq_of(m, cpu));
}

static void serve_timer(unsigned cpu)
{
	bandwidth_timer(rq_of(m, cpu));
}

static void give_back_here(void)
{
	give_back(0);
}

/* CPU 1 takes the lock of its runqueue first. */
static void with_lock_there(void (*part)(unsigned))
{
	rq_lock(rq_of(m, 1));
	part(1);
	rq_unlock(rq_of(m, 1));
}

static void give_back_there(void)
{
	with_lock_there(give_back);
}

static void fetch_there(void)
{
	with_lock_there(use_two);
}

static void throttle_here(void)
{
	throttle(0);
}

static void throttle_there(void)
{
	with_lock_there(throttle);
}

static void refill_here(void)
{
	serve_timer(0);
}

static void refill_there(void)
{
	with_lock_there(serve_timer);
}

static bool pool_is_locked(void)
{
	return host_lock_held(&pool()->lock);
}

/* --- what comes out --------------------------------------------------------------------------- */

static const char *const fields[] = {
	"pool->runtime_ns",
	"pool->idle",
	"pool->owed_ns",
	"pool->snapshot_ns",
	"the number of queues on pool->throttled",
	"the CPU of the first queue on pool->throttled (-1: none)",
	"the CPU that serves the slack's timer (-1: none)",
	"the time of the slack's timer",
	"remaining of CPU 0's queue",
	"remaining of CPU 1's queue",
	"the debt of CPU 0's queue",
	"the debt of CPU 1's queue",
	"whether CPU 0 is told to look (rq->notice)",
	"whether CPU 1 is told to look (rq->notice)",
	"whether CPU 0's queue is throttled",
	"whether CPU 1's queue is throttled",
	NULL,
};

static s64 cpu_of(const struct rq *rq)
{
	return rq ? (s64)rq->cpu : -1;
}

static void outcome(s64 *value)
{
	const struct bandwidth *p = pool();
	const struct fair_queue *first =
		list_empty(&p->throttled)
			? NULL
			: list_first(&p->throttled, struct fair_queue, debtor_link);
	struct fair_queue *q;

	*value++ = (s64)p->runtime_ns;
	*value++ = p->idle;
	*value++ = (s64)p->owed_ns;
	*value++ = (s64)p->snapshot_ns;
	*value = 0;
	list_for_each(q, &p->throttled, debtor_link)
		++*value;
	value++;
	*value++ = cpu_of(first ? first->rq : NULL);
	*value++ = cpu_of(p->slack.rq);
	*value++ = p->slack.rq ? (s64)p->slack.at : 0;
	for (unsigned cpu = 0; cpu < 2; cpu++)
		value[cpu] = queue_on(cpu)->remaining;
	for (unsigned cpu = 0; cpu < 2; cpu++)
		value[2 + cpu] = (s64)queue_on(cpu)->debt;
	for (unsigned cpu = 0; cpu < 2; cpu++)
		value[4 + cpu] = rq_of(m, cpu)->notice;
	for (unsigned cpu = 0; cpu < 2; cpu++)
		value[6 + cpu] = queue_on(cpu)->throttled;
}

#define OF_TWO_CPUS .locked = pool_is_locked, .field = fields, .outcome = outcome, .end = end

/* --- CPU 0 returns runtime -------------------------------------------------------------------- */

static void seventeen_here(void)
{
	two_members(0);
	has(0, 18 * MS);
}

static void seventeen_here_and_one_used_up(void)
{
	seventeen_here();
	has(1, MS);
}

static void seventeen_here_and_five_there(void)
{
	seventeen_here();
	has(1, 6 * MS);
	pool()->runtime_ns = pool()->quota_ns + pool()->burst_ns - 18 * MS;
}

static void seventeen_here_and_nothing_there(void)
{
	seventeen_here();
	has(1, -MS);
	pool()->runtime_ns = 0;
}

static void seventeen_here_and_a_refill_there(void)
{
	two_members(1);
	has(0, 18 * MS);
	period_is_over();
}

static void another_cpu_between_any_two_accesses_of_a_return(void **state)
{
	const struct race races[] = {
		{ "CPU 0 returns 17 ms to the pool", "CPU 1 fetches from it",
		  seventeen_here_and_one_used_up, give_back_here, fetch_there, OF_TWO_CPUS },
		{ "CPU 0 returns 17 ms to the pool", "CPU 1 returns 5 ms, and the pool is full",
		  seventeen_here_and_five_there, give_back_here, give_back_there, OF_TWO_CPUS },
		{ "CPU 0 returns 17 ms to the pool, which is empty", "CPU 1 is throttled",
		  seventeen_here_and_nothing_there, give_back_here, throttle_there, OF_TWO_CPUS },
		{ "CPU 0 returns 17 ms to the pool", "the period ends on CPU 1",
		  seventeen_here_and_a_refill_there, give_back_here, refill_there, OF_TWO_CPUS },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(races); i++)
		race_try(&races[i]);
}

/* --- CPU 0 is throttled -----------------------------------------------------------------------*/

static void nothing_here_and_seventeen_there(void)
{
	two_members(0);
	has(0, -MS);
	has(1, 18 * MS);
	pool()->runtime_ns = 0;
}

static void nothing_here_and_a_refill_there(void)
{
	two_members(1);
	has(0, -MS);
	pool()->runtime_ns = 0;
	period_is_over();
}

static void nothing_on_both(void)
{
	two_members(0);
	has(0, -MS);
	has(1, -2 * (s64)MS);
	pool()->runtime_ns = 0;
}

static void another_cpu_between_any_two_accesses_of_a_throttle(void **state)
{
	const struct race races[] = {
		{ "CPU 0 is throttled", "CPU 1 returns 17 ms to the pool",
		  nothing_here_and_seventeen_there, throttle_here, give_back_there, OF_TWO_CPUS },
		{ "CPU 0 is throttled", "the period ends on CPU 1", nothing_here_and_a_refill_there,
		  throttle_here, refill_there, OF_TWO_CPUS },
		{ "CPU 0 is throttled", "CPU 1 is throttled", nothing_on_both, throttle_here,
		  throttle_there, OF_TWO_CPUS },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(races); i++)
		race_try(&races[i]);
}

/* --- a period ends on CPU 0 -------------------------------------------------------------------*/

static void a_refill_here_and_a_debt_there(void)
{
	two_members(0);
	has(0, MS);
	owes(1, 3 * MS);
	pool()->runtime_ns = 0;
	period_is_over();
}

static void a_refill_here_and_seventeen_there(void)
{
	two_members(0);
	has(0, MS);
	has(1, 18 * MS);
	period_is_over();
}

static void look_at_once(struct machine *machine, unsigned cpu)
{
	if (!rq_of(machine, cpu)->notice)
		fail_msg("CPU %u is kicked before its rq->notice is set: it looks at once, sees no "
			 "news, and is told no more that its debt was paid",
			 cpu);
}

static void who_is_paid_is_kicked_when_there_is_news(void **state)
{
	(void)state;
	a_refill_here_and_a_debt_there();
	m->on_kick = look_at_once;
	refill_here();
	if (!m->kicked[1])
		fail_msg("the debt of CPU 1's queue was paid, and CPU 1 is not kicked to look");
	end();
}

static void another_cpu_between_any_two_accesses_of_a_refill(void **state)
{
	const struct race races[] = {
		{ "the period ends on CPU 0", "CPU 1 returns 17 ms to the pool",
		  a_refill_here_and_seventeen_there, refill_here, give_back_there, OF_TWO_CPUS },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(races); i++)
		race_try(&races[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_cpu_between_any_two_accesses_of_a_return),
		cmocka_unit_test(another_cpu_between_any_two_accesses_of_a_throttle),
		cmocka_unit_test(another_cpu_between_any_two_accesses_of_a_refill),
		cmocka_unit_test(who_is_paid_is_kicked_when_there_is_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
