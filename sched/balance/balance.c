/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Balancing: one pass, which moves runnable fair tasks from busy CPUs to less busy ones.
 * rebalance.c decides when passes are made.
 *
 * A pass is made for a CPU at one of its domains. It finds the busiest part of the domain,
 * how much to move (an imbalance of load, utilisation or tasks) and the busiest runqueue of
 * that part. Then it takes tasks from that runqueue's tail, the least recently run. It holds
 * one runqueue lock at a time. When moving waiting tasks fails repeatedly, the running task
 * is pushed.
 *
 * All CPUs are taken to have equal capacity. The work of a newly idle CPU does not grow with
 * the machine: see narrow(). Source: Linux 6.1, fair.c (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/fair/core/fair.h"
#include "sched/fair/core/pelt.h"

enum migration_type { MIGRATE_LOAD, MIGRATE_UTIL, MIGRATE_TASKS };

/* One balancing pass. */
struct pass {
	struct sched *s;
	struct domain *sd;
	struct rq *dst;
	struct rq *other; /* in dst's part of sd: a task may go there though not to dst; or NULL */
	enum idle_type idle;
	struct cpumask cpus; /* CPUs that take part */
	enum migration_type type;
	s64 imbalance;	 /* still to move, in units of type */
	bool all_pinned; /* affinity alone kept every task in place */
	bool some_pinned;
	struct list moved; /* detached, not attached yet */
	u32 nr_moved;
};

/* The measurements of a pass's domain. */
struct comparison {
	struct group_stats local, busiest;
	u64 load, capacity; /* of the whole domain */
	u64 util;
};

/* --- which CPU balances, and for which CPUs ------------------------------- */

/* True if dst is the CPU that balances for its group: the first idle one, or the first of all. */
static bool should_balance(const struct pass *p)
{
	struct cpumask mask = cpumask_and(&p->sd->parts->cpus, &p->cpus);
	unsigned cpu;

	if (p->idle == CPU_NEWLY_IDLE)
		return !READ_ONCE(p->dst->nr_running);
	for_each_cpu(cpu, &mask)
		if (cpu_is_idle(cpu_rq(p->s, cpu)))
			return cpu == p->dst->cpu;
	return cpumask_first(&mask) == p->dst->cpu;
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

/* --- the busiest group ---------------------------------------------------- */

static bool busier(const struct group_stats *a, const struct group_stats *b)
{
	if (!a->nr_fair)
		return false;
	if (!b->group || a->type != b->type)
		return !b->group || a->type > b->type;
	switch (a->type) {
	case GROUP_OVERLOADED:
	case GROUP_FULLY_BUSY:
		return a->avg_load > b->avg_load;
	case GROUP_HAS_SPARE:
		return a->idle_cpus != b->idle_cpus ? a->idle_cpus < b->idle_cpus
						    : a->nr_running > b->nr_running;
	default:
		return false;
	}
}

/* Set how many CPUs of an LLC with utilisation @util a wakeup looks at: see scan_cpus(). */
static void update_idle_scan(struct pass *p, u64 util)
{
	struct rq *dst = p->dst;
	u64 x, full, pct = p->sd->imbalance_pct;

	if (p->idle == CPU_NEWLY_IDLE || p->sd != dst->llc)
		return;
	x = util / dst->llc_size;
	full = min(CPU_CAPACITY, x * x * pct * pct / (10000 * CPU_CAPACITY));
	WRITE_ONCE(p->sd->span->nr_idle_scan,
		   (u32)(dst->llc_size * (CPU_CAPACITY - full) / CPU_CAPACITY));
}

static void compare_groups(struct pass *p, struct comparison *c)
{
	struct group *g = p->sd->parts;

	*c = (struct comparison){ .load = 0 };
	do {
		struct group_stats gs =
			group_measure(p->s, g, &p->cpus, NULL, p->sd->imbalance_pct);

		c->load += gs.load;
		c->capacity += gs.capacity;
		c->util += gs.util;
		if (g == p->sd->parts)
			c->local = gs;
		else if (busier(&gs, &c->busiest))
			c->busiest = gs;
	} while ((g = g->next) != p->sd->parts);
	update_idle_scan(p, c->util);
}

static u64 average_load(const struct group_stats *gs)
{
	return gs->capacity ? gs->load * CPU_CAPACITY / gs->capacity : 0;
}

/* --- how much to move ----------------------------------------------------- */

static void want(struct pass *p, enum migration_type type, u64 amount)
{
	p->type = type;
	p->imbalance = (s64)amount;
}

static bool prefers_sibling(const struct pass *p)
{
	return p->sd->child && (p->sd->child->flags & SD_PREFER_SIBLING);
}

/* The local group has room: move utilisation between caches, or even out tasks within one. */
static void fill_spare(struct pass *p, const struct comparison *c)
{
	const struct group_stats *local = &c->local, *busiest = &c->busiest;
	u64 tasks;

	if (busiest->type > GROUP_FULLY_BUSY && !(p->sd->flags & SD_SHARE_LLC)) {
		u64 room = sub_floor0(max(local->capacity, local->util), local->util);

		if (room || p->idle == CPU_BUSY)
			want(p, MIGRATE_UTIL, room);
		else
			want(p, MIGRATE_TASKS, 1);
		return;
	}
	if (busiest->weight == 1 || prefers_sibling(p))
		tasks = sub_floor0(busiest->nr_running, local->nr_running);
	else
		tasks = sub_floor0(local->idle_cpus, busiest->idle_cpus);
	if (p->sd->flags & SD_NUMA)
		tasks = adjust_numa_imbalance((u32)tasks, local->nr_running + 1,
					      p->sd->imb_numa_nr);
	/* Moving half of the difference makes both sides equal. */
	want(p, MIGRATE_TASKS, tasks / 2);
}

static void set_imbalance(struct pass *p, struct comparison *c)
{
	struct group_stats *local = &c->local, *busiest = &c->busiest;
	u64 average = c->capacity ? c->load * CPU_CAPACITY / c->capacity : 0;

	if (busiest->type == GROUP_IMBALANCED) {
		want(p, MIGRATE_TASKS, 1);
		return;
	}
	if (local->type == GROUP_HAS_SPARE) {
		fill_spare(p, c);
		return;
	}
	/* Unless it is overloaded, busiest->avg_load is 0, and nothing needs to move. */
	local->avg_load = average_load(local);
	if (local->avg_load >= busiest->avg_load || average >= busiest->avg_load) {
		want(p, MIGRATE_LOAD, 0);
		return;
	}
	/* The excess of busiest over the average, but at most what local lacks to reach it. */
	want(p, MIGRATE_LOAD,
	     min((busiest->avg_load - average) * busiest->capacity,
		 sub_floor0(average, local->avg_load) * local->capacity) /
		     CPU_CAPACITY);
}

/* True if the average loads of two overloaded groups differ clearly. */
static bool loads_differ(const struct pass *p, const struct comparison *c)
{
	u64 local = average_load(&c->local), busiest = average_load(&c->busiest);

	return local < busiest && local * c->capacity < c->load * CPU_CAPACITY &&
	       100 * busiest > p->sd->imbalance_pct * local;
}

/* True if tasks should move: Linux 6.1's decision table, type of busiest against type of local. */
static bool is_unbalanced(const struct pass *p, const struct comparison *c)
{
	const struct group_stats *local = &c->local, *busiest = &c->busiest;

	if (!busiest->group)
		return false;
	if (busiest->type == GROUP_IMBALANCED)
		return true;
	if (local->type > busiest->type)
		return false;
	if (local->type == GROUP_OVERLOADED)
		return loads_differ(p, c);
	if (prefers_sibling(p) && local->type == GROUP_HAS_SPARE &&
	    busiest->nr_running > local->nr_running + 1)
		return true;
	if (busiest->type == GROUP_OVERLOADED)
		return true;
	if (p->idle == CPU_BUSY)
		return false;
	if (busiest->weight > 1 && local->idle_cpus <= busiest->idle_cpus + 1)
		return false;
	return busiest->nr_fair != 1;
}

/* The part to take tasks from, or NULL if the domain is balanced. Sets type and imbalance. */
static const struct group *find_busiest_group(struct pass *p)
{
	struct comparison c;

	compare_groups(p, &c);
	if (!is_unbalanced(p, &c))
		return NULL;
	set_imbalance(p, &c);
	return p->imbalance ? c.busiest.group : NULL;
}

/* The runqueue of @group with the most of what is to be moved, or NULL. */
static struct rq *find_busiest_queue(const struct pass *p, const struct group *group)
{
	struct cpumask mask = cpumask_and(&group->cpus, &p->cpus);
	struct rq *busiest = NULL;
	u64 most = 0;
	unsigned cpu;

	for_each_cpu(cpu, &mask) {
		struct rq *rq = cpu_rq(p->s, cpu);
		u32 nr = READ_ONCE(rq->fair.tasks.nr);
		u64 key;

		if (!nr)
			continue;
		if (p->type == MIGRATE_TASKS) {
			key = nr;
		} else if (p->type == MIGRATE_UTIL) {
			key = nr > 1 ? cpu_util(rq) : 0;
		} else {
			key = cpu_load(rq);
			/* Moving the only task would just move the imbalance. */
			if (nr == 1 && key > (u64)p->imbalance)
				continue;
		}
		if (key > most) {
			most = key;
			busiest = rq;
		}
	}
	return busiest;
}

/* --- detaching ------------------------------------------------------------ */

/* True if @src's cache is likely to hold the data of @t still. */
static bool is_cache_hot(const struct pass *p, const struct rq *src, const struct task *t)
{
	const struct entity *e = &t->fair;

	if (t->policy == SCHED_IDLE || (p->sd->flags & SD_SHARE_CPUCAPACITY))
		return false;
	if (feature(p->s, FEATURE_CACHE_HOT_BUDDY) && p->dst->nr_running &&
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

	mask = cpumask_and(&mask, &t->allowed);
	if (!p->other && p->idle != CPU_NEWLY_IDLE && !cpumask_empty(&mask))
		p->other = cpu_rq(p->s, cpumask_first(&mask));
}

static bool can_migrate(struct pass *p, struct rq *src, struct task *t)
{
	if (queue_is_hidden(t->fair.queue) ||
	    queue_is_hidden(group_queue(p->s, t->group, p->dst->cpu)))
		return false;
	if (!task_allowed(t, p->dst->cpu)) {
		p->some_pinned = true;
		note_other_destination(p, t);
		return false;
	}
	p->all_pinned = false;
	if (task_running(src, t))
		return false;
	/* dst idles: waiting for a turn would cost @t more than a cold cache does. */
	if (p->idle == CPU_IDLE || !is_cache_hot(p, src, t))
		return true;
	if (p->sd->nr_balance_failed <= p->sd->cache_nice_tries)
		return false;
	p->sd->stat[p->idle].hot_gained += schedstats(p->s);
	return true;
}

/* The amount by which moving @t reduces the imbalance, or -1 if @t is too big to help. */
static s64 contribution(const struct pass *p, const struct task *t)
{
	u64 load = max(1ull, task_load(t));

	if (p->type == MIGRATE_TASKS)
		return 1;
	if (p->type == MIGRATE_UTIL)
		return (s64)t->fair.avg.util_avg > p->imbalance ? -1 : (s64)t->fair.avg.util_avg;
	if (feature(p->s, FEATURE_LB_MIN) && load < 16 && !p->sd->nr_balance_failed)
		return -1;
	/* Each failure makes bigger tasks acceptable. */
	return (s64)(load >> min(p->sd->nr_balance_failed, 63u)) > p->imbalance ? -1 : (s64)load;
}

/* Take tasks from the tail of @src, locked, until the imbalance is gone. */
static void detach_tasks(struct pass *p, struct rq *src)
{
	struct list *tasks = &src->fair_tasks;
	u32 budget = min(p->s->tunable.nr_migrate, src->nr_running);

	SCHED_ASSERT(host_lock_held(&src->lock));
	if (src->nr_running <= 1)
		return;
	while (budget-- && p->imbalance > 0 && !list_empty(tasks)) {
		struct task *t = list_last(tasks, struct task, link);
		s64 moves;

		/* An idle CPU takes some of the work, not all of it. */
		if (p->idle != CPU_BUSY && src->nr_running <= 1)
			break;
		moves = can_migrate(p, src, t) ? contribution(p, t) : -1;
		if (moves < 0) {
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
	rq_unlock(p->dst);
}

/* --- pushing the running task --------------------------------------------- */

/* Ask @src's running task to come, because waiting tasks could not be moved for long. */
static bool push_running(struct pass *p, struct rq *src)
{
	struct task *t;
	bool pushed = false;

	if (p->type != MIGRATE_TASKS || p->sd->nr_balance_failed <= p->sd->cache_nice_tries + 2)
		return false;
	p->sd->alb_count += schedstats(p->s);
	rq_lock(src);
	t = src->curr;
	if (task_is_fair(t) && t->on_rq == TASK_QUEUED && t->push_cpu == PUSH_NONE &&
	    task_allowed(t, p->dst->cpu)) {
		push_current(src, p->dst->cpu);
		pushed = true;
	}
	rq_unlock(src);
	p->sd->alb_failed += !pushed && schedstats(p->s);
	return pushed;
}

/* --- a pass --------------------------------------------------------------- */

/* There was nothing to move, or affinity holds every task in place: balance less often. */
static void note_balanced(struct pass *p)
{
	struct domain *sd = p->sd;
	u64 longest_ms = p->all_pinned ? max(512ull, sd->max_interval_ms) : sd->max_interval_ms;

	sd->stat[p->idle].balanced += schedstats(p->s);
	sd->nr_balance_failed = 0;
	/* A newly idle pass comes at any time and says little about the interval. */
	if (p->idle != CPU_NEWLY_IDLE && sd->balance_interval_ms < longest_ms)
		sd->balance_interval_ms *= 2;
}

static void note_moved(struct pass *p)
{
	p->sd->nr_balance_failed = 0;
	p->sd->balance_interval_ms = p->sd->min_interval_ms;
	p->sd->stat[p->idle].gained += p->nr_moved * schedstats(p->s);
}

static void note_failed(struct pass *p, struct rq *src)
{
	struct domain *sd = p->sd;

	sd->stat[p->idle].failed += schedstats(p->s);
	if (p->idle != CPU_NEWLY_IDLE)
		sd->nr_balance_failed++;
	if (push_running(p, src))
		sd->nr_balance_failed = 0;
	sd->balance_interval_ms = sd->min_interval_ms;
}

/* Tell the level above, which cannot see it, whether affinity left this level uneven. */
static void tell_parent(const struct pass *p, bool pinned)
{
	if (p->sd->parent)
		WRITE_ONCE(p->sd->parent->parts->imbalance, pinned);
}

/*
 * Move tasks from @src to dst. If affinity keeps some from dst but not from another CPU of its
 * part, move those to that CPU.
 */
static void move_from(struct pass *p, struct rq *src)
{
	p->all_pinned = READ_ONCE(src->nr_running) > 1;
	for (;;) {
		rq_lock(src);
		detach_tasks(p, src);
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

		if (!src || src == p->dst) {
			if (!group)
				p->sd->stat[p->idle].nobusyg += schedstats(p->s);
			else
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
	}
}

int balance_domain(struct rq *dst, struct domain *sd, enum idle_type idle)
{
	struct pass p = { .s = dst->s, .sd = sd, .dst = dst, .idle = idle };
	struct rq *src;

	list_init(&p.moved);
	p.cpus = cpumask_and(&sd->span->cpus, &dst->s->online);
	if (!should_balance(&p))
		return -1;
	if (idle == CPU_NEWLY_IDLE && !narrow(&p))
		return 0;
	sd->stat[idle].count += schedstats(dst->s);
	src = move_tasks(&p);
	if (p.nr_moved) {
		attach_moved(&p);
		note_moved(&p);
	} else if (!src || p.all_pinned) {
		note_balanced(&p);
	} else {
		note_failed(&p, src);
	}
	if (!src && !p.all_pinned)
		tell_parent(&p, false);
	return (int)p.nr_moved;
}
