/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fair server: a reservation of the deadline class for the fair class of a CPU, so that
 * real-time tasks do not starve fair ones. It takes the place of real-time throttling under
 * policies with TRAIT_FAIR_SERVER; when it is picked, what the fair class picks runs.
 *
 * Its budget, 50 ms in each second unless told otherwise, is a guarantee, not a limit: fair tasks
 * use it up whenever they run. So it is deferred: it lets the urgent ones go first as long as the
 * budget fits before the deadline.
 *
 *	off        nothing fair is queued, or the server has no runtime
 *	deferred   it waits for its zero-laxity time, deadline - budget. A budget that fair tasks
 *	           used up before by themselves begins a new period, and nothing else happens
 *	ready      it competes by its deadline, from the zero-laxity time on with a new period,
 *	           until its budget is used up
 *	throttled  it waits for its next period; then it is ready at once, for who starved in the
 *	           last one will starve in this one. The first ns that a fair task runs by itself
 *	           meanwhile ends that: deferred again
 *
 * Time that the CPU idles counts as had by the fair class.
 *
 * Invariants: D2, D6, D7. Lock: the runqueue's. Source: Linux 6.12, deadline.c (docs/sources.md).
 */
#include "sched/balance/sharedq.h"
#include "sched/dl/dl.h"
#include "sched/record/class.h"
#include "sched/rt/rt.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define SERVER_RUNTIME_NS    (50 * NS_PER_MS)
#define SERVER_PERIOD_NS     NS_PER_SEC
#define SERVER_PERIOD_MIN_NS (100 * NS_PER_US)
#define SERVER_PERIOD_MAX_NS ((1ull << 22) * NS_PER_US)
/* The zero-laxity time is not put off by less than this. */
#define SERVER_STEP_NS 1024

void dl_server_init(struct rq *rq)
{
	struct dl_task *d = &dl_of(rq)->server.d;

	SCHED_DEBUG_ASSERT(!dl_of(rq)->server.active);
	d->runtime_ns = SERVER_RUNTIME_NS;
	d->relative_ns = d->period_ns = SERVER_PERIOD_NS;
	d->bw = dl_bw(d->runtime_ns, d->period_ns);
}

static bool on_fair(const struct rq *rq)
{
	return rq->curr->class->rank == CLASS_fair;
}

/* --- what it is up to --------------------------------------------------------------- */

/* It competes from now on, or no longer. */
static void set_ready(struct rq *rq, bool ready)
{
	struct dl_server *server = &dl_of(rq)->server;
	bool was = server->ready;

	SCHED_DEBUG_ASSERT(!ready || (server->active && !server->d.throttled));
	server->ready = ready;
	rq->timer_stale = true;
	dl_update(rq);
	if (was && !ready) {
		/* No switch from an urgent task, which would pull, needs to follow. */
		dl_ask_others_to_push(rq);
		rt_ask_others_to_push(rq);
	} else if (ready && !was && !on_fair(rq) && dl_server_is_first(rq)) {
		resched(rq);
	}
}

u64 dl_server_zero_laxity(const struct dl_server *server)
{
	SCHED_DEBUG_ASSERT(server->active);
	return server->d.deadline - (u64)max(server->d.budget_ns, (s64)0);
}

/* Idle time since the server was off last used up what was left of its budget. */
static void count_idle_time(struct rq *rq)
{
	struct dl_server *server = &dl_of(rq)->server;
	u64 idle = rq->idle_ns - server->idle_ns;

	SCHED_DEBUG_ASSERT(!server->active);
	if (is_idle_task(rq->curr) && time_before(rq->curr->fair.exec_start, rq->clock))
		idle += rq->clock - rq->curr->fair.exec_start;
	if (server->d.budget_ns < 0)
		return;
	if (idle > (u64)server->d.budget_ns)
		server->starving = false;
	server->d.budget_ns -= (s64)min(idle, (u64)server->d.budget_ns);
}

static void server_start(struct rq *rq)
{
	struct dl_server *server = &dl_of(rq)->server;
	struct server_note note;

	debug_assert_locked(rq);
	if (!server->d.runtime_ns || !rq->online)
		return;
	server_note_begin(&note, rq);
	count_idle_time(rq);
	cbs_wake(&server->d, rq->clock);
	server->active = true;
	if (server->starving && !server->d.throttled)
		set_ready(rq, true);
	/* A server that stops while it is not ready leaves its timer armed, so mostly one comes. */
	else if (!dl_timer_comes(rq, dl_server_next_timer(rq)))
		rq->timer_stale = true;
	server_note_end(&note, rq, ACT_enter, REASON_fair_came);
}

static void server_stop(struct rq *rq)
{
	struct dl_server *server = &dl_of(rq)->server;
	struct server_note note;

	debug_assert_locked(rq);
	if (!server->active)
		return;
	server_note_begin(&note, rq);
	server->active = false;
	server->idle_ns = rq->idle_ns;
	if (server->ready)
		set_ready(rq, false);
	server_note_end(&note, rq, ACT_leave, REASON_fair_went);
}

/* --- budget and periods ------------------------------------------------------------- */

/* The budget was used on the server's behalf. */
static void exhaust(struct rq *rq)
{
	struct dl_server *server = &dl_of(rq)->server;
	struct server_note note;

	SCHED_DEBUG_ASSERT(server->ready);
	server_note_begin(&note, rq);
	cbs_exhaust(&server->d, rq->clock);
	set_ready(rq, !server->d.throttled);
	server_note_end(&note, rq, ACT_throttle, REASON_budget_used);
	if (!dl_server_is_first(rq))
		resched(rq);
}

/* Fair tasks had the budget without the server's help. */
static void begin_anew(struct rq *rq)
{
	struct dl_server *server = &dl_of(rq)->server;
	struct server_note note;

	SCHED_DEBUG_ASSERT(server->active && !server->ready);
	server_note_begin(&note, rq);
	server->starving = false;
	cbs_start(&server->d, rq->clock);
	rq->timer_stale = true;
	server_note_end(&note, rq, ACT_throttle, REASON_fair_ran);
}

static void server_charge(struct rq *rq, u64 delta)
{
	struct dl_server *server = &dl_of(rq)->server;

	debug_assert_locked(rq);
	if (!server->active)
		return;
	server->d.budget_ns -= (s64)delta;
	if (likely(server->d.budget_ns > 0))
		return;
	if (server->ready)
		exhaust(rq);
	else
		begin_anew(rq);
}

/* When its budget ends, unless a tick will find that out; 0: it is not used at present. */
static u64 budget_ends(const struct rq *rq, const struct dl_task *d)
{
	if (!on_fair(rq) || !feature(rq->s, FEATURE_HRTICK_DL))
		return 0;
	return rq->curr->fair.exec_start + (u64)max(d->budget_ns, (s64)1);
}

/*
 * Returns when the server needs its timer next: for the end of its budget, for its zero-laxity
 * time, or for the beginning of a period. 0: not at all.
 */
u64 dl_server_next_timer(const struct rq *rq)
{
	const struct dl_server *server = &dl_seen(rq)->server;
	const struct dl_task *d = &server->d;

	if (!server->active)
		return 0;
	if (server->ready)
		return budget_ends(rq, d);
	return d->throttled ? d->replenish_at : dl_server_zero_laxity(server);
}

void dl_server_timer(struct rq *rq)
{
	struct dl_server *server = &dl_of(rq)->server;
	struct dl_task *d = &server->d;
	struct server_note note;
	enum class_rule why;
	u64 due;

	debug_assert_locked(rq);
	if (!server->active)
		return;
	if (on_fair(rq))
		charge_current(rq);
	due = d->throttled ? d->replenish_at : dl_server_zero_laxity(server) - SERVER_STEP_NS;
	if (server->ready || time_before(rq->clock, due))
		return;
	why = d->throttled ? REASON_period_begins : REASON_zero_laxity;
	server_note_begin(&note, rq);
	if (d->budget_ns <= 0)
		cbs_replenish(d, rq->clock);
	else
		cbs_wake(d, rq->clock); /* it does not fit: a new period */
	server->starving = true;
	set_ready(rq, true);
	server_note_end(&note, rq, ACT_replenish, why);
}

static bool server_numbers(struct rq *rq, struct class_numbers *n)
{
	const struct dl_server *server = &dl_of(rq)->server;
	const struct dl_task *d = &server->d;

	*n = (struct class_numbers){
		.bw = (u32)d->bw,
		.deadline = d->deadline,
		.budget = d->budget_ns,
		.runtime = d->runtime_ns,
		.relative = d->relative_ns,
		.period = d->period_ns,
		.throttled = !server->ready,
		.replenish_at = d->throttled ? d->replenish_at : 0,
	};
	return server->active;
}

const struct fair_server dl_fair_server = {
	.start = server_start,
	.stop = server_stop,
	.charge = server_charge,
	.publish = dl_publish_policy,
	.numbers = server_numbers,
};

/* --- its parameters ------------------------------------------------------------------ */

static const char *const file_name[] = { "runtime", "period" };

const char *sched_fair_server_file(unsigned index)
{
	return index < ARRAY_SIZE(file_name) ? file_name[index] : NULL;
}

int sched_fair_server_read(struct sched *s, unsigned cpu, unsigned file, char *buf, size_t size)
{
	const struct dl_task *d = &dl_of(cpu_rq(s, cpu))->server.d;

	SCHED_DEBUG_ASSERT(file < ARRAY_SIZE(file_name));
	return fmt_snprintf(buf, size, "%lu\n",
			    READ_ONCE(*(file ? &d->period_ns : &d->runtime_ns)));
}

/* A new runtime and period for the server of @rq, locked: what it was doing is forgotten. */
static int set_parameters(struct rq *rq, u64 runtime, u64 period)
{
	struct dl_server *server = &dl_of(rq)->server;
	bool queued = rq->fair.limited && rq->fair.nr_running;
	int err;

	debug_assert_locked(rq);
	if (runtime > period || period < SERVER_PERIOD_MIN_NS || period > SERVER_PERIOD_MAX_NS)
		return -EINVAL;
	err = dl_admit_server(rq, dl_bw(runtime, period));
	if (err)
		return err;
	if (on_fair(rq))
		charge_current(rq);
	server_stop(rq);
	server->d = (struct dl_task){ .runtime_ns = runtime,
				      .relative_ns = period,
				      .period_ns = period,
				      .bw = dl_bw(runtime, period) };
	if (queued)
		server_start(rq);
	/* A task that the server let run may have to wait now; and the timer is another. */
	resched(rq);
	return 0;
}

int sched_fair_server_write(struct sched *s, unsigned cpu, unsigned file, const char *text,
			    size_t len)
{
	struct rq *rq = cpu_rq(s, cpu);
	const struct dl_task *d = &dl_of(rq)->server.d;
	u64 value;
	int err = parse_u64(text, len, &value);

	SCHED_DEBUG_ASSERT(file < ARRAY_SIZE(file_name));
	if (err)
		return -EINVAL;
	rq_lock(rq);
	err = set_parameters(rq, file ? d->runtime_ns : value, file ? value : d->period_ns);
	rq_unlock(rq);
	return err;
}
