/* 64-bit arithmetic that C does not name: wide products, wrap-safe order, logarithms. */
#pragma once

#include "lib/types.h"

/* (a * b) >> shift with a 128-bit product; the result is truncated to 64 bits. */
static inline u64 mul_shr(u64 a, u64 b, unsigned shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

/* (a * b) / c rounded down; the quotient must fit 64 bits, c != 0. */
static inline u64 mul_div(u64 a, u64 b, u64 c)
{
	u64 quotient, rest;

	__asm__("mulq %3\n\tdivq %4"
		: "=&a"(quotient), "=&d"(rest)
		: "0"(a), "r"(b), "r"(c)
		: "cc");
	return quotient;
}

/* Order on a circle: correct while the values are less than 2^63 apart. */
static inline bool time_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static inline u64 time_max(u64 a, u64 b)
{
	return time_before(a, b) ? b : a;
}

static inline u64 time_min(u64 a, u64 b)
{
	return time_before(b, a) ? b : a;
}

/* Number of significant bits; 0 for 0. */
static inline unsigned bit_length(u64 v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* floor(log2(v)), v > 0 */
static inline unsigned ilog2(u64 v)
{
	return bit_length(v) - 1;
}

/* a - b, but never below 0. */
static inline u64 sub_floor0(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}
