/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Energy: the integral of the table's power over time, of each CPU and of what its domain shares.
 * A meter is busy or idle. Busy, it takes the power of the domain's point; idle, that of an idle
 * state, which depends only on how long it has idled: state n begins after the time that the table
 * says. So nothing needs to happen when a CPU falls into a deeper state, and the integral is exact.
 * Source: the energy model of the RFC that EAS came from (docs/sources.md).
 */
#include "sched/balance/energy.h"
#include "sched/freq/governor.h"
#include "sched/freq/meter.h"
#include "sched/core/core.h"

void meter_start(struct freq_meter *m, u64 now)
{
	m->since = m->idle_since = now;
}

static u32 power_of(const struct freq_domain *d, const struct freq_meter *m,
		    const struct opp_power *power)
{
	return m == &d->meter ? power->domain : power->cpu;
}

static void add_busy(struct freq_domain *d, struct freq_meter *m, u64 ns)
{
	debug_assert_locked(d);
	m->busy_ns[d->opp] += ns;
	m->energy += ns * power_of(d, m, &freq_opp(d)->power);
}

/* It idles from @from to @to, counted from the beginning of the idle period. */
static void add_idle(struct freq_domain *d, struct freq_meter *m, u64 from, u64 to)
{
	const struct opp_type *type = d->type;

	SCHED_DEBUG_ASSERT(from <= to);
	for (u32 i = 0; i < type->nr_idle; i++) {
		u64 begin = max(from, type->idle[i].after_us * NS_PER_US), end = to;
		bool last = i + 1 == type->nr_idle;

		if (!last)
			end = min(to, type->idle[i + 1].after_us * NS_PER_US);
		if (begin >= end)
			continue;
		m->idle_ns[i] += end - begin;
		m->energy += (end - begin) * power_of(d, m, &type->idle[i].power);
	}
}

/* Clocks of a domain's CPUs disagree a little: time that is past already counts once. */
static void meter_up(struct freq_domain *d, struct freq_meter *m, u64 now)
{
	debug_assert_locked(d);
	if (!time_before(m->since, now))
		return;
	if (m->busy)
		add_busy(d, m, now - m->since);
	else
		add_idle(d, m, m->since - m->idle_since, now - m->idle_since);
	m->since = now;
}

void meter_turn(struct freq_domain *d, struct freq_meter *m, u64 now, bool busy)
{
	assert_locked(d);
	SCHED_ASSERT(m->busy != busy);
	meter_up(d, m, now);
	m->busy = busy;
	m->idle_since = m->since;
}

void meter_all(struct freq_domain *d, u64 now)
{
	assert_locked(d);
	meter_up(d, &d->meter, now);
	for (struct freq_cpu *f = d->cpus; f; f = f->next)
		meter_up(d, &f->meter, now);
}

/* --- reading ------------------------------------------------------------------------------ */

static void copy_times(const struct freq_meter *m, u64 *busy_ns, u64 *idle_ns)
{
	for (u32 i = 0; i < OPP_MAX; i++)
		busy_ns[i] = m->busy_ns[i];
	for (u32 i = 0; i < OPP_IDLE_MAX; i++)
		idle_ns[i] = m->idle_ns[i];
}

/* How long @d was at each point, up to @now; nothing before its first CPU came. */
static void copy_points(const struct freq_domain *d, u64 now, u64 *at_ns)
{
	debug_assert_locked(d);
	for (u32 i = 0; i < OPP_MAX; i++)
		at_ns[i] = d->at_ns[i];
	if (d->started)
		at_ns[d->opp] += sub_floor0(now, d->since);
}

u32 sched_freq_changes(struct sched *s, unsigned cpu, u32 from, u32 to)
{
	return READ_ONCE(cpu_rq(s, cpu)->freq->domain->nr_changes[from][to]);
}

void sched_freq_stat(struct sched *s, unsigned cpu, struct sched_freq_stat *out)
{
	struct freq_cpu *f = cpu_rq(s, cpu)->freq;
	struct freq_domain *d = f->domain;
	u64 now = host_clock(cpu);

	host_lock(&d->lock);
	meter_all(d, now);
	*out = (struct sched_freq_stat){
		.governor = d->governor->name,
		.domain = (u32)(d - s->freq->domain),
		.mhz = freq_opp(d)->mhz,
		.capacity = freq_opp(d)->capacity,
		.nr_transitions = d->nr_transitions,
		.slowest_mhz = d->type->opp[d->slowest].mhz,
		.fastest_mhz = d->type->opp[d->fastest].mhz,
		.energy = f->meter.energy,
		.domain_energy = d->meter.energy,
	};
	copy_points(d, now, out->at_ns);
	copy_times(&f->meter, out->busy_ns, out->idle_ns);
	copy_times(&d->meter, out->domain_busy_ns, out->domain_idle_ns);
	host_unlock(&d->lock);
}

u64 sched_freq_energy(struct sched *s, unsigned cpu)
{
	struct freq_cpu *f = cpu_rq(s, cpu)->freq;
	struct freq_domain *d = f->domain;
	u64 energy;

	host_lock(&d->lock);
	meter_up(d, &f->meter, host_clock(cpu));
	energy = f->meter.energy;
	host_unlock(&d->lock);
	return energy;
}

/* --- invariants --------------------------------------------------------------------------- */

/* Energy by the other way: power times the time that it was taken. */
static u64 energy_of_times(const struct freq_domain *d, const struct freq_meter *m)
{
	u64 energy = 0;

	for (u32 i = 0; i < d->type->nr_opps; i++)
		energy += m->busy_ns[i] * power_of(d, m, &d->type->opp[i].power);
	for (u32 i = 0; i < d->type->nr_idle; i++)
		energy += m->idle_ns[i] * power_of(d, m, &d->type->idle[i].power);
	return energy;
}

void freq_check(struct rq *rq)
{
	struct freq_cpu *f = rq->freq;
	struct freq_domain *d = f->domain;
	u32 nr_busy = 0;

	SCHED_CHECK(E3, rq->clock - freq_time(rq) >= f->lost);
	host_lock(&d->lock);
	SCHED_CHECK(E1, f->meter.energy == energy_of_times(d, &f->meter));
	SCHED_CHECK(E1, d->meter.energy == energy_of_times(d, &d->meter));
	for (struct freq_cpu *other = d->cpus; other; other = other->next)
		nr_busy += other->meter.busy;
	SCHED_CHECK(E2, d->nr_busy == nr_busy && d->meter.busy == !!nr_busy);
	SCHED_CHECK(E2, f->busy == f->meter.busy && f->busy == (rq->curr != rq->idle));
	SCHED_CHECK(E9, !rq->misfit_load || (rq->uneven && rq->curr != rq->idle));
	energy_check(rq);
	if (d->governor == &sched_governor)
		SCHED_CHECK(E6,
			    d->unserved ||
				    d->opp >= freq_within(d, opp_for_capacity(d->type,
									      domain_request(d))));
	host_unlock(&d->lock);
}
