/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's AddressSanitizer: SAN=address builds this file, and has the compiler call the
 * __asan_ functions before each load and store. A forbidden access is a panic in Linux's words. It
 * names the object that the address lies in or near, and the places that allocated and freed it.
 *
 * This file, and the allocators, are compiled without checks. The compiler's code for stacks writes
 * their shadow itself, from the first function on; until kasan_start() nothing is checked.
 *
 * Interface: gcc's -fsanitize=kernel-address, which names the functions (libsanitizer's asan).
 */
#include "kernel/mm/kasan.h"

#include "kernel/arch.h"
#include "kernel/mm/frame.h"
#include "kernel/mm/slab.h"
#include "kernel/percpu.h"
#include "kernel/sync.h"
#include "kernel/task/thread.h"
#include "lib/fmt.h"
#include "lib/string.h"

static bool started;
static const struct thread *under_test; /* its forbidden accesses are counted */
static unsigned nr_noticed;

/* Below is user space, or no address at all: the processor faults by itself. */
static bool has_shadow(u64 va)
{
	u64 first = (u64)kasan_shadow(DIRECT_MAP), last = (u64)kasan_shadow(UINT64_MAX);

	return va >= DIRECT_MAP && (va < first || va > last);
}

/* --- what may be accessed ------------------------------------------------------ */

void kasan_allow_bytes(const void *p, size_t n)
{
	u8 *shadow = kasan_shadow((u64)p);

	memset(shadow, 0, n / KASAN_GRANULE);
	if (n % KASAN_GRANULE)
		shadow[n / KASAN_GRANULE] = n % KASAN_GRANULE;
}

void kasan_forbid_bytes(const void *p, size_t n, enum kasan_reason why)
{
	u64 first = ALIGN_UP((u64)p, KASAN_GRANULE), end = ALIGN_UP((u64)p + n, KASAN_GRANULE);

	if ((u64)p % KASAN_GRANULE)
		*kasan_shadow((u64)p) = (u64)p % KASAN_GRANULE;
	memset(kasan_shadow(first), why, (end - first) / KASAN_GRANULE);
}

/* Returns the first byte of the @n from @va that is forbidden, or 0. */
static u64 first_forbidden(u64 va, size_t n)
{
	for (u64 end = va + n, next; va < end; va = next) {
		s8 allowed = (s8)*kasan_shadow(va);
		u64 start = ALIGN_DOWN(va, KASAN_GRANULE);

		next = start + KASAN_GRANULE;
		if (allowed < 0)
			return va;
		if (allowed && min(end, next) > start + (u64)allowed)
			return max(va, start + (u64)allowed);
	}
	return 0;
}

/* --- the report --------------------------------------------------------------------- */

static const char *name_of(u8 shadow)
{
	switch (shadow) {
	case KASAN_PAGE_FREE:
		return "use-after-free";
	case KASAN_PAGE_REDZONE:
	case KASAN_SLAB_REDZONE:
		return "slab-out-of-bounds";
	case KASAN_SLAB_FREE:
		return "slab-use-after-free";
	case KASAN_GLOBAL_REDZONE:
		return "global-out-of-bounds";
	case KASAN_STACK_SCOPE:
		return "stack-use-after-scope";
	case KASAN_STACK_LEFT:
	case KASAN_STACK_MID:
	case KASAN_STACK_RIGHT:
		return "stack-out-of-bounds";
	}
	return "wild-memory-access";
}

/* The reason for @va. The end of an object has none of its own: that of the next bytes. */
static u8 reason_at(u64 va)
{
	u8 shadow = *kasan_shadow(va);

	return shadow && shadow < KASAN_GRANULE ? kasan_shadow(va)[1] : shadow;
}

static void report(u64 bad, size_t n, bool write, u64 ip)
{
	const char *kind = name_of(reason_at(bad));
	struct thread *t = arch_current();
	char name[96];

	if (t && READ_ONCE(under_test) == t) {
		WRITE_ONCE(nr_noticed, nr_noticed + 1);
		return;
	}
	WRITE_ONCE(started, false); /* the panic reads what it likes */
	kprintf("BUG: KASAN: %s in %s\n%s of size %lu at addr %016lx by task %s/%d\n", kind,
		symbol_name(ip, name, sizeof(name)), write ? "Write" : "Read", n, bad,
		t ? t->task.comm : "boot", t ? t->tid : 0);
	object_print(bad);
	panic("KASAN: %s", kind);
}

void kasan_check_bytes(const void *p, size_t n, bool write, u64 ip)
{
	if (!READ_ONCE(started) || !has_shadow((u64)p))
		return;
	u64 bad = first_forbidden((u64)p, n);

	if (unlikely(bad))
		report(bad, n, write, ip);
}

static __noreturn void bad_free(const void *p, u64 ip)
{
	bool twice = *kasan_shadow((u64)p) == KASAN_SLAB_FREE;
	char name[96];

	WRITE_ONCE(started, false);
	kprintf("BUG: KASAN: %s in %s\n", twice ? "double-free" : "invalid-free",
		symbol_name(ip, name, sizeof(name)));
	object_print((u64)p);
	panic("KASAN: %s", twice ? "double-free" : "invalid-free");
}

/* --- objects of slabs, and pages: what is freed waits before somebody has it again ------------ */

static struct {
	struct spinlock lock;
	unsigned object, page; /* the oldest of each */
	void *objects[KASAN_WAITING];
	u32 pages[KASAN_WAITING_PAGES];
} waiting = { .lock = SPINLOCK_INIT("kasan") };

void kasan_object_allocated(const struct kmem_cache *c, void *object, u64 ip)
{
	object_allocated(c, object, ip);
	kasan_allow_bytes(object, c->object);
}

void *kasan_object_freed(const struct kmem_cache *c, void *object, u64 ip)
{
	void *oldest;

	if (READ_ONCE(started) && *kasan_shadow((u64)object) >= KASAN_GRANULE)
		bad_free(object, ip);
	kasan_forbid_bytes(object, c->size, KASAN_SLAB_FREE);
	object_freed(c, object, ip);
	unsigned long flags = spin_lock_irqsave(&waiting.lock);
	oldest = waiting.objects[waiting.object];
	waiting.objects[waiting.object] = object;
	waiting.object = (waiting.object + 1) % KASAN_WAITING;
	spin_unlock_irqrestore(&waiting.lock, flags);
	return oldest;
}

u32 kasan_page_freed(u32 nr)
{
	unsigned long flags = spin_lock_irqsave(&waiting.lock);
	u32 oldest = waiting.pages[waiting.page];

	waiting.pages[waiting.page] = nr;
	waiting.page = (waiting.page + 1) % KASAN_WAITING_PAGES;
	spin_unlock_irqrestore(&waiting.lock, flags);
	return oldest;
}

/* --- what the compiler calls ----------------------------------------------------------- */

#define ACCESS(name, n, write)                                                                     \
	void __asan_##name##_noabort(const void *p);                                               \
	void __asan_##name##_noabort(const void *p)                                                \
	{                                                                                          \
		kasan_check_bytes(p, n, write, (u64)__builtin_return_address(0));                  \
	}

ACCESS(load1, 1, false)
ACCESS(load2, 2, false)
ACCESS(load4, 4, false)
ACCESS(load8, 8, false)
ACCESS(load16, 16, false)
ACCESS(store1, 1, true)
ACCESS(store2, 2, true)
ACCESS(store4, 4, true)
ACCESS(store8, 8, true)
ACCESS(store16, 16, true)

#define ACCESS_MANY(name, write)                                                                   \
	void __asan_##name##_noabort(const void *p, size_t n);                                     \
	void __asan_##name##_noabort(const void *p, size_t n)                                      \
	{                                                                                          \
		kasan_check_bytes(p, n, write, (u64)__builtin_return_address(0));                  \
	}

ACCESS_MANY(loadN, false)
ACCESS_MANY(storeN, true)

/*
 * The running function calls one that does not return. If that leaves for user space, the next
 * system call has the whole stack again: nothing of it may stay forbidden.
 */
void __asan_handle_no_return(void);
void __asan_handle_no_return(void)
{
	struct thread *t = READ_ONCE(started) ? arch_current() : NULL;
	u64 here = (u64)__builtin_frame_address(0), bottom = t ? (u64)t->kstack : 0;

	if (bottom && here >= bottom && here < bottom + KSTACK_SIZE)
		kasan_allow_bytes((const void *)ALIGN_DOWN(here, KASAN_GRANULE),
				  bottom + KSTACK_SIZE - ALIGN_DOWN(here, KASAN_GRANULE));
}

struct asan_global {
	const void *start;
	size_t size, size_with_gap;
	const char *name, *module;
	size_t is_initialised;
	const void *place, *odr;
};

void __asan_register_globals(const struct asan_global *g, size_t nr);
void __asan_register_globals(const struct asan_global *g, size_t nr)
{
	for (; nr--; g++)
		kasan_forbid_bytes((const u8 *)g->start + g->size, g->size_with_gap - g->size,
				   KASAN_GLOBAL_REDZONE);
}

void __asan_unregister_globals(const struct asan_global *g, size_t nr);
void __asan_unregister_globals(const struct asan_global *g, size_t nr)
{
	(void)g, (void)nr;
}

/* The linker has calls of these three from elsewhere come here: they move bytes by `rep movs`. */
#define CHECKED(fn, type, reads)                                                                   \
	void *__real_##fn(void *to, type from, size_t n);                                          \
	void *__wrap_##fn(void *to, type from, size_t n);                                          \
	void *__wrap_##fn(void *to, type from, size_t n)                                           \
	{                                                                                          \
		u64 ip = (u64)__builtin_return_address(0);                                         \
                                                                                                   \
		kasan_check_bytes(to, n, true, ip);                                                \
		if (reads)                                                                         \
			kasan_check_bytes((const void *)(u64)from, n, false, ip);                  \
		return __real_##fn(to, from, n);                                                   \
	}

CHECKED(memcpy, const void *, true)
CHECKED(memmove, const void *, true)
CHECKED(memset, int, false)

/* --- begin, and the vmap area ----------------------------------------------------------- */

void kasan_start(void)
{
	typedef void (*constructor)(void);
	extern const constructor constructors_start[], constructors_end[];

	for (const constructor *fn = constructors_start; fn < constructors_end; fn++)
		(*fn)();
	WRITE_ONCE(started, true);
}

bool kasan_map_bytes(u64 va, size_t n)
{
	static struct mutex lock = MUTEX_INIT(lock);
	u64 at = ALIGN_DOWN((u64)kasan_shadow(va), PAGE_SIZE), pa;
	unsigned prot;
	int err = 0;

	mutex_lock(&lock);
	for (; !err && at < (u64)kasan_shadow(va + n); at += PAGE_SIZE)
		if (!arch_pt_lookup(arch_kernel_pt, at, &pa, &prot))
			err = vmap_page(at, page_alloc_zeroed());
	mutex_unlock(&lock);
	if (!err)
		kasan_allow_bytes((const void *)va, n);
	return !err;
}

/* --- for the tests of it -------------------------------------------------------------- */

void kasan_count(bool on)
{
	WRITE_ONCE(nr_noticed, on ? 0 : nr_noticed);
	WRITE_ONCE(under_test, on ? arch_current() : NULL);
}

unsigned kasan_nr_noticed(void)
{
	return READ_ONCE(nr_noticed);
}
