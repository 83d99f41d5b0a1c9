/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts of references. An object that is made has one. Whoever holds one may make another; whoever
 * drops the last frees the object.
 */
#pragma once

#include "kernel/base/guards.h"
#include "kernel/kernel.h"

static inline void ref_get(u32 *refs)
{
	debug_assert(*refs && *refs != UINT32_MAX);
	__atomic_fetch_add(refs, 1, __ATOMIC_RELAXED);
}

/* Returns whether that was the last. */
static inline bool ref_put(u32 *refs)
{
	debug_assert(*refs);
	bool last = !__atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL);

	if (last)
		owned(refs);
	return last;
}
