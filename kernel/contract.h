/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contracts as code: what a function demands of its caller, checked at its head. All builds check,
 * except on the four hottest paths (switch, wake, tick, system call entry) and in the page and slab
 * allocators: those write `if (DEBUG)` before the check. Order of locks: kernel/task/lockdep.h.
 */
#pragma once

#include "kernel/kernel.h"
#include "kernel/percpu.h"
#include "kernel/sync.h"

/* This CPU holds the spin lock. */
#define assert_held(lock) assert(spin_is_held(lock))
/* The running thread holds the mutex. */
#define assert_mutex_held(m) assert((m)->holder == arch_current())
#define assert_irqs_off()    assert(!arch_irq_enabled())
#define assert_irqs_on()     assert(arch_irq_enabled())
/*
 * The function may switch: preemption is on, no spin lock is held, this is no interrupt. Not by
 * this_cpu(): the thread may move to another CPU between finding its words and reading them. A good
 * place for a switch that is due.
 */
#define might_sleep()                                                                              \
	do {                                                                                       \
		assert(arch_preemptible() && !arch_in_irq());                                      \
		might_resched();                                                                   \
	} while (0)
