/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks of lock usage in debug builds (make DEBUG=1); see lockdep.c. */
#pragma once

#include "lib/types.h"

struct host_lock;
struct mutex;

struct lockdep_lock {
	const void *lock;
	const char *name; /* of its class */
};

/*
 * Call the first before waiting for a spin lock of the class @name, the second before its release.
 */
void lockdep_acquire(const void *lock, const char *name);
void lockdep_release(const void *lock);
/* As lockdep_acquire(), for a lock of the scheduler: its class is its rank. */
void lockdep_acquire_host(const struct host_lock *lock);
/* The same for mutexes. @trying: the caller does not wait, so its order is not checked. */
void lockdep_acquire_mutex(const struct mutex *m, bool trying);
void lockdep_release_mutex(const struct mutex *m);
/*
 * Fills held[] with at most @max locks that the running code holds, the outermost first, and
 * returns their number. In an interrupt these are its own and not those of the code that it met.
 * Interrupts off.
 */
unsigned lockdep_held(struct lockdep_lock *held, unsigned max);
