/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel/task/futex.c, and entries to it. They are written before that file: what a student defines
 * in it, such as a macro, does not change them, nor the test, which is another file.
 */
#include "futex_entry.h"

static int futex_init(void);
static struct futex_bucket *bucket_of(const struct futex_key *key);
static bool begin_wait(struct futex_waiter *w, const u32 *addr, u32 val, long *result);
static void wait_for_wake(struct futex_waiter *w);
static void wake_waiter(struct futex_waiter *w);

void enter_init(void)
{
	futex_init();
}

struct futex_bucket *enter_bucket_of(const struct futex_key *key)
{
	return bucket_of(key);
}

bool enter_begin_wait(struct futex_waiter *w, const u32 *addr, u32 val, long *result)
{
	return begin_wait(w, addr, val, result);
}

void enter_wait_for_wake(struct futex_waiter *w)
{
	wait_for_wake(w);
}

void enter_wake_waiter(struct futex_waiter *w)
{
	wake_waiter(w);
}

#include "kernel/task/futex.c"
