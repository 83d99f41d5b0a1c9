/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls on the caller's address space. The work is in kernel/mm/map.c; here are the argument
 * checks of each call, with Linux's errors.
 *
 * There is no swap and no page-out, so memory that is present stays: mlock(2) makes it present, and
 * both it and munlock(2) count. mlockall(2) succeeds without filling every thread's 8 MiB of stack.
 */
#include "kernel/fs/fs.h"
#include "kernel/mm/mm.h"
#include "kernel/mm/mman.h"
#include "kernel/mm/vma.h"
#include "kernel/syscall/syscall.h"
#include "lib/errno.h"

SYSCALL6(mmap, u64, addr, u64, len, unsigned, prot, unsigned, flags, int, fd, u64, offset)
{
	struct file *file = NULL;

	if (offset % PAGE_SIZE)
		return -EINVAL;
	if (!(flags & MAP_ANONYMOUS)) {
		file = fd_get(fd);
		if (!file)
			return -EBADF;
	}
	long result = mm_map(current->mm, addr, len, prot, flags, file, offset);

	if (file)
		file_put(file);
	return result;
}

SYSCALL2(munmap, u64, addr, u64, len)
{
	return mm_unmap(current->mm, addr, len);
}

SYSCALL3(mprotect, u64, addr, u64, len, unsigned, prot)
{
	return mm_protect(current->mm, addr, len, prot);
}

SYSCALL1(brk, u64, addr)
{
	return (long)mm_brk(current->mm, addr);
}

SYSCALL5(mremap, u64, addr, u64, old_len, u64, new_len, unsigned, flags, u64, new_addr)
{
	return mm_remap(current->mm, addr, old_len, new_len, flags, new_addr);
}

/* --- calls that look at a range of mappings ----------------------------------- */

/* -EINVAL for a bad range, else 0 with *end set (rounded up to pages). */
static int check_range(u64 addr, u64 len, u64 *end)
{
	if (addr % PAGE_SIZE || len > USER_END || addr > USER_END - len)
		return -EINVAL;
	*end = ALIGN_UP(addr + len, PAGE_SIZE);
	return 0;
}

typedef long part_fn(struct mm *mm, struct vma *v, u64 start, u64 end);

/*
 * Call @fn for the part of each vma in [start, end), if it is not NULL, until one fails. -ENOMEM if
 * there are holes, which does not keep the rest from being done. mm->lock is taken.
 */
static long for_each_part(struct mm *mm, u64 start, u64 end, part_fn *fn)
{
	long hole = 0, err = 0;

	mutex_lock(&mm->lock);
	while (start < end && !err) {
		struct vma *v = vma_find(mm, start);
		u64 stop = v ? min(v->end, end) : end;

		if (!v || v->start > start)
			hole = -ENOMEM;
		if (v && v->start < end && fn)
			err = fn(mm, v, max(start, v->start), stop);
		start = stop;
	}
	mutex_unlock(&mm->lock);
	return err ? err : hole;
}

static long drop_pages(struct mm *mm, struct vma *v, u64 start, u64 end)
{
	assert_mm_held(mm);
	debug_assert(v->start <= start && end <= v->end);
	(void)v;
	mm_zap(mm, start, end);
	return 0;
}

/* Nobody else must need them. */
static long free_pages(struct mm *mm, struct vma *v, u64 start, u64 end)
{
	assert_mm_held(mm);
	debug_assert(v->start <= start && end <= v->end);
	return v->file ? -EINVAL : drop_pages(mm, v, start, end);
}

static long fill_pages(struct mm *mm, struct vma *v, u64 start, u64 end)
{
	debug_assert(v->start <= start && end <= v->end);
	(void)v;
	mm_populate(mm, start, end);
	return 0;
}

static long fault_pages(struct mm *mm, struct vma *v, u64 start, u64 end, unsigned access)
{
	static const long errors[] = { [FAULT_ACCERR] = -EINVAL,
				       [FAULT_BUS] = -EFAULT,
				       [FAULT_OOM] = -ENOMEM };
	enum fault f = v->prot ? FAULT_OK : FAULT_ACCERR;

	assert_mm_held(mm);
	debug_assert(v->start <= start && end <= v->end);
	for (; f == FAULT_OK && start < end; start += PAGE_SIZE) {
		cond_resched();
		f = mm_fault(mm, start, access);
	}
	return errors[f];
}

static long fault_to_read(struct mm *mm, struct vma *v, u64 start, u64 end)
{
	return fault_pages(mm, v, start, end, PT_READ);
}

static long fault_to_write(struct mm *mm, struct vma *v, u64 start, u64 end)
{
	return fault_pages(mm, v, start, end, PT_WRITE);
}

/* To cut a hole into a file, which no file here can have. */
static long cut_hole(struct mm *mm, struct vma *v, u64 start, u64 end)
{
	assert_mm_held(mm);
	debug_assert(v->start <= start && end <= v->end);
	(void)mm, (void)start, (void)end;
	if (!v->file)
		return -EINVAL;
	return vma_is_private(v) || !(v->file->mode & FILE_WRITE) ? -EACCES : -EOPNOTSUPP;
}

/* The advice that acts at once. The rest, about access patterns, changes nothing here. */
static part_fn *const acts[MADV_LAST + 1] = {
	[MADV_DONTNEED] = drop_pages,	    [MADV_DONTNEED_LOCKED] = drop_pages,
	[MADV_FREE] = free_pages,	    [MADV_REMOVE] = cut_hole,
	[MADV_POPULATE_READ] = fault_to_read, [MADV_POPULATE_WRITE] = fault_to_write,
};

static bool is_advice(int advice)
{
	return advice >= 0 && advice <= MADV_LAST &&
	       (advice <= MADV_DONTNEED || advice >= MADV_FIRST_LINUX);
}

/* Where the range ends may not be mapped, nor be the user's: that is a hole. */
SYSCALL3(madvise, u64, addr, u64, len, int, advice)
{
	u64 size = ALIGN_UP(len, PAGE_SIZE), end = addr + size;

	if (!is_advice(advice) || addr % PAGE_SIZE || size < len || end < addr)
		return -EINVAL;
	switch (advice) {
	case MADV_DONTFORK:
		return mm_set_flags(current->mm, addr, end, VMA_DONTFORK, 0);
	case MADV_DOFORK:
		return mm_set_flags(current->mm, addr, end, 0, VMA_DONTFORK);
	case MADV_WIPEONFORK:
		return mm_set_flags(current->mm, addr, end, VMA_WIPEONFORK, 0);
	case MADV_KEEPONFORK:
		return mm_set_flags(current->mm, addr, end, 0, VMA_WIPEONFORK);
	}
	return for_each_part(current->mm, addr, end, acts[advice]);
}

/*
 * Files live in memory and shared mappings are the file itself, so there is nothing to write back.
 */
SYSCALL3(msync, u64, addr, u64, len, unsigned, flags)
{
	u64 end;

	if (flags & ~(unsigned)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) ||
	    (flags & (MS_ASYNC | MS_SYNC)) == (MS_ASYNC | MS_SYNC) || addr % PAGE_SIZE)
		return -EINVAL;
	if (check_range(addr, len, &end))
		return -ENOMEM;
	return for_each_part(current->mm, addr, end, NULL);
}

/* Ranges need not be aligned here: the pages that they touch count. */
static long whole_pages(u64 *addr, u64 len, u64 *end)
{
	u64 start = ALIGN_DOWN(*addr, PAGE_SIZE);

	if (*addr + len < *addr)
		return -EINVAL;
	if (check_range(start, len + *addr % PAGE_SIZE, end))
		return -ENOMEM;
	*addr = start;
	return 0;
}

/* Has the caller room to lock what of [start, end) is not locked? */
static bool may_lock(struct mm *mm, u64 start, u64 end)
{
	bool may;

	mutex_lock(&mm->lock);
	may = mm_may_lock(mm, end - start - mm_locked_bytes(mm, start, end));
	mutex_unlock(&mm->lock);
	return may;
}

SYSCALL2(mlock, u64, addr, u64, len)
{
	struct mm *mm = current->mm;
	u64 end;
	long err = mm_may_lock_any() ? whole_pages(&addr, len, &end) : -EPERM;

	if (!err && !may_lock(mm, addr, end))
		err = -ENOMEM;
	if (!err)
		err = mm_set_flags(mm, addr, end, VMA_LOCKED, 0);
	return err ? err : for_each_part(mm, addr, end, fill_pages);
}

SYSCALL2(munlock, u64, addr, u64, len)
{
	u64 end;
	long err = whole_pages(&addr, len, &end);

	return err ? err : mm_set_flags(current->mm, addr, end, 0, VMA_LOCKED);
}

SYSCALL1(mlockall, unsigned, flags)
{
	const unsigned known = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT;

	struct mm *mm = current->mm;
	bool may;

	if (!flags || flags == MCL_ONFAULT || flags & ~known)
		return -EINVAL;
	if (!mm_may_lock_any())
		return -EPERM;
	if (flags & MCL_CURRENT) {
		mutex_lock(&mm->lock);
		may = mm_may_lock(mm, mm_mapped_bytes(mm, 0, USER_END) -
					      mm_locked_bytes(mm, 0, USER_END));
		mutex_unlock(&mm->lock);
		if (!may)
			return -ENOMEM;
		mm_set_flags(mm, 0, USER_END, VMA_LOCKED, 0);
	}
	mm->lock_new = flags & MCL_FUTURE;
	return 0;
}

SYSCALL0(munlockall)
{
	current->mm->lock_new = false;
	mm_set_flags(current->mm, 0, USER_END, 0, VMA_LOCKED);
	return 0;
}

/* One byte for each page: 1 if it is present. Pages of files always are. */
static size_t residency(struct mm *mm, u64 start, u64 end, u8 *vec, size_t max_pages)
{
	size_t nr = 0;

	mutex_lock(&mm->lock);
	for (; start < end && nr < max_pages; start += PAGE_SIZE) {
		struct vma *v = vma_at(mm, start);
		unsigned prot;
		u64 pa;

		if (!v)
			break;
		vec[nr++] = v->file || arch_pt_lookup(mm->pt_root, start, &pa, &prot);
	}
	mutex_unlock(&mm->lock);
	return nr;
}

SYSCALL3(mincore, u64, addr, u64, len, u8 *, vec)
{
	u8 chunk[256];
	u64 end;

	if (addr % PAGE_SIZE)
		return -EINVAL;
	if (check_range(addr, len, &end))
		return -ENOMEM;
	while (addr < end) {
		size_t nr = residency(current->mm, addr, end, chunk, sizeof(chunk));

		if (!nr)
			return -ENOMEM;
		if (arch_copy_to_user(vec, chunk, nr))
			return -EFAULT;
		vec += nr;
		addr += nr * PAGE_SIZE;
	}
	return 0;
}
