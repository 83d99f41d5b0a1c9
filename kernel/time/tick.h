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
/* Programs the hardware for what is due next on this CPU. Interrupts off. */
void timer_program_next(void);
/* host_timer() of the scheduler's seam. Interrupts off. */
void timer_set_sched(unsigned cpu, u64 when_ns);
/*
 * Used while the machine is stopped (kernel/task/hotplug.c). timers_take_over() makes the timers of
 * CPU @from, which leaves, this CPU's. @from itself calls timer_stop_cpu(), so that it gets no
 * timer interrupt until tick_start(). Interrupts off.
 */
void timers_take_over(unsigned from);
void timer_stop_cpu(void);
/*
 * watchdog.c, from the timer interrupt: look after this CPU and the others. Returns when to look
 * again; 0: not before watchdog_start().
 */
u64 watchdog_sample(u64 now_ns);
/* This CPU comes into service, @cpu goes out of it. Returns as above. Interrupts off. */
u64 watchdog_start(u64 now_ns);
void watchdog_stop(unsigned cpu);
/* The watchdogs' period became another: begin anew on this CPU. Interrupts off. */
void timer_restart_watchdog(void);
