/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel virtual memory: areas of pages that are contiguous only in address, with a guard page
 * below.
 *
 * Two users, two halves of the architecture's window (ARCH_VMAP_START..ARCH_VMAP_END):
 *
 * Kernel stacks live in equal slots of guard page + stack, found by a bitmap. An overflow hits the
 * guard page and is reported instead of corrupting a neighbour. Each CPU keeps a few freed stacks
 * mapped, so that creating a thread right after another ended costs no mapping. Freeing a stack
 * must work where nobody can wait for other CPUs to forget its translations. So its frames are
 * freed at once, but its slot is only marked stale: slots are handed out in rounds, lowest first,
 * and after STALE_MAX slots became stale every CPU is flushed once and they return. (A stray access
 * through a stale translation could hit a reused frame; nothing legitimate touches a freed stack.)
 * Page tables are never freed, but so the stacks stay in the lowest slots: at 20 KiB a slot and 2
 * MiB a page table, they are 1/400 of the most stacks that there ever were, and 80 KiB.
 *
 * Other areas (vmap_alloc) are few and large: an address-ordered list, first fit, flushed when
 * freed.
 *
 * Locking: slots.lock (irq-safe) guards the bitmaps and all changes of the kernel page table's vmap
 * window; areas.lock (a mutex) the list of areas. Order: areas.lock, recycle_lock < slots.lock <
 * buddy.lock.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/kasan.h"
#include "kernel/mm/mm.h"
#include "kernel/task/thread.h"
#include "lib/errno.h"

#define STACK_PAGES   (KSTACK_SIZE / PAGE_SIZE)
#define SLOT_SIZE     (KSTACK_SIZE + PAGE_SIZE)
#define NR_SLOTS      65536u /* twice Linux's default limit of threads */
#define STALE_MAX     1024u  /* a flush of all CPUs is little beside as many threads */
#define STACKS_CACHED 4	     /* per CPU: covers a shell's pipeline */
STATIC_ASSERT(KSTACK_SIZE % PAGE_SIZE == 0, "a stack is whole pages");
STATIC_ASSERT(NR_SLOTS % 64 == 0, "sets of slots are whole words");

#define AREAS_START (ARCH_VMAP_START + NR_SLOTS * SLOT_SIZE)
#define KERNEL_PROT (PT_READ | PT_WRITE)

static struct {
	struct spinlock lock;
	u64 used[NR_SLOTS / 64];     /* not to be handed out: in use or stale */
	u64 stale[2][NR_SLOTS / 64]; /* unmapped, but translations may linger on some CPU */
	unsigned now_stale;	     /* where slots enter; the other half is being flushed */
	unsigned nr_stale;	     /* that entered in this round */
	unsigned cursor;	     /* words of `used` before it were looked at in this round */
} slots = { .lock = SPINLOCK_INIT("vmap") };

static struct mutex recycle_lock = MUTEX_INIT(recycle_lock); /* one round ends at a time */

struct stack_cache {
	u32 nr;
	void *stack[STACKS_CACHED];
} __aligned(64);

static struct stack_cache stack_caches[MAX_CPUS];

/* --- mapping ------------------------------------------------------------------ */

static unsigned unmap_one(void *arg, u64 va, u64 pa, unsigned prot)
{
	(void)arg, (void)va, (void)prot;
	page_put(pa);
	return 0;
}

static void unmap_pages(u64 va, u64 nr)
{
	unsigned long flags = spin_lock_irqsave(&slots.lock);

	debug_assert(va % PAGE_SIZE == 0);
	arch_pt_walk(arch_kernel_pt, va, va + nr * PAGE_SIZE, unmap_one, NULL);
	spin_unlock_irqrestore(&slots.lock, flags);
}

/* Map the frame @pa at @va, or give it back: 0 or -ENOMEM. */
int vmap_page(u64 va, u64 pa)
{
	debug_assert(va % PAGE_SIZE == 0);
	if (!pa)
		return -ENOMEM;
	unsigned long flags = spin_lock_irqsave(&slots.lock);
	int err = arch_pt_map(arch_kernel_pt, va, pa, KERNEL_PROT);

	spin_unlock_irqrestore(&slots.lock, flags);
	if (err)
		page_put(pa);
	return err;
}

/* Map @nr pages from @alloc at @va, all or none. */
static bool map_pages(u64 va, u64 nr, u64 (*alloc)(void))
{
	debug_assert(va % PAGE_SIZE == 0);
	for (u64 i = 0; i < nr; i++) {
		if (vmap_page(va + i * PAGE_SIZE, alloc())) {
			unmap_pages(va, i);
			return false;
		}
	}
	if (kasan_map(va, nr * PAGE_SIZE))
		return true;
	unmap_pages(va, nr);
	return false;
}

/* --- kernel stacks ------------------------------------------------------------ */

static u64 stack_of_slot(unsigned slot)
{
	return ARCH_VMAP_START + slot * SLOT_SIZE + PAGE_SIZE;
}

static unsigned slot_of_stack(const void *p)
{
	return (unsigned)(((u64)p - ARCH_VMAP_START) / SLOT_SIZE);
}

/* A slot of this round, or NR_SLOTS. */
static unsigned take_slot(void)
{
	unsigned long flags = spin_lock_irqsave(&slots.lock);
	unsigned slot = NR_SLOTS;

	while (slots.cursor < ARRAY_SIZE(slots.used) && !~slots.used[slots.cursor])
		slots.cursor++;
	if (slots.cursor < ARRAY_SIZE(slots.used) && slots.nr_stale < STALE_MAX) {
		u64 *word = &slots.used[slots.cursor];
		unsigned bit = (unsigned)__builtin_ctzll(~*word);

		*word |= BIT(bit);
		slot = slots.cursor * 64 + bit;
	}
	spin_unlock_irqrestore(&slots.lock, flags);
	return slot;
}

/*
 * Start a new round with the slots that are stale now, once no CPU remembers what was mapped there.
 */
static void recycle_slots(void)
{
	unsigned long flags = spin_lock_irqsave(&slots.lock);
	u64 *stale = slots.stale[slots.now_stale];

	debug_assert(mutex_is_held(&recycle_lock));
	slots.now_stale ^= 1;
	slots.nr_stale = 0;
	spin_unlock_irqrestore(&slots.lock, flags);
	arch_tlb_shootdown(arch_kernel_pt);
	flags = spin_lock_irqsave(&slots.lock);
	for (unsigned i = 0; i < ARRAY_SIZE(slots.used); i++) {
		slots.used[i] &= ~stale[i];
		stale[i] = 0;
	}
	slots.cursor = 0;
	spin_unlock_irqrestore(&slots.lock, flags);
}

static unsigned alloc_slot(void)
{
	unsigned slot = take_slot();

	if (likely(slot < NR_SLOTS))
		return slot;
	mutex_lock(&recycle_lock);
	slot = take_slot(); /* another thread may have started the new round */
	if (slot == NR_SLOTS) {
		recycle_slots();
		slot = take_slot();
	}
	mutex_unlock(&recycle_lock);
	return slot;
}

static void free_slot(unsigned slot)
{
	unsigned long flags = spin_lock_irqsave(&slots.lock);

	debug_assert(slot < NR_SLOTS);
	slots.stale[slots.now_stale][slot / 64] |= BIT(slot % 64);
	slots.nr_stale++;
	spin_unlock_irqrestore(&slots.lock, flags);
}

/* Returns a kernel stack, contents undefined, or NULL when memory is short. May sleep. */
void *kstack_alloc(void)
{
	might_sleep();

	unsigned long flags = arch_irq_save();
	struct stack_cache *c = &stack_caches[arch_cpu_id()];
	void *stack = c->nr ? c->stack[--c->nr] : NULL;

	arch_irq_restore(flags);
	if (stack) {
		kasan_allow(stack, KSTACK_SIZE); /* its last thread did not return */
		return stack;
	}
	unsigned slot = alloc_slot();

	if (slot == NR_SLOTS)
		return NULL;
	if (!map_pages(stack_of_slot(slot), STACK_PAGES, page_alloc_user)) {
		free_slot(slot);
		return NULL;
	}
	return (void *)stack_of_slot(slot);
}

/* Any context, but not on the stack that is freed. */
void kstack_free(void *stack)
{
	unsigned long flags = arch_irq_save();
	struct stack_cache *c = &stack_caches[arch_cpu_id()];
	bool cached = c->nr < STACKS_CACHED;

	debug_assert((u64)__builtin_frame_address(0) - (u64)stack >= KSTACK_SIZE);
	if (cached)
		c->stack[c->nr++] = stack;
	arch_irq_restore(flags);
	if (cached)
		return;
	unmap_pages((u64)stack, STACK_PAGES);
	free_slot(slot_of_stack(stack));
}

/* --- areas -------------------------------------------------------------------- */

struct area {
	struct list link;
	u64 start, nr_pages; /* the guard page is the one before start */
};

static struct {
	struct mutex lock;
	struct list list; /* by address */
} areas = { .lock = MUTEX_INIT(areas.lock), .list = LIST_INIT(areas.list) };

/* Insert @a into the first gap that holds it and its guard page. */
static bool place_area(struct area *a)
{
	u64 start = AREAS_START + PAGE_SIZE;
	struct area *next;

	debug_assert(a->nr_pages);
	debug_assert(mutex_is_held(&areas.lock));
	list_for_each(next, &areas.list, link) {
		if (start + (a->nr_pages + 1) * PAGE_SIZE <= next->start)
			break;
		start = next->start + (next->nr_pages + 1) * PAGE_SIZE;
	}
	if (a->nr_pages > (ARCH_VMAP_END - start) >> PAGE_SHIFT)
		return false;
	a->start = start;
	list_add_tail(&next->link, &a->link); /* before next; at the end if there is none */
	return true;
}

/* Give back the address range of @a, which is unmapped by now. */
static void remove_area(struct area *a)
{
	debug_assert(mutex_is_held(&areas.lock));
	arch_tlb_shootdown(arch_kernel_pt);
	list_del(&a->link);
}

/* Returns zeroed memory that is not executable, or NULL when memory is short. May sleep. */
void *vmap_alloc(size_t size)
{
	might_sleep();

	struct area *a = kmalloc(sizeof(*a));

	if (!a)
		return NULL;
	a->nr_pages = ALIGN_UP(max(size, 1ul), PAGE_SIZE) >> PAGE_SHIFT;
	mutex_lock(&areas.lock);
	bool ok = place_area(a);

	if (ok && !map_pages(a->start, a->nr_pages, page_alloc_zeroed)) {
		remove_area(a);
		ok = false;
	}
	mutex_unlock(&areas.lock);
	if (ok) {
		kasan_forbid((u8 *)a->start + size, a->nr_pages * PAGE_SIZE - size,
			     KASAN_PAGE_REDZONE);
		return (void *)a->start;
	}
	kfree(a);
	return NULL;
}

static struct area *find_area(u64 start)
{
	struct area *a;

	debug_assert(mutex_is_held(&areas.lock));
	list_for_each(a, &areas.list, link)
		if (a->start == start)
			return a;
	panic("vmap_free: no area at %#lx", start);
}

/* NULL is fine. May sleep. */
void vmap_free(void *p)
{
	might_sleep();
	if (!p)
		return;
	mutex_lock(&areas.lock);
	struct area *a = find_area((u64)p);

	unmap_pages(a->start, a->nr_pages);
	remove_area(a);
	mutex_unlock(&areas.lock);
	kfree(a);
}
