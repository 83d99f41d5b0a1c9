/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The candidates of a decision: a row for each entity that the policy compares. A policy's file
 * makes one function of this header with its own numbers() inlined,
 *
 *	POLICY_CANDIDATES(name)		name_candidates(), of name_numbers()
 *
 * because a call for each row would be half of its cost. fair.c calls it.
 *
 * Lock: the runqueue's.
 */
#pragma once

#include "sched/fair/core/fair.h"
#include "sched/record/run.h"

#define candidate_row	event_sched_decision_candidate
#define decision_record event_sched_decision_pick /* the layout of all kinds */

static const struct run_kind candidates_kind = { EVENT_ID_sched_decision_candidate,
						 sizeof(struct candidate_row),
						 sizeof(struct decision_record) };

typedef void (*numbers_hook)(struct fair_queue *q, struct entity *e, unsigned where,
			     struct decision_numbers *n);

/* Fills in of @row what it has for a group, whose entity is @e. Returns flags. */
u16 put_group(struct candidate_row *row, struct entity *e);
/* The same of a task that is SCHED_IDLE, or asleep. */
u16 put_rare_task(struct candidate_row *row, struct fair_queue *q, struct entity *e);
/* All of q->due. */
void put_due(struct run *run, struct fair_queue *q);

/* The same for a task. Most are neither SCHED_IDLE nor asleep, and none has a weight below 3. */
static inline u16 put_task(struct candidate_row *row, struct fair_queue *q, struct entity *e)
{
	const struct task *t = task_of(e);

	__builtin_memcpy(row->comm, t->comm, TASK_COMM_LEN);
	*(run_word *)&row->pid = (u32)t->pid; /* and group = 0 */
	row->weight = (u32)(e->load.weight >> WEIGHT_SHIFT);
	if (unlikely(t->on_rq == TASK_DELAYED || t->policy == SCHED_IDLE))
		return put_rare_task(row, q, e);
	return 0;
}

/*
 * Fills in @row, all but `common`. @where: those of DECISION_QUEUED, _DUE and _RUNS that hold.
 * @depth: in its tree.
 */
static __inlined void put_candidate(struct candidate_row *row, struct fair_queue *q,
				    struct entity *e, unsigned where, u8 depth,
				    numbers_hook numbers)
{
	struct decision_numbers n = { .vruntime = e->vruntime, .flags = (u16)where };

	numbers(q, e, where, &n);
	row->vruntime = n.vruntime;
	row->deadline = n.deadline;
	row->slice = n.slice;
	row->lag = where & DECISION_QUEUED && !(where & DECISION_ASLEEP) ? 0 : n.lag;
	row->score = n.score;
	row->flags = n.flags | (unlikely(e->own_queue) ? put_group(row, e) : put_task(row, q, e));
	row->depth = depth;
}

/* The leftmost node at or below @node, whose depth is *@depth. Moves *@depth there. */
static __inlined struct rb_node *leftmost_below(struct rb_node *node, u8 *depth)
{
	for (; node->left; ++*depth)
		node = node->left;
	return node;
}

/* All of @tree, in its order. @where: the flags of all of them. */
static __inlined void put_tree(struct run *run, struct fair_queue *q, const struct rb_tree *tree,
			       unsigned where, numbers_hook numbers)
{
	struct rows rows = rows_begin(run, &candidates_kind);
	struct rb_node *node, *below;
	struct candidate_row *row;
	u8 depth = 1;

	if (!tree->root)
		return;
	node = leftmost_below(tree->root, &depth);
	for (;;) {
		row = rows_next(&rows, run, &candidates_kind);
		if (!row)
			return;
		put_candidate(row, q, entity_of(node), where, depth, numbers);
		if (node->right) {
			depth++;
			node = leftmost_below(node->right, &depth);
			continue;
		}
		do {
			below = node;
			node = rb_parent(node);
			if (!--depth) {
				rows_end(&rows, run, &candidates_kind);
				return;
			}
		} while (node->right == below);
	}
}

/* All that wait, in the order of the timeline, then the running entity, if it is queued. */
static __inlined void put_queued(struct run *run, struct fair_queue *q, numbers_hook numbers)
{
	struct entity *curr = q->curr;
	struct candidate_row *row;

	put_tree(run, q, &q->timeline, DECISION_QUEUED, numbers);
	if (unlikely(!rb_is_empty(&q->due)))
		put_due(run, q);
	if (!curr || !curr->queued)
		return;
	run->max++; /* for this one there is always room */
	row = run_row(run, &candidates_kind);
	if (row)
		put_candidate(row, q, curr,
			      DECISION_QUEUED | DECISION_RUNS | (curr->due ? DECISION_DUE : 0), 0,
			      numbers);
}

#define POLICY_CANDIDATES(name)                                                                    \
	__attribute__((flatten)) void name##_candidates(struct run *run, struct fair_queue *q)     \
	{                                                                                          \
		put_queued(run, q, name##_numbers);                                                \
	}
