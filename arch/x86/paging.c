/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables: four levels, 4 KiB pages for programs and the image, 2 MiB pages for the direct map.
 *
 * W^X: no address is writable and executable, and the frames of text and constants are read-only in
 * the direct map as well. The upper half is shared by giving every root the same entries: all of
 * them, the one of the vmap area included, exist from boot on, so that a later mapping appears
 * everywhere at once.
 *
 * Tables are reached through the direct map. Changes to one root's user half are serialised by its
 * owner (mm->lock); the vmap area's by vmalloc.
 */
#include "kernel/arch.h"
#include "kernel/contract.h"
#include "kernel/percpu.h"
#include "kernel/mm/kasan.h"
#include "kernel/mm/mm.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "x86.h"

#define PTE_PRESENT  BIT(0)
#define PTE_WRITE    BIT(1)
#define PTE_USER     BIT(2)
#define PTE_UNCACHED (BIT(3) | BIT(4))
#define PTE_LARGE    BIT(7)
#define PTE_COW	     BIT(9)  /* software: == PT_COW << 5 */
#define PTE_NONE     BIT(10) /* software: not present, but the frame is kept (PROT_NONE) */
#define PTE_NX	     BIT(63)
#define PTE_ADDR     0x000ffffffffff000ull
#define PTE_TABLE    (PTE_PRESENT | PTE_WRITE | PTE_USER) /* rights are decided by the last level */

#define LARGE_PAGE 0x200000ull
#define GIB	   (1ull << 30)

extern u64 x86_boot_pml4[512];

u64 arch_kernel_pt;
static u64 nx; /* PTE_NX, or 0 on a processor without */

static inline u64 *table(u64 entry)
{
	return phys_to_virt(entry & PTE_ADDR);
}

/* Level 3 is the root, level 0 holds 4 KiB pages. */
static inline u64 level_size(unsigned level)
{
	return 1ull << (PAGE_SHIFT + 9 * level);
}

static inline unsigned index_of(u64 va, unsigned level)
{
	return va >> (PAGE_SHIFT + 9 * level) & 511;
}

static u64 pte_make(u64 pa, unsigned prot)
{
	u64 pte = pa | (prot & PT_WRITE) | (prot & PT_USER) >> 1 | (prot & PT_COW) << 5;

	if (!(prot & PT_EXEC))
		pte |= nx;
	return pte | (prot & (PT_READ | PT_WRITE | PT_EXEC) ? PTE_PRESENT : PTE_NONE);
}

static unsigned pte_prot(u64 pte)
{
	unsigned prot = (pte & PTE_WRITE) | (pte & PTE_USER) << 1 | (pte & PTE_COW) >> 5;

	if (!(pte & PTE_PRESENT))
		return prot;
	return prot | PT_READ | (pte & PTE_NX ? 0 : PT_EXEC);
}

/* Returns the entry for @va at @level. Missing tables come from @alloc; NULL if it has no more. */
static u64 *entry_alloc(u64 root, u64 va, unsigned level, u64 (*alloc)(u64 root))
{
	u64 *entry = table(root) + index_of(va, 3);

	for (unsigned l = 3; l > level; l--) {
		if (!(*entry & PTE_PRESENT)) {
			u64 pa = alloc(root);

			if (!pa)
				return NULL;
			*entry = pa | PTE_TABLE;
		}
		entry = table(*entry) + index_of(va, l - 1);
	}
	return entry;
}

/*
 * Returns the present level 1 entry that covers @va (a table of 512 pages, or one large page), or
 * NULL. Either way *@next is the first address that the answer does not cover (0 at the very top).
 */
static u64 *entry_find(u64 root, u64 va, u64 *next)
{
	u64 *entry = table(root) + index_of(va, 3);

	for (unsigned l = 3;; l--) {
		*next = ALIGN_DOWN(va, level_size(l)) + level_size(l);
		if (!(*entry & PTE_PRESENT))
			return NULL;
		if (l == 1)
			return entry;
		entry = table(*entry) + index_of(va, l - 1);
	}
}

/* A program's tables are chained to their root, so that they are freed without a search. */
static u64 program_table(u64 root)
{
	return page_chain_alloc(root);
}

static u64 boot_table(u64 root)
{
	(void)root;
	return x86_boot_page();
}

/* --- boot: the kernel's own mappings ------------------------------------------- */

static void map_kernel(u64 va, u64 pa, u64 size, u64 page_size, u64 flags)
{
	unsigned level = page_size == LARGE_PAGE;

	for (u64 end = va + size; va != end; va += page_size, pa += page_size)
		*entry_alloc(arch_kernel_pt, va, level, boot_table) =
			pa | flags | PTE_PRESENT | (level ? PTE_LARGE : 0);
}

/* [@from, @to) of the image, where it is linked and (never executable) in the direct map. */
static void map_image(const u8 *from, const u8 *to, u64 flags)
{
	u64 pa = virt_to_phys(from), size = ALIGN_UP((u64)(to - from), PAGE_SIZE);

	map_kernel((u64)from, pa, size, PAGE_SIZE, flags);
	map_kernel(pa + DIRECT_MAP, pa, size, PAGE_SIZE, flags | nx);
}

static bool holds_ram(u64 base, u64 size)
{
	for (unsigned i = 0; i < x86_nr_memory; i++)
		if (x86_memory[i].base < base + size &&
		    base < x86_memory[i].base + x86_memory[i].size)
			return true;
	return false;
}

/* All RAM, and everything else below 4 GiB (firmware tables, device registers) uncached. */
static void map_direct(void)
{
	u64 image = ALIGN_DOWN(virt_to_phys(image_start), LARGE_PAGE);
	u64 image_top = ALIGN_UP(x86_image_end(), LARGE_PAGE);
	u64 top = ALIGN_UP(max(boot_info.ram_top, 4 * GIB), LARGE_PAGE);

	for (u64 pa = 0; pa < top; pa += LARGE_PAGE) {
		u64 flags = PTE_WRITE | nx;

		if (!holds_ram(pa, LARGE_PAGE)) {
			if (pa >= 4 * GIB)
				continue;
			flags |= PTE_UNCACHED;
		}
		if (pa >= image && pa < image_top)
			map_kernel(pa + DIRECT_MAP, pa, LARGE_PAGE, PAGE_SIZE, flags);
		else
			map_kernel(pa + DIRECT_MAP, pa, LARGE_PAGE, LARGE_PAGE, flags);
	}
}

/* --- SAN=address: the shadow (kernel/mm/kasan.h) ------------------------------- */

/* A page of its own for each 32 KiB of RAM and image; one of zeros, for all that devices answer. */
static void map_shadow(u64 va, u64 size, bool ram)
{
	static u64 zeros[512] __aligned(4096);
	u64 end = (u64)kasan_shadow(va + size - 1);

	for (u64 at = ALIGN_DOWN((u64)kasan_shadow(va), PAGE_SIZE); at <= end; at += PAGE_SIZE) {
		u64 *entry = entry_alloc(arch_kernel_pt, at, 0, boot_table);
		u64 pa = ram ? x86_boot_page() : virt_to_phys(zeros);

		*entry = pa | PTE_PRESENT | PTE_WRITE | nx;
	}
}

static void map_shadows(void)
{
	u64 top = ALIGN_UP(max(boot_info.ram_top, 4 * GIB), LARGE_PAGE);

	for (u64 pa = 0; pa < top; pa += LARGE_PAGE)
		if (holds_ram(pa, LARGE_PAGE) || pa < 4 * GIB)
			map_shadow(pa + DIRECT_MAP, LARGE_PAGE, holds_ram(pa, LARGE_PAGE));
	map_shadow((u64)image_start, x86_image_end() - virt_to_phys(image_start), true);
	entry_alloc(arch_kernel_pt, (u64)kasan_shadow(ARCH_VMAP_START), 2, boot_table);
}

/* The compiler's code writes the shadow of the boot stack from now on: for now that is one page. */
void x86_shadow_init(void)
{
	static u64 tables[4][512] __aligned(4096);
	u64 at = (u64)kasan_shadow((u64)arch_boot_stack);

	if (!SAN_ADDRESS)
		return;
	for (unsigned i = 0; i < 512; i++)
		tables[2][i] = virt_to_phys(tables[3]) | PTE_PRESENT | PTE_WRITE;
	tables[1][index_of(at, 1)] = virt_to_phys(tables[2]) | PTE_TABLE;
	tables[0][index_of(at, 2)] = virt_to_phys(tables[1]) | PTE_TABLE;
	x86_boot_pml4[index_of(at, 3)] = virt_to_phys(tables[0]) | PTE_TABLE;
}

void x86_paging_init(void)
{
	nx = x86_features.nx ? PTE_NX : 0;
	arch_kernel_pt = x86_boot_page();
	map_direct();
	map_image(image_start, text_end, 0);
	map_image(text_end, rodata_end, nx);
	map_image(rodata_end, (u8 *)&symbol_table, PTE_WRITE | nx);
	map_image((u8 *)&symbol_table, (u8 *)&symbol_table + symbol_table.bytes, nx);
	*entry_alloc(arch_kernel_pt, (u64)x86_boot_stack_guard, 0, boot_table) = 0;
	entry_alloc(arch_kernel_pt, ARCH_VMAP_START, 2, boot_table);
	if (SAN_ADDRESS)
		map_shadows();
	arch_pt_load(arch_kernel_pt);
	if (SAN_ADDRESS)
		kasan_start();
}

/* The large page of the direct map at @va becomes a table of small ones. */
static void split(u64 va)
{
	u64 next, *entry = entry_find(arch_kernel_pt, va, &next), pa = x86_boot_page();
	u64 *pages = phys_to_virt(pa);

	for (u64 i = 0; i < 512; i++)
		pages[i] = (*entry & ~PTE_LARGE) + i * PAGE_SIZE;
	*entry = pa | PTE_TABLE;
}

void x86_paging_add_screen(void)
{
	u64 from = ALIGN_DOWN(x86_screen.pa, LARGE_PAGE);
	u64 to = ALIGN_UP(x86_screen.pa + (u64)x86_screen.pitch * x86_screen.height, LARGE_PAGE);

	split(DIRECT_MAP);
	map_image(screen_start, screen_end, 0);
	if (from >= 4 * GIB && to < ARCH_VMAP_START - DIRECT_MAP)
		map_kernel(from + DIRECT_MAP, from, to - from, LARGE_PAGE,
			   PTE_WRITE | PTE_UNCACHED | nx);
	arch_pt_load(arch_kernel_pt);
}

/*
 * boot.S's tables are free now. The APs start on them: the root, the low page directory pointer
 * table, and two of the four adjacent page directories.
 */
u64 x86_trampoline_pt(void)
{
	u64 *low = table(*table(x86_boot_pml4[0])), *pages = low + 512;

	memset(table(x86_boot_pml4[0]), 0, PAGE_SIZE);
	memset(low, 0, 2 * PAGE_SIZE);
	memcpy(x86_boot_pml4 + 256, (u64 *)phys_to_virt(arch_kernel_pt) + 256, PAGE_SIZE / 2);
	table(x86_boot_pml4[0])[0] = virt_to_phys(low) | PTE_TABLE;
	low[0] = virt_to_phys(pages) | PTE_TABLE;
	pages[TRAMPOLINE_PA >> PAGE_SHIFT] = TRAMPOLINE_PA | PTE_PRESENT;
	return virt_to_phys(x86_boot_pml4);
}

/* --- page tables of programs, and the vmap area -------------------------------- */

u64 arch_pt_create(void)
{
	u64 root = page_alloc(0);
	u64 *t = phys_to_virt(root);

	if (!root)
		return 0;
	memset(t, 0, PAGE_SIZE / 2);
	memcpy(t + 256, (u64 *)phys_to_virt(arch_kernel_pt) + 256, PAGE_SIZE / 2);
	return root;
}

void arch_pt_destroy(u64 root)
{
	page_chain_free(root);
}

int arch_pt_map(u64 root, u64 va, u64 pa, unsigned prot)
{
	u64 *entry = entry_alloc(root, va, 0, program_table);

	if (!entry)
		return -ENOMEM;
	*entry = pte_make(pa, prot);
	return 0;
}

bool arch_pt_lookup(u64 root, u64 va, u64 *pa, unsigned *prot)
{
	u64 next, *entry = entry_find(root, va, &next), offset = LARGE_PAGE - 1;

	if (!entry)
		return false;
	if (!(*entry & PTE_LARGE)) {
		entry = table(*entry) + index_of(va, 0);
		offset = PAGE_SIZE - 1;
	}
	if (!*entry)
		return false;
	*pa = (*entry & PTE_ADDR & ~offset) | (va & offset & ~(PAGE_SIZE - 1));
	*prot = pte_prot(*entry);
	return true;
}

static inline void walk_entry(u64 *entry, u64 va, unsigned (*fn)(void *, u64, u64, unsigned),
			      void *arg)
{
	unsigned old = pte_prot(*entry), new = fn(arg, va, *entry & PTE_ADDR, old);

	if (!new)
		*entry = 0;
	else if (new != old)
		*entry = pte_make(*entry & PTE_ADDR, new);
}

void arch_pt_walk(u64 root, u64 va, u64 end,
		  unsigned (*fn)(void *arg, u64 va, u64 pa, unsigned prot), void *arg)
{
	for (u64 next; va < end; va = next) {
		u64 *entry = entry_find(root, va, &next);

		cond_resched();
		if (entry && *entry & PTE_LARGE) { /* direct map: to look at only */
			fn(arg, va, *entry & PTE_ADDR, pte_prot(*entry));
		} else if (entry) {
			u64 stop = next - 1 < end - 1 ? next : end;

			entry = table(*entry) + index_of(va, 0);
			for (; va != stop; va += PAGE_SIZE, entry++)
				if (*entry)
					walk_entry(entry, va, fn, arg);
		}
		if (!next)
			break;
	}
}

int arch_pt_copy(u64 dst, u64 src, u64 va, u64 end, bool cow, void (*ref)(u64 pa))
{
	for (u64 next; va < end; va = next) {
		u64 *from = entry_find(src, va, &next), *to;

		cond_resched();
		if (!from)
			continue;
		to = entry_alloc(dst, va, 0, program_table);
		if (!to)
			return -ENOMEM;
		from = table(*from) + index_of(va, 0);
		for (u64 stop = min(next, end); va != stop; va += PAGE_SIZE, from++, to++) {
			u64 pte = *from;

			if (!pte)
				continue;
			if (cow && pte & PTE_WRITE)
				*from = pte = (pte & ~PTE_WRITE) | PTE_COW;
			*to = pte;
			ref(pte & PTE_ADDR);
		}
	}
	return 0;
}

void arch_tlb_flush_page(u64 va)
{
	__asm__ volatile("invlpg (%0)" : : "r"(va) : "memory");
}

void arch_pt_load(u64 root)
{
	struct arch_cpu *a = this_cpu()->arch;

	debug_assert(!arch_preemptible() || !arch_irq_enabled());
	/*
	 * Write this before CR3: a shootdown that does not see it has changed its tables before
	 * this CPU reads them.
	 */
	WRITE_ONCE(a->pt_root, root);
	write_cr3(root);
}
