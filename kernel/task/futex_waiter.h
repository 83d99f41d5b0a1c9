/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread that sleeps for a futex, and the bucket it is found in. Of futex.c, and of the test that
 * looks at both from outside (tests/unit/test_futex.c).
 */
#pragma once

#include "kernel/sync.h"
#include "lib/list.h"

struct futex_key {
	u64 space; /* the mm, or a physical frame with bit 0 set */
	u64 offset;
};

struct futex_bucket {
	struct spinlock lock;
	struct list waiters;
};

struct futex_waiter {
	struct list link;
	struct futex_bucket *bucket;
	struct futex_key key;
	struct thread *thread;
	u32 bitset;
	s32 prio; /* its thread's when it came */
	bool woken, timed_out;
	bool released; /* its waker touches neither it nor its thread any more */
};
