/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of perf events: pages that a program maps. The first one tells where the kernel has
 * written to (data_head) and the program has read to (data_tail). The program may write anything
 * into its pages: only data_tail is read, and it decides no more than whether there is room.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/ref.h"
#include "kernel/task/account.h"
#include "kernel/task/proc.h"
#include "kernel/trace/perf.h"
#include "lib/errno.h"
#include "lib/string.h"

/* Linux's struct perf_event_mmap_page. */
struct control_page {
	u32 version, compat_version;
	u32 lock, index;
	u64 offset, time_enabled, time_running, capabilities;
	u8 other[1024 - 48];
	u64 data_head, data_tail, data_offset, data_size;
};
STATIC_ASSERT(offsetof(struct control_page, data_head) == 1024, "as Linux lays it out");

struct perf_ring {
	u32 refs;
	struct account *user; /* who made it, and is charged for its pages and the control page */
	u64 charged;
	u64 nr_pages; /* of data */
	u64 watermark;
	u64 head; /* what data_head is; the page is the program's */
	struct control_page *control;
	u8 *data[];
};

/*
 * How much memory the rings of a user may take, in KiB for each CPU of the machine. RLIMIT_MEMLOCK
 * of the process comes on top. Linux counts that second part by address space, so there several
 * processes of a user may have more.
 */
static u64 mlock_kb = 516;

static int perf_files_init(void)
{
	return proc_sys_add_number("kernel/perf_event_mlock_kb", &mlock_kb);
}
INITCALL(perf_files_init);

static bool charge(struct account *user, u64 nr)
{
	u64 usual = READ_ONCE(mlock_kb) * 1024 / PAGE_SIZE * arch_nr_cpus;
	u64 locked = READ_ONCE(current->proc->rlimit[RLIMIT_MEMLOCK].cur) / PAGE_SIZE;
	u64 limit = capable(CAP_IPC_LOCK) ? NO_LIMIT : usual + locked;

	return account_charge(user, RES_RING_PAGES, nr, limit);
}

/* A ring without pages whose user is charged for @nr. */
static struct perf_ring *alloc_ring(u64 nr, int *err)
{
	struct account *user = current->account;
	struct perf_ring *r;

	debug_assert(nr);
	*err = -EPERM;
	if (!charge(user, nr))
		return NULL;
	*err = -ENOMEM;
	r = account_may_hoard() ? vmap_alloc(sizeof(*r) + nr * sizeof(r->data[0])) : NULL;
	if (!r) {
		account_give(user, RES_RING_PAGES, nr);
		return NULL;
	}
	r->refs = 1;
	r->user = account_get(user);
	r->charged = nr;
	return r;
}

struct perf_ring *perf_ring_create(u64 nr_pages, u64 watermark, int *err)
{
	struct perf_ring *r = alloc_ring(nr_pages + 1, err);
	u64 size = nr_pages * PAGE_SIZE, pa = r ? page_alloc_zeroed() : 0;

	debug_assert(nr_pages && !(nr_pages & (nr_pages - 1)));
	if (!r)
		return NULL;
	r->watermark = watermark && watermark <= size / 2 ? watermark : size / 2;
	if (pa)
		r->control = phys_to_virt(pa);
	while (pa && r->nr_pages < nr_pages && account_may_hoard() && (pa = page_alloc_zeroed()))
		r->data[r->nr_pages++] = phys_to_virt(pa);
	if (r->nr_pages < nr_pages || !r->control) {
		perf_ring_put(r);
		return NULL;
	}
	r->control->data_offset = PAGE_SIZE;
	r->control->data_size = size;
	return r;
}

struct perf_ring *perf_ring_get(struct perf_ring *r)
{
	ref_get(&r->refs);
	return r;
}

/* Mappings have their own references to the pages. */
void perf_ring_put(struct perf_ring *r)
{
	if (!r || !ref_put(&r->refs))
		return;
	for (u64 i = 0; i < r->nr_pages; i++)
		page_put(virt_to_phys(r->data[i]));
	if (r->control)
		page_put(virt_to_phys(r->control));
	account_give(r->user, RES_RING_PAGES, r->charged);
	account_put(r->user);
	vmap_free(r);
}

u64 perf_ring_pages(const struct perf_ring *r)
{
	return r->nr_pages;
}

u64 perf_ring_page(const struct perf_ring *r, u64 index)
{
	if (index > r->nr_pages)
		return 0;
	return virt_to_phys(index ? (void *)r->data[index - 1] : r->control);
}

static u64 unread(const struct perf_ring *r)
{
	return READ_ONCE(r->head) - __atomic_load_n(&r->control->data_tail, __ATOMIC_ACQUIRE);
}

bool perf_ring_fits(const struct perf_ring *r, u32 size)
{
	debug_assert(!arch_irq_enabled());
	return unread(r) + size <= r->nr_pages * PAGE_SIZE;
}

void perf_ring_write(struct perf_ring *r, const void *data, u32 size)
{
	u64 at = r->head;
	const u8 *from = data;

	debug_assert(size % 8 == 0);
	debug_assert(!arch_irq_enabled());
	while (size) {
		u32 chunk = min(size, (u32)(PAGE_SIZE - at % PAGE_SIZE));

		memcpy(r->data[at / PAGE_SIZE % r->nr_pages] + at % PAGE_SIZE, from, chunk);
		at += chunk;
		from += chunk;
		size -= chunk;
	}
	WRITE_ONCE(r->head, at);
	__atomic_store_n(&r->control->data_head, at, __ATOMIC_RELEASE);
}

bool perf_ring_is_ready(const struct perf_ring *r)
{
	return unread(r) >= r->watermark;
}
