/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits on the size of an address space, RLIMIT_AS, RLIMIT_DATA and RLIMIT_MEMLOCK: whoever wants
 * more asks first.
 *
 * Locking: mm->lock.
 */
#include "kernel/mm/vma.h"
#include "kernel/task/proc.h"

static u64 data_bytes(const struct mm *mm)
{
	u64 sum = 0;

	assert_mm_held(mm);
	for (const struct vma *v = vma_first(mm); v; v = vma_next(v))
		if (vma_is_data(v))
			sum += v->end - v->start;
	return sum;
}

/* True if @used and @more fit below @limit, without overflow. */
static bool fits(u64 used, u64 more, u64 limit)
{
	return more <= limit && used <= limit - more;
}

bool mm_may_have_data(const struct mm *mm, u64 len)
{
	u64 most = READ_ONCE(current->proc->rlimit[RLIMIT_DATA].cur);

	assert_mm_held(mm);
	return most == RLIM_INFINITY || fits(data_bytes(mm), len, most);
}

bool mm_may_grow(const struct mm *mm, u64 len, bool data)
{
	u64 space = READ_ONCE(current->proc->rlimit[RLIMIT_AS].cur);

	assert_mm_held(mm);
	if (space != RLIM_INFINITY && !fits(mm->total_vm << PAGE_SHIFT, len, space))
		return false;
	return !data || mm_may_have_data(mm, len);
}

/* Bytes of [start, end) whose mappings have all of @flags. */
static u64 bytes_with(struct mm *mm, u64 start, u64 end, u32 flags)
{
	u64 sum = 0;

	assert_mm_held(mm);
	for (const struct vma *v = vma_find(mm, start); v && v->start < end; v = vma_next(v))
		if ((v->flags & flags) == flags)
			sum += min(end, v->end) - max(start, v->start);
	return sum;
}

u64 mm_mapped_bytes(struct mm *mm, u64 start, u64 end)
{
	return bytes_with(mm, start, end, 0);
}

u64 mm_locked_bytes(struct mm *mm, u64 start, u64 end)
{
	return bytes_with(mm, start, end, VMA_LOCKED);
}

static u64 lock_limit(void)
{
	u64 limit = READ_ONCE(current->proc->rlimit[RLIMIT_MEMLOCK].cur);

	return capable(CAP_IPC_LOCK) ? RLIM_INFINITY : ALIGN_DOWN(limit, PAGE_SIZE);
}

bool mm_may_lock_any(void)
{
	return READ_ONCE(current->proc->rlimit[RLIMIT_MEMLOCK].cur) || capable(CAP_IPC_LOCK);
}

bool mm_may_lock(struct mm *mm, u64 len)
{
	return fits(mm_locked_bytes(mm, 0, USER_END), len, lock_limit());
}

u64 mm_locked_pages(struct mm *mm)
{
	u64 bytes;

	mutex_lock(&mm->lock);
	bytes = mm_locked_bytes(mm, 0, USER_END);
	mutex_unlock(&mm->lock);
	return bytes >> PAGE_SHIFT;
}
