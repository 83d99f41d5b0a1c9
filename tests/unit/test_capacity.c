/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The capacity that real-time and deadline tasks leave of a CPU. The expected averages come from
 * the series: time on for one period of 1.024 ms and off for the next averages 1/(1+y) at the end
 * of the one and y/(1+y) at the end of the other, y = 2^(-1/32).
 */
#include "smp.h"

/* The capacity of CPU 0 as balancing would find it now. */
static u64 capacity_now(struct machine *m)
{
	struct rq *rq = rq_of(m, 0);

	host_lock(&rq->lock);
	rq->clock = host_clock(0);
	capacity_refresh(rq);
	host_unlock(&rq->lock);
	return cpu_capacity(rq);
}

/* @t runs for a period of the average and sleeps for @off ones, @rounds times. */
static void alternate(struct machine *m, struct task *t, unsigned off, unsigned rounds)
{
	const u64 period = 1024 * 1024;

	while (rounds--) {
		assert_ptr_equal(running(m, 0), t);
		advance(m, period);
		block(m, 0, TASK_INTERRUPTIBLE);
		advance(m, off * period);
		assert_true(wake(m, t, 0));
	}
}

static void a_cpu_without_urgent_tasks_is_whole(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	spawn_nice(m, "hog", 0);
	for (unsigned n = 0; n < 100; n++)
		tick(m);
	assert_int_equal(capacity_now(m), 1024);
	machine_free(m);
}

/* 1024 y/(1+y) = 506.5 of the time is taken: 517.5 is left, less than one lost to rounding. */
static void half_of_the_time_is_half_of_the_capacity(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 10);

	(void)state;
	alternate(m, fifo, 1, 300);
	assert_in_range(capacity_now(m), 516, 520);
	machine_free(m);
}

/* On for one period of four: 1024 y^3/(1+y+y^2+y^3) = 247.7 is taken. */
static void a_deadline_task_takes_its_part_as_well(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	alternate(m, spawn_dl(m, "dl", 3 * MS / 2, 4 * MS, 0), 3, 300);
	assert_in_range(capacity_now(m), 775, 779);
	machine_free(m);
}

/* 32 periods halve what was taken; in the end nothing of it is left. */
static void capacity_comes_back(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 10);

	(void)state;
	alternate(m, fifo, 1, 300);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 32 * 1024 * 1024);
	assert_in_range(capacity_now(m), 1024 - 254, 1024 - 252);
	advance(m, NS_PER_SEC);
	assert_int_equal(capacity_now(m), 1024);
	machine_free(m);
}

/* A moment of real-time work comes between, and finds the average at 0 before balancing does. */
static void capacity_comes_back_though_nobody_looked(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 10);

	(void)state;
	alternate(m, fifo, 1, 300);
	assert_in_range(capacity_now(m), 1, 600);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 10 * NS_PER_SEC);
	assert_true(wake(m, fifo, 0));
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(rq_of(m, 0)->urgent.util_sum, 0);
	assert_int_equal(capacity_now(m), 1024);
	machine_free(m);
}

static void no_cpu_is_without_capacity(void **state)
{
	struct machine *m = machine_new(1, 1000);

	(void)state;
	set_tunable(m, "sched_rt_runtime_us", "-1");
	spawn(m, "fifo", SCHED_FIFO, 10);
	/* It runs all the time and is charged only when the average is asked for. */
	for (unsigned n = 0; n < 20; n++) {
		advance(m, 100 * MS);
		capacity_now(m);
	}
	assert_int_equal(capacity_now(m), 1);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_without_urgent_tasks_is_whole),
		cmocka_unit_test(half_of_the_time_is_half_of_the_capacity),
		cmocka_unit_test(a_deadline_task_takes_its_part_as_well),
		cmocka_unit_test(capacity_comes_back),
		cmocka_unit_test(capacity_comes_back_though_nobody_looked),
		cmocka_unit_test(no_cpu_is_without_capacity),
	};

	return cmocka_run_group_tests_name("capacity", tests, NULL, NULL);
}
