/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel time: one clock, per-CPU timers in an ordered tree, the tick.
 */
#pragma once

#include "kernel/arch.h"
#include "lib/rbtree.h"
#include "lib/types.h"

/* ns since boot: CLOCK_MONOTONIC, CLOCK_BOOTTIME. */
static inline u64 clock_ns(void)
{
	return arch_clock_ns();
}
/* ns since 1970: CLOCK_REALTIME. Any context. */
u64 clock_realtime_ns(void);
void clock_set_realtime(u64 ns);
/* There is a vDSO now: tell it the time. */
void clock_publish(void);
/*
 * Converts a CLOCK_REALTIME to clock_ns(), as the real-time clock is set now; 1 if that was before
 * boot.
 */
u64 clock_monotonic_of(u64 realtime_ns);

struct ktimer {
	u64 expires_ns;		      /* earliest time; unchanged during the callback */
	void (*fn)(struct ktimer *t); /* in interrupt context on the CPU that armed it; may re-arm
					 or free @t */
	void *arg;
	/* private to timer.c; timers: the lock of those of a CPU */
	GUARDED(timers);
	u64 hard_ns; /* the interrupt is programmed for this */
	struct rb_node node;
	GUARDED(timers, "who locks and looks again");
	u32 cpu;
	GUARDED(timers, "the owner");
	bool armed;
};
void ktimer_init(struct ktimer *t, void (*fn)(struct ktimer *), void *arg);
void ktimer_start(struct ktimer *t, u64 expires_ns); /* re-arms if armed */
/* As ktimer_start(), but the timer may be up to @slack_ns late if that saves an interrupt. */
void ktimer_start_slack(struct ktimer *t, u64 expires_ns, u64 slack_ns);
/* Returns true if it was armed. On return the callback is not running. Not from the callback. */
bool ktimer_cancel(struct ktimer *t);
/*
 * Returns when @t is due; 0: it is not armed. Waits for its callback, which may re-arm it. Not from
 * an interrupt.
 */
u64 ktimer_expiry(struct ktimer *t);
#define TIME_NEVER UINT64_MAX
/*
 * Sleep until @deadline_ns (clock_ns; TIME_NEVER: only a signal ends it). 0, or -ERESTARTSYS if a
 * signal came.
 */
long sleep_until(u64 deadline_ns, u64 slack_ns);

/*
 * Give up the CPU until woken or @deadline_ns (0: no deadline); false if the deadline came first.
 * The caller has announced the sleep (waitq_prepare).
 */
bool schedule_until(u64 deadline_ns);

extern unsigned tick_hz; /* hz= on the command line */

/* Load averages of 1, 5 and 15 minutes, in units of 1/LOAD_ONE (load.c). */
#define LOAD_SHIFT 11
#define LOAD_ONE   (1u << LOAD_SHIFT)
void load_average(u64 loads[3]);
