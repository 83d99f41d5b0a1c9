/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Deadline tasks on several CPUs: of all that are ready the m earliest deadlines run on m CPUs.
 * Where one wakes up, and how one that waits gets to a CPU that runs something less urgent. dl.c
 * has the class.
 *
 * Lock: the runqueue's. Source: Linux 6.1, sched-deadline document (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/dl/dl.h"
#include "sched/fair/core/policy.h"
#include "sched/record/class.h"

/* Does a ready task wait that could run elsewhere? One that is not the first waits. */
void dl_update(struct rq *rq)
{
	struct dl_rq *dl = dl_of(rq);
	bool overloaded = dl->nr_ready + dl->server.ready > 1 && dl->nr_movable;

	debug_assert_locked(rq);
	class_set_active(rq, CLASS_dl, dl->nr_ready || dl->server.ready);
	class_set_push(rq, CLASS_dl, overloaded);
	/* Real-time tasks wait now, even one that is alone. */
	if (class_is_active(rq, CLASS_dl) && class_is_active(rq, CLASS_rt))
		class_set_push(rq, CLASS_rt, true);
	if (dl_server_is_first(rq))
		WRITE_ONCE(dl->earliest, dl->server.d.deadline);
	else if (dl->nr_ready)
		WRITE_ONCE(dl->earliest, dl_part(dl_first(&dl->ready))->deadline);
	if (overloaded == dl->overloaded)
		return;
	WRITE_ONCE(dl->overloaded, overloaded);
	__atomic_fetch_add(&dl_machine(rq->s)->nr_overloaded, overloaded ? 1 : -1u,
			   __ATOMIC_SEQ_CST);
}

/* How urgent a CPU's work is: the rank of the class, NR_CLASSES if it idles, and the deadline. */
struct urgency {
	unsigned rank;
	u64 deadline; /* rank CLASS_dl only */
};

/* Racy if the lock of @rq is not held. */
static struct urgency cpu_urgency(const struct rq *rq)
{
	u32 active = READ_ONCE(rq->active);

	return (struct urgency){
		.rank = active ? (unsigned)__builtin_ctz(active) : NR_CLASSES,
		.deadline = READ_ONCE(dl_seen(rq)->earliest),
	};
}

static bool less_urgent(const struct urgency *a, const struct urgency *b)
{
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->rank == CLASS_dl && time_before(b->deadline, a->deadline);
}

/*
 * The CPUs with the least urgent work, for @t of CPU @from; none if nothing is less urgent. All
 * without a deadline task are alike, whether they idle or not: that is Linux's rule.
 */
static struct cpumask latest_cpus(struct sched *s, const struct task *t, unsigned from,
				  u64 deadline)
{
	struct cpumask usable = usable_cpus(s, t, from), latest = cpumask_none();
	struct urgency least = { CLASS_dl, deadline };
	unsigned cpu;

	for_each_cpu(cpu, &usable) {
		struct urgency u = cpu_urgency(cpu_rq(s, cpu));

		if (u.rank > CLASS_dl)
			u.rank = NR_CLASSES;
		if (less_urgent(&u, &least)) {
			least = u;
			latest = cpumask_of(cpu);
		} else if (!cpumask_empty(&latest) && !less_urgent(&least, &u)) {
			cpumask_set(&latest, cpu);
		}
	}
	return latest;
}

bool dl_is_later_elsewhere(struct rq *rq, struct task *t)
{
	struct cpumask latest = latest_cpus(rq->s, t, rq->cpu, dl_part(t)->deadline);

	debug_assert_locked(rq);
	return !cpumask_empty(&latest);
}

static int find_later_cpu(struct rq *rq, const struct task *t, u64 deadline, unsigned cpu)
{
	struct cpumask latest = latest_cpus(rq->s, t, rq->cpu, deadline);

	return urgent_target(rq, &latest, cpu);
}

/* Has @cpu a task that waits, and could run on @rq? */
static bool waits_for(const struct rq *rq, unsigned cpu)
{
	return cpu != rq->cpu && READ_ONCE(dl_seen(cpu_rq(rq->s, cpu))->overloaded) &&
	       !cpus_apart(rq->s, cpu, rq->cpu);
}

void dl_ask_others_to_push(struct rq *rq)
{
	unsigned cpu;

	debug_assert_locked(rq);
	if (!READ_ONCE(dl_machine(rq->s)->nr_overloaded))
		return;
	for_each_cpu(cpu, &rq->s->online)
		if (waits_for(rq, cpu))
			host_kick(cpu, true);
}

unsigned dl_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	const struct task *curr = READ_ONCE(rq->curr);
	struct urgency own = cpu_urgency(rq);
	u64 deadline = cbs_wake_deadline(dl_part(t), rq->clock);
	int later;

	debug_assert_locked(rq);
	if (unlikely(!rq->online)) {
		class_because(rq, REASON_cpu_leaves);
		later = find_later_cpu(rq, t, deadline, cpu);
		return later < 0 ? any_allowed_cpu(rq->s, t) : (unsigned)later;
	}
	if (!task_allowed(t, t->cpu)) {
		class_because(rq, REASON_only_allowed);
		return any_allowed_cpu(rq->s, t);
	}
	if (!(reason & (SELECT_WAKE | SELECT_FORK)) || own.rank > CLASS_dl)
		return t->cpu;
	/* Stay where @t would preempt a task that can move away. */
	if (own.rank == CLASS_dl && time_before(deadline, own.deadline) && curr->nr_allowed > 1) {
		class_because(rq, REASON_displaces);
		return t->cpu;
	}
	later = find_later_cpu(rq, t, deadline, cpu);
	class_because(rq, later < 0 ? REASON_none_less_urgent : REASON_least_urgent_there);
	return later < 0 ? t->cpu : (unsigned)later;
}

/*
 * The first task that waits on @rq and may run on @cpu (CPU_MAX: any other), or NULL. The very
 * first in the tree runs there, or is about to, unless it is the fair server's turn.
 */
static struct task *first_movable(struct rq *rq, unsigned cpu)
{
	struct rb_node *node = rb_first(&dl_of(rq)->ready);

	debug_assert_locked(rq);
	if (node && !dl_server_is_first(rq))
		node = rb_next(node);
	for (; node; node = rb_next(node)) {
		struct task *t = dl_task_of(node);

		if (!task_running(rq, t) && t->nr_allowed > 1 &&
		    (cpu == CPU_MAX || task_allowed(t, cpu)))
			return t;
	}
	return NULL;
}

bool dl_push_replenished(struct rq *rq, struct task *t)
{
	int to;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(!dl_part(t)->throttled);
	if (!READ_ONCE(rq->s->fair_policy)->moves_new_budgets || task_running(rq, t) ||
	    t->nr_allowed == 1 || rq->curr->class->rank == CLASS_dl)
		return false;
	to = find_later_cpu(rq, t, dl_part(t)->deadline, rq->cpu);
	if (to < 0 || (unsigned)to == rq->cpu)
		return false;
	trace_class_move(rq, t, ACT_push, (unsigned)to);
	hand_over(rq, t, (unsigned)to);
	return true;
}

/* One at a time: where the next one should go depends on where this one went. */
void dl_push(struct rq *rq)
{
	struct task *t;
	int to;

	debug_assert_locked(rq);
	if (!dl_of(rq)->nr_movable)
		return;
	t = first_movable(rq, CPU_MAX);
	to = t ? find_later_cpu(rq, t, dl_part(t)->deadline, rq->cpu) : -1;
	if (to < 0 || (unsigned)to == rq->cpu)
		return;
	trace_class_move(rq, t, ACT_push, (unsigned)to);
	hand_over(rq, t, (unsigned)to);
	if (dl_of(rq)->overloaded)
		resched(rq);
}

/*
 * One task from @src that is more urgent than what @rq has. True if somebody changed the task on
 * its way, so that @rq has nothing as urgent now and must look again.
 */
static bool pull_from(struct rq *rq, struct rq *src)
{
	struct urgency own = cpu_urgency(rq), pulled = own;
	struct task *t;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(src != rq);
	rq->pulling = true;
	rq_unlock(rq);
	rq_lock(src);
	t = first_movable(src, rq->cpu);
	if (t) {
		pulled = (struct urgency){ CLASS_dl, dl_part(t)->deadline };
		if (less_urgent(&own, &pulled)) {
			trace_class_move(src, t, ACT_pull, rq->cpu);
			detach_task(src, t, rq->cpu);
		} else {
			t = NULL;
		}
	}
	rq_unlock(src);
	rq_lock(rq);
	rq->pulling = false;
	if (!t)
		return false;
	attach_locked(rq, t);
	own = cpu_urgency(rq);
	return less_urgent(&own, &pulled);
}

void dl_pull(struct rq *rq, struct task *prev)
{
	unsigned cpu;

	debug_assert_locked(rq);
	(void)prev;
	/* Be less urgent, then look who waits; one who waits looks who is less urgent. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (likely(!READ_ONCE(dl_machine(rq->s)->nr_overloaded)) || !rq->online)
		return;
	for_each_cpu(cpu, &rq->s->online)
		if (waits_for(rq, cpu))
			while (pull_from(rq, cpu_rq(rq->s, cpu)))
				;
}
