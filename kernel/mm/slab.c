/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small objects: slabs of equal objects below per-CPU free lists.
 *
 * A cache hands out objects of one size, cut from slabs: blocks of 2^order frames. Each CPU keeps a
 * short list of free objects of each cache, so that the common allocation and free are a handful of
 * instructions without a lock; the list is filled from, and emptied to, the slabs in batches. What
 * is known about a slab lives in the frame table, so objects of a power-of-two size are aligned to
 * it, and kfree() finds the cache of a pointer by its frame. kmalloc() is a row of caches of graded
 * sizes; beyond the largest it is the buddy allocator.
 *
 * Locking: a cache's lock guards its slabs (free list and count in the frame table, the list of
 * partial slabs); a CPU's lists are guarded by interrupts being off there. Order: cache lock <
 * buddy lock. Reference: Bonwick, The Slab Allocator, USENIX 1994; Bonwick and Adams, Magazines and
 * Vmem, 2001.
 */
#include "kernel/base/inject.h"
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/frame.h"
#include "kernel/mm/kasan.h"
#include "kernel/mm/slab.h"
#include "lib/fmt.h"
#include "lib/string.h"

#define MAX_SLAB_ORDER 3
#define MIN_OBJECTS    8 /* per slab: what an empty slab's price is spread over */
#define GAP	       (PLACES ? KASAN_REDZONE : 0ul) /* behind each object */

/* Free objects of every cache on one CPU; each object starts with a pointer to the next. */
struct cpu_lists {
	struct {
		void *head;
		u32 nr;
	} of[NR_CACHES];
} __aligned(64);

struct kmem_cache kmem_caches[NR_CACHES];
STATIC_ASSERT(NR_CACHES <= 256, "frame.cache has 8 bits");
static unsigned nr_caches;
static struct cpu_lists cpu_lists[MAX_CPUS];

/* The free object behind the free @object of @c. */
static inline void *next_of(const struct kmem_cache *c, void *object)
{
	void *next = *(void **)object;

	if (DEBUG)
		object_check_link(c, object, next);
	return next;
}

/* --- slabs; the cache's lock held --------------------------------------------- */

static struct frame *slab_of(void *object)
{
	u64 pa = virt_to_phys(object);

	debug_assert(frame_of(pa)->kind == FRAME_SLAB);
	return frame_of(ALIGN_DOWN(pa, PAGE_SIZE << frame_of(pa)->order));
}

/* Cut a new slab into objects; NULL when memory is short. */
static struct frame *slab_create(struct kmem_cache *c)
{
	u64 pa = page_alloc(c->order);

	debug_assert(spin_is_held(&c->lock));
	if (!pa)
		return NULL;
	struct frame *slab = frame_of(pa);

	for (u64 i = 0; i < BIT(c->order); i++) {
		slab[i].kind = FRAME_SLAB;
		slab[i].order = c->order;
		slab[i].cache = c->id;
	}
	inject_in_use(INJECT_PAGE, -(long)BIT(c->order));
	slab->refs = 0;
	slab->free = NULL;
	char *base = phys_to_virt(pa);

	for (u64 n = (PAGE_SIZE << c->order) / c->size; n--;) {
		void *object = base + n * c->size;

		if (PLACES)
			object_created(c, object);
		*(void **)object = slab->free;
		slab->free = object;
	}
	kasan_forbid(base, PAGE_SIZE << c->order, KASAN_SLAB_REDZONE);
	list_add_head(&c->partial, &slab->link);
	c->nr_slabs++;
	return slab;
}

static void slab_destroy(struct kmem_cache *c, struct frame *slab)
{
	debug_assert(!slab->refs);
	debug_assert(spin_is_held(&c->lock));
	list_del(&slab->link);
	c->nr_slabs--;
	slab->free = NULL;
	for (u64 i = 0; i < BIT(c->order); i++) {
		slab[i].kind = FRAME_USED;
		slab[i].refs = 1;
	}
	inject_in_use(INJECT_PAGE, (long)BIT(c->order));
	page_free(frame_pa(slab), c->order);
}

static void *slab_take(struct kmem_cache *c)
{
	struct frame *slab;

	debug_assert(spin_is_held(&c->lock));
	if (!list_empty(&c->partial))
		slab = list_first(&c->partial, struct frame, link);
	else if (!(slab = slab_create(c)))
		return NULL;
	void *object = slab->free;

	slab->free = next_of(c, object);
	slab->refs++;
	debug_assert(slab->refs <= (PAGE_SIZE << c->order) / c->size);
	if (!slab->free)
		list_del(&slab->link);
	return object;
}

static void slab_return(struct kmem_cache *c, void *object)
{
	struct frame *slab = slab_of(object);

	debug_assert(slab->refs);
	debug_assert(spin_is_held(&c->lock));
	if (!slab->free)
		list_add_head(&c->partial, &slab->link);
	*(void **)object = slab->free;
	slab->free = object;
	if (--slab->refs == 0)
		slab_destroy(c, slab);
}

/* --- a CPU's lists; interrupts off -------------------------------------------- */

static void refill(struct kmem_cache *c, struct cpu_lists *l)
{
	debug_assert(!arch_irq_enabled());
	spin_lock(&c->lock);
	while (l->of[c->id].nr < c->batch) {
		void *object = slab_take(c);

		if (!object)
			break;
		*(void **)object = l->of[c->id].head;
		l->of[c->id].head = object;
		l->of[c->id].nr++;
	}
	spin_unlock(&c->lock);
}

static void drain(struct kmem_cache *c, struct cpu_lists *l)
{
	debug_assert(!arch_irq_enabled());
	spin_lock(&c->lock);
	while (l->of[c->id].nr > c->batch) {
		void *object = l->of[c->id].head;

		l->of[c->id].head = next_of(c, object);
		l->of[c->id].nr--;
		slab_return(c, object);
	}
	spin_unlock(&c->lock);
}

/* @ip: the code that wants it, for messages of kasan.c. */
static __inlined void *alloc_object(struct kmem_cache *c, u64 ip)
{
	unsigned long flags = arch_irq_save();
	struct cpu_lists *l = &cpu_lists[arch_cpu_id()];

	if (!l->of[c->id].head)
		refill(c, l);
	void *object = l->of[c->id].head;

	if (likely(object)) {
		debug_assert(l->of[c->id].nr);
		l->of[c->id].head = next_of(c, object);
		l->of[c->id].nr--;
	}
	arch_irq_restore(flags);
	if (SAN_ADDRESS && object)
		kasan_object_allocated(c, object, ip);
	else if (DEBUG && object)
		object_allocated(c, object, ip);
	inject_in_use(INJECT_SLAB, object != NULL);
	if (DEBUG && object)
		memset(object, POISON, c->object);
	return object;
}

/* An object of @c, contents undefined; NULL when memory is short. Any context. */
void *kmem_cache_alloc(struct kmem_cache *c)
{
	return inject_slab(c->object) ? NULL : alloc_object(c, (u64)__builtin_return_address(0));
}

static void give_back(struct kmem_cache *c, void *object)
{
	unsigned long flags = arch_irq_save();
	struct cpu_lists *l = &cpu_lists[arch_cpu_id()];

	debug_assert(&kmem_caches[slab_of(object)->cache] == c);
	*(void **)object = l->of[c->id].head;
	l->of[c->id].head = object;
	if (++l->of[c->id].nr > 2 * c->batch)
		drain(c, l);
	arch_irq_restore(flags);
}

static struct kmem_cache *cache_of(void *object)
{
	return &kmem_caches[frame_of(virt_to_phys(object))->cache];
}

static __inlined void free_object(struct kmem_cache *c, void *object, u64 ip)
{
	inject_in_use(INJECT_SLAB, -1);
	if (SAN_ADDRESS) {
		object = kasan_object_freed(c, object, ip);
		if (!object)
			return;
		c = cache_of(object);
	} else if (DEBUG) {
		object_freed(c, object, ip);
	}
	give_back(c, object);
}

void kmem_cache_free(struct kmem_cache *c, void *object)
{
	free_object(c, object, (u64)__builtin_return_address(0));
}

/*
 * The smallest slab that holds MIN_OBJECTS, or the largest there is. At boot only: caches are never
 * destroyed. @align is a power of two.
 */
struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align)
{
	debug_assert(align && !(align & (align - 1)));
	assert(nr_caches < NR_CACHES);
	struct kmem_cache *c = &kmem_caches[nr_caches];

	c->name = name;
	c->id = (u8)nr_caches++;
	c->size = (u32)ALIGN_UP(max(size, sizeof(void *)) + GAP, max(align, sizeof(void *)));
	c->object = (u32)(PLACES ? size : c->size);
	while (c->order < MAX_SLAB_ORDER && (PAGE_SIZE << c->order) / c->size < MIN_OBJECTS)
		c->order++;
	debug_assert(c->size <= PAGE_SIZE << c->order);
	c->batch = (u32)min(max(PAGE_SIZE / c->size, 2ull), 32ull);
	spin_lock_init(&c->lock, name);
	list_init(&c->partial);
	return c;
}

/* --- kmalloc ------------------------------------------------------------------ */

static const u32 sizes[] = { 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048 };
#define GRAIN	16
#define LARGEST 2048

static struct kmem_cache *graded[ARRAY_SIZE(sizes)];
static u8 grade_of[LARGEST / GRAIN + 1]; /* index of sizes[], by size in grains rounded up */

void slab_init(void)
{
	unsigned grade = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
		graded[i] = kmem_cache_create("kmalloc", sizes[i] - GAP, GRAIN);
	for (unsigned grains = 0; grains < ARRAY_SIZE(grade_of); grains++) {
		if (grains * GRAIN > sizes[grade])
			grade++;
		debug_assert(grade < ARRAY_SIZE(sizes));
		grade_of[grains] = (u8)grade;
	}
}

static unsigned order_of(size_t size)
{
	return size <= PAGE_SIZE ? 0 : 64 - (unsigned)__builtin_clzll((size - 1) >> PAGE_SHIFT);
}

static void *alloc_large(size_t size)
{
	unsigned order = order_of(size);
	u64 pa = page_alloc(order);

	debug_assert(size > LARGEST - GAP);
	if (!pa)
		return NULL;
	frame_of(pa)->kind = FRAME_LARGE;
	frame_of(pa)->order = (u8)order;
	void *p = phys_to_virt(pa);

	kasan_forbid((u8 *)p + size, (PAGE_SIZE << order) - size, KASAN_PAGE_REDZONE);
	return p;
}

static __inlined void *alloc_bytes(size_t size, u64 ip)
{
	if (unlikely(size > LARGEST - GAP))
		return alloc_large(size);
	struct kmem_cache *c = graded[grade_of[(size + GAP + GRAIN - 1) / GRAIN]];
	void *p = alloc_object(c, ip);

	debug_assert(c->object >= size && (u64)p % 16 == 0);
	if (SAN_ADDRESS && p)
		kasan_forbid((u8 *)p + size, c->object - size, KASAN_SLAB_REDZONE);
	return p;
}

void *kmalloc(size_t size)
{
	return inject_slab(size) ? NULL : alloc_bytes(size, (u64)__builtin_return_address(0));
}

void *kzalloc(size_t size)
{
	void *p = inject_slab(size) ? NULL : alloc_bytes(size, (u64)__builtin_return_address(0));

	if (p)
		memset(p, 0, size);
	return p;
}

void kfree(void *p)
{
	if (!p)
		return;
	struct frame *f = frame_of(virt_to_phys(p));

	if (likely(f->kind == FRAME_SLAB)) {
		free_object(&kmem_caches[f->cache], p, (u64)__builtin_return_address(0));
		return;
	}
	assert(f->kind == FRAME_LARGE);
	f->kind = FRAME_USED;
	page_free(frame_pa(f), f->order);
}

/* --- /proc/slabinfo ----------------------------------------------------------- */

static void print_cache(struct text *t, struct kmem_cache *c)
{
	u64 per_slab = (PAGE_SIZE << c->order) / c->size, free = 0;
	struct frame *slab;

	unsigned long flags = spin_lock_irqsave(&c->lock);
	u64 slabs = c->nr_slabs;
	list_for_each(slab, &c->partial, link)
		free += per_slab - slab->refs;
	spin_unlock_irqrestore(&c->lock, flags);
	char name[32];

	if (c->name == graded[0]->name)
		snprintf(name, sizeof(name), "%s-%u", c->name, c->size);
	else
		snprintf(name, sizeof(name), "%s", c->name);
	text_add(t, "%-17s %6lu %6lu %6u %4lu %4lu", name, slabs * per_slab - free,
		 slabs * per_slab, c->size, per_slab, 1ul << c->order);
	text_add(t, " : tunables    0    0    0 : slabdata %6lu %6lu      0\n", slabs, slabs);
}

/* Free objects on the lists of CPUs count as active, as with Linux's SLUB. */
size_t slab_print(char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	text_add(&t,
		 "slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize> "
		 "<objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> "
		 ": slabdata <active_slabs> <num_slabs> <sharedavail>\n");
	for (unsigned i = 0; i < nr_caches; i++)
		print_cache(&t, &kmem_caches[i]);
	return t.len;
}
