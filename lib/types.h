/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vocabulary of every layer: fixed-width integers, time units, and the
 * few macros that C ought to have. Freestanding; no state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
/* Aligned like its halves: a structure that holds one need not be aligned to more. */
typedef __int128 s128 __attribute__((aligned(8)));

#define NS_PER_US  1000ull
#define NS_PER_MS  1000000ull
#define NS_PER_SEC 1000000000ull

#define ARRAY_SIZE(a)		 (sizeof(a) / sizeof((a)[0]))
#define STATIC_ASSERT(cond, why) _Static_assert(cond, why)

/* The structure of type @type whose member @member lives at @ptr. */
#define container_of(ptr, type, member) ((type *)((uintptr_t)(ptr)-offsetof(type, member)))

#define min(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) min_a_ = (a);                                                        \
		__typeof__(b) min_b_ = (b);                                                        \
		min_a_ < min_b_ ? min_a_ : min_b_;                                                 \
	})
#define max(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) max_a_ = (a);                                                        \
		__typeof__(b) max_b_ = (b);                                                        \
		max_a_ > max_b_ ? max_a_ : max_b_;                                                 \
	})

/* Powers of two only. */
#define ALIGN_DOWN(x, a) ((x) & ~((__typeof__(x))(a)-1))
#define ALIGN_UP(x, a)	 ALIGN_DOWN((x) + ((__typeof__(x))(a)-1), (a))
#define BIT(n)		 (1ull << (n))

#define likely(x)	    __builtin_expect(!!(x), 1)
#define unlikely(x)	    __builtin_expect(!!(x), 0)
#define __printf(fmt, args) __attribute__((format(printf, fmt, args)))
#define __fallthrough	    __attribute__((fallthrough))
#define __must_check	    __attribute__((warn_unused_result))
/* Loads of this function may meet stores of other CPUs by design: SAN=thread does not see them. */
#define __racy __attribute__((no_sanitize("thread")))
/*
 * Above members of a structure: which lock guards those down to the next such line or the next
 * empty one, and in a string who reads them without it. For the compiler it is nothing.
 * docs/fields.md has all of these, tools/scripts/guards.py the words. A kernel of DEBUG=1
 * SAN=thread notes its accesses (kernel/base/guards.c), which that script compares.
 */
#define GUARDED(...) STATIC_ASSERT(true, "for people and scripts")
/* Keeps a rare path from spilling registers of the common one. */
#define __noinline	__attribute__((noinline))
#define __inlined	inline __attribute__((always_inline)) /* whatever it costs */
#define __packed	__attribute__((packed))
#define __aligned(n)	__attribute__((aligned(n)))
#define __section(name) __attribute__((section(name), used))
#define __noreturn	__attribute__((noreturn))
/*
 * Kernel builds give every local variable an initial value (Makefile, AUTO_INIT). This exempts one
 * on a hot path; each of its bytes is written before it is read or shown.
 */
#if __has_attribute(uninitialized)
#define __uninitialized __attribute__((uninitialized))
#else
#define __uninitialized
#endif

/* A hint: what is between @from and @to will soon be used. */
static inline void prefetch(const void *from, const void *to)
{
	for (const char *line = from; line < (const char *)to; line += 64)
		__builtin_prefetch(line);
}

/* Compiler barrier; hardware ordering is spelled with __atomic builtins. */
#define barrier()	 __asm__ volatile("" ::: "memory")
#define READ_ONCE(x)	 (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
/* For hot paths: a READ_ONCE that the compiler may merge with what uses the value, or repeat. */
static inline __racy u64 racy_load(const u64 *word)
{
	return *word;
}
