/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why a fair task was picked, in the words and numbers of its policy. For tools: slow.
 */
#include "sched/fair/core/class.h"
#include "lib/fmt.h"

void explain_ms(struct text *out, s64 ns)
{
	u64 size = ns < 0 ? 0 - (u64)ns : (u64)ns;
	char number[32];

	fmt_snprintf(number, sizeof(number), "%s%llu.%06llu", ns < 0 ? "-" : "", size / NS_PER_MS,
		     size % NS_PER_MS);
	text_add(out, " %11s", number);
}

void explain_name(struct text *out, struct entity *e)
{
	if (entity_is_task(e))
		text_add(out, "%s-%d", task_of(e)->comm, task_of(e)->pid);
	else
		text_add(out, "a group of %u", e->own_queue->tasks.nr);
}

static void add_row(struct fair_queue *q, struct entity *e, const struct entity *picked,
		    struct text *out)
{
	text_add(out, " %c ", e == picked ? '>' : ' ');
	if (entity_is_task(e))
		text_add(out, "%9s-%-5d", task_of(e)->comm, task_of(e)->pid);
	else
		text_add(out, " group of %-5u", e->own_queue->tasks.nr);
	text_add(out, "  %6lu", weight_down(e->load.weight));
	q->policy->explain_row(q, e, out);
	if (entity_is_task(e) && task_of(e)->on_rq == TASK_DELAYED)
		text_add(out, "  asleep");
	text_add(out, "\n");
}

/* In the policy's order, in which the running entity takes its place. */
static void add_table(struct fair_queue *q, struct entity *picked, struct text *out)
{
	struct entity *curr = q->curr && q->curr->queued ? q->curr : NULL;

	text_add(out, "\nfair tasks after the charge%s\n", q->policy->explain_heads);
	for (struct entity *e = queue_earliest(q); e; e = queue_after(e))
		add_row(q, e, picked, out);
	for (struct entity *e = queue_first(q); e; e = queue_after(e)) {
		if (curr && !queue_before(q, e, curr)) {
			add_row(q, curr, picked, out);
			curr = NULL;
		}
		add_row(q, e, picked, out);
	}
	if (curr)
		add_row(q, curr, picked, out);
}

/* Did @before, or what stands for it on @q, become @picked again? */
static bool goes_on(const struct fair_queue *q, const struct task *before,
		    const struct entity *picked)
{
	const struct entity *e = before->class == &fair_class ? &before->fair : NULL;

	while (e && e->queue != q)
		e = parent_of(e);
	return e == picked;
}

static void add_level(struct fair_queue *q, const struct task *before, struct text *out)
{
	struct entity *picked = q->curr;

	if (!picked->own_queue)
		add_table(q, picked, out);
	text_add(out, "\npicked: ");
	explain_name(out, picked);
	text_add(out, ", because ");
	if (q->owner)
		text_add(out, "of the members of its group, which is first of the groups, ");
	if (q->nr_running == 1)
		text_add(out, "it is the only one");
	else
		q->policy->explain(q, picked, goes_on(q, before, picked), out);
	text_add(out, ".\n");
}

size_t sched_explain(struct sched *s, unsigned cpu, const struct task *before, char *buf,
		     size_t size)
{
	struct text out = text_of(buf, size);
	struct rq *rq = cpu_rq(s, cpu);

	rq_lock(rq);
	for (struct fair_queue *q = &rq->fair; q && q->curr; q = q->curr->own_queue)
		add_level(q, before, &out);
	rq_unlock(rq);
	return out.len;
}

/* --- defaults --------------------------------------------------------------- */

void fair_explain_key(struct fair_queue *q, struct entity *e, struct text *out)
{
	q->policy->dump_key(e, out);
}

void fair_explain_order(struct fair_queue *q, struct entity *picked, bool stays, struct text *out)
{
	const struct entity *first = queue_first(q);

	if (!first || !queue_before(q, first, picked))
		text_add(out, "it is first in the policy's order");
	else if (stays)
		text_add(out, "it goes on: its turn is not over, though another comes next");
	else
		text_add(out, "a rule of the policy puts it before the first in its order");
}
