/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * SAN=address: which bytes of the kernel's memory may be accessed. In other builds these calls are
 * nothing.
 *
 * A shadow byte stands for eight bytes, at kasan_shadow() of their address: 0 if all of them may be
 * accessed, 1 to 7 if so many of the first may, else the reason why none may. The compiler has each
 * load and store ask first, and puts gaps between variables; allocators say what they hand out and
 * take back.
 * Reference: Serebryany and others, AddressSanitizer, USENIX ATC 2012.
 */
#pragma once

#include "kernel/kernel.h"
#include "kernel/arch.h"

#define KASAN_GRANULE	    8
#define KASAN_REDZONE	    16	 /* after each object of a slab: who allocated it, who freed it */
#define KASAN_WAITING	    4096 /* freed objects that are kept from their next user */
#define KASAN_WAITING_PAGES 256
/* At most this number of free pages is missing: those that wait, slabs, the shadow of stacks. */
#define KASAN_KEEPS_PAGES (SAN_ADDRESS ? KASAN_WAITING + KASAN_WAITING_PAGES : 0)

/* Why bytes may not be accessed. The compiler writes the last four; the rest are Linux's values. */
enum kasan_reason {
	KASAN_PAGE_FREE = 0xff,
	KASAN_PAGE_REDZONE = 0xfe,
	KASAN_SLAB_REDZONE = 0xfc,
	KASAN_SLAB_FREE = 0xfb,
	KASAN_GLOBAL_REDZONE = 0xf9,
	KASAN_STACK_SCOPE = 0xf8,
	KASAN_STACK_LEFT = 0xf1,
	KASAN_STACK_MID = 0xf2,
	KASAN_STACK_RIGHT = 0xf3,
};

/* The shadow of address @va. Valid for the direct map, the image, and what kasan_map() was told. */
static inline u8 *kasan_shadow(u64 va)
{
	return (u8 *)((va >> 3) + ARCH_KASAN_OFFSET);
}

void kasan_allow_bytes(const void *p, size_t n);
void kasan_forbid_bytes(const void *p, size_t n, enum kasan_reason why);
void kasan_check_bytes(const void *p, size_t n, bool write, u64 ip);
bool kasan_map_bytes(u64 va, size_t n);
/* From now on accesses are checked. The shadow is mapped, and global variables get their gaps. */
void kasan_start(void);

/* The @n bytes from @p, which is a multiple of KASAN_GRANULE, may be accessed. Any context. */
static inline void kasan_allow(const void *p, size_t n)
{
	debug_assert((u64)p % KASAN_GRANULE == 0);
	if (SAN_ADDRESS)
		kasan_allow_bytes(p, n);
}

/* The @n bytes from @p may not be accessed. A granule that begins before @p keeps its first. */
static inline void kasan_forbid(const void *p, size_t n, enum kasan_reason why)
{
	if (SAN_ADDRESS)
		kasan_forbid_bytes(p, n, why);
}

/* For code that the compiler does not see: panics if one of the @n bytes may not be accessed. */
static inline void kasan_check(const void *p, size_t n, bool write)
{
	if (SAN_ADDRESS)
		kasan_check_bytes(p, n, write, (u64)__builtin_return_address(0));
}

/* Give the @n bytes at @va of the vmap area a shadow. False when memory is short. */
static inline bool kasan_map(u64 va, size_t n)
{
	return !SAN_ADDRESS || kasan_map_bytes(va, n);
}

/* For tests: forbidden accesses of the running thread are counted from 0, or panic again. */
void kasan_count(bool on);
unsigned kasan_nr_noticed(void);
