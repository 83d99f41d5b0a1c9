/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inside of an address space, shared by the files of kernel/mm and the system calls on it: the
 * tree of vmas, faults, unmapping. All functions demand mm->lock, or an mm that nobody else knows
 * (assert_mm_held).
 */
#pragma once

#include "kernel/contract.h"
#include "kernel/mm/mm.h"

#define MAP_MIN		0x10000ull	  /* below: never mapped, so that NULL + offset faults */
#define MAX_VMAS	65530u		  /* Linux's vm.max_map_count */
#define STACK_GUARD_GAP (256 * PAGE_SIZE) /* kept free below a stack that grows */

/*
 * mm->lock is held, or nobody else knows @mm: it is being made or has ended. Only in DEBUG builds:
 * a fork asks hundreds of times.
 */
#define assert_mm_held(mm)                                                                         \
	debug_assert((mm)->lock.holder == arch_current() || READ_ONCE((mm)->refs) <= 1)

/* --- vma.c -------------------------------------------------------------------- */
void vma_init(void);
void vma_tree_init(struct mm *mm);
/* The first vma that ends above @addr (it may start above it too), or NULL. */
struct vma *vma_find(struct mm *mm, u64 addr);
/* The vma that contains @addr, or NULL. */
struct vma *vma_at(struct mm *mm, u64 addr);
struct vma *vma_first(const struct mm *mm);
struct vma *vma_next(const struct vma *v); /* NULL at the end */
struct vma *vma_prev(const struct vma *v);
/* A copy of @model with its own reference to the file; not in any tree. NULL: no memory. */
struct vma *vma_copy(const struct vma *model);
void vma_free(struct vma *v); /* not in any tree */
void vma_insert(struct mm *mm, struct vma *v);
void vma_append(struct mm *mm, struct vma *v); /* it is above all others */
/* Take @v out of the tree. vma_unlock() frees it. */
void vma_remove(struct mm *mm, struct vma *v);
/*
 * Unlock mm->lock and free what was removed. The last reference to a file may go with it, and the
 * file's release takes locks that come before mm->lock.
 */
void vma_unlock(struct mm *mm);
/* @v covers [@start, @end) from now on. Memory of a file begins where it did. */
void vma_resize(struct mm *mm, struct vma *v, u64 start, u64 end);
/* Cut @v at @addr, inside it: @v keeps the lower part. 0 or -ENOMEM. */
int vma_split(struct mm *mm, struct vma *v, u64 addr);
/* Join @v with its neighbours where they continue each other; the vma that covers it now. */
struct vma *vma_merge(struct mm *mm, struct vma *v);
/* Address of the highest free range of @len bytes below @limit; 0: none. */
u64 vma_find_gap(const struct mm *mm, u64 len, u64 limit);
/* Free all of them, for the last mm_put(). */
void vma_free_all(struct mm *mm);

static inline bool vma_is_private(const struct vma *v)
{
	return !(v->flags & VMA_SHARED);
}

static inline u64 vma_pages(const struct vma *v)
{
	return (v->end - v->start) >> PAGE_SHIFT;
}

/* --- fault.c ------------------------------------------------------------------ */
enum fault {
	FAULT_OK,
	FAULT_MAPERR, /* nothing is mapped there */
	FAULT_ACCERR, /* the mapping forbids it */
	FAULT_BUS,    /* beyond the end of the file */
	FAULT_OOM,
};
/* Make the page at @addr present for @access (one of PT_READ, PT_WRITE, PT_EXEC). */
enum fault mm_fault(struct mm *mm, u64 addr, unsigned access);
/*
 * As mm_fault(), but returns the physical address, byte offset included, or 0 if it is not
 * accessible.
 */
u64 mm_fault_page(struct mm *mm, u64 addr, unsigned access);
/*
 * Fault in what is accessible of [start, end), as MAP_POPULATE does; stops quietly when memory is
 * short.
 */
void mm_populate(struct mm *mm, u64 start, u64 end);

/* --- limit.c ------------------------------------------------------------------ */
/*
 * May @mm have @len bytes more under the running process's RLIMIT_AS and, if a program can write to
 * them and nobody shares them (@data), RLIMIT_DATA?
 */
bool mm_may_grow(const struct mm *mm, u64 len, bool data);
/* May @len bytes that are mapped become such memory? Asks RLIMIT_DATA alone. */
bool mm_may_have_data(const struct mm *mm, u64 len);
/*
 * May the running process lock memory at all, and @len bytes more of @mm? RLIMIT_MEMLOCK, but for
 * CAP_IPC_LOCK.
 */
bool mm_may_lock_any(void);
bool mm_may_lock(struct mm *mm, u64 len);
/* Bytes of [start, end) that are mapped, or that are locked. */
u64 mm_locked_bytes(struct mm *mm, u64 start, u64 end);
u64 mm_mapped_bytes(struct mm *mm, u64 start, u64 end);
static inline bool vma_is_data(const struct vma *v)
{
	return (v->prot & PT_WRITE) && !(v->flags & (VMA_SHARED | VMA_GROWSDOWN));
}

/* --- map.c -------------------------------------------------------------------- */
/* Drop the pages of [start, end): unmap, flush, free. */
void mm_zap(struct mm *mm, u64 start, u64 end);
/* Give the vmas in [start, end) these flags for others. 0, -ENOMEM for holes, -EINVAL. */
long mm_set_flags(struct mm *mm, u64 start, u64 end, u32 set, u32 clear);
