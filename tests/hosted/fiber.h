/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks that a program switches between by itself. */
#pragma once

#define NR_FIBERS 4

/* Fiber @nr is to run @fn(@nr) from its beginning. @fn must not return. */
void fiber_begin(unsigned nr, void (*fn)(unsigned));
/* From the main stack: runs fiber @nr until it calls fiber_leave(). */
void fiber_enter(unsigned nr);
/* From the fiber @nr, which fiber_enter() will let go on. */
void fiber_leave(unsigned nr);
