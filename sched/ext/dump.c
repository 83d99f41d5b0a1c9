/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a scheduler that has come to its end, in the form that users of sched_ext know and
 * paste: the end, and for each CPU the runnable tasks that the class has there.
 */
#include "lib/fmt.h"
#include "lib/string.h"
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

/* --- what the scheduler adds ---------------------------------------------- */

struct ext_lines {
	struct text *to;
	const char *prefix;
	bool any, open; /* there are some; the last one goes on */
};

void ext_dump(struct ext_call *c, const char *text)
{
	struct ext_lines *l = c->lines;

	if (!l)
		ext_fault(c->x, c->er, "dump outside dump, dump_cpu and dump_task");
	while (l && *text) {
		const char *end = strchr(text, '\n') ?: text + strlen(text);

		if (!l->open)
			text_add(l->to, "%s%s", l->any ? "" : "\n", l->prefix);
		text_add(l->to, "%.*s%s", (int)(end - text), text, *end ? "\n" : "");
		l->any = true;
		l->open = !*end;
		text = end + !!*end;
	}
}

u64 ext_decided(struct task *t, u64 *enq_flags)
{
	const struct ext_task *e = ext_part(t);

	*enq_flags = e->at.direct ? e->direct_flags : 0;
	return e->at.direct ? e->direct_dsq : EXT_DSQ_INVALID;
}

/*
 * Calls @op, one of the three, behind the end of the scheduler: EXT_OP would not. Its lines are
 * complete after that.
 */
#define ADD_OP(text_, prefix_, x_, er_, op, ...)                                                   \
	do {                                                                                       \
		struct ext_lines _lines = { .to = text_, .prefix = prefix_ };                      \
		struct ext_call _call = {                                                          \
			.x = x_, .er = er_, .kind = EXT_OTHER, .lines = &_lines                    \
		};                                                                                 \
		if (_call.x->ops->op)                                                              \
			_call.x->ops->op(&_call, &_call.x->exit, ##__VA_ARGS__);                   \
		if (_lines.open)                                                                   \
			text_add(text_, "\n");                                                     \
	} while (0)

/* --- the dump ------------------------------------------------------------- */

static void add_task(struct text *t, struct ext_rq *er, struct ext_task *e)
{
	struct task *task = ext_task_of(e);
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
	ADD_OP(t, "    ", er->x, er, dump_task, task);
}

/* A CPU that idles is worth no line, unless the scheduler has one for it. */
static void add_cpu(struct text *t, struct ext_rq *er)
{
	const struct task *curr = er->rq->curr;
	bool idle = !er->nr_queued && is_idle_task(curr);
	const struct text before = *t;
	struct ext_task *e;
	size_t own;

	debug_assert_locked(er->rq);
	text_add(t, "\nCPU %-4u: nr_run=%u flags=0x%x cpu_rel=%d ops_qseq=%llu pnt_seq=0\n",
		 er->rq->cpu, er->nr_queued, er->curr != NULL, er->released,
		 (unsigned long long)(er->x->turn / OP_TURN));
	text_add(t, "          curr=%s[%d] class=%s_sched_class\n", curr->comm, curr->pid,
		 curr->class->name);
	own = t->len;
	ADD_OP(t, "  ", er->x, er, dump_cpu, (s32)er->rq->cpu, idle);
	if (idle && t->len == own)
		*t = before;
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
	static const char cut[] = "\n\n~~~~ TRUNCATED ~~~~\n";
	const struct ext_rq *first = ext_of(s->rq_of[0]);
	struct ext *x = first ? first->x : NULL;
	struct text t = text_of(buf, size);
	u32 cpu;

	if (!x)
		return 0;
	text_add(&t, "DEBUG DUMP\n%.80s\n\n%s triggered exit kind %d:\n  %s (%s)\n",
		 "================================================================================",
		 x->ops->name, x->exit.kind, x->exit.reason, x->exit.message);
	ADD_OP(&t, "", x, NULL, dump);
	text_add(&t, "\nCPU states\n----------\n");
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
	if (t.len < size)
		return t.len;
	if (size >= sizeof(cut))
		memcpy(buf + size - sizeof(cut), cut, sizeof(cut));
	return size ? size - 1 : 0;
}
