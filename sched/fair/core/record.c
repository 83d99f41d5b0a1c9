/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording decisions: hooks that stand before those of a queue's policy while an event of
 * decision.def is on. Each notes what is queued, asks the policy, and notes the answer, so the
 * policy is asked exactly what it would be asked without. While no decision is recorded these hooks
 * are in no queue, and cost nothing.
 *
 * Lock: the runqueue's.
 */
#include "sched/fair/core/queue.h"
#include "sched/observe/trace.h"
#include "lib/string.h"

/* The number of every policy that rule.def does not name: plugins, and more that are built in. */
#define POLICY_guest		       5
#define POLICY(number, name, sentence) STATIC_ASSERT(POLICY_##name == (number), "as rule.def says");
DECISION_POLICIES(POLICY)
#undef POLICY

/* The records of all kinds have one layout. */
#define decision_record event_sched_decision_pick

/* --- entities ------------------------------------------------------------------- */

static void put_name(char *comm, s32 *pid, u32 *group, const struct entity *e)
{
	const struct task_group *tg = e->own_queue ? e->own_queue->group : NULL;

	__builtin_memcpy(comm, tg ? tg->name : task_of((struct entity *)e)->comm, TASK_COMM_LEN);
	*pid = tg ? 0 : task_of((struct entity *)e)->pid;
	*group = tg ? tg->id : 0;
}

/* Flags that hold under every policy. */
static u16 common_flags(const struct fair_queue *q, struct entity *e)
{
	bool asleep = entity_is_task(e) && task_of(e)->on_rq == TASK_DELAYED;

	return (u16)((e == q->curr ? DECISION_RUNS : 0) | (asleep ? DECISION_ASLEEP : 0) |
		     (entity_is_idle(e) ? DECISION_IDLE : 0) | (e->due ? DECISION_DUE : 0) |
		     (e->queued ? DECISION_QUEUED : 0));
}

static u8 depth_of(const struct entity *e)
{
	const struct rb_node *node = &e->node;
	u8 depth = 0;

	for (; node; node = rb_parent(node))
		depth++;
	return depth;
}

/* Returns how many candidates were recorded: 1, or 0 while their event is off. */
static u16 put_candidate(struct fair_queue *q, struct entity *e, unsigned flags, u8 depth)
{
	struct event_sched_decision_candidate c;
	struct decision_numbers n = { .vruntime = e->vruntime };

	if (!traced(q->rq->s, EVENT_sched_decision_candidate))
		return 0;
	q->policy->numbers(q, e, &n);
	c.common = (struct sched_event){ EVENT_ID_sched_decision_candidate, sizeof(c), q->rq->cpu };
	put_name(c.comm, &c.pid, &c.group, e);
	c.flags = (u16)(n.flags | flags | common_flags(q, e));
	c.vruntime = n.vruntime;
	c.deadline = n.deadline;
	c.slice = n.slice;
	c.lag = !e->queued || (c.flags & DECISION_ASLEEP) ? n.lag : 0;
	c.ran = e->sum_exec - e->prev_sum_exec;
	c.weight = (u32)weight_down(e->load.weight);
	c.score = n.score;
	c.depth = depth;
	host_trace(&c.common);
	return 1;
}

/*
 * The same of all that is queued: in the order of the tree, the running entity last. @flags: of
 * @subject.
 */
static u16 put_candidates(struct fair_queue *q, const struct entity *subject, unsigned flags)
{
	struct entity *e = queue_first(q);
	bool due = false;
	u16 nr = 0;

	if (!traced(q->rq->s, EVENT_sched_decision_candidate))
		return 0;
	for (;; e = queue_after(e)) {
		if (!e && !due) {
			due = true;
			e = queue_earliest(q);
		}
		if (!e || nr == DECISION_ROWS_MAX - 1)
			break;
		nr += put_candidate(q, e, e == subject ? flags : 0, depth_of(e));
	}
	if (!q->curr || !q->curr->queued)
		return nr;
	return nr + put_candidate(q, q->curr, q->curr == subject ? flags : 0, 0);
}

/* --- decisions ------------------------------------------------------------------ */

static u8 number_of(const struct fair_policy *policy, const struct sched *s)
{
	u8 number = 0;

	while (number < POLICY_guest && s->policy[number] != policy)
		number++;
	return number;
}

/* Fills in @d with all that is known before the policy is asked about @e, which may be NULL. */
static void begin(struct decision_record *d, struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct queue_numbers n = { .v = 0 };

	*d = (struct decision_record){ .group = q->group ? q->group->id : 0 };
	q->policy->queue_numbers(q, &n);
	d->policy = number_of(q->policy, q->rq->s);
	d->level = (u8)min(q->depth, 255u);
	d->cpu = (u16)q->rq->cpu;
	d->nr_queued = q->nr_running;
	d->v = n.v;
	d->container = n.container;
	d->flags = flags;
	/* The policy's usual rule decides, unless it says because() of another. */
	q->rule = RULE_policy_order;
	if (e && !e->queued)
		d->nr_rows = put_candidate(q, e, DECISION_SUBJECT, 0);
}

static void begin_among_all(struct decision_record *d, struct fair_queue *q, struct entity *e,
			    unsigned flags)
{
	begin(d, q, e, flags);
	d->nr_rows += put_candidates(q, e, DECISION_SUBJECT);
}

/* The same about @e, which enters or leaves: out of the tree, it may be one of the queue's. */
static void begin_out_of_tree(struct decision_record *d, struct fair_queue *q, struct entity *e,
			      unsigned flags)
{
	unsigned subject = DECISION_SUBJECT | (flags & ENQUEUE_DELAYED ? DECISION_ASLEEP : 0);

	begin(d, q, e, flags);
	d->nr_rows += put_candidates(q, e, subject);
	if (e->queued && e != q->curr)
		d->nr_rows += put_candidate(q, e, subject, 0);
}

/* Fills in the rest, when the policy has answered, and hands over the record. */
static void end(struct decision_record *d, unsigned type, struct fair_queue *q, struct entity *e,
		unsigned rule)
{
	struct decision_numbers n = { .vruntime = 0 };

	d->common = (struct sched_event){ (u16)type, sizeof(*d), q->rq->cpu };
	d->rule = (u8)rule;
	if (e) {
		n.vruntime = e->vruntime;
		q->policy->numbers(q, e, &n);
		put_name(d->comm, &d->pid, &d->subject_group, e);
		d->weight = (u32)weight_down(e->load.weight);
	}
	d->vruntime = n.vruntime;
	d->deadline = n.deadline;
	d->slice = n.slice;
	d->lag = e && (type == EVENT_ID_sched_decision_leave || !e->queued) ? n.lag : 0;
	host_trace(&d->common);
}

/* --- the hooks ------------------------------------------------------------------ */

static const struct fair_hooks *asked(const struct fair_queue *q)
{
	return q->policy->choose_hooks(q);
}

static struct entity *record_pick(struct fair_queue *q)
{
	struct decision_record d;
	struct entity *e;

	if (!traced(q->rq->s, EVENT_sched_decision_pick))
		return asked(q)->pick(q);
	begin_among_all(&d, q, NULL, 0);
	e = asked(q)->pick(q);
	d.answer = e != NULL;
	end(&d, EVENT_ID_sched_decision_pick, q, e,
	    !e		       ? RULE_nobody
	    : d.nr_queued == 1 ? RULE_only_one
	    : q->rule	       ? q->rule
			       : asked(q)->pick_rule);
	return e;
}

static bool record_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
			    unsigned flags)
{
	struct decision_record d;

	if (!traced(q->rq->s, EVENT_sched_decision_preempt))
		return asked(q)->preempts(q, curr, woken, flags);
	begin_among_all(&d, q, woken, flags);
	d.answer = asked(q)->preempts(q, curr, woken, flags);
	end(&d, EVENT_ID_sched_decision_preempt, q, woken,
	    q->rule ? q->rule : asked(q)->preempts_rule);
	return d.answer;
}

static bool record_tick_expired(struct fair_queue *q, struct entity *e)
{
	struct decision_record d;

	if (!traced(q->rq->s, EVENT_sched_decision_tick))
		return asked(q)->tick_expired(q, e);
	begin_among_all(&d, q, e, 0);
	d.answer = asked(q)->tick_expired(q, e);
	end(&d, EVENT_ID_sched_decision_tick, q, e,
	    q->rule ? q->rule : asked(q)->tick_expired_rule);
	return d.answer;
}

static void record_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct decision_record d;

	if (!traced(q->rq->s, EVENT_sched_decision_place)) {
		asked(q)->place(q, e, flags);
		return;
	}
	begin_out_of_tree(&d, q, e, flags);
	asked(q)->place(q, e, flags);
	end(&d, EVENT_ID_sched_decision_place, q, e,
	    flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP) ? RULE_arrives_absent
	    : flags & ENQUEUE_INITIAL			       ? RULE_arrives_new
	    : !(flags & ENQUEUE_WAKEUP)			       ? RULE_arrives_moved
	    : flags & ENQUEUE_DELAYED			       ? RULE_arrives_delayed
							       : RULE_arrives_woken);
}

static void record_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	struct decision_record d;

	if (!traced(q->rq->s, EVENT_sched_decision_charge)) {
		asked(q)->charge(q, e, delta);
		return;
	}
	begin(&d, q, NULL, 0);
	d.nr_rows = put_candidate(q, e, DECISION_SUBJECT, 0);
	d.delta = delta;
	asked(q)->charge(q, e, delta);
	d.answer = q->rule != RULE_policy_order;
	end(&d, EVENT_ID_sched_decision_charge, q, e, d.answer ? q->rule : RULE_ran);
}

static bool record_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct decision_record d;

	if (!traced(q->rq->s, EVENT_sched_decision_leave))
		return asked(q)->leave(q, e, flags);
	begin_out_of_tree(&d, q, e, flags);
	d.answer = asked(q)->leave(q, e, flags);
	end(&d, EVENT_ID_sched_decision_leave, q, e,
	    flags & DEQUEUE_SLEEP ? RULE_sleeps : RULE_departs);
	return d.answer;
}

/* Not recorded: what they did is seen at the next decision. */
static void ask_yield(struct fair_queue *q, struct entity *e)
{
	asked(q)->yield(q, e);
}

static void ask_reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	asked(q)->reweight(q, e, weight);
}

static const struct fair_hooks recording_hooks = {
	.place = record_place,
	.charge = record_charge,
	.pick = record_pick,
	.tick_expired = record_tick_expired,
	.preempts = record_preempts,
	.leave = record_leave,
	.yield = ask_yield,
	.reweight = ask_reweight,
};

void queue_choose_hooks(struct fair_queue *q)
{
	q->hooks = traced_any(q->rq->s, FAIR_DECISION_EVENTS) ? &recording_hooks : asked(q);
}

void fair_record(struct sched *s)
{
	struct fair_queue *q;

	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		for_each_fair_queue(q, rq)
			queue_choose_hooks(q);
		rq_unlock(rq);
	}
}
