/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits on the size of an address space, RLIMIT_AS and RLIMIT_DATA: whoever wants more asks first.
 *
 * Locking: mm->lock.
 */
#include "kernel/mm/vma.h"
#include "kernel/task/proc.h"

static u64 data_bytes(const struct mm *mm)
{
	u64 sum = 0;

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

bool mm_may_grow(const struct mm *mm, u64 len, bool data)
{
	const struct rlimit *limit = current->proc->rlimit;
	u64 space = READ_ONCE(limit[RLIMIT_AS].cur), most = READ_ONCE(limit[RLIMIT_DATA].cur);

	assert_mm_held(mm);
	if (space != RLIM_INFINITY && !fits(mm->total_vm << PAGE_SHIFT, len, space))
		return false;
	return !data || most == RLIM_INFINITY || fits(data_bytes(mm), len, most);
}

u64 mm_mapped_bytes(struct mm *mm, u64 start, u64 end)
{
	u64 sum = 0;

	assert_mm_held(mm);
	for (const struct vma *v = vma_find(mm, start); v && v->start < end; v = vma_next(v))
		sum += min(end, v->end) - max(start, v->start);
	return sum;
}
