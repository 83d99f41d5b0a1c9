/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a hosted world: allocations that can fail, pages, and copies from and to users. */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "world.h"

static struct world *world;
static unsigned in_use;
static bool boot; /* see memory_of_boot() */

/* The memory that each thread copies from or to. An absent page is there after a fault. */
static struct {
	enum user_memory how;
	size_t after;
} user[NR_FIBERS];

/* The references of a page beside the first, which few have. */
static struct {
	u64 pa;
	unsigned nr;
} shared_page[16];

struct kmem_cache {
	size_t size;
};

static struct kmem_cache caches[4];
static unsigned nr_caches;

void memory_begin(struct world *w)
{
	world = w;
	in_use = nr_caches = 0;
	memset(shared_page, 0, sizeof(shared_page));
	memset(user, 0, sizeof(user));
}

unsigned memory_in_use(void)
{
	unsigned nr = in_use;

	for (unsigned i = 0; i < ARRAY_SIZE(shared_page); i++)
		nr += shared_page[i].nr;
	return nr;
}

/* Counts an allocation, and says whether it is the one that fails. */
static bool fails(void)
{
	if (boot || ++world->nr_allocations != world->failing)
		return false;
	world->failed_in = world_thread();
	return world->failed = true;
}

void memory_of_boot(bool on)
{
	boot = on;
}

bool memory_failed(void)
{
	return world->failed;
}

bool memory_failed_in(unsigned nr)
{
	return world->failed && world->failed_in == nr;
}

void *kzalloc(size_t size)
{
	if (fails())
		return NULL;
	in_use += !boot;
	return calloc(1, size);
}

void *kmalloc(size_t size)
{
	char *p = kzalloc(size);

	return p ? memset(p, 0xa5, size) : NULL;
}

void kfree(void *p)
{
	in_use -= p && !boot;
	free(p);
}

/* No allocation: a cache is there from the boot to the end. */
struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align)
{
	(void)name;
	(void)align;
	if (nr_caches == ARRAY_SIZE(caches))
		panic("there is no cache left");
	caches[nr_caches].size = size;
	return &caches[nr_caches++];
}

void *kmem_cache_alloc(struct kmem_cache *c)
{
	return kmalloc(c->size);
}

void kmem_cache_free(struct kmem_cache *c, void *p)
{
	(void)c;
	kfree(p);
}

u64 page_alloc_user(void)
{
	void *page = fails() ? NULL : aligned_alloc(PAGE_SIZE, PAGE_SIZE);

	in_use += !!page;
	return (u64)page;
}

u64 page_alloc(unsigned order)
{
	void *pages = fails() ? NULL : aligned_alloc(PAGE_SIZE, PAGE_SIZE << order);

	in_use += !!pages;
	return (u64)pages;
}

void page_free(u64 pa, unsigned order)
{
	(void)order;
	page_put(pa);
}

void page_get(u64 pa)
{
	unsigned i = 0;

	while (shared_page[i].nr && shared_page[i].pa != pa)
		i++;
	shared_page[i].pa = pa;
	shared_page[i].nr++;
}

void page_put(u64 pa)
{
	for (unsigned i = 0; i < ARRAY_SIZE(shared_page); i++)
		if (shared_page[i].nr && shared_page[i].pa == pa) {
			shared_page[i].nr--;
			return;
		}
	table_page_is_free(pa);
	in_use--;
	free((void *)pa);
}

u32 page_refs(u64 pa)
{
	u32 nr = 1;

	for (unsigned i = 0; i < ARRAY_SIZE(shared_page); i++)
		nr += shared_page[i].pa == pa ? shared_page[i].nr : 0;
	return nr;
}

bool page_is_low(void)
{
	return false;
}

bool page_is_short(void)
{
	return false;
}

u64 page_alloc_zeroed(void)
{
	void *page = (void *)page_alloc_user();

	return page ? (u64)memset(page, 0, PAGE_SIZE) : 0;
}

/* Whole pages, so the alignment that a type demands is kept. */
void *vmap_alloc(size_t size)
{
	void *p = fails() ? NULL : aligned_alloc(PAGE_SIZE, ALIGN_UP(size, PAGE_SIZE));

	in_use += !!p;
	return p ? memset(p, 0, size) : NULL;
}

void vmap_free(void *p)
{
	kfree(p);
}

/* --- copies ----------------------------------------------------------------------------- */

void user_memory_is(enum user_memory how, size_t after)
{
	user[world_thread()].how = how;
	user[world_thread()].after = after;
}

/*
 * The page at address 0 is nobody's, as in the kernel. A fault where nobody may sleep fetches no
 * page.
 */
static size_t copy(void *dst, const void *src, size_t n)
{
	size_t all = n;
	size_t *after = &user[world_thread()].after;

	if ((u64)dst < PAGE_SIZE || (u64)src < PAGE_SIZE)
		return n;
	if (user[world_thread()].how == USER_ABSENT && arch_preemptible())
		user[world_thread()].how = USER_PRESENT;
	if (user[world_thread()].how != USER_PRESENT) {
		n = min(n, *after);
		*after -= n;
	}
	memcpy(dst, src, n);
	return all - n;
}

size_t arch_copy_from_user(void *dst, const void *src, size_t n)
{
	return copy(dst, src, n);
}

size_t arch_copy_to_user(void *dst, const void *src, size_t n)
{
	return copy(dst, src, n);
}

size_t arch_clear_user(void *dst, size_t n)
{
	static const u8 zeros[PAGE_SIZE];

	return copy(dst, zeros, n);
}

u64 mm_user_page(struct mm *mm, u64 addr, bool write)
{
	(void)mm;
	(void)write;
	if (user[world_thread()].how == USER_BAD)
		return 0;
	user[world_thread()].how = USER_PRESENT;
	return addr;
}

/* --- words, and the pages that they are in ------------------------------------------------- */

int arch_user_load_u32(const u32 *uaddr, u32 *value)
{
	return copy(value, uaddr, sizeof(*value)) ? -EFAULT : 0;
}

int arch_user_cmpxchg_u32(u32 *uaddr, u32 *old, u32 new_value)
{
	u32 found;

	if (copy(&found, uaddr, sizeof(found)))
		return -EFAULT;
	if (found == *old)
		*uaddr = new_value;
	*old = found;
	return 0;
}

long mm_shared_page(struct mm *mm, u64 addr, u64 *page)
{
	if (!mm_user_page(mm, addr, false))
		return -EFAULT;
	*page = addr & ~(PAGE_SIZE - 1ull);
	page_get(*page);
	return 0;
}
