/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sets of CPUs. A mask is a small value: copy it with `=`, put it in a struct.
 * CPU_MAX bits are four words, so whole-mask operations are straight-line code
 * whatever the size of the machine, and a task's copy costs 32 bytes. The
 * simulator is built with room for more (docs/adr/007-simulator.md).
 */
#pragma once

#include "lib/types.h"

#ifndef CPU_MAX
#define CPU_MAX 256u
#endif
#define CPUMASK_WORDS (CPU_MAX / 64)
STATIC_ASSERT(CPU_MAX % 64 == 0, "a mask is whole words");

struct cpumask {
	u64 bits[CPUMASK_WORDS];
};

static inline __racy bool cpumask_test(const struct cpumask *m, unsigned cpu)
{
	return m->bits[cpu / 64] >> (cpu % 64) & 1;
}

static inline void cpumask_set(struct cpumask *m, unsigned cpu)
{
	m->bits[cpu / 64] |= BIT(cpu % 64);
}

static inline void cpumask_clear(struct cpumask *m, unsigned cpu)
{
	m->bits[cpu / 64] &= ~BIT(cpu % 64);
}

/* As set and clear, but other CPUs may change other bits of @m at the same time. */
static inline void cpumask_set_atomic(struct cpumask *m, unsigned cpu)
{
	__atomic_fetch_or(&m->bits[cpu / 64], BIT(cpu % 64), __ATOMIC_SEQ_CST);
}

static inline void cpumask_clear_atomic(struct cpumask *m, unsigned cpu)
{
	__atomic_fetch_and(&m->bits[cpu / 64], ~BIT(cpu % 64), __ATOMIC_SEQ_CST);
}
static inline void cpumask_flip_atomic(struct cpumask *m, unsigned cpu)
{
	__atomic_fetch_xor(&m->bits[cpu / 64], BIT(cpu % 64), __ATOMIC_SEQ_CST);
}

static inline struct cpumask cpumask_none(void)
{
	return (struct cpumask){ { 0 } };
}

static inline struct cpumask cpumask_of(unsigned cpu)
{
	struct cpumask m = cpumask_none();

	cpumask_set(&m, cpu);
	return m;
}

/* CPUs 0 .. @nr-1. */
static inline struct cpumask cpumask_first_n(unsigned nr)
{
	struct cpumask m = cpumask_none();

	for (unsigned w = 0; w < CPUMASK_WORDS && nr > w * 64; w++)
		m.bits[w] = nr - w * 64 >= 64 ? ~0ull : BIT(nr - w * 64) - 1;
	return m;
}

static inline __racy struct cpumask cpumask_and(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask m;

	for (unsigned w = 0; w < CPUMASK_WORDS; w++)
		m.bits[w] = a->bits[w] & b->bits[w];
	return m;
}

/* The CPUs of @a that are not in @b. */
static inline __racy struct cpumask cpumask_andnot(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask m;

	for (unsigned w = 0; w < CPUMASK_WORDS; w++)
		m.bits[w] = a->bits[w] & ~b->bits[w];
	return m;
}

static inline __racy struct cpumask cpumask_or(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask m;

	for (unsigned w = 0; w < CPUMASK_WORDS; w++)
		m.bits[w] = a->bits[w] | b->bits[w];
	return m;
}

static inline __racy bool cpumask_equal(const struct cpumask *a, const struct cpumask *b)
{
	u64 differs = 0;

	for (unsigned w = 0; w < CPUMASK_WORDS; w++)
		differs |= a->bits[w] ^ b->bits[w];
	return !differs;
}

static inline __racy bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	u64 common = 0;

	for (unsigned w = 0; w < CPUMASK_WORDS; w++)
		common |= a->bits[w] & b->bits[w];
	return common;
}

/* Is every CPU of @a in @b? */
static inline __racy bool cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
	u64 outside = 0;

	for (unsigned w = 0; w < CPUMASK_WORDS; w++)
		outside |= a->bits[w] & ~b->bits[w];
	return !outside;
}

static inline bool cpumask_empty(const struct cpumask *m)
{
	return !cpumask_intersects(m, m);
}

/*
 * Number of set bits in a word. The instruction is absent from baseline x86-64, hence by
 * arithmetic.
 */
static inline unsigned popcount64(u64 v)
{
	v -= v >> 1 & 0x5555555555555555ull;
	v = (v & 0x3333333333333333ull) + (v >> 2 & 0x3333333333333333ull);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (v * 0x0101010101010101ull) >> 56;
}

static inline __racy unsigned cpumask_weight(const struct cpumask *m)
{
	unsigned n = 0;

	for (unsigned w = 0; w < CPUMASK_WORDS; w++)
		n += m->bits[w] ? popcount64(m->bits[w]) : 0;
	return n;
}

/* The first CPU of @m that is >= @from, or CPU_MAX. */
static inline __racy unsigned cpumask_next(const struct cpumask *m, unsigned from)
{
	u64 word;

	if (from >= CPU_MAX)
		return CPU_MAX;
	word = m->bits[from / 64] & (~0ull << (from % 64));
	for (unsigned w = from / 64;;) {
		if (word)
			return w * 64 + (unsigned)__builtin_ctzll(word);
		if (++w == CPUMASK_WORDS)
			return CPU_MAX;
		word = m->bits[w];
	}
}

static inline __racy unsigned cpumask_first(const struct cpumask *m)
{
	return cpumask_next(m, 0);
}

/* The CPU of @m after @cpu, wrapping around; CPU_MAX only if @m is empty. */
static inline unsigned cpumask_next_wrap(const struct cpumask *m, unsigned cpu)
{
	unsigned next = cpumask_next(m, cpu + 1);

	return next < CPU_MAX ? next : cpumask_first(m);
}

#define for_each_cpu(cpu, mask)                                                                    \
	for (cpu = cpumask_first(mask); cpu < CPU_MAX; cpu = cpumask_next(mask, cpu + 1))
