/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The switch between threads of the kernel: what a function may rely on is there when its thread
 * runs again, and threads begin and end.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/proc.h"
#include "kernel/time/time.h"

enum { NR_KEEPERS = 6, NR_YIELDS = 200, NR_GUESTS = 50, NR_ROUNDS = 8 };
#define KEPT_PAGES 400 /* that caches of stacks may keep; the guests' stacks are several thousand */

static u32 nr_done, nr_spoiled;

/* Holds @value and its successors in the registers that a function must keep, while others run. */
static bool registers_survive(u64 value)
{
	u64 differences = value;

	__asm__ volatile("pushq %%rax\n\t"
			 "movq %%rax, %%rbx\n\t"
			 "leaq 1(%%rax), %%r12\n\t"
			 "leaq 2(%%rax), %%r13\n\t"
			 "leaq 3(%%rax), %%r14\n\t"
			 "leaq 4(%%rax), %%r15\n\t"
			 "call yield\n\t"
			 "popq %%rax\n\t"
			 "subq %%rax, %%rbx\n\t"
			 "subq %%rax, %%r12\n\t"
			 "subq %%rax, %%r13\n\t"
			 "subq %%rax, %%r14\n\t"
			 "subq %%rax, %%r15\n\t"
			 "xorq $1, %%r12\n\t"
			 "xorq $2, %%r13\n\t"
			 "xorq $3, %%r14\n\t"
			 "xorq $4, %%r15\n\t"
			 "movq %%rbx, %%rax\n\t"
			 "orq %%r12, %%rax\n\t"
			 "orq %%r13, %%rax\n\t"
			 "orq %%r14, %%rax\n\t"
			 "orq %%r15, %%rax"
			 : "+a"(differences)
			 :
			 : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			   "r13", "r14", "r15", "memory", "cc");
	return !differences;
}

static void keep(void *arg)
{
	for (unsigned i = 0; i < NR_YIELDS; i++)
		if (!registers_survive((u64)arg * 0x0101010101010101ull + i))
			__atomic_fetch_add(&nr_spoiled, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&nr_done, 1, __ATOMIC_SEQ_CST);
}

/* All @nr threads have said that they are done; in time, for one that is lost never does. */
static bool all_done(unsigned nr)
{
	for (unsigned ms = 0; ms < 1000 && READ_ONCE(nr_done) < nr; ms++)
		sleep_until(clock_ns() + NS_PER_MS, 0);
	return READ_ONCE(nr_done) == nr;
}

SELFTEST(switch_keeps_registers_of_functions)
{
	nr_done = nr_spoiled = 0;
	for (u64 i = 1; i <= NR_KEEPERS; i++)
		SELFTEST_CHECK(kthread_create("keeper", keep, (void *)i));
	SELFTEST_CHECK(all_done(NR_KEEPERS));
	SELFTEST_CHECK(!nr_spoiled);
	return 0;
}

static void come_and_go(void *unused)
{
	(void)unused;
	yield();
	__atomic_fetch_add(&nr_done, 1, __ATOMIC_SEQ_CST);
}

/* The dead are buried by those who run next, so their stacks can be used again. */
SELFTEST(switch_buries_who_ended)
{
	u64 free_before = 0;

	for (unsigned round = 0; round < NR_ROUNDS; round++) {
		nr_done = 0;
		for (unsigned i = 0; i < NR_GUESTS; i++)
			SELFTEST_CHECK(kthread_create("guest", come_and_go, NULL));
		SELFTEST_CHECK(all_done(NR_GUESTS));
		sleep_until(clock_ns() + NS_PER_MS, 0);
		if (!round)
			free_before = page_nr_free();
	}
	SELFTEST_CHECK(page_nr_free() + KEPT_PAGES > free_before);
	return 0;
}
