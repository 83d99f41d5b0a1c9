/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Admission to the deadline class: parameters in range, and enough bandwidth left.
 *
 * The bandwidth of a task is runtime / period; all together may have
 * rt_runtime / rt_period of every CPU in service. A task that leaves the class,
 * or ends, gives its bandwidth back at its zero-lag time: what it used ahead of
 * its share would else be granted twice. Nothing depends on the exact moment, so
 * there is no timer; whoever asks for the total first forgets what is over.
 *
 * Lock: dl_machine.lock, a leaf, inside the task's runqueue lock. Source: Linux
 * 6.1, sched-deadline document (docs/sources.md).
 */
#include "sched/dl/dl.h"
#include "sched/fair/core/policy.h"
#include "lib/errno.h"

/* Shorter runtimes could not be accounted. */
#define RUNTIME_MIN_NS 1024

u64 dl_bw(u64 runtime, u64 period)
{
	return mul_div(runtime, 1ull << DL_BW_SHIFT, period);
}

/* --- parameters ------------------------------------------------------------------ */

static bool in_range(u64 period_ns)
{
	return !(period_ns >> 63);
}

static u64 period_of(const struct sched_attr_req *req)
{
	return req->period_ns ?: req->deadline_ns;
}

bool dl_valid(const struct sched_attr_req *req)
{
	u64 period = period_of(req);

	return !req->rt_priority && nice_is_valid(req->nice) && req->deadline_ns &&
	       req->runtime_ns >= RUNTIME_MIN_NS && in_range(req->deadline_ns) &&
	       in_range(period) && req->runtime_ns <= req->deadline_ns &&
	       req->deadline_ns <= period;
}

/* The tunables limit what is asked for anew. */
static bool period_allowed(const struct tunables *tn, u64 period_ns)
{
	return period_ns >= tn->dl_period_min_us * NS_PER_US &&
	       period_ns <= tn->dl_period_max_us * NS_PER_US;
}

/* --- the total ------------------------------------------------------------------- */

/* Forget what lingered until @now. Lock held. */
static void settle(struct dl_machine *m, u64 now)
{
	u32 kept = 0;

	assert_locked(m);
	for (u32 i = 0; i < m->nr_lingering; i++) {
		if (time_before(now, m->lingering[i].until))
			m->lingering[kept++] = m->lingering[i];
		else
			m->total_bw -= m->lingering[i].bw;
	}
	m->nr_lingering = kept;
}

/* If there is no room for it, it goes with the last, and both linger as long as either. */
static void linger(struct dl_machine *m, u64 until, u64 bw)
{
	struct dl_linger *last = &m->lingering[DL_LINGER_MAX - 1];

	debug_assert_locked(m);
	if (m->nr_lingering < DL_LINGER_MAX) {
		m->lingering[m->nr_lingering++] = (struct dl_linger){ until, bw };
		return;
	}
	last->until = time_max(last->until, until);
	last->bw += bw;
}

/* The part of fair servers, if the policy has them. Lock held. */
static u64 servers_bw(struct sched *s)
{
	bool served = policy_has(READ_ONCE(s->fair_policy), TRAIT_FAIR_SERVER);

	assert_locked(dl_machine(s));
	return served ? dl_machine(s)->server_bw : 0;
}

u64 dl_total_bw(struct sched *s, u64 now)
{
	struct dl_machine *m = dl_machine(s);
	u64 total;

	host_lock(&m->lock);
	settle(m, now);
	total = m->total_bw + servers_bw(s);
	host_unlock(&m->lock);
	return total;
}

u64 dl_cpu_bw(const struct tunables *tn)
{
	SCHED_DEBUG_ASSERT(tn->rt_period_us);
	return tn->rt_runtime_us < 0 ? ~0ull : dl_bw((u64)tn->rt_runtime_us, tn->rt_period_us);
}

static bool limited(const struct tunables *tn)
{
	return tn->rt_runtime_us >= 0;
}

/* The CPUs whose time is promised to deadline tasks. Those that are isolated are nobody's. */
static struct cpumask promised_cpus(const struct sched *s)
{
	return cpumask_and(&s->online, &s->home);
}

static u32 nr_promised(const struct sched *s)
{
	struct cpumask cpus = promised_cpus(s);

	return cpumask_weight(&cpus);
}

/* Have @cpus CPUs room for @total? */
static bool fits(const struct tunables *tn, u32 cpus, u64 total)
{
	return !limited(tn) || total <= dl_cpu_bw(tn) * cpus;
}

void dl_release(struct sched *s, struct task *t)
{
	struct dl_machine *m = dl_machine(s);
	struct dl_task *d = dl_part(t);
	u64 until = cbs_zero_lag(d), now = cpu_rq(s, t->cpu)->clock;

	debug_assert_locked(cpu_rq(s, t->cpu));
	host_lock(&m->lock);
	settle(m, now);
	if (d->started && time_before(now, until))
		linger(m, until, d->bw);
	else
		m->total_bw -= d->bw;
	d->bw = 0;
	host_unlock(&m->lock);
}

/* --- fair servers ---------------------------------------------------------------- */

/* Lock held. */
static void set_servers_bw(struct dl_machine *m, u64 bw)
{
	assert_locked(m);
	m->server_bw = bw;
}

void dl_count_server(struct rq *rq, bool online)
{
	struct dl_machine *m = dl_machine(rq->s);
	u64 bw = dl_of(rq)->server.d.bw;

	debug_assert_locked(rq);
	if (cpu_is_isolated(rq->s, rq->cpu))
		return;
	host_lock(&m->lock);
	set_servers_bw(m, m->server_bw + (online ? bw : 0 - bw));
	host_unlock(&m->lock);
}

int dl_admit_server(struct rq *rq, u64 bw)
{
	struct dl_machine *m = dl_machine(rq->s);
	u64 old = dl_of(rq)->server.d.bw, total;
	int err = 0;

	debug_assert_locked(rq);
	if (!rq->online || cpu_is_isolated(rq->s, rq->cpu))
		return 0;
	host_lock(&m->lock);
	settle(m, rq->clock);
	total = m->server_bw - old + bw;
	if (bw > old && !fits(&rq->s->tunable, nr_promised(rq->s), m->total_bw + total))
		err = -EBUSY;
	else
		set_servers_bw(m, total);
	host_unlock(&m->lock);
	return err;
}

int dl_publish_policy(struct sched *s, const struct fair_policy *policy)
{
	struct dl_machine *m = dl_machine(s);
	u32 cpus = nr_promised(s);
	bool room;

	host_lock(&m->lock);
	settle(m, host_clock(cpumask_first(&s->online)));
	room = !policy_has(policy, TRAIT_FAIR_SERVER) || servers_bw(s) || !m->total_bw ||
	       fits(&s->tunable, cpus, m->total_bw + m->server_bw);
	if (room)
		WRITE_ONCE(s->fair_policy, policy);
	host_unlock(&m->lock);
	return room ? 0 : -EBUSY;
}

/* --- questions -------------------------------------------------------------------- */

/* @t may run on every CPU whose time is promised, or some of it would be promised to it in vain. */
static bool allowed_everywhere(struct sched *s, const struct cpumask *allowed)
{
	struct cpumask cpus = promised_cpus(s), missing = cpumask_andnot(&cpus, allowed);

	return cpumask_empty(&missing);
}

static int admit_attr(struct rq *rq, struct task *t, const struct sched_attr_req *req)
{
	struct dl_machine *m = dl_machine(rq->s);
	const struct tunables *tn = &rq->s->tunable;
	u64 bw = dl_bw(req->runtime_ns, period_of(req)), old, total;
	int err = 0;

	assert_locked(rq);
	if (!period_allowed(tn, period_of(req)))
		return -EINVAL;
	if (limited(tn) && (!allowed_everywhere(rq->s, &t->allowed) || !dl_cpu_bw(tn)))
		return -EPERM;
	old = t->class->rank == CLASS_dl ? dl_part(t)->bw : 0;
	host_lock(&m->lock);
	settle(m, rq->clock);
	total = m->total_bw - old + bw;
	if (bw != old && !fits(tn, nr_promised(rq->s), total + servers_bw(rq->s)))
		err = -EBUSY;
	else
		m->total_bw = total;
	host_unlock(&m->lock);
	return err;
}

static int admit_affinity(struct sched *s, const struct cpumask *allowed)
{
	return limited(&s->tunable) && !allowed_everywhere(s, allowed) ? -EBUSY : 0;
}

static int admit_offline(struct rq *rq)
{
	struct sched *s = rq->s;
	u32 left = nr_promised(s) - 1;
	u64 total = dl_total_bw(s, host_clock(rq->cpu));

	SCHED_DEBUG_ASSERT(rq->online);
	/* Servers alone are a concern of each CPU. */
	if (!dl_machine(s)->total_bw || cpu_is_isolated(s, rq->cpu))
		return 0;
	if (policy_has(s->fair_policy, TRAIT_FAIR_SERVER))
		total -= dl_of(rq)->server.d.bw;
	return fits(&s->tunable, left, total) ? 0 : -EBUSY;
}

static int admit_tunables(struct sched *s, const struct tunables *next)
{
	const struct tunables *now = &s->tunable;
	unsigned cpu = cpumask_first(&s->online);

	if (next->dl_period_min_us > next->dl_period_max_us)
		return -EINVAL;
	if (next->rt_runtime_us == now->rt_runtime_us && next->rt_period_us == now->rt_period_us)
		return 0;
	return fits(next, nr_promised(s), dl_total_bw(s, host_clock(cpu))) ? 0 : -EBUSY;
}

int dl_admit(struct sched *s, const struct admission_request *request)
{
	switch (request->what) {
	case ADMIT_ATTR:
		return admit_attr(request->rq, request->t, request->attr);
	case ADMIT_AFFINITY:
		return admit_affinity(s, request->allowed);
	case ADMIT_OFFLINE:
		return admit_offline(request->rq);
	case ADMIT_TUNABLES:
		return admit_tunables(s, request->tunables);
	}
	return 0;
}
