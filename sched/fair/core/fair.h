/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair class: what its policies share and where they differ.
 *
 * fair.c moves entities in and out of queues, charges them and asks the policy
 * (struct fair_policy) what to do. It never asks which policy is active: where
 * two policies must differ, that place is a hook. A policy is one file with one
 * table; it reads the common part of struct entity and its own.
 *
 * Where an entity is decides what its numbers mean:
 *
 *	queued       in the timeline, or running
 *	asleep       after leave(DEQUEUE_SLEEP); they still refer to the queue it left
 *	travelling   after any other leave(): they refer to no queue
 *	foreign      entity.policy is not the queue's: a swap happened since, they mean
 *	             nothing here, and fair.c has the entity start anew; of those that were
 *	             queued it keeps who was ahead of whom
 */
#pragma once

#include "sched/internal.h"

/* --- weights (weight.c) --------------------------------------------------- */

#define WEIGHT_SHIFT 10
#define NICE_0_LOAD  (1024ull << WEIGHT_SHIFT)

/* A stored weight in units of the nice table, at least 2 unless it is 0. */
static inline u64 weight_down(u64 weight)
{
	u64 down = weight >> WEIGHT_SHIFT;

	return likely(down >= 2) ? down : weight ? 2 : 0;
}

struct load_weight weight_of_nice(int nice);
struct load_weight weight_of_idle(void);
/* By nice value and policy alone. */
struct load_weight weight_of_task(const struct task *t);
/* A changed weight makes its inverse stale. */
static inline void load_add(struct load_weight *load, u64 weight)
{
	load->weight += weight;
	load->inverse = 0;
}

static inline void load_sub(struct load_weight *load, u64 weight)
{
	load->weight -= weight;
	load->inverse = 0;
}

/* delta * weight / total->weight, rounded down twice; caches the inverse in @total. */
u64 calc_delta(u64 delta, u64 weight, struct load_weight *total);

/* Real to virtual time of @e: a nice-0 task's virtual time is real time. */
static inline u64 calc_delta_fair(u64 delta, struct entity *e)
{
	if (likely(e->load.weight == NICE_0_LOAD))
		return delta;
	return calc_delta(delta, NICE_0_LOAD, &e->load);
}

static inline const struct tunables *tunables_of(const struct fair_queue *q)
{
	return &q->rq->s->tunable;
}

/* --- policies ------------------------------------------------------------- */

enum place_flags {
	PLACE_NEW =
		0x1000, /* a fork's child, on the queue of its parent, before its CPU is chosen */
	PLACE_SLEEPER =
		0x2000,	       /* it leaves the class while asleep: grant now what a wakeup would */
	PLACE_ASLEEP = 0x4000, /* travelling, it joins @q asleep */
	PLACE_SWAPPED = 0x8000, /* begun anew, its vruntime is its lead over the last one */
};

/* Where the u64 @field of an entity is, seen from its node in the timeline. */
#define TIMELINE_KEY(field) (offsetof(struct entity, field) - offsetof(struct entity, node))

struct eevdf_rules;

struct fair_policy {
	const char *name; /* as `fair_class` and the boot parameter `sched=` have it */

	/*
	 * Features (BIT(FEATURE_x)) on whose defaults the policy has a say, and of them those that
	 * are on. A swap to the policy sets them so, whatever they were.
	 */
	u64 features_mask, features_on;

	/* A yield concerns the policy even if nobody else is runnable. */
	bool yields_alone;

	/* Groups may have deadlines (fdl.h), and shares that vary. */
	bool deadlines;

	/*
	 * Whose place, charge, pick, tick_expired, preempts and leave hold on a queue in which no
	 * group has a deadline. NULL: its own.
	 */
	const struct fair_policy *base;

	/* Order of the timeline: TIMELINE_KEY() of a virtual time, smallest first. */
	size_t key;

	/* How a policy built on EEVDF varies it (eevdf.h). NULL: it is not. */
	const struct eevdf_rules *eevdf;

	/* What a node of the timeline knows of its subtree (lib/rbtree.h), or NULL. */
	void (*augment)(struct rb_node *node);

	/*
	 * Give @e, not queued, its virtual position on @q, whose totals do not count it. @flags:
	 * queue_flags of the enqueue that follows, or place_flags. With ENQUEUE_DELAYED @e was kept
	 * by leave() and wakes up: it is out of the timeline but in the totals.
	 */
	void (*place)(struct fair_queue *q, struct entity *e, unsigned flags);

	/* @e, running, used @delta ns: advance its virtual time and that of the queue. */
	void (*charge)(struct fair_queue *q, struct entity *e, u64 delta);

	/*
	 * The entity to run next, the running one (q->curr, if queued) included; NULL if there is
	 * none.
	 */
	struct entity *(*pick)(struct fair_queue *q);

	/* At a tick, with others waiting: has the running @e had its turn? */
	bool (*tick_expired)(struct fair_queue *q, struct entity *e);

	/*
	 * Does @woken take over from @curr, which was charged? The tasks' policies were compared
	 * already. SELECT_FORK in @flags: it is new.
	 */
	bool (*preempts)(struct fair_queue *q, struct entity *curr, struct entity *woken,
			 unsigned flags);

	/* @e, running and charged, yields; perhaps it is alone. */
	void (*yield)(struct fair_queue *q, struct entity *e);

	/*
	 * @e, out of the timeline but still in the totals, leaves @q: asleep with DEQUEUE_SLEEP,
	 * else travelling. Also called to make a sleeper, not queued, travel. Returns true to keep
	 * one that goes to sleep queued (never with DEQUEUE_SPECIAL): it is no longer runnable but
	 * competes until it is picked, or must leave for another reason, with DEQUEUE_DELAYED.
	 */
	bool (*leave)(struct fair_queue *q, struct entity *e, unsigned flags);

	/* The weight of @t by its nice value and policy. */
	struct load_weight (*weight)(const struct task *t);

	/*
	 * The weight of @e is about to become @weight. It is not in the timeline: running, asleep
	 * or travelling, or taken out to be put back at once. NULL: its position does not depend
	 * on it.
	 */
	void (*reweight)(struct fair_queue *q, struct entity *e, u64 weight);

	/* ns that @e may run in its turn, whether it is queued on @q or not yet. */
	u64 (*slice)(struct fair_queue *q, struct entity *e);

	/*
	 * A member came to or left the group of @e, which stays queued. NULL: its position does not
	 * depend on who is in it.
	 */
	void (*pass)(struct fair_queue *q, struct entity *e);

	/*
	 * While the root's queue has deadlines: ns from now to when a timer is to end the turn of
	 * the task @e that begins; 0: nobody waits for that. NULL: it never has.
	 */
	u64 (*turn)(struct rq *rq, struct entity *e);

	/*
	 * @t, a member of a group, wakes up; neither @target, a CPU that suits it, nor @prev, where
	 * it ran last, idles: where to, or -1 if the policy does not care. NULL: it never does.
	 */
	int (*select_cpu)(struct sched *s, const struct task *t, unsigned prev, unsigned target);

	/*
	 * @e begins anew: it is foreign, or enters the class. What the policy keeps of an entity's
	 * past is forgotten. NULL: it keeps nothing beyond what place() sets.
	 */
	void (*reset)(struct entity *e);

	/*
	 * @child, not started yet and not a relative yet, is made by @parent: what does it take
	 * over from its family? @flags: sched_fork_flags. The only hook without a runqueue lock:
	 * what it reads of other tasks is a hint. family_lock held. NULL: nothing.
	 */
	void (*fork)(struct sched *s, struct task *parent, struct task *child, unsigned flags);

	/*
	 * @rq is the policy's from now on, though what is queued there may be foreign still, or a
	 * tunable changed: renew what is derived from tunables. NULL: nothing is.
	 */
	void (*tuned)(struct rq *rq);

	/* The policy's lines of /proc/PID/sched. NULL: none. */
	void (*dump)(struct entity *e, struct text *out);

	/*
	 * Debugfs `debug`: the queue's virtual time, as lines, and what orders entities, as columns
	 * of that name in the table of tasks. NULL: min_vruntime and vruntime.
	 */
	void (*dump_queue)(struct fair_queue *q, struct text *out);
	const char *key_columns;
	void (*dump_key)(struct entity *e, struct text *out);

	/*
	 * host_bug() if an invariant of the policy does not hold on @q, beyond those of check.c.
	 * Slow.
	 */
	void (*check)(struct fair_queue *q);
};

extern const struct fair_policy cfs_policy, bore_cfs_policy, eevdf_policy, bore_policy, fdl_policy;

/* The policy called @name, NULL if there is none; a NULL name means the default. */
const struct fair_policy *fair_policy_find(const char *name);

/* --- the class's operations (fair.c unless said) --------------------------- */

/* An idle CPU for @t that shares a cache with @target, or -1 (placement.c). */
int fair_idle_cpu(struct sched *s, const struct task *t, unsigned prev, unsigned target);
/* What orders fair tasks, as columns of the table of tasks. */
const char *fair_key_columns(const struct rq *rq);

/* Give @e the weight @load, with all that follows from it. */
void fair_reweight(struct entity *e, struct load_weight load);
/*
 * @e enters its queue, and where that was empty so does the entity above it; @n tasks are counted
 * at each level. Returns whether they reach the root: a throttled queue on the way hides them.
 */
bool fair_climb_in(struct entity *e, struct tally n, unsigned flags);
/* The reverse, for an @e that has left its queue. */
bool fair_climb_out(struct entity *e, struct tally n);
/* What @n tasks on @q are to the queue above: idle if @q is. */
struct tally fair_seen_from_above(const struct fair_queue *q, struct tally n);
/* ns that the slice of @e, which runs, lasts still. */
s64 fair_slice_left(struct entity *e);
/* A turn of @t, which runs, begins or goes on: a timer may be to end it. */
void fair_start_turn(struct rq *rq, struct task *t);
/* A tunable changed: the policy hears of it on every CPU. */
void fair_tuned(struct sched *s);

/* --- task groups (group.c) ------------------------------------------------- */

/* The queue on which members of @tg, or of the root if that is NULL, are queued on @cpu. */
struct fair_queue *group_queue(struct sched *s, struct task_group *tg, unsigned cpu);
/* Bring a group's entity in line with the queue it stands for: its averages, then its weight. */
void group_update_entity(struct entity *e);
/* The same for all above @q: its averages changed other than by time. */
void group_update_above(struct fair_queue *q);

/* The shares of @tg changed: it is weighed anew on every CPU. */
void group_reweigh(struct sched *s, struct task_group *tg);

/* @tg ends: nothing is guaranteed to it any more (fdl_group.c). */
void fdl_forget(struct sched *s, struct task_group *tg);

/* The group after @pos in a walk of all below @top, which starts with @pos = @top. */
struct task_group *group_next_below(const struct task_group *top, const struct task_group *pos);

static inline struct group_cpu *group_cpu_of(struct entity *e)
{
	return container_of(e, struct group_cpu, entity);
}

/*
 * How many members of the group of @e want to run is about to matter, or has changed: add up for
 * how long so many did.
 */
static inline void group_note_demand(struct entity *e)
{
	struct fdl_cpu *fdl = &group_cpu_of(e)->fdl;
	const struct fair_queue *q = e->own_queue;

	if (likely(!READ_ONCE(q->rq->s->fdl_controlled)))
		return;
	fdl->demand_ns += fdl->demand_nr * sub_floor0(q->rq->clock, fdl->demand_at);
	fdl->demand_at = q->rq->clock;
	fdl->demand_nr = q->throttled ? 0 : q->tasks.nr;
}

/* --- their bandwidth (bandwidth.c) ------------------------------------------ */

void bandwidth_init(struct bandwidth *pool);
/* The end of @q, empty. */
void bandwidth_exit(struct fair_queue *q);
void bandwidth_stat(struct bandwidth *pool, struct sched_group_stat *out);
void bandwidth_check(struct fair_queue *q);
/* What runs on the limited @q used @delta: fetch more, or ask for the switch that throttles it. */
void bandwidth_charge(struct fair_queue *q, u64 delta);
/* @q emptied: what it does not need goes back. */
void bandwidth_return(struct fair_queue *q);
/* Throttle what has nothing left of the queues that run; of those from @q up, just entered. */
void bandwidth_check_running(struct rq *rq);
void bandwidth_check_entered(struct fair_queue *q);
/* Queues of @rq were paid for: they go on. */
void bandwidth_unthrottle(struct rq *rq);
/* Serve what is due of rq->bandwidth_timers. */
void bandwidth_timer(struct rq *rq);
/* @rq's CPU leaves: its queues have no limits any more; or it came back. Lock held. */
void bandwidth_offline(struct rq *rq);
void bandwidth_online(struct rq *rq);
/* Let @to serve the timers that @from did. The machine is stopped, no lock held. */
void bandwidth_move_timers(struct rq *from, struct rq *to);
/*
 * All sleepers that are still queued on @rq leave: what they owe is owed under the policy, and the
 * tunables, that were, or on a CPU that leaves. Lock held.
 */
void finish_all_delayed(struct rq *rq);
/* What @q is known to contribute to its group's load is dropped. Lock held. */
void group_offline(struct fair_queue *q);
bool queue_search_throttled(const struct fair_queue *q);

/* Is @q, or one above it, throttled? */
static inline bool queue_is_hidden(const struct fair_queue *q)
{
	return unlikely(q->rq->throttles) && queue_search_throttled(q);
}

static inline void group_update(struct entity *e)
{
	if (unlikely(e->own_queue))
		group_update_entity(e);
}

/* --- one queue (queue.c) --------------------------------------------------- */

void fair_queue_init(struct fair_queue *q, struct rq *rq);
/* @q, empty, is @policy's from now on. */
void fair_queue_adopt(struct fair_queue *q, const struct fair_policy *policy);
/* One more, or less, of the groups below @q has deadlines there. */
void fair_queue_count_deadlines(struct fair_queue *q, bool more);
/* @e stays where it is queued while something comes or goes below it. */
void queue_pass(struct entity *e);
/* @e becomes one of @q's, or ceases to be; false: the policy keeps it. @flags: queue_flags. */
void queue_enter(struct fair_queue *q, struct entity *e, unsigned flags);
bool queue_leave(struct fair_queue *q, struct entity *e, unsigned flags);
/* The sleeper @e, which the policy kept, wakes up. */
void queue_requeue(struct fair_queue *q, struct entity *e, unsigned flags);
void queue_adopt_entity(struct fair_queue *q, struct entity *e, bool asleep);

/* If @e, not queued, is foreign to @q: its past under another policy is forgotten. */
static inline void adopt(struct fair_queue *q, struct entity *e, bool asleep)
{
	if (unlikely(e->policy != q->policy))
		queue_adopt_entity(q, e, asleep);
}

/* The entity that stands for the queue of @e one level up; NULL: there is none. */
static inline struct entity *parent_of(const struct entity *e)
{
	return e->queue->owner;
}

static inline struct entity *entity_of(const struct rb_node *node)
{
	return container_of(node, struct entity, node);
}

/* First in the timeline, or NULL. */
static inline struct entity *queue_first(const struct fair_queue *q)
{
	return rb_first(&q->timeline) ? entity_of(rb_first(&q->timeline)) : NULL;
}

static inline struct entity *queue_after(const struct entity *e)
{
	struct rb_node *next = rb_next(&e->node);

	return next ? entity_of(next) : NULL;
}

/* Of those with a deadline that wait, the one whose is the earliest; NULL. */
static inline struct entity *queue_earliest(const struct fair_queue *q)
{
	return rb_first(&q->deadlines) ? entity_of(rb_first(&q->deadlines)) : NULL;
}

/* The first that waits, in no useful order. */
static inline struct entity *queue_waiting(const struct fair_queue *q)
{
	return queue_first(q) ?: queue_earliest(q);
}

/* The first queued entity in no useful order, the running one included; the next one; NULL. */
static inline struct entity *queue_any(const struct fair_queue *q)
{
	return q->curr && q->curr->queued ? q->curr : queue_waiting(q);
}

static inline struct entity *queue_another(const struct fair_queue *q, const struct entity *e)
{
	struct entity *next;

	if (e == q->curr)
		return queue_waiting(q);
	next = queue_after(e);
	return next || e->deadline ? next : queue_earliest(q);
}

static inline struct fair_queue *queue_in_walk(const struct rq *rq, const struct list *link)
{
	return link == &rq->queues ? NULL : list_entry(link, struct fair_queue, link);
}

/* The root's queue first, then those of groups, children before parents. */
#define for_each_fair_queue(q, runqueue)                                                           \
	for (q = &(runqueue)->fair; q;                                                             \
	     q = queue_in_walk(runqueue, q->owner ? q->link.next : (runqueue)->queues.next))

static inline bool entity_is_idle(struct entity *e)
{
	return entity_is_task(e) ? task_of(e)->policy == SCHED_IDLE : e->own_queue->idle;
}

/* Does @a run before @b, other things equal? */
static inline bool queue_before(const struct fair_queue *q, const struct entity *a,
				const struct entity *b)
{
	return rb_key_before(&a->node, &b->node, q->policy->key);
}

static inline void queue_insert(struct fair_queue *q, struct entity *e)
{
	if (unlikely(e->deadline))
		rb_insert_key(&q->deadlines, &e->node, TIMELINE_KEY(deadline));
	else
		rb_insert_key(&q->timeline, &e->node, q->policy->key);
}

static inline void queue_erase(struct fair_queue *q, struct entity *e)
{
	rb_erase(unlikely(e->deadline) ? &q->deadlines : &q->timeline, &e->node);
}

/* --- load averages (pelt.c) ----------------------------------------------- */

#define PELT_PERIOD 1024 /* units of 1024 ns */

/* The rare rest of pelt_age(): a period ended. Decay, and compute the averages. See pelt.c. */
void pelt_cross_periods(struct pelt *p, u64 units, u64 weight, u64 load, u64 runnable,
			bool running);

/* A whole step passed since the last update, or the clock was another one, ahead of @now. */
static inline bool pelt_is_due(const struct pelt *p, u64 now)
{
	return now - p->last_update >= 1024;
}

/*
 * Bring @p, which is due, of entity @e or (NULL) of a queue, up to @now: before what it averages
 * changes. The rest: what held since the last update. Time counts in steps of 1024 ns; within a
 * period they only add up.
 */
static inline void pelt_age(struct pelt *p, u64 now, const struct entity *e, u64 load, u64 runnable,
			    bool running)
{
	s64 delta = (s64)(now - p->last_update);
	u64 units = (u64)delta >> 10;

	if (unlikely(delta < 0)) {
		/* This CPU's clock is behind the one it was updated with last. */
		p->last_update = now;
		return;
	}
	p->last_update += units << 10;
	if (unlikely(units + p->period_contrib >= PELT_PERIOD)) {
		pelt_cross_periods(p, units, e ? weight_down(e->load.weight) : 1, load, runnable,
				   running);
		return;
	}
	p->period_contrib += (u32)units;
	p->load_sum += load * units;
	p->runnable_sum += runnable * units << 10;
	if (running)
		p->util_sum += (u32)units << 10;
}

/* pelt_now() where queues were throttled. */
u64 pelt_clock(const struct fair_queue *q);

/*
 * The time for averages on @q: it stands still while @q, or one above it, is throttled. Never
 * ahead of the runqueue's clock, so what is not due by that is not due.
 */
static inline u64 pelt_now(const struct fair_queue *q)
{
	return likely(!q->rq->throttles) ? q->rq->clock : pelt_clock(q);
}

/* An entity that runs or waits on @q, attached therefore. */
static inline void pelt_update_queued(struct fair_queue *q, struct entity *e, bool running)
{
	if (pelt_is_due(&e->avg, q->rq->clock))
		pelt_age(&e->avg, pelt_now(q), e, 1, entity_is_task(e) ? 1 : e->own_queue->tasks.nr,
			 running);
}

/* One that is not; without effect if it is attached to no queue. */
static inline void pelt_update_away(struct fair_queue *q, struct entity *e)
{
	if (e->avg.last_update && pelt_is_due(&e->avg, q->rq->clock))
		pelt_age(&e->avg, pelt_now(q), e, 0, 0, false);
}

/* Any; a sleeper that is kept in its queue counts there with its weight only. */
static inline void pelt_update_entity(struct fair_queue *q, struct entity *e)
{
	if (!e->queued)
		pelt_update_away(q, e);
	else if (pelt_is_due(&e->avg, q->rq->clock))
		pelt_age(&e->avg, pelt_now(q), e, 1,
			 entity_is_task(e) ? task_of(e)->on_rq != TASK_DELAYED
					   : e->own_queue->tasks.nr,
			 q->curr == e);
}

/* Before the load, nr_running or whether it runs changes. */
static inline void pelt_update_queue(struct fair_queue *q)
{
	if (pelt_is_due(&q->avg, q->rq->clock))
		pelt_age(&q->avg, pelt_now(q), NULL, weight_down(q->load.weight), q->tasks.nr,
			 q->tasks.nr && q->curr);
}

static inline void update_averages(struct entity *e)
{
	pelt_update_entity(e->queue, e);
	pelt_update_queue(e->queue);
}

/* A new task: as if it had always been runnable, until there is evidence. */
void pelt_init(struct entity *e);
/* First enqueue: guess its utilisation from what the CPU has left. */
void pelt_init_util(struct fair_queue *q, struct entity *e);
/* Add to, or take from, what @q averages over. */
void pelt_attach(struct fair_queue *q, struct entity *e);
void pelt_detach(struct fair_queue *q, struct entity *e);
/*
 * The averages of a group's @e, which is up to date, take over what came and went on its queue.
 */
void pelt_follow(struct entity *e);
/* The weight of @e changes to @weight: its load average with it. @e is up to date. */
void pelt_reweight(struct fair_queue *q, struct entity *e, u64 weight);
/*
 * Estimated utilisation. util_avg of a task that slept has decayed and says little about what it
 * will use now, so each task remembers its utilisation at its last sleep, and a slower average of
 * those. The sum over the queue is kept even while the feature is off, to be right when it is
 * switched on.
 */
static inline u32 task_util_est(const struct entity *e)
{
	return max(e->avg.util_est_ewma, e->avg.util_est_enqueued);
}

/* @e goes to sleep: remember. */
void util_est_remember(struct sched *s, struct pelt *p);
/* How much of @rq's capacity (1024) its fair tasks use. */
u64 cpu_util(const struct rq *rq);
