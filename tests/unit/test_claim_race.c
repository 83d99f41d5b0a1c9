/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A claim on CPU 1 (sched/balance/sharedq.c), and another CPU between any two of its accesses to
 * memory: the task is withdrawn, comes, or is wanted by CPU 2, too. Whatever comes in between, what
 * comes out is what one after the other gives.
 */
#include "race.h"
#include "sched/balance/sharedq.h"
#include "sharedq.h"

static struct machine *m;

static void a_waiter_is_linked(void)
{
	m = scene("cfs", "SHARED_RUNQ", 3);
	assert_true(is_linked(waiter));
}

/* CPU 0 has another use for the task, if it is still there. */
static void remove_at_home(void)
{
	rq_lock(rq_of(m, 0));
	if (waiter->cpu == 0)
		sharedq_remove(rq_of(m, 0), waiter);
	rq_unlock(rq_of(m, 0));
}

static void link_at_home(void)
{
	rq_lock(rq_of(m, 0));
	sharedq_add(rq_of(m, 0), waiter, ENQUEUE_WAKEUP);
	rq_unlock(rq_of(m, 0));
}

static void a_waiter_is_not_linked(void)
{
	a_waiter_is_linked();
	remove_at_home();
}

static void a_waiter_may_not_leave(void)
{
	struct cpumask without_one = cpumask_of(0);

	a_waiter_is_linked();
	cpumask_set(&without_one, 2);
	assert_int_equal(sched_set_affinity(m->s, waiter, &without_one), 0);
	assert_true(is_linked(waiter));
}

static void pull(unsigned cpu)
{
	rq_lock(rq_of(m, cpu));
	sharedq_pull(rq_of(m, cpu));
	rq_unlock(rq_of(m, cpu));
}

static void claim_here(void)
{
	pull(1);
}

static void claim_there(void)
{
	pull(2);
}

/* To take the task needs the shard's lock, and that of the runqueue where it is. */
static bool shard_or_home_is_locked(void)
{
	return host_lock_held(&rq_of(m, 0)->shared.shard->lock) ||
	       host_lock_held(&rq_of(m, 0)->lock) ||
	       (waiter->cpu == 1 && host_lock_held(&rq_of(m, 1)->lock));
}

static const char *const fields[] = {
	"the CPU of the task",
	"shared.state of the task (0: on no shard, 1: linked, 2: claimed)",
	"the number of tasks on the shard's list",
	"shard->nr",
	"whether CPU 1 has a claim (rq->shared.claim)",
	"whether CPU 2 has a claim (rq->shared.claim)",
	"how many heads CPU 1 refused (rq->shared_refused)",
	"nr_running of CPU 0",
	"nr_running of CPU 1",
	"nr_running of CPU 2",
	NULL,
};

static void outcome(s64 *value)
{
	const struct shard *shard = rq_of(m, 0)->shared.shard;
	s64 nr = 0;

	for (const struct list *l = shard->tasks.next; l != &shard->tasks && nr < 9; l = l->next)
		nr++;
	*value++ = waiter->cpu;
	*value++ = waiter->shared.state;
	*value++ = nr;
	*value++ = shard->nr;
	*value++ = rq_of(m, 1)->shared.claim != NULL;
	*value++ = rq_of(m, 2)->shared.claim != NULL;
	*value++ = rq_of(m, 1)->shared_refused;
	for (unsigned cpu = 0; cpu < 3; cpu++)
		*value++ = rq_of(m, cpu)->nr_running;
}

static void end(void)
{
	machine_free(m);
}

#define OF_A_CLAIM                                                                                 \
	.locked = shard_or_home_is_locked, .field = fields, .outcome = outcome, .end = end

static void another_cpu_between_any_two_accesses_of_a_claim(void **state)
{
	const struct race races[] = {
		{ "CPU 1 claims the head of the shard", "CPU 0 withdraws that task",
		  a_waiter_is_linked, claim_here, remove_at_home, OF_A_CLAIM },
		{ "CPU 1 claims the head of the shard", "CPU 2 claims it, too", a_waiter_is_linked,
		  claim_here, claim_there, OF_A_CLAIM },
		{ "CPU 1 looks for a head to claim", "CPU 0 links a task", a_waiter_is_not_linked,
		  claim_here, link_at_home, OF_A_CLAIM },
		{ "CPU 1 may not have the head of the shard", "CPU 2 claims it",
		  a_waiter_may_not_leave, claim_here, claim_there, OF_A_CLAIM },
	};

	(void)state;
	a_waiter_is_linked();
	claim_here();
	if (waiter->cpu != 1)
		fail_msg("CPU 1 may have the only task on the shard, and does not claim it");
	end();
	for (unsigned i = 0; i < ARRAY_SIZE(races); i++)
		race_try(&races[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_cpu_between_any_two_accesses_of_a_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
