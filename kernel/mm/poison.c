/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes after a free, in debug kernels: what is freed is filled with a pattern, and who gets it
 * next finds a byte that has changed meanwhile. The panic names the object, and the places that
 * allocated and freed it. With SAN=address, which finds the write itself, only the places are kept.
 *
 * The first word of a free object links it to the next one, so a link that leads nowhere is such a
 * write, too. Pages that nobody has freed yet have no pattern.
 */
#include "kernel/arch.h"
#include "kernel/base/guards.h"
#include "kernel/contract.h"
#include "kernel/mm/frame.h"
#include "kernel/mm/slab.h"
#include "lib/string.h"

#define PATTERN	     0x6b
#define PATTERN_WORD 0x6b6b6b6b6b6b6b6bull

/* The first of the @n bytes from @p that is not the pattern's, or NULL. */
static const u8 *first_changed(const void *p, size_t n)
{
	const u64 *word = p;
	const u8 *byte, *end = (const u8 *)p + n;

	debug_assert((u64)p % sizeof(*word) == 0);
	while ((const u8 *)(word + 1) <= end && *word == PATTERN_WORD)
		word++;
	for (byte = (const u8 *)word; byte < end; byte++)
		if (*byte != PATTERN)
			return byte;
	return NULL;
}

static void print_place(const char *what, u64 ip)
{
	char name[96];

	if (ip)
		kprintf("%s by %s\n", what, symbol_name(ip, name, sizeof(name)));
}

/* --- objects --------------------------------------------------------------------- */

/* The cache of the slab that @va lies in, or NULL. */
static const struct kmem_cache *cache_at(u64 va)
{
	const struct frame *f =
		va - DIRECT_MAP < boot_info.ram_top ? frame_of(virt_to_phys((void *)va)) : NULL;

	return f && f->kind == FRAME_SLAB ? &kmem_caches[f->cache] : NULL;
}

static struct places *places_of(const struct kmem_cache *c, void *object)
{
	return (struct places *)((u8 *)object + c->size) - 1;
}

void object_print(u64 va)
{
	const struct kmem_cache *c = cache_at(va);

	if (!c)
		return;
	u64 slab = ALIGN_DOWN(va, PAGE_SIZE << c->order);
	u64 object = slab + (va - slab) / c->size * c->size;
	const struct places *places = places_of(c, (void *)object);

	kprintf("The address is %lu bytes behind the start of an object of %s of size %u\n",
		va - object, c->name, c->object);
	print_place("Allocated", places->allocated | (CHECK_GUARDS ? IMAGE_HALF : 0));
	print_place("Freed", places->freed);
}

static __noreturn void object_panic(const char *what, const struct kmem_cache *c, const void *at)
{
	kprintf("BUG: %s at addr %016lx\n", what, (u64)at);
	object_print((u64)at);
	panic("%s in %s", what, c->name);
}

void object_allocated(const struct kmem_cache *c, void *object, u64 ip)
{
	const size_t link = sizeof(void *);
	const void *changed = SAN_ADDRESS || c->object <= link
				      ? NULL
				      : first_changed((u8 *)object + link, c->object - link);

	if (changed)
		object_panic("slab write after free", c, changed);
	*places_of(c, object) = (struct places){ .allocated = ip };
	owned(object);
}

void object_created(const struct kmem_cache *c, void *object)
{
	*places_of(c, object) = (struct places){};
	if (!SAN_ADDRESS)
		memset(object, PATTERN, c->object);
}

void object_freed(const struct kmem_cache *c, void *object, u64 ip)
{
	if (!SAN_ADDRESS && places_of(c, object)->freed)
		object_panic("slab free after free", c, object);
	places_of(c, object)->freed = ip;
	if (!SAN_ADDRESS)
		memset(object, PATTERN, c->object);
}

void object_check_link(const struct kmem_cache *c, const void *object, const void *next)
{
	if (next && cache_at((u64)next) != c)
		object_panic("slab write after free", c, object);
}

/* --- pages: while a frame is free, its `free` is the place that freed it ---------------- */

void page_freed(u64 pa, unsigned order, u64 ip)
{
	if (SAN_ADDRESS)
		return;
	memset(phys_to_virt(pa), PATTERN, PAGE_SIZE << order);
	for (u64 i = 0; i < BIT(order); i++)
		frame_of(pa)[i].free = (void *)ip;
}

static void check_page(struct frame *f)
{
	const void *page = phys_to_virt(frame_pa(f)), *changed;

	if (!f->free)
		return;
	changed = first_changed(page, PAGE_SIZE);
	if (changed) {
		kprintf("BUG: page write after free at addr %016lx\n", (u64)changed);
		print_place("Freed", (u64)f->free);
		panic("page write after free");
	}
	f->free = NULL;
}

void page_allocated(u64 pa, unsigned order)
{
	for (u64 i = 0; !SAN_ADDRESS && i < BIT(order); i++)
		check_page(frame_of(pa) + i);
}
