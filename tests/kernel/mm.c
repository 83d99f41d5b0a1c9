/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory inside the kernel: the allocators give distinct memory and lose none, address spaces
 * follow a simple model under random operations, copy on write keeps processes apart.
 *
 * Address spaces are tested without running in them: mm_access() faults pages in like a program
 * would.
 */
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/frame.h"
#include "kernel/mm/kasan.h"
#include "kernel/mm/mman.h"
#include "kernel/mm/vma.h"
#include "kernel/task/proc.h"
#include "lib/errno.h"
#include "lib/prng.h"
#include "lib/string.h"

#define BASE  0x10000000ull /* where the tests map */
#define FIXED (MAP_PRIVATE | MAP_FIXED)
#define RW    (PROT_READ | PROT_WRITE)

/*
 * Free pages move only if something is lost or kept. Other threads sleep while the tests run;
 * caches may keep a few empty slabs, so a test that allocates objects runs once before it counts.
 */
static u64 free_before;

static void count_pages(void)
{
	free_before = page_nr_free();
}

static bool pages_returned(void)
{
	u64 now = page_nr_free();

	if (now + KASAN_KEEPS_PAGES >= free_before && now <= free_before + KASAN_KEEPS_PAGES)
		return true;
	kprintf("# free pages: %lu before, %lu after\n", free_before, now);
	return false;
}

/* --- pages -------------------------------------------------------------------- */

SELFTEST(mm_page_blocks)
{
	u64 block[NR_ORDERS][4];

	count_pages();
	for (unsigned order = 0; order < NR_ORDERS; order++) {
		for (unsigned i = 0; i < 4; i++) {
			u64 pa = block[order][i] = page_alloc(order);

			SELFTEST_CHECK(pa && pa % (PAGE_SIZE << order) == 0);
			SELFTEST_CHECK(page_refs(pa) == 1 &&
				       page_refs(pa + (PAGE_SIZE << order) - 1) == 1);
			memset(phys_to_virt(pa), (int)(order * 4 + i), PAGE_SIZE << order);
		}
	}
	SELFTEST_CHECK(page_alloc(NR_ORDERS) == 0);
	for (unsigned order = 0; order < NR_ORDERS; order++) {
		for (unsigned i = 0; i < 4; i++) {
			const u8 *p = phys_to_virt(block[order][i]);

			SELFTEST_CHECK(p[0] == order * 4 + i &&
				       p[(PAGE_SIZE << order) - 1] == order * 4 + i);
			page_free(block[order][i], order);
		}
	}
	SELFTEST_CHECK(pages_returned());
	return 0;
}

/* The frames of a block are separate once it is handed out. */
SELFTEST(mm_page_references)
{
	count_pages();
	u64 pa = page_alloc(2);

	SELFTEST_CHECK(pa);
	page_get(pa + PAGE_SIZE);
	SELFTEST_CHECK(page_refs(pa) == 1 && page_refs(pa + PAGE_SIZE) == 2);
	for (unsigned i = 0; i < 4; i++)
		page_put(pa + i * PAGE_SIZE);
	SELFTEST_CHECK(page_nr_free() == free_before - 1 && page_refs(pa + PAGE_SIZE) == 1);
	page_put(pa + PAGE_SIZE);
	SELFTEST_CHECK(pages_returned());
	return 0;
}

SELFTEST(mm_page_chain)
{
	count_pages();
	u64 first = page_alloc(0);

	SELFTEST_CHECK(first);
	for (unsigned i = 0; i < 100; i++) {
		u64 pa = page_chain_alloc(first);

		SELFTEST_CHECK(pa && !memchr(phys_to_virt(pa), 1, PAGE_SIZE));
		memset(phys_to_virt(pa), 1, PAGE_SIZE);
	}
	SELFTEST_CHECK(page_nr_free() == free_before - 101);
	page_chain_free(first);
	SELFTEST_CHECK(pages_returned());
	return 0;
}

/* Programs cannot have the kernel's reserve, and the memory that they took comes back. */
SELFTEST(mm_page_reserve)
{
	count_pages();
	u64 first = page_alloc(0), nr = 1, kernel_page;

	SELFTEST_CHECK(first);
	while (page_chain_alloc(first))
		nr++;
	kernel_page = page_alloc(0);
	SELFTEST_CHECK(nr > free_before / 2 && page_nr_free() > 100 && kernel_page);
	SELFTEST_CHECK(!page_alloc_user() && !page_alloc_zeroed());
	page_put(kernel_page);
	page_chain_free(first);
	SELFTEST_CHECK(pages_returned());
	return 0;
}

/* --- small objects ------------------------------------------------------------ */

#define NR_OBJECTS 512

struct object {
	u8 *p;
	size_t size;
};

static bool object_is_intact(const struct object *o, u8 mark)
{
	return o->p[0] == mark && o->p[o->size / 2] == mark && o->p[o->size - 1] == mark;
}

static int shuffle_objects(struct object *objects, u64 seed)
{
	struct prng rng;

	prng_seed(&rng, seed);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned i = prng_below(&rng, NR_OBJECTS);
		struct object *o = &objects[i];

		if (o->p) {
			SELFTEST_CHECK(object_is_intact(o, (u8)i));
			kfree(o->p);
			o->p = NULL;
			continue;
		}
		o->size = 1 +
			  (prng_below(&rng, 16) ? prng_below(&rng, 600) : prng_below(&rng, 20000));
		o->p = kmalloc(o->size);
		SELFTEST_CHECK(o->p && (u64)o->p % 16 == 0);
		memset(o->p, (int)i, o->size);
	}
	for (unsigned i = 0; i < NR_OBJECTS; i++)
		kfree(objects[i].p);
	return 0;
}

SELFTEST(mm_slab)
{
	struct object *objects = kzalloc(NR_OBJECTS * sizeof(*objects));

	SELFTEST_CHECK(objects);
	SELFTEST_CHECK(shuffle_objects(objects, 1) == 0);
	kfree(objects);
	SELFTEST_CHECK(kmalloc(64ull << 20) == NULL);
	SELFTEST_CHECK(kmalloc(~0ul) == NULL);
	return 0;
}

/* --- kernel virtual memory ---------------------------------------------------- */

static bool is_mapped(const void *p)
{
	unsigned prot;
	u64 pa;

	return arch_pt_lookup(arch_kernel_pt, (u64)p, &pa, &prot);
}

SELFTEST(mm_vmap)
{
	char *a = vmap_alloc(5 * PAGE_SIZE), *b = vmap_alloc(100), *c;

	SELFTEST_CHECK(a && b && a != b);
	SELFTEST_CHECK(!is_mapped(a - 1) && is_mapped(a + 5 * PAGE_SIZE - 1) &&
		       !is_mapped(a + 5 * PAGE_SIZE));
	for (size_t i = 0; i < 5 * PAGE_SIZE; i++)
		SELFTEST_CHECK(a[i] == 0);
	memset(a, 1, 5 * PAGE_SIZE);
	vmap_free(a);
	SELFTEST_CHECK(!is_mapped(a));
	c = vmap_alloc(5 * PAGE_SIZE);
	SELFTEST_CHECK(c == a && c[0] == 0);
	vmap_free(b);
	vmap_free(c);
	SELFTEST_CHECK(vmap_alloc(1ull << 50) == NULL);
	return 0;
}

/*
 * Stacks that come and go stay in the lowest part of their window, so that they need few page
 * tables, which are never freed. In eights, because each CPU keeps four freed ones mapped.
 */
SELFTEST(mm_kstacks_need_few_page_tables)
{
	static void *stacks[8];
	u64 first = ~0ull, last = 0;

	for (unsigned round = 0; round < 1000; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(stacks); i++) {
			stacks[i] = kstack_alloc();
			SELFTEST_CHECK(stacks[i]);
			first = min(first, (u64)stacks[i]);
			last = max(last, (u64)stacks[i]);
		}
		for (unsigned i = 0; i < ARRAY_SIZE(stacks); i++)
			kstack_free(stacks[i]);
	}
	SELFTEST_CHECK((last - first) / KSTACK_SIZE < 2000);
	return 0;
}

SELFTEST(mm_kstack)
{
	void *stacks[40];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < ARRAY_SIZE(stacks); i++) {
			stacks[i] = kstack_alloc();
			SELFTEST_CHECK(stacks[i] && !is_mapped((char *)stacks[i] - 1));
			memset(stacks[i], (int)i, KSTACK_SIZE);
		}
		for (unsigned i = 0; i < ARRAY_SIZE(stacks); i++) {
			SELFTEST_CHECK(*((u8 *)stacks[i] + KSTACK_SIZE - 1) == i);
			kstack_free(stacks[i]);
		}
		if (round == 0)
			count_pages();
	}
	SELFTEST_CHECK(pages_returned());
	return 0;
}

/* --- address spaces against a model ------------------------------------------- */

#define WINDOW 64 /* pages at BASE that the operations touch */

/* The expected contents of the window; one entry a page, -1: nothing mapped. */
static int model[WINDOW];

/* The subtree's largest gap, recomputed; ~0 if some node has it wrong. */
static u64 check_gaps(struct rb_node *n, u64 *below)
{
	struct vma *v = container_of(n, struct vma, node);
	u64 largest = n->left ? check_gaps(n->left, below) : 0;

	if (v->gap != v->start - *below || v->start < *below || v->start >= v->end)
		return ~0ull;
	*below = v->end;
	largest = max(largest, v->gap);
	if (n->right)
		largest = max(largest, check_gaps(n->right, below));
	return largest == v->max_gap ? largest : ~0ull;
}

static bool tree_is_sound(struct mm *mm)
{
	u64 below = MAP_MIN;

	return rb_is_empty(&mm->vmas) || check_gaps(mm->vmas.root, &below) != ~0ull;
}

static bool matches_model(struct mm *mm)
{
	u64 mapped = 0;

	for (unsigned i = 0; i < WINDOW; i++) {
		struct vma *v = vma_at(mm, BASE + i * PAGE_SIZE);

		if ((v ? (int)v->prot : -1) != model[i])
			return false;
		mapped += v != NULL;
	}
	for (struct vma *v = vma_first(mm), *next; v && (next = vma_next(v)); v = next)
		if (v->end == next->start && v->prot == next->prot)
			return false; /* not merged */
	return mm->total_vm == mapped && tree_is_sound(mm);
}

static int random_operation(struct mm *mm, struct prng *rng)
{
	unsigned first = prng_below(rng, WINDOW), nr = 1 + prng_below(rng, min(8u, WINDOW - first));
	u64 addr = BASE + first * PAGE_SIZE, len = nr * PAGE_SIZE;
	unsigned op = prng_below(rng, 3), prot = prng_below(rng, 8);
	bool hole = false;

	for (unsigned i = first; i < first + nr && !hole; i++) {
		hole = op == 2 && model[i] < 0; /* mprotect stops at the first hole */
		if (!hole)
			model[i] = op == 1 ? -1 : (int)prot;
	}
	if (op == 0)
		return mm_map(mm, addr, len, prot, FIXED, NULL, 0) == (long)addr;
	if (op == 1)
		return mm_unmap(mm, addr, len) == 0;
	return mm_protect(mm, addr, len, prot) == (hole ? -ENOMEM : 0);
}

SELFTEST(mm_vma_model)
{
	struct mm *mm = mm_create();
	struct prng rng;

	SELFTEST_CHECK(mm);
	prng_seed(&rng, 7);
	for (unsigned i = 0; i < WINDOW; i++)
		model[i] = -1;
	for (unsigned step = 0; step < 3000; step++) {
		u8 byte = 1;

		SELFTEST_CHECK(random_operation(mm, &rng));
		SELFTEST_CHECK(matches_model(mm));
		mm_access(mm, BASE + prng_below(&rng, WINDOW) * PAGE_SIZE, &byte, 1, true);
	}
	mm_put(mm);
	return 0;
}

/* Many mappings at places of the kernel's choice: from the top down, gaps reused. */
SELFTEST(mm_vma_placement)
{
	struct mm *mm = mm_create();
	u64 top;

	SELFTEST_CHECK(mm);
	top = mm->mmap_base;
	for (unsigned i = 0; i < 2000; i++) { /* neighbours differ, so they do not merge */
		long addr = mm_map(mm, 0, 3 * PAGE_SIZE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE,
				   NULL, 0);

		SELFTEST_CHECK(addr == (long)(top - (i + 1) * 3 * PAGE_SIZE));
	}
	SELFTEST_CHECK(mm->nr_vmas == 2000 && tree_is_sound(mm));
	SELFTEST_CHECK(mm_unmap(mm, top - 600 * PAGE_SIZE, 2 * PAGE_SIZE) == 0);
	SELFTEST_CHECK(mm_unmap(mm, top - 1200 * PAGE_SIZE, 3 * PAGE_SIZE) == 0);
	SELFTEST_CHECK(mm_map(mm, 0, 3 * PAGE_SIZE, PROT_EXEC, MAP_PRIVATE, NULL, 0) ==
		       (long)(top - 1200 * PAGE_SIZE));
	SELFTEST_CHECK(mm_map(mm, 0, 2 * PAGE_SIZE, PROT_EXEC, MAP_PRIVATE, NULL, 0) ==
		       (long)(top - 600 * PAGE_SIZE));
	SELFTEST_CHECK(mm_map(mm, 0, USER_END / 2, PROT_NONE, MAP_PRIVATE, NULL, 0) > 0);
	SELFTEST_CHECK(mm_map(mm, 0, USER_END / 2, PROT_NONE, MAP_PRIVATE, NULL, 0) == -ENOMEM);
	mm_put(mm);
	return 0;
}

SELFTEST(mm_map_errors)
{
	struct mm *mm = mm_create();
	u64 huge = (page_nr_total() + 1) * PAGE_SIZE;

	SELFTEST_CHECK(mm);
	SELFTEST_CHECK(mm_map(mm, 0, 0, PROT_READ, MAP_PRIVATE, NULL, 0) == -EINVAL);
	SELFTEST_CHECK(mm_map(mm, 0, PAGE_SIZE, PROT_READ, 0, NULL, 0) == -EINVAL);
	SELFTEST_CHECK(mm_map(mm, 0, ~0ull, PROT_READ, MAP_PRIVATE, NULL, 0) == -ENOMEM);
	SELFTEST_CHECK(mm_map(mm, 0, huge, PROT_WRITE, MAP_PRIVATE, NULL, 0) == -ENOMEM);
	SELFTEST_CHECK(mm_map(mm, 0, huge, PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, NULL, 0) > 0);
	SELFTEST_CHECK(mm_map(mm, 1, PAGE_SIZE, PROT_READ, FIXED, NULL, 0) == -EINVAL);
	SELFTEST_CHECK(mm_map(mm, 0, PAGE_SIZE, PROT_READ, FIXED, NULL, 0) == -EPERM);
	SELFTEST_CHECK(mm_map(mm, USER_END, PAGE_SIZE, PROT_READ, FIXED, NULL, 0) == -ENOMEM);
	SELFTEST_CHECK(mm_map(mm, BASE, PAGE_SIZE, PROT_READ, FIXED, NULL, 0) == (long)BASE);
	SELFTEST_CHECK(mm_map(mm, BASE, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
			      NULL, 0) == -EEXIST);
	SELFTEST_CHECK(mm_map(mm, BASE, PAGE_SIZE, PROT_READ, MAP_PRIVATE, NULL, 0) != (long)BASE);
	SELFTEST_CHECK(mm_unmap(mm, BASE + 1, PAGE_SIZE) == -EINVAL);
	SELFTEST_CHECK(mm_unmap(mm, BASE, 0) == -EINVAL);
	SELFTEST_CHECK(mm_unmap(mm, USER_END - PAGE_SIZE, 2 * PAGE_SIZE) == -EINVAL);
	SELFTEST_CHECK(mm_protect(mm, BASE + PAGE_SIZE, PAGE_SIZE, PROT_READ) == -ENOMEM);
	mm_put(mm);
	return 0;
}

/* --- contents ----------------------------------------------------------------- */

static bool put_word(struct mm *mm, u64 addr, u64 word)
{
	return mm_access(mm, addr, &word, sizeof(word), true) == sizeof(word);
}

static u64 get_word(struct mm *mm, u64 addr)
{
	u64 word = ~0ull;

	mm_access(mm, addr, &word, sizeof(word), false);
	return word;
}

static struct mm *mm_with_pages(unsigned flags, u64 len)
{
	struct mm *mm = mm_create();

	if (mm && mm_map(mm, BASE, len, RW, flags | MAP_FIXED, NULL, 0) < 0) {
		mm_put(mm);
		return NULL;
	}
	return mm;
}

static int copy_on_write(void)
{
	struct mm *parent = mm_with_pages(MAP_PRIVATE, 8 * PAGE_SIZE), *child;
	u64 nr_free;

	SELFTEST_CHECK(parent && put_word(parent, BASE, 1) &&
		       put_word(parent, BASE + PAGE_SIZE, 2));
	SELFTEST_CHECK(parent->rss == 2);
	child = mm_fork(parent);
	SELFTEST_CHECK(child && child->rss == 2 && child->nr_vmas == parent->nr_vmas);
	nr_free = page_nr_free();
	SELFTEST_CHECK(put_word(child, BASE, 10)); /* copies */
	SELFTEST_CHECK(page_nr_free() == nr_free - 1);
	SELFTEST_CHECK(put_word(parent, BASE, 11)); /* the last owner takes it */
	SELFTEST_CHECK(page_nr_free() == nr_free - 1);
	SELFTEST_CHECK(get_word(child, BASE) == 10 && get_word(parent, BASE) == 11);
	SELFTEST_CHECK(get_word(child, BASE + PAGE_SIZE) == 2);
	SELFTEST_CHECK(get_word(child, BASE + 2 * PAGE_SIZE) == 0 &&
		       put_word(child, BASE + 2 * PAGE_SIZE, 5));
	SELFTEST_CHECK(get_word(parent, BASE + 2 * PAGE_SIZE) == 0);
	mm_put(parent);
	SELFTEST_CHECK(get_word(child, BASE + PAGE_SIZE) == 2);
	mm_put(child);
	return 0;
}

SELFTEST(mm_copy_on_write)
{
	SELFTEST_CHECK(copy_on_write() == 0); /* warms the caches */
	count_pages();
	for (unsigned i = 0; i < 100; i++)
		SELFTEST_CHECK(copy_on_write() == 0);
	SELFTEST_CHECK(pages_returned());
	return 0;
}

/* Unmapping frees more pages than one batch holds. */
SELFTEST(mm_unmap_frees)
{
	struct mm *mm = mm_with_pages(MAP_PRIVATE, 300 * PAGE_SIZE);

	SELFTEST_CHECK(mm);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 300; i++)
			SELFTEST_CHECK(put_word(mm, BASE + i * PAGE_SIZE, i));
		SELFTEST_CHECK(mm->rss == 300);
		mm_zap(mm, BASE, BASE + 300 * PAGE_SIZE);
		SELFTEST_CHECK(mm->rss == 0 && get_word(mm, BASE) == 0);
		mm_zap(mm, BASE, BASE + PAGE_SIZE);
		if (round == 0)
			count_pages();
	}
	SELFTEST_CHECK(pages_returned());
	SELFTEST_CHECK(mm_unmap(mm, BASE, 300 * PAGE_SIZE) == 0);
	mm_put(mm);
	return 0;
}

SELFTEST(mm_shared_anonymous)
{
	struct mm *parent = mm_with_pages(MAP_SHARED, 4 * PAGE_SIZE), *child;
	u64 page;

	SELFTEST_CHECK(parent && put_word(parent, BASE, 1));
	child = mm_fork(parent);
	SELFTEST_CHECK(child && put_word(child, BASE, 2) && put_word(child, BASE + PAGE_SIZE, 3));
	SELFTEST_CHECK(get_word(parent, BASE) == 2 && get_word(parent, BASE + PAGE_SIZE) == 3);
	SELFTEST_CHECK(mm_user_page(parent, BASE + 8, true) == mm_user_page(child, BASE + 8, true));
	SELFTEST_CHECK(mm_shared_page(child, BASE - 1, &page) == -EFAULT && !page);
	SELFTEST_CHECK(mm_shared_page(child, BASE + 8, &page) == 0 &&
		       page == mm_user_page(child, BASE, false));
	page_put(page);
	mm_put(child);
	SELFTEST_CHECK(get_word(parent, BASE + PAGE_SIZE) == 3);
	mm_put(parent);
	return 0;
}

/* Rights come and go; contents stay, and a page shared after fork is never written in place. */
SELFTEST(mm_protect_contents)
{
	struct mm *mm = mm_with_pages(MAP_PRIVATE, 4 * PAGE_SIZE), *child;

	SELFTEST_CHECK(mm && put_word(mm, BASE, 42));
	SELFTEST_CHECK(mm_protect(mm, BASE, 2 * PAGE_SIZE, PROT_NONE) == 0);
	SELFTEST_CHECK(get_word(mm, BASE) == ~0ull && !put_word(mm, BASE, 1));
	SELFTEST_CHECK(mm_protect(mm, BASE, 2 * PAGE_SIZE, PROT_READ) == 0);
	SELFTEST_CHECK(get_word(mm, BASE) == 42 && !put_word(mm, BASE, 1));
	child = mm_fork(mm);
	SELFTEST_CHECK(child && mm_protect(child, BASE, 2 * PAGE_SIZE, RW) == 0);
	SELFTEST_CHECK(put_word(child, BASE, 43) && get_word(mm, BASE) == 42 &&
		       get_word(child, BASE) == 43);
	mm_put(child);
	mm_put(mm);
	return 0;
}

SELFTEST(mm_remap)
{
	struct mm *mm = mm_with_pages(MAP_PRIVATE, 4 * PAGE_SIZE);
	long addr;

	SELFTEST_CHECK(mm && put_word(mm, BASE, 1) && put_word(mm, BASE + 3 * PAGE_SIZE, 4));
	SELFTEST_CHECK(mm_remap(mm, BASE, 4 * PAGE_SIZE, 6 * PAGE_SIZE, 0, 0) == (long)BASE);
	SELFTEST_CHECK(mm_map(mm, BASE + 6 * PAGE_SIZE, PAGE_SIZE, PROT_READ, FIXED, NULL, 0) > 0);
	SELFTEST_CHECK(mm_remap(mm, BASE, 6 * PAGE_SIZE, 8 * PAGE_SIZE, 0, 0) == -ENOMEM);
	addr = mm_remap(mm, BASE, 6 * PAGE_SIZE, 8 * PAGE_SIZE, MREMAP_MAYMOVE, 0);
	SELFTEST_CHECK(addr > 0 && addr != (long)BASE);
	SELFTEST_CHECK(get_word(mm, (u64)addr) == 1 &&
		       get_word(mm, (u64)addr + 3 * PAGE_SIZE) == 4);
	SELFTEST_CHECK(get_word(mm, BASE) == ~0ull && mm->rss == 2);
	SELFTEST_CHECK(mm_remap(mm, (u64)addr, 8 * PAGE_SIZE, PAGE_SIZE, 0, 0) == addr &&
		       mm->rss == 1);
	SELFTEST_CHECK(mm_remap(mm, (u64)addr, PAGE_SIZE, PAGE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
				BASE) == (long)BASE);
	SELFTEST_CHECK(get_word(mm, BASE) == 1);
	SELFTEST_CHECK(mm_remap(mm, BASE, PAGE_SIZE, PAGE_SIZE, MREMAP_FIXED, BASE) == -EINVAL);
	SELFTEST_CHECK(mm_remap(mm, BASE - PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, 0, 0) == -EFAULT);
	mm_put(mm);
	return 0;
}

/* The way musl's malloc uses it: a guard page mapped over the start of the heap. */
SELFTEST(mm_brk)
{
	struct mm *mm = mm_create();

	SELFTEST_CHECK(mm);
	mm->brk_start = mm->brk = BASE;
	SELFTEST_CHECK(mm_brk(mm, 0) == BASE &&
		       mm_brk(mm, BASE + 3 * PAGE_SIZE) == BASE + 3 * PAGE_SIZE);
	SELFTEST_CHECK(mm_map(mm, BASE, PAGE_SIZE, PROT_NONE, FIXED, NULL, 0) == (long)BASE);
	SELFTEST_CHECK(!put_word(mm, BASE, 1) && put_word(mm, BASE + PAGE_SIZE, 1));
	SELFTEST_CHECK(mm_brk(mm, BASE + 5 * PAGE_SIZE + 8) == BASE + 5 * PAGE_SIZE + 8);
	SELFTEST_CHECK(put_word(mm, BASE + 5 * PAGE_SIZE + 8, 1) && mm->nr_vmas == 2);
	SELFTEST_CHECK(mm_brk(mm, BASE + 2 * PAGE_SIZE) == BASE + 2 * PAGE_SIZE);
	SELFTEST_CHECK(!put_word(mm, BASE + 2 * PAGE_SIZE, 1));
	SELFTEST_CHECK(mm_map(mm, BASE + 3 * PAGE_SIZE, PAGE_SIZE, PROT_READ, FIXED, NULL, 0) > 0);
	SELFTEST_CHECK(mm_brk(mm, BASE + 4 * PAGE_SIZE) == BASE + 2 * PAGE_SIZE); /* in the way */
	SELFTEST_CHECK(mm_brk(mm, BASE - 1) == BASE + 2 * PAGE_SIZE);
	mm_put(mm);
	return 0;
}
