/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frequency domains: making them, which of their CPUs are busy, and who governs. The idea is in
 * freq.h; clock.c has the two clocks, meter.c energy, point.c changes of the point.
 *
 * Lock: a domain's, a leaf, taken with a runqueue's held or alone. The clocks of a domain's CPUs
 * may disagree a little; the domain's times are those of whoever changed it last.
 */
#include "sched/freq/governor.h"
#include "sched/freq/meter.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "sched/balance/domain.h"
#include "sched/balance/energy.h"
#include "sched/balance/fit.h"
#include "sched/core/core.h"
#include "sched/fair/core/pelt.h"
#include "sched/observe/trace.h"

/* --- making them -------------------------------------------------------------------------- */

size_t sched_freq_size(unsigned nr_cpus)
{
	return ALIGN_UP(sizeof(struct freq), 64ul) +
	       nr_cpus * (sizeof(struct freq_domain) + sizeof(struct freq_cpu));
}

static void domain_init(struct freq_domain *d, const struct opp_type *type)
{
	SCHED_DEBUG_ASSERT(type->nr_opps);
	d->lock.rank = HOST_RANK_LEAF;
	d->type = type;
	d->opp = d->fastest = type->nr_opps - 1;
	d->governor = &performance_governor;
}

static void cpu_init(struct sched *s, struct freq *freq, unsigned cpu, struct freq_domain *d)
{
	struct freq_cpu *f = &freq->cpu[cpu], **last = &d->cpus;
	struct rq *rq = cpu_rq(s, cpu);

	SCHED_DEBUG_ASSERT(!rq->freq);
	f->cpu = cpu;
	f->domain = d;
	f->clamp[SCHED_CLAMP_MAX].value = OPP_CAPACITY;
	while (*last)
		last = &(*last)->next;
	*last = f;
	rq->freq = f;
	rq->own_time = true;
	rq->capacity = rq->capacity_orig = freq_opp(d)->capacity;
}

/* Domains know whether their CPUs have several capacities. */
static void note_unevenness(struct sched *s)
{
	bool uneven = false;

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		uneven |= cpu_rq(s, cpu)->capacity_orig != cpu_rq(s, 0)->capacity_orig;
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		cpu_rq(s, cpu)->uneven = uneven;
	if (uneven)
		topology_rebuild(s);
}

void sched_freq_init(struct sched *s, const struct opp_table *table, void *mem)
{
	struct freq *freq = mem;

	SCHED_ASSERT(cpumask_empty(&s->online));
	memcpy(freq->type, table->type, sizeof(freq->type));
	freq->nr_domains = table->nr_domains;
	freq->energy_lock.rank = HOST_RANK_LEAF;
	freq->domain = (struct freq_domain *)((u8 *)mem + ALIGN_UP(sizeof(*freq), 64ul));
	freq->cpu = (struct freq_cpu *)(freq->domain + table->nr_domains);
	for (u32 i = 0; i < table->nr_domains; i++)
		domain_init(&freq->domain[i], &freq->type[table->type_of[i]]);
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		cpu_init(s, freq, cpu, &freq->domain[table->domain_of[cpu]]);
	s->freq = freq;
	note_unevenness(s);
}

void freq_cpu_starts(struct rq *rq)
{
	struct freq_cpu *f = rq->freq;
	struct freq_domain *d = f->domain;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(!f->busy);
	host_lock(&d->lock);
	if (!d->started) {
		d->since = rq->clock;
		meter_start(&d->meter, rq->clock);
	}
	d->started = true;
	meter_start(&f->meter, rq->clock);
	f->at = rq->clock;
	host_unlock(&d->lock);
}

/* --- idle and busy ------------------------------------------------------------------------ */

/* A util_sum from here on is that of a CPU without idle time, but for rounding. */
#define SUM_SATURATED (((47742ull - PELT_PERIOD) << 10) - 47742)

/*
 * A CPU that was never idle while its averages filled up has no idle time that a faster one would
 * have had: what it is behind is lost.
 */
static bool is_saturated(struct rq *rq)
{
	pelt_update_queue(&rq->fair);
	return (u64)rq->fair.avg.util_sum + rq->urgent.util_sum >= SUM_SATURATED;
}

void freq_cpu_idles(struct rq *rq)
{
	struct freq_cpu *f = rq->freq;

	debug_assert_locked(rq);
	if (!f->busy)
		return;
	freq_time(rq);
	if (is_saturated(rq))
		f->lost = f->behind;
	else
		f->behind = f->lost;
	f->busy = false;
	f->nr_idles++;
	TRACE(cpu_idle, rq->s, rq->cpu, true);
	host_lock(&f->domain->lock);
	f->request = 0;
	host_set_speed(f->cpu, 0);
	meter_turn(f->domain, &f->meter, rq->clock, false);
	if (!--f->domain->nr_busy)
		meter_turn(f->domain, &f->domain->meter, rq->clock, false);
	host_unlock(&f->domain->lock);
	WRITE_ONCE(rq->misfit_load, 0);
}

void freq_cpu_works(struct rq *rq)
{
	struct freq_cpu *f = rq->freq;

	debug_assert_locked(rq);
	if (f->busy)
		return;
	freq_time(rq);
	f->busy = true;
	TRACE(cpu_idle, rq->s, rq->cpu, false);
	host_lock(&f->domain->lock);
	f->work = freq_work(f->domain, rq->clock);
	host_set_speed(f->cpu, freq_opp(f->domain)->capacity);
	meter_turn(f->domain, &f->meter, rq->clock, true);
	if (!f->domain->nr_busy++)
		meter_turn(f->domain, &f->domain->meter, rq->clock, true);
	host_unlock(&f->domain->lock);
}

/* --- news ------------------------------------------------------------------------------------- */

void freq_update(struct rq *rq, enum freq_reason reason)
{
	struct freq_domain *d = rq->freq->domain;

	debug_assert_locked(rq);
	host_lock(&d->lock);
	d->governor->update(rq, d, reason);
	host_unlock(&d->lock);
}

void freq_cpu_ticks(struct rq *rq)
{
	if (rq->uneven) {
		fit_note(rq);
		overutilized_note(rq, rq->curr);
	}
	freq_update(rq, FREQ_TICK);
}

void freq_task_enters(struct rq *rq, struct task *t, unsigned flags)
{
	tune_enter(rq, t);
	clamp_enter(rq, t);
	if (rq->uneven && (flags & ENQUEUE_WAKEUP))
		overutilized_note(rq, t);
	if (flags & (ENQUEUE_WAKEUP | ENQUEUE_INITIAL))
		freq_update(rq, FREQ_WAKEUP);
}

void freq_task_leaves(struct rq *rq, struct task *t, unsigned flags)
{
	debug_assert_locked(rq);
	/* A sleeper that was still queued left when it fell asleep. */
	if (flags & DEQUEUE_DELAYED)
		return;
	tune_leave(rq, t);
	clamp_leave(rq, t);
	if (flags & DEQUEUE_SLEEP)
		freq_update(rq, FREQ_SLEEP);
}

/* --- governors ---------------------------------------------------------------------------- */

static const struct governor *const governors[] = {
#define GOVERNOR(name) &name##_governor,
#include "sched/freq/governor.def"
#undef GOVERNOR
};

const char *sched_governor_name(unsigned index)
{
	return index < ARRAY_SIZE(governors) ? governors[index]->name : NULL;
}

const struct governor *governor_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(governors); i++)
		if (!strcmp(governors[i]->name, name))
			return governors[i];
	return NULL;
}

int sched_freq_govern(struct sched *s, unsigned cpu, const char *name)
{
	struct freq_domain *d = cpu_rq(s, cpu)->freq->domain;
	const struct governor *governor = governor_find(name);

	if (!governor)
		return -EINVAL;
	host_lock(&d->lock);
	d->governor = governor;
	governor->start(s, d, cpu, host_clock(cpu));
	host_unlock(&d->lock);
	energy_refresh(s);
	return 0;
}

/* The governor begins anew: it may want another point than the one nearest to the present. */
static void set_limits(struct sched *s, struct freq_domain *d, u32 slowest, u32 fastest,
		       unsigned cpu)
{
	u64 now = host_clock(cpu);

	SCHED_DEBUG_ASSERT(slowest <= fastest && fastest < d->type->nr_opps);
	host_lock(&d->lock);
	d->slowest = slowest;
	d->fastest = fastest;
	d->governor->start(s, d, cpu, now);
	freq_switch(s, d, d->opp, cpu, now);
	host_unlock(&d->lock);
}

int sched_freq_limit(struct sched *s, unsigned cpu, u32 least_mhz, u32 most_mhz)
{
	struct freq_domain *d = cpu_rq(s, cpu)->freq->domain;
	u32 slowest = 0, fastest = d->type->nr_opps - 1;

	while (slowest < fastest && d->type->opp[slowest].mhz < least_mhz)
		slowest++;
	while (fastest > slowest && d->type->opp[fastest].mhz > most_mhz)
		fastest--;
	if (d->type->opp[slowest].mhz < least_mhz || d->type->opp[fastest].mhz > most_mhz)
		return -EINVAL;
	set_limits(s, d, slowest, fastest, cpu);
	return 0;
}
