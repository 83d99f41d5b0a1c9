/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The architecture keeps its contract (kernel/arch.h): rights of mappings, user access, time,
 * interrupts.
 */
#include "kernel/arch.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/proc.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/string.h"

#define KERNEL_HALF 0xffff800000000000ull

/* --- rights -------------------------------------------------------------------- */

struct rights_found {
	unsigned nr, nr_exec, nr_bad;
};

static unsigned note_rights(void *arg, u64 va, u64 pa, unsigned prot)
{
	struct rights_found *found = arg;

	found->nr++;
	found->nr_exec += (prot & PT_EXEC) != 0;
	if ((prot & PT_WRITE && prot & PT_EXEC) || prot & PT_USER) {
		kprintf("# va %lx -> %lx has rights %x\n", va, pa, prot);
		found->nr_bad++;
	}
	return prot;
}

SELFTEST(kernel_mappings_are_write_xor_execute)
{
	struct rights_found found = { 0 };
	unsigned prot;
	u64 pa;

	arch_pt_walk(arch_kernel_pt, KERNEL_HALF, ~0ull, note_rights, &found);
	SELFTEST_CHECK(found.nr > 100);
	SELFTEST_CHECK(found.nr_exec > 0);
	SELFTEST_CHECK(found.nr_bad == 0);
	/* The text's frames are not writable through the direct map either. */
	SELFTEST_CHECK(arch_pt_lookup(arch_kernel_pt, (u64)note_rights, &pa, &prot));
	SELFTEST_CHECK(prot == (PT_READ | PT_EXEC));
	SELFTEST_CHECK(arch_pt_lookup(arch_kernel_pt, (u64)phys_to_virt(pa), &pa, &prot));
	SELFTEST_CHECK(prot == PT_READ);
	return 0;
}

SELFTEST(stacks_have_guard_pages)
{
	unsigned prot;
	u64 pa, stack = (u64)current->kstack;

	SELFTEST_CHECK(arch_pt_lookup(arch_kernel_pt, stack, &pa, &prot));
	SELFTEST_CHECK(!arch_pt_lookup(arch_kernel_pt, stack - PAGE_SIZE, &pa, &prot));
	SELFTEST_CHECK(
		!arch_pt_lookup(arch_kernel_pt, (u64)arch_boot_stack - PAGE_SIZE, &pa, &prot));
	return 0;
}

/* --- page tables of programs --------------------------------------------------- */

#define NR_TEST_PAGES 5

static unsigned nr_refs;

static void count_ref(u64 pa)
{
	(void)pa;
	nr_refs++;
}

static unsigned unmap(void *arg, u64 va, u64 pa, unsigned prot)
{
	(void)va, (void)pa, (void)prot;
	++*(unsigned *)arg;
	return 0;
}

/* Spread over tables, so that every level is grown and skipped. */
static u64 test_address(unsigned i)
{
	return 0x400000 + i * 0x40201000ull;
}

static int check_copied(u64 from, u64 to)
{
	unsigned prot, nr = 0;
	u64 pa;

	for (unsigned i = 0; i < NR_TEST_PAGES; i++) {
		SELFTEST_CHECK(arch_pt_lookup(to, test_address(i), &pa, &prot));
		SELFTEST_CHECK(pa == (i + 1) * PAGE_SIZE);
		SELFTEST_CHECK(prot == (PT_READ | PT_USER | PT_COW));
		SELFTEST_CHECK(arch_pt_lookup(from, test_address(i), &pa, &prot));
		SELFTEST_CHECK(prot == (PT_READ | PT_USER | PT_COW));
		SELFTEST_CHECK(!arch_pt_lookup(to, test_address(i) + PAGE_SIZE, &pa, &prot));
	}
	arch_pt_walk(from, 0, USER_END, unmap, &nr);
	arch_pt_walk(to, 0, USER_END, unmap, &nr);
	SELFTEST_CHECK(nr == 2 * NR_TEST_PAGES);
	return 0;
}

SELFTEST(page_tables_map_copy_and_go)
{
	u64 from = arch_pt_create(), to = arch_pt_create();
	int bad;

	SELFTEST_CHECK(from && to);
	for (unsigned i = 0; i < NR_TEST_PAGES; i++)
		SELFTEST_CHECK(arch_pt_map(from, test_address(i), (i + 1) * PAGE_SIZE,
					   PT_READ | PT_WRITE | PT_USER) == 0);
	nr_refs = 0;
	SELFTEST_CHECK(arch_pt_copy(to, from, 0, USER_END, true, count_ref) == 0);
	SELFTEST_CHECK(nr_refs == NR_TEST_PAGES);
	bad = check_copied(from, to);
	arch_pt_destroy(from);
	arch_pt_destroy(to);
	return bad;
}

/* --- user memory --------------------------------------------------------------- */

/* A kernel thread has no user memory at all: whatever it is given must fail, and fail softly. */
SELFTEST(user_access_faults_are_errors)
{
	static char kernel_buffer[64];
	const u64 bad[] = {
		0, 8, USER_END - 8, USER_END, 1ull << 63, (u64)kernel_buffer, ~0ull - 7
	};
	char buf[64];
	u32 word = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		void *p = (void *)bad[i];

		SELFTEST_CHECK(arch_copy_from_user(buf, p, 8) == 8);
		SELFTEST_CHECK(arch_copy_to_user(p, buf, 13) == 13);
		SELFTEST_CHECK(arch_clear_user(p, 21) == 21);
		SELFTEST_CHECK(arch_strncpy_from_user(buf, p, sizeof(buf)) == -EFAULT);
		SELFTEST_CHECK(arch_user_load_u32(p, &word) == -EFAULT);
		SELFTEST_CHECK(arch_user_cmpxchg_u32(p, &word, 1) == -EFAULT);
	}
	SELFTEST_CHECK(arch_copy_from_user(buf, (void *)4096, ~0ull) == ~0ull);
	SELFTEST_CHECK(arch_copy_from_user(buf, (void *)4096, 0) == 0);
	return 0;
}

/* --- topology ------------------------------------------------------------------ */

SELFTEST(topology_nests)
{
	for (unsigned i = 0; i < arch_nr_cpus; i++) {
		for (unsigned j = 0; j < i; j++) {
			const struct arch_cpu_info *a = &arch_cpus[i], *b = &arch_cpus[j];

			SELFTEST_CHECK(a->apic_id != b->apic_id);
			SELFTEST_CHECK(a->thread != b->thread);
			SELFTEST_CHECK(a->core != b->core || a->llc == b->llc);
			SELFTEST_CHECK(a->llc != b->llc || a->package == b->package);
		}
		SELFTEST_CHECK(arch_node_distance(arch_cpus[i].node, arch_cpus[i].node) == 10);
	}
	return 0;
}

/* --- time ---------------------------------------------------------------------- */

static u64 fired_at;

static void note_time(struct ktimer *t)
{
	(void)t;
	WRITE_ONCE(fired_at, clock_ns());
}

SELFTEST(timers_never_fire_early)
{
	struct ktimer timer;

	ktimer_init(&timer, note_time, NULL);
	for (u64 delay = 1; delay < 5 * NS_PER_MS; delay = delay * 3 + 7) {
		u64 when = clock_ns() + delay;

		fired_at = 0;
		ktimer_start(&timer, when);
		while (!READ_ONCE(fired_at))
			arch_cpu_relax();
		SELFTEST_CHECK(fired_at >= when);
	}
	return 0;
}

SELFTEST(a_window_takes_the_interrupts_that_wait)
{
	unsigned long flags = arch_irq_save();
	u64 began = clock_ns();
	struct ktimer timer;
	bool taken;

	ktimer_init(&timer, note_time, NULL);
	fired_at = 0;
	ktimer_start(&timer, began + NS_PER_US);
	while (!READ_ONCE(fired_at) && clock_ns() < began + 2 * NS_PER_SEC) {
		arch_cpu_relax();
		arch_irq_window();
	}
	taken = READ_ONCE(fired_at);
	arch_irq_restore(flags);
	ktimer_cancel(&timer);
	SELFTEST_CHECK(taken);
	return 0;
}

static u64 clock_elsewhere[MAX_CPUS];

static void note_clock(void *unused)
{
	(void)unused;
	clock_elsewhere[arch_cpu_id()] = arch_clock_ns();
}

/* A call reaches every other CPU, and what they read as time lies between before and after. */
SELFTEST(calls_reach_every_cpu_and_clocks_agree)
{
	u64 before, after, longest = 0;

	for (unsigned round = 0; round < 20; round++) {
		unsigned nr = 0;

		memset(clock_elsewhere, 0, sizeof(clock_elsewhere));
		preempt_disable();
		before = arch_clock_ns();
		arch_call_others(note_clock, NULL);
		after = arch_clock_ns();
		preempt_enable();
		longest = max(longest, after - before);
		for (unsigned i = 0; i < arch_nr_cpus; i++) {
			if (!clock_elsewhere[i])
				continue;
			nr++;
			SELFTEST_CHECK(clock_elsewhere[i] >= before && clock_elsewhere[i] <= after);
		}
		SELFTEST_CHECK(nr == arch_nr_cpus - 1);
	}
	kprintf("# longest round trip %lu ns\n", longest);
	return 0;
}

/* --- translations -------------------------------------------------------------- */

static volatile u64 *shared_word;
static u64 nr_stale;

static void look(void *expected)
{
	if (*shared_word != (u64)expected)
		__atomic_fetch_add(&nr_stale, 1, __ATOMIC_RELAXED);
}

/* Every CPU sees a kernel page replaced, once the shootdown has returned. */
SELFTEST(shootdown_reaches_every_cpu)
{
	u64 frames[2] = { page_alloc_zeroed(), page_alloc_zeroed() };
	u64 *area = vmap_alloc(PAGE_SIZE), original;
	unsigned prot;

	SELFTEST_CHECK(area && frames[0] && frames[1]);
	SELFTEST_CHECK(arch_pt_lookup(arch_kernel_pt, (u64)area, &original, &prot));
	shared_word = area;
	nr_stale = 0;
	for (u64 round = 0; round < 20; round++) {
		u64 *frame = phys_to_virt(frames[round % 2]);

		*frame = round;
		arch_pt_map(arch_kernel_pt, (u64)area, frames[round % 2], PT_READ | PT_WRITE);
		arch_tlb_shootdown(arch_kernel_pt);
		look((void *)round);
		arch_call_others(look, (void *)round);
	}
	arch_pt_map(arch_kernel_pt, (u64)area, original, prot);
	arch_tlb_shootdown(arch_kernel_pt);
	vmap_free(area);
	page_put(frames[0]);
	page_put(frames[1]);
	SELFTEST_CHECK(nr_stale == 0);
	return 0;
}
