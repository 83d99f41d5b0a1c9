/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fibers by ucontext(3). AddressSanitizer is told of each switch. A fiber that is left for good is
 * begun anew without unwinding its stack.
 */
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <stddef.h>
#include <ucontext.h>

#include "fiber.h"

#define STACK_SIZE (128 * 1024)

static char stacks[NR_FIBERS][STACK_SIZE] __attribute__((aligned(16)));
static ucontext_t contexts[NR_FIBERS], main_context;
static void (*functions[NR_FIBERS])(unsigned);
static const void *main_stack;
static size_t main_size;

static void enter(unsigned nr)
{
	__sanitizer_finish_switch_fiber(NULL, &main_stack, &main_size);
	functions[nr](nr);
}

void fiber_begin(unsigned nr, void (*fn)(unsigned))
{
	ucontext_t *c = &contexts[nr];

	__asan_unpoison_memory_region(stacks[nr], STACK_SIZE);
	functions[nr] = fn;
	getcontext(c);
	c->uc_stack.ss_sp = stacks[nr];
	c->uc_stack.ss_size = STACK_SIZE;
	c->uc_link = NULL;
	makecontext(c, (void (*)(void))enter, 1, nr);
}

void fiber_enter(unsigned nr)
{
	void *own;

	__sanitizer_start_switch_fiber(&own, stacks[nr], STACK_SIZE);
	swapcontext(&main_context, &contexts[nr]);
	__sanitizer_finish_switch_fiber(own, NULL, NULL);
}

void fiber_leave(unsigned nr)
{
	void *own;

	__sanitizer_start_switch_fiber(&own, main_stack, main_size);
	swapcontext(&contexts[nr], &main_context);
	__sanitizer_finish_switch_fiber(own, &main_stack, &main_size);
}

/* The sanitizer says once for all children what it thinks of fibers. */
void fiber_prepare(void)
{
	fiber_begin(0, fiber_leave);
	fiber_enter(0);
}

void fiber_ends(void)
{
}

void fiber_join(void)
{
}

void fiber_give(void *lock)
{
	(void)lock;
}

void fiber_take(void *lock)
{
	(void)lock;
}
