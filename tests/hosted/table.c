/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page table of a hosted world: one, of few pages. A group of pages takes an allocation. No CPU
 * keeps a translation, but a page that was unmapped must not be freed before the flush.
 */
#include "kernel/arch.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "lib/errno.h"
#include "world.h"

enum { GROUP = 4, GROUPS = 72, STALE = 32 };

struct entry {
	u64 pa; /* 0: not mapped */
	unsigned prot;
};

static struct entry *groups[GROUPS];
static u64 first_va;
static u64 stale[STALE];
static unsigned nr_stale;

void table_begin(u64 va)
{
	first_va = va;
	nr_stale = 0;
	for (unsigned i = 0; i < GROUPS; i++)
		groups[i] = NULL;
}

void table_end(void)
{
	for (unsigned i = 0; i < GROUPS; i++)
		kfree(groups[i]);
}

void table_page_is_free(u64 pa)
{
	for (unsigned i = 0; i < nr_stale; i++)
		if (stale[i] == pa)
			panic("a page is freed before its translation is flushed");
}

static struct entry *entry_of(u64 va)
{
	u64 page = (va - first_va) >> PAGE_SHIFT;

	if (page >= GROUPS * GROUP)
		panic("the page %lx is outside the page table", va);
	return groups[page / GROUP] ? &groups[page / GROUP][page % GROUP] : NULL;
}

int arch_pt_map(u64 root, u64 va, u64 pa, unsigned prot)
{
	struct entry **group = &groups[((va - first_va) >> PAGE_SHIFT) / GROUP];

	(void)root;
	if (!entry_of(va))
		*group = kzalloc(GROUP * sizeof(**group));
	if (!*group)
		return -ENOMEM;
	*entry_of(va) = (struct entry){ pa, prot };
	return 0;
}

bool arch_pt_lookup(u64 root, u64 va, u64 *pa, unsigned *prot)
{
	const struct entry *e = entry_of(va);

	(void)root;
	if (!e || !e->pa)
		return false;
	*pa = e->pa;
	*prot = e->prot;
	return true;
}

void arch_pt_walk(u64 root, u64 start, u64 end,
		  unsigned (*fn)(void *arg, u64 va, u64 pa, unsigned prot), void *arg)
{
	(void)root;
	for (u64 va = start; va < end; va += PAGE_SIZE) {
		struct entry *e = entry_of(va);

		if (!e || !e->pa)
			continue;
		e->prot = fn(arg, va, e->pa, e->prot);
		if (e->prot)
			continue;
		if (nr_stale < STALE)
			stale[nr_stale++] = e->pa;
		e->pa = 0;
	}
}

void arch_tlb_flush_page(u64 va)
{
	(void)va;
}

void arch_tlb_shootdown(u64 root)
{
	(void)root;
	nr_stale = 0;
}
