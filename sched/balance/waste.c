/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Work conservation, measured: the CPU time lost by CPUs that idled while tasks that they
 * could have run waited elsewhere.
 *
 * Each CPU can run one of its own tasks; its other tasks wait:
 *
 *	V(t) = how many waiting tasks the idle CPUs could run at once, each CPU a task
 *	       that is allowed on it: the size of a maximum matching of the two sets
 *	waste = the integral of V(t): CPU time
 *
 * V is measured behind each last-level cache by itself, too. The sum of these is the time in
 * which a CPU could have found a task without a look beyond its cache.
 *
 * A CPU idles if it runs the idle task and nothing is queued there. A task that may not be
 * picked (throttled, hidden, asleep in its queue) does not wait. So V(t) is
 * min(idle CPUs, waiting tasks) unless affinity forbids it.
 *
 * At the end of each lock section a runqueue tells its standing: whether it idles, how many
 * tasks wait, and which waiting tasks may not run everywhere - the restricted tasks. For
 * these a matching is searched by augmenting paths; each other task can take any idle CPU
 * that is left. Between two tasks it is not known yet which task a CPU will run: a
 * restricted one is assumed, if it has any.
 *
 * Measured only with schedstats: then each change of a runqueue's standing takes the
 * machine's lock. Invariant: W1. Locks: the runqueue's, then sched.waste_lock, a leaf.
 */
#include "sched/fair/core/fair.h"

/* --- which tasks wait ----------------------------------------------------- */

static bool is_restricted(const struct rq *rq, const struct task *t)
{
	return t->nr_allowed < rq->s->nr_cpus;
}

static bool is_pickable(struct rq *rq, struct task *t)
{
	return t->on_rq == TASK_QUEUED && task_is_pickable(rq, t);
}

/* List @t if it is restricted and could be picked. The running task does not wait. */
static void collect(struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	if (task_running(rq, t) || !is_restricted(rq, t) || !is_pickable(rq, t))
		return;
	list_add_tail(&rq->waste.restricted, &t->waste_link);
	rq->waste.nr_restricted++;
}

static void collect_restricted(struct rq *rq)
{
	struct task *t;

	for_each_queued(t, rq) collect(rq, t);
}

/* Note the standing of @rq as the machine is to know it. */
static void take_stock(struct rq *rq)
{
	struct waste_rq *own = &rq->waste;
	u32 nr = rq->online && schedstats(rq->s) ? rq->nr_running : 0;

	debug_assert_locked(rq);
	own->idle = rq->online && schedstats(rq->s) && rq->curr == rq->idle && !nr;
	own->nr_waiting = nr ? nr - 1 : 0;
	own->nr_restricted = 0;
	list_init(&own->restricted);
	if (!own->nr_waiting || !rq->nr_restricted)
		return;
	collect_restricted(rq);
	if (own->nr_restricted && !is_pickable(rq, rq->curr)) {
		/* @rq is between two tasks: take a restricted one to be the next. */
		own->nr_waiting = min(nr - own->nr_restricted, own->nr_waiting);
		own->nr_restricted = 0;
		list_init(&own->restricted);
	}
}

/* --- the matching --------------------------------------------------------- */

/*
 * Give the free @cpu to the task that found it; give that task's old CPU to the task that found
 * that one; and so on until @root has a CPU.
 */
static void reassign(struct sched *s, unsigned cpu, const struct task *root)
{
	struct task *t;

	SCHED_DEBUG_ASSERT(!cpu_rq(s, cpu)->waste.taken_by);
	do {
		struct rq *rq = cpu_rq(s, cpu);

		t = rq->waste.found_by;
		rq->waste.taken_by = t;
		cpu = t->waste_cpu;
		t->waste_cpu = rq->cpu;
	} while (t != root);
}

/*
 * True if an idle CPU was found for @root, if need be by giving other tasks another CPU. The search
 * for an augmenting path is breadth first.
 */
static bool match(struct sched *s, const struct waste *w, struct task *root)
{
	struct cpumask unseen = w->idle, taken = cpumask_none();
	struct task *t = root;
	unsigned cpu;

	for (;;) {
		struct cpumask found = cpumask_and(&t->allowed, &unseen);

		for_each_cpu(cpu, &found) {
			cpu_rq(s, cpu)->waste.found_by = t;
			if (!cpu_rq(s, cpu)->waste.taken_by) {
				reassign(s, cpu, root);
				return true;
			}
			cpumask_clear(&unseen, cpu);
			cpumask_set(&taken, cpu);
		}
		cpu = cpumask_first(&taken);
		if (cpu == CPU_MAX)
			return false;
		cpumask_clear(&taken, cpu);
		t = cpu_rq(s, cpu)->waste.taken_by;
	}
}

/* The number of restricted tasks that the idle CPUs could run at once. */
static u32 match_restricted(struct sched *s, const struct waste *w)
{
	u32 nr = 0;
	unsigned cpu;

	SCHED_DEBUG_ASSERT(w->nr_idle && w->nr_restricted);
	for_each_cpu(cpu, &w->idle)
		cpu_rq(s, cpu)->waste.taken_by = NULL;
	for_each_cpu(cpu, &w->restricted) {
		struct task *t;

		list_for_each(t, &cpu_rq(s, cpu)->waste.restricted, waste_link) {
			nr += match(s, w, t);
			if (nr == w->nr_idle)
				return nr;
		}
	}
	return nr;
}

static u32 count_now(struct sched *s, const struct waste *w)
{
	u32 nr = w->nr_waiting - w->nr_restricted;

	SCHED_DEBUG_ASSERT(w->nr_restricted <= w->nr_waiting);
	if (!w->nr_idle || !w->nr_waiting)
		return 0;
	if (w->nr_restricted && nr < w->nr_idle)
		nr += match_restricted(s, w);
	return min(nr, w->nr_idle);
}

/* --- telling -------------------------------------------------------------- */

static void bring_up_to_date(struct waste *w, u64 now)
{
	if (!time_before(w->stamp, now))
		return;
	w->ns += w->nr_wasted * (now - w->stamp);
	w->stamp = now;
}

static void add(struct waste *w, const struct rq *rq, u32 sign)
{
	const struct waste_rq *own = &rq->waste;

	SCHED_DEBUG_ASSERT(host_lock_held(&rq->s->waste_lock));
	w->nr_idle += sign * own->idle;
	w->nr_waiting += sign * own->nr_waiting;
	w->nr_restricted += sign * own->nr_restricted;
}

static void set_bit(struct cpumask *mask, unsigned cpu, bool on)
{
	if (on)
		cpumask_set(mask, cpu);
	else
		cpumask_clear(mask, cpu);
}

static void count(struct waste *w, const struct rq *rq)
{
	add(w, rq, 1);
	set_bit(&w->idle, rq->cpu, rq->waste.idle);
	set_bit(&w->restricted, rq->cpu, rq->waste.nr_restricted);
	w->nr_wasted = count_now(rq->s, w);
	SCHED_DEBUG_ASSERT(w->nr_wasted <= w->nr_idle && w->nr_wasted <= w->nr_waiting);
}

void waste_tell(struct rq *rq)
{
	struct waste *machine = &rq->s->waste, *llc = rq->waste.llc;

	assert_locked(rq);
	host_lock(&rq->s->waste_lock);
	bring_up_to_date(machine, rq->clock);
	bring_up_to_date(llc, rq->clock);
	add(machine, rq, 0u - 1);
	add(llc, rq, 0u - 1);
	take_stock(rq);
	count(machine, rq);
	count(llc, rq);
	host_unlock(&rq->s->waste_lock);
}

bool waste_is_news(const struct rq *rq)
{
	u32 nr = rq->nr_running;

	debug_assert_locked(rq);
	if (rq->nr_restricted && nr > 1)
		return true;
	return rq->waste.nr_restricted || rq->waste.nr_waiting != (nr ? nr - 1 : 0) ||
	       rq->waste.idle != (rq->online && rq->curr == rq->idle && !nr);
}

void waste_check(struct rq *rq)
{
	struct task *t;
	u32 nr = 0;

	debug_assert_locked(rq);
	for_each_queued(t, rq) nr += is_restricted(rq, t);
	SCHED_CHECK(R8, nr == rq->nr_restricted);
	if (!schedstats(rq->s))
		return;
	SCHED_CHECK(W1, rq->waste.idle == (rq->curr == rq->idle && !rq->nr_running));
	SCHED_CHECK(W1, rq->waste.nr_waiting <= sub_floor0(rq->nr_running, 1));
	SCHED_CHECK(W1, rq->waste.nr_waiting + rq->nr_restricted >= sub_floor0(rq->nr_running, 1));
}

void waste_tuned(struct sched *s)
{
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		waste_tell(rq);
		rq_unlock(rq);
	}
}

void sched_waste(struct sched *s, unsigned cpu, struct sched_waste_stat *out)
{
	struct waste *w = &s->waste;
	u64 now = host_clock(cpu), llc_ns = 0;

	host_lock(&s->waste_lock);
	bring_up_to_date(w, now);
	for (unsigned i = 0; i < s->nr_cpus; i++) {
		bring_up_to_date(&cpu_rq(s, i)->waste.of_llc, now);
		llc_ns += cpu_rq(s, i)->waste.of_llc.ns;
	}
	*out = (struct sched_waste_stat){
		.counted = schedstats(s),
		.ns = w->ns,
		.llc_ns = llc_ns,
		.nr_wasted = w->nr_wasted,
		.nr_idle = w->nr_idle,
		.nr_waiting = w->nr_waiting,
	};
	host_unlock(&s->waste_lock);
}

void waste_init(struct sched *s)
{
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu);

		SCHED_DEBUG_ASSERT(rq->llc_size);
		list_init(&rq->waste.restricted);
		rq->waste.llc = &cpu_rq(s, rq->llc_id)->waste.of_llc;
	}
}
