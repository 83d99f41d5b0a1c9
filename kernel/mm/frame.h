/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frame table: what is known about each page of physical memory. Private to the allocators
 * (page.c, slab.c); everyone else names frames by physical address.
 */
#pragma once

#include "kernel/mm/mm.h"

#define NR_ORDERS 11 /* the largest block is 2^10 frames, 4 MiB */
/*
 * Debug kernels fill new objects and pages with it: users set what they use, or clear, and
 * tests/guest/leakcheck.c finds what reaches a program all the same.
 */
#define POISON 0xfe

enum frame_kind {
	FRAME_NONE,  /* not RAM, never handed out, or inside a free block */
	FRAME_FREE,  /* first frame of a free block of `order` */
	FRAME_USED,  /* handed out, or waiting in a CPU's cache with refs == 0 */
	FRAME_SLAB,  /* part of a slab of `order` */
	FRAME_LARGE, /* first frame of a kmalloc() that is too large for a slab */
};

struct frame {
	u32 refs; /* references to it; in the first frame of a slab: objects in use */
	u8 kind;  /* enum frame_kind */
	u8 order; /* of the block this frame is part of; not kept for FRAME_USED */
	u8 cache; /* FRAME_SLAB: index of its kmem_cache */
	union {
		struct list link; /* free block: its list; first of a slab: the partial slabs */
		u64 nr_chained;	  /* FRAME_USED, first of a chain: the others in it */
	};
	/*
	 * First of a slab: its free objects, linked. FRAME_USED: next of a chain. In debug kernels,
	 * of a free frame: the code that freed it.
	 */
	void *free;
};
STATIC_ASSERT(sizeof(struct frame) == 32, "0.8 % of memory");

extern struct frame *frames; /* by frame number */

static inline struct frame *frame_of(u64 pa)
{
	return &frames[pa >> PAGE_SHIFT];
}

static inline u64 frame_pa(const struct frame *f)
{
	return (u64)(f - frames) << PAGE_SHIFT;
}
