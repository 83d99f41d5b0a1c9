/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contracts as code: what a function demands of its caller, checked at its head. `assert` checks in
 * every build. `debug_assert` checks in DEBUG builds alone, for code that runs often: the switch, a
 * wakeup, the tick, the entry of a system call, allocators, the recorder, small helpers. Order of
 * locks: kernel/task/lockdep.h.
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
 * May the running code sleep? Preemption is on, no spin lock is held, this is no interrupt. Not by
 * this_cpu(): the thread may move to another CPU between finding its words and reading them.
 * Interrupts are on, too, which debug kernels check.
 */
#define may_sleep() (arch_preemptible() && !arch_in_irq())

/* The function may switch, so this is also a good place for a switch that is due. */
#define might_sleep()                                                                              \
	do {                                                                                       \
		assert(may_sleep());                                                               \
		debug_assert(arch_irq_enabled() || !kernel_has_threads);                           \
		might_resched();                                                                   \
	} while (0)
