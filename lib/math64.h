/* SPDX-License-Identifier: GPL-2.0-only */
/* 64-bit arithmetic that C has no operator for: wide products, order on a circle, logarithms. */
#pragma once

#include "lib/types.h"

/* (a * b) >> shift with a 128-bit product; the result is truncated to 64 bits. */
static inline u64 mul_shr(u64 a, u64 b, unsigned shift)
{
	return (u64)(((unsigned __int128)a * b) >> shift);
}

/*
 * floor(dividend / c); the quotient must fit 64 bits, c != 0. C divides 128 bits in a library
 * function of some forty instructions, which the kernel does not link. x86 has one instruction.
 */
static inline u64 div_wide(unsigned __int128 dividend, u64 c)
{
#ifdef __x86_64__
	u64 quotient = (u64)dividend, rest = (u64)(dividend >> 64);

	__asm__("divq %2" : "+a"(quotient), "+d"(rest) : "r"(c) : "cc");
	return quotient;
#else
	return (u64)(dividend / c);
#endif
}

/* (a * b) / c rounded down; the quotient must fit 64 bits, c != 0. */
static inline u64 mul_div(u64 a, u64 b, u64 c)
{
	return div_wide((unsigned __int128)a * b, c);
}

/* a * b / c rounded towards 0; the quotient must fit 63 bits, c != 0. */
static inline s64 mul_div_signed(s64 a, u64 b, u64 c)
{
	return a < 0 ? -(s64)mul_div(0 - (u64)a, b, c) : (s64)mul_div((u64)a, b, c);
}

/* floor(a / c); the quotient must fit 63 bits, c > 0. */
static inline s64 div_floor(s128 a, u64 c)
{
	/* floor(a / c) = -1 - floor((-1 - a) / c), and one of the dividends is not negative. */
	s64 quotient = (s64)div_wide((unsigned __int128)(a < 0 ? -1 - a : a), c);

	return a < 0 ? -1 - quotient : quotient;
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
