/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of what the classes above the fair one decide (decision.def).
 */
#pragma once

#include "sched/observe/trace.h"

/*
 * Have the recording operations stand before those of s->class[], or no longer, as the events that
 * are on demand.
 */
void class_record(struct sched *s);

void emit_class_move(struct rq *rq, struct task *t, enum class_act act, unsigned to);
void emit_class_turn(struct rq *rq, const struct sched_class *class, enum class_act act,
		     enum class_rule rule);

/* @t, which waits on @rq, locked, is about to go to CPU @to: ACT_push or ACT_pull. */
static inline void trace_class_move(struct rq *rq, struct task *t, enum class_act act, unsigned to)
{
	debug_assert_locked(rq);
	if (traced(rq->s, EVENT_sched_decision_class))
		emit_class_move(rq, t, act, to);
}

/* The class of @rank as a whole was throttled on @rq, locked, or may run again. */
static inline void trace_class_turn(struct rq *rq, enum class_rank rank, enum class_act act,
				    enum class_rule rule)
{
	debug_assert_locked(rq);
	if (traced(rq->s, EVENT_sched_decision_class))
		emit_class_turn(rq, rq->s->class[rank], act, rule);
}

/* A decision about the fair server, likewise. */
struct server_note {
	struct event_sched_decision_class d;
	bool on;
};

void server_note_begin(struct server_note *note, struct rq *rq);
void server_note_end(struct server_note *note, struct rq *rq, enum class_act act,
		     enum class_rule rule);

/* A decision about one task in two steps; the class changes the task's numbers in between. */
struct class_note {
	struct event_sched_decision_class d;
	bool on;
};

/* Notes the numbers of @t. Lock: that of @rq, held from here to class_note_end(). */
void class_note_begin(struct class_note *note, struct rq *rq, struct task *t);
void class_note_end(struct class_note *note, struct rq *rq, struct task *t, enum class_act act,
		    enum class_rule rule);
