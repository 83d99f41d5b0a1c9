/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interval timers: ITIMER_REAL (alarm, setitimer) and those of timer_create(2). Both are kernel
 * timers whose callback sends a signal and re-arms.
 *
 * A POSIX timer has at most one signal pending; expiries meanwhile are counted as overruns. The
 * place in the queue comes with the timer, so that an expiry needs no memory.
 *
 * Locking: itimers->lock guards the list and the settings. A callback, in an interrupt, reads
 * interval and event without it: a setter cancels the timer first, and that waits for the callback.
 * posix_timer->lock guards the two counts; a process's sig_lock nests in it.
 */
#include "kernel/base/guards.h"
#include "kernel/contract.h"
#include "kernel/time/itimer.h"

#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/signal.h"
#include "kernel/time/time.h"
#include "lib/errno.h"

struct posix_timer {
	struct interval_timer it;
	GUARDED(itimers->lock);
	struct list link;
	GUARDED(constant);
	int id;

	struct spinlock lock;
	GUARDED(lock);
	u32 overrun;	  /* of the signal sent last */
	u32 overrun_then; /* of the signal before it, which somebody has taken */
	GUARDED(itimers->lock);
	bool realtime; /* absolute times are CLOCK_REALTIME's */

	struct timer_event event;
	GUARDED(constant);
	struct proc *proc;

	struct account *user;	/* charged for the signal that may be pending */
	struct sigqueue *place; /* of that signal */
};

struct itimers {
	struct mutex lock;
	struct interval_timer real;
	GUARDED(lock);
	struct list posix;
	int next_id;
	unsigned nr_posix;
	GUARDED(constant);
	struct proc *proc;
};

#define POSIX_TIMERS_MAX 1024 /* as many as a process may have descriptors */

/* --- what they have in common ------------------------------------------------------- */

/* A timer interrupts no more often than this, however short its interval. */
#define MIN_PERIOD_NS (20 * NS_PER_US)

u64 interval_timer_rearm(struct interval_timer *t)
{
	u64 due = t->ktimer.expires_ns, now = clock_ns(), skipped = 0;

	debug_assert(arch_in_irq());
	if (!t->interval_ns)
		return 0;
	u64 earliest = t->interval_ns < MIN_PERIOD_NS ? now + MIN_PERIOD_NS : now;
	if (earliest > due)
		skipped = (earliest - due) / t->interval_ns;
	ktimer_start(&t->ktimer, due + (skipped + 1) * t->interval_ns);
	return skipped;
}

/* @expires_ns was read before: by an earlier clock the rest could exceed a period. */
static struct itimer_setting setting(const struct interval_timer *t, u64 expires_ns)
{
	u64 now = clock_ns();

	if (!expires_ns)
		return (struct itimer_setting){ 0 };
	return (struct itimer_setting){ expires_ns > now ? expires_ns - now : 1, t->interval_ns };
}

struct itimer_setting interval_timer_get(struct interval_timer *t)
{
	return setting(t, ktimer_expiry(&t->ktimer));
}

struct itimer_setting interval_timer_stop(struct interval_timer *t)
{
	bool armed = ktimer_cancel(&t->ktimer);

	return setting(t, armed ? t->ktimer.expires_ns : 0);
}

void interval_timer_start(struct interval_timer *t, u64 expires_ns, u64 interval_ns)
{
	debug_assert(!t->ktimer.armed);
	t->interval_ns = interval_ns;
	if (expires_ns)
		ktimer_start(&t->ktimer, expires_ns);
}

/* --- ITIMER_REAL ---------------------------------------------------------------------- */

static void real_expired(struct ktimer *k)
{
	struct itimers *its = k->arg;

	signal_send_proc(its->proc, SIGALRM, NULL);
	interval_timer_rearm(&its->real);
}

static struct itimers *get_itimers(struct proc *p)
{
	struct itimers *its = READ_ONCE(p->itimers), *expected = NULL;

	debug_assert(p == current->proc);
	if (its)
		return its;
	its = kzalloc(sizeof(*its));
	if (!its)
		return NULL;
	mutex_init(&its->lock, "itimers");
	ktimer_init(&its->real.ktimer, real_expired, its);
	list_init(&its->posix);
	its->proc = p;
	if (__atomic_compare_exchange_n(&p->itimers, &expected, its, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return its;
	kfree(its);
	return expected;
}

int itimer_real_set(const struct itimer_setting *new, struct itimer_setting *old)
{
	struct itimers *its = get_itimers(current->proc);

	debug_assert(may_sleep());
	if (!its)
		return -ENOMEM;
	mutex_lock(&its->lock);
	*old = new ? interval_timer_stop(&its->real) : interval_timer_get(&its->real);
	if (new)
		interval_timer_start(&its->real, new->value_ns ? clock_ns() + new->value_ns : 0,
				     new->interval_ns);
	mutex_unlock(&its->lock);
	return 0;
}

/* --- timer_create ------------------------------------------------------------------------ */

static void posix_expired(struct ktimer *k)
{
	struct posix_timer *t = k->arg;
	const struct timer_event *e = &t->event;
	u64 skipped = min(interval_timer_rearm(&t->it), (u64)INT32_MAX - 1);
	struct siginfo info = {
		.code = SI_TIMER,
		.timer = { .timerid = t->id, .overrun = (int)skipped, .value = e->value }
	};

	if (!e->sig)
		return;
	unsigned long flags = spin_lock_irqsave(&t->lock);
	if (signal_overrun(t->proc, e->thread, e->sig, t->id, (u32)skipped + 1)) {
		t->overrun = (u32)min(t->overrun + 1 + skipped, (u64)INT32_MAX);
	} else {
		t->overrun_then = t->overrun;
		t->overrun = (u32)skipped;
		signal_send_timer(t->proc, e->thread, e->sig, &info, t->place);
	}
	spin_unlock_irqrestore(&t->lock, flags);
}

/* A timer of the running process, whose user is charged. NULL: there are too many, or no memory. */
static struct posix_timer *alloc_timer(const struct timer_event *event, bool realtime)
{
	struct account *user = current->account;
	u64 limit = READ_ONCE(current->proc->rlimit[RLIMIT_SIGPENDING].cur);
	struct posix_timer *t = kzalloc(sizeof(*t));

	if (!t || !account_charge(user, RES_SIGNALS, 1, limit)) {
		kfree(t);
		return NULL;
	}
	t->place = signal_timer_place();
	if (!t->place) {
		account_give(user, RES_SIGNALS, 1);
		kfree(t);
		return NULL;
	}
	ktimer_init(&t->it.ktimer, posix_expired, t);
	spin_lock_init(&t->lock, "posix timer");
	t->event = *event;
	t->realtime = realtime;
	t->proc = current->proc;
	t->user = account_get(user);
	return t;
}

static void release_timer(struct posix_timer *t)
{
	debug_assert(!t->it.ktimer.armed);
	signal_timer_forget(t->proc, t->place);
	account_give(t->user, RES_SIGNALS, 1);
	account_put(t->user);
	kfree(t);
}

long posix_timer_create(const struct timer_event *event, bool realtime)
{
	struct itimers *its = get_itimers(current->proc);
	struct posix_timer *t = its ? alloc_timer(event, realtime) : NULL;

	debug_assert(may_sleep());
	if (!t)
		return -EAGAIN;
	mutex_lock(&its->lock);
	bool room = its->nr_posix < POSIX_TIMERS_MAX;
	if (room) {
		/* Numbers are not reused, so that a late use of an old one is an error. */
		t->id = its->next_id++;
		if (event->value_is_id)
			t->event.value = (u64)t->id;
		its->nr_posix++;
		list_add_tail(&its->posix, &t->link);
	}
	int id = t->id;
	mutex_unlock(&its->lock);
	if (!room)
		release_timer(t);
	return room ? id : -EAGAIN;
}

/* Returns the timer @id with its process's timers locked, or NULL. */
static struct posix_timer *lock_timer(int id)
{
	struct itimers *its = current->proc->itimers;
	struct posix_timer *t;

	if (!its)
		return NULL;
	mutex_lock(&its->lock);
	list_for_each(t, &its->posix, link)
		if (t->id == id)
			return t;
	mutex_unlock(&its->lock);
	return NULL;
}

static void unlock_timers(void)
{
	mutex_unlock(&current->proc->itimers->lock);
}

static u64 expiry(const struct posix_timer *t, u64 value_ns, bool absolute, u64 now)
{
	if (!value_ns)
		return 0;
	if (!absolute)
		return now + value_ns;
	return t->realtime ? clock_monotonic_of(value_ns) : value_ns;
}

long posix_timer_set(int id, const struct itimer_setting *new, bool absolute,
		     struct itimer_setting *old)
{
	struct posix_timer *t = lock_timer(id);
	u64 now = clock_ns();

	if (!t)
		return -EINVAL;
	*old = new ? interval_timer_stop(&t->it) : interval_timer_get(&t->it);
	if (new) {
		t->overrun = t->overrun_then = 0;
		interval_timer_start(&t->it, expiry(t, new->value_ns, absolute, now),
				     new->interval_ns);
	}
	unlock_timers();
	return 0;
}

long posix_timer_overrun(int id)
{
	struct posix_timer *t = lock_timer(id);

	if (!t)
		return -EINVAL;
	const struct timer_event *e = &t->event;
	unsigned long flags = spin_lock_irqsave(&t->lock);
	bool pending = e->sig && signal_overrun(t->proc, e->thread, e->sig, t->id, 0);
	long n = pending ? t->overrun_then : t->overrun;
	spin_unlock_irqrestore(&t->lock, flags);
	unlock_timers();
	return n;
}

static void free_timer(struct itimers *its, struct posix_timer *t)
{
	debug_assert(mutex_is_held(&its->lock) && its->nr_posix);
	ktimer_cancel(&t->it.ktimer);
	its->nr_posix--;
	list_del(&t->link);
	if (t->event.thread)
		thread_put(t->event.thread);
	release_timer(t);
}

long posix_timer_delete(int id)
{
	struct posix_timer *t = lock_timer(id);

	if (!t)
		return -EINVAL;
	free_timer(current->proc->itimers, t);
	unlock_timers();
	return 0;
}

/* --- the end ---------------------------------------------------------------------------------- */

void posix_timers_free(struct proc *p)
{
	struct itimers *its = p->itimers;
	struct posix_timer *t, *next;

	debug_assert(p == current->proc);
	if (!its)
		return;
	mutex_lock(&its->lock);
	list_for_each_safe(t, next, &its->posix, link)
		free_timer(its, t);
	mutex_unlock(&its->lock);
}

void itimers_free(struct proc *p)
{
	struct itimers *its = p->itimers;

	if (!its)
		return;
	ktimer_cancel(&its->real.ktimer);
	posix_timers_free(p);
	owned(its);
	debug_assert(list_empty(&its->posix) && !its->nr_posix && !its->lock.locked);
	p->itimers = NULL;
	kfree(its);
}
