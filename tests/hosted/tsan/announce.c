/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fibers that ThreadSanitizer takes for threads. A switch orders nothing, so two accesses of two
 * threads are a race unless the kernel's own locks, wakeups or atomic operations order them, in
 * whatever schedule they are seen. WRITE_ONCE, which gcc tells apart by `--param
 * tsan-distinguish-volatile=1`, is an atomic store, and READ_ONCE may meet any store of one word.
 */
#include <sanitizer/tsan_interface.h>

#include "fiber.h"

static void *main_fiber, *fibers[NR_FIBERS];
static char all_ended;

__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "halt_on_error=1 report_thread_leaks=0 report_signal_unsafe=0 history_size=2";
}

void announce_fiber(unsigned nr, void *stack, size_t size)
{
	(void)stack, (void)size;
	main_fiber = __tsan_get_current_fiber();
	if (fibers[nr])
		__tsan_destroy_fiber(fibers[nr]);
	fibers[nr] = __tsan_create_fiber(0);
}

void *announce_switch(int nr)
{
	__tsan_switch_to_fiber(nr == MAIN_STACK ? main_fiber : fibers[nr],
			       __tsan_switch_to_fiber_no_sync);
	return NULL;
}

void fiber_ends(void)
{
	__tsan_release(&all_ended);
}

void fiber_join(void)
{
	__tsan_acquire(&all_ended);
}

void fiber_give(void *lock)
{
	__tsan_release(lock);
}

void fiber_take(void *lock)
{
	__tsan_acquire(lock);
}

/* --- volatile accesses, which gcc calls these for -------------------------------------------- */

enum { RELAXED = 0 }; /* of enum memory_order */

/*
 * A read may meet a plain write under a lock, which is one store: nothing is to be told of it. What
 * it finds by a store that releases has its order by that store, as on any machine that follows a
 * pointer only after it has loaded it.
 */
#define DEFINE_VOLATILE(size, bits, type)                                                          \
	type __tsan_atomic##bits##_fetch_add(volatile type *at, type value, int order);            \
	void __tsan_volatile_read##size(const volatile type *at);                                  \
	void __tsan_volatile_read##size(const volatile type *at)                                   \
	{                                                                                          \
		__tsan_acquire((void *)at);                                                        \
	}                                                                                          \
	void __tsan_volatile_write##size(volatile type *at);                                       \
	void __tsan_volatile_write##size(volatile type *at)                                        \
	{                                                                                          \
		__tsan_atomic##bits##_fetch_add(at, 0, RELAXED);                                   \
	}
DEFINE_VOLATILE(1, 8, char)
DEFINE_VOLATILE(2, 16, short)
DEFINE_VOLATILE(4, 32, int)
DEFINE_VOLATILE(8, 64, long)
