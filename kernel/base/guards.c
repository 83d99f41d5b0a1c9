/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses to the fields of objects, and the locks that were held: DEBUG=1 SAN=thread. The compiler
 * calls tsan.c before each load and store, which calls guards_access(). One in some is noted, if
 * it is to an object of a slab: the code that allocated the object, which says its type; where in
 * the object; the code that accesses; read or write; the locks. Equal notes are counted. The host
 * finds the table in the machine's memory (tools/scripts/guards.py).
 *
 * While an object is made, and once it is about to be freed, one context has it and needs no lock.
 * So an object belongs to the thread that allocates it until another context is seen to access it,
 * and again to the one that drops the last reference (ref_put(), owned()). Accesses of an owner are
 * not noted. Interrupts are a context of their own, which never owns.
 *
 * Reference: Lochmann and others, LockDoc: Trace-Based Analysis of Locking in the Linux Kernel,
 * EuroSys 2019; the owner: Savage and others, Eraser, 1997.
 */
#include "kernel/base/guards.h"

#include "kernel/arch.h"
#include "kernel/kernel.h"
#include "kernel/mm/frame.h"
#include "kernel/mm/slab.h"
#include "kernel/percpu.h"
#include "kernel/task/lockdep.h"
#include "kernel/task/proc.h"
#include "lib/prng.h"

#define EVERY	     2 /* accesses of a CPU to memory per note, on average */
#define TABLE_ORDER  10
#define MAX_LOCKS    6
#define MAX_SITES    1024 /* code that allocates, as a power of two */
#define MAX_OF_SITE  4096 /* notes of objects that one site allocated: texts have many words */
#define SITE_MACHINE 1	  /* stands for the code that allocated the scheduler's memory */

/* Code and static data are named by the lower half of their address: all are in the image. */
struct note {
	u32 site, ip, caller;
	u32 count;
	u32 offset;
	u16 size;
	u8 how, by_itself;
	u32 nr;
	u32 held[MAX_LOCKS]; /* in the same object: the offset; others: the name of the class */
};
STATIC_ASSERT(sizeof(struct note) == 52, "as tools/scripts/guards.py reads it");

/* For the host. */
struct guard_table {
	u64 pa; /* of the notes; 0: no memory */
	u32 size, lost;
} guard_table;

static struct note *notes;
static u64 machine_size; /* of the scheduler's memory */
static struct {
	u32 ip, nr;
} sites[MAX_SITES];
static bool table_lock; /* guards all of these; taken with interrupts off */

static struct {
	u32 left; /* accesses up to the next note */
	bool inside;
	struct prng random;
} __aligned(64) states[MAX_CPUS];

struct object {
	u64 at, size;
	struct places *places; /* NULL: it is the scheduler's memory, which nobody owns */
};

/* The scheduler's memory has its runqueues. */
static bool find_machine(u64 addr, struct object *o)
{
	*o = (struct object){ .at = (u64)machine, .size = machine_size };
	return addr - o->at < o->size;
}

/* Finds the object that is at @addr. False: that is no object in use. */
static bool find_object(u64 addr, struct object *o)
{
	if (addr - DIRECT_MAP >= boot_info.ram_top)
		return false;
	const struct frame *f = frame_of(addr - DIRECT_MAP);

	if (f->kind != FRAME_SLAB)
		return find_machine(addr, o);
	const struct kmem_cache *c = &kmem_caches[f->cache];
	u64 slab = ALIGN_DOWN(addr, PAGE_SIZE << c->order);

	o->at = slab + (addr - slab) / c->size * c->size;
	o->size = c->object;
	o->places = (struct places *)(o->at + c->size) - 1;
	return o->places->allocated && !o->places->freed && addr - o->at < o->size;
}

/* --- owners: the upper half of places.allocated, which for code is known -------------------- */

static u32 *owner_of(const struct object *o)
{
	return (u32 *)&o->places->allocated + 1;
}

static u32 context(void)
{
	if (arch_in_irq())
		return 0;
	return (u32)((u64)arch_current() >> 4) | 1;
}

void guards_own(const void *p)
{
	struct object o;
	unsigned long flags = arch_irq_save();

	if (find_object((u64)p, &o) && o.places)
		*owner_of(&o) = context();
	arch_irq_restore(flags);
}

/* Has the running context the object to itself? If another one had it, it has it no more. */
static bool is_owned(const struct object *o)
{
	u32 owner = o->places ? *owner_of(o) : 0;

	if (owner && owner != context())
		*owner_of(o) = 0;
	return owner && owner == context();
}

/* --- the table ---------------------------------------------------------------------------- */

static u64 hash_of(const struct note *n)
{
	u64 hash = ((u64)n->site << 32 | n->ip) ^ (u64)n->offset << 20 ^ (u64)n->by_itself << 8 ^
		   n->how;

	for (unsigned i = 0; i < n->nr; i++)
		hash = (hash ^ n->held[i]) * 0x9e3779b97f4a7c15ull;
	return hash * 0x9e3779b97f4a7c15ull >> 32;
}

static bool same(const struct note *a, const struct note *b)
{
	if (a->site != b->site || a->ip != b->ip || a->offset != b->offset || a->how != b->how ||
	    a->by_itself != b->by_itself || a->nr != b->nr)
		return false;
	for (unsigned i = 0; i < a->nr; i++)
		if (a->held[i] != b->held[i])
			return false;
	return true;
}

static bool is_room_for(u32 site)
{
	for (u32 i = site; i - site < MAX_SITES; i++) {
		if (!sites[i % MAX_SITES].ip)
			sites[i % MAX_SITES].ip = site;
		if (sites[i % MAX_SITES].ip == site)
			return sites[i % MAX_SITES].nr++ < MAX_OF_SITE || site == SITE_MACHINE;
	}
	return false;
}

/* Interrupts off. */
static void count(const struct note *n)
{
	u32 tries = 0;

	debug_assert(!arch_irq_enabled());
	while (__atomic_exchange_n(&table_lock, true, __ATOMIC_ACQUIRE))
		arch_cpu_relax();
	for (u64 i = hash_of(n); tries < 64; i++, tries++) {
		struct note *slot = &notes[i % guard_table.size];

		if (!slot->count && !is_room_for(n->site)) {
			tries = 64;
			break;
		}
		if (!slot->count)
			*slot = *n;
		if (same(slot, n)) {
			slot->count++;
			break;
		}
	}
	guard_table.lost += tries == 64;
	__atomic_store_n(&table_lock, false, __ATOMIC_RELEASE);
}

/* --- accesses ------------------------------------------------------------------------------- */

static void note_locks(struct note *n, const struct object *o)
{
	struct lockdep_lock held[MAX_LOCKS];

	n->nr = lockdep_held(held, MAX_LOCKS);
	for (unsigned i = 0; i < n->nr; i++) {
		u64 offset = (u64)held[i].lock - o->at;

		n->held[i] = offset < o->size ? (u32)offset : (u32)(u64)held[i].name;
	}
}

/* Is @o the running thread, or its process? So it is for the interrupts that come between. */
static bool is_itself(const struct object *o)
{
	const struct thread *t = arch_current();

	return t && (o->at == (u64)t || o->at == (u64)t->proc);
}

static __noinline void look(u64 addr, u64 size, u32 how, u64 ip, u64 bp)
{
	unsigned long flags = arch_irq_save();
	unsigned cpu = arch_cpu_id();
	struct object o;

	states[cpu].left = prng_below(&states[cpu].random, 2 * EVERY);
	if (!states[cpu].inside && find_object(addr, &o) && !is_owned(&o)) {
		states[cpu].inside = true;
		struct note n = { .site = o.places ? (u32)o.places->allocated : SITE_MACHINE,
				  .ip = (u32)ip,
				  .caller = (u32)((const u64 *)bp)[1],
				  .offset = (u32)(addr - o.at),
				  .size = (u16)size,
				  .how = (u8)how,
				  .by_itself = is_itself(&o) };

		note_locks(&n, &o);
		count(&n);
		states[cpu].inside = false;
	}
	arch_irq_restore(flags);
}

void guards_access(u64 addr, u64 n, u32 how, u64 ip, u64 bp)
{
	u32 *left = &states[arch_cpu_id()].left;

	if (addr - DIRECT_MAP >= boot_info.ram_top || !notes)
		return;
	if (*left)
		--*left;
	else
		look(addr, n, how, ip, bp);
}

static int guards_init(void)
{
	u64 pa = page_alloc(TABLE_ORDER);

	if (!pa)
		return 0;
	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		prng_seed(&states[cpu].random, cpu);
	struct note *empty = phys_to_virt(pa);

	guard_table.size = (u32)((PAGE_SIZE << TABLE_ORDER) / sizeof(*empty));
	for (u32 i = 0; i < guard_table.size; i++)
		empty[i] = (struct note){};
	guard_table.pa = pa;
	machine_size = sched_size(arch_nr_cpus);
	__atomic_store_n(&notes, empty, __ATOMIC_RELEASE);
	return 0;
}
INITCALL(guards_init);
