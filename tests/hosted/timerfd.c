/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A timer with a descriptor (kernel/fs/timerfd.c, and of kernel/time the interval timers and
 * timer.c). The model is the time of the next expiry, the interval and the number of expiries.
 * Time goes by in calls of the program; whoever lets it go by takes the interrupt.
 */
#include "kernel/fs/event.h"
#include "kernel/fs/poll.h"
#include "kernel/fs/vfs.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

#define BEGIN_NS 1000000000ull
#define STEP_NS	 100000ull

/* The number of a call: the time in steps, and for a set the interval times 8; 0: disarmed. */
enum op { OP_READ, OP_TRY_READ, OP_SET, OP_SET_TIME, OP_GET, OP_POLL, OP_ADVANCE };
static const char *const op_names[] = { "read", "try_read", "set",     "set_time",
					"get",	"poll",	    "advance", NULL };

static bool alone; /* others may come between a change of the clock and its interrupt */

static void *create(unsigned nr_threads)
{
	alone = nr_threads == 1;
	return timerfd_open(false, 0);
}

static void destroy(void *object)
{
	file_put(object);
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_SET... OP_SET_TIME] = { 0, 31 },
	[OP_ADVANCE] = { 1, 5 },
};

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = { OP_READ, OP_TRY_READ, OP_SET,     OP_SET_TIME,
				    OP_SET,  OP_ADVANCE,  OP_ADVANCE, OP_READ,
				    OP_POLL, OP_ADVANCE,  OP_GET };
	struct call call = { .op = often[prng_below(random, (u32)sizeof(often))] };

	/* A span begins at some moment of the call, and others may come before it is set. */
	if (call.op == OP_SET && !one)
		call.op = OP_SET_TIME;
	if (call.op == OP_ADVANCE)
		call.n = 1 + prng_below(random, 5);
	if (call.op == OP_SET || call.op == OP_SET_TIME)
		call.n = prng_below(random, 32);
	if (call.op <= OP_TRY_READ && !prng_below(random, 6))
		call.how = 1 + (u8)prng_below(random, 2);
	return call;
}

static u64 value_of(const struct call *call)
{
	u64 steps = call->n % 8;

	return steps ? steps * STEP_NS + (call->op == OP_SET_TIME ? BEGIN_NS : 0) : 0;
}

static u64 interval_of(const struct call *call)
{
	return call->n / 8 * STEP_NS;
}

#define DUE_NOW 99 /* steps: the interrupt has not yet come */

static u64 pack(u64 value, u64 interval)
{
	u64 steps = value == 1 ? DUE_NOW : value / STEP_NS;

	return steps * 100 + interval / STEP_NS;
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct file f = *(struct file *)object; /* with flags of its own */
	struct itimer_setting new = { value_of(call), interval_of(call) }, old = { 0 };
	struct answer answer = { 0 };
	u64 word = 0, pos = 0;

	(void)nr;
	(void)id;
	user_memory_is(call->how, 0);
	f.flags |= call->op == OP_TRY_READ ? O_NONBLOCK : 0;
	if (call->op == OP_ADVANCE) {
		clock_advance(call->n * STEP_NS);
	} else if (call->op == OP_POLL) {
		answer.value = f.ops->poll(&f, NULL);
	} else if (call->op <= OP_TRY_READ) {
		answer.value = f.ops->read(&f, &word, sizeof(word), &pos);
		answer.digest = word;
	} else {
		answer.value = timerfd_set(&f, call->op == OP_GET ? NULL : &new,
					   call->op == OP_SET_TIME, &old);
		answer.digest = pack(old.value_ns, old.interval_ns);
	}
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	u64 now, expires, interval, ticks;
	bool set_late; /* for a time that had come: until it expires nothing is there */
};

static void model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	*(struct model *)model = (struct model){ .now = BEGIN_NS };
}

/* Counts what has expired by now. */
static void expire(struct model *m)
{
	while (m->expires && m->expires <= m->now) {
		m->ticks++;
		m->expires = m->interval ? m->expires + m->interval : 0;
	}
}

static enum model_says model_read(struct model *m, const struct call *call, struct answer *a)
{
	bool finds_nothing = m->set_late && a->value == -EAGAIN;

	a->digest = 0;
	a->value = -EAGAIN;
	if (!m->ticks || finds_nothing)
		return call->op == OP_READ ? MUST_SLEEP : ENDS;
	if (call->how == USER_BAD) {
		a->value = -EFAULT;
	} else {
		a->value = sizeof(m->ticks);
		a->digest = m->ticks;
	}
	m->ticks = 0;
	m->set_late = false;
	return ENDS;
}

static void model_set(struct model *m, const struct call *call, struct answer *a)
{
	u64 value = value_of(call);
	bool is_due = a->digest == pack(1, m->interval) && (m->expires || m->set_late);
	/* A set stops the timer and reads the clock later: what is left of it depends on both. */
	bool any = is_due || call->op != OP_GET;

	a->value = 0;
	if (alone || !any)
		a->digest = pack(m->expires ? m->expires - m->now : 0, m->interval);
	if (call->op == OP_GET)
		return;
	m->ticks = 0;
	m->interval = interval_of(call);
	m->expires = call->op == OP_SET && value ? m->now + value : value;
	expire(m);
	m->set_late = m->ticks && !alone;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;

	(void)nr;
	(void)id;
	switch ((enum op)call->op) {
	case OP_READ:
	case OP_TRY_READ:
		return model_read(m, call, a);
	case OP_POLL:
		if (!m->set_late || a->value)
			a->value = m->ticks ? POLLIN | POLLRDNORM : 0;
		return ENDS;
	case OP_ADVANCE:
		m->now += call->n * STEP_NS;
		expire(m);
		return ENDS;
	default:
		model_set(m, call, a);
		return ENDS;
	}
}

/* A reader sleeps until a timer expires that has then expired three times. */
static const char *const known[] = { "set_time:9 read:0 / advance:3", NULL };

DEFINE_OBJECT(timerfd, "*(struct timerfd *)((struct file *)object)->private", .known = known);
