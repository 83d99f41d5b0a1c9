/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When CPUs balance:
 *
 *	periodic:     each domain of each CPU at its interval, from the tick
 *	newly idle:   a CPU about to idle looks for work, if it usually idles long
 *	              enough for that to pay (balance_newly_idle)
 *	for the idle: a busy CPU's tick kicks one idle CPU, which balances for all CPUs
 *	              that have stopped their tick
 *
 * One pass is balance.c's subject. No pass is made with a runqueue lock held.
 * Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/balance/balance.h"
#include "sched/balance/domain.h"
#include "sched/balance/sharedq.h"
#include "sched/fair/core/fair.h"
#include "sched/fair/core/pelt.h"

/* --- how often ------------------------------------------------------------ */

static u64 ms_to_jiffies(const struct sched *s, u64 ms)
{
	return (ms * s->hz + 999) / 1000;
}

u64 balance_interval(const struct sched *s, const struct domain *sd, bool busy)
{
	u64 longest = max(1ull, (u64)s->hz * cpumask_weight(&s->online) / 10);
	u64 interval = ms_to_jiffies(s, racy_load(&sd->balance_interval_ms) *
						(busy ? sd->busy_factor : 1));

	/* One less, so that the levels of a busy CPU do not all fall due at the same tick. */
	interval -= busy && interval;
	return min(max(interval, 1ull), longest);
}

/* --- newly idle ----------------------------------------------------------- */

/*
 * Remember the longest search of a level. 1 % of it is forgotten each second, or a single outlier
 * would end newly idle balancing for good.
 */
static void note_newidle_cost(struct domain *sd, u64 cost, u64 now_jiffy, u32 hz)
{
	u64 longest = racy_load(&sd->max_newidle_lb_cost);

	if (cost > longest)
		longest = cost;
	else if (now_jiffy > racy_load(&sd->last_decay) + hz)
		longest = longest * 253 / 256;
	else
		return;
	WRITE_ONCE(sd->max_newidle_lb_cost, longest);
	WRITE_ONCE(sd->last_decay, now_jiffy);
}

/*
 * Search the domains from the narrowest up, as long as the search is likely to be shorter than the
 * idle time. No lock held.
 */
static void search_newly_idle(struct rq *rq)
{
	struct domain *sd;
	u64 cost = 0, start = host_clock(rq->cpu);

	SCHED_DEBUG_ASSERT(!host_lock_held(&rq->lock));
	for_each_domain(sd, rq) {
		int moved = 0;

		if (racy_load(&rq->avg_idle) < cost + racy_load(&sd->max_newidle_lb_cost))
			break;
		if ((sd->flags & SD_BALANCE_NEWIDLE) && !sharedq_covers(rq, sd)) {
			u64 end;

			moved = balance_domain(rq, sd, CPU_NEWLY_IDLE);
			end = host_clock(rq->cpu);
			note_newidle_cost(sd, end - start, jiffies(rq->s, end), rq->s->hz);
			cost += end - start;
			start = end;
		}
		if (moved > 0 || READ_ONCE(rq->nr_running))
			break;
	}
	if (racy_load(&rq->max_idle_balance_cost) < cost)
		WRITE_ONCE(rq->max_idle_balance_cost, cost);
	rq->newidle_count++;
	rq->newidle_ns += cost;
}

static void balance_for_idle_cpus(struct rq *rq);

bool balance_newly_idle(struct rq *rq)
{
	bool kicked;

	debug_assert_locked(rq);
	if (rq->nr_running || !rq->domains)
		return rq->nr_running;
	/* The stamp is set before the search, because the time of the search is idle time too. */
	if (!rq->idle_stamp)
		rq->idle_stamp = rq->clock;
	if (unlikely(rq->shared.shard) && sharedq_pull(rq)) {
		rq->idle_stamp = 0;
		return true;
	}
	kicked = __atomic_exchange_n(&rq->nohz_kicked, false, __ATOMIC_ACQ_REL);
	if (!kicked && (cpumask_empty(&rq->s->crowded) ||
			rq->avg_idle < racy_load(&rq->domains->max_newidle_lb_cost)))
		return rq->active;
	pelt_update_queue(&rq->fair);
	rq->pulling = true;
	rq_unlock(rq);
	if (kicked)
		balance_for_idle_cpus(rq);
	else
		search_newly_idle(rq);
	rq_lock(rq);
	rq->pulling = false;
	if (rq->active)
		rq->idle_stamp = 0;
	return rq->active;
}

/* --- averages of idle CPUs ------------------------------------------------ */

/*
 * Let the averages of sleeping tasks decay on an otherwise quiet @rq: groups first, then the root.
 */
static void refresh_averages(struct rq *rq)
{
	struct fair_queue *q;

	rq_lock(rq);
	list_for_each(q, &rq->queues, link) {
		update_averages(q->owner);
		group_update(q->owner);
	}
	pelt_update_queue(&rq->fair);
	capacity_refresh(rq);
	rq_unlock(rq);
}

/*
 * Refresh the averages of idle CPUs, which have no tick of their own: without this they would look
 * busy for ever. Called by a busy CPU's tick.
 */
static void refresh_idle_cpus(struct sched *s, u64 now)
{
	const u64 interval_ms = 32;
	unsigned cpu;

	if (now < READ_ONCE(s->nohz_next_refresh))
		return;
	WRITE_ONCE(s->nohz_next_refresh, now + ms_to_jiffies(s, interval_ms));
	for_each_cpu(cpu, &s->nohz_idle) {
		struct rq *rq = cpu_rq(s, cpu);

		if (cpu_load(rq) || READ_ONCE(rq->fair.avg.util_avg) ||
		    READ_ONCE(rq->urgent.util_sum))
			refresh_averages(rq);
	}
}

/* --- periodic ------------------------------------------------------------- */

/* True if this CPU may balance @sd now: at a machine-wide level one CPU balances at a time. */
static bool serialize_begin(struct sched *s, const struct domain *sd)
{
	return !(sd->flags & SD_SERIALIZE) ||
	       !__atomic_exchange_n(&s->numa_balancing_now, true, __ATOMIC_ACQUIRE);
}

static void serialize_end(struct sched *s, const struct domain *sd)
{
	SCHED_DEBUG_ASSERT(!(sd->flags & SD_SERIALIZE) || s->numa_balancing_now);
	if (sd->flags & SD_SERIALIZE)
		__atomic_store_n(&s->numa_balancing_now, false, __ATOMIC_RELEASE);
}

/*
 * Balance @rq at each level that is due. No lock held. For an idle CPU another one does it, and
 * @rq's may have woken up and do it, too: each word is the one's or the other's, and either is a
 * hint of when to balance next.
 */
static void balance_due_domains(struct rq *rq, bool idle)
{
	struct sched *s = rq->s;
	u64 now = jiffies(s, host_clock(rq->cpu)), next = now + 60ull * s->hz;
	bool busy = !idle && !cpu_is_sched_idle(rq);
	bool proceed = true;
	struct domain *sd;
	u64 cost = 0;

	SCHED_DEBUG_ASSERT(!host_lock_held(&rq->lock));
	refresh_averages(rq);
	for_each_domain(sd, rq) {
		u64 interval = balance_interval(s, sd, busy);

		note_newidle_cost(sd, 0, now, s->hz);
		cost += racy_load(&sd->max_newidle_lb_cost);
		if (proceed && now >= racy_load(&sd->last_balance) + interval &&
		    serialize_begin(s, sd)) {
			int result = balance_domain(rq, sd, idle ? CPU_IDLE : CPU_BUSY);

			serialize_end(s, sd);
			proceed = result >= 0;
			if (result > 0) {
				idle = cpu_is_idle(rq);
				busy = !idle && !cpu_is_sched_idle(rq);
			}
			WRITE_ONCE(sd->last_balance, now);
			interval = balance_interval(s, sd, busy);
		}
		next = min(next, racy_load(&sd->last_balance) + interval);
	}
	WRITE_ONCE(rq->next_balance, next);
	WRITE_ONCE(rq->max_idle_balance_cost, max((u64)s->tunable.migration_cost_ns, cost));
}

/*
 * The kicked idle CPU balances for each CPU that stopped its tick, and then for itself. No lock
 * held.
 */
static void balance_for_idle_cpus(struct rq *rq)
{
	struct sched *s = rq->s;
	struct cpumask idle = s->nohz_idle;
	u64 now = jiffies(s, host_clock(rq->cpu)), next = now + s->hz;
	unsigned cpu;

	SCHED_DEBUG_ASSERT(!host_lock_held(&rq->lock));
	cpumask_clear(&idle, rq->cpu);
	for_each_cpu(cpu, &idle) {
		struct rq *other = cpu_rq(s, cpu);

		/* Work arrived for this CPU: it goes first. */
		if (READ_ONCE(rq->nr_running))
			return;
		if (cpu_is_idle(other) && now >= racy_load(&other->next_balance))
			balance_due_domains(other, true);
		next = min(next, racy_load(&other->next_balance));
	}
	balance_due_domains(rq, true);
	WRITE_ONCE(s->nohz_next_balance, min(next, racy_load(&rq->next_balance)));
}

/* True if @rq's CPU is to call idle CPUs for help. */
static bool wants_idle_help(const struct rq *rq)
{
	struct cpumask idle_here;

	SCHED_DEBUG_ASSERT(rq->domains);
	if (READ_ONCE(rq->nr_running) >= 2)
		return true;
	if (READ_ONCE(rq->fair.tasks.nr) && capacity_is_reduced(rq, rq->domains->imbalance_pct))
		return true;
	/* Where CPUs differ, tasks that have enough count, and not caches that are even. */
	if (unlikely(rq->uneven))
		return READ_ONCE(rq->misfit_load) && rq->capacity_orig < CPU_CAPACITY;
	if (!rq->llc)
		return false;
	idle_here = cpumask_and(&rq->llc->span->cpus, &rq->s->nohz_idle);
	return rq->llc_size - cpumask_weight(&idle_here) > 1;
}

static void kick_idle_balancer(struct rq *rq, u64 now)
{
	struct sched *s = rq->s;
	unsigned cpu;

	SCHED_DEBUG_ASSERT(!host_lock_held(&rq->lock));
	if (now < READ_ONCE(s->nohz_next_balance) || !wants_idle_help(rq))
		return;
	for_each_cpu(cpu, &s->nohz_idle) {
		struct rq *helper = cpu_rq(s, cpu);

		if (!cpu_is_idle(helper))
			continue;
		/* No other CPU need kick before the helper has run. */
		WRITE_ONCE(s->nohz_next_balance, now + 1);
		if (!__atomic_exchange_n(&helper->nohz_kicked, true, __ATOMIC_ACQ_REL)) {
			rq->nohz_kick_count++;
			host_kick(cpu, true);
		}
		return;
	}
}

void balance_tick(struct rq *rq)
{
	u64 now;

	SCHED_DEBUG_ASSERT(!host_lock_held(&rq->lock));
	if (!rq->domains)
		return;
	now = jiffies(rq->s, READ_ONCE(rq->clock)); /* others lock @rq, and read its clock */
	if (now >= racy_load(&rq->next_balance))
		balance_due_domains(rq, cpu_is_idle(rq));
	if (cpumask_empty(&rq->s->nohz_idle))
		return;
	refresh_idle_cpus(rq->s, now);
	kick_idle_balancer(rq, now);
}
