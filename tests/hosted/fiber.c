/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fibers by ucontext(3). A sanitizer is told of each switch by the functions below, which do
 * nothing unless another file has them (asan/announce.c, tsan/announce.c). A fiber that is left for
 * good is begun anew without unwinding its stack.
 */
#include "fiber.h"

#include <ucontext.h>

#define STACK_SIZE (128 * 1024)

static char stacks[NR_FIBERS][STACK_SIZE] __attribute__((aligned(16)));
static ucontext_t contexts[NR_FIBERS], main_context;
static void (*functions[NR_FIBERS])(unsigned);

static void enter(unsigned nr)
{
	announce_arrival((int)nr, NULL);
	functions[nr](nr);
}

void fiber_begin(unsigned nr, void (*fn)(unsigned))
{
	ucontext_t *c = &contexts[nr];

	announce_fiber(nr, stacks[nr], STACK_SIZE);
	functions[nr] = fn;
	getcontext(c);
	c->uc_stack.ss_sp = stacks[nr];
	c->uc_stack.ss_size = STACK_SIZE;
	c->uc_link = NULL;
	makecontext(c, (void (*)(void))enter, 1, nr);
}

void fiber_enter(unsigned nr)
{
	void *own = announce_switch((int)nr);

	swapcontext(&main_context, &contexts[nr]);
	announce_arrival(MAIN_STACK, own);
}

void fiber_leave(unsigned nr)
{
	void *own = announce_switch(MAIN_STACK);

	swapcontext(&contexts[nr], &main_context);
	announce_arrival((int)nr, own);
}

/* --- a sanitizer has these of its own, other builds do without -------------------------------- */

#define UNLESS_ANNOUNCED __attribute__((weak))

UNLESS_ANNOUNCED void announce_fiber(unsigned nr, void *stack, size_t size)
{
	(void)nr, (void)stack, (void)size;
}

UNLESS_ANNOUNCED void *announce_switch(int nr)
{
	(void)nr;
	return NULL;
}

UNLESS_ANNOUNCED void announce_arrival(int nr, void *own)
{
	(void)nr, (void)own;
}

UNLESS_ANNOUNCED void fiber_prepare(void)
{
}

UNLESS_ANNOUNCED void fiber_ends(void)
{
}

UNLESS_ANNOUNCED void fiber_join(void)
{
}

UNLESS_ANNOUNCED void fiber_give(void *lock)
{
	(void)lock;
}

UNLESS_ANNOUNCED void fiber_take(void *lock)
{
	(void)lock;
}
