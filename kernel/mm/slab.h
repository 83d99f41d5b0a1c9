/* SPDX-License-Identifier: GPL-2.0-only */
/* A cache of objects, as slab.c and kasan.c know it. */
#pragma once

#include "kernel/mm/mm.h"

#define NR_CACHES 32

struct kmem_cache {
	const char *name;
	u32 size;   /* of an object, rounded up to its alignment; with a gap if SAN_ADDRESS */
	u32 object; /* so many bytes of that are its user's */
	u8 id, order;
	u32 nr_slabs;
	u32 batch; /* objects moved between a CPU's list and the slabs at a time */
	struct spinlock lock;
	struct list partial; /* slabs with a free object */
};
extern struct kmem_cache kmem_caches[NR_CACHES];

/* With SAN_ADDRESS (kasan.c): @object of @c is handed out to the code at @ip. */
void kasan_object_allocated(const struct kmem_cache *c, void *object, u64 ip);
/* @object of @c is freed by @ip and waits. Returns the object that has waited longest, or NULL. */
void *kasan_object_freed(const struct kmem_cache *c, void *object, u64 ip);
/* The same of a frame, by number. */
u32 kasan_page_freed(u32 nr);
