/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round trips between two parties that take turns: the cost of blocking, waking and switching.
 */
#pragma once

#include <stdint.h>

/*
 * Each runs @nr round trips, after a warm-up, between a party on CPU @a and one on CPU @b, and
 * returns the mean in ns: one party wakes the other, sleeps, and is woken by it. They end the
 * program on error.
 */
double pipe_round_trip_ns(int nr, int a, int b);  /* two processes, one byte each way: 4 calls */
double futex_round_trip_ns(int nr, int a, int b); /* two threads: 4 calls */

/* Two processes on CPU @a yield to each other: ns per switch that really happened. */
double yield_switch_ns(int nr, int a, int b);
