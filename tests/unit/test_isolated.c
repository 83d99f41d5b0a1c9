/* SPDX-License-Identifier: GPL-2.0-only */
/* Isolated CPUs (isolcpus=): what keeps away from them, and what does not. */
#include <stdlib.h>

#include "smp.h"
#include "lib/errno.h"
#include "sched/balance/sharedq.h"

static struct cpumask cpus(u64 bits)
{
	struct cpumask mask = cpumask_none();

	mask.bits[0] = bits;
	return mask;
}

/* Four CPUs behind one cache, of which 2 and 3 are isolated. */
static struct machine *quarters(const char *policy)
{
	struct machine *m;

	host_isolates = cpus(0xc);
	m = machine_of(1, 1, 4, 1, policy);
	host_isolates = cpumask_none();
	return m;
}

static unsigned nr_on(struct machine *m, unsigned first, unsigned last)
{
	unsigned nr = 0;

	for (unsigned cpu = first; cpu <= last; cpu++)
		nr += rq_of(m, cpu)->nr_running;
	return nr;
}

static void pass(struct machine *m, unsigned ticks)
{
	while (ticks--)
		tick(m);
	sched_check(m->s);
}

/* --- domains ------------------------------------------------------------------------ */

static void they_are_in_no_domain(void **state)
{
	struct machine *m = quarters(NULL);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	for (unsigned cpu = 0; cpu < 4; cpu++) {
		const struct domain *sd = rq_of(m, cpu)->domains;

		assert_int_equal(!sd, cpu > 1);
		assert_int_equal(rq_of(m, cpu)->llc_id, cpu > 1 ? cpu : 0);
		assert_true(!sd || (sd->span->cpus.bits[0] == 3 && !sd->parent));
	}
	assert_int_equal(sched_isolated(m->s)->bits[0], 0xc);
	assert_int_equal(t->allowed.bits[0], 3);
	assert_int_equal(t->nr_allowed, 2);
	machine_free(m);
}

static void one_cpu_must_be_left(void **state)
{
	static const struct sched_cpu_desc desc[2];
	struct cpumask isolated = cpus(3), beyond = cpus(0x30);
	struct sched_config config = { .nr_cpus = 2, .hz = 250, .topology = desc };
	void *mem = calloc(1, sched_size(2) + 64), *s = (void *)ALIGN_UP((u64)mem, 64ul);

	(void)state;
	config.isolated = &isolated;
	assert_int_equal(sched_init(s, &config), -EINVAL);
	config.isolated = &beyond; /* CPUs that are not there */
	assert_int_equal(sched_init(s, &config), 0);
	assert_true(cpumask_empty(sched_isolated(s)));
	free(mem);
}

static void they_come_back_isolated(void **state)
{
	struct machine *m = quarters(NULL);

	(void)state;
	for (unsigned cpu = 1; cpu < 3; cpu++) {
		assert_int_equal(sched_cpu_offline(m->s, cpu), 0);
		sched_check(m->s);
		sched_cpu_online(m->s, cpu, &m->idle[cpu]);
		settle(m);
		sched_check(m->s);
	}
	assert_null(rq_of(m, 2)->domains);
	assert_int_equal(rq_of(m, 0)->domains->span->cpus.bits[0], 3);
	machine_free(m);
}

/* --- fair tasks --------------------------------------------------------------------- */

static void neither_forks_nor_wakeups_nor_balancing_look_at_them(void **state)
{
	struct machine *m = quarters(NULL);
	struct task *t[6];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		t[i] = spawn_nice(m, "hog", 0);
		/* An affinity that names all CPUs changes nothing. */
		if (i % 2)
			allow(m, t[i], cpumask_first_n(4));
	}
	pass(m, 300);
	assert_int_equal(nr_on(m, 0, 1), 6);
	assert_int_equal(nr_on(m, 2, 3), 0);
	allow(m, t[0], cpus(0x4));
	block(m, 2, TASK_INTERRUPTIBLE);
	assert_true(sched_tick_can_stop(m->s, 2));
	assert_int_equal(m->s->nohz_idle.bits[0] & 0xc, 0);
	t[0] = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	wake(m, t[0], 1);
	assert_in_range(t[0]->cpu, 0, 1);
	machine_free(m);
}

static void an_affinity_brings_a_task_there_and_nothing_moves_it(void **state)
{
	struct machine *m = quarters(NULL);
	struct task *t = spawn_nice(m, "t", 0), *other = spawn_nice(m, "other", 0);

	(void)state;
	allow(m, t, cpus(0xc));
	allow(m, other, cpus(0xc));
	assert_int_equal(t->cpu, 2);
	assert_int_equal(other->cpu, 2);
	pass(m, 300);
	/* CPU 3 idles: nobody balances, as on Linux. */
	assert_int_equal(rq_of(m, 2)->nr_running, 2);
	allow(m, t, cpus(0xf));
	pass(m, 300);
	assert_int_equal(t->cpu, 2);
	for (unsigned i = 0; i < 100 && running(m, 2) != t; i++)
		tick(m);
	assert_task(running(m, 2), t);
	block(m, 2, TASK_INTERRUPTIBLE);
	wake(m, t, 0);
	assert_int_equal(t->cpu, 2);
	allow(m, t, cpus(0x1));
	assert_int_equal(t->cpu, 0);
	machine_free(m);
}

static void the_last_resort_is_an_isolated_cpu(void **state)
{
	struct machine *m = quarters(NULL);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		assert_int_equal(sched_cpu_offline(m->s, cpu), 0);
		settle(m);
		switch_cpu(m, cpu, true);
		settle(m);
	}
	sched_check(m->s);
	assert_in_range(t->cpu, 2, 3);
	assert_task(running(m, (unsigned)t->cpu), t);
	machine_free(m);
}

static void they_share_no_wake_queue(void **state)
{
	struct machine *m = quarters(NULL);

	(void)state;
	set_feature(m, "SHARED_RUNQ");
	set_feature(m, "SHARED_RUNQ_STEAL");
	for (unsigned i = 0; i < 4; i++)
		spawn_nice(m, "hog", 0);
	allow(m, spawn_nice(m, "there", 0), cpus(0xc));
	allow(m, spawn_nice(m, "there", 0), cpus(0xc));
	pass(m, 50);
	assert_non_null(rq_of(m, 0)->shared.shard);
	assert_null(rq_of(m, 2)->shared.shard);
	assert_int_equal(m->s->shared_idle.bits[0] & 0xc, 0);
	assert_int_equal(nr_on(m, 0, 1), 4);
	assert_int_equal(rq_of(m, 2)->nr_running, 2);
	machine_free(m);
}

/* --- real time ---------------------------------------------------------------------- */

static struct task *fifo(struct machine *m, unsigned cpu, int prio, u64 allowed)
{
	struct task *t = spawn(m, "fifo", SCHED_FIFO, prio);

	allow(m, t, cpumask_of(cpu));
	allow(m, t, cpus(allowed));
	return t;
}

static void real_time_tasks_stay_on_their_side(void **state)
{
	struct machine *m = quarters(NULL);
	struct task *t;

	(void)state;
	fifo(m, 0, 30, 0x1);
	fifo(m, 1, 30, 0x2);
	t = fifo(m, 0, 20, 0xf);
	assert_true(cpumask_test(&m->s->rt_overload, 0));
	m->kicked[2] = m->kicked[3] = false;
	switch_cpu(m, 0, true);
	settle(m);
	assert_int_equal(t->cpu, 0);
	/* A CPU there that has nothing to do neither pulls nor asks. */
	fifo(m, 2, 10, 0x4);
	block(m, 2, TASK_INTERRUPTIBLE);
	assert_int_equal(t->cpu, 0);
	assert_false(m->kicked[0]);
	/* Isolated CPUs are one side, as all are on Linux. */
	t = fifo(m, 2, 40, 0x4);
	t = fifo(m, 2, 30, 0xf);
	switch_cpu(m, 2, true);
	settle(m);
	assert_int_equal(t->cpu, 3);
	sched_check(m->s);
	machine_free(m);
}

/* --- deadlines ---------------------------------------------------------------------- */

static int set_deadline(struct machine *m, struct task *t, u64 runtime)
{
	struct sched_attr_req req = { .policy = SCHED_DEADLINE,
				      .runtime_ns = runtime,
				      .deadline_ns = 10 * MS,
				      .period_ns = 10 * MS };

	return sched_set_attr(m->s, t, &req);
}

static void deadlines_are_promised_by_the_others(void **state)
{
	struct machine *m = quarters("cfs");
	struct task *t[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		t[i] = spawn_nice(m, "t", 0);
	/* Two CPUs at 95 % have room for two tasks of 90 %, and no more. */
	assert_int_equal(set_deadline(m, t[0], 9 * MS), 0);
	assert_int_equal(set_deadline(m, t[1], 9 * MS), 0);
	assert_int_equal(set_deadline(m, t[2], 2 * MS), -EBUSY);
	assert_int_equal(sched_cpu_offline(m->s, 1), -EBUSY);
	assert_int_equal(sched_cpu_offline(m->s, 3), 0);
	allow(m, t[2], cpus(0xd));
	assert_int_equal(set_deadline(m, t[2], NS_PER_US * 100), -EPERM);
	settle(m);
	pass(m, 50);
	for (unsigned i = 0; i < 2; i++)
		assert_in_range(t[i]->cpu, 0, 1);
	machine_free(m);
}

static void their_fair_servers_are_not_in_the_sum(void **state)
{
	struct machine *m = quarters("eevdf");
	struct task *t[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		t[i] = spawn_nice(m, "t", 0);
	/* Two CPUs of 95 %, two servers of 5 %: two tasks of 90 % are just admitted. */
	assert_int_equal(set_deadline(m, t[0], 9 * MS), 0);
	assert_int_equal(set_deadline(m, t[1], 9 * MS - NS_PER_US), 0);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_in_no_domain),
		cmocka_unit_test(one_cpu_must_be_left),
		cmocka_unit_test(they_come_back_isolated),
		cmocka_unit_test(neither_forks_nor_wakeups_nor_balancing_look_at_them),
		cmocka_unit_test(an_affinity_brings_a_task_there_and_nothing_moves_it),
		cmocka_unit_test(the_last_resort_is_an_isolated_cpu),
		cmocka_unit_test(they_share_no_wake_queue),
		cmocka_unit_test(real_time_tasks_stay_on_their_side),
		cmocka_unit_test(deadlines_are_promised_by_the_others),
		cmocka_unit_test(their_fair_servers_are_not_in_the_sum),
	};

	return cmocka_run_group_tests_name("isolated", tests, NULL, NULL);
}
