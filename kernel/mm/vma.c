/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tree of an address space's mappings.
 *
 * Vmas are disjoint, so one order serves for lookup by address. Each node also knows the free gap
 * below it and the largest gap in its subtree (the tree's augmented value), so that finding room
 * for a new mapping is one descent, too: a process with 10,000 threads has more than 20,000 vmas.
 * mm->last short-cuts the many lookups that hit the same vma as the one before.
 *
 * Locking: mm->lock. Reference: red-black trees, lib/rbtree.h; the augmentation is CLRS 14.2.
 */
#include "kernel/mm/vma.h"

#include "kernel/contract.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/account.h"
#include "lib/errno.h"

static struct kmem_cache *vma_cache;

static struct vma *vma_of(const struct rb_node *n)
{
	return n ? container_of(n, struct vma, node) : NULL;
}

static bool starts_before(const struct rb_node *a, const struct rb_node *b)
{
	return vma_of(a)->start < vma_of(b)->start;
}

static bool augment(struct rb_node *node)
{
	struct vma *v = vma_of(node);
	u64 before = v->max_gap;

	v->max_gap = v->gap;
	if (node->left)
		v->max_gap = max(v->max_gap, vma_of(node->left)->max_gap);
	if (node->right)
		v->max_gap = max(v->max_gap, vma_of(node->right)->max_gap);
	return v->max_gap != before;
}

/* The gap below @v has changed: update the tree. NULL is fine. */
static void gap_changed(struct mm *mm, struct vma *v)
{
	assert_mm_held(mm);
	if (!v)
		return;
	struct vma *below = vma_prev(v);

	v->gap = v->start - (below ? below->end : MAP_MIN);
	rb_augment(&mm->vmas, &v->node);
}

void vma_init(void)
{
	vma_cache = kmem_cache_create("vma", sizeof(struct vma), 16);
}

void vma_tree_init(struct mm *mm)
{
	mm->vmas = (struct rb_tree){ .augment = augment };
}

struct vma *vma_find(struct mm *mm, u64 addr)
{
	struct vma *found = NULL;

	assert_mm_held(mm);
	if (mm->last && mm->last->start <= addr && addr < mm->last->end)
		return mm->last;
	for (struct rb_node *n = mm->vmas.root; n;) {
		struct vma *v = vma_of(n);

		if (v->end > addr) {
			found = v;
			n = v->start <= addr ? NULL : n->left;
		} else {
			n = n->right;
		}
	}
	if (found)
		mm->last = found;
	return found;
}

struct vma *vma_at(struct mm *mm, u64 addr)
{
	struct vma *v = vma_find(mm, addr);

	return v && v->start <= addr ? v : NULL;
}

struct vma *vma_first(const struct mm *mm)
{
	return vma_of(rb_first(&mm->vmas));
}

struct vma *vma_next(const struct vma *v)
{
	return vma_of(rb_next(&v->node));
}

struct vma *vma_prev(const struct vma *v)
{
	return vma_of(rb_prev(&v->node));
}

struct vma *vma_copy(const struct vma *model)
{
	struct vma *v = account_may_hoard() ? kmem_cache_alloc(vma_cache) : NULL;

	if (!v)
		return NULL;
	*v = *model;
	v->gap = 0;
	if (v->file)
		__atomic_add_fetch(&file_get(v->file)->inode->nr_vmas, 1, __ATOMIC_SEQ_CST);
	return v;
}

void vma_free(struct vma *v)
{
	if (v->file) {
		__atomic_sub_fetch(&v->file->inode->nr_vmas, 1, __ATOMIC_RELAXED);
		file_put(v->file);
	}
	kmem_cache_free(vma_cache, v);
}

void vma_insert(struct mm *mm, struct vma *v)
{
	debug_assert(v->start < v->end && v->end <= USER_END);
	assert_mm_held(mm);
	rb_insert(&mm->vmas, &v->node, starts_before);
	gap_changed(mm, v);
	gap_changed(mm, vma_next(v));
	mm->nr_vmas++;
	mm->total_vm += vma_pages(v);
}

static struct vma *last_vma(const struct mm *mm)
{
	struct rb_node *n = mm->vmas.root;

	assert_mm_held(mm);
	while (n && n->right)
		n = n->right;
	return vma_of(n);
}

void vma_append(struct mm *mm, struct vma *v)
{
	assert_mm_held(mm);

	struct vma *last = last_vma(mm);

	debug_assert(!last || v->start >= last->end);
	v->gap = v->start - (last ? last->end : MAP_MIN);
	rb_insert(&mm->vmas, &v->node, starts_before);
	mm->nr_vmas++;
	mm->total_vm += vma_pages(v);
}

/* Without freeing it. */
static void unlink(struct mm *mm, struct vma *v)
{
	struct vma *next = vma_next(v);

	assert_mm_held(mm);
	rb_erase(&mm->vmas, &v->node);
	gap_changed(mm, next);
	mm->nr_vmas--;
	mm->max_vm = mm_peak_vm(mm);
	mm->total_vm -= vma_pages(v);
	if (mm->last == v)
		mm->last = NULL;
}

void vma_remove(struct mm *mm, struct vma *v)
{
	assert_mm_held(mm);
	unlink(mm, v);
	v->next_removed = mm->removed;
	mm->removed = v;
}

void vma_unlock(struct mm *mm)
{
	struct vma *v = mm->removed, *next;

	debug_assert(mutex_is_held(&mm->lock));
	mm->removed = NULL;
	mutex_unlock(&mm->lock);
	for (; v; v = next) {
		next = v->next_removed;
		vma_free(v);
	}
}

void vma_resize(struct mm *mm, struct vma *v, u64 start, u64 end)
{
	debug_assert(start < end && (start == v->start || !v->file));
	assert_mm_held(mm);
	mm->max_vm = mm_peak_vm(mm);
	mm->total_vm -= vma_pages(v);
	v->start = start;
	v->end = end;
	mm->total_vm += vma_pages(v);
	gap_changed(mm, v);
	gap_changed(mm, vma_next(v));
}

int vma_split(struct mm *mm, struct vma *v, u64 addr)
{
	struct vma *upper = mm->nr_vmas < MAX_VMAS ? vma_copy(v) : NULL;

	debug_assert(v->start < addr && addr < v->end);
	assert_mm_held(mm);
	if (!upper)
		return -ENOMEM;
	upper->offset += addr - v->start;
	upper->start = addr;
	vma_resize(mm, v, v->start, addr);
	vma_insert(mm, upper);
	return 0;
}

/* Does @b go on where @a ends? */
static bool continues(const struct vma *a, const struct vma *b)
{
	return a && b && a->end == b->start && a->prot == b->prot && a->flags == b->flags &&
	       a->file == b->file && (!a->file || a->offset + (a->end - a->start) == b->offset);
}

struct vma *vma_merge(struct mm *mm, struct vma *v)
{
	assert_mm_held(mm);

	struct vma *below = vma_prev(v), *above = vma_next(v);

	if (continues(v, above)) {
		u64 end = above->end;

		vma_remove(mm, above);
		vma_resize(mm, v, v->start, end);
	}
	if (continues(below, v)) {
		u64 end = v->end;

		vma_remove(mm, v);
		vma_resize(mm, below, below->start, end);
		return below;
	}
	return v;
}

/*
 * Returns the highest start, in the subtree @n, of @len free bytes that end at or below @limit, or
 * 0.
 */
static u64 find_gap(struct rb_node *n, u64 len, u64 limit)
{
	debug_assert(len && len % PAGE_SIZE == 0);
	while (n && vma_of(n)->max_gap >= len) {
		struct vma *v = vma_of(n);
		u64 found = find_gap(n->right, len, limit);

		if (found)
			return found;
		u64 top = min(v->start, limit), bottom = v->start - v->gap;

		if (top >= bottom + len)
			return top - len;
		n = n->left;
	}
	return 0;
}

u64 vma_find_gap(const struct mm *mm, u64 len, u64 limit)
{
	assert_mm_held(mm);

	struct vma *last = last_vma(mm);
	u64 bottom = last ? last->end : MAP_MIN;

	if (limit >= bottom + len)
		return limit - len;
	return find_gap(mm->vmas.root, len, limit);
}

/* Leaves first; the tree is not kept balanced on the way. */
void vma_free_all(struct mm *mm)
{
	assert_mm_held(mm);
	for (struct rb_node *n = mm->vmas.root; n;) {
		if (n->left || n->right) {
			n = n->left ? n->left : n->right;
			continue;
		}
		struct rb_node *parent = rb_parent(n);

		if (parent && parent->left == n)
			parent->left = NULL;
		else if (parent)
			parent->right = NULL;
		vma_free(vma_of(n));
		n = parent;
	}
}
