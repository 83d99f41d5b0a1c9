/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shared wake queue. Waiting tasks stay on their runqueues; besides, they are linked in order
 * of arrival in a shard of their LLC. A CPU about to idle looks at the shard first.
 *
 *	SWQUEUE            one shard per LLC; a task is linked if it woke where it slept
 *	SHARED_RUNQ        a shard for each few cores; a task is linked if it waits beside others
 *	SHARED_RUNQ_STEAL  tasks that have waited for some time are also taken from other LLCs, and
 *	                   CPUs that idle already are called
 *
 * PROTOCOL: claim. A CPU holds one runqueue lock at a time, and a pointer to a task is good only
 * under a lock that keeps the task where it is. A CPU that wants the head of a shard takes it off
 * under the shard's lock and leaves its claim: the task names the CPU, shared.claim of the CPU's
 * runqueue names the task. A CPU that picks, dequeues or moves the task withdraws the claim first,
 * under the lock of the task's runqueue. The claimant takes that lock next and looks at its claim.
 * If it still stands, nothing about the task has changed since. If it does not, the task is none of
 * the claimant's business any more; its memory may even be gone.
 *
 * Tasks are linked and unlinked only under the lock of their runqueue. So switching the feature
 * needs no quiet moment: each runqueue in turn, under its lock, unlinks its tasks and goes on with
 * another shard, or with none.
 *
 * Locks: rq, then shard; never the reverse. Source: David Vernet's patches of June to December 2023
 * for Linux (docs/sources.md); docs/adr/011-shared-wake-queue.md says what differs.
 */
#include "sched/balance/sharedq.h"
#include "sched/fair/core/fair.h"

/* --- shards --------------------------------------------------------------- */

static void lock_shard(struct rq *rq, struct shard *shard)
{
	/*
	 * The count serves the statistics alone: the host's locks do not tell whether a CPU waited.
	 */
	rq->shared_contended += __atomic_fetch_add(&shard->users, 1, __ATOMIC_RELAXED) != 0;
	host_lock(&shard->lock);
}

static void unlock_shard(struct shard *shard)
{
	host_unlock(&shard->lock);
	SCHED_DEBUG_ASSERT(shard->users);
	__atomic_fetch_sub(&shard->users, 1, __ATOMIC_RELAXED);
}

static struct task *head_of(const struct shard *shard)
{
	SCHED_DEBUG_ASSERT(!list_empty(&shard->tasks));
	return list_first(&shard->tasks, struct task, shared.link);
}

static void take_off(struct shard *shard, struct task *t)
{
	debug_assert_locked(shard);
	SCHED_DEBUG_ASSERT(shard->nr);
	list_del(&t->shared.link);
	WRITE_ONCE(shard->nr, shard->nr - 1);
	if (shard->nr)
		WRITE_ONCE(shard->since, head_of(shard)->shared.since);
}

/* --- calling -------------------------------------------------------------- */

/* The shards of an LLC are those of its first CPUs. */
static unsigned nr_shards(const struct rq *leader)
{
	SCHED_DEBUG_ASSERT(leader->llc_id == leader->cpu);
	return max(1u, READ_ONCE(leader->shared.nr_shards));
}

/* The runqueue whose memory holds the shard of @rq, one of @nr. Threads of a core share a shard. */
static struct rq *shard_owner(const struct rq *rq, unsigned nr)
{
	struct rq *owner = cpu_rq(rq->s, rq->llc_id);

	SCHED_DEBUG_ASSERT(nr);
	for (unsigned i = rq->shared.core_index % nr; i; i--)
		owner = cpu_rq(rq->s, owner->shared.next_in_llc);
	return owner;
}

static u32 waiting_in(struct sched *s, const struct rq *leader)
{
	unsigned cpu = leader->cpu;
	u32 waiting = 0;

	for (unsigned i = nr_shards(leader); i; i--) {
		waiting += READ_ONCE(cpu_rq(s, cpu)->shared.own_shard.nr);
		cpu = cpu_rq(s, cpu)->shared.next_in_llc;
	}
	return waiting;
}

static const struct cpumask *node_of(const struct rq *rq)
{
	const struct domain *sd;

	for_each_domain(sd, rq)
		if (sd->flags & SD_NUMA)
			return &sd->parts->cpus;
	return &rq->s->possible;
}

/*
 * Have an idle CPU look, of this LLC if one idles: a task waits here from now on. Idle CPUs of
 * other LLCs that are to look again anyway (steal_at) are left to the tasks they were called for.
 * Used with stealing only. Without it, as in the patches, an idle CPU learns of a task by placement
 * and balancing alone.
 */
static void call_idle(struct rq *rq)
{
	struct sched *s = rq->s;
	const struct cpumask *node = node_of(rq);
	bool far = waiting_in(s, cpu_rq(s, rq->llc_id)) >= 2;
	int found = -1;
	unsigned cpu;

	/*
	 * We link and then look for idle CPUs; sharedq_pull() says it idles and then looks for
	 * tasks.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for_each_cpu(cpu, &s->shared_idle) {
		if (shares_llc(s, cpu, rq->cpu))
			return host_kick(cpu, true);
		if (far && cpumask_test(node, cpu) && !READ_ONCE(cpu_rq(s, cpu)->shared.steal_at))
			found = (int)cpu;
	}
	if (found >= 0)
		host_kick((unsigned)found, true);
}

/* --- linking -------------------------------------------------------------- */

/* False if @t is linked or claimed already, pinned to its CPU, or hidden by a throttled group. */
static bool may_be_linked(const struct task *t)
{
	return t->shared.state == SHARED_NOT && t->nr_allowed > 1 &&
	       !queue_is_hidden(t->fair.queue);
}

static void link_quietly(struct rq *rq, struct task *t)
{
	struct shard *shard = rq->shared.shard;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(t->shared.state == SHARED_NOT);
	lock_shard(rq, shard);
	list_add_tail(&shard->tasks, &t->shared.link);
	t->shared.state = SHARED_LINKED;
	t->shared.since = rq->clock;
	if (!shard->nr)
		WRITE_ONCE(shard->since, rq->clock);
	WRITE_ONCE(shard->nr, shard->nr + 1);
	unlock_shard(shard);
	rq->shared_linked++;
}

static void link_task(struct rq *rq, struct task *t)
{
	link_quietly(rq, t);
	if (feature(rq->s, FEATURE_SHARED_RUNQ_STEAL))
		call_idle(rq);
}

/* @t is about to run or to leave @rq: unlink it, or withdraw the claim on it. */
static void unlink_task(struct rq *rq, struct task *t)
{
	struct shard *shard = rq->shared.shard;

	SCHED_DEBUG_ASSERT(t->shared.state != SHARED_NOT);
	assert_locked(rq);
	lock_shard(rq, shard);
	if (t->shared.state == SHARED_LINKED)
		take_off(shard, t);
	else
		WRITE_ONCE(cpu_rq(rq->s, t->shared.claimant)->shared.claim, NULL);
	t->shared.state = SHARED_NOT;
	unlock_shard(shard);
	rq->shared_unlinked++;
}

void sharedq_add(struct rq *rq, struct task *t, unsigned flags)
{
	bool woken = (flags & ENQUEUE_WAKEUP) && !(flags & ENQUEUE_MIGRATED);

	assert_locked(rq);
	/* A task that is alone on its runqueue runs next anyway. */
	if (rq->shared.shares_all ? rq->nr_running < 2 : !woken)
		return;
	if (!task_running(rq, t) && may_be_linked(t))
		link_task(rq, t);
}

void sharedq_remove(struct rq *rq, struct task *t)
{
	debug_assert_locked(rq);
	if (t->shared.state != SHARED_NOT)
		unlink_task(rq, t);
}

void sharedq_switched(struct rq *rq, struct task *prev, struct task *next)
{
	assert_locked(rq);
	if (next != rq->idle && cpumask_test(&rq->s->shared_idle, rq->cpu))
		cpumask_clear_atomic(&rq->s->shared_idle, rq->cpu);
	sharedq_remove(rq, next);
	if (task_is_fair(prev) && prev->on_rq == TASK_QUEUED && rq->shared.shares_all &&
	    may_be_linked(prev))
		link_task(rq, prev);
}

void sharedq_add_all(struct rq *rq)
{
	struct task *t;

	assert_locked(rq);
	if (!rq->shared.shares_all || rq->nr_running < 2)
		return;
	list_for_each(t, &rq->fair_tasks, link)
		if (!task_running(rq, t) && may_be_linked(t))
			link_task(rq, t);
}

/* --- claiming ------------------------------------------------------------- */

/*
 * Lab 9, claim: claim the head of @shard. Returns the CPU whose runqueue has the claimed task, or
 * -1. A head that may not run here is left to other CPUs, and so is every task behind it: a search
 * would hold the lock for too long.
 */
static int claim_head(struct rq *rq, struct shard *shard)
{
	struct task *t;
	int from = -1;

	debug_assert_locked(rq);
	SCHED_DEBUG_ASSERT(!rq->shared.claim);
	if (!READ_ONCE(shard->nr))
		return -1;
	lock_shard(rq, shard);
	t = shard->nr ? head_of(shard) : NULL;
	if (t && task_allowed(t, rq->cpu)) {
		take_off(shard, t);
		t->shared.state = SHARED_CLAIMED;
		t->shared.claimant = rq->cpu;
		rq->shared.claim = t;
		from = (int)t->cpu;
	} else if (t) {
		rq->shared_refused++;
	}
	unlock_shard(shard);
	return from;
}

/* Claim from the shards of this LLC, beginning with @rq's own. As claim_head(). */
static int claim_near(struct rq *rq)
{
	unsigned nr = nr_shards(cpu_rq(rq->s, rq->llc_id)), at = rq->shared.core_index % nr;
	struct rq *owner = shard_owner(rq, nr);
	int from = -1;

	for (unsigned i = 0; i < nr && from < 0; i++) {
		from = claim_head(rq, &owner->shared.own_shard);
		owner = cpu_rq(rq->s, ++at % nr ? owner->shared.next_in_llc : rq->llc_id);
	}
	return from;
}

/* --- stealing ------------------------------------------------------------- */

/*
 * Claim the head of another LLC's @shard. One CPU at a time steals from a shard: so the CPUs that
 * own it contend with one stranger at most, and several thieves spread over several shards. (Linux
 * would try the lock.) As claim_head().
 */
static int steal_from(struct rq *rq, struct shard *shard)
{
	int from;

	if (__atomic_exchange_n(&shard->stealing, true, __ATOMIC_ACQUIRE)) {
		rq->shared_steal_busy++;
		return -1;
	}
	rq->shared_steal_tried++;
	from = claim_head(rq, shard);
	__atomic_store_n(&shard->stealing, false, __ATOMIC_RELEASE);
	return from;
}

/*
 * Steal from the LLC of @leader if it has tasks to spare and the oldest task of a shard has waited
 * for @least_wait_ns. As claim_head().
 */
static int steal_from_llc(struct rq *rq, const struct rq *leader, u64 least_wait_ns)
{
	unsigned cpu = leader->cpu;
	int from = -1;

	SCHED_DEBUG_ASSERT(leader->llc_id != rq->llc_id);
	if (waiting_in(rq->s, leader) < 2)
		return -1;
	for (unsigned i = nr_shards(leader); i && from < 0; i--) {
		struct shard *shard = &cpu_rq(rq->s, cpu)->shared.own_shard;
		u64 when = READ_ONCE(shard->since) + least_wait_ns;

		if (READ_ONCE(shard->nr) && !time_before(rq->clock, when))
			from = steal_from(rq, shard);
		else if (READ_ONCE(shard->nr) &&
			 (!rq->shared.steal_at || time_before(when, rq->shared.steal_at)))
			/* Too early: @rq is to come again then, if it still idles. */
			rq->shared.steal_at = when;
		cpu = cpu_rq(rq->s, cpu)->shared.next_in_llc;
	}
	return from;
}

/* Steal from the other LLCs of the node, in a circle from @rq's; then from those of other nodes. */
static int claim_far(struct rq *rq)
{
	const struct tunables *tn = &rq->s->tunable;
	const struct cpumask *node = node_of(rq);
	int from = -1;

	for (unsigned far = 0; far < 2 && from < 0; far++) {
		unsigned llc = cpu_rq(rq->s, rq->llc_id)->shared.next_llc;

		for (; llc != rq->llc_id && from < 0; llc = cpu_rq(rq->s, llc)->shared.next_llc)
			if (cpumask_test(node, llc) == !far)
				from = steal_from_llc(rq, cpu_rq(rq->s, llc),
						      far ? tn->shared_steal_far_ns
							  : tn->shared_steal_near_ns);
	}
	rq->shared_stolen += from >= 0;
	return from;
}

/* --- pulling -------------------------------------------------------------- */

/* The claimed task, taken off the runqueue of CPU @from; NULL if the claim was withdrawn. */
static struct task *collect(struct rq *rq, unsigned from)
{
	struct rq *src = cpu_rq(rq->s, from);
	struct task *t;

	SCHED_DEBUG_ASSERT(!host_lock_held(&rq->lock));
	rq_lock(src);
	t = READ_ONCE(rq->shared.claim);
	if (!t) {
		rq->shared_raced++;
		rq_unlock(src);
		return NULL;
	}
	SCHED_ASSERT(!task_running(src, t) && t->on_rq == TASK_QUEUED && task_allowed(t, rq->cpu));
	unlink_task(src, t);
	if (queue_is_hidden(t->fair.queue) ||
	    queue_is_hidden(group_queue(rq->s, t->group, rq->cpu))) {
		/*
		 * A task hidden on its own CPU is linked again when it is released. A task that
		 * would be hidden only here is linked now, and no CPU is called for it: this CPU
		 * idles and would come again and again in vain.
		 */
		if (may_be_linked(t))
			link_quietly(src, t);
		t = NULL;
	} else {
		detach_task(src, t, rq->cpu);
		rq->shared_pulled++;
	}
	rq_unlock(src);
	return t;
}

bool sharedq_pull(struct rq *rq)
{
	struct task *t;
	int from;

	assert_locked(rq);
	WRITE_ONCE(rq->shared.steal_at, 0);
	if (!rq->shared.shard)
		return false;
	cpumask_set_atomic(&rq->s->shared_idle, rq->cpu);
	if (cpumask_empty(&rq->s->crowded))
		return false;
	from = claim_near(rq);
	if (from < 0 && feature(rq->s, FEATURE_SHARED_RUNQ_STEAL)) {
		from = claim_far(rq);
		rq->timer_stale = true;
	}
	if (from < 0)
		return false;
	rq->pulling = true;
	rq_unlock(rq);
	t = collect(rq, (unsigned)from);
	rq_lock(rq);
	rq->pulling = false;
	if (t)
		attach_locked(rq, t);
	return rq->nr_running;
}

void sharedq_timer(struct rq *rq)
{
	assert_locked(rq);
	if (!rq->shared.steal_at || time_before(rq->clock, rq->shared.steal_at))
		return;
	rq->shared.steal_at = 0;
	if (rq->curr == rq->idle)
		resched(rq);
}

bool sharedq_covers(const struct rq *rq, const struct domain *sd)
{
	return READ_ONCE(rq->shared.shares_all) && (sd->flags & SD_SHARE_LLC);
}

/* --- switching it on and off ---------------------------------------------- */

static unsigned wanted_shards(const struct rq *rq)
{
	u32 size = READ_ONCE(rq->s->tunable.shared_shard_size);

	SCHED_DEBUG_ASSERT(size);
	if (rq->shared.shares_all)
		return (rq->llc_size - 1) / size + 1;
	return feature(rq->s, FEATURE_SWQUEUE) ? 1 : 0;
}

static void unlink_all(struct rq *rq)
{
	struct task *t;

	debug_assert_locked(rq);
	if (rq->shared.shard)
		list_for_each(t, &rq->fair_tasks, link)
			sharedq_remove(rq, t);
}

static void update_rq(struct rq *rq)
{
	bool shares = !cpu_is_isolated(rq->s, rq->cpu);
	struct shard *own = NULL;

	rq_lock(rq);
	unlink_all(rq);
	WRITE_ONCE(rq->shared.shares_all, shares && feature(rq->s, FEATURE_SHARED_RUNQ));
	WRITE_ONCE(rq->shared.nr_shards, shares ? wanted_shards(rq) : 0);
	if (rq->shared.nr_shards)
		own = &shard_owner(rq, rq->shared.nr_shards)->shared.own_shard;
	WRITE_ONCE(rq->shared.shard, own);
	sharedq_crowded(rq);
	rq_unlock(rq);
}

void sharedq_update(struct sched *s)
{
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++)
		update_rq(cpu_rq(s, cpu));
}

void sharedq_close(struct sched *s)
{
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		unlink_all(rq);
		rq->shared.shard = NULL;
		WRITE_ONCE(rq->shared.nr_shards, 0);
		rq_unlock(rq);
	}
}

void sharedq_init(struct rq *rq)
{
	rq->shared.own_shard.lock.rank = HOST_RANK_SHARD;
	rq->shared.own_shard.lock.cpu = rq->cpu;
	list_init(&rq->shared.own_shard.tasks);
}

/* Make two circles in order of CPU numbers: the CPUs of an LLC, and the first CPUs of all LLCs. */
void sharedq_topology(struct sched *s)
{
	for (unsigned cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct rq *rq = cpu_rq(s, cpu), *leader = cpu_rq(s, rq->llc_id);

		SCHED_DEBUG_ASSERT(!rq->shared.shard);
		rq->shared.next_in_llc = rq->shared.next_llc = cpu;
		/* A leader counts the cores met so far in nr_shards, which is 0 again below. */
		rq->shared.core_index = rq->core->first == cpu
						? leader->shared.nr_shards++
						: cpu_rq(s, rq->core->first)->shared.core_index;
	}
	for (unsigned cpu = s->nr_cpus; cpu-- > 0;) {
		struct rq *rq = cpu_rq(s, cpu), *leader = cpu_rq(s, rq->llc_id);

		rq->shared.nr_shards = 0;
		if (rq != leader) {
			rq->shared.next_in_llc = leader->shared.next_in_llc;
			leader->shared.next_in_llc = cpu;
		} else if (cpu) {
			rq->shared.next_llc = cpu_rq(s, 0)->shared.next_llc;
			cpu_rq(s, 0)->shared.next_llc = cpu;
		}
	}
}

/* --- invariants ----------------------------------------------------------- */

static void check_task(struct rq *rq, struct task *t)
{
	bool waits = t->on_rq == TASK_QUEUED && !task_running(rq, t);

	if (t->shared.state != SHARED_NOT) {
		SCHED_CHECK(S1, waits && task_is_fair(t) && t->nr_allowed > 1);
		SCHED_CHECK(S2, rq->shared.shard);
		if (t->shared.state == SHARED_CLAIMED)
			SCHED_CHECK(S3, cpu_rq(rq->s, t->shared.claimant)->shared.claim == t);
		return;
	}
	if (rq->shared.shares_all && rq->nr_running > 1)
		SCHED_CHECK(S4, !waits || !may_be_linked(t));
}

/* The number of @rq's tasks in its shard, which holds tasks of other CPUs too. */
static u32 count_linked(struct rq *rq)
{
	struct shard *shard = rq->shared.shard;
	u32 nr = 0, total = 0;
	struct task *t;

	host_lock(&shard->lock);
	list_for_each(t, &shard->tasks, shared.link) {
		SCHED_CHECK(S2, t->shared.state == SHARED_LINKED);
		nr += t->cpu == rq->cpu;
		total++;
	}
	SCHED_CHECK(S5, total == shard->nr);
	host_unlock(&shard->lock);
	return nr;
}

void sharedq_check(struct rq *rq)
{
	u32 nr = 0;
	struct task *t;

	assert_locked(rq);
	SCHED_CHECK(S2, rq->curr->shared.state == SHARED_NOT);
	list_for_each(t, &rq->fair_tasks, link) {
		check_task(rq, t);
		nr += t->shared.state == SHARED_LINKED;
	}
	if (rq->shared.shard)
		SCHED_CHECK(S2, nr == count_linked(rq));
}
