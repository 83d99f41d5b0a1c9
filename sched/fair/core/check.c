/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair class's invariants: the tree of queues, the list of its tasks, what queues add up to.
 * observe/check.c says when; what only holds under one policy is that policy's check.
 */
#include "sched/balance/sharedq.h"
#include "sched/fair/core/class.h"
#include "sched/fair/core/pelt.h"

/* Black nodes on the way from @node (perhaps a missing child of @parent) up to the root. */
static unsigned black_depth(const struct rb_node *node, const struct rb_node *parent)
{
	unsigned depth = 0;

	for (; node || parent; node = parent, parent = node ? rb_parent(node) : NULL)
		depth += node && !(node->parent_color & 1);
	return depth;
}

/* Every missing child is equally deep in black nodes, and no red node has a red parent. */
static void check_tree_shape(const struct rb_tree *tree)
{
	const struct rb_node *node = rb_first(tree);
	unsigned depth = node ? black_depth(NULL, node) : 0;

	for (; node; node = rb_next(node)) {
		const struct rb_node *parent = rb_parent(node);

		SCHED_CHECK(Q11, node->left || black_depth(NULL, node) == depth);
		SCHED_CHECK(Q11, node->right || black_depth(NULL, node) == depth);
		SCHED_CHECK(Q11,
			    !(node->parent_color & 1) || (parent && !(parent->parent_color & 1)));
	}
}

/* 0: @p was never updated, or belongs to no queue. */
static bool not_ahead(const struct pelt *p, u64 now)
{
	return !p->last_update || !time_before(now, p->last_update);
}

static void check_entity(struct fair_queue *q, struct entity *e)
{
	if (entity_is_task(e))
		SCHED_CHECK(T5, e->load.weight == q->policy->weight(task_of(e)).weight);
	SCHED_CHECK(G1, e->queue == q && e->policy == q->policy);
	SCHED_CHECK(P3, not_ahead(&e->avg, pelt_now(q)));
	/* Several tasks may come to a group from other CPUs, each with all of one behind it. */
	SCHED_CHECK(P1, !entity_is_task(e) || e->avg.util_avg <= 1024 + 1);
	SCHED_CHECK(P2, !e->avg.util_avg || e->avg.util_sum);
}

/* @tree, of @q, orders its entities by the number at @key. */
static void check_tree(struct fair_queue *q, const struct rb_tree *tree, size_t key)
{
	struct rb_node *node = rb_first(tree), *next;

	SCHED_CHECK(Q3, !node == rb_is_empty(tree));
	SCHED_CHECK(Q3, !node || !rb_prev(node));
	for (; node; node = next) {
		struct entity *e = entity_of(node);

		next = rb_next(node);
		SCHED_CHECK(Q3, !next || !rb_key_before(next, node, key));
		SCHED_CHECK(Q4, e != q->curr && e->queued);
		SCHED_CHECK(F6, !e->due == (tree == &q->timeline));
		check_entity(q, e);
	}
	check_tree_shape(tree);
}

/* Sums over the entities of a queue. */
struct totals {
	u64 weight;
	u32 nr, nr_idle, util_est;
	struct tally tasks;
};

static void add_entity(struct totals *sum, struct entity *e)
{
	bool idle = entity_is_idle(e);

	sum->nr++;
	sum->weight += e->load.weight;
	sum->nr_idle += idle;
	if (entity_is_task(e)) {
		bool awake = task_of(e)->on_rq != TASK_DELAYED;

		sum->tasks.nr += awake;
		sum->tasks.nr_idle += awake && idle;
		return;
	}
	sum->tasks.nr += e->own_queue->tasks.nr;
	sum->tasks.nr_idle += idle ? e->own_queue->tasks.nr : e->own_queue->tasks.nr_idle;
}

static void check_totals(struct fair_queue *q)
{
	struct totals sum = { 0 };

	for (struct entity *e = queue_any(q); e; e = queue_another(q, e)) {
		SCHED_CHECK(F6, !e->due || policy_has(q->policy, TRAIT_DEADLINES));
		add_entity(&sum, e);
	}
	SCHED_CHECK(Q4, sum.nr == q->nr_running);
	SCHED_CHECK(Q5, sum.weight == q->load.weight);
	SCHED_CHECK(Q6, sum.nr_idle == q->nr_idle);
	SCHED_CHECK(G2, sum.tasks.nr == q->tasks.nr && sum.tasks.nr_idle == q->tasks.nr_idle);
}

/* The list of tasks is what balancing and the estimated utilisation go by. */
static void check_list(struct rq *rq)
{
	u32 util_est = 0, nr = 0, nr_hidden = 0;
	struct fair_queue *q;
	struct task *t;

	list_for_each(q, &rq->bandwidth.throttled, throttled_link)
		nr_hidden += q->tasks.nr;
	list_for_each(t, &rq->fair_tasks, link) {
		SCHED_CHECK(Q9, t->fair.queued && t->on_rq == TASK_QUEUED);
		util_est += task_util_est(&t->fair);
		nr++;
	}
	SCHED_CHECK(Q9, nr == rq->fair.tasks.nr + nr_hidden);
	SCHED_CHECK(P4, util_est == rq->fair.avg.util_est_enqueued);
}

/* Returns how many tasks on @q sleep. */
static unsigned check_delayed(struct fair_queue *q)
{
	unsigned nr = 0;

	for (struct entity *e = queue_any(q); e; e = queue_another(q, e)) {
		struct task *t = entity_is_task(e) ? task_of(e) : NULL;

		if (!t || t->on_rq != TASK_DELAYED)
			continue;
		SCHED_CHECK(Q16, t->state & TASK_NORMAL);
		SCHED_CHECK(Q16, e != q->curr || q->rq->pulling);
		nr++;
	}
	return nr;
}

static void check_queue(struct fair_queue *q)
{
	check_tree(q, &q->timeline, q->policy->key);
	check_tree(q, &q->due, TIMELINE_KEY(due));
	check_totals(q);
	SCHED_CHECK(P3, not_ahead(&q->avg, pelt_now(q)));
	SCHED_CHECK(P2, !q->avg.util_avg || q->avg.util_sum);
	SCHED_CHECK(P2, !q->avg.load_avg || q->avg.load_sum);
	q->policy->check(q);
}

/* The running task, or what stands for it, is the current entity of each queue above it. */
static void check_current(struct rq *rq)
{
	bool fair = task_is_fair(rq->curr);

	SCHED_CHECK(R12, class_is_active(rq, CLASS_fair) == (rq->fair.nr_running > 0));
	SCHED_CHECK(R2, !rq->fair.curr == !fair);
	for (struct entity *e = fair ? &rq->curr->fair : NULL; e; e = parent_of(e))
		SCHED_CHECK(R2, e->queue->curr == e);
}

static void check_offline(struct rq *rq)
{
	struct fair_queue *q;

	SCHED_CHECK(R9, list_empty(&rq->delayed) && list_empty(&rq->bandwidth.timers));
	list_for_each(q, &rq->queues, link) {
		SCHED_CHECK(R9, !group_is_delayed(q->owner));
		SCHED_CHECK(R10, !q->load_contrib && !q->limited && !q->throttled && !q->debt);
	}
}

void fair_check(struct rq *rq)
{
	unsigned nr_delayed = 0;
	struct fair_queue *q;
	struct task *t;

	for_each_fair_queue(q, rq)
		nr_delayed += check_delayed(q);
	SCHED_CHECK(Q16, nr_delayed == list_length(&rq->delayed));
	list_for_each(t, &rq->delayed, link)
		SCHED_CHECK(Q16, t->on_rq == TASK_DELAYED && t->fair.queued);
	list_for_each(q, &rq->queues, link) {
		SCHED_CHECK(G3, q->owner->queued == (q->nr_running && !q->throttled) ||
					(group_is_delayed(q->owner) && !q->throttled &&
					 policy_has(q->policy, TRAIT_REQUESTS)));
		bandwidth_check(q);
	}
	check_current(rq);
	check_list(rq);
	sharedq_check(rq);
	for_each_fair_queue(q, rq)
		check_queue(q);
	if (!rq->online)
		check_offline(rq);
}
