/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair server: when it is deferred, when it competes, what fair tasks get beside real-time
 * hogs. The numbers are worked by hand from the rules in docs/deadline.md.
 */
#include <string.h>

#include "lib/errno.h"
#include "sched/dl/dl.h"
#include "swap.h"

#define SERVED "eevdf"

enum { RUNTIME, PERIOD };

static struct machine *served(unsigned nr_cpus)
{
	return machine_under(nr_cpus, SERVED);
}

static const struct dl_server *server(struct machine *m, unsigned cpu)
{
	return &dl_seen(cpu_rq(m->s, cpu))->server;
}

static int write_server(struct machine *m, unsigned cpu, unsigned file, const char *text)
{
	int err = sched_fair_server_write(m->s, cpu, file, text, strlen(text));

	settle(m);
	return err;
}

static void ticks(struct machine *m, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		tick(m);
}

/* --- its periods -------------------------------------------------------------------- */

/*
 * The FIFO task has [0, 950) ms, for the budget of 50 ms fits before the deadline until then. From
 * the zero-laxity time on the period is a new one, and at the end of each the server is ready at
 * once: [950, 1000), [1950, 2000), ...
 */
static void starving_tasks_get_their_runtime_in_every_period(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo = spawn(m, "fifo", SCHED_FIFO, 1);

	(void)state;
	for (unsigned second = 0; second < 5; second++) {
		assert_ptr_equal(running(m, 0), fifo);
		ticks(m, 949);
		assert_ptr_equal(running(m, 0), fifo);
		tick(m);
		assert_ptr_equal(running(m, 0), fair);
		sched_check(m->s);
		ticks(m, 49);
		assert_ptr_equal(running(m, 0), fair);
		tick(m);
		sched_check(m->s);
	}
	assert_int_equal(sched_task_runtime(m->s, fair), 250 * MS);
	assert_int_equal(sched_task_runtime(m->s, fifo), 4750 * MS);
	machine_free(m);
}

static void its_timer_comes_when_the_budget_ends(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0);

	(void)state;
	set_feature(m, "HRTICK_DL");
	spawn(m, "fifo", SCHED_FIFO, 1);
	ticks(m, 950);
	assert_ptr_equal(running(m, 0), fair);
	assert_int_equal(dl_server_next_timer(cpu_rq(m->s, 0)), m->now + 50 * MS);
	machine_free(m);
}

static void the_time_of_a_deadline_task_is_the_cpus_too(void **state)
{
	struct machine *m = served(1);
	struct task *t = spawn_dl(m, "dl", 5 * MS, 10 * MS, 0);
	u64 before = cpu_rq(m->s, 0)->run_ns;

	(void)state;
	for (unsigned n = 1; n <= 3; n++) {
		tick(m);
		assert_int_equal(sched_task_runtime(m->s, t), n * MS);
		assert_int_equal(cpu_rq(m->s, 0)->run_ns - before, n * MS);
	}
	machine_free(m);
}

/* Nothing is withheld from real-time tasks if nobody else is there, nor if fair ones sleep. */
static void a_real_time_task_alone_has_the_whole_cpu(void **state)
{
	struct machine *m = served(1);
	struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 1);

	(void)state;
	ticks(m, 3000);
	assert_int_equal(sched_task_runtime(m->s, fifo), 3000 * MS);
	assert_false(server(m, 0)->active);
	assert_int_equal(sched_fair_swap(m->s, "cfs", 0), 0);
	ticks(m, 3000);
	assert_in_range(sched_task_runtime(m->s, fifo), 5849 * MS, 5860 * MS);
	machine_free(m);
}

/* 60 ms before the FIFO task came are more than the budget: the next deadline is 60 + 1000 ms. */
static void who_had_the_budget_by_itself_needs_no_help(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo;

	(void)state;
	ticks(m, 60);
	assert_int_equal(server(m, 0)->d.deadline - m->now, 990 * MS);
	fifo = spawn(m, "fifo", SCHED_FIFO, 1);
	ticks(m, 949);
	assert_ptr_equal(running(m, 0), fifo);
	ticks(m, 1);
	assert_ptr_equal(running(m, 0), fair);
	assert_true(server(m, 0)->starving);
	machine_free(m);
}

/* Of 50 ms the fair task had 20 before: the other 30 fit until 970. */
static void a_part_of_the_budget_puts_the_server_off(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo;

	(void)state;
	ticks(m, 20);
	fifo = spawn(m, "fifo", SCHED_FIFO, 1);
	ticks(m, 949);
	assert_ptr_equal(running(m, 0), fifo);
	ticks(m, 1);
	assert_ptr_equal(running(m, 0), fair);
	machine_free(m);
}

/* Throttled, the server is deferred again as soon as a fair task runs without it. */
static void it_is_deferred_again_when_real_time_tasks_leave_room(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo = spawn(m, "fifo", SCHED_FIFO, 1);

	(void)state;
	ticks(m, 1000);
	assert_ptr_equal(running(m, 0), fifo);
	assert_true(server(m, 0)->starving && server(m, 0)->d.throttled);
	block(m, 0, TASK_INTERRUPTIBLE);
	ticks(m, 1);
	assert_ptr_equal(running(m, 0), fair);
	assert_true(server(m, 0)->active && !server(m, 0)->starving && !server(m, 0)->d.throttled);
	wake(m, fifo, 0);
	assert_int_equal(server(m, 0)->d.deadline - m->now, 999 * MS + 1 * MS);
	machine_free(m);
}

/* Idling is time that fair tasks could have had: the rest of 30 ms is gone after 40 idle ms. */
static void idle_time_uses_the_budget_up(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0);

	(void)state;
	ticks(m, 20);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 10 * MS);
	wake(m, fair, 0);
	assert_int_equal(server(m, 0)->d.budget_ns, 20 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 40 * MS);
	wake(m, fair, 0);
	assert_int_equal(server(m, 0)->d.budget_ns, 0);
	assert_int_equal(dl_server_zero_laxity(server(m, 0)), server(m, 0)->d.deadline);
	machine_free(m);
}

/* While a task sleeps the timer stays as it was. Early it finds nothing to do, once. */
static void a_sleep_leaves_the_timer_alone(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0);
	u64 armed = m->timer[0];

	(void)state;
	assert_int_equal(armed, m->now + 950 * MS);
	m->timer[0] = 1; /* host_timer() would change it */
	block(m, 0, TASK_INTERRUPTIBLE);
	wake(m, fair, 0);
	assert_int_equal(m->timer[0], 1);
	m->timer[0] = armed;
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 950 * MS);
	assert_false(server(m, 0)->active);
	assert_int_equal(m->timer[0], 0);
	wake(m, fair, 0);
	assert_int_equal(m->timer[0], dl_server_zero_laxity(server(m, 0)));
	sched_check(m->s);
	machine_free(m);
}

/* The FIFO task has the CPU already, and nothing else happens there: the 950 ms count from now. */
static void who_comes_behind_a_real_time_task_is_served(void **state)
{
	struct machine *m = served(1);
	struct task *fifo = spawn(m, "fifo", SCHED_FIFO, 1), *fair;

	(void)state;
	ticks(m, 5);
	fair = spawn_nice(m, "fair", 0);
	ticks(m, 949);
	assert_ptr_equal(running(m, 0), fifo);
	ticks(m, 1);
	assert_ptr_equal(running(m, 0), fair);
	sched_check(m->s);
	machine_free(m);
}

/*
 * Served for 10 of 50 ms, fair tasks go, and the FIFO task, too. If they come back before the other
 * 40 ms were idle, they go on where they were; else they are deferred, as after any idle time.
 */
static void idle_time_ends_starvation(void **state)
{
	(void)state;
	for (unsigned starved = 0; starved < 2; starved++)
		for (u64 idle = 38; idle <= 42; idle += 1 + (idle == 39)) {
			struct machine *m = served(1);
			struct task *fifo, *fair = spawn_nice(m, "fair", 0);
			bool ready = starved && idle < 40;

			if (!starved) {
				ticks(m, 10);
				block(m, 0, TASK_INTERRUPTIBLE);
			} else {
				fifo = spawn(m, "fifo", SCHED_FIFO, 1);
				ticks(m, 960);
				assert_ptr_equal(running(m, 0), fair);
				block(m, 0, TASK_INTERRUPTIBLE);
				assert_ptr_equal(running(m, 0), fifo);
				block(m, 0, TASK_INTERRUPTIBLE);
			}
			advance(m, idle * MS);
			fifo = spawn(m, "fifo", SCHED_FIFO, 1);
			wake(m, fair, 0);
			assert_true(server(m, 0)->active);
			assert_int_equal(server(m, 0)->starving, ready);
			assert_int_equal(server(m, 0)->ready, ready);
			sched_check(m->s);
			machine_free(m);
		}
}

/* --- beside deadline tasks ----------------------------------------------------------- */

/*
 * Ready at 950 ms, the server's deadline is 1,950. A task with 20 ms in each 100 ms goes first, and
 * the FIFO task has nothing from 950 until the server has had its 50 ms.
 */
static void it_competes_by_its_deadline(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo = spawn(m, "fifo", SCHED_FIFO, 1);
	struct task *dl = spawn_dl(m, "dl", 20 * MS, 100 * MS, 0);
	u64 before;

	(void)state;
	ticks(m, 950);
	before = sched_task_runtime(m->s, fifo);
	ticks(m, 70);
	assert_int_equal(sched_task_runtime(m->s, fifo), before);
	assert_int_equal(sched_task_runtime(m->s, fair), 50 * MS);
	assert_int_equal(sched_task_runtime(m->s, dl), 220 * MS);
	sched_check(m->s);
	machine_free(m);
}

/* A real-time task that the server keeps waiting goes to a CPU with less urgent work. */
static void real_time_tasks_go_elsewhere_meanwhile(void **state)
{
	struct machine *m = served(2);
	struct cpumask first = cpumask_of(0);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo;

	(void)state;
	assert_int_equal(sched_set_affinity(m->s, fair, &first), 0);
	settle(m);
	fifo = spawn(m, "fifo", SCHED_FIFO, 1);
	while (fifo->cpu != 0) {
		assert_int_equal(sched_set_affinity(m->s, fifo, &first), 0);
		settle(m);
	}
	assert_int_equal(sched_set_affinity(m->s, fifo, &m->s->possible), 0);
	settle(m);
	ticks(m, 960);
	assert_ptr_equal(running(m, 0), fair);
	assert_ptr_equal(running(m, 1), fifo);
	machine_free(m);
}

/* --- swaps, hotplug ------------------------------------------------------------------- */

/* The throttled class of CFS is let go at the end of its period; EEVDF's server begins at once. */
static void a_swap_exchanges_throttling_for_the_server(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo = spawn(m, "fifo", SCHED_FIFO, 1);

	(void)state;
	ticks(m, 960);
	assert_ptr_equal(running(m, 0), fair);
	assert_false(server(m, 0)->active);
	assert_int_equal(sched_fair_swap(m->s, SERVED, 0), 0);
	settle(m);
	sched_check(m->s);
	assert_true(server(m, 0)->active);
	ticks(m, 100);
	assert_ptr_equal(running(m, 0), fifo);
	ticks(m, 900);
	assert_int_equal(sched_fair_swap(m->s, "cfs", 0), 0);
	settle(m);
	sched_check(m->s);
	assert_false(server(m, 0)->active);
	machine_free(m);
}

static void a_cpu_that_leaves_has_no_server(void **state)
{
	struct machine *m = served(2);
	struct cpumask second = cpumask_of(1);
	struct task *fair = spawn_nice(m, "fair", 0);

	(void)state;
	assert_int_equal(sched_set_affinity(m->s, fair, &second), 0);
	settle(m);
	assert_true(server(m, 1)->active);
	assert_int_equal(sched_cpu_offline(m->s, 1), 0);
	settle(m);
	assert_false(server(m, 1)->active);
	assert_true(server(m, 0)->active);
	assert_int_equal(dl_total_bw(m->s, m->now), 52428);
	sched_cpu_online(m->s, 1, &m->idle[1]);
	settle(m);
	assert_int_equal(dl_total_bw(m->s, m->now), 2 * 52428);
	sched_check(m->s);
	machine_free(m);
}

/* --- parameters ------------------------------------------------------------------------ */

static void reads(struct machine *m, unsigned file, const char *text)
{
	char buf[32];

	assert_int_equal(sched_fair_server_read(m->s, 0, file, buf, sizeof(buf)), strlen(text));
	assert_string_equal(buf, text);
}

static void its_files_take_what_linux_takes(void **state)
{
	static const struct {
		unsigned file;
		const char *text;
		int err;
	} writes[] = {
		{ RUNTIME, "", -EINVAL },	  { RUNTIME, "5x", -EINVAL },
		{ RUNTIME, "-1", -EINVAL },	  { RUNTIME, "1000000001", -EINVAL },
		{ PERIOD, "49999999", -EINVAL },  { PERIOD, "4194304001", -EINVAL },
		{ RUNTIME, "951000000", -EBUSY }, { PERIOD, "52000000", -EBUSY },
		{ RUNTIME, "100000000\n", 0 },	  { PERIOD, "500000000", 0 },
		{ PERIOD, "99999", -EINVAL },	  { RUNTIME, "0", 0 },
		{ PERIOD, "99999", -EINVAL },	  { PERIOD, "100000", 0 },
		{ PERIOD, "4194304000", 0 },
	};
	struct machine *m = served(1);

	(void)state;
	reads(m, RUNTIME, "50000000\n");
	reads(m, PERIOD, "1000000000\n");
	for (unsigned i = 0; i < ARRAY_SIZE(writes); i++)
		assert_int_equal(write_server(m, 0, writes[i].file, writes[i].text), writes[i].err);
	reads(m, RUNTIME, "0\n");
	reads(m, PERIOD, "4194304000\n");
	machine_free(m);
}

/* Of 20 ms in each 100 ms the FIFO task has the first 80; without a runtime it has all. */
static void new_parameters_hold_at_once(void **state)
{
	struct machine *m = served(1);
	struct task *fair = spawn_nice(m, "fair", 0), *fifo = spawn(m, "fifo", SCHED_FIFO, 1);

	(void)state;
	assert_int_equal(write_server(m, 0, RUNTIME, "20000000"), 0);
	assert_int_equal(write_server(m, 0, PERIOD, "100000000"), 0);
	ticks(m, 1000);
	assert_int_equal(sched_task_runtime(m->s, fair), 200 * MS);
	while (running(m, 0) != fair)
		tick(m);
	assert_int_equal(write_server(m, 0, RUNTIME, "0"), 0);
	assert_ptr_equal(running(m, 0), fifo);
	sched_check(m->s);
	ticks(m, 1000);
	assert_int_equal(sched_task_runtime(m->s, fair), 200 * MS);
	assert_ptr_equal(running(m, 0), fifo);
	machine_free(m);
}

/* The servers of both CPUs have 5 % each of the 95 % that may be admitted; under CFS nothing. */
static void servers_count_in_admission(void **state)
{
	struct sched_attr_req req = { .policy = SCHED_DEADLINE,
				      .runtime_ns = 91 * MS,
				      .deadline_ns = 100 * MS };
	struct machine *m = served(1);
	struct task *t = spawn_nice(m, "t", 0);

	(void)state;
	assert_int_equal(sched_set_attr(m->s, t, &req), -EBUSY);
	assert_int_equal(sched_fair_swap(m->s, "cfs", 0), 0);
	assert_int_equal(sched_set_attr(m->s, t, &req), 0);
	settle(m);
	assert_int_equal(sched_fair_swap(m->s, SERVED, 0), -EBUSY);
	assert_string_equal(sched_fair_current(m->s), "cfs");
	assert_int_equal(write_server(m, 0, RUNTIME, "30000000"), 0);
	assert_int_equal(sched_fair_swap(m->s, SERVED, 0), 0);
	assert_int_equal(write_server(m, 0, RUNTIME, "50000000"), -EBUSY);
	machine_free(m);
}

/* Where no deadline task is, servers need no room: throttling would not have asked for any. */
static void servers_alone_are_admitted(void **state)
{
	(void)state;
	for (unsigned other = 0; other < 2; other++) {
		struct machine *m = machine_under(1, "cfs");

		set_tunable(m, "sched_rt_runtime_us", "40000");
		if (other)
			spawn_dl(m, "t", MS / 10, 100 * MS, 0);
		assert_int_equal(sched_fair_swap(m->s, SERVED, 0), other ? -EBUSY : 0);
		machine_free(m);
	}
}

/* The whole of its period is a runtime like others: it is admission that refuses it. */
static void a_server_may_ask_for_all_of_its_period(void **state)
{
	struct machine *m = served(1);

	(void)state;
	assert_int_equal(write_server(m, 0, RUNTIME, "1000000000"), -EBUSY);
	assert_int_equal(write_server(m, 0, RUNTIME, "1000000001"), -EINVAL);
	set_tunable(m, "sched_rt_runtime_us", "-1");
	assert_int_equal(write_server(m, 0, RUNTIME, "1000000000"), 0);
	machine_free(m);
}

/* It has work while there are fair tasks: new parameters are no reason to compete. */
static void a_server_waits_for_fair_tasks_whatever_is_written(void **state)
{
	struct machine *m = served(2);
	struct task *fair = spawn_nice(m, "fair", 0);

	(void)state;
	assert_int_equal(write_server(m, 0, RUNTIME, "40000000"), 0);
	assert_int_equal(write_server(m, 1, RUNTIME, "40000000"), 0);
	assert_true(server(m, 0)->active && !server(m, 1)->active);
	assert_int_equal(dl_server_next_timer(cpu_rq(m->s, 1)), 0);
	sched_check(m->s);
	assert_ptr_equal(running(m, 0), fair);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(write_server(m, 0, PERIOD, "500000000"), 0);
	assert_false(server(m, 0)->active);
	sched_check(m->s);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_timer_comes_when_the_budget_ends),
		cmocka_unit_test(the_time_of_a_deadline_task_is_the_cpus_too),
		cmocka_unit_test(starving_tasks_get_their_runtime_in_every_period),
		cmocka_unit_test(a_real_time_task_alone_has_the_whole_cpu),
		cmocka_unit_test(who_had_the_budget_by_itself_needs_no_help),
		cmocka_unit_test(a_part_of_the_budget_puts_the_server_off),
		cmocka_unit_test(it_is_deferred_again_when_real_time_tasks_leave_room),
		cmocka_unit_test(idle_time_uses_the_budget_up),
		cmocka_unit_test(a_sleep_leaves_the_timer_alone),
		cmocka_unit_test(it_competes_by_its_deadline),
		cmocka_unit_test(real_time_tasks_go_elsewhere_meanwhile),
		cmocka_unit_test(a_swap_exchanges_throttling_for_the_server),
		cmocka_unit_test(a_cpu_that_leaves_has_no_server),
		cmocka_unit_test(its_files_take_what_linux_takes),
		cmocka_unit_test(new_parameters_hold_at_once),
		cmocka_unit_test(servers_count_in_admission),
		cmocka_unit_test(servers_alone_are_admitted),
		cmocka_unit_test(a_server_may_ask_for_all_of_its_period),
		cmocka_unit_test(who_comes_behind_a_real_time_task_is_served),
		cmocka_unit_test(idle_time_ends_starvation),
		cmocka_unit_test(a_server_waits_for_fair_tasks_whatever_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
