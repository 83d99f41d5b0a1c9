/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks, sleeping and burning CPU time: see clock.h.
 */
#define _GNU_SOURCE
#include "lib/clock.h"

#include <errno.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

uint64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void sleep_until_ns(uint64_t deadline_ns)
{
	struct timespec ts = { deadline_ns / NS_PER_S, deadline_ns % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void sleep_ns(uint64_t ns)
{
	sleep_until_ns(now_ns() + ns);
}

/*
 * One turn of the loop is two or three instructions, so this takes about 1 us of virtual time under
 * -icount. The pause ends the virtual CPU's turn there: other CPUs go on at once, which keeps SMP
 * runs even and a tick that several CPUs take at one moment within a microsecond of it. Each pause
 * costs about 1 us of host time.
 */
void spin(void)
{
	for (unsigned i = 0; i < 400; i++)
		__asm__ volatile("");
	__builtin_ia32_pause();
}

void burn_ns(uint64_t ns)
{
	uint64_t end_ns = thread_cpu_ns() + ns;

	while (thread_cpu_ns() < end_ns)
		spin();
}
