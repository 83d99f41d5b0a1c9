/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time and work. Work is on-CPU time, not a count of loop turns: under QEMU's -icount all virtual
 * CPUs share one stream of instructions, so a loop of a fixed length slows down when other CPUs are
 * busy, while a budget of on-CPU time means the same whatever else the machine does.
 */
#pragma once

#include <stdint.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

uint64_t now_ns(void);	      /* CLOCK_MONOTONIC */
uint64_t thread_cpu_ns(void); /* on-CPU time of the calling thread */

/* Sleep for @ns, or until CLOCK_MONOTONIC is @deadline_ns. Signals do not cut it short. */
void sleep_ns(uint64_t ns);
void sleep_until_ns(uint64_t deadline_ns);

/* Keep the CPU busy for about a microsecond without asking the kernel anything. */
void spin(void);
/* Use @ns of on-CPU time, to within one spin(). */
void burn_ns(uint64_t ns);
