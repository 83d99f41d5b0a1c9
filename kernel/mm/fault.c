/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page faults: where a page of a program comes from, the moment it is touched.
 *
 *	anonymous           a zeroed frame
 *	file, to read       the file's own frame (its page cache), and its neighbours with it
 *	file, shared        the file's own frame, with the vma's rights
 *	file, private write a copy of the file's frame
 *	copy on write       the last owner takes the frame, any other gets a copy
 *
 * A private page is mapped writable only when this address space is the frame's one owner, so after
 * a fork, whoever writes first copies, and whoever is left writes without. There is no shared zero
 * page: a program that reads memory before it writes it would pay two faults.
 *
 * Locking: mm->lock, except for kernel_page_fault(), which takes it. A fault never happens with
 * mm->lock held by the same thread: code that holds it does not touch user memory.
 */
#include "kernel/contract.h"
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/vma.h"
#include "kernel/task/proc.h"
#include "lib/errno.h"
#include "lib/signal.h"
#include "lib/string.h"

#define AROUND_PAGES 16ull /* aligned window that a read fault of a file maps: Linux's 64 KiB */

static enum fault map_page(struct mm *mm, u64 page, u64 pa, unsigned prot)
{
	assert_mm_held(mm);
	if (arch_pt_map(mm->pt_root, page, pa, prot | PT_USER)) {
		page_put(pa);
		return FAULT_OOM;
	}
	mm->rss++;
	return FAULT_OK;
}

static enum fault fault_anonymous(struct mm *mm, const struct vma *v, u64 page)
{
	u64 pa = page_alloc_zeroed();

	debug_assert(page % PAGE_SIZE == 0);
	return pa ? map_page(mm, page, pa, v->prot) : FAULT_OOM;
}

/* A frame with the contents of @src. 0: no memory. */
static u64 copy_frame(u64 src)
{
	u64 pa = page_alloc_user();

	debug_assert(page_refs(src));
	if (pa)
		memcpy(phys_to_virt(pa), phys_to_virt(src), PAGE_SIZE);
	return pa;
}

/* The file's frame behind @page of @v, referenced, or why there is none: see map_page. */
static u64 file_page(const struct vma *v, u64 page)
{
	debug_assert(v->file);
	return v->file->ops->map_page(v->file, v->offset + (page - v->start));
}

/* Rights of a file's own frame: a private mapping must not write to it. Any right lets read. */
static unsigned file_prot(const struct vma *v)
{
	debug_assert(v->file);
	return vma_is_private(v) ? (v->prot & ~(unsigned)PT_WRITE) | PT_COW | PT_READ : v->prot;
}

/*
 * Programs walk through their text: map the pages around @page that are not mapped yet and lie
 * inside the file. As an optimisation it may stop at the first page that cannot be had.
 */
static void map_around(struct mm *mm, const struct vma *v, u64 page)
{
	u64 window = ALIGN_DOWN(page, AROUND_PAGES * PAGE_SIZE), pa;
	u64 size = file_size(v->file), in_file = size > v->offset ? size - v->offset : 0;
	u64 start = max(window, v->start), vma_end = min(v->end, v->start + in_file);
	u64 end = min(window + AROUND_PAGES * PAGE_SIZE, vma_end);
	unsigned prot;

	assert_mm_held(mm);
	for (u64 va = start; va < end; va += PAGE_SIZE) {
		if (arch_pt_lookup(mm->pt_root, va, &pa, &prot))
			continue;
		pa = file_page(v, va);
		if (!is_page(pa) || map_page(mm, va, pa, file_prot(v)) != FAULT_OK)
			return;
	}
}

static enum fault fault_file(struct mm *mm, const struct vma *v, u64 page, unsigned access)
{
	u64 pa = file_page(v, page);

	assert_mm_held(mm);
	if (!is_page(pa))
		return pa ? FAULT_BUS : FAULT_OOM;
	if (access == PT_WRITE && vma_is_private(v)) {
		u64 copy = copy_frame(pa);

		page_put(pa);
		return copy ? map_page(mm, page, copy, v->prot) : FAULT_OOM;
	}
	enum fault f = map_page(mm, page, pa, file_prot(v));

	if (f == FAULT_OK && vma_is_private(v))
		map_around(mm, v, page);
	return f;
}

/* Resolve a write to a page that is mapped without PT_WRITE. */
static enum fault fault_cow(struct mm *mm, const struct vma *v, u64 page, u64 old)
{
	u64 pa = page_refs(old) == 1 ? old : copy_frame(old);

	debug_assert(page_refs(old));
	assert_mm_held(mm);
	if (!pa)
		return FAULT_OOM;
	/* Cannot fail: the tables are there. */
	arch_pt_map(mm->pt_root, page, pa, v->prot | PT_USER);
	if (pa != old) {
		arch_tlb_shootdown(mm->pt_root);
		page_put(old);
	} else {
		arch_tlb_flush_page(page); /* others fault once more, and find it done */
	}
	return FAULT_OK;
}

/* --- finding the vma ---------------------------------------------------------- */

/* Extend the stack @v down to @page, within its limit and away from what lies below. */
static bool grow_stack(struct mm *mm, struct vma *v, u64 page)
{
	struct vma *below = vma_prev(v);
	u64 floor = (below ? below->end : MAP_MIN) + STACK_GUARD_GAP;

	assert_mm_held(mm);
	if (v->end - page > READ_ONCE(current->proc->rlimit[RLIMIT_STACK].cur) || page < floor)
		return false;
	if (!mm_may_grow(mm, v->start - page, false))
		return false;
	vma_resize(mm, v, page, v->end);
	return true;
}

static struct vma *vma_for_access(struct mm *mm, u64 addr)
{
	struct vma *v = vma_find(mm, addr);

	assert_mm_held(mm);
	if (v && addr < v->start) {
		if (!(v->flags & VMA_GROWSDOWN) || !grow_stack(mm, v, ALIGN_DOWN(addr, PAGE_SIZE)))
			return NULL;
	}
	return v;
}

/* x86 has no write-only or execute-only pages: any right includes reading. */
static bool allows(const struct vma *v, unsigned access)
{
	return access == PT_READ ? v->prot != 0 : v->prot & access;
}

enum fault mm_fault(struct mm *mm, u64 addr, unsigned access)
{
	assert_mm_held(mm);

	u64 page = ALIGN_DOWN(addr, PAGE_SIZE), pa;
	struct vma *v = vma_for_access(mm, addr);
	unsigned prot;

	if (!v)
		return FAULT_MAPERR;
	if (!allows(v, access))
		return FAULT_ACCERR;
	if (!arch_pt_lookup(mm->pt_root, page, &pa, &prot))
		return v->file ? fault_file(mm, v, page, access) : fault_anonymous(mm, v, page);
	if (access == PT_WRITE && !(prot & PT_WRITE))
		return fault_cow(mm, v, page, pa);
	debug_assert(prot & access);
	arch_tlb_flush_page(page); /* another thread was faster; our CPU remembers the past */
	return FAULT_OK;
}

u64 mm_fault_page(struct mm *mm, u64 addr, unsigned access)
{
	unsigned prot;
	u64 pa;

	assert_mm_held(mm);
	if (mm_fault(mm, addr, access) != FAULT_OK ||
	    !arch_pt_lookup(mm->pt_root, addr, &pa, &prot))
		return 0;
	return pa + addr % PAGE_SIZE;
}

/* --- many at once ------------------------------------------------------------- */

void mm_populate(struct mm *mm, u64 start, u64 end)
{
	struct vma *v;

	assert_mm_held(mm);
	for (u64 addr = start; addr < end; addr = v->end) {
		v = vma_find(mm, addr);
		if (!v || v->start >= end)
			return;
		unsigned access = v->prot & PT_WRITE ? PT_WRITE : v->prot & (PT_READ | PT_EXEC);
		u64 stop = min(v->end, end);

		for (addr = max(addr, v->start); access && addr < stop; addr += PAGE_SIZE) {
			cond_resched();
			if (mm_fault(mm, addr, access) != FAULT_OK)
				return;
		}
	}
}

/* --- from the hardware -------------------------------------------------------- */

static void send_fault_signal(enum fault f, u64 addr)
{
	struct user_regs *regs = arch_user_regs(current);

	debug_assert(f != FAULT_OK);
	if (f == FAULT_BUS)
		kernel_user_fault(regs, SIGBUS, BUS_ADRERR, addr);
	else
		kernel_user_fault(regs, SIGSEGV, f == FAULT_ACCERR ? SEGV_ACCERR : SEGV_MAPERR,
				  addr);
}

/* Of programs, on each CPU; only that CPU adds to its own. */
static struct {
	u64 nr;
} __aligned(64) faults[MAX_CPUS];

u64 mm_nr_faults(void)
{
	u64 sum = 0;

	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		sum += READ_ONCE(faults[cpu].nr);
	return sum;
}

bool kernel_page_fault(u64 addr, bool write, bool exec, bool user)
{
	struct mm *mm = current->mm;
	enum fault f = FAULT_MAPERR;

	debug_assert(arch_irq_enabled());
	if (!user && !arch_preemptible())
		return false;
	if (mm && addr < USER_END) {
		mutex_lock(&mm->lock);
		f = mm_fault(mm, addr, write ? PT_WRITE : exec ? PT_EXEC : PT_READ);
		mutex_unlock(&mm->lock);
	}
	if (f == FAULT_OK) {
		current->min_flt++;
		__atomic_fetch_add(&faults[arch_cpu_id()].nr, 1, __ATOMIC_RELAXED);
		return true;
	}
	if (f == FAULT_OOM)
		return oom_kill() || user;
	if (user)
		send_fault_signal(f, addr);
	return user;
}
