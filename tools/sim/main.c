/*
 * The command line of the simulator: schedsim CPUS HOGS, ten seconds of tasks that never sleep on a
 * machine with one last-level cache.
 */
#include <stdio.h>
#include <stdlib.h>

#include "explore.h"
#include "sim.h"

static struct sim *new_machine(unsigned nr_cpus)
{
	static struct sched_cpu_desc one_llc[CPU_MAX];

	for (unsigned cpu = 0; cpu < nr_cpus && cpu < CPU_MAX; cpu++)
		one_llc[cpu].core = cpu;
	return sim_new(&(struct sim_config){
		.nr_cpus = nr_cpus, .hz = 250, .topology = one_llc, .seed = 1 });
}

static void report(struct sim *sim)
{
	struct sim_task *t;

	list_for_each(t, &sim->tasks, link)
		printf("%s-%d: %llu ns, %llu migrations\n", t->task.comm, t->task.pid,
		       (unsigned long long)sched_task_runtime(sim->s, &t->task),
		       (unsigned long long)t->task.fair.nr_migrations);
	printf("%llu events, %llu operations, %llu switches\n",
	       (unsigned long long)sim->count.events, (unsigned long long)sim->count.operations,
	       (unsigned long long)sim->count.switches);
}

int main(int argc, char **argv)
{
	struct sim *sim;

	if (explore_wanted(argc, argv))
		return explore_main(argc, argv);
	sim = argc == 3 ? new_machine((unsigned)strtoul(argv[1], NULL, 10)) : NULL;

	if (!sim) {
		fprintf(stderr, "usage: schedsim CPUS HOGS, 1 to %u CPUs\n", CPU_MAX);
		return 2;
	}
	sim_enter(sim, 0);
	for (unsigned long hogs = strtoul(argv[2], NULL, 10); hogs; hogs--) {
		struct sim_task *t = sim_task_new(sim, "hog");

		if (t)
			sim_start(sim, t);
	}
	sim_leave(sim);
	sim_run(sim, SIM_START + 10 * NS_PER_SEC);
	report(sim);
	sim_free(sim);
	return 0;
}
