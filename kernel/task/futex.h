/* SPDX-License-Identifier: GPL-2.0-only */
/* Futexes: what the rest of the kernel asks of futex.c, robust.c and futex_op.c. */
#pragma once

#include "lib/types.h"

struct thread;

/*
 * The exiting thread @t (the running one): mark its robust mutexes owner-died, then clear and wake
 * clear_child_tid, where pthread_join waits. Before the address space goes; may sleep.
 */
void futex_exit(struct thread *t);

#define FUTEX_BITSET_MATCH_ANY 0xffffffffu

/*
 * Wake up to @nr (at least one) waiters of the word at @addr whose bitset meets @bitset. Returns
 * how many, or -errno.
 */
long futex_wake(u64 addr, bool private, long nr, u32 bitset);

/*
 * Does to the word at @addr what @code says, and puts into *@wake whether the value that it had
 * compares true. 0 or -errno.
 */
int futex_op(u32 *addr, u32 code, bool *wake);
