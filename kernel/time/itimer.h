/* SPDX-License-Identifier: GPL-2.0-only */
/* Interval timers of a process: alarm, setitimer, timer_create. */
#pragma once

#include "kernel/task/proc.h"
#include "kernel/time/time.h"

struct itimer_setting {
	u64 value_ns;	 /* until it expires; 0: disarmed */
	u64 interval_ns; /* then every; 0: once */
};

/* A timer that re-arms itself: the part that all kinds of interval timers have in common. */
struct interval_timer {
	struct ktimer ktimer;
	u64 interval_ns; /* between expiries; changed only while the timer is cancelled */
};
/*
 * For the callback: re-arm at a multiple of the interval after the time it was due. Returns how
 * many multiples were skipped.
 */
u64 interval_timer_rearm(struct interval_timer *t);
/* The rest until it expires, 1 ns if it is due, and the interval. Waits for its callback. */
struct itimer_setting interval_timer_get(struct interval_timer *t);
/* As interval_timer_get(), and the timer is disarmed. */
struct itimer_setting interval_timer_stop(struct interval_timer *t);
/* Start a timer that is disarmed for @expires_ns (clock_ns(); 0: it stays so). */
void interval_timer_start(struct interval_timer *t, u64 expires_ns, u64 interval_ns);

/*
 * Set ITIMER_REAL of the current process, which sends SIGALRM. NULL @new only reads. 0 or -ENOMEM.
 */
int itimer_real_set(const struct itimer_setting *new, struct itimer_setting *old);

/* timer_create(2): what an expiry does. */
struct timer_event {
	int sig;	       /* 0: nothing */
	struct thread *thread; /* with a reference: that thread gets it; NULL: the process */
	u64 value;	       /* siginfo.si_value */
	bool value_is_id;      /* that is the timer's number */
};
/*
 * Create a disarmed timer of the current process, whose absolute times are CLOCK_REALTIME's if
 * @realtime. Returns its id or -EAGAIN. Consumes @event->thread on success.
 */
long posix_timer_create(const struct timer_event *event, bool realtime);
/* -EINVAL: no such timer. With @absolute, @new->value_ns is a time and not a span. */
long posix_timer_set(int id, const struct itimer_setting *new, bool absolute,
		     struct itimer_setting *old);
/* Returns how many expiries found the signal pending that was then taken: the last one taken. */
long posix_timer_overrun(int id);
long posix_timer_delete(int id);

/* exec: timer_create's timers go. */
void posix_timers_free(struct proc *p);
/* exit: no timer of @p, the current process, fires any more. */
void itimers_free(struct proc *p);
