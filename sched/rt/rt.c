/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The real-time class: SCHED_FIFO and SCHED_RR.
 *
 * A list for each of 100 priorities and a bitmap of the lists in use; the head of
 * the most urgent list runs. The running task stays on its list, so a preempted
 * one keeps its place at the head. RR tasks go to the tail when their slice of
 * ticks is over.
 *
 * Throttling: on each CPU real-time tasks may use rt_runtime of every rt_period;
 * then the whole class is out of the count of runnable tasks until the period's
 * timer replenishes it, so that a runaway FIFO task leaves 5 % for a shell.
 *
 * SMP: a waiting task is pushed to a CPU that runs something less urgent (after
 * each switch), and a CPU about to run something less urgent than before pulls,
 * or, if that is no switch but a change of parameters, asks others to push.
 *
 * Lock: the runqueue's. Source: Linux 6.1, rt.c (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/balance/sharedq.h"
#include "lib/fmt.h"

/* What a CPU runs, as a priority: real-time ones below it. */
#define PRIO_FAIR    MAX_RT_PRIO
#define PRIO_NOTHING (MAX_RT_PRIO + 1)

void rt_queue_init(struct rt_queue *rt)
{
	for (unsigned prio = 0; prio < MAX_RT_PRIO; prio++)
		list_init(&rt->list[prio]);
}

/* --- the queue ------------------------------------------------------------ */

static unsigned first_prio(const struct rt_queue *rt)
{
	if (rt->bitmap[0])
		return (unsigned)__builtin_ctzll(rt->bitmap[0]);
	if (rt->bitmap[1])
		return 64 + (unsigned)__builtin_ctzll(rt->bitmap[1]);
	return MAX_RT_PRIO;
}

static struct task *rt_task_of(struct list *link)
{
	return container_of(link, struct task, rt.link);
}

static void list_in(struct rt_queue *rt, struct task *t, bool head)
{
	struct list *list = &rt->list[t->prio];

	if (head)
		list_add_head(list, &t->rt.link);
	else
		list_add_tail(list, &t->rt.link);
	rt->bitmap[t->prio / 64] |= BIT(t->prio % 64);
}

static void list_out(struct rt_queue *rt, struct task *t)
{
	list_del(&t->rt.link);
	if (list_empty(&rt->list[t->prio]))
		rt->bitmap[t->prio / 64] &= ~BIT(t->prio % 64);
}

static void update_overload(struct rq *rq)
{
	bool overloaded = rq->rt.nr_running > 1 && rq->rt.nr_movable;

	if (overloaded == cpumask_test(&rq->s->rt_overload, rq->cpu))
		return;
	if (overloaded)
		cpumask_set_atomic(&rq->s->rt_overload, rq->cpu);
	else
		cpumask_clear_atomic(&rq->s->rt_overload, rq->cpu);
}

/* Out and in again with the same priority: as if it had never left its list. */
static bool keeps_place(unsigned flags)
{
	return (flags & (QUEUE_SAVE | QUEUE_MOVE)) == QUEUE_SAVE;
}

static void rt_enqueue(struct rq *rq, struct task *t, unsigned flags)
{
	struct rt_queue *rt = &rq->rt;

	if (likely(!keeps_place(flags)))
		list_in(rt, t, flags & ENQUEUE_HEAD);
	rt->nr_running++;
	rt->nr_movable += t->nr_allowed > 1;
	count_running(rq, !rt->throttled);
	update_overload(rq);
}

static void rt_charge(struct rq *rq);

static bool rt_dequeue(struct rq *rq, struct task *t, unsigned flags)
{
	struct rt_queue *rt = &rq->rt;

	if (task_running(rq, t))
		rt_charge(rq);
	if (likely(!keeps_place(flags)))
		list_out(rt, t);
	rt->nr_running--;
	rt->nr_movable -= t->nr_allowed > 1;
	count_running(rq, -!rt->throttled);
	update_overload(rq);
	return true;
}

/* --- throttling ----------------------------------------------------------- */

static bool rt_limited(const struct sched *s)
{
	return s->tunable.rt_runtime_us >= 0 &&
	       (u32)s->tunable.rt_runtime_us < s->tunable.rt_period_us;
}

static u64 rt_runtime_ns(const struct sched *s)
{
	return (u64)s->tunable.rt_runtime_us * NS_PER_US;
}

static void throttle(struct rq *rq)
{
	rq->rt.throttled = true;
	count_running(rq, -(int)rq->rt.nr_running);
	rq->rt_throttle_count++;
	resched(rq);
}

static void unthrottle(struct rq *rq)
{
	rq->rt.throttled = false;
	count_running(rq, (int)rq->rt.nr_running);
	if (rq->rt.nr_running)
		resched(rq);
	sharedq_crowded(rq);
}

/* Subtract what the past periods granted; what was overdrawn by up to a tick stays owed. */
void rt_period_check(struct rq *rq)
{
	struct rt_queue *rt = &rq->rt;
	struct sched *s = rq->s;
	u64 period = s->tunable.rt_period_us * NS_PER_US, periods;

	if (!rt->period_end || time_before(rq->clock, rt->period_end))
		return;
	if (rq->curr->class == &rt_class)
		rt_charge(rq);
	periods = (rq->clock - rt->period_end) / period + 1;
	rt->period_end += periods * period;
	rt->used_ns = rt_limited(s) ? sub_floor0(rt->used_ns, periods * rt_runtime_ns(s)) : 0;
	if (rt->throttled && (!rt_limited(s) || rt->used_ns < rt_runtime_ns(s)))
		unthrottle(rq);
	if (!rt->used_ns && !rt->nr_running)
		rt->period_end = 0;
}

static void rt_charge(struct rq *rq)
{
	struct rt_queue *rt = &rq->rt;
	u64 delta = charge_time(rq, &rq->curr->fair);

	rq->run_ns += delta;
	if (!rt->period_end)
		return;
	rt->used_ns += delta;
	if (!rt->throttled && rt_limited(rq->s) && rt->used_ns > rt_runtime_ns(rq->s))
		throttle(rq);
}

static void start_period(struct rq *rq)
{
	if (rq->rt.period_end || !rt_limited(rq->s))
		return;
	rq->rt.period_end = rq->clock + rq->s->tunable.rt_period_us * NS_PER_US;
	rq->timer_stale = true;
}

/* --- choosing ------------------------------------------------------------- */

static struct task *rt_pick(struct rq *rq)
{
	struct rt_queue *rt = &rq->rt;

	if (rt->throttled || !rt->nr_running)
		return NULL;
	return rt_task_of(rt->list[first_prio(rt)].next);
}

static void rt_set_next(struct rq *rq, struct task *t)
{
	t->fair.exec_start = rq->clock;
	start_period(rq);
}

static void rt_exchange(struct rq *rq, struct task *prev, struct task *next)
{
	(void)prev;
	rt_set_next(rq, next);
}

/* Behind its equals, or before them. */
static void requeue(struct rq *rq, struct task *t, bool head)
{
	list_out(&rq->rt, t);
	list_in(&rq->rt, t, head);
}

static void rt_yield(struct rq *rq)
{
	requeue(rq, rq->curr, false);
}

u32 rr_slice_ticks(const struct sched *s)
{
	return (u32)max(1ull, (u64)s->tunable.rr_timeslice_ms * s->hz / 1000);
}

static void rt_tick(struct rq *rq, struct task *t)
{
	rt_charge(rq);
	start_period(rq);
	if (t->policy != SCHED_RR || --t->rt.time_slice)
		return;
	t->rt.time_slice = rr_slice_ticks(rq->s);
	if (!list_is_singular(&rq->rt.list[t->prio])) {
		requeue(rq, t, false);
		resched(rq);
	}
}

static u64 rt_slice(struct rq *rq, struct task *t)
{
	return t->policy == SCHED_RR ? rr_slice_ticks(rq->s) * rq->s->tick_ns : 0;
}

/* --- other CPUs ----------------------------------------------------------- */

/* The most urgent that @rq has, running or waiting; racy if its lock is not held. */
static unsigned cpu_prio(const struct rq *rq)
{
	unsigned prio = rq->rt.throttled ? MAX_RT_PRIO : first_prio(&rq->rt);

	if (READ_ONCE(rq->stop))
		return 0;
	if (prio < MAX_RT_PRIO)
		return prio;
	return READ_ONCE(rq->nr_running) ? PRIO_FAIR : PRIO_NOTHING;
}

/* The CPUs with the least urgent work of those that @t may use; none if it is not more urgent. */
static struct cpumask lowest_cpus(struct sched *s, const struct task *t)
{
	struct cpumask usable = cpumask_and(&t->allowed, &s->online), lowest = cpumask_none();
	unsigned level = (unsigned)t->prio + 1, cpu;

	for_each_cpu(cpu, &usable) {
		unsigned prio = cpu_prio(cpu_rq(s, cpu));

		if (prio < level)
			continue;
		if (prio > level)
			lowest = cpumask_none();
		level = prio;
		cpumask_set(&lowest, cpu);
	}
	return lowest;
}

/* One of them for @t of @rq: its own, the nearest to that, where @cpu is as near as any. Or -1. */
static int find_lowest_cpu(struct rq *rq, const struct task *t, unsigned cpu)
{
	struct cpumask lowest = lowest_cpus(rq->s, t);
	struct domain *sd;

	if (cpumask_empty(&lowest))
		return -1;
	if (cpumask_test(&lowest, rq->cpu))
		return (int)rq->cpu;
	for_each_domain(sd, rq) {
		struct cpumask near = cpumask_and(&lowest, &sd->span->cpus);

		if (!cpumask_empty(&near)) {
			lowest = near;
			break;
		}
	}
	return (int)(cpumask_test(&lowest, cpu) ? cpu : cpumask_first(&lowest));
}

/* @rq turned to something less urgent by other means than a switch, which would have pulled. */
static void ask_others_to_push(struct rq *rq)
{
	unsigned cpu;

	for_each_cpu(cpu, &rq->s->rt_overload)
		host_kick(cpu);
}

static unsigned rt_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	const struct task *curr = READ_ONCE(rq->curr);
	int lowest;

	if (unlikely(!rq->online)) {
		lowest = find_lowest_cpu(rq, t, cpu);
		return lowest < 0 ? any_allowed_cpu(rq->s, t) : (unsigned)lowest;
	}
	if (!task_allowed(t, t->cpu))
		return any_allowed_cpu(rq->s, t);
	if (!(reason & (SELECT_WAKE | SELECT_FORK)) || curr->class->rank > rt_class.rank)
		return t->cpu;
	/* Behind something as urgent, or in front of something that could not go elsewhere. */
	if (curr->nr_allowed > 1 && curr->prio > t->prio)
		return t->cpu;
	lowest = find_lowest_cpu(rq, t, cpu);
	return lowest < 0 ? t->cpu : (unsigned)lowest;
}

/* The most urgent task that waits on @rq and may run on @cpu (CPU_MAX: any other), or NULL. */
static struct task *first_movable(struct rq *rq, unsigned cpu)
{
	struct rt_queue *rt = &rq->rt;

	for (unsigned prio = first_prio(rt); prio < MAX_RT_PRIO; prio++) {
		struct list *link;

		for (link = rt->list[prio].next; link != &rt->list[prio]; link = link->next) {
			struct task *t = rt_task_of(link);

			if (!task_running(rq, t) && t->nr_allowed > 1 &&
			    (cpu == CPU_MAX || task_allowed(t, cpu)))
				return t;
		}
	}
	return NULL;
}

/* One at a time: where the next one should go depends on where this one went. */
void rt_push(struct rq *rq)
{
	struct rt_queue *rt = &rq->rt;
	struct task *t;
	int to;

	if (rt->throttled || !rt->nr_movable)
		return;
	t = first_movable(rq, CPU_MAX);
	to = t ? find_lowest_cpu(rq, t, rq->cpu) : -1;
	if (to < 0)
		return;
	detach_task(rq, t, (unsigned)to);
	list_add_tail(&rq->handover, &t->link);
	if (rt->nr_running > 1 && rt->nr_movable)
		resched(rq);
}

/* One task from @src that is more urgent than what @rq has, but not about to run there. */
static void pull_from(struct rq *rq, struct rq *src)
{
	unsigned own_prio = cpu_prio(rq);
	struct task *t;

	rq->pulling = true;
	rq_unlock(rq);
	rq_lock(src);
	t = src->rt.throttled ? NULL : first_movable(src, rq->cpu);
	if (t && ((unsigned)t->prio >= own_prio || t->prio < src->curr->prio))
		t = NULL;
	if (t)
		detach_task(src, t, rq->cpu);
	rq_unlock(src);
	rq_lock(rq);
	rq->pulling = false;
	if (t)
		attach_locked(rq, t);
}

static bool rt_pull(struct rq *rq, struct task *prev)
{
	struct cpumask sources;
	unsigned cpu;

	if ((int)cpu_prio(rq) <= prev->prio || rq->rt.throttled || !rq->online)
		return false;
	/* Be less urgent, then look who waits; one who waits looks who is less urgent. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	sources = rq->s->rt_overload;
	cpumask_clear(&sources, rq->cpu);
	for_each_cpu(cpu, &sources)
		pull_from(rq, cpu_rq(rq->s, cpu));
	return rq->rt.nr_running;
}

/* --- somebody else's turn ------------------------------------------------- */

/*
 * Who waits though it could run elsewhere is pushed by a switch: its CPU was chosen without that
 * one's lock, and another may have come first. Equals: one that can run only here goes before one
 * that can run elsewhere, and then will.
 */
static bool rt_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	struct task *curr = rq->curr;

	(void)flags;
	if (woken->prio < curr->prio || find_lowest_cpu(rq, woken, rq->cpu) >= 0)
		return true;
	if (woken->prio > curr->prio || find_lowest_cpu(rq, curr, rq->cpu) < 0)
		return false;
	requeue(rq, woken, true);
	return true;
}

static void rt_retune(struct rq *rq, struct task *t, int old_prio)
{
	bool lowered = task_running(rq, t) && t->prio > old_prio;

	if (lowered || t->prio < rq->curr->prio)
		resched(rq);
	if (lowered)
		ask_others_to_push(rq);
}

static void rt_join(struct rq *rq, struct task *t, bool runnable)
{
	t->rt.time_slice = rr_slice_ticks(rq->s);
	/* It waits behind another: a switch, even to the same task, pushes it. */
	if (runnable && !task_running(rq, t) && rq->curr->class == &rt_class)
		resched(rq);
}

static void rt_leave(struct rq *rq, struct task *t, bool runnable)
{
	if (runnable && task_running(rq, t))
		ask_others_to_push(rq);
}

/* --- a CPU that leaves ------------------------------------------------------ */

void rt_offline(struct rq *rq)
{
	if (rq->rt.throttled)
		unthrottle(rq);
	rq->rt.used_ns = 0;
}

/* --- introspection -------------------------------------------------------- */

static void rt_check(struct rq *rq)
{
	struct rt_queue *rt = &rq->rt;
	u32 nr = 0, movable = 0;

	for (unsigned prio = 0; prio < MAX_RT_PRIO; prio++) {
		struct list *link;
		bool marked = rt->bitmap[prio / 64] & BIT(prio % 64);

		SCHED_CHECK(Q1, marked == !list_empty(&rt->list[prio]));
		for (link = rt->list[prio].next; link != &rt->list[prio]; link = link->next) {
			struct task *t = rt_task_of(link);

			SCHED_CHECK(Q1, t->prio == (int)prio && t->on_rq == TASK_QUEUED);
			check_queued_task(rq, t);
			nr++;
			movable += t->nr_allowed > 1;
		}
	}
	SCHED_CHECK(Q2, nr == rt->nr_running && movable == rt->nr_movable);
	SCHED_CHECK(R6, !rt->throttled || rt->period_end);
}

static void rt_dump(struct rq *rq, struct text *out)
{
	text_add(out, "\nrt_rq[%u]:\n", rq->cpu);
	text_add(out, "  .%-30s: %u\n", "rt_nr_running", rq->rt.nr_running);
	text_add(out, "  .%-30s: %u\n", "rt_nr_migratory", rq->rt.nr_movable);
	text_add(out, "  .%-30s: %u\n", "rt_throttled", rq->rt.throttled);
	dump_ms(out, "rt_time", rq->rt.used_ns);
	dump_ms(out, "rt_runtime", rt_runtime_ns(rq->s));
}

const struct sched_class rt_class = {
	.name = "rt",
	.rank = 1,
	.enqueue = rt_enqueue,
	.dequeue = rt_dequeue,
	.yield = rt_yield,
	.pick = rt_pick,
	.put_prev = class_ignore_task,
	.set_next = rt_set_next,
	.exchange = rt_exchange,
	.charge = rt_charge,
	.tick = rt_tick,
	.preempts = rt_preempts,
	.select_cpu = rt_select_cpu,
	.migrate = class_ignore_task,
	.pull = rt_pull,
	.join = rt_join,
	.leave = rt_leave,
	.retune = rt_retune,
	.slice = rt_slice,
	.check = rt_check,
	.dump = rt_dump,
};
