/* SPDX-License-Identifier: GPL-2.0-only */
/* How a test enters kernel/task/futex.c, whose functions are static. */
#pragma once

#include "kernel/task/futex_waiter.h"

void enter_init(void);
struct futex_bucket *enter_bucket_of(const struct futex_key *key);

/* These three are a student's, in lab 12: to be run in another process (step.h). */
bool enter_begin_wait(struct futex_waiter *w, const u32 *addr, u32 val, long *result);
void enter_wait_for_wake(struct futex_waiter *w);
void enter_wake_waiter(struct futex_waiter *w);
