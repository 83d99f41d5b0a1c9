/* SPDX-License-Identifier: GPL-2.0-only */
/* The tick and the one-shot timer of each CPU: what the thread code needs of kernel/time. */
#pragma once

#include "lib/types.h"

/* Before the first CPU goes online: the real-time clock, hz=. */
void clock_init(void);
void tick_init(void);
/* The running CPU leaves idle: tick again. Interrupts off. */
void tick_start(void);
/*
 * Called after a reschedule IPI: another CPU may have set this CPU's scheduler timer. Interrupts
 * off.
 */
void timer_recheck(void);
/* host_timer() of the scheduler's seam. Interrupts off. */
void timer_set_sched(unsigned cpu, u64 when_ns);
/*
 * Used while the machine is stopped (kernel/task/hotplug.c). timers_take_over() makes the timers of
 * CPU @from, which leaves, this CPU's. @from itself calls timer_stop_cpu(), so that it gets no
 * timer interrupt until tick_start(). Interrupts off.
 */
void timers_take_over(unsigned from);
void timer_stop_cpu(void);
/* watchdog.c, from each tick. */
void watchdog_tick(u64 now_ns);
