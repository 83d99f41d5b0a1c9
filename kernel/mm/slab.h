/* SPDX-License-Identifier: GPL-2.0-only */
/* A cache of objects, as slab.c, poison.c and kasan.c know it. */
#pragma once

#include "kernel/mm/kasan.h"
#include "kernel/mm/mm.h"

#define NR_CACHES 32
#define PLACES	  (DEBUG || SAN_ADDRESS) /* is known who allocated and freed an object? */

struct kmem_cache {
	const char *name;
	u32 size;   /* of an object, rounded up to its alignment; with a gap if PLACES */
	u32 object; /* so many bytes of that are its user's */
	u8 id, order;
	u32 nr_slabs;
	u32 batch; /* objects moved between a CPU's list and the slabs at a time */
	struct spinlock lock;
	struct list partial; /* slabs with a free object */
};
extern struct kmem_cache kmem_caches[NR_CACHES];

/* Behind each object, if PLACES: the code that allocated it, and freed it, or 0. */
struct places {
	u64 allocated, freed;
};
STATIC_ASSERT(sizeof(struct places) == KASAN_REDZONE, "the gap holds it");

/* The rest of a life, for poison.c: each panics if the object was written to while it was free. */
void object_created(const struct kmem_cache *c, void *object);
void object_allocated(const struct kmem_cache *c, void *object, u64 ip);
void object_freed(const struct kmem_cache *c, void *object, u64 ip);
/* Does the free @object of @c lead to @next? Panics if that is no object of @c. */
void object_check_link(const struct kmem_cache *c, const void *object, const void *next);
/* Print which object of a slab @va lies in or behind, and its places; nothing of other memory. */
void object_print(u64 va);
/* The same lives of a block of frames: page_allocated() panics if it was written to. */
void page_freed(u64 pa, unsigned order, u64 ip);
void page_allocated(u64 pa, unsigned order);

/* With SAN_ADDRESS (kasan.c): @object of @c is handed out to the code at @ip. */
void kasan_object_allocated(const struct kmem_cache *c, void *object, u64 ip);
/* @object of @c is freed by @ip and waits. Returns the object that has waited longest, or NULL. */
void *kasan_object_freed(const struct kmem_cache *c, void *object, u64 ip);
/* The same of a frame, by number. */
u32 kasan_page_freed(u32 nr);
