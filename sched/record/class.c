/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recording decisions of classes: operations that stand before those of the machine's classes while
 * an event of theirs is on. They are put into s->class_copy one by one, and any CPU may see any of
 * them at any time. Each notes what is queued, asks the class, and notes the answer. While nothing
 * is recorded they are in no table, and cost nothing. The rest (throttling, pushes, pulls) happens
 * inside an operation; there the class tells.
 *
 * Lock: the runqueue's.
 */
#include "sched/record/class.h"
#include "sched/fair_server.h"

#define NOWHERE	    ((u32)-1)
#define SERVER_NAME "fair_server"

/* The class's own operations. */
static const struct sched_class *own(const struct rq *rq, const struct sched_class *class)
{
	return rq->s->class_own[class->rank];
}

/* --- rows --------------------------------------------------------------------- */

static u16 flags_of(const struct rq *rq, const struct task *t, const struct class_numbers *n,
		    bool queued)
{
	return (u16)((task_running(rq, t) ? DECISION_RUNS : 0) | (queued ? DECISION_QUEUED : 0) |
		     (n->throttled ? DECISION_THROTTLED : 0));
}

/*
 * The numbers that only @class knows, if it has any: of @t on @rq, which is locked; of @rq if @t is
 * NULL, and these are hints while its lock is not held.
 */
static void ask_numbers(const struct sched_class *class, struct rq *rq, struct task *t,
			struct class_numbers *n)
{
	SCHED_DEBUG_ASSERT(!t || host_lock_held(&rq->lock));
	if (class->debug.numbers)
		class->debug.numbers(rq, t, n);
}

/* The fields that a task and a server both have, for the initialiser of a row. */
#define NUMBERS(n)                                                                                 \
	.bw = (n).bw, .deadline = (n).deadline, .budget = (n).budget,                              \
	.replenish_at = (n).replenish_at, .runtime = (n).runtime, .relative = (n).relative,        \
	.period = (n).period

/* Returns how many rows were recorded: 1, or 0 while their event is off. */
static u16 put_task(struct rq *rq, struct task *t, u32 position, unsigned flags)
{
	struct event_sched_decision_task row;
	struct class_numbers n = { .slice = 0 };

	debug_assert_locked(rq);
	if (!traced(rq->s, EVENT_sched_decision_task))
		return 0;
	ask_numbers(t->class, rq, t, &n);
	row = (struct event_sched_decision_task){
		.common = { EVENT_ID_sched_decision_task, sizeof(row), rq->cpu },
		.pid = t->pid,
		.prio = t->prio,
		.position = position == NOWHERE ? 0 : position,
		.slice = n.slice,
		.flags = (u16)(flags | flags_of(rq, t, &n, position != NOWHERE)),
		.nr_allowed = (u16)t->nr_allowed,
		NUMBERS(n),
	};
	__builtin_memcpy(row.comm, t->comm, TASK_COMM_LEN);
	host_trace(&row.common);
	return 1;
}

/* The server of @class, whether it is active or not. */
static u16 put_server(struct rq *rq, const struct sched_class *class)
{
	struct event_sched_decision_task row;
	struct class_numbers n;

	debug_assert_locked(rq);
	if (!traced(rq->s, EVENT_sched_decision_task))
		return 0;
	class->server->numbers(rq, &n);
	row = (struct event_sched_decision_task){
		.common = { EVENT_ID_sched_decision_task, sizeof(row), rq->cpu },
		.comm = SERVER_NAME,
		.prio = -1,
		.flags = (u16)(DECISION_SERVER | (n.throttled ? DECISION_THROTTLED : 0)),
		NUMBERS(n),
	};
	host_trace(&row.common);
	return 1;
}

/* The class's queue in its order, and @subject, which may be NULL, wherever it is. */
static u16 put_tasks(struct rq *rq, const struct sched_class *class, struct task *subject)
{
	struct class_numbers server;
	u32 position = 0;
	u16 nr = 0;

	for (struct task *t = class->queued(rq, NULL); t; t = class->queued(rq, t)) {
		if (nr < DECISION_ROWS_MAX - 1 || t == subject)
			nr += put_task(rq, t, position, t == subject ? DECISION_SUBJECT : 0);
		if (t == subject)
			subject = NULL;
		position++;
	}
	nr += subject ? put_task(rq, subject, NOWHERE, DECISION_SUBJECT) : 0;
	return class->server && class->server->numbers(rq, &server) ? nr + put_server(rq, class)
								    : nr;
}

static u32 position_of(struct rq *rq, const struct task *t)
{
	u32 position = 0;

	debug_assert_locked(rq);
	for (struct task *q = t->class->queued(rq, NULL); q; q = t->class->queued(rq, q)) {
		if (q == t)
			return position;
		position++;
	}
	return NOWHERE;
}

static void put_level(struct sched *s, const struct rq *at, const struct task *t, unsigned cpu,
		      unsigned waker)
{
	struct class_numbers n = { .prio = MAX_RT_PRIO };
	struct rq *rq = cpu_rq(s, cpu);
	const struct sched_class *class;
	struct event_sched_decision_level row;

	for_each_class(class, s) ask_numbers(class, rq, NULL, &n);
	row = (struct event_sched_decision_level){
		.common = { EVENT_ID_sched_decision_level, sizeof(row), at->cpu },
		.of_cpu = (u16)cpu,
		.flags = (u16)((task_allowed(t, cpu) ? DECISION_CPU_ALLOWED : 0) |
			       (cpu == waker ? DECISION_CPU_WAKER : 0) |
			       (cpu == t->cpu ? DECISION_CPU_LAST : 0)),
		.active = READ_ONCE(rq->active),
		.prio = n.prio,
		.nr_running = READ_ONCE(rq->nr_running),
		.deadline = n.deadline,
	};
	host_trace(&row.common);
}

static u16 put_levels(struct rq *rq, const struct task *t, unsigned waker)
{
	unsigned cpu;
	u16 nr = 0;

	if (!traced(rq->s, EVENT_sched_decision_level))
		return 0;
	for_each_cpu(cpu, &rq->s->online) {
		if (nr == DECISION_ROWS_MAX)
			break;
		put_level(rq->s, rq, t, cpu, waker);
		nr++;
	}
	return nr;
}

/* --- records ------------------------------------------------------------------ */

static u8 policy_of(const struct sched_class *class, const struct task *t)
{
	if (class->rank == CLASS_ext)
		return CLASS_POLICY_ext;
	if (!t)
		return CLASS_POLICY_real_time;
	return t->policy == SCHED_DEADLINE ? CLASS_POLICY_deadline
	       : t->policy == SCHED_RR	   ? CLASS_POLICY_rr
					   : CLASS_POLICY_fifo;
}

/* Makes @d a record of the question @call, with all that is known before @class answers. */
static void begin(struct event_sched_decision_class *d, struct rq *rq,
		  const struct sched_class *class, unsigned call)
{
	debug_assert_locked(rq);
	*d = (struct event_sched_decision_class){
		.common = { EVENT_ID_sched_decision_class, sizeof(*d), rq->cpu },
		.answer = 1,
		.cpu = (u16)rq->cpu,
		.to = (u16)rq->cpu,
		.call = (u16)call,
		.nr_queued = class->nr_queued(rq),
		.active = rq->active,
		.clock = rq->clock,
	};
	rq->class_rule = REASON_class_order;
}

/* The running @t is charged before the rows: a record inside a decision would tear it apart. */
static void begin_among_all(struct event_sched_decision_class *d, struct rq *rq,
			    const struct sched_class *class, struct task *t, unsigned call)
{
	if (t && task_running(rq, t))
		own(rq, class)->charge(rq);
	begin(d, rq, class, call);
	d->nr_rows = put_tasks(rq, class, t);
}

/* The rest, when the class has answered; hands over the record. */
static void end(struct event_sched_decision_class *d, struct rq *rq,
		const struct sched_class *class, struct task *t, enum class_act act,
		enum class_rule rule)
{
	struct class_numbers n = { .slice = 0 };
	u32 position = t ? position_of(rq, t) : NOWHERE;

	debug_assert_locked(rq);
	ask_numbers(class, rq, NULL, &n);
	d->used = n.used;
	d->period_end = n.period_end;
	d->act = (u8)act;
	d->policy = policy_of(class, t);
	d->rule = (u8)rule;
	d->flags = n.throttled ? DECISION_THROTTLED : 0;
	if (t) {
		n = (struct class_numbers){ .slice = 0 };
		ask_numbers(class, rq, t, &n);
		__builtin_memcpy(d->comm, t->comm, TASK_COMM_LEN);
		d->pid = t->pid;
		d->prio = t->prio;
		d->position = position == NOWHERE ? 0 : position;
		d->flags = flags_of(rq, t, &n, position != NOWHERE);
		d->slice = n.slice;
		d->deadline = n.deadline;
		d->budget = n.budget;
		d->replenish_at = n.replenish_at;
	}
	host_trace(&d->common);
}

/* The same for a decision of the server of @class, in which it picked @t, or none (NULL). */
static void end_server(struct event_sched_decision_class *d, struct rq *rq,
		       const struct sched_class *class, const struct task *t, enum class_act act,
		       enum class_rule rule)
{
	struct class_numbers n;

	debug_assert_locked(rq);
	class->server->numbers(rq, &n);
	__builtin_memcpy(d->comm, t ? t->comm : SERVER_NAME,
			 t ? TASK_COMM_LEN : sizeof(SERVER_NAME));
	d->pid = t ? t->pid : 0;
	d->prio = t ? t->prio : -1;
	d->act = (u8)act;
	d->policy = CLASS_POLICY_fair_server;
	d->rule = (u8)rule;
	d->flags = (u16)(DECISION_SERVER | (n.throttled ? DECISION_THROTTLED : 0));
	d->deadline = n.deadline;
	d->budget = n.budget;
	d->replenish_at = n.replenish_at;
	host_trace(&d->common);
}

void server_note_begin(struct server_note *note, struct rq *rq)
{
	debug_assert_locked(rq);
	note->on = traced(rq->s, EVENT_sched_decision_class);
	if (!note->on)
		return;
	begin(&note->d, rq, rq->s->class[CLASS_dl], 0);
	note->d.nr_rows = put_server(rq, rq->s->class[CLASS_dl]);
}

void server_note_end(struct server_note *note, struct rq *rq, enum class_act act,
		     enum class_rule rule)
{
	if (note->on)
		end_server(&note->d, rq, rq->s->class[CLASS_dl], NULL, act, rule);
}

/* The rule that the class named, or else its usual one. */
static enum class_rule rule_of(const struct rq *rq, const struct sched_class *class,
			       enum class_act act)
{
	return rq->class_rule ? rq->class_rule : class->rule[act];
}

void emit_class_move(struct rq *rq, struct task *t, enum class_act act, unsigned to)
{
	struct event_sched_decision_class d;

	begin_among_all(&d, rq, t->class, t, 0);
	d.nr_cpus = put_levels(rq, t, rq->cpu);
	d.to = (u16)to;
	end(&d, rq, t->class, t, act, act == ACT_push ? REASON_waits : REASON_waits_there);
}

void emit_class_turn(struct rq *rq, const struct sched_class *class, enum class_act act,
		     enum class_rule rule)
{
	struct event_sched_decision_class d;

	begin(&d, rq, class, 0);
	end(&d, rq, class, NULL, act, rule);
}

void class_note_begin(struct class_note *note, struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	note->on = traced(rq->s, EVENT_sched_decision_class);
	if (!note->on)
		return;
	begin(&note->d, rq, t->class, 0);
	note->d.nr_rows = put_task(rq, t, position_of(rq, t), DECISION_SUBJECT);
}

void class_note_end(struct class_note *note, struct rq *rq, struct task *t, enum class_act act,
		    enum class_rule rule)
{
	if (note->on)
		end(&note->d, rq, t->class, t, act, rule);
}

/* --- the operations ----------------------------------------------------------- */

static enum class_rule arrival(unsigned flags)
{
	if (flags & QUEUE_RESTORE)
		return flags & QUEUE_MOVE ? REASON_arrives_changed : REASON_arrives_back;
	return flags & ENQUEUE_INITIAL	? REASON_arrives_new
	       : flags & ENQUEUE_WAKEUP ? REASON_arrives_woken
					: REASON_arrives_moved;
}

static void record_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct event_sched_decision_class d;

	if (!traced(rq->s, EVENT_sched_decision_class)) {
		own(rq, t->class)->enqueue(rq, t, flags);
		return;
	}
	begin_among_all(&d, rq, t->class, t, flags);
	own(rq, t->class)->enqueue(rq, t, flags);
	end(&d, rq, t->class, t, ACT_enter,
	    t->class->rule[ACT_enter] ? rule_of(rq, t->class, ACT_enter) : arrival(flags));
}

static bool record_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct event_sched_decision_class d;
	bool left;

	if (!traced(rq->s, EVENT_sched_decision_class))
		return own(rq, t->class)->dequeue(rq, t, flags);
	begin_among_all(&d, rq, t->class, t, flags);
	left = own(rq, t->class)->dequeue(rq, t, flags);
	end(&d, rq, t->class, t, ACT_leave,
	    flags & DEQUEUE_SLEEP ? REASON_sleeps
	    : flags & QUEUE_SAVE  ? REASON_changes
				  : REASON_departs);
	return left;
}

/*
 * The core asks the most urgent class that is active. A pick changes nothing of the class's queue:
 * so it is recorded afterwards, for a server asks another class, which has records of its own.
 */
static struct task *record_pick(struct rq *rq)
{
	const struct sched_class *class = rq->s->class[__builtin_ctz(rq->active)];
	struct event_sched_decision_class d;
	u32 active = rq->active;
	enum class_rule rule;
	struct task *t;

	debug_assert_locked(rq);
	if (!traced(rq->s, EVENT_sched_decision_class))
		return own(rq, class)->pick(rq);
	rq->class_rule = REASON_class_order;
	t = own(rq, class)->pick(rq);
	rule = t || rq->class_rule ? rule_of(rq, class, ACT_pick) : REASON_nobody;
	begin_among_all(&d, rq, class, NULL, 0);
	d.active = active;
	d.answer = t != NULL;
	if (t && t->class->rank != class->rank)
		end_server(&d, rq, class, t, ACT_pick, REASON_fair_server);
	else
		end(&d, rq, class, t, ACT_pick, rule);
	return t;
}

static bool record_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	struct event_sched_decision_class d;

	if (!traced(rq->s, EVENT_sched_decision_class))
		return own(rq, woken->class)->preempts(rq, woken, flags);
	begin_among_all(&d, rq, woken->class, woken, flags);
	d.nr_cpus = put_levels(rq, woken, rq->cpu);
	d.answer = own(rq, woken->class)->preempts(rq, woken, flags);
	end(&d, rq, woken->class, woken, ACT_preempt, rule_of(rq, woken->class, ACT_preempt));
	return d.answer;
}

/* A tick ends the turn of an RR task only. */
static void record_tick(struct rq *rq, struct task *t)
{
	struct event_sched_decision_class d;

	if (!traced(rq->s, EVENT_sched_decision_class) || t->policy != SCHED_RR) {
		own(rq, t->class)->tick(rq, t);
		return;
	}
	begin_among_all(&d, rq, t->class, t, 0);
	own(rq, t->class)->tick(rq, t);
	d.answer = rq->class_rule == REASON_slice_over;
	end(&d, rq, t->class, t, ACT_tick, rule_of(rq, t->class, ACT_tick));
}

static void record_yield(struct rq *rq)
{
	struct event_sched_decision_class d;
	struct task *t = rq->curr;

	if (!traced(rq->s, EVENT_sched_decision_class)) {
		own(rq, t->class)->yield(rq);
		return;
	}
	begin_among_all(&d, rq, t->class, t, 0);
	own(rq, t->class)->yield(rq);
	end(&d, rq, t->class, t, ACT_yield, REASON_yields);
}

/* The task stops before the next one is set. Only a class that says by what rule has a record. */
static void record_put_prev(struct rq *rq, struct task *t)
{
	struct event_sched_decision_class d;

	if (!traced(rq->s, EVENT_sched_decision_class) || t->on_rq != TASK_QUEUED) {
		own(rq, t->class)->put_prev(rq, t);
		return;
	}
	begin_among_all(&d, rq, t->class, t, 0);
	own(rq, t->class)->put_prev(rq, t);
	end(&d, rq, t->class, t, ACT_stop, rule_of(rq, t->class, ACT_stop));
}

static unsigned record_select(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	struct event_sched_decision_class d;
	unsigned to;

	if (!traced(rq->s, EVENT_sched_decision_class))
		return own(rq, t->class)->smp.select_cpu(rq, t, cpu, reason);
	begin(&d, rq, t->class, reason);
	d.nr_rows = put_task(rq, t, position_of(rq, t), DECISION_SUBJECT);
	d.nr_cpus = put_levels(rq, t, cpu);
	to = own(rq, t->class)->smp.select_cpu(rq, t, cpu, reason);
	d.to = (u16)to;
	end(&d, rq, t->class, t, ACT_select, rule_of(rq, t->class, ACT_select));
	return to;
}

void class_record(struct sched *s)
{
	bool on = traced_any(s, CLASS_DECISION_EVENTS);

	for (unsigned rank = 0; rank < NR_CLASSES; rank++) {
		const struct sched_class *mine = s->class_own[rank];
		struct sched_class *c = &s->class_copy[rank];

		if (!mine->recorded)
			continue;
		WRITE_ONCE(c->enqueue, on ? record_enqueue : mine->enqueue);
		WRITE_ONCE(c->dequeue, on ? record_dequeue : mine->dequeue);
		WRITE_ONCE(c->pick, on ? record_pick : mine->pick);
		if (mine->preempts)
			WRITE_ONCE(c->preempts, on ? record_preempts : mine->preempts);
		WRITE_ONCE(c->tick, on ? record_tick : mine->tick);
		if (mine->rule[ACT_stop])
			WRITE_ONCE(c->put_prev, on ? record_put_prev : mine->put_prev);
		WRITE_ONCE(c->yield, on ? record_yield : mine->yield);
		WRITE_ONCE(c->smp.select_cpu, on ? record_select : mine->smp.select_cpu);
	}
}
