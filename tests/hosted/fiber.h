/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks that a program switches between by itself. */
#pragma once

#include <stddef.h>

#define NR_FIBERS  4
#define MAIN_STACK (-1) /* the stack that is no fiber's */

/* Before processes are forked that have fibers. */
void fiber_prepare(void);
/* Fiber @nr is to run @fn(@nr) from its beginning. @fn must not return. */
void fiber_begin(unsigned nr, void (*fn)(unsigned));
/* From the main stack: runs fiber @nr until it calls fiber_leave(). */
void fiber_enter(unsigned nr);
/* From the fiber @nr, which fiber_enter() will let go on. */
void fiber_leave(unsigned nr);

/* --- for ThreadSanitizer alone, which takes fibers for threads (tsan/announce.c) ------------- */

/* The running fiber will not be entered again before it is begun anew. */
void fiber_ends(void);
/* On the main stack: all fibers have ended, so that it sees what they did. */
void fiber_join(void);
/* The running fiber gives @lock back, and what it did so far is seen by the next that takes it. */
void fiber_give(void *lock);
void fiber_take(void *lock);

/* --- for a sanitizer (asan/announce.c, tsan/announce.c) -------------------------------------- */

/* Fiber @nr begins on the @size bytes at @stack. */
void announce_fiber(unsigned nr, void *stack, size_t size);
/* The running one leaves for fiber @nr or MAIN_STACK; for announce_arrival() when it goes on. */
void *announce_switch(int nr);
/* Fiber @nr or MAIN_STACK runs now. @own: of its last announce_switch(), NULL at the beginning. */
void announce_arrival(int nr, void *own);
