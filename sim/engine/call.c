/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls at a time that somebody other than the engine asks for; see sim.h. */
#include "sim/engine/engine.h"

void call_due(struct sim *sim, struct sim_call *call)
{
	sim_enter(sim, call->cpu);
	call->what(sim, call);
	sim_leave(sim);
}

void sim_call_at(struct sim *sim, struct sim_call *call, u64 when,
		 void (*what)(struct sim *, struct sim_call *))
{
	call->event.kind = EVENT_CALL;
	call->cpu = sim->this_cpu;
	call->what = what;
	queue_set(&sim->queue, &call->event, when);
}

bool sim_call_cancel(struct sim *sim, struct sim_call *call)
{
	bool there = event_queued(&call->event);

	queue_cancel(&sim->queue, &call->event);
	return there;
}
