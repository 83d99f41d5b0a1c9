/* SPDX-License-Identifier: GPL-2.0-only */
/* AddressSanitizer is told where the stack of a fiber is, and of each switch to another. */
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "fiber.h"

static struct {
	const void *stack;
	size_t size;
} fibers[NR_FIBERS], main_stack;

void announce_fiber(unsigned nr, void *stack, size_t size)
{
	__asan_unpoison_memory_region(stack, size);
	fibers[nr].stack = stack;
	fibers[nr].size = size;
}

void *announce_switch(int nr)
{
	const void *stack = nr == MAIN_STACK ? main_stack.stack : fibers[nr].stack;
	void *own;

	__sanitizer_start_switch_fiber(&own, stack,
				       nr == MAIN_STACK ? main_stack.size : fibers[nr].size);
	return own;
}

/* A fiber learns where the main stack is, from which it was entered. */
void announce_arrival(int nr, void *own)
{
	if (nr == MAIN_STACK)
		__sanitizer_finish_switch_fiber(own, NULL, NULL);
	else
		__sanitizer_finish_switch_fiber(own, &main_stack.stack, &main_stack.size);
}

/* The sanitizer says once for all children what it thinks of fibers. */
void fiber_prepare(void)
{
	fiber_begin(0, fiber_leave);
	fiber_enter(0);
}
