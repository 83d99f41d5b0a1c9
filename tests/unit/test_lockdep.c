/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checker of locks (kernel/task/lockdep.c) under planted faults: orders that can deadlock, by
 * threads that never meet, and locks that an interrupt may find held.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "kernel/task/lockdep.c"

static struct arch_cpu arch[2];
static struct cpu cpu[2] = { { .id = 0, .arch = &arch[0] }, { .id = 1, .arch = &arch[1] } };
static struct thread thread[2];
struct cpu *hosted_cpu;
static jmp_buf panicked;
static char said[256];
u64 hosted_clock_ns;

static struct spinlock a = SPINLOCK_INIT("a"), b = SPINLOCK_INIT("b"), c = SPINLOCK_INIT("c");
static struct spinlock two[2] = { SPINLOCK_INIT("two"), SPINLOCK_INIT("two") };
static struct mutex m, n;

/* --- the rest of the kernel ------------------------------------------------------------- */

void hosted_relax(void)
{
}

void hosted_irqs_on(void)
{
	hosted_cpu->arch->irqs_off = false;
}

void hosted_irqs_off(void)
{
	hosted_cpu->arch->irqs_off = true;
}

void panic(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	longjmp(panicked, 1);
}

void kprintf(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
}

void backtrace_print(u64 bp)
{
	(void)bp;
}

static int setup(void **state)
{
	(void)state;
	memset(classes, 0, sizeof(classes));
	memset(held_by_cpu, 0, sizeof(held_by_cpu));
	memset(thread, 0, sizeof(thread));
	nr_classes = 0;
	for (unsigned i = 0; i < 2; i++) {
		arch[i].irqs_off = false;
		cpu[i].irq_depth = cpu[i].preempt_count = 0;
		cpu[i].running = &thread[i];
	}
	hosted_cpu = &cpu[0];
	m.queue.lock.name = "m";
	n.queue.lock.name = "n";
	return 0;
}

/* --- what threads do --------------------------------------------------------------------- */

static void take(struct spinlock *lock)
{
	lockdep_acquire(lock, lock->name);
}

static void take_irqs_off(struct spinlock *lock)
{
	arch_irq_save();
	take(lock);
}

static void take_in_irq(struct spinlock *lock)
{
	hosted_cpu->irq_depth++;
	take_irqs_off(lock);
}

static void let_go_in_irq(struct spinlock *lock)
{
	lockdep_release(lock);
	arch_irq_restore(0);
	hosted_cpu->irq_depth--;
}

static void take_both(struct spinlock *outer, struct spinlock *inner)
{
	take(outer);
	take(inner);
	lockdep_release(inner);
	lockdep_release(outer);
}

static void mutex_take_both(struct mutex *outer, struct mutex *inner)
{
	lockdep_acquire_mutex(outer, false);
	lockdep_acquire_mutex(inner, false);
	lockdep_release_mutex(inner);
	lockdep_release_mutex(outer);
}

#define assert_panics(text, ...)                                                                   \
	do {                                                                                       \
		if (!setjmp(panicked)) {                                                           \
			__VA_ARGS__;                                                               \
			fail_msg("no panic; wanted: %s", text);                                    \
		}                                                                                  \
		assert_string_equal(said, text);                                                   \
	} while (0)

/* --- order -------------------------------------------------------------------------------- */

static void test_two_threads_that_never_meet(void **state)
{
	(void)state;
	take_both(&a, &b);
	hosted_cpu = &cpu[1];
	assert_panics("lockdep: now b -> a, and before a -> b", take_both(&b, &a));
}

static void test_cycle_of_three(void **state)
{
	(void)state;
	take_both(&a, &b);
	take_both(&b, &c);
	assert_panics("lockdep: now c -> a, and before a -> b -> c", take_both(&c, &a));
}

static void test_one_order_again_and_again(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		hosted_cpu = &cpu[i % 2];
		take_both(&a, &b);
		take_both(&b, &c);
		take_both(&a, &c);
		take_both(&two[0], &two[1]);
	}
}

static void test_two_of_a_class(void **state)
{
	(void)state;
	assert_panics("lockdep: a second lock of class two, not in order of address",
		      take_both(&two[1], &two[0]));
}

static void test_mutexes_of_two_threads(void **state)
{
	(void)state;
	mutex_take_both(&m, &n);
	hosted_cpu = &cpu[1];
	assert_panics("lockdep: now n -> m, and before m -> n", mutex_take_both(&n, &m));
}

/* A thread that only tries waits for nobody, but who waits while it holds the mutex does. */
static void test_mutex_that_was_tried(void **state)
{
	(void)state;
	mutex_take_both(&m, &n);
	lockdep_acquire_mutex(&n, false);
	lockdep_acquire_mutex(&m, true);
	lockdep_release_mutex(&m);
	assert_panics("lockdep: now n -> m, and before m -> n", lockdep_acquire_mutex(&m, false));
}

static void test_mutex_under_spin_lock(void **state)
{
	(void)state;
	take(&a);
	assert_panics("lockdep: the mutex m is taken under the spin lock a",
		      lockdep_acquire_mutex(&m, true));
}

/* The wait in a mutex takes its thread to another CPU: what it holds goes with it. */
static void test_mutex_stays_with_its_thread(void **state)
{
	(void)state;
	mutex_take_both(&m, &n);
	lockdep_acquire_mutex(&n, false);
	cpu[1].running = &thread[0];
	cpu[0].running = &thread[1];
	lockdep_acquire_mutex(&m, false); /* another thread */
	hosted_cpu = &cpu[1];
	assert_panics("lockdep: now n -> m, and before m -> n", lockdep_acquire_mutex(&m, false));
}

static void test_release_of_what_is_not_held(void **state)
{
	(void)state;
	take(&a);
	hosted_cpu = &cpu[1];
	assert_panics("lockdep: a lock is released that is not held here", lockdep_release(&a));
}

/* --- interrupts --------------------------------------------------------------------------- */

static void test_with_interrupts_on_then_in_one(void **state)
{
	(void)state;
	take(&a);
	lockdep_release(&a);
	hosted_cpu = &cpu[1];
	assert_panics("lockdep: a is taken in interrupts, and also with interrupts on",
		      take_in_irq(&a));
}

static void test_in_an_interrupt_then_with_them_on(void **state)
{
	(void)state;
	take_in_irq(&a);
	let_go_in_irq(&a);
	assert_panics("lockdep: a is taken in interrupts, and also with interrupts on", take(&a));
}

#define PAIR                                                                                       \
	"lockdep: a is taken in interrupts, and under it b, which is also taken with "             \
	"interrupts on"

/* The three facts that make a deadlock of two CPUs: each of them may be the last. */
static void outer_in_irq(void)
{
	take_in_irq(&a);
	let_go_in_irq(&a);
}

static void inner_with_irqs_on(void)
{
	take(&b);
	lockdep_release(&b);
}

static void one_in_the_other(void)
{
	take_irqs_off(&a);
	take(&b);
	lockdep_release(&b);
	lockdep_release(&a);
	arch_irq_restore(0);
}

static void test_inner_lock_that_is_not_safe(void **state)
{
	void (*const facts[])(void) = { outer_in_irq, inner_with_irqs_on, one_in_the_other };

	for (unsigned last = 0; last < 3; last++) {
		setup(state);
		facts[(last + 1) % 3]();
		facts[(last + 2) % 3]();
		assert_panics(PAIR, facts[last]());
	}
}

static void test_safe_inside_unsafe(void **state)
{
	(void)state;
	outer_in_irq();
	take(&b);
	take_irqs_off(&a);
	lockdep_release(&a);
	arch_irq_restore(0);
	lockdep_release(&b);
	inner_with_irqs_on();
}

/* --- time ------------------------------------------------------------------------------- */

static void test_long_sections_are_said_once(void **state)
{
	(void)state;
	said[0] = '\0';
	take(&a);
	hosted_clock_ns += NS_PER_SEC - 1;
	lockdep_release(&a);
	assert_string_equal(said, "");
	take_both(&b, &c);
	take(&b);
	take(&c);
	hosted_clock_ns += 1500 * NS_PER_MS;
	lockdep_release(&c);
	assert_string_equal(said, "");
	lockdep_release(&b);
	assert_string_equal(said, "lockdep: b kept cpu 0 for 1500 ms\n");
	said[0] = '\0';
	take(&b);
	hosted_clock_ns += 3 * NS_PER_SEC;
	lockdep_release(&b);
	assert_string_equal(said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_two_threads_that_never_meet, setup),
		cmocka_unit_test_setup(test_cycle_of_three, setup),
		cmocka_unit_test_setup(test_one_order_again_and_again, setup),
		cmocka_unit_test_setup(test_two_of_a_class, setup),
		cmocka_unit_test_setup(test_mutexes_of_two_threads, setup),
		cmocka_unit_test_setup(test_mutex_that_was_tried, setup),
		cmocka_unit_test_setup(test_mutex_under_spin_lock, setup),
		cmocka_unit_test_setup(test_mutex_stays_with_its_thread, setup),
		cmocka_unit_test_setup(test_release_of_what_is_not_held, setup),
		cmocka_unit_test_setup(test_with_interrupts_on_then_in_one, setup),
		cmocka_unit_test_setup(test_in_an_interrupt_then_with_them_on, setup),
		cmocka_unit_test_setup(test_inner_lock_that_is_not_safe, setup),
		cmocka_unit_test_setup(test_safe_inside_unsafe, setup),
		cmocka_unit_test_setup(test_long_sections_are_said_once, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
