/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Utilisation clamps: whose they are, how a CPU's follow from its tasks', and what governors make
 * of them. Buckets are 51 wide: 0..50, 51..101, ..., and the last from 969 on.
 */
#include <stdlib.h>
#include <string.h>

#include "group.h"
#include "lib/errno.h"
#include "sched/freq/governor.h"
#include "speeds.h"

#define RESET SCHED_CLAMP_RESET

/* Asks for both clamps; RESET - 1: not for this one. */
#define NOT (RESET - 1)
static int ask(struct machine *m, struct task *t, u32 least, u32 most)
{
	struct sched_attr_req req;
	int err;

	sched_get_attr(t, &req);
	req.clamps = (least == NOT ? 0 : BIT(SCHED_CLAMP_MIN)) |
		     (most == NOT ? 0 : BIT(SCHED_CLAMP_MAX));
	req.util[SCHED_CLAMP_MIN] = least;
	req.util[SCHED_CLAMP_MAX] = most;
	err = sched_set_attr(m->s, t, &req);
	sched_check(m->s);
	return err;
}

static void has(const struct task *t, u32 least, u32 most)
{
	struct sched_attr_req req;

	sched_get_attr(t, &req);
	assert_int_equal(req.util[SCHED_CLAMP_MIN], least);
	assert_int_equal(req.util[SCHED_CLAMP_MAX], most);
}

static void cpu_has(struct machine *m, unsigned cpu, u32 least, u32 most)
{
	sched_check(m->s);
	assert_int_equal(sched_clamp_cpu(m->s, cpu, SCHED_CLAMP_MIN), least);
	assert_int_equal(sched_clamp_cpu(m->s, cpu, SCHED_CLAMP_MAX), most);
}

static void become(struct machine *m, struct task *t, int policy)
{
	struct sched_attr_req req;

	sched_get_attr(t, &req);
	req.policy = policy;
	req.rt_priority = policy == SCHED_FIFO;
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
}

/* --- requests ---------------------------------------------------------------------------- */

static void what_is_refused_changes_nothing(void **state)
{
	static const struct {
		u32 least, most;
		int err;
	} rows[] = { { 1025, NOT, -EINVAL },  { NOT, 1025, -EINVAL }, { 1u << 31, NOT, -EINVAL },
		     { 601, 600, -EINVAL },   { 601, NOT, -EINVAL },  { NOT, 299, -EINVAL },
		     { RESET, 1025, -EINVAL } };
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *t = pinned(m, 0);

	(void)state;
	assert_int_equal(ask(m, t, 300, 600), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(ask(m, t, rows[i].least, rows[i].most), rows[i].err);
		has(t, 300, 600);
		cpu_has(m, 0, 300, 600);
	}
	machine_free(m);
}

static void what_is_not_asked_for_stays(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *t = pinned(m, 0);

	(void)state;
	has(t, 0, 1024);
	assert_int_equal(ask(m, t, 0, 0), 0);
	has(t, 0, 0);
	assert_int_equal(ask(m, t, 1024, 1024), 0);
	assert_int_equal(ask(m, t, 200, NOT), 0);
	has(t, 200, 1024);
	assert_int_equal(ask(m, t, NOT, 200), 0);
	has(t, 200, 200);
	become(m, t, SCHED_FIFO);
	has(t, 200, 200);
	become(m, t, SCHED_NORMAL);
	assert_int_equal(ask(m, t, 800, RESET), 0);
	has(t, 800, 1024);
	/* A reset is compared with nothing, not even with what it will be. */
	assert_int_equal(ask(m, t, RESET, 0), 0);
	has(t, 0, 0);
	assert_int_equal(ask(m, t, RESET, RESET), 0);
	has(t, 0, 1024);
	machine_free(m);
}

static void real_time_tasks_have_a_minimum_of_their_own(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *t = pinned(m, 0);

	(void)state;
	become(m, t, SCHED_FIFO);
	has(t, 1024, 1024);
	cpu_has(m, 0, 1024, 1024);
	set_tunable(m, "sched_util_clamp_min_rt_default", "500");
	has(t, 500, 1024);
	cpu_has(m, 0, 500, 1024);
	assert_int_equal(ask(m, t, 70, NOT), 0);
	cpu_has(m, 0, 70, 1024);
	assert_int_equal(ask(m, t, RESET, NOT), 0);
	cpu_has(m, 0, 500, 1024);
	become(m, t, SCHED_NORMAL);
	cpu_has(m, 0, 0, 1024);
	machine_free(m);
}

static struct task *child_of(struct machine *m, struct task *parent)
{
	struct task *child = calloc(1, sizeof(*child));

	sched_task_fork(m->s, parent, child, 99, 0);
	sched_task_start(m->s, child, 0);
	return child;
}

static void children_ask_for_the_same_unless_it_is_reset(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *parent = pinned(m, 0), *child;
	struct sched_attr_req req;

	(void)state;
	assert_int_equal(ask(m, parent, 100, 200), 0);
	child = child_of(m, parent);
	has(child, 100, 200);
	sched_get_attr(parent, &req);
	req.reset_on_fork = true;
	assert_int_equal(sched_set_attr(m->s, parent, &req), 0);
	has(parent, 100, 200);
	child = child_of(m, parent);
	has(child, 0, 1024);
	sched_check(m->s);
	machine_free(m);
}

static void at_one_speed_there_are_no_clamps(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task *t = spawn_nice(m, "t", 0);
	struct sched_attr_req req;

	(void)state;
	sched_get_attr(t, &req);
	assert_int_equal(req.util[0] + req.util[1], 0);
	req.clamps = 1;
	assert_int_equal(sched_set_attr(m->s, t, &req), -EOPNOTSUPP);
	machine_free(m);
}

/* --- of a CPU ---------------------------------------------------------------------------- */

static void a_cpu_has_the_greatest_of_its_runnable_tasks(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *a = pinned(m, 0), *b = pinned(m, 0);

	(void)state;
	cpu_has(m, 0, 0, 1024);
	assert_int_equal(ask(m, a, 100, 300), 0);
	cpu_has(m, 0, 100, 1024);
	assert_int_equal(ask(m, b, 400, 500), 0);
	cpu_has(m, 0, 400, 500);
	cpu_has(m, 1, 0, 1024);
	/* b moves, and takes its clamps along. */
	allow(m, b, cpumask_of(1));
	cpu_has(m, 0, 100, 300);
	cpu_has(m, 1, 400, 500);
	allow(m, a, cpumask_of(1));
	cpu_has(m, 1, 400, 500);
	/* Nobody is left: no minimum, and the maximum of the last. */
	cpu_has(m, 0, 0, 300);
	/* The next to come ends that, though its own is less. */
	assert_int_equal(ask(m, b, 0, 30), 0);
	allow(m, b, cpumask_of(0));
	cpu_has(m, 0, 0, 30);
	machine_free(m);
}

/* 510 and 555 are in one bucket, 509 in the one before, 561 in the one after. */
static void a_bucket_keeps_its_greatest_until_it_is_empty(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *a = pinned(m, 0), *b = pinned(m, 0), *c = pinned(m, 0);

	(void)state;
	assert_int_equal(ask(m, a, 510, 1024), 0);
	assert_int_equal(ask(m, b, 555, 1024), 0);
	assert_int_equal(ask(m, c, 509, 1024), 0);
	cpu_has(m, 0, 555, 1024);
	allow(m, b, cpumask_of(1));
	cpu_has(m, 0, 555, 1024);
	assert_int_equal(ask(m, a, 511, 1024), 0);
	cpu_has(m, 0, 511, 1024);
	allow(m, a, cpumask_of(1));
	cpu_has(m, 0, 509, 1024);
	assert_int_equal(ask(m, c, 561, 1024), 0);
	cpu_has(m, 0, 561, 1024);
	assert_int_equal(ask(m, c, 969, 1024), 0);
	allow(m, a, cpumask_of(0));
	assert_int_equal(ask(m, a, 1023, 1024), 0);
	assert_int_equal(ask(m, a, 968, 1024), 0);
	/* 968 is in the last bucket but one. */
	cpu_has(m, 0, 1023, 1024);
	assert_int_equal(ask(m, c, 100, 1024), 0);
	cpu_has(m, 0, 968, 1024);
	machine_free(m);
}

static void sleep_and_exit_end_it(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *t = pinned(m, 0);

	(void)state;
	assert_int_equal(ask(m, t, 700, 800), 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	cpu_has(m, 0, 0, 800);
	/* A sleeper asks for something else: it counts from its wakeup. */
	assert_int_equal(ask(m, t, 200, 300), 0);
	cpu_has(m, 0, 0, 800);
	assert_true(wake(m, t, 0));
	cpu_has(m, 0, 200, 300);
	sched_task_exit(m->s, 0);
	t->state = TASK_DEAD;
	switch_cpu(m, 0, false);
	cpu_has(m, 0, 0, 300);
	machine_free(m);
}

static void deadline_tasks_have_none(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *t = spawn_nice(m, "t", 0);
	struct sched_attr_req req;
	unsigned cpu = t->cpu;

	(void)state;
	assert_int_equal(ask(m, t, 300, 400), 0);
	sched_get_attr(t, &req);
	req.policy = SCHED_DEADLINE;
	req.runtime_ns = NS_PER_MS;
	req.deadline_ns = req.period_ns = 10 * NS_PER_MS;
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	cpu_has(m, cpu, 0, 400);
	become(m, t, SCHED_NORMAL);
	cpu_has(m, t->cpu, 300, 400);
	machine_free(m);
}

/* --- groups and the machine -------------------------------------------------------------- */

static void clamp_group(struct machine *m, struct task_group *tg, u32 least, u32 most)
{
	assert_int_equal(task_group_set_clamp(m->s, tg, SCHED_CLAMP_MIN, least), 0);
	assert_int_equal(task_group_set_clamp(m->s, tg, SCHED_CLAMP_MAX, most), 0);
}

static void a_group_limits_its_members(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task_group *tg = new_group(m, NULL);
	struct task *t = pinned(m, 0);

	(void)state;
	task_group_move(m->s, t, tg);
	cpu_has(m, 0, 0, 1024);
	clamp_group(m, tg, 200, 600);
	cpu_has(m, 0, 200, 600);
	assert_int_equal(ask(m, t, 100, 150), 0);
	cpu_has(m, 0, 200, 200);
	assert_int_equal(ask(m, t, 700, 900), 0);
	cpu_has(m, 0, 600, 600);
	assert_int_equal(ask(m, t, 300, 400), 0);
	cpu_has(m, 0, 300, 400);
	has(t, 300, 400);
	task_group_move(m->s, t, NULL);
	assert_int_equal(ask(m, t, RESET, RESET), 0);
	cpu_has(m, 0, 0, 1024);
	/* A minimum above the maximum is no more than that. */
	clamp_group(m, tg, 900, 500);
	task_group_move(m->s, t, tg);
	cpu_has(m, 0, 500, 500);
	assert_int_equal(task_group_set_clamp(m->s, tg, SCHED_CLAMP_MAX, 1025), -EINVAL);
	assert_int_equal(task_group_set_clamp(m->s, NULL, SCHED_CLAMP_MAX, 1024), -EINVAL);
	cpu_has(m, 0, 500, 500);
	machine_free(m);
}

static void parents_limit_their_children(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task_group *a = new_group(m, NULL), *b = new_group(m, a), *c = new_group(m, b),
			  *late;
	struct task *t = pinned(m, 0);

	(void)state;
	task_group_move(m->s, t, c);
	clamp_group(m, c, 400, 800);
	/* Its parents have no minimum, so it has none. */
	cpu_has(m, 0, 0, 800);
	clamp_group(m, a, 300, 700);
	clamp_group(m, b, 350, 900);
	cpu_has(m, 0, 300, 700);
	late = new_group(m, b);
	task_group_move(m->s, t, late);
	cpu_has(m, 0, 0, 700);
	task_group_move(m->s, t, c);
	set_tunable(m, "sched_util_clamp_min", "250");
	cpu_has(m, 0, 250, 700);
	set_tunable(m, "sched_util_clamp_max", "650");
	cpu_has(m, 0, 250, 650);
	clamp_group(m, a, 0, 1024);
	cpu_has(m, 0, 0, 650);
	machine_free(m);
}

static void the_machine_limits_all(void **state)
{
	static const struct {
		const char *name, *value;
		int err;
	} rows[] = { { "sched_util_clamp_min", "601", -EINVAL },
		     { "sched_util_clamp_max", "399", -EINVAL },
		     { "sched_util_clamp_max", "1025", -EINVAL },
		     { "sched_util_clamp_min", "-1", -EINVAL },
		     { "sched_util_clamp_min_rt_default", "1025", -EINVAL } };
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *t = pinned(m, 0);

	(void)state;
	assert_int_equal(ask(m, t, 500, 1000), 0);
	set_tunable(m, "sched_util_clamp_min", "400");
	cpu_has(m, 0, 400, 1000);
	set_tunable(m, "sched_util_clamp_max", "600");
	cpu_has(m, 0, 400, 600);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(sched_tunable_write(m->s, rows[i].name, rows[i].value,
						     strlen(rows[i].value)),
				 rows[i].err);
	cpu_has(m, 0, 400, 600);
	/* A task may ask for more, and gets it when it may. */
	has(t, 500, 1000);
	set_tunable(m, "sched_util_clamp_max", "1024");
	set_tunable(m, "sched_util_clamp_min", "1024");
	cpu_has(m, 0, 500, 1000);
	machine_free(m);
}

/* --- governors --------------------------------------------------------------------------- */

/* The same as tell(), longer after the news before than any throttle. */
static u32 tell_later(struct machine *m, unsigned cpu, u64 util, enum freq_reason reason)
{
	m->now += NS_PER_SEC;
	return tell(m, cpu, util, reason);
}

/* f = clamped * 1.25 * 850 / 1024: 433 is the last for 450 MHz, 555 needs 700, 748 needs 850. */
static void check_clamped(const char *governor)
{
	struct machine *m = governed("juno-a53", governor);
	struct task *t = pinned(m, 0);

	assert_int_equal(tell_later(m, 0, 300, FREQ_WAKEUP), 450);
	assert_int_equal(ask(m, t, 433, NOT), 0);
	assert_int_equal(tell_later(m, 0, 300, FREQ_WAKEUP), 450);
	assert_int_equal(ask(m, t, 555, NOT), 0);
	assert_int_equal(tell_later(m, 0, 0, FREQ_WAKEUP), 700);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_WAKEUP), 850);
	assert_int_equal(ask(m, t, 0, 433), 0);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_WAKEUP), 450);
	assert_int_equal(ask(m, t, 0, 748), 0);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_WAKEUP), 850);
	machine_free(m);
}

static void both_governors_clamp_what_is_used(void **state)
{
	(void)state;
	check_clamped("sched");
	check_clamped("schedutil");
}

/* The tick asks for all of a CPU, but not for more than its clamps allow. */
static void the_tick_stays_within_the_clamp(void **state)
{
	struct machine *m = governed("juno-a53", "sched");
	struct task *t = pinned(m, 0);

	(void)state;
	assert_int_equal(tell_later(m, 0, 300, FREQ_WAKEUP), 450);
	assert_int_equal(ask(m, t, 0, 433), 0);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_TICK), 450);
	assert_int_equal(ask(m, t, 0, 500), 0);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_TICK), 575);
	assert_int_equal(ask(m, t, 0, 600), 0);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_TICK), 700);
	assert_int_equal(ask(m, t, 0, 1024), 0);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_TICK), 850);
	machine_free(m);
}

/* Under `schedutil` a real-time task is all of the CPU, until somebody asks for a clamp. */
static void real_time_runs_as_fast_as_its_clamp(void **state)
{
	struct machine *m = governed("juno-a53", "schedutil");
	struct task *t = pinned(m, 0);

	(void)state;
	become(m, t, SCHED_FIFO);
	assert_int_equal(tell_later(m, 0, 0, FREQ_WAKEUP), 850);
	set_tunable(m, "sched_util_clamp_min_rt_default", "555");
	assert_int_equal(tell_later(m, 0, 0, FREQ_WAKEUP), 700);
	/* It has used all of the CPU meanwhile. */
	assert_int_equal(ask(m, t, 0, NOT), 0);
	assert_int_equal(tell_later(m, 0, 0, FREQ_WAKEUP), 850);
	assert_int_equal(ask(m, t, 0, 433), 0);
	assert_int_equal(tell_later(m, 0, 0, FREQ_WAKEUP), 450);
	/* The minimum that it has anyway is above its maximum: it holds. */
	assert_int_equal(ask(m, t, RESET, NOT), 0);
	assert_int_equal(tell_later(m, 0, 0, FREQ_WAKEUP), 700);
	machine_free(m);
}

/* A domain of one CPU is not slowed down while it stays busy, unless a clamp is the reason. */
static void a_capped_cpu_is_slowed_down(void **state)
{
	static const char alone[] = "type t\nopp 450 542 33 26\nopp 850 1024 93 57\nidle 6 56 0\n"
				    "domain 0 t\n";
	struct machine *m = machine_new_opp("llcs=1,cores=1", alone, NULL);
	struct task *t = pinned(m, 0);

	(void)state;
	assert_int_equal(sched_freq_govern(m->s, 0, "schedutil"), 0);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_WAKEUP), 850);
	assert_int_equal(tell_later(m, 0, 100, FREQ_TICK), 850);
	assert_int_equal(ask(m, t, 0, 90), 0);
	assert_int_equal(tell_later(m, 0, 100, FREQ_TICK), 450);
	assert_int_equal(ask(m, t, 0, 1000), 0);
	assert_int_equal(tell_later(m, 0, 1000, FREQ_TICK), 850);
	assert_int_equal(tell_later(m, 0, 999, FREQ_TICK), 850);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused_changes_nothing),
		cmocka_unit_test(what_is_not_asked_for_stays),
		cmocka_unit_test(real_time_tasks_have_a_minimum_of_their_own),
		cmocka_unit_test(children_ask_for_the_same_unless_it_is_reset),
		cmocka_unit_test(at_one_speed_there_are_no_clamps),
		cmocka_unit_test(a_cpu_has_the_greatest_of_its_runnable_tasks),
		cmocka_unit_test(a_bucket_keeps_its_greatest_until_it_is_empty),
		cmocka_unit_test(sleep_and_exit_end_it),
		cmocka_unit_test(deadline_tasks_have_none),
		cmocka_unit_test(a_group_limits_its_members),
		cmocka_unit_test(parents_limit_their_children),
		cmocka_unit_test(the_machine_limits_all),
		cmocka_unit_test(both_governors_clamp_what_is_used),
		cmocka_unit_test(the_tick_stays_within_the_clamp),
		cmocka_unit_test(real_time_runs_as_fast_as_its_clamp),
		cmocka_unit_test(a_capped_cpu_is_slowed_down),
	};

	return cmocka_run_group_tests_name("clamp", tests, NULL, NULL);
}
