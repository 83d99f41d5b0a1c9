/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Physical memory: a buddy allocator below per-CPU caches of single frames.
 *
 * A block of order n is 2^n frames, aligned to its size. Splitting one makes two buddies, whose
 * numbers differ in bit n; freeing a block whose buddy is free joins them again. Single frames, by
 * far the most wanted, come from a stack of the running CPU, refilled and drained in batches: the
 * common allocation takes no lock, and a page that was just freed is the next one used.
 *
 * Every frame that was handed out has a reference count (copy on write, page cache, mapped files
 * share frames) and can be dropped on its own, whatever the order it was allocated with.
 *
 * The last frames are a reserve. Memory for user space (page_alloc_user, page_alloc_zeroed: its
 * pages, its page tables, file contents) is refused before the kernel's own (page_alloc: kmalloc,
 * descriptors), so that a program that eats all memory meets -ENOMEM or the OOM killer while system
 * calls, signals and exits still find room.
 *
 * Locking: buddy.lock (a leaf) guards the free lists and, of free blocks, the frame table. A CPU's
 * cache is guarded by interrupts being off on that CPU. Reference: Knuth, The Art of Computer
 * Programming 1, 2.5.
 */
#include "kernel/base/inject.h"
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/frame.h"
#include "kernel/mm/kasan.h"
#include "kernel/mm/slab.h"
#include "lib/string.h"

#define CACHE_SIZE  60
#define CACHE_BATCH 30

struct page_cache {
	u32 nr;
	u32 frame[CACHE_SIZE];
} __aligned(64);
STATIC_ASSERT(sizeof(struct page_cache) == 4 * 64, "CACHE_SIZE fills whole cache lines");

static struct page_cache caches[MAX_CPUS];

static struct {
	struct spinlock lock;
	struct list free[NR_ORDERS];
	u64 nr_free;  /* free frames in the lists, without those in the caches of CPUs */
	u64 nr_total; /* frames that can be allocated at all */
	u64 reserve;  /* frames that only the kernel may have */
} buddy = { .lock = SPINLOCK_INIT("buddy") };

struct frame *frames;
static u64 nr_frames; /* entries of the table, holes included */

/* --- the buddy lists; buddy.lock held ----------------------------------------- */

static void push_block(u64 nr, unsigned order)
{
	struct frame *f = &frames[nr];

	debug_assert(nr % BIT(order) == 0);
	debug_assert(nr < nr_frames);
	debug_assert(spin_is_held(&buddy.lock));
	f->kind = FRAME_FREE;
	f->order = (u8)order;
	list_add_head(&buddy.free[order], &f->link);
}

static void free_block(u64 nr, unsigned order)
{
	debug_assert(frames[nr].kind != FRAME_FREE && nr % BIT(order) == 0);
	debug_assert(order < NR_ORDERS);
	debug_assert(spin_is_held(&buddy.lock));
	buddy.nr_free += BIT(order);
	for (; order < NR_ORDERS - 1; order++) {
		u64 other = nr ^ BIT(order);
		struct frame *f = &frames[other];

		if (other >= nr_frames || f->kind != FRAME_FREE || f->order != order)
			break;
		list_del(&f->link);
		f->kind = FRAME_NONE;
		nr &= other;
	}
	push_block(nr, order);
}

/* The first frame of a free block of exactly @order, or NULL. */
static struct frame *take_block(unsigned order)
{
	unsigned o = order;

	debug_assert(spin_is_held(&buddy.lock));
	while (o < NR_ORDERS && list_empty(&buddy.free[o]))
		o++;
	if (o == NR_ORDERS)
		return NULL;
	struct frame *f = list_first(&buddy.free[o], struct frame, link);

	list_del(&f->link);
	f->kind = FRAME_NONE;
	while (o-- > order)
		push_block((u64)(f - frames) + BIT(o), o);
	debug_assert(buddy.nr_free >= BIT(order));
	buddy.nr_free -= BIT(order);
	return f;
}

/* --- single frames, through the CPU's cache; interrupts off ------------------- */

/*
 * Refill, leaving @reserve frames. From the reserve only one frame is taken: the next to use the
 * cache may be a program.
 */
static bool refill(struct page_cache *c, u64 reserve)
{
	debug_assert(!arch_irq_enabled());
	spin_lock(&buddy.lock);
	while (c->nr < CACHE_BATCH && buddy.nr_free > (c->nr ? buddy.reserve : reserve)) {
		struct frame *f = take_block(0);

		f->kind = FRAME_USED;
		c->frame[c->nr++] = (u32)(f - frames);
	}
	spin_unlock(&buddy.lock);
	return c->nr;
}

static void drain(struct page_cache *c)
{
	debug_assert(c->nr <= CACHE_SIZE);
	debug_assert(!arch_irq_enabled());
	spin_lock(&buddy.lock);
	while (c->nr > CACHE_SIZE - CACHE_BATCH)
		free_block(c->frame[--c->nr], 0);
	spin_unlock(&buddy.lock);
}

static u64 alloc_frame(u64 reserve)
{
	unsigned long flags = arch_irq_save();
	struct page_cache *c = &caches[arch_cpu_id()];
	u64 nr = 0;

	if (c->nr || refill(c, reserve)) {
		nr = c->frame[--c->nr];
		debug_assert(frames[nr].kind == FRAME_USED);
		assert(frames[nr].refs == 0);
		frames[nr].refs = 1;
	}
	arch_irq_restore(flags);
	inject_in_use(INJECT_PAGE, nr != 0);
	if (SAN_ADDRESS && nr)
		kasan_allow(phys_to_virt(nr << PAGE_SHIFT), PAGE_SIZE);
	if (DEBUG && nr) {
		page_allocated(nr << PAGE_SHIFT, 0);
		memset(phys_to_virt(nr << PAGE_SHIFT), POISON, PAGE_SIZE);
	}
	return nr << PAGE_SHIFT; /* frame 0 is never given out: 0 is failure */
}

static void free_frame(u32 nr)
{
	unsigned long flags = arch_irq_save();
	struct page_cache *c = &caches[arch_cpu_id()];

	debug_assert(frames[nr].kind == FRAME_USED && !frames[nr].refs);
	inject_in_use(INJECT_PAGE, -1);
	kasan_forbid(phys_to_virt((u64)nr << PAGE_SHIFT), PAGE_SIZE, KASAN_PAGE_FREE);
	if (SAN_ADDRESS)
		nr = kasan_page_freed(nr);
	if (c->nr == CACHE_SIZE)
		drain(c);
	if (nr)
		c->frame[c->nr++] = nr;
	arch_irq_restore(flags);
}

/* --- the interface (contracts in mm.h) ---------------------------------------- */

u64 page_alloc(unsigned order)
{
	if (inject_page(order, false))
		return 0;
	if (order == 0)
		return alloc_frame(0);
	if (order >= NR_ORDERS)
		return 0;
	unsigned long flags = spin_lock_irqsave(&buddy.lock);
	struct frame *f = take_block(order);

	spin_unlock_irqrestore(&buddy.lock, flags);
	if (!f)
		return 0;
	debug_assert(frame_pa(f) % (PAGE_SIZE << order) == 0);
	for (u64 i = 0; i < BIT(order); i++) {
		f[i].kind = FRAME_USED;
		f[i].refs = 1;
	}
	inject_in_use(INJECT_PAGE, (long)BIT(order));
	kasan_allow(phys_to_virt(frame_pa(f)), PAGE_SIZE << order);
	if (DEBUG) {
		page_allocated(frame_pa(f), order);
		memset(phys_to_virt(frame_pa(f)), POISON, PAGE_SIZE << order);
	}
	return frame_pa(f);
}

u64 page_alloc_user(void)
{
	return inject_page(0, true) ? 0 : alloc_frame(buddy.reserve);
}

u64 page_alloc_zeroed(void)
{
	u64 pa = inject_page(0, true) ? 0 : alloc_frame(buddy.reserve);

	if (pa)
		memset(phys_to_virt(pa), 0, PAGE_SIZE);
	return pa;
}

void page_get(u64 pa)
{
	debug_assert(page_refs(pa));
	__atomic_fetch_add(&frame_of(pa)->refs, 1, __ATOMIC_RELAXED);
}

void page_put(u64 pa)
{
	struct frame *f = frame_of(pa);

	/* Check while we hold a reference: afterwards another holder may free the frame. */
	assert(f->kind == FRAME_USED);
	u32 refs = __atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL);

	assert(refs != UINT32_MAX);
	if (refs)
		return;
	if (DEBUG)
		page_freed(frame_pa(f), 0, (u64)__builtin_return_address(0));
	free_frame((u32)(f - frames));
}

u32 page_refs(u64 pa)
{
	return __atomic_load_n(&frame_of(pa)->refs, __ATOMIC_ACQUIRE);
}

void page_free(u64 pa, unsigned order)
{
	struct frame *f = frame_of(pa);

	debug_assert(pa % (PAGE_SIZE << order) == 0);
	if (order == 0) {
		page_put(pa);
		return;
	}
	for (u64 i = 0; i < BIT(order); i++) {
		assert(f[i].refs == 1 && f[i].kind == FRAME_USED);
		f[i].refs = 0;
		f[i].kind = FRAME_NONE;
	}
	inject_in_use(INJECT_PAGE, -(long)BIT(order));
	if (DEBUG)
		page_freed(pa, order, (u64)__builtin_return_address(0));
	kasan_forbid(phys_to_virt(pa), PAGE_SIZE << order, KASAN_PAGE_FREE);
	unsigned long flags = spin_lock_irqsave(&buddy.lock);

	free_block((u64)(f - frames), order);
	spin_unlock_irqrestore(&buddy.lock, flags);
}

/* The link is the frame's `free` pointer, which only slabs use otherwise. */
u64 page_chain_alloc(u64 first)
{
	u64 pa = page_alloc_zeroed();
	struct frame *f = frame_of(first);

	debug_assert(f->refs <= 1);
	if (pa) {
		f->nr_chained = page_chain_length(first);
		frame_of(pa)->free = f->free;
		f->free = frame_of(pa);
	}
	return pa;
}

u64 page_chain_length(u64 first)
{
	const struct frame *f = frame_of(first);

	return READ_ONCE(f->free) ? READ_ONCE(f->nr_chained) + 1 : 1;
}

void page_chain_free(u64 first)
{
	struct frame *next;

	for (struct frame *f = frame_of(first); f; f = next) {
		debug_assert(f->refs == 1);
		next = f->free;
		f->free = NULL;
		page_put(frame_pa(f));
	}
}

bool page_is_short(void)
{
	return page_nr_free() < 3 * buddy.reserve;
}

bool page_is_low(void)
{
	return READ_ONCE(buddy.nr_free) < 6 * buddy.reserve;
}

u64 page_nr_total(void)
{
	return buddy.nr_total;
}

u64 page_nr_free(void)
{
	u64 nr = READ_ONCE(buddy.nr_free);

	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		nr += READ_ONCE(caches[cpu].nr);
	return nr;
}

/* --- boot --------------------------------------------------------------------- */

/* Free the frames [start, end) in the largest aligned blocks. */
static void add_range(u64 start, u64 end)
{
	start = max(start, 1ull);
	if (end > start)
		kasan_forbid(phys_to_virt(start << PAGE_SHIFT), (end - start) << PAGE_SHIFT,
			     KASAN_PAGE_FREE);
	buddy.nr_total += end > start ? end - start : 0;
	while (start < end) {
		unsigned order = NR_ORDERS - 1;

		while (start & (BIT(order) - 1) || start + BIT(order) > end)
			order--;
		unsigned long flags = spin_lock_irqsave(&buddy.lock);

		free_block(start, order);
		spin_unlock_irqrestore(&buddy.lock, flags);
		start += BIT(order);
	}
}

/* Place the frame table at the start of the first range with room for it, which shrinks. */
static void place_table(struct boot_info *boot)
{
	u64 size = ALIGN_UP(nr_frames * sizeof(struct frame), PAGE_SIZE);

	for (unsigned i = 0; i < boot->nr_ram; i++) {
		struct boot_range *r = &boot->ram[i];

		if (r->size < size || r->base == 0)
			continue;
		frames = phys_to_virt(r->base);
		memset(frames, 0, size);
		r->base += size;
		r->size -= size;
		return;
	}
	panic("no room for the frame table of %lu MiB of memory", boot->ram_top >> 20);
}

void page_init(void)
{
	for (unsigned o = 0; o < NR_ORDERS; o++)
		list_init(&buddy.free[o]);
	nr_frames = boot_info.ram_top >> PAGE_SHIFT;
	place_table(&boot_info);
	for (unsigned i = 0; i < boot_info.nr_ram; i++) {
		struct boot_range *r = &boot_info.ram[i];

		add_range(r->base >> PAGE_SHIFT, (r->base + r->size) >> PAGE_SHIFT);
	}
	/*
	 * Enough for the deepest burst of kernel allocations, but a small part of a small machine.
	 */
	buddy.reserve = min(max(buddy.nr_total / 64, 128ull), 2048ull);
}

void page_give(u64 base, u64 size)
{
	add_range(ALIGN_UP(base, PAGE_SIZE) >> PAGE_SHIFT, (base + size) >> PAGE_SHIFT);
}
