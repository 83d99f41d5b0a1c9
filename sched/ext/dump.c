/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a scheduler that has come to its end, in the form that users of sched_ext know and
 * paste: the end, and for each CPU the runnable tasks that the class has there.
 */
#include "lib/fmt.h"
#include "sched/ext/ext.h"

/* Linux's numbers: its flags of a task that is queued, and the state of one that is enabled. */
enum { TASK_IS_QUEUED = 1, TASK_IS_ENABLED = 3 };

/* In groups of 32 bits, as Linux prints masks. */
static void add_mask(struct text *t, const struct cpumask *m, u32 nr_cpus)
{
	u32 last = (nr_cpus - 1) / 32;

	for (u32 group = last + 1; group--;)
		text_add(t, group == last ? "%x" : ",%08x",
			 (u32)(m->bits[group / 2] >> 32 * (group % 2)));
	text_add(t, "\n");
}

static void add_queue(struct text *t, const struct ext_task *e)
{
	if (e->dsq)
		text_add(t, "dsq_id=0x%llx", (unsigned long long)e->dsq->id);
	else
		text_add(t, "dsq_id=(n/a)");
}

static void add_task(struct text *t, const struct ext_rq *er, const struct ext_task *e)
{
	const struct task *task = ext_task_of((struct ext_task *)(uintptr_t)e);
	u64 since = e->runnable_at ? e->runnable_at : er->rq->clock;

	debug_assert_locked(er->rq);
	text_add(t, "\n %cR %s[%d] -%llums\n", er->curr == task ? '*' : ' ', task->comm, task->pid,
		 (unsigned long long)((er->rq->clock - since) / NS_PER_MS));
	text_add(t, "      scx_state/flags=%u/0x%x dsq_flags=0x%x ops_state/qseq=%llu/%llu\n",
		 TASK_IS_ENABLED, e->at.queued ? TASK_IS_QUEUED : 0, e->at.ordered,
		 (unsigned long long)(e->op & OP_STATE), (unsigned long long)(e->op / OP_TURN));
	text_add(t, "      sticky/holding_cpu=%d/%d ", e->sticky - 1, e->holding - 1);
	add_queue(t, e);
	text_add(t, " dsq_vtime=%llu slice=%llu weight=%u\n      cpus=",
		 (unsigned long long)e->seen->vtime, (unsigned long long)e->seen->slice,
		 e->seen->weight);
	add_mask(t, &task->allowed, er->x->s->nr_cpus);
}

static void add_cpu(struct text *t, const struct ext_rq *er)
{
	const struct task *curr = er->rq->curr;
	const struct ext_task *e;

	debug_assert_locked(er->rq);
	if (!er->nr_queued && is_idle_task(curr))
		return;
	text_add(t, "\nCPU %-4u: nr_run=%u flags=0x%x cpu_rel=%d ops_qseq=%llu pnt_seq=0\n",
		 er->rq->cpu, er->nr_queued, er->curr != NULL, er->released,
		 (unsigned long long)(er->x->turn / OP_TURN));
	text_add(t, "          curr=%s[%d] class=%s_sched_class\n", curr->comm, curr->pid,
		 curr->class->name);
	list_for_each(e, &er->queued, queued)
		add_task(t, er, e);
}

static void add_events(struct text *t, const struct sched *s)
{
	struct ext_events events = sched_ext_events(s);

	text_add(t, "\nEvent counters\n--------------\n");
	for (u32 i = 0; i < NR_EXT_EVENTS; i++)
		text_add(t, "%40s: %16lld\n", sched_ext_event_name[i], (long long)events.count[i]);
}

size_t sched_ext_dump(struct sched *s, char *buf, size_t size)
{
	const struct ext_rq *first = ext_of(s->rq_of[0]);
	const struct ext_exit *end = first ? &first->x->exit : NULL;
	struct text t = text_of(buf, size);
	u32 cpu;

	if (!end)
		return 0;
	text_add(&t,
		 "DEBUG DUMP\n%.80s\n\n%s triggered exit kind %d:\n  %s (%s)\n\nCPU "
		 "states\n----------\n",
		 "================================================================================",
		 first->x->ops->name, end->kind, end->reason, end->message);
	for_each_cpu(cpu, &s->online) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		add_cpu(&t, ext_of(rq));
		rq_unlock(rq);
	}
	add_events(&t, s);
	text_add(
		&t, "\n%.80s\n",
		"================================================================================");
	return min(t.len, size);
}
