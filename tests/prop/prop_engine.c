/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The simulator's engine when the scheduler hangs: a run must end with a message, the runqueues and
 * status 1. The scheduler has no such bug, so a listener plays one: it asks for a switch in every
 * switch, makes two CPUs kick each other at one moment, or does not return.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "sim/engine/sim.h"

#define MANY_TASKS 2000

static struct sim *new_machine(struct sim_listener *listener)
{
	const struct sched_cpu_desc topology[] = { { .core = 0 }, { .core = 1 } };
	struct sim *sim = sim_new(&(struct sim_config){
		.nr_cpus = 2, .hz = 250, .topology = topology, .seed = 1, .hang_ms = 50 });

	assert_non_null(sim);
	if (listener)
		sim_listen(sim, listener);
	return sim;
}

static void start_tasks(struct sim *sim, unsigned nr)
{
	sim_enter(sim, 0);
	while (nr--)
		sim_start(sim, sim_task_new(sim, "hog"));
	sim_leave(sim);
}

/* --- what hangs ------------------------------------------------------------------------------- */

static void switch_again(struct sim_listener *l, struct sim *sim, struct sim_cpu *c, bool preempt,
			 struct sim_task *next)
{
	(void)l, (void)sim, (void)preempt;
	if (next)
		host_kick(c->id, true);
}

static void kick_the_other(struct sim_listener *l, struct sim *sim, struct sim_cpu *c, bool preempt,
			   struct sim_task *next)
{
	(void)l, (void)sim, (void)preempt;
	if (next)
		host_kick(1 - c->id, true);
}

static void do_not_return(struct sim_listener *l, struct sim *sim, struct sim_cpu *c, bool preempt,
			  struct sim_task *next)
{
	(void)l, (void)c, (void)preempt, (void)next;
	/* Starting the tasks is not a run, so no alarm is set then. */
	while (sim->now > SIM_START)
		__asm__ volatile("" ::: "memory");
}

/* --- what comes of it ------------------------------------------------------------------------- */

static jmp_buf failed;

static void leave(void)
{
	longjmp(failed, 1);
}

static void expect_bug(struct sim_listener *listener, const char *what)
{
	struct sim *volatile sim = new_machine(listener);

	sim->leave = leave;
	if (!setjmp(failed)) {
		start_tasks(sim, 3);
		sim_run(sim, SIM_START + NS_PER_SEC);
		fail_msg("it ran to its end");
	}
	if (!strstr(sim->bug, what))
		fail_msg("\"%s\", not \"%s\"", sim->bug, what);
	sim_free(sim);
}

static void a_hang_is_found(void **state)
{
	(void)state;
	expect_bug(&(struct sim_listener){ .decision = switch_again }, "no time passes");
	expect_bug(&(struct sim_listener){ .decision = kick_the_other }, "no time passes");
	expect_bug(&(struct sim_listener){ .decision = do_not_return }, "does not return");
}

/* The same without a place to jump to, as in schedsim: in a process of its own. */
static void a_hang_ends_the_program_with_the_runqueues(void **state)
{
	char text[1 << 14];
	int ends[2], status;
	ssize_t len;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		dup2(ends[1], STDERR_FILENO);
		start_tasks(new_machine(&(struct sim_listener){ .decision = switch_again }), 3);
		_exit(0);
	}
	close(ends[1]);
	for (size_t at = 0; (len = read(ends[0], text + at, sizeof(text) - 1 - at)) > 0;)
		text[at += (size_t)len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_ptr_equal(strstr(text, "schedsim: bug at 0 ns on CPU 0: "), text);
	assert_non_null(strstr(text, "no time passes"));
	assert_non_null(strstr(text, "cpu#0\n"));
	assert_non_null(strstr(text, "hog"));
}

/* Much may happen at one moment. */
static void a_busy_moment_is_no_hang(void **state)
{
	struct sim *sim = new_machine(NULL);

	(void)state;
	start_tasks(sim, MANY_TASKS);
	assert_true(sim_run(sim, SIM_START + NS_PER_SEC));
	assert_true(sim->count.switches > 0);
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hang_is_found),
		cmocka_unit_test(a_hang_ends_the_program_with_the_runqueues),
		cmocka_unit_test(a_busy_moment_is_no_hang),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
