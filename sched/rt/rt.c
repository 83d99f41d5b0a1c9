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
 * timer replenishes it, so that a runaway FIFO task leaves 5 % for a shell. Policies of the fair
 * class that have a server instead (TRAIT_FAIR_SERVER) are not protected in this way too.
 *
 * SMP: a waiting task is pushed to a CPU that runs something less urgent (after
 * each switch), and a CPU about to run something less urgent than before pulls,
 * or, if that is no switch but a change of parameters, asks others to push.
 *
 * Lock: the runqueue's. Source: Linux 6.1, rt.c (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/balance/sharedq.h"
#include "sched/fair/core/policy.h"
#include "sched/record/class.h"
#include "sched/rt/rt.h"
#include "lib/fmt.h"

static void rt_init(struct rq *rq)
{
	struct rt_queue *rt = rt_of(rq);

	for (unsigned prio = 0; prio < MAX_RT_PRIO; prio++)
		list_init(&rt->list[prio]);
}

/* --- the queue ------------------------------------------------------------ */

/* Lab 2, list_in: @t is the last of its priority, or with @head the first. */
static void list_in(struct rt_queue *rt, struct task *t, bool head)
{
	struct list *list = &rt->list[t->prio];

	SCHED_DEBUG_ASSERT((unsigned)t->prio < MAX_RT_PRIO);
	if (head)
		list_add_head(list, &rt_part(t)->link);
	else
		list_add_tail(list, &rt_part(t)->link);
	rt->bitmap[t->prio / 64] |= BIT(t->prio % 64);
}

static void list_out(struct rt_queue *rt, struct task *t)
{
	SCHED_DEBUG_ASSERT(!list_empty(&rt->list[t->prio]));
	list_del(&rt_part(t)->link);
	if (list_empty(&rt->list[t->prio]))
		rt->bitmap[t->prio / 64] &= ~BIT(t->prio % 64);
}

/* Has the class tasks to pick, or to give away? */
static void update_bits(struct rq *rq)
{
	const struct rt_queue *rt = rt_of(rq);

	class_set_active(rq, CLASS_rt, rt->nr_running && !rt->throttled);
	class_set_push(rq, CLASS_rt, rt_one_waits(rq));
}

static void update_overload(struct rq *rq)
{
	bool overloaded = rt_one_waits(rq) && rt_of(rq)->nr_movable && rq->online;

	update_bits(rq);

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
	struct rt_queue *rt = rt_of(rq);

	/* A new task may have come from another class after that one's join. */
	if (flags & ENQUEUE_INITIAL)
		rt_part(t)->time_slice = rr_slice_ticks(rq->s);
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
	struct rt_queue *rt = rt_of(rq);

	SCHED_DEBUG_ASSERT(rt->nr_running > 0);
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

static u32 rt_nr_queued(const struct rq *rq)
{
	return READ_ONCE(rt_seen(rq)->nr_running);
}

static bool rt_pickable(struct rq *rq, struct task *t)
{
	(void)t;
	return !rt_of(rq)->throttled;
}

/* The head of the most urgent list from @prio on, or NULL. */
static struct task *first_from(struct rt_queue *rt, unsigned prio)
{
	for (; prio < MAX_RT_PRIO; prio++)
		if (!list_empty(&rt->list[prio]))
			return rt_task_of(rt->list[prio].next);
	return NULL;
}

static struct task *rt_queued(struct rq *rq, struct task *after)
{
	struct rt_queue *rt = rt_of(rq);
	struct list *next;

	if (!after)
		return rt->nr_running ? first_from(rt, 0) : NULL;
	SCHED_DEBUG_ASSERT(after->on_rq == TASK_QUEUED);
	next = rt_part(after)->link.next;
	return next != &rt->list[after->prio] ? rt_task_of(next)
					      : first_from(rt, (unsigned)after->prio + 1);
}

/* --- throttling ----------------------------------------------------------- */

/* Where the fair class has a server, that does what throttling is for. */
static bool rt_limited(const struct rq *rq)
{
	const struct sched *s = rq->s;

	/* 0 is no limit, as in Linux 6.1: nothing could be replenished. */
	return !policy_has(rq->fair.policy, TRAIT_FAIR_SERVER) && s->tunable.rt_runtime_us > 0 &&
	       (u32)s->tunable.rt_runtime_us < s->tunable.rt_period_us;
}

static u64 rt_runtime_ns(const struct sched *s)
{
	return (u64)s->tunable.rt_runtime_us * NS_PER_US;
}

static void throttle(struct rq *rq)
{
	struct rt_queue *rt = rt_of(rq);

	SCHED_DEBUG_ASSERT(!rt->throttled);
	rt->throttled = true;
	count_running(rq, -(int)rt->nr_running);
	update_bits(rq);
	rq->rt_throttle_count++;
	resched(rq);
	trace_class_turn(rq, CLASS_rt, ACT_throttle, REASON_share_used);
}

static void unthrottle(struct rq *rq, enum class_rule why)
{
	struct rt_queue *rt = rt_of(rq);

	SCHED_DEBUG_ASSERT(rt->throttled);
	rt->throttled = false;
	count_running(rq, (int)rt->nr_running);
	update_overload(rq);
	if (rt->nr_running)
		resched(rq);
	sharedq_crowded(rq);
	trace_class_turn(rq, CLASS_rt, ACT_replenish, why);
}

/* Subtract what the past periods granted; what was overdrawn by up to a tick stays owed. */
static void rt_timer(struct rq *rq)
{
	struct rt_queue *rt = rt_of(rq);
	struct sched *s = rq->s;
	u64 period = s->tunable.rt_period_us * NS_PER_US, periods;

	assert_locked(rq);
	if (!rt->period_end || time_before(rq->clock, rt->period_end))
		return;
	if (rq->curr->class->rank == CLASS_rt)
		rt_charge(rq);
	periods = (rq->clock - rt->period_end) / period + 1;
	rt->period_end += periods * period;
	rt->used_ns = rt_limited(rq) ? sub_floor0(rt->used_ns, periods * rt_runtime_ns(s)) : 0;
	if (rt->throttled && (!rt_limited(rq) || rt->used_ns < rt_runtime_ns(s)))
		unthrottle(rq, REASON_period_begins);
	if (!rt->used_ns && !rt->nr_running)
		rt->period_end = 0;
}

void rt_account(struct rq *rq, u64 delta_ns)
{
	struct rt_queue *rt = rt_of(rq);

	assert_locked(rq);
	capacity_used(rq, delta_ns);
	if (!rt->period_end)
		return;
	rt->used_ns += delta_ns;
	if (!rt->throttled && rt_limited(rq) && rt->used_ns > rt_runtime_ns(rq->s))
		throttle(rq);
}

static void rt_charge(struct rq *rq)
{
	u64 delta = charge_time(rq, &rq->curr->fair);

	SCHED_DEBUG_ASSERT(rq->curr->class->rank == CLASS_rt);
	rq->run_ns += delta;
	rt_account(rq, delta);
}

static u64 rt_next_timer(struct rq *rq)
{
	return rt_of(rq)->period_end;
}

/* No period begins on a CPU that left: its last task goes at once, and nobody waits for a part. */
static void start_period(struct rq *rq)
{
	debug_assert_locked(rq);
	if (rt_of(rq)->period_end || !rt_limited(rq) || !rq->online)
		return;
	rt_of(rq)->period_end = rq->clock + rq->s->tunable.rt_period_us * NS_PER_US;
	rq->timer_stale = true;
}

/* --- choosing ------------------------------------------------------------- */

/* Lab 2, pick: the first of the most urgent, or NULL. */
static struct task *rt_pick(struct rq *rq)
{
	struct rt_queue *rt = rt_of(rq);

	return rt->nr_running ? rt_task_of(rt->list[rt_first_prio(rt)].next) : NULL;
}

static void rt_set_next(struct rq *rq, struct task *t)
{
	t->fair.exec_start = rq->clock;
	start_period(rq);
}

/* Behind its equals, or before them. */
static void requeue(struct rq *rq, struct task *t, bool head)
{
	SCHED_DEBUG_ASSERT(t->on_rq == TASK_QUEUED);
	list_out(rt_of(rq), t);
	list_in(rt_of(rq), t, head);
}

static void rt_yield(struct rq *rq)
{
	requeue(rq, rq->curr, false);
}

u32 rr_slice_ticks(const struct sched *s)
{
	return (u32)(((u64)s->tunable.rr_timeslice_ms * s->hz + 999) / 1000);
}

/* Lab 2, tick: a tick of @t, which runs. A slice of RR ends, and whoever shares it is last. */
static void rt_tick(struct rq *rq, struct task *t)
{
	SCHED_DEBUG_ASSERT(t == rq->curr && (t->policy != SCHED_RR || rt_part(t)->time_slice));
	rt_charge(rq);
	start_period(rq);
	if (t->policy != SCHED_RR || --rt_part(t)->time_slice)
		return;
	rt_part(t)->time_slice = rr_slice_ticks(rq->s);
	class_because(rq, REASON_slice_alone);
	if (!list_is_singular(&rt_of(rq)->list[t->prio])) {
		class_because(rq, REASON_slice_over);
		requeue(rq, t, false);
		resched(rq);
	}
}

static u64 rt_slice(struct rq *rq, struct task *t)
{
	return t->policy == SCHED_RR ? rr_slice_ticks(rq->s) * rq->s->tick_ns : 0;
}

/* --- somebody else's turn ------------------------------------------------- */

/*
 * A waiting task that could run elsewhere is pushed at a switch: its CPU was chosen without that
 * CPU's lock, so another task may have come first. Among equals, a task that can run only here goes
 * first; the other one is then pushed to another CPU.
 */
static bool rt_preempts(struct rq *rq, struct task *woken, unsigned flags)
{
	struct task *curr = rq->curr;

	SCHED_DEBUG_ASSERT(rq->curr->class == woken->class);
	(void)flags;
	if (woken->prio < curr->prio)
		return true;
	if (rt_is_lower_elsewhere(rq, woken)) {
		class_because(rq, REASON_pushed_next);
		return true;
	}
	if (woken->prio > curr->prio || !rt_is_lower_elsewhere(rq, curr))
		return false;
	class_because(rq, REASON_makes_room);
	requeue(rq, woken, true);
	return true;
}

static void rt_retune(struct rq *rq, struct task *t, int old_prio)
{
	bool lowered = task_running(rq, t) && t->prio > old_prio;

	debug_assert_locked(rq);
	if (lowered || t->prio < rq->curr->prio)
		resched(rq);
	if (lowered)
		rt_ask_others_to_push(rq);
}

static void rt_join(struct rq *rq, struct task *t, bool runnable)
{
	debug_assert_locked(rq);
	rt_part(t)->time_slice = rr_slice_ticks(rq->s);
	/* @t waits behind another task: a switch, even to the same task, pushes @t. */
	if (runnable && !task_running(rq, t) && rq->curr->class->rank == CLASS_rt)
		resched(rq);
}

static void rt_quit(struct rq *rq, struct task *t, bool runnable)
{
	debug_assert_locked(rq);
	if (runnable && task_running(rq, t))
		rt_ask_others_to_push(rq);
}

static void rt_push_waiting(struct rq *rq)
{
	/* A task that is alone may be outranked since, or no longer. */
	update_overload(rq);
	rt_push(rq);
}

/* --- parameters -------------------------------------------------------------- */

static int rt_prio(const struct sched_attr_req *req)
{
	bool valid = req->rt_priority >= 1 && req->rt_priority < MAX_RT_PRIO;

	return valid ? MAX_RT_PRIO - 1 - req->rt_priority : PRIO_INVALID;
}

/* --- what happens to a CPU -------------------------------------------------- */

static void rt_offline(struct rq *rq)
{
	SCHED_DEBUG_ASSERT(!rq->online);
	if (rt_of(rq)->throttled)
		unthrottle(rq, REASON_cpu_leaves);
	rt_of(rq)->used_ns = 0;
	update_overload(rq); /* nobody is pulled from here any more */
}

static void rt_notice(struct rq *rq, enum class_notice notice)
{
	switch (notice) {
	case NOTICE_NEW:
		rt_init(rq);
		break;
	case NOTICE_TIMER:
		rt_timer(rq);
		break;
	case NOTICE_OFFLINE:
		rt_offline(rq);
		break;
	case NOTICE_EMPTY:
		rt_of(rq)->period_end = 0;
		break;
	default:
		break;
	}
}

/* --- introspection -------------------------------------------------------- */

static void rt_numbers(struct rq *rq, struct task *t, struct class_numbers *n)
{
	const struct rt_queue *rt = rt_of(rq);

	n->throttled = rt->throttled;
	if (t) {
		n->slice = t->policy == SCHED_RR ? rt_part(t)->time_slice : 0;
		return;
	}
	n->used = rt->used_ns;
	n->period_end = rt->period_end;
	n->prio = rt->throttled ? MAX_RT_PRIO : (int)rt_first_prio(rt);
}

static void check_offline(struct rq *rq)
{
	SCHED_CHECK(R9, !rt_of(rq)->throttled && !rt_of(rq)->period_end);
	SCHED_CHECK(R10, !cpumask_test(&rq->s->rt_overload, rq->cpu));
}

static void rt_check(struct rq *rq)
{
	struct rt_queue *rt = rt_of(rq);
	u32 nr = 0, movable = 0;

	for (unsigned prio = 0; prio < MAX_RT_PRIO; prio++) {
		struct list *link;
		bool marked = rt->bitmap[prio / 64] & BIT(prio % 64);

		SCHED_CHECK(Q1, marked == !list_empty(&rt->list[prio]));
		for (link = rt->list[prio].next; link != &rt->list[prio]; link = link->next) {
			struct task *t = rt_task_of(link);

			SCHED_CHECK(Q1, t->prio == (int)prio && t->on_rq == TASK_QUEUED);
			nr++;
			movable += t->nr_allowed > 1;
		}
	}
	SCHED_CHECK(R12, class_is_active(rq, CLASS_rt) == (rt->nr_running && !rt->throttled));
	SCHED_CHECK(Q2, nr == rt->nr_running && movable == rt->nr_movable);
	SCHED_CHECK(R6, !rt->throttled || rt->period_end);
	if (!rq->online)
		check_offline(rq);
}

static void rt_dump(struct rq *rq, struct task *t, struct text *out)
{
	if (t)
		return;
	text_add(out, "\nrt_rq[%u]:\n", rq->cpu);
	text_add(out, "  .%-30s: %u\n", "rt_nr_running", rt_of(rq)->nr_running);
	text_add(out, "  .%-30s: %u\n", "rt_nr_migratory", rt_of(rq)->nr_movable);
	text_add(out, "  .%-30s: %u\n", "rt_throttled", rt_of(rq)->throttled);
	dump_ms(out, "rt_time", rt_of(rq)->used_ns);
	dump_ms(out, "rt_runtime", rt_runtime_ns(rq->s));
}

const struct sched_class rt_class = {
	.name = "rt",
	.rank = CLASS_rt,
	.policies = BIT(SCHED_FIFO) | BIT(SCHED_RR),
	.priority = true,
	.recorded = true,
	.rule = { [ACT_pick] = REASON_most_urgent,
		  [ACT_preempt] = REASON_urgency,
		  [ACT_tick] = REASON_slice_lasts,
		  [ACT_select] = REASON_stays },
	.enqueue = rt_enqueue,
	.dequeue = rt_dequeue,
	.nr_queued = rt_nr_queued,
	.queued = rt_queued,
	.pick = rt_pick,
	.set_next = rt_set_next,
	.charge = rt_charge,
	.tick = rt_tick,
	.pickable = rt_pickable,
	.yield = rt_yield,
	.preempts = rt_preempts,
	.next_timer = rt_next_timer,
	.notice = rt_notice,
	.smp = { .select_cpu = rt_select_cpu, .pull = rt_pull, .push = rt_push_waiting },
	.params = { .prio = rt_prio,
		    .join = rt_join,
		    .quit = rt_quit,
		    .retune = rt_retune,
		    .slice = rt_slice },
	.debug = { .numbers = rt_numbers, .check = rt_check, .dump = rt_dump },
};
