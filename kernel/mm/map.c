/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changing an address space: mmap, munmap, mprotect, mremap, brk, and throwing pages away.
 *
 * A mapping is only a vma until its pages are touched (fault.c); these functions edit the tree and
 * take pages out or change their rights. The page table's rights follow from the vma's like this:
 *
 *	shared mapping    exactly the vma's
 *	private mapping   never writable while the frame may have another owner: such a page lacks
 *	                  PT_WRITE and has PT_COW, and the first write copies or takes it (fault.c)
 *
 * Frames leave in the order unmap, flush, free: until every CPU has forgotten the translation,
 * another thread can still write to the page.
 *
 * Locking: mm->lock, taken by the public functions; the others want it held. vma_unlock() lets the
 * files go whose vmas were removed. Results as the system calls of Linux 6.1 that they serve.
 */
#include "kernel/contract.h"
#include "kernel/exec/exec.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mman.h"
#include "kernel/mm/vma.h"
#include "lib/errno.h"

/* Returns [start, end) in whole pages, or end == 0 if the range is not in user space. */
struct range {
	u64 start, end;
};

static struct range page_range(u64 addr, u64 len)
{
	if (addr % PAGE_SIZE || addr > USER_END || len > USER_END - addr)
		return (struct range){ 0, 0 };
	return (struct range){ addr, ALIGN_UP(addr + len, PAGE_SIZE) };
}

/* --- taking pages out --------------------------------------------------------- */

#define ZAP_BATCH 64 /* frames that wait for one flush */

struct zap {
	struct mm *mm;
	unsigned nr;
	u64 page[ZAP_BATCH];
};

static void zap_finish(struct zap *z)
{
	if (!z->nr)
		return;
	arch_tlb_shootdown(z->mm->pt_root);
	z->mm->max_rss = mm_peak_rss(z->mm);
	z->mm->rss -= z->nr;
	while (z->nr)
		page_put(z->page[--z->nr]);
}

static unsigned zap_one(void *arg, u64 va, u64 pa, unsigned prot)
{
	struct zap *z = arg;

	debug_assert(z->nr <= ZAP_BATCH);
	(void)va, (void)prot;
	if (z->nr == ZAP_BATCH)
		zap_finish(z); /* those are unmapped; this one is on return */
	z->page[z->nr++] = pa;
	return 0;
}

void mm_zap(struct mm *mm, u64 start, u64 end)
{
	struct zap z = { .mm = mm };

	debug_assert(start <= end);
	assert_mm_held(mm);
	arch_pt_walk(mm->pt_root, start, end, zap_one, &z);
	zap_finish(&z);
}

/* --- unmap -------------------------------------------------------------------- */

/* Make @start and @end vma boundaries. 0, or -ENOMEM: nothing has changed. */
static int cut(struct mm *mm, u64 start, u64 end)
{
	struct vma *v = vma_find(mm, start);
	int err = 0;

	debug_assert(start < end);
	assert_mm_held(mm);
	if (v && v->start < start)
		err = vma_split(mm, v, start);
	v = vma_find(mm, end - 1);
	if (!err && v && v->start < end && v->end > end)
		err = vma_split(mm, v, end);
	if (err)
		vma_merge(mm, vma_find(mm, start));
	return err;
}

static int unmap(struct mm *mm, struct range r)
{
	struct vma *v, *next;
	int err = cut(mm, r.start, r.end);

	assert_mm_held(mm);
	if (err)
		return err;
	v = vma_find(mm, r.start);
	if (!v || v->start >= r.end)
		return 0;
	mm_zap(mm, r.start, r.end);
	for (; v && v->start < r.end; v = next) {
		next = vma_next(v);
		vma_remove(mm, v);
	}
	return 0;
}

long mm_unmap(struct mm *mm, u64 addr, u64 len)
{
	struct range r = page_range(addr, len);

	if (!r.end || !len)
		return -EINVAL;
	mutex_lock(&mm->lock);
	long err = unmap(mm, r);

	vma_unlock(mm);
	return err;
}

/* --- map ---------------------------------------------------------------------- */

static bool range_is_free(struct mm *mm, struct range r)
{
	struct vma *v = vma_find(mm, r.start);

	assert_mm_held(mm);
	return !v || v->start >= r.end;
}

/* The checks of mmap(2) before it looks for a place. */
static int check_map(u64 len, unsigned prot, unsigned flags, const struct file *file, u64 offset)
{
	unsigned type = flags & MAP_TYPE;

	if (type != MAP_SHARED && type != MAP_PRIVATE && (type != MAP_SHARED_VALIDATE || !file))
		return -EINVAL;
	if (type == MAP_SHARED_VALIDATE && flags & ~(unsigned)MAP_OLD)
		return -EOPNOTSUPP;
	if (flags & MAP_GROWSDOWN && (file || type != MAP_PRIVATE))
		return -EINVAL;
	/* There are no huge pages: Linux's answer where it lacks them too. */
	if (!len || (flags & MAP_HUGETLB))
		return -EINVAL;
	if (len > USER_END)
		return -ENOMEM;
	if (file) {
		if (offset > INT64_MAX - ALIGN_UP(len, PAGE_SIZE))
			return -EOVERFLOW;
		if (!(file->mode & FILE_READ))
			return -EACCES;
		if (type != MAP_PRIVATE && prot & PROT_WRITE && !(file->mode & FILE_WRITE))
			return -EACCES;
		if (!file->ops->map_page)
			return -ENODEV;
	}
	/* Memory may be overcommitted, but one private mapping larger than memory is refused. */
	if (type == MAP_PRIVATE && prot & PROT_WRITE && !(flags & MAP_NORESERVE) &&
	    len >> PAGE_SHIFT > page_nr_total())
		return -ENOMEM;
	return 0;
}

/* Where MAP_32BIT puts mappings, as on Linux. */
#define LOW_START 0x40000000ull
#define LOW_END	  0x80000000ull

/* Why no mapping can be exactly there, -EINVAL, -ENOMEM, -EPERM or -EEXIST; 0: one can. */
static int place_error(struct mm *mm, u64 addr, u64 len, unsigned flags)
{
	struct range r = page_range(addr, len);

	assert_mm_held(mm);
	if (addr % PAGE_SIZE || !r.end || addr < MAP_MIN)
		return addr % PAGE_SIZE ? -EINVAL : r.end ? -EPERM : -ENOMEM;
	return flags & MAP_FIXED_NOREPLACE && !range_is_free(mm, r) ? -EEXIST : 0;
}

/* Find a place for a new mapping and make it free; end == 0 and *err set if there is none. */
static struct range place(struct mm *mm, u64 addr, u64 len, unsigned flags, int *err)
{
	struct range r = page_range(addr, len);

	assert_mm_held(mm);
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
		*err = place_error(mm, addr, len, flags);
		if (!*err && !(flags & MAP_FIXED_NOREPLACE))
			*err = unmap(mm, r);
		return *err ? (struct range){ 0, 0 } : r;
	}
	r = page_range(ALIGN_DOWN(addr, PAGE_SIZE), len);
	if (addr >= MAP_MIN && r.end && range_is_free(mm, r))
		return r; /* the hint fits */
	u64 low = flags & MAP_32BIT ? LOW_START : 0;
	r.start = vma_find_gap(mm, ALIGN_UP(len, PAGE_SIZE), low ? LOW_END : mm->mmap_base);
	if (r.start < low)
		r.start = 0;
	r.end = r.start ? r.start + ALIGN_UP(len, PAGE_SIZE) : 0;
	*err = r.end ? 0 : -ENOMEM;
	return r;
}

/* A new vma like @model, which is joined with no neighbour. Its address or -errno. */
static long map_apart(struct mm *mm, u64 addr, u64 len, unsigned flags, const struct vma *model)
{
	int err = -ENOMEM;
	struct vma *v = mm->nr_vmas < MAX_VMAS ? vma_copy(model) : NULL;
	struct range r = { 0, 0 };

	assert_mm_held(mm);
	if (v)
		r = place(mm, addr, len, flags, &err);
	if (!r.end) {
		if (v)
			vma_free(v);
		return err;
	}
	v->start = r.start;
	v->end = r.end;
	vma_insert(mm, v);
	return (long)r.start;
}

static long map(struct mm *mm, u64 addr, u64 len, unsigned flags, const struct vma *model)
{
	long start = map_apart(mm, addr, len, flags, model);

	if (start < 0)
		return start;
	vma_merge(mm, vma_at(mm, (u64)start));
	if (flags & (MAP_POPULATE | MAP_LOCKED))
		mm_populate(mm, (u64)start, ALIGN_UP((u64)start + len, PAGE_SIZE));
	return start;
}

long mm_map(struct mm *mm, u64 addr, u64 len, unsigned prot, unsigned flags, struct file *file,
	    u64 offset)
{
	bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	int err = check_map(len, prot, flags, file, offset);

	if (!err && flags & MAP_LOCKED && !mm_may_lock_any())
		err = -EPERM;
	if (!err && file && file->ops->mmap)
		err = file->ops->mmap(file, offset, len, shared);
	if (err)
		return err;
	struct file *memory = shared && !file ? file_anonymous(ALIGN_UP(len, PAGE_SIZE)) : NULL;

	if (shared && !file && !memory)
		return -ENOMEM;
	struct vma model = {
		.prot = prot & (PROT_READ | PROT_WRITE | PROT_EXEC),
		.flags = (shared ? VMA_SHARED : 0) | (flags & MAP_GROWSDOWN ? VMA_GROWSDOWN : 0),
		.file = memory ? memory : file,
		.offset = file ? offset : 0,
	};

	mutex_lock(&mm->lock);
	u64 size = ALIGN_UP(len, PAGE_SIZE), old = 0;
	if (flags & MAP_FIXED)
		old = mm_mapped_bytes(mm, addr, addr + size);
	if (flags & MAP_LOCKED || mm->lock_new)
		model.flags |= VMA_LOCKED;
	long addr_or_err = 0;
	if (!mm_may_grow(mm, size - old, vma_is_data(&model)))
		addr_or_err = -ENOMEM;
	else if (model.flags & VMA_LOCKED && !mm_may_lock(mm, size))
		addr_or_err = -EAGAIN;
	if (addr_or_err && flags & (MAP_FIXED | MAP_FIXED_NOREPLACE))
		addr_or_err = place_error(mm, addr, len, flags) ?: addr_or_err;
	if (!addr_or_err)
		addr_or_err = map(mm, addr, len, flags, &model);
	vma_unlock(mm);
	if (memory)
		file_put(memory); /* the vma has its own reference */
	return addr_or_err;
}

/* --- protect ------------------------------------------------------------------ */

struct protect {
	struct vma *vma;
	bool lost_rights;
};

/* The rights of a present page under the new rights of its vma; see the head of this file. */
static unsigned protect_one(void *arg, u64 va, u64 pa, unsigned prot)
{
	struct protect *p = arg;
	unsigned rights = p->vma->prot | PT_USER | (p->vma->prot ? PT_READ : 0); /* as fault.c */

	(void)va, (void)pa;
	if (vma_is_private(p->vma)) {
		if (!(prot & PT_WRITE))
			rights &= ~(unsigned)PT_WRITE;
		if (!(rights & PT_WRITE))
			rights |= PT_COW;
	}
	if (prot & ~rights & (PT_READ | PT_WRITE | PT_EXEC))
		p->lost_rights = true;
	return rights;
}

static bool may_protect(const struct vma *v, unsigned prot)
{
	debug_assert(vma_is_private(v) || v->file);
	if (!(prot & PT_WRITE))
		return true;
	return vma_is_private(v) ? !vdso_is_vvar(v) : v->file->mode & FILE_WRITE;
}

static bool becomes_data(const struct vma *v, unsigned prot)
{
	struct vma changed = { .prot = prot, .flags = v->flags };

	return vma_is_data(&changed) && !vma_is_data(v);
}

/* Stops at the first hole or refusal, like Linux: the pages before it have changed by then. */
static long protect(struct mm *mm, struct range r, unsigned prot, bool *lost_rights)
{
	struct vma *v = vma_at(mm, r.start);

	assert_mm_held(mm);
	if (!v)
		return -ENOMEM;
	for (u64 addr = r.start; addr < r.end; addr = v->end, v = vma_next(v)) {
		if (!v || v->start > addr)
			return -ENOMEM;
		if (!may_protect(v, prot))
			return -EACCES;
		if (v->prot == prot)
			continue;
		u64 end = min(r.end, v->end);

		if (becomes_data(v, prot) && !mm_may_have_data(mm, end - addr))
			return -ENOMEM;
		if (cut(mm, addr, end))
			return -ENOMEM;
		v = vma_at(mm, addr);
		v->prot = prot;
		struct protect p = { .vma = v };

		arch_pt_walk(mm->pt_root, addr, end, protect_one, &p);
		*lost_rights |= p.lost_rights;
		v = vma_merge(mm, v);
	}
	return 0;
}

long mm_protect(struct mm *mm, u64 addr, u64 len, unsigned prot)
{
	struct range r = page_range(addr, len);
	bool lost_rights = false;

	if (addr % PAGE_SIZE || prot & ~(unsigned)(PROT_READ | PROT_WRITE | PROT_EXEC))
		return -EINVAL;
	if (!len)
		return 0;
	if (!r.end)
		return -ENOMEM;
	mutex_lock(&mm->lock);
	long err = protect(mm, r, prot, &lost_rights);

	if (lost_rights)
		arch_tlb_shootdown(mm->pt_root);
	vma_unlock(mm);
	return err;
}

/* --- flags -------------------------------------------------------------------- */

long mm_set_flags(struct mm *mm, u64 start, u64 end, u32 set, u32 clear)
{
	long err = 0;

	mutex_lock(&mm->lock);
	for (struct vma *v = vma_find(mm, start); start < end; v = vma_find(mm, start)) {
		u64 stop = v ? min(v->end, end) : end;

		if (!v || v->start > start)
			err = -ENOMEM;
		if (!v || v->start >= end)
			break;
		/* Only memory of the process itself can be wiped for a child. */
		if ((set & VMA_WIPEONFORK) && (v->file || !vma_is_private(v))) {
			err = -EINVAL;
			break;
		}
		if (cut(mm, max(start, v->start), stop)) {
			err = -ENOMEM;
			break;
		}
		v = vma_at(mm, max(start, v->start));
		v->flags = (v->flags & ~clear) | set;
		vma_merge(mm, v);
		start = stop;
	}
	vma_unlock(mm);
	return err;
}

/* --- brk ---------------------------------------------------------------------- */

static void set_brk(struct mm *mm, u64 addr)
{
	static const struct vma heap = { .prot = PT_READ | PT_WRITE };
	u64 old = ALIGN_UP(mm->brk, PAGE_SIZE), new = ALIGN_UP(addr, PAGE_SIZE);

	assert_mm_held(mm);
	if (addr < mm->brk_start || addr > mm->mmap_base)
		return;
	if (new > old) {
		if ((new - old) >> PAGE_SHIFT > page_nr_total() ||
		    !mm_may_grow(mm, new - old, true) ||
		    map(mm, old, new - old, MAP_FIXED_NOREPLACE, &heap) < 0)
			return;
	} else if (new < old && unmap(mm, (struct range){ new, old })) {
		return;
	}
	mm->brk = addr;
}

/* Returns the new break, or the old one if @addr will not do (0 asks for it). */
u64 mm_brk(struct mm *mm, u64 addr)
{
	mutex_lock(&mm->lock);
	set_brk(mm, addr);
	addr = mm->brk;
	vma_unlock(mm);
	return addr;
}

/* --- mremap ------------------------------------------------------------------- */

struct move {
	struct mm *mm;
	u64 distance;
	bool failed;
};

/* Out of memory for the tables at the new place: the page stays, and the caller gives up. */
static unsigned move_one(void *arg, u64 va, u64 pa, unsigned prot)
{
	struct move *m = arg;

	if (m->failed || arch_pt_map(m->mm->pt_root, va + m->distance, pa, prot)) {
		m->failed = true;
		return prot;
	}
	return 0;
}

/* Move the pages of [from, from + len) to @to. False: no memory, nothing moved. */
static bool move_pages(struct mm *mm, u64 from, u64 to, u64 len)
{
	struct move m = { .mm = mm, .distance = to - from };

	assert_mm_held(mm);
	arch_pt_walk(mm->pt_root, from, from + len, move_one, &m);
	if (m.failed) { /* back: these tables exist */
		m = (struct move){ .mm = mm, .distance = from - to };
		arch_pt_walk(mm->pt_root, to, to + len, move_one, &m);
	}
	arch_tlb_shootdown(mm->pt_root);
	return m.distance == to - from;
}

/* Joins what cut() has cut at @start and @end. */
static void join(struct mm *mm, u64 start, u64 end)
{
	assert_mm_held(mm);
	vma_merge(mm, vma_at(mm, start));
	struct vma *above = vma_at(mm, end);

	if (above)
		vma_merge(mm, above);
}

/*
 * Move @r to a place of @new_len bytes, at @to (MAP_FIXED in @flags) or anywhere. As much of @r as
 * that has room for is of one vma. What can fail comes first: with ends of its own, and apart from
 * the new place, the old one goes without a split.
 */
static long move_vma(struct mm *mm, struct range r, u64 new_len, u64 to, unsigned flags)
{
	u64 len = min(r.end - r.start, new_len);
	long addr = -ENOMEM;

	assert_mm_held(mm);
	if (cut(mm, r.start, r.end))
		return -ENOMEM;
	if (!cut(mm, r.start, r.start + len)) {
		struct vma model = *vma_at(mm, r.start);

		model.flags &= ~(u32)VMA_GROWSDOWN;
		addr = map_apart(mm, to, new_len, flags, &model);
	}
	if (addr >= 0 && !move_pages(mm, r.start, (u64)addr, len)) {
		unmap(mm, (struct range){ (u64)addr, (u64)addr + new_len });
		addr = -ENOMEM;
	}
	if (addr < 0) {
		join(mm, r.start, r.end);
		return addr;
	}
	unmap(mm, r);
	vma_merge(mm, vma_at(mm, (u64)addr));
	return addr;
}

/* Grow the vma that ends at r.end where it is, if the addresses above are free. */
static bool grow_in_place(struct mm *mm, struct vma *v, struct range r, u64 new_len)
{
	struct range more = { r.end, r.start + new_len };

	assert_mm_held(mm);
	if (v->end != r.end || more.end > USER_END || !range_is_free(mm, more))
		return false;
	vma_resize(mm, v, v->start, more.end);
	vma_merge(mm, v);
	return true;
}

/* An old size of 0: map the same memory a second time, which only shared memory can be. */
static long map_again(struct mm *mm, const struct vma *v, u64 addr, u64 len, unsigned flags, u64 to)
{
	struct vma model = *v;

	assert_mm_held(mm);
	if (vma_is_private(v))
		return -EINVAL;
	if (!(flags & MREMAP_MAYMOVE) || !mm_may_grow(mm, len, false))
		return -ENOMEM;
	model.offset += addr - v->start;
	return flags & MREMAP_FIXED ? map(mm, to, len, MAP_FIXED, &model)
				    : map(mm, 0, len, 0, &model);
}

static long remap(struct mm *mm, struct range r, u64 new_len, unsigned flags, u64 to)
{
	struct vma *v = vma_at(mm, r.start);

	assert_mm_held(mm);
	if (!v)
		return -EFAULT;
	if (r.start == r.end)
		return map_again(mm, v, r.start, new_len, flags, to);
	/* The pages behind the new size go, also holes and other mappings. */
	if (new_len <= r.end - r.start && !(flags & MREMAP_FIXED)) {
		r.start += new_len;
		int err = r.start < r.end ? unmap(mm, r) : 0;

		return err ? err : (long)(r.start - new_len);
	}
	if (r.start + min(new_len, r.end - r.start) > v->end)
		return -EFAULT;
	if (new_len > r.end - r.start &&
	    !mm_may_grow(mm, new_len - (r.end - r.start), vma_is_data(v)))
		return -ENOMEM;
	if (flags & MREMAP_FIXED)
		return move_vma(mm, r, new_len, to, MAP_FIXED);
	if (v->flags & VMA_LOCKED && !mm_may_lock(mm, new_len - (r.end - r.start)))
		return -EAGAIN;
	if (grow_in_place(mm, v, r, new_len))
		return (long)r.start;
	return flags & MREMAP_MAYMOVE ? move_vma(mm, r, new_len, 0, 0) : -ENOMEM;
}

long mm_remap(struct mm *mm, u64 addr, u64 old_len, u64 new_len, unsigned flags, u64 to)
{
	struct range r = page_range(addr, old_len), dst = page_range(to, new_len);

	if (!r.end || !new_len || new_len > USER_END ||
	    flags & ~(unsigned)(MREMAP_MAYMOVE | MREMAP_FIXED))
		return -EINVAL;
	if (flags & MREMAP_FIXED &&
	    (!(flags & MREMAP_MAYMOVE) || !dst.end || (dst.start < r.end && r.start < dst.end)))
		return -EINVAL;
	mutex_lock(&mm->lock);
	long result = remap(mm, r, ALIGN_UP(new_len, PAGE_SIZE), flags, to);

	vma_unlock(mm);
	return result;
}
