/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler's end: the record of why, the watch over tasks that wait too long, and the invariants
 * of the class.
 */
#include "sched/ext/ext.h"
#include "lib/fmt.h"
#include "lib/string.h"
#include "sched/freq/freq.h"

/* --- the end -------------------------------------------------------------- */

static const char *reason_of(enum ext_exit_kind kind)
{
	switch (kind) {
	case EXT_EXIT_UNREG:
		return "unregistered from user space";
	case EXT_EXIT_UNREG_BPF:
		return "unregistered from BPF";
	case EXT_EXIT_UNREG_KERN:
		return "unregistered from the main kernel";
	case EXT_EXIT_ERROR:
		return "runtime error";
	case EXT_EXIT_ERROR_BPF:
		return "scx_bpf_error";
	case EXT_EXIT_ERROR_STALL:
		return "runnable task stall";
	default:
		return "<none>";
	}
}

void ext_end(struct ext *x, const struct ext_rq *er, enum ext_exit_kind kind, s64 code,
	     const char *format, ...)
{
	va_list args;

	if (__atomic_exchange_n(&x->ending, 1, __ATOMIC_ACQ_REL))
		return;
	x->exit.kind = kind;
	x->exit.code = code;
	x->exit.reason = reason_of(kind);
	if (er) {
		x->exit.cpu = er->rq->cpu;
		x->exit.at = er->rq->clock;
	}
	va_start(args, format);
	fmt_vsnprintf(x->exit.message, sizeof(x->exit.message), format, args);
	va_end(args);
	WRITE_ONCE(x->bypass, true);
	__atomic_store_n(&x->ended, true, __ATOMIC_RELEASE);
}

void ext_report(struct ext_call *c, enum ext_exit_kind kind, s64 code, const char *message)
{
	ext_end(c->x, c->er, kind, code, "%s", message);
}

void ext_watch(struct ext_rq *er)
{
	struct rq *rq = er->rq;
	struct ext_task *e;

	debug_assert_locked(rq);
	if (!er->watch_at || time_before(rq->clock, er->watch_at))
		return;
	er->watch_at = er->nr_queued ? rq->clock + er->x->timeout_ns / 2 : 0;
	list_for_each(e, &er->queued, queued) {
		const struct task *t = ext_task_of(e);
		u64 ms = e->runnable_at ? (rq->clock - e->runnable_at) / NS_PER_MS : 0;

		if (ms * NS_PER_MS <= er->x->timeout_ns)
			continue;
		ext_end(er->x, er, EXT_EXIT_ERROR_STALL, 0, "%s[%d] failed to run for %llu.%03llus",
			t->comm, t->pid, (unsigned long long)(ms / 1000),
			(unsigned long long)(ms % 1000));
		return;
	}
}

/* So much of a CPU's time must be between operations: one part in 1 + SHARE. */
#define SHARE 16u

void ext_took(struct ext_call *c, unsigned cpu, u64 began, u64 ended)
{
	struct ext_rq *er = &c->x->cpu[cpu];

	er->took_ns -= min(er->took_ns, (began - er->took_until) * SHARE);
	er->took_ns += ended - began;
	er->took_until = ended;
	if (er->took_ns > c->x->timeout_ns)
		ext_end(c->x, c->er, EXT_EXIT_ERROR_STALL, 0,
			"no task can run on CPU %u, for operations took its time for %llu ms", cpu,
			(unsigned long long)(er->took_ns / NS_PER_MS));
}

/* --- what an operation may ask -------------------------------------------- */

u64 ext_now(struct ext_call *c, unsigned cpu)
{
	return c->er ? c->er->rq->clock : host_clock(cpu);
}

u64 ext_clock(struct ext_call *c, unsigned cpu)
{
	return READ_ONCE(cpu_rq(c->x->s, cpu)->clock);
}

u64 ext_scaled_time(struct ext_call *c, unsigned cpu)
{
	struct rq *rq = cpu_rq(c->x->s, cpu);

	if (!rq->freq)
		return READ_ONCE(rq->clock);
	if (c->er && c->er->rq == rq)
		return freq_time(rq);
	return READ_ONCE(rq->clock) - READ_ONCE(rq->freq->behind);
}

struct sched *ext_machine(struct ext_call *c)
{
	return c->x->s;
}

struct task *ext_running(struct ext_call *c, unsigned cpu)
{
	return READ_ONCE(cpu_rq(c->x->s, cpu)->curr);
}

/* --- invariants ----------------------------------------------------------- */

/* How many places @t waits in; see ext.h. */
static u32 nr_places(const struct ext_rq *er, struct task *t)
{
	const struct ext_task *e = ext_part(t);

	return (u32)((er->curr == t) + (READ_ONCE(e->dsq) != NULL) + e->at.deferred +
		     (READ_ONCE(e->holding) != 0) + ((READ_ONCE(e->op) & OP_STATE) != OP_NONE));
}

/* Another CPU may be moving it, which takes a few instructions: then look again. */
static bool is_in_one_place(const struct ext_rq *er, struct task *t)
{
	unsigned looks = 1;

	while (nr_places(er, t) != 1 && looks < 1000000)
		looks++;
	return nr_places(er, t) == 1;
}

static void check_tasks(struct ext_rq *er)
{
	struct ext_task *e;
	u32 nr = 0;

	list_for_each(e, &er->queued, queued) {
		struct task *t = ext_task_of(e);

		SCHED_CHECK(X1, is_in_one_place(er, t));
		SCHED_CHECK(X2, t->cpu == er->rq->cpu && t->on_rq == TASK_QUEUED && e->at.queued);
		SCHED_CHECK(X4, !e->runnable_at == (er->curr == t));
		SCHED_CHECK(X6, t->policy == SCHED_EXT || !ext_is_partial(er->x));
		nr++;
	}
	SCHED_CHECK(X2, nr == er->nr_queued);
	SCHED_CHECK(X2, !er->curr || er->curr == er->rq->curr);
}

static void check_queue(struct ext_dsq *q)
{
	const struct ext_task *before = NULL;
	struct task *t;
	u32 nr = 0;

	for (t = ext_dsq_after(q, NULL); t; t = ext_dsq_after(q, t)) {
		const struct ext_task *e = ext_part(t);

		SCHED_CHECK(X1, e->dsq == q && e->at.queued);
		SCHED_CHECK(X3, !e->at.ordered || !before || !before->at.ordered ||
					!time_before(e->vtime, before->vtime));
		before = e;
		nr++;
	}
	SCHED_CHECK(X3, nr == q->nr);
}

static void check_shared_queues(struct ext *x)
{
	for (u32 i = 0; i <= x->nr_dsqs; i++) {
		struct ext_dsq *q = i ? &x->dsq[i - 1] : &x->global;

		if (i && !q->used)
			continue;
		host_lock(&q->lock);
		check_queue(q);
		host_unlock(&q->lock);
	}
}

void ext_check(struct rq *rq)
{
	struct ext_rq *er = ext_of(rq);

	if (!er)
		return;
	assert_locked(rq);
	check_tasks(er);
	check_queue(&er->local);
	if (rq->cpu == cpumask_first(&rq->s->online))
		check_shared_queues(er->x);
	SCHED_CHECK(X5, !cpumask_test(&er->x->idle, rq->cpu) || is_idle_task(rq->curr));
	SCHED_CHECK(X5, er->held == NULL || rq->pulling);
	SCHED_CHECK(X7, class_is_active(rq, CLASS_ext) || is_idle_task(rq->curr) || !rq->online ||
				rq->pulling);
}
