/* What the simulator measures while it runs. */
#include "sim.h"

void measure_runnable(struct sim *sim, struct sim_task *t)
{
	t->runnable_since = sim->now;
}

void measure_switch(struct sim *sim, struct sim_task *prev, struct sim_task *next)
{
	prev->runnable_since = prev->asleep ? 0 : sim->now;
	next->runnable_since = 0;
}
