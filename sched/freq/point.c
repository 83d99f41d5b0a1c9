/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A domain changes its operating point. Its meters and its work clock are brought up to the moment
 * of the change first, so neither needs to know later when it was.
 */
#include "sched/freq/meter.h"
#include "sched/core/core.h"
#include "sched/observe/trace.h"

void freq_switch(struct sched *s, struct freq_domain *d, u32 opp, unsigned cpu, u64 now)
{
	assert_locked(d);
	SCHED_ASSERT(opp < d->type->nr_opps);
	opp = freq_within(d, opp);
	if (opp == d->opp)
		return;
	if (time_before(now, d->since))
		now = d->since;
	meter_all(d, now);
	d->work = freq_work(d, now);
	d->at_ns[d->opp] += now - d->since;
	d->since = now;
	d->nr_changes[d->opp][opp]++;
	WRITE_ONCE(d->opp, opp);
	d->nr_transitions++;
	for (struct freq_cpu *f = d->cpus; f; f = f->next) {
		if (f->meter.busy)
			host_set_speed(f->cpu, d->type->opp[opp].capacity);
		TRACE(cpu_frequency, s, cpu, f->cpu, d->type->opp[opp].mhz);
	}
}
