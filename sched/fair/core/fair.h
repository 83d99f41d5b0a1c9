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
 *	             nothing here, and fair.c has the entity start anew; queued entities
 *	             keep their order
 */
#pragma once

#include "sched/fair/core/policy.h"
#include "sched/fair/core/weight.h"
#include "sched/core/core.h"
#include "sched/fair_server.h"

/* --- the class's operations (fair.c unless said) --------------------------- */

/* An idle CPU for @t that shares a cache with @target, or -1 (placement.c). */
int fair_idle_cpu(struct sched *s, const struct task *t, unsigned prev, unsigned target);
/* The heads of the columns that show what orders fair tasks, in the table of tasks. */
const char *fair_key_columns(const struct rq *rq);
/* The columns of @t, a fair task of @rq, locked. */
void fair_dump_key(struct rq *rq, struct task *t, struct text *out);

/* Give @e the weight @load, with all that follows from it. */
void fair_reweight(struct entity *e, struct load_weight load);
/*
 * @e enters its queue, and where that was empty so does the entity above it; @n tasks are counted
 * at each level. Returns whether they reach the root: a throttled queue on the way hides them.
 */
bool fair_climb_in(struct entity *e, struct tally n, unsigned flags);
/* The reverse, for an @e that left its queue. @flags of those emptied: DEQUEUE_SPECIAL, _AWAKE. */
bool fair_climb_out(struct entity *e, struct tally n, unsigned flags);
/* @e had better run next: it is nominated with the groups above, up to the first idle entity. */
void fair_nominate(struct entity *e);
/* @n tasks of @q as the queue above counts them: all idle if @q is. */
struct tally fair_seen_from_above(const struct fair_queue *q, struct tally n);
/* ns that the slice of @e, which runs, lasts still. */
s64 fair_slice_left(struct entity *e);
/* A turn of @t, which runs, begins or goes on. Sets the timer that is to end the turn, if any. */
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

/* The weight that stands for @shares, which are clamped to what a group may have. */
u64 group_weight_of_shares(u64 shares);
/* The shares of @tg changed: it is weighed anew on every CPU. */
void group_reweigh(struct sched *s, struct task_group *tg);

static inline struct list *group_children(struct sched *s, struct task_group *tg)
{
	return tg ? &tg->children : &s->groups;
}

/* After @pos, parents before children, of the groups below @top (NULL: of all); NULL at the end. */
static inline struct task_group *group_next(struct sched *s, struct task_group *top,
					    struct task_group *pos)
{
	if (!list_empty(group_children(s, pos)))
		return list_first(group_children(s, pos), struct task_group, sibling);
	for (; pos != top; pos = pos->parent)
		if (pos->sibling.next != group_children(s, pos->parent))
			return list_entry(pos->sibling.next, struct task_group, sibling);
	return NULL;
}

/* A walk of all below @top, and of all. */
#define for_each_group_below(tg, s, top)                                                           \
	for (tg = group_next(s, top, top); tg; tg = group_next(s, top, tg))
#define for_each_group(tg, s) for_each_group_below(tg, s, NULL)

/* As records name the group whose queue @q is; 0: the root's. */
static inline u32 group_number(const struct fair_queue *q)
{
	return q->group ? q->group->id : 0;
}

static inline struct group_cpu *group_cpu_of(struct entity *e)
{
	return container_of(e, struct group_cpu, entity);
}

/* Is @e, a group's, still queued though its queue is empty? It owes time. */
static inline bool group_is_delayed(const struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->own_queue);
	return e->queued && !e->own_queue->nr_running;
}

/* Is @e asleep, or a group without a runnable member, but still queued to work off a debt? */
static inline bool entity_is_delayed(struct entity *e)
{
	return entity_is_task(e) ? task_of(e)->on_rq == TASK_DELAYED : group_is_delayed(e);
}

/* If @e is a group's: something of it wants to run here, or nothing does any more (wait_sum). */
static inline void begin_to_wait(struct entity *e)
{
	if (unlikely(e->own_queue))
		group_cpu_of(e)->queued_at = e->queue->rq->clock;
}

static inline void wait_no_more(struct entity *e)
{
	if (unlikely(e->own_queue))
		group_cpu_of(e)->queued_ns += e->queue->rq->clock - group_cpu_of(e)->queued_at;
}

/* Tell the policy that the number of runnable members of the group of @e changes or matters. */
static inline void group_note_demand(struct entity *e)
{
	SCHED_DEBUG_ASSERT(e->own_queue);
	e->own_queue->policy->demand(e);
}

/* --- their bandwidth (bandwidth.c) ------------------------------------------ */

void bandwidth_init(struct bandwidth *pool);
/* The end of @q, empty. */
void bandwidth_exit(struct fair_queue *q);
void bandwidth_stat(struct bandwidth *pool, struct task_group_stat *out);
void bandwidth_check(struct fair_queue *q);
/*
 * The running entity of the limited @q, not the root's, used @delta ns: fetch more, or ask for the
 * switch that throttles it.
 */
void bandwidth_charge(struct fair_queue *q, u64 delta);
/* @q emptied: what it does not need goes back. */
void bandwidth_return(struct fair_queue *q);
/*
 * Throttle what has nothing left and gets nothing: of the queues that run; of those from @q up that
 * wait, because they were entered or stopped running.
 */
void bandwidth_check_running(struct rq *rq);
void bandwidth_check_waiting(struct fair_queue *q);
/* Queues of @rq were paid for: they go on. */
void bandwidth_unthrottle(struct rq *rq);
/* Serve what is due of rq->bandwidth.timers. */
void bandwidth_timer(struct rq *rq);
/* @rq's CPU leaves: its queues have no limits any more; or it came back. Lock held. */
void bandwidth_offline(struct rq *rq);
void bandwidth_online(struct rq *rq);
/* Let @to serve the timers that @from did. The machine is stopped, no lock held. */
void bandwidth_move_timers(struct rq *from, struct rq *to);
/*
 * @e, a group's: if nothing is left to run and the policy kept it (group_is_delayed), it leaves.
 * Charged; lock held.
 */
void finish_delayed_group(struct entity *e);
/*
 * All sleepers and groups that are still queued on @rq leave: what they owe is owed under the
 * policy, and the tunables, that were, or on a CPU that leaves. Lock held.
 */
void finish_all_delayed(struct rq *rq);
/* Drop what @q is known to contribute to its group's load. Lock held. */
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

/* The root's queue @q got its first entity, or lost its last. */
static inline void fair_set_active(struct fair_queue *q, bool active)
{
	SCHED_DEBUG_ASSERT(!q->owner);
	class_set_active(q->rq, CLASS_fair, active);
	if (unlikely(q->limited))
		(active ? q->rq->s->server->start : q->rq->s->server->stop)(q->rq);
}

/* Charge @delta ns to what limits @q: its group's quota, or for the root's the fair server. */
static inline void fair_charge_limit(struct fair_queue *q, u64 delta)
{
	SCHED_DEBUG_ASSERT(q->limited);
	if (q->owner)
		bandwidth_charge(q, delta);
	else
		q->rq->s->server->charge(q->rq, delta);
}

/* --- one queue (queue.c) --------------------------------------------------- */

void fair_queue_init(struct fair_queue *q, struct rq *rq);
/* @q, empty, is @policy's from now on. */
void fair_queue_adopt(struct fair_queue *q, const struct fair_policy *policy);
/* The hooks that @q is to have as things stand: recording ones, or those its policy chooses. */
void queue_choose_hooks(struct fair_queue *q);
/* Whether decisions are recorded has changed: s->trace_mask. Takes one runqueue lock at a time. */
void fair_record(struct sched *s);
/* @e stays where it is queued while something comes or goes below it. */
void queue_pass(struct entity *e);
/* @e becomes one of @q's, or ceases to be; false: the policy keeps it. @flags: queue_flags. */
void queue_enter(struct fair_queue *q, struct entity *e, unsigned flags);
bool queue_leave(struct fair_queue *q, struct entity *e, unsigned flags);
/* The sleeper @e, which the policy kept, wakes up; or its group has something to run again. */
void queue_requeue(struct fair_queue *q, struct entity *e, unsigned flags);
/* @e, not queued, is given to @q's policy, which knows nothing of it. */
void queue_begin_anew(struct fair_queue *q, struct entity *e);
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

/* The waiting entity that is due first, or NULL if none has a time. */
static inline struct entity *queue_earliest(const struct fair_queue *q)
{
	return rb_first(&q->due) ? entity_of(rb_first(&q->due)) : NULL;
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

	SCHED_DEBUG_ASSERT(e->queued && e->queue == q);
	if (e == q->curr)
		return queue_waiting(q);
	next = queue_after(e);
	return next || e->due ? next : queue_earliest(q);
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
	if (unlikely(e->due))
		rb_insert_key(&q->due, &e->node, TIMELINE_KEY(due));
	else
		rb_insert_key(&q->timeline, &e->node, q->policy->key);
}

static inline void queue_erase(struct fair_queue *q, struct entity *e)
{
	rb_erase(unlikely(e->due) ? &q->due : &q->timeline, &e->node);
}

/* The same unless @e runs, for then it is in no timeline. */
static inline void timeline_insert(struct fair_queue *q, struct entity *e)
{
	if (e != q->curr)
		queue_insert(q, e);
}

static inline void timeline_erase(struct fair_queue *q, struct entity *e)
{
	if (e != q->curr)
		queue_erase(q, e);
}
