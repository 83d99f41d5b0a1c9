/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The allocators under several threads and CPUs at once: an object that one thread allocates is
 * checked and freed by another, mostly on another CPU, so that objects and frames wander through
 * every CPU's cache.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/proc.h"
#include "kernel/time/time.h"
#include "lib/prng.h"
#include "lib/string.h"

#define NR_SLOTS 64
#define ROUNDS	 4000

/* The head of an object; `tail`, at the end of its memory, must be the same. */
struct stamp {
	u64 size, mark;
};

static struct {
	void *object[NR_SLOTS]; /* handed over by atomic exchange */
	u64 frame[NR_SLOTS];
	u32 running, broken;
} storm;

static void stamp(void *p, u64 size, u64 mark)
{
	*(struct stamp *)p = (struct stamp){ size, mark };
	/* Not aligned: sizes are as they come. */
	memcpy((char *)p + size - sizeof(mark), &mark, sizeof(mark));
}

/* Wipes it as well, so that a second look at the same memory fails. */
static bool is_intact(void *p)
{
	struct stamp s = *(struct stamp *)p;
	bool ok = s.mark && !memcmp((char *)p + s.size - sizeof(s.mark), &s.mark, sizeof(s.mark));

	memset(p, 0, sizeof(s));
	return ok;
}

static void trade_object(unsigned slot, u64 size, u64 mark)
{
	void *p = kmalloc(size);

	if (p)
		stamp(p, size, mark);
	p = __atomic_exchange_n(&storm.object[slot], p, __ATOMIC_ACQ_REL);
	if (p && !is_intact(p))
		storm.broken++;
	kfree(p);
}

static void trade_frame(unsigned slot, u64 mark)
{
	u64 pa = page_alloc(0);

	if (pa)
		stamp(phys_to_virt(pa), PAGE_SIZE, mark);
	pa = __atomic_exchange_n(&storm.frame[slot], pa, __ATOMIC_ACQ_REL);
	if (!pa)
		return;
	if (!is_intact(phys_to_virt(pa)) || page_refs(pa) != 1)
		storm.broken++;
	page_put(pa);
}

static void trade(void *seed)
{
	struct prng rng;

	prng_seed(&rng, (u64)seed);
	for (unsigned i = 0; i < ROUNDS; i++) {
		u64 mark = prng_u64(&rng) | 1;

		trade_object(prng_below(&rng, NR_SLOTS), 32 + prng_below(&rng, 3000), mark);
		trade_frame(prng_below(&rng, NR_SLOTS), mark);
	}
	__atomic_fetch_sub(&storm.running, 1, __ATOMIC_RELEASE);
}

SELFTEST(mm_alloc_storm)
{
	unsigned nr = 2 * arch_nr_cpus;

	storm.running = nr;
	for (u64 i = 0; i < nr; i++)
		SELFTEST_CHECK(kthread_create("storm", trade, (void *)(i + 1)));
	while (__atomic_load_n(&storm.running, __ATOMIC_ACQUIRE))
		sleep_until(clock_ns() + NS_PER_MS, 0);
	SELFTEST_CHECK(!storm.broken);
	for (unsigned i = 0; i < NR_SLOTS; i++) {
		trade_object(i, 32, 1);
		trade_frame(i, 1);
		kfree(storm.object[i]);
		page_put(storm.frame[i]);
		storm.object[i] = NULL;
		storm.frame[i] = 0;
	}
	SELFTEST_CHECK(!storm.broken);
	return 0;
}
