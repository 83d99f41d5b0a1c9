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
#include "sched/record/candidates.h"

/* The number of every policy that rule.def does not name: plugins, and more that are built in. */
#define POLICY_guest		       5
#define POLICY(number, name, sentence) STATIC_ASSERT(POLICY_##name == (number), "as rule.def says");
DECISION_POLICIES(POLICY)
#undef POLICY

/* --- candidates ----------------------------------------------------------------- */

u16 put_group(struct candidate_row *row, struct entity *e)
{
	const struct task_group *tg = e->own_queue->group;

	SCHED_DEBUG_ASSERT(e->own_queue);
	__builtin_memcpy(row->comm, tg->name, TASK_COMM_LEN);
	row->pid = 0;
	row->group = tg->id;
	row->weight = (u32)weight_down(e->load.weight);
	return e->own_queue->idle ? DECISION_IDLE : 0;
}

u16 put_rare_task(struct candidate_row *row, struct fair_queue *q, struct entity *e)
{
	u16 idle = task_of(e)->policy == SCHED_IDLE ? DECISION_IDLE : 0;
	struct decision_numbers n = { .lag = 0 };

	SCHED_DEBUG_ASSERT(entity_is_task(e));
	if (task_of(e)->on_rq != TASK_DELAYED)
		return idle;
	q->policy->numbers(q, e, AFTER_DECISION, &n);
	row->lag = n.lag;
	return DECISION_ASLEEP | idle;
}

void put_due(struct run *run, struct fair_queue *q)
{
	SCHED_DEBUG_ASSERT(!rb_is_empty(&q->due));
	put_tree(run, q, &q->due, DECISION_QUEUED | DECISION_DUE, q->policy->numbers);
}

/* Which entities a decision compares. */
enum compared {
	ITSELF = 1,   /* the subject, which is in no tree and does not run */
	SLEEPING = 4, /* the subject slept */
	QUEUED = 2,   /* all that are queued: in the order of the timeline, the running one last */
};

/* The subject @e, which is in no tree. */
static void put_subject(struct run *run, struct fair_queue *q, struct entity *e, unsigned where)
{
	struct candidate_row *row = run_row(run, &candidates_kind);

	if (row)
		put_candidate(row, q, e,
			      where | (e->queued ? DECISION_QUEUED : 0) |
				      (e->due ? DECISION_DUE : 0) |
				      (e == q->curr ? DECISION_RUNS : 0),
			      0, q->policy->numbers);
}

/* --- decisions ------------------------------------------------------------------ */

/* A decision that is being made: its rows, and what is known before the policy is asked. */
struct decision {
	struct run run;
	struct queue_numbers numbers;
	u32 nr_queued, flags;
};

/*
 * The policy is about to be asked about @e, which may be NULL: notes what it sees, and records what
 * it compares, if that event is on.
 */
static __inlined void begin(struct decision *d, struct fair_queue *q, struct entity *e,
			    unsigned flags, unsigned compared)
{
	u32 expected = compared & QUEUED ? q->nr_running + 1 : 1;

	debug_assert_locked(q->rq);
	SCHED_DEBUG_ASSERT(!q->rq->deciding);
	d->nr_queued = q->nr_running;
	d->flags = flags;
	d->numbers.v = d->numbers.container = 0;
	q->policy->queue_numbers(q, &d->numbers);
	/* The policy's usual rule decides, unless it says because() of another. */
	q->rule = RULE_policy_order;
	if (!traced(q->rq->s, EVENT_sched_decision_candidate))
		compared = expected = 0;
	q->rq->deciding = true;
	run_begin(&d->run, &candidates_kind, expected, q->rq->cpu);
	if (compared & ITSELF)
		put_subject(&d->run, q, e, compared & SLEEPING ? DECISION_ASLEEP : 0);
	d->run.max--; /* the running entity has its place */
	if (compared & QUEUED)
		q->policy->candidates(&d->run, q);
}

static __inlined void begin_among_all(struct decision *d, struct fair_queue *q, struct entity *e,
				      unsigned flags)
{
	begin(d, q, e, flags, QUEUED | (e && !e->queued ? ITSELF : 0));
}

/* The same about @e, which enters or leaves: out of the tree, it may be one of the queue's. */
static __inlined void begin_out_of_tree(struct decision *d, struct fair_queue *q, struct entity *e,
					unsigned flags)
{
	begin(d, q, e, flags,
	      QUEUED | (e == q->curr && e->queued ? 0 : ITSELF) |
		      (flags & ENQUEUE_DELAYED ? SLEEPING : 0));
}

/* The name of the subject @e, and its numbers after the decision. */
static __inlined void put_answer(struct decision_record *row, struct fair_queue *q,
				 struct entity *e)
{
	struct decision_numbers n = { .vruntime = e->vruntime };
	const struct task_group *tg = entity_is_task(e) ? NULL : e->own_queue->group;
	const struct task *t = task_of(e);

	q->policy->numbers(q, e, AFTER_DECISION, &n);
	__builtin_memcpy(row->comm, tg ? tg->name : t->comm, TASK_COMM_LEN);
	row->pid = tg ? 0 : t->pid;
	row->subject_group = tg ? tg->id : 0;
	row->weight = (u32)weight_down(e->load.weight);
	row->vruntime = n.vruntime;
	row->deadline = n.deadline;
	row->slice = n.slice;
	row->lag = n.lag;
}

static void put_nobody(struct decision_record *row)
{
	__builtin_memset(row->comm, 0, sizeof(row->comm));
	row->pid = 0;
	row->subject_group = row->weight = 0;
	row->vruntime = row->deadline = row->slice = 0;
	row->lag = 0;
}

/* The policy has answered. @e is the subject, or NULL. */
static __inlined void end(const struct decision *d, unsigned type, struct fair_queue *q,
			  struct entity *e, unsigned rule, bool answer, u64 delta)
{
	struct decision_record *row = run_record(&d->run, &candidates_kind, type);
	u32 nr = run_nr(&d->run, &candidates_kind);

	SCHED_DEBUG_ASSERT(q->rq->deciding);
	q->rq->deciding = false;
	if (!row)
		return;
	row->group = group_number(q);
	row->policy = q->number;
	row->rule = (u8)rule;
	row->answer = answer;
	row->level = (u8)min(q->depth, 255u);
	row->nr_queued = d->nr_queued;
	row->nr_rows = (u16)(d->run.nr_rows + nr);
	row->cpu = (u16)q->rq->cpu;
	row->v = d->numbers.v;
	row->container = d->numbers.container;
	row->flags = d->flags;
	row->delta = delta;
	if (e)
		put_answer(row, q, e);
	else
		put_nobody(row);
	/* An entity that is queued has no lag of its own; one that leaves may be queued still. */
	if (e && e->queued && type != EVENT_ID_sched_decision_leave)
		row->lag = 0;
	run_end(&d->run, &candidates_kind, nr);
}

/* --- the hooks ------------------------------------------------------------------ */

static struct entity *record_pick(struct fair_queue *q)
{
	const struct fair_hooks *hooks = q->asked;
	struct decision d __uninitialized;
	struct entity *e;

	if (!traced(q->rq->s, EVENT_sched_decision_pick))
		return hooks->pick(q);
	begin_among_all(&d, q, NULL, 0);
	e = hooks->pick(q);
	end(&d, EVENT_ID_sched_decision_pick, q, e,
	    !e		       ? RULE_nobody
	    : d.nr_queued == 1 ? RULE_only_one
	    : q->rule	       ? q->rule
			       : hooks->pick_rule,
	    e != NULL, 0);
	return e;
}

static bool record_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
			    unsigned flags)
{
	const struct fair_hooks *hooks = q->asked;
	struct decision d __uninitialized;
	bool answer;

	if (!traced(q->rq->s, EVENT_sched_decision_preempt))
		return hooks->preempts(q, curr, woken, flags);
	begin_among_all(&d, q, woken, flags);
	answer = hooks->preempts(q, curr, woken, flags);
	end(&d, EVENT_ID_sched_decision_preempt, q, woken, q->rule ? q->rule : hooks->preempts_rule,
	    answer, 0);
	return answer;
}

static bool record_tick_expired(struct fair_queue *q, struct entity *e)
{
	const struct fair_hooks *hooks = q->asked;
	struct decision d __uninitialized;
	bool answer;

	if (!traced(q->rq->s, EVENT_sched_decision_tick))
		return hooks->tick_expired(q, e);
	begin_among_all(&d, q, e, 0);
	answer = hooks->tick_expired(q, e);
	end(&d, EVENT_ID_sched_decision_tick, q, e, q->rule ? q->rule : hooks->tick_expired_rule,
	    answer, e->sum_exec - e->prev_sum_exec);
	return answer;
}

static void record_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct decision d __uninitialized;

	if (!traced(q->rq->s, EVENT_sched_decision_place)) {
		q->asked->place(q, e, flags);
		return;
	}
	begin_out_of_tree(&d, q, e, flags);
	q->asked->place(q, e, flags);
	end(&d, EVENT_ID_sched_decision_place, q, e,
	    flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP) ? RULE_arrives_absent
	    : flags & ENQUEUE_INITIAL			       ? RULE_arrives_new
	    : !(flags & ENQUEUE_WAKEUP)			       ? RULE_arrives_moved
	    : flags & ENQUEUE_DELAYED			       ? RULE_arrives_delayed
							       : RULE_arrives_woken,
	    false, 0);
}

static void record_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	struct decision d __uninitialized;

	if (!traced(q->rq->s, EVENT_sched_decision_charge)) {
		q->asked->charge(q, e, delta);
		return;
	}
	begin(&d, q, e, 0, ITSELF);
	q->asked->charge(q, e, delta);
	end(&d, EVENT_ID_sched_decision_charge, q, e, q->rule ? q->rule : RULE_ran, q->rule != 0,
	    delta);
}

static bool record_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	struct decision d __uninitialized;
	bool answer;

	if (!traced(q->rq->s, EVENT_sched_decision_leave))
		return q->asked->leave(q, e, flags);
	begin_out_of_tree(&d, q, e, flags);
	answer = q->asked->leave(q, e, flags);
	end(&d, EVENT_ID_sched_decision_leave, q, e,
	    flags & DEQUEUE_SLEEP ? RULE_sleeps : RULE_departs, answer, 0);
	return answer;
}

/* Not recorded: what they did is seen at the next decision. */
static void ask_yield(struct fair_queue *q, struct entity *e)
{
	q->asked->yield(q, e);
}

static void ask_reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	q->asked->reweight(q, e, weight);
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

static u8 number_of(const struct fair_policy *policy, const struct sched *s)
{
	u8 number = 0;

	while (number < POLICY_guest && s->policy[number] != policy)
		number++;
	return number;
}

void queue_choose_hooks(struct fair_queue *q)
{
	q->number = number_of(q->policy, q->rq->s);
	q->asked = q->policy->choose_hooks(q);
	SCHED_DEBUG_ASSERT(q->asked != &recording_hooks);
	q->hooks = traced_any(q->rq->s, FAIR_DECISION_EVENTS) ? &recording_hooks : q->asked;
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
