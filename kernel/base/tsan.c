/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data races are said, with both places: SAN=thread builds this file, and has the compiler call it
 * before each load and store. One in two hundred is watched: the CPU notes the value and waits
 * before it goes on. An access of another CPU to the same bytes meanwhile, after which the value is
 * another one, is a race if one of the two is a store, unless both were meant to meet:
 *
 *	READ_ONCE, WRITE_ONCE and __atomic builtins   are not watched, and may meet each other
 *	a plain store of a word                       may meet a READ_ONCE
 *
 * The CPU that watches has interrupts off, so races with its own interrupts are not seen. Locks,
 * the console and panics are compiled without these calls, and so is the code by which a CPU comes
 * up: it has no struct cpu yet (Makefile, UNCHECKED_thread). Nothing is said twice.
 *
 * References: Erickson and others, Effective Data-Race Detection for the Kernel, OSDI 2010; gcc's
 * -fsanitize=thread, which names the functions.
 */
#include "kernel/base/tsan.h"

#include "kernel/arch.h"
#include "kernel/base/guards.h"
#include "kernel/kernel.h"
#include "kernel/percpu.h"
#include "kernel/task/thread.h"
#include "lib/prng.h"

#define LOOKS	  32  /* how long a CPU waits: under -icount, turns of the others */
#define EVERY	  128 /* accesses between two that are watched, and up to as many more */
#define MAX_PAIRS 256 /* so many races are said */

enum how {
	PLAIN_READ = 0,
	WRITE = GUARDS_WRITE,
	MARKED = GUARDS_MARKED,
};

struct place {
	u64 ip, caller;
	u64 size;
	enum how how;
	int tid;
	u32 cpu;
};

/* Of one CPU: what it watches, and who met it. */
static struct watch {
	u64 addr; /* 0: nothing, or somebody has met it and writes `other` */
	struct place own, other;
	bool met;
	bool inside; /* nothing is checked: this CPU watches or prints */
	u32 left;    /* accesses to the next watched one */
	struct prng random;
} __aligned(64) watches[MAX_CPUS];

static bool started;
static u32 nr_watching;

static struct {
	u32 locked;
	unsigned nr;
	struct tsan_race of[MAX_PAIRS];
} said;

static u64 caught_at;
static struct tsan_race caught;

/* --- the report --------------------------------------------------------------------- */

/* Is the race a new one? */
static bool note(u64 a, u64 b)
{
	bool known = false;

	while (__atomic_exchange_n(&said.locked, 1, __ATOMIC_ACQUIRE))
		arch_cpu_relax();
	for (unsigned i = 0; i < said.nr && !known; i++)
		known = (said.of[i].watched == a && said.of[i].met == b) ||
			(said.of[i].watched == b && said.of[i].met == a);
	known |= said.nr == MAX_PAIRS;
	if (!known)
		said.of[said.nr++] = (struct tsan_race){ a, b };
	__atomic_store_n(&said.locked, 0, __ATOMIC_RELEASE);
	return !known;
}

static void print_place(const struct place *p, u64 addr)
{
	char at[96], caller[96];

	kprintf("%s%s to %016lx of %lu bytes by thread %d on cpu %u:\n  %s\n  %s\n",
		p->how & MARKED ? "marked " : "", p->how & WRITE ? "write" : "read", addr, p->size,
		p->tid, p->cpu, symbol_name(p->ip, at, sizeof(at)),
		symbol_name(p->caller, caller, sizeof(caller)));
}

static void report(u64 addr, const struct watch *w, u64 before, u64 after)
{
	char a[96], b[96];

	if (addr == READ_ONCE(caught_at)) {
		caught = (struct tsan_race){ w->own.ip, w->other.ip };
		__atomic_store_n(&caught_at, 0, __ATOMIC_RELEASE);
		return;
	}
	if (!note(w->own.ip, w->other.ip))
		return;
	kprintf("BUG: KCSAN: data-race in %s / %s\n", symbol_name(w->own.ip, a, sizeof(a)),
		symbol_name(w->other.ip, b, sizeof(b)));
	print_place(&w->own, addr);
	print_place(&w->other, addr);
	kprintf("value changed: %016lx -> %016lx\n", before, after);
}

/* --- accesses ----------------------------------------------------------------------- */

/* May @own, which is plain, meet @other by design? */
static bool may_meet(enum how own, enum how other)
{
	if (!((own | other) & WRITE))
		return true;
	return own == WRITE && other == MARKED;
}

static void describe(struct place *p, u64 ip, u64 bp, u64 size, enum how how)
{
	const struct thread *t = arch_current();

	*p = (struct place){ ip, ((const u64 *)bp)[1], size, how, t ? t->tid : 0, arch_cpu_id() };
}

/* Tell those who watch one of the @n bytes at @addr. Interrupts off. */
static void meet(u64 addr, u64 n, enum how how, u64 ip, u64 bp)
{
	debug_assert(!arch_irq_enabled());
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		struct watch *w = &watches[cpu];
		u64 watched = __atomic_load_n(&w->addr, __ATOMIC_ACQUIRE);

		if (!watched || watched >= addr + n || addr >= watched + w->own.size ||
		    may_meet(w->own.how, how))
			continue;
		if (!__atomic_compare_exchange_n(&w->addr, &watched, 0, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		describe(&w->other, ip, bp, n, how);
		__atomic_store_n(&w->met, true, __ATOMIC_RELEASE);
	}
}

static u64 value_at(u64 addr, u64 n)
{
	switch (n) {
	case 1:
		return READ_ONCE(*(u8 *)addr);
	case 2:
		return READ_ONCE(*(u16 *)addr);
	case 4:
		return READ_ONCE(*(u32 *)addr);
	}
	return READ_ONCE(*(u64 *)addr);
}

/* Interrupts off. */
static void watch(struct watch *w, u64 addr, u64 n, enum how how, u64 ip, u64 bp)
{
	u64 before = value_at(addr, n), after;

	debug_assert(!arch_irq_enabled());
	describe(&w->own, ip, bp, min(n, 8ul), how);
	w->met = false;
	__atomic_store_n(&w->addr, addr, __ATOMIC_RELEASE);
	__atomic_add_fetch(&nr_watching, 1, __ATOMIC_SEQ_CST);
	for (unsigned looks = 0; looks < LOOKS; looks++)
		arch_cpu_relax();
	after = value_at(addr, n);
	__atomic_sub_fetch(&nr_watching, 1, __ATOMIC_SEQ_CST);
	if (__atomic_exchange_n(&w->addr, 0, __ATOMIC_ACQ_REL))
		return;
	while (!__atomic_load_n(&w->met, __ATOMIC_ACQUIRE) && !READ_ONCE(panic_cpu))
		arch_cpu_relax();
	if (before != after && !READ_ONCE(panic_cpu))
		report(addr, w, before, after);
}

static __noinline void look(u64 addr, u64 n, enum how how, u64 ip, u64 bp)
{
	unsigned long flags = arch_irq_save();
	struct watch *w = &watches[arch_cpu_id()];

	if (!w->inside) {
		w->inside = true;
		meet(addr, n, how, ip, bp);
		if (!(how & MARKED) && !w->left) {
			w->left = EVERY + prng_below(&w->random, EVERY);
			watch(w, addr, n, how, ip, bp);
		}
		w->inside = false;
	}
	arch_irq_restore(flags);
}

/* The pages of programs are theirs. */
static __inlined void access(const volatile void *p, u64 n, enum how how, u64 ip, u64 bp)
{
	if (!READ_ONCE(started) || (u64)p < DIRECT_MAP)
		return;
	if (CHECK_GUARDS)
		guards_access((u64)p, n, how, ip, bp);
	u32 *left = &watches[arch_cpu_id()].left;

	if (!(how & MARKED) && *left)
		--*left;
	else if (how & MARKED && !READ_ONCE(nr_watching))
		return;
	if (unlikely(!*left || READ_ONCE(nr_watching)))
		look((u64)p, n, how, ip, bp);
}

static int tsan_init(void)
{
	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		prng_seed(&watches[cpu].random, cpu);
	WRITE_ONCE(started, true);
	return 0;
}
INITCALL(tsan_init);

/* --- what the compiler calls ----------------------------------------------------------- */

#define HERE (u64) __builtin_return_address(0), *(const u64 *)__builtin_frame_address(0)

#define ACCESS(name, n, how)                                                                       \
	void __tsan_##name(void *p);                                                               \
	void __tsan_##name(void *p)                                                                \
	{                                                                                          \
		access(p, n, how, HERE);                                                           \
	}
#define ACCESSES(n)                                                                                \
	ACCESS(read##n, n, PLAIN_READ)                                                             \
	ACCESS(write##n, n, WRITE)                                                                 \
	ACCESS(unaligned_read##n, n, PLAIN_READ)                                                   \
	ACCESS(unaligned_write##n, n, WRITE)                                                       \
	ACCESS(volatile_read##n, n, MARKED)                                                        \
	ACCESS(volatile_write##n, n, MARKED | WRITE)                                               \
	ACCESS(unaligned_volatile_read##n, n, MARKED)                                              \
	ACCESS(unaligned_volatile_write##n, n, MARKED | WRITE)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

#define RANGE(name, how)                                                                           \
	void __tsan_##name##_range(void *p, unsigned long n);                                      \
	void __tsan_##name##_range(void *p, unsigned long n)                                       \
	{                                                                                          \
		access(p, n, how, HERE);                                                           \
	}
RANGE(read, PLAIN_READ)
RANGE(write, WRITE)

/* Each is as strict as can be: the order of another is never asked for. */
#define MODIFY(bits, op)                                                                           \
	u##bits __tsan_atomic##bits##_##op(u##bits *p, u##bits v, int order);                      \
	u##bits __tsan_atomic##bits##_##op(u##bits *p, u##bits v, int order)                       \
	{                                                                                          \
		(void)order;                                                                       \
		access(p, bits / 8, MARKED | WRITE, HERE);                                         \
		return __atomic_##op(p, v, __ATOMIC_SEQ_CST);                                      \
	}
#define ATOMICS(bits)                                                                              \
	u##bits __tsan_atomic##bits##_load(const u##bits *p, int order);                           \
	u##bits __tsan_atomic##bits##_load(const u##bits *p, int order)                            \
	{                                                                                          \
		(void)order;                                                                       \
		access(p, bits / 8, MARKED, HERE);                                                 \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                       \
	}                                                                                          \
	void __tsan_atomic##bits##_store(u##bits *p, u##bits v, int order);                        \
	void __tsan_atomic##bits##_store(u##bits *p, u##bits v, int order)                         \
	{                                                                                          \
		(void)order;                                                                       \
		access(p, bits / 8, MARKED | WRITE, HERE);                                         \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                          \
	}                                                                                          \
	u##bits __tsan_atomic##bits##_exchange(u##bits *p, u##bits v, int order);                  \
	u##bits __tsan_atomic##bits##_exchange(u##bits *p, u##bits v, int order)                   \
	{                                                                                          \
		(void)order;                                                                       \
		access(p, bits / 8, MARKED | WRITE, HERE);                                         \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                \
	}                                                                                          \
	bool __tsan_atomic##bits##_compare_exchange_strong(u##bits *p, u##bits *old, u##bits v,    \
							   int order, int otherwise);              \
	bool __tsan_atomic##bits##_compare_exchange_strong(u##bits *p, u##bits *old, u##bits v,    \
							   int order, int otherwise)               \
	{                                                                                          \
		(void)order, (void)otherwise;                                                      \
		access(p, bits / 8, MARKED | WRITE, HERE);                                         \
		return __atomic_compare_exchange_n(p, old, v, false, __ATOMIC_SEQ_CST,             \
						   __ATOMIC_SEQ_CST);                              \
	}                                                                                          \
	MODIFY(bits, fetch_add)                                                                    \
	MODIFY(bits, fetch_sub)                                                                    \
	MODIFY(bits, fetch_and)                                                                    \
	MODIFY(bits, fetch_or)                                                                     \
	MODIFY(bits, fetch_xor)
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Constructors of each file call it. */
void __tsan_init(void);
void __tsan_init(void)
{
}

/* --- for the test of it ----------------------------------------------------------------- */

void tsan_catch(const u64 *p)
{
	__atomic_store_n(&caught_at, (u64)p, __ATOMIC_RELEASE);
}

bool tsan_caught(struct tsan_race *race)
{
	if (__atomic_load_n(&caught_at, __ATOMIC_ACQUIRE))
		return false;
	*race = caught;
	return true;
}
