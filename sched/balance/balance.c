/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balancing: one pass, which moves runnable fair tasks from busy CPUs to less busy ones.
 * rebalance.c decides when passes are made; busiest.c decides from where, and how much.
 *
 * A pass is made for a CPU at one of its domains. It finds the busiest part of the domain,
 * how much to move (an imbalance of load, utilisation or tasks) and the busiest runqueue of
 * that part. Then it takes tasks from that runqueue's tail, the least recently run. It holds
 * one runqueue lock at a time. When moving waiting tasks fails repeatedly, the running task
 * is pushed.
 *
 * Real-time and deadline tasks take capacity from a CPU (capacity.h). The work of a newly idle
 * CPU does not grow with the machine: see narrow(). Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/balance/fit.h"
#include "sched/fair/core/fair.h"
#include "sched/freq/freq.h"
#include "sched/fair/core/pelt.h"
#include "sched/observe/trace.h"
#include "sched/record/pass.h"

/* --- which CPU balances, and for which CPUs ------------------------------- */

/* True if dst is the CPU that balances for its group: the first idle one, or the first of all. */
static bool should_balance(struct pass *p)
{
	const struct group *ours = p->sd->parts;
	unsigned cpu;

	SCHED_DEBUG_ASSERT(cpumask_test(&ours->cpus, p->dst->cpu));
	if (p->idle == CPU_NEWLY_IDLE)
		return pass_because(p, BALANCE_work_came, !READ_ONCE(p->dst->nr_running));
	p->rule = BALANCE_another_balances;
	for_each_cpu_of(cpu, ours, &p->cpus) {
		bool idle = cpu_is_idle(cpu_rq(p->s, cpu));

		if (unlikely(p->record))
			pass_record_asked(p, cpu, idle);
		if (idle)
			return cpu == p->dst->cpu;
	}
	return next_cpu_of(ours, &p->cpus, ours->first) == p->dst->cpu;
}

static const struct cpumask *llc_cpus(const struct rq *rq)
{
	return &(rq->llc ? rq->llc->span : rq->core)->cpus;
}

/*
 * Limit a newly idle CPU's pass to a few CPUs. Returns false if no task waits: there is nothing to
 * read then. Beyond its own cache the CPU compares one other cache only, that of the next crowded
 * CPU. So each idle CPU visits all crowded caches in turn, and several idle CPUs visit different
 * ones.
 */
static bool narrow(struct pass *p)
{
	struct cpumask crowded = cpumask_and(&p->cpus, &p->s->crowded), both;
	unsigned cpu;

	SCHED_DEBUG_ASSERT(p->idle == CPU_NEWLY_IDLE);
	if (unlikely(p->record))
		pass_record_crowded(p, &crowded);
	p->rule = BALANCE_nobody_waits;
	if (p->sd->flags & SD_SHARE_LLC)
		return !cpumask_empty(&crowded);
	crowded = cpumask_andnot(&crowded, &p->sd->parts->cpus);
	cpu = cpumask_next_wrap(&crowded, p->sd->newidle_from);
	if (cpu == CPU_MAX)
		return false;
	p->sd->newidle_from = cpu;
	both = cpumask_or(llc_cpus(p->dst), llc_cpus(cpu_rq(p->s, cpu)));
	p->cpus = cpumask_and(&p->cpus, &both);
	return true;
}

/* --- detaching ------------------------------------------------------------ */

/* True if @src's cache is likely to hold the data of @t still. */
static bool is_cache_hot(const struct pass *p, const struct rq *src, const struct task *t)
{
	const struct entity *e = &t->fair;

	debug_assert_locked(src);
	if (t->policy == SCHED_IDLE || (p->sd->flags & SD_SHARE_CPUCAPACITY))
		return false;
	if (feature(p->s, FEATURE_CACHE_HOT_BUDDY) && READ_ONCE(p->dst->nr_running) &&
	    e->queue->policy->nominated(e->queue, e))
		return true;
	return src->clock - e->exec_start < p->s->tunable.migration_cost_ns;
}

/*
 * Remember another CPU of dst's part on which @t may run. A pass is made for the whole part, so
 * that CPU will do; not so if dst is newly idle and waits for a task.
 */
static void note_other_destination(struct pass *p, const struct task *t)
{
	struct cpumask mask = cpumask_and(&p->sd->parts->cpus, &p->cpus);

	SCHED_DEBUG_ASSERT(!task_allowed(t, p->dst->cpu));
	mask = cpumask_and(&mask, &t->allowed);
	if (!p->other && p->idle != CPU_NEWLY_IDLE && !cpumask_empty(&mask))
		p->other = cpu_rq(p->s, cpumask_first(&mask));
}

/* Lab 8, may_move: FATE_moved if @t may move to dst, or why it may not. */
static enum task_fate may_move(struct pass *p, struct rq *src, struct task *t)
{
	debug_assert_locked(src);
	if (queue_is_hidden(t->fair.queue) ||
	    queue_is_hidden(group_queue(p->s, t->group, p->dst->cpu)))
		return FATE_throttled;
	if (!task_allowed(t, p->dst->cpu)) {
		p->some_pinned = true;
		note_other_destination(p, t);
		return FATE_pinned;
	}
	p->all_pinned = false;
	if (task_running(src, t))
		return FATE_running;
	/* dst idles: waiting for a turn would cost @t more than a cold cache does. */
	if (p->idle == CPU_IDLE || !is_cache_hot(p, src, t))
		return FATE_moved;
	if (READ_ONCE(p->sd->nr_balance_failed) <= p->sd->cache_nice_tries)
		return FATE_cache_hot;
	p->sd->stat[p->idle].hot_gained += schedstats(p->s);
	return FATE_moved;
}

/* Lab 8, helps: FATE_moved if moving @t helps. Sets by how much it reduces the imbalance. */
static enum task_fate helps(const struct pass *p, const struct rq *src, const struct task *t,
			    s64 *moves)
{
	u64 size = p->type == MIGRATE_UTIL ? task_util(t) : max(1ull, task_load(t));

	*moves = 1;
	if (unlikely(p->type == MIGRATE_MISFIT))
		return task_fits(src, t) ? FATE_fits : FATE_moved;
	if (p->type == MIGRATE_TASKS)
		return FATE_moved;
	*moves = (s64)size;
	if (p->type == MIGRATE_LOAD && feature(p->s, FEATURE_LB_MIN) && size < 16 &&
	    !READ_ONCE(p->sd->nr_balance_failed))
		return FATE_too_small;
	/* Each failure makes bigger tasks acceptable. */
	size >>= min(READ_ONCE(p->sd->nr_balance_failed), 63u);
	return (s64)size > p->imbalance ? FATE_too_big : FATE_moved;
}

/* Take tasks from the tail of @src, locked, until the imbalance is gone. */
static void detach_tasks(struct pass *p, struct rq *src)
{
	struct list *tasks = &src->fair_tasks;
	u32 budget = min(p->s->tunable.nr_migrate, src->nr_running);

	assert_locked(src);
	if (unlikely(p->record))
		pass_record_locked(p, src);
	/* Other CPUs may have emptied it since it was chosen: that says nothing about affinity. */
	if (src->nr_running <= 1 || list_empty(tasks) || !budget) {
		p->all_pinned = false;
		return;
	}
	while (budget-- && p->imbalance > 0 && !list_empty(tasks)) {
		struct task *t = list_last(tasks, struct task, link);
		enum task_fate fate;
		s64 moves;

		/* An idle CPU takes some of the work, not all of it. */
		if (p->idle != CPU_BUSY && src->nr_running <= 1)
			break;
		fate = may_move(p, src, t);
		if (fate == FATE_moved)
			fate = helps(p, src, t, &moves);
		if (unlikely(p->record))
			pass_record_task(p, src, t, fate);
		if (fate != FATE_moved) {
			list_del(&t->link);
			list_add_head(tasks, &t->link);
			continue;
		}
		p->imbalance -= moves;
		detach_task(src, t, p->dst->cpu);
		list_add_tail(&p->moved, &t->link);
		p->nr_moved++;
		/* A task may wait for this CPU already: one stolen task is enough. */
		if (p->idle == CPU_NEWLY_IDLE)
			break;
	}
}

static void attach_moved(struct pass *p)
{
	struct task *t, *next;

	SCHED_DEBUG_ASSERT(p->nr_moved);
	if (p->idle != CPU_NEWLY_IDLE) {
		list_for_each_safe(t, next, &p->moved, link) {
			list_del(&t->link);
			attach_task(p->s, t);
		}
		return;
	}
	/*
	 * The destination is in the middle of a switch and picks next: it needs no preemption
	 * check.
	 */
	rq_lock(p->dst);
	list_for_each_safe(t, next, &p->moved, link) {
		list_del(&t->link);
		attach_locked(p->dst, t);
	}
	freq_report(p->dst, FREQ_BALANCE);
	rq_unlock(p->dst);
}

/* --- pushing the running task --------------------------------------------- */

/* The only fair task of @src would have more of dst: other classes take much of its CPU. */
static bool fits_better_here(const struct pass *p, const struct rq *src)
{
	u32 pct = p->sd->imbalance_pct;

	return p->idle != CPU_BUSY && READ_ONCE(src->fair.tasks.nr) == 1 &&
	       capacity_is_reduced(src, pct) &&
	       cpu_capacity(src) * pct < cpu_capacity(p->dst) * 100;
}

/* Waiting tasks could not be moved for long. */
static bool keeps_failing(const struct pass *p)
{
	return p->type == MIGRATE_TASKS &&
	       READ_ONCE(p->sd->nr_balance_failed) > p->sd->cache_nice_tries + 2;
}

/* Ask @src's running task to come where nothing else helps. Returns what becomes of it. */
static enum task_fate push_running(struct pass *p, struct rq *src)
{
	enum task_fate fate = FATE_not_pushable;
	struct task *t;

	SCHED_DEBUG_ASSERT(src != p->dst);
	if (!keeps_failing(p) && !fits_better_here(p, src) && p->type != MIGRATE_MISFIT)
		return fate;
	p->sd->alb_count += schedstats(p->s);
	rq_lock(src);
	t = src->curr;
	if (task_is_pushable(t))
		fate = task_allowed(t, p->dst->cpu) ? FATE_pushed : FATE_pinned;
	if (unlikely(p->record))
		pass_record_task(p, src, t, fate);
	if (fate == FATE_pushed)
		push_current(src, p->dst->cpu);
	/* The pass looked at those that wait. If there were none, the runner is all there is. */
	p->all_pinned = fate == FATE_pinned && src->nr_running == 1;
	rq_unlock(src);
	p->sd->alb_failed += fate != FATE_pushed && schedstats(p->s);
	return fate;
}

/* --- a pass --------------------------------------------------------------- */

static void balance_less_often(struct pass *p)
{
	struct domain *sd = p->sd;
	u64 longest_ms = p->all_pinned ? max(512ull, sd->max_interval_ms) : sd->max_interval_ms;

	/* A newly idle pass comes at any time and says little about the interval. */
	u64 now_ms = racy_load(&sd->balance_interval_ms);

	if (p->idle != CPU_NEWLY_IDLE && now_ms < longest_ms)
		WRITE_ONCE(sd->balance_interval_ms, now_ms * 2);
}

/* Notes that the pass left the domain as it is: nothing was to be moved, or affinity forbade it. */
static void note_balanced(struct pass *p)
{
	p->sd->stat[p->idle].balanced += schedstats(p->s);
	WRITE_ONCE(p->sd->nr_balance_failed, 0);
	balance_less_often(p);
}

static void note_moved(struct pass *p)
{
	WRITE_ONCE(p->sd->nr_balance_failed, 0);
	WRITE_ONCE(p->sd->balance_interval_ms, p->sd->min_interval_ms);
	p->sd->stat[p->idle].gained += p->nr_moved * schedstats(p->s);
}

/* Returns what it came to. */
static enum balance_outcome note_failed(struct pass *p, struct rq *src)
{
	struct domain *sd = p->sd;
	enum task_fate fate;

	SCHED_DEBUG_ASSERT(!p->nr_moved);
	sd->stat[p->idle].failed += schedstats(p->s);
	if (p->idle != CPU_NEWLY_IDLE)
		WRITE_ONCE(sd->nr_balance_failed, READ_ONCE(sd->nr_balance_failed) + 1);
	fate = push_running(p, src);
	if (fate == FATE_pushed)
		WRITE_ONCE(sd->nr_balance_failed, 0);
	if (fate == FATE_pinned)
		balance_less_often(p);
	else
		WRITE_ONCE(sd->balance_interval_ms, sd->min_interval_ms);
	return fate == FATE_pushed ? OUTCOME_pushed : OUTCOME_failed;
}

/* Tell the level above, which cannot see it, whether affinity left this level uneven. */
static void tell_parent(const struct pass *p, bool pinned)
{
	if (!p->sd->parent)
		return;
	WRITE_ONCE(p->sd->parent->parts->imbalance, pinned);
	if (unlikely(p->record))
		pass_record_told(p, pinned);
}

/*
 * Move tasks from @src to dst. If affinity keeps some from dst but not from another CPU of its
 * part, move those to that CPU.
 */
static void move_from(struct pass *p, struct rq *src)
{
	SCHED_DEBUG_ASSERT(src != p->dst);
	p->all_pinned = true;
	for (;;) {
		rq_lock(src);
		detach_tasks(p, src);
		freq_report(src, FREQ_BALANCE);
		rq_unlock(src);
		if (!p->other || p->imbalance <= 0)
			return;
		cpumask_clear(&p->cpus, p->dst->cpu);
		p->dst = p->other;
		p->other = NULL;
	}
}

/*
 * Move tasks from the busiest runqueue; if affinity pins all of its tasks, from the next busiest.
 * Returns the runqueue tried last, or NULL if there was none to try.
 */
static struct rq *move_tasks(struct pass *p)
{
	for (;;) {
		const struct group *group = find_busiest_group(p);
		struct rq *src = group ? find_busiest_queue(p, group) : NULL;

		if (unlikely(p->record))
			pass_record_source(p, group, src);
		if (!group) {
			p->sd->stat[p->idle].nobusyg += schedstats(p->s);
			return NULL;
		}
		if (!src) {
			p->rule = BALANCE_no_runqueue;
			p->sd->stat[p->idle].nobusyq += schedstats(p->s);
			return NULL;
		}
		p->sd->stat[p->idle].imbalance += (u64)p->imbalance * schedstats(p->s);
		move_from(p, src);
		if (p->some_pinned && p->imbalance > 0)
			tell_parent(p, true);
		if (p->nr_moved || !p->all_pinned)
			return src;
		cpumask_clear(&p->cpus, src->cpu);
		if (cpumask_subset(&p->cpus, &p->sd->parts->cpus))
			return src;
		if (unlikely(p->record))
			pass_record_again(p);
	}
}

/* Makes the pass @p, which is this CPU's to make, and returns its outcome. */
static enum balance_outcome make_pass(struct pass *p)
{
	enum balance_outcome outcome = OUTCOME_balanced;
	struct rq *src;

	p->sd->stat[p->idle].count += schedstats(p->s);
	src = move_tasks(p);
	if (p->nr_moved) {
		attach_moved(p);
		note_moved(p);
		outcome = OUTCOME_moved;
	} else if (!src || p->all_pinned) {
		note_balanced(p);
		if (src)
			outcome = OUTCOME_pinned;
	} else {
		outcome = note_failed(p, src);
	}
	if (!src && !p->all_pinned)
		tell_parent(p, false);
	return outcome;
}

int balance_domain(struct rq *dst, struct domain *sd, enum idle_type idle)
{
	struct event_sched_decision_balance record;
	struct pass p = { .s = dst->s, .sd = sd, .dst = dst, .idle = idle };
	enum balance_outcome outcome = OUTCOME_skipped;
	bool ours;

	SCHED_DEBUG_ASSERT(!host_lock_held(&dst->lock));
	if (unlikely(traced(dst->s, EVENT_sched_decision_balance)))
		pass_record_begin(&p, &record);
	list_init(&p.moved);
	p.cpus = cpumask_and(&sd->span->cpus, &dst->s->online);
	ours = should_balance(&p);
	if (ours && (idle != CPU_NEWLY_IDLE || narrow(&p)))
		outcome = make_pass(&p);
	if (unlikely(p.record))
		pass_record_end(&p, outcome);
	return ours ? (int)p.nr_moved : -1;
}
