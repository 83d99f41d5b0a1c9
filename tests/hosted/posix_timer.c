/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timers of a process (kernel/time/itimer.c): one of timer_create(2) whose signal is for the
 * process, one whose signal is for the first thread, and ITIMER_REAL. The model is the time of the
 * next expiry, the interval, whether the signal is pending and what it has counted. Time goes by in
 * calls of the program, as with a timerfd.
 */
#include "kernel/task/signal.h"
#include "kernel/task/thread.h"
#include "kernel/time/itimer.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

#define BEGIN_NS 1000000000ull
#define STEP_NS	 100000ull

enum which { OF_PROCESS, OF_THREAD, REAL, NR_TIMERS };

static const int signals[NR_TIMERS] = { SIGRTMIN, SIGUSR1, SIGALRM };

/*
 * The number of a call: the timer, and of a set 3 times the steps until it expires (0: disarmed),
 * and 24 times the interval.
 */
enum op { OP_SET, OP_SET_TIME, OP_GET, OP_OVERRUN, OP_DELETE, OP_WAIT, OP_TAKE, OP_ADVANCE };
static const char *const op_names[] = { "set",	"set_time", "get",     "overrun", "delete",
					"wait", "take",	    "advance", NULL };

static bool alone; /* others may come between a change of the clock and its interrupt */
static int ids[NR_TIMERS];
/*
 * A set stops the timer and starts it later. If time goes by between the two, the setting before
 * has ended and the new one has not begun: what is counted then is anybody's.
 */
static unsigned nr_setting, nr_advancing;
static bool set_beside_time;

static unsigned timer_of(const struct call *call)
{
	return call->n % NR_TIMERS;
}

static u64 value_of(const struct call *call)
{
	u64 steps = call->n / NR_TIMERS % 8;

	return steps ? steps * STEP_NS + (call->op == OP_SET_TIME ? BEGIN_NS : 0) : 0;
}

static u64 interval_of(const struct call *call)
{
	return call->n / NR_TIMERS / 8 * STEP_NS;
}

static void destroy(void *object)
{
	(void)object;
	itimers_free(&hosted_process);
}

static void *create(unsigned nr_threads)
{
	alone = nr_threads == 1;
	nr_setting = nr_advancing = 0;
	set_beside_time = false;
	for (unsigned i = 0; i < nr_threads; i++)
		world_thread_of(i)->blocked = ~SIG_UNBLOCKABLE;
	hosted_process.rlimit[RLIMIT_SIGPENDING].cur = RLIM_INFINITY;
	for (unsigned i = 0; i < REAL; i++) {
		struct timer_event event = { .sig = signals[i], .value = 7 + i };

		event.thread = i == OF_THREAD ? thread_get(world_thread_of(0)) : NULL;
		ids[i] = (int)posix_timer_create(&event, false);
		if (ids[i] >= 0)
			continue;
		if (event.thread)
			thread_put(event.thread);
		itimers_free(&hosted_process);
		return NULL;
	}
	return ids;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_SET... OP_SET_TIME] = { 0, NR_TIMERS * 32 - 1 },
	[OP_GET... OP_TAKE] = { 0, NR_TIMERS - 1 },
	[OP_ADVANCE] = { 1, 5 },
};

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = { OP_SET,	OP_SET_TIME, OP_SET_TIME, OP_GET,     OP_OVERRUN,
				    OP_OVERRUN, OP_TAKE,     OP_TAKE,	  OP_ADVANCE, OP_ADVANCE,
				    OP_ADVANCE, OP_WAIT,     OP_DELETE };
	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often))] };

	/* A span begins at some moment of the call, and others may come before it is set. */
	if (call.op == OP_SET && !one)
		call.op = OP_SET_TIME;
	if (one && ((call.op == OP_WAIT && prng_below(random, 8)) ||
		    (call.op == OP_DELETE && prng_below(random, 8))))
		call.op = OP_TAKE;
	if (call.op == OP_ADVANCE) {
		call.n = 1 + prng_below(random, 5);
		return call;
	}
	call.n = prng_below(random, one ? 3 : 2);
	/* The other kind has neither a number nor absolute times. */
	if (call.n == REAL && (call.op == OP_OVERRUN || call.op == OP_DELETE))
		call.op = OP_GET;
	if (call.n == REAL && call.op == OP_SET_TIME)
		call.op = OP_SET;
	if (call.op <= OP_SET_TIME)
		call.n += NR_TIMERS * prng_below(random, 32);
	return call;
}

#define DUE_NOW 99 /* steps: the interrupt has not yet come */

static u64 pack(u64 value, u64 interval)
{
	u64 steps = value == 1 ? DUE_NOW : value / STEP_NS;

	return steps * 100 + interval / STEP_NS;
}

static void set_or_get(const struct call *call, struct answer *a)
{
	struct itimer_setting new = { value_of(call), interval_of(call) }, old = { 0 };
	const struct itimer_setting *set = call->op == OP_GET ? NULL : &new;
	unsigned i = timer_of(call);

	set_beside_time |= set && nr_advancing;
	nr_setting += !!set;
	a->value = i == REAL ? itimer_real_set(set, &old)
			     : posix_timer_set(ids[i], set, call->op == OP_SET_TIME, &old);
	nr_setting -= !!set;
	a->digest = pack(old.value_ns, old.interval_ns);
}

static void advance(u64 ns)
{
	set_beside_time |= nr_setting;
	nr_advancing++;
	clock_advance(ns);
	nr_advancing--;
}

/* Of a timer's signal the digest is its overrun and, times 1000, its number and its value. */
static u64 digest_of(unsigned i, u64 overrun)
{
	return i == REAL ? 0 : overrun + 1000 * ((u64)ids[i] + 100 * (7 + i));
}

static void take(const struct call *call, struct answer *a)
{
	unsigned i = timer_of(call);
	struct siginfo info;

	a->value = signal_wait(SIGMASK(signals[i]), &info, call->op == OP_WAIT ? TIME_NEVER : 0);
	if (a->value == -EINTR)
		a->value = -ERESTARTSYS;
	if (a->value == signals[i] && i != REAL)
		a->digest = info.code == SI_TIMER
				    ? (u64)info.timer.overrun + 1000 * ((u64)info.timer.timerid +
									100 * info.timer.value)
				    : ~0ull;
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct answer a = { 0 };

	(void)object;
	(void)nr;
	(void)id;
	if (call->op <= OP_GET)
		set_or_get(call, &a);
	else if (call->op == OP_OVERRUN)
		a.value = posix_timer_overrun(ids[timer_of(call)]);
	else if (call->op == OP_DELETE)
		a.value = posix_timer_delete(ids[timer_of(call)]);
	else if (call->op == OP_ADVANCE)
		advance(call->n * STEP_NS);
	else
		take(call, &a);
	return a;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	u64 now;
	struct timer {
		bool deleted, pending, taken; /* once by somebody */
		u64 expires, interval;
		u64 missed;	   /* of the pending signal: expiries after its own */
		u64 overrun, then; /* since the last set: of the last signal, of the one before */
	} timer[NR_TIMERS];
};

static void model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	*(struct model *)model = (struct model){ .now = BEGIN_NS };
}

static void expire_once(struct timer *t)
{
	if (t->pending) {
		t->missed++;
		t->overrun++;
		return;
	}
	t->pending = true;
	t->missed = 0;
	t->then = t->overrun;
	t->overrun = 0;
}

static void expire(struct model *m, struct timer *t)
{
	while (t->expires && t->expires <= m->now) {
		expire_once(t);
		t->expires = t->interval ? t->expires + t->interval : 0;
	}
}

static void model_set(struct model *m, const struct call *call, struct answer *a)
{
	struct timer *t = &m->timer[timer_of(call)];
	u64 seen = a->digest, value = value_of(call);
	bool is_due = t->expires && seen == pack(1, t->interval);

	a->value = t->deleted ? -EINVAL : 0;
	a->digest = !t->deleted && t->expires ? pack(t->expires - m->now, t->interval) : 0;
	/* A set stops the timer and reads the clock later: what is left of it depends on both. */
	if (!alone && !t->deleted && (is_due || call->op != OP_GET))
		a->digest = seen;
	if (call->op == OP_GET || t->deleted)
		return;
	t->overrun = t->then = 0;
	t->interval = interval_of(call);
	t->expires = call->op == OP_SET && value ? m->now + value : value;
	expire(m, t);
}

static enum model_says model_take(struct model *m, const struct call *call, struct answer *a)
{
	struct timer *t = &m->timer[timer_of(call)];

	/* Another may have taken what has woken this one. */
	if (!t->pending && t->taken && !alone && a->value == -ERESTARTSYS)
		return MAY_SLEEP;
	a->digest = 0;
	a->value = -EAGAIN;
	if (!t->pending)
		return call->op == OP_WAIT ? MUST_SLEEP : ENDS;
	a->value = signals[timer_of(call)];
	a->digest = digest_of(timer_of(call), t->missed);
	t->pending = false;
	t->taken = true;
	return ENDS;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	struct timer *t = &m->timer[timer_of(call)];

	(void)id;
	if (set_beside_time && call->op >= OP_OVERRUN && call->op < OP_ADVANCE &&
	    call->op != OP_DELETE)
		return call->op == OP_WAIT ? MAY_SLEEP : ENDS;
	switch ((enum op)call->op) {
	case OP_OVERRUN:
		a->value = t->deleted ? -EINVAL : (long)(t->pending ? t->then : t->overrun);
		return ENDS;
	case OP_DELETE:
		a->value = t->deleted ? -EINVAL : 0;
		t->deleted = true;
		t->expires = 0;
		return ENDS;
	case OP_WAIT:
	case OP_TAKE:
		/* The first thread's signal is for no other. */
		if (nr && timer_of(call) == OF_THREAD) {
			a->value = -EAGAIN;
			a->digest = 0;
			return call->op == OP_WAIT ? MUST_SLEEP : ENDS;
		}
		return model_take(m, call, a);
	case OP_ADVANCE:
		m->now += call->n * STEP_NS;
		for (unsigned i = 0; i < NR_TIMERS; i++)
			expire(m, &m->timer[i]);
		return ENDS;
	default:
		model_set(m, call, a);
		return ENDS;
	}
}

DEFINE_OBJECT(posix_timer, "$each(hosted_process.itimers->posix, \"struct posix_timer.link\")");
