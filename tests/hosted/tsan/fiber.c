/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fibers that ThreadSanitizer takes for threads. A switch orders nothing, so two accesses of two
 * threads are a race unless the kernel's own locks, wakeups or atomic operations order them, in
 * whatever schedule they are seen. WRITE_ONCE, which gcc tells apart by `--param
 * tsan-distinguish-volatile=1`, is an atomic store, and READ_ONCE may meet any store of one word.
 */
#include <sanitizer/tsan_interface.h>
#include <stddef.h>
#include <ucontext.h>

#include "fiber.h"

#define STACK_SIZE (128 * 1024)

static char stacks[NR_FIBERS][STACK_SIZE] __attribute__((aligned(16)));
static ucontext_t contexts[NR_FIBERS], main_context;
static void (*functions[NR_FIBERS])(unsigned);
static void *main_fiber, *fibers[NR_FIBERS];
static char all_ended;

__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "halt_on_error=1 report_thread_leaks=0 report_signal_unsafe=0 history_size=2";
}

static void enter(unsigned nr)
{
	functions[nr](nr);
}

void fiber_begin(unsigned nr, void (*fn)(unsigned))
{
	ucontext_t *c = &contexts[nr];

	main_fiber = __tsan_get_current_fiber();
	if (fibers[nr])
		__tsan_destroy_fiber(fibers[nr]);
	fibers[nr] = __tsan_create_fiber(0);
	functions[nr] = fn;
	getcontext(c);
	c->uc_stack.ss_sp = stacks[nr];
	c->uc_stack.ss_size = STACK_SIZE;
	c->uc_link = NULL;
	makecontext(c, (void (*)(void))enter, 1, nr);
}

void fiber_enter(unsigned nr)
{
	__tsan_switch_to_fiber(fibers[nr], __tsan_switch_to_fiber_no_sync);
	swapcontext(&main_context, &contexts[nr]);
}

void fiber_leave(unsigned nr)
{
	__tsan_switch_to_fiber(main_fiber, __tsan_switch_to_fiber_no_sync);
	swapcontext(&contexts[nr], &main_context);
}

/* Nothing: in the child of a process that has fibers the sanitizer is silent. */
void fiber_prepare(void)
{
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
