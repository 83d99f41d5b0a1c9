/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is every field used as its declaration says? A field is declared by GUARDED() of lib/types.h. A
 * kernel of DEBUG=1 SAN=thread notes accesses (guards.c), and tools/scripts/guards.py compares.
 */
#pragma once

#include "lib/types.h"

#ifndef CHECK_GUARDS /* the Makefile */
#define CHECK_GUARDS 0
#endif

/* The upper half of addresses in the image; an object keeps only the lower half of its maker's. */
#define IMAGE_HALF 0xffffffff00000000ull

#define GUARDS_WRITE  1u
#define GUARDS_MARKED 2u /* READ_ONCE, WRITE_ONCE, or a __atomic builtin */

/*
 * The code at @ip, called by that of the frame @bp, accesses the @n bytes from @addr. @how:
 * GUARDS_WRITE, GUARDS_MARKED. Any context.
 */
void guards_access(u64 addr, u64 n, u32 how, u64 ip, u64 bp);
/* The running context alone has the object of a slab that @p lies in. Nothing for other memory. */
void guards_own(const void *p);

/* From now on nobody else knows the object that @p lies in: it is about to be freed. */
static inline void owned(const void *p)
{
	if (CHECK_GUARDS)
		guards_own(p);
}
