/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Address spaces as a whole: creation, fork, end, and looking into them from outside.
 *
 * An mm is shared by the threads of a process, by a vfork child and its parent, and by whoever
 * looks at it (procfs); the last reference frees it. fork copies the vmas and page tables but no
 * page: both sides lose the right to write to private pages, and fault.c copies the few that are
 * written.
 *
 * All are in one list, for files that become shorter: their pages leave every mapping. A fork
 * appends the child while it holds the parent's lock. So a walk from the front that comes to the
 * parent too late finds the child, too.
 *
 * Locking: mm->lock guards an mm's contents. mm_fork() takes the source's; the new one is nobody
 * else's yet. mms_lock, inside it, guards the list.
 */
#include "kernel/base/guards.h"
#include "kernel/contract.h"
#include "kernel/exec/exec.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/vma.h"
#include "kernel/ref.h"
#include "kernel/task/proc.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

/*
 * Where mmap starts on Linux without address space randomisation: 128 MiB and a page's change below
 * the stack's end.
 */
#define MMAP_BASE 0x7ffff7fff000ull

/*
 * Page tables of dead processes, empty but not freed: the next process most likely has its memory
 * at the same places, and finds the tables made (a fork saves allocating and zeroing about eight).
 */
#define SPARES		 4
#define SPARE_MAX_TABLES 32 /* of one: what a large or sparse program had is freed */

struct spare_tables {
	u32 nr;
	u64 root[SPARES];
} __aligned(64);

static struct spare_tables spare_tables[MAX_CPUS];
static struct kmem_cache *mm_cache;
static struct spinlock mms_lock = SPINLOCK_INIT("mms");
static struct list mms = LIST_INIT(mms); /* guarded by: mms_lock */

void mm_init(void)
{
	mm_cache = kmem_cache_create("mm_struct", sizeof(struct mm), 64);
	vma_init();
}

static u64 take_tables(void)
{
	u64 root = 0;

	preempt_disable();
	struct spare_tables *s = &spare_tables[arch_cpu_id()];

	debug_assert(s->nr <= SPARES);
	if (s->nr)
		root = s->root[--s->nr];
	preempt_enable();
	return root ? root : arch_pt_create();
}

/* @mm maps nothing any more. */
static void give_tables(struct mm *mm)
{
	bool kept = false;

	arch_pt_unload(mm->pt_root);
	preempt_disable();
	struct spare_tables *s = &spare_tables[arch_cpu_id()];

	debug_assert(s->nr <= SPARES);
	if (s->nr < SPARES && page_chain_length(mm->pt_root) <= SPARE_MAX_TABLES) {
		s->root[s->nr++] = mm->pt_root;
		kept = true;
	}
	preempt_enable();
	if (!kept)
		arch_pt_destroy(mm->pt_root);
}

/* The same as mm_create(), but not in the list. */
static struct mm *alloc(void)
{
	struct mm *mm = kmem_cache_alloc(mm_cache);

	if (!mm)
		return NULL;
	*mm = (struct mm){ .refs = 1, .mmap_base = MMAP_BASE };
	list_init(&mm->link);
	mutex_init(&mm->lock, "mm");
	vma_tree_init(mm);
	mm->pt_root = take_tables();
	if (mm->pt_root)
		return mm;
	kmem_cache_free(mm_cache, mm);
	return NULL;
}

static void publish(struct mm *mm)
{
	debug_assert(list_empty(&mm->link));
	spin_lock(&mms_lock);
	list_add_tail(&mms, &mm->link);
	spin_unlock(&mms_lock);
}

/* An empty address space with one reference; NULL when memory is short. */
struct mm *mm_create(void)
{
	struct mm *mm = alloc();

	if (mm)
		publish(mm);
	return mm;
}

/* --- fork --------------------------------------------------------------------- */

static unsigned count_page(void *nr, u64 va, u64 pa, unsigned prot)
{
	(void)va, (void)pa;
	++*(u64 *)nr;
	return prot;
}

/* The pages of @v that are present. */
static u64 resident_pages(struct mm *mm, const struct vma *v)
{
	u64 nr = 0;

	assert_mm_held(mm);
	arch_pt_walk(mm->pt_root, v->start, v->end, count_page, &nr);
	return nr;
}

/* *absent counts the pages of @src that the child does not get. */
static int fork_vma(struct mm *dst, struct mm *src, const struct vma *v, u64 *absent)
{
	struct vma *copy = v->flags & VMA_DONTFORK ? NULL : vma_copy(v);

	assert_mm_held(src);
	if (v->flags & (VMA_DONTFORK | VMA_WIPEONFORK))
		*absent += resident_pages(src, v);
	if (v->flags & VMA_DONTFORK)
		return 0;
	if (!copy)
		return -ENOMEM;
	copy->flags &= ~(u32)VMA_LOCKED;
	vma_append(dst, copy);
	if (v->flags & VMA_WIPEONFORK)
		return 0;
	return arch_pt_copy(dst->pt_root, src->pt_root, v->start, v->end, vma_is_private(v),
			    page_get);
}

static int fork_vmas(struct mm *dst, struct mm *src, u64 *absent)
{
	int err = 0;

	assert_mm_held(src);
	for (struct vma *v = vma_first(src); v && !err; v = vma_next(v))
		err = fork_vma(dst, src, v, absent);
	arch_tlb_shootdown(
		src->pt_root); /* its private pages became read-only, even if we gave up */
	return err;
}

struct mm *mm_fork(struct mm *src)
{
	struct mm *mm = page_is_short() ? NULL : alloc();

	if (!mm)
		return NULL;
	mutex_lock(&src->lock);
	u64 absent = 0;
	int err = fork_vmas(mm, src, &absent);

	memcpy(&mm->inherited_from_here, &src->inherited_from_here,
	       sizeof(*mm) - offsetof(struct mm, inherited_from_here));
	mm->rss -= absent;
	mm->max_rss = 0;
	if (!err)
		publish(mm);
	mutex_unlock(&src->lock);
	if (!err)
		return mm;
	mm_put(mm);
	return NULL;
}

/* --- references and the end --------------------------------------------------- */

struct mm *mm_get(struct mm *mm)
{
	ref_get(&mm->refs);
	return mm;
}

static unsigned drop_page(void *arg, u64 va, u64 pa, unsigned prot)
{
	(void)arg, (void)va, (void)prot;
	page_put(pa);
	return 0;
}

/*
 * No flush: nobody runs in this address space any more. A thread of it that ends on another CPU may
 * have the page table loaded still, but touches no user address; give_tables() takes it away.
 */
static void destroy(struct mm *mm)
{
	debug_assert(!mm->refs && !mm->lock.locked);
	spin_lock(&mms_lock);
	list_del(&mm->link);
	spin_unlock(&mms_lock);
	owned(mm); /* once more: a neighbour in the list may have touched the link */
	for (struct vma *v = vma_first(mm); v; v = vma_next(v))
		arch_pt_walk(mm->pt_root, v->start, v->end, drop_page, NULL);
	vma_free_all(mm);
	give_tables(mm);
	kmem_cache_free(mm_cache, mm);
}

void mm_put(struct mm *mm)
{
	might_sleep();
	if (ref_put(&mm->refs))
		destroy(mm);
}

/* --- a file becomes shorter ------------------------------------------------------ */

/* The first one behind @mm that has not ended, with a reference; NULL: none. @mm NULL: of all. */
static struct mm *next_mm(struct mm *mm)
{
	struct list *at = mm ? &mm->link : &mms;
	u32 refs = 0;

	spin_lock(&mms_lock);
	while (!refs && (at = at->next) != &mms) {
		struct mm *next = container_of(at, struct mm, link);

		refs = READ_ONCE(next->refs);
		while (refs && !__atomic_compare_exchange_n(&next->refs, &refs, refs + 1, false,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			;
	}
	spin_unlock(&mms_lock);
	return refs ? container_of(at, struct mm, link) : NULL;
}

static void unmap_behind(struct mm *mm, const struct inode *i, u64 size)
{
	u64 end = ALIGN_UP(size, PAGE_SIZE);

	debug_assert(may_sleep());
	mutex_lock(&mm->lock);
	for (struct vma *v = vma_first(mm); v; v = vma_next(v)) {
		u64 kept = end > v->offset ? end - v->offset : 0;

		cond_resched();
		if (v->file && v->file->inode == i && kept < v->end - v->start)
			mm_zap(mm, v->start + kept, v->end);
	}
	mutex_unlock(&mm->lock);
}

void mm_unmap_behind(const struct inode *i, u64 size)
{
	struct mm *mm = NULL, *next;

	might_sleep();
	while ((next = next_mm(mm))) {
		if (mm)
			mm_put(mm);
		mm = next;
		unmap_behind(mm, i, size);
	}
	if (mm)
		mm_put(mm);
}

/* --- from outside ------------------------------------------------------------- */

size_t mm_access(struct mm *mm, u64 addr, void *buf, size_t n, bool write)
{
	size_t done = 0;

	might_sleep();
	mutex_lock(&mm->lock);
	while (done < n && addr < USER_END) {
		cond_resched();

		u64 pa = mm_fault_page(mm, addr, write ? PT_WRITE : PT_READ);
		size_t len = min(n - done, (size_t)(PAGE_SIZE - addr % PAGE_SIZE));

		if (!pa)
			break;
		if (write)
			memcpy(phys_to_virt(pa), (char *)buf + done, len);
		else
			memcpy((char *)buf + done, phys_to_virt(pa), len);
		done += len;
		addr += len;
	}
	mutex_unlock(&mm->lock);
	return done;
}

u64 mm_user_page(struct mm *mm, u64 addr, bool write)
{
	u64 pa;

	if (addr >= USER_END)
		return 0;
	mutex_lock(&mm->lock);
	pa = mm_fault_page(mm, addr, write ? PT_WRITE : PT_READ);
	mutex_unlock(&mm->lock);
	return pa;
}

long mm_shared_page(struct mm *mm, u64 addr, u64 *page)
{
	long err = -EFAULT;

	*page = 0;
	mutex_lock(&mm->lock);
	struct vma *v = vma_at(mm, addr);

	if (v && v->prot && vma_is_private(v)) {
		err = 0;
	} else if (v && v->prot) {
		*page = ALIGN_DOWN(mm_fault_page(mm, addr, PT_READ), PAGE_SIZE);
		if (*page) {
			page_get(*page);
			err = 0;
		}
	}
	mutex_unlock(&mm->lock);
	return err;
}

static const char *vma_name(const struct mm *mm, const struct vma *v, char *buf, size_t size)
{
	const char *special = vdso_name(v);

	if (v->file)
		return special ? special : file_path(v->file, buf, size);
	if (v->start < mm->brk && v->end > mm->brk_start)
		return "[heap]";
	return v->start <= mm->stack_start && mm->stack_start < v->end ? "[stack]" : "";
}

static void print_vma(struct text *t, const struct mm *mm, const struct vma *v)
{
	char path[256];
	size_t before = t->len;
	const struct file *file = vdso_name(v) ? NULL : v->file;
	u32 dev = file ? file->inode->sb->dev : 0;
	const char *name = vma_name(mm, v, path, sizeof(path));

	assert_mm_held(mm);
	text_add(t, "%08lx-%08lx %c%c%c%c %08lx %02x:%02x %lu", v->start, v->end,
		 v->prot & PT_READ ? 'r' : '-', v->prot & PT_WRITE ? 'w' : '-',
		 v->prot & PT_EXEC ? 'x' : '-', vma_is_private(v) ? 'p' : 's', file ? v->offset : 0,
		 dev >> 8, dev & 0xff, file ? file->inode->ino : 0);
	/* Linux puts names in column 73. */
	text_add(t, "%*s%s\n", *name ? max(1, 73 - (int)(t->len - before)) : 0, "", name);
}

size_t mm_print_maps(struct mm *mm, char *buf, size_t size)
{
	struct text t = text_of(buf, size);

	mutex_lock(&mm->lock);
	for (struct vma *v = vma_first(mm); v; v = vma_next(v))
		print_vma(&t, mm, v);
	mutex_unlock(&mm->lock);
	return t.len;
}
