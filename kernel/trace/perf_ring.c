/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of perf events: pages that a program maps. The first one tells where the kernel has
 * written to (data_head) and the program has read to (data_tail). The program may write anything
 * into its pages: only data_tail is read, and it decides no more than whether there is room.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/trace/perf.h"
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
	u64 nr_pages; /* of data */
	u64 watermark;
	u64 head; /* what data_head is; the page is the program's */
	struct control_page *control;
	u8 *data[];
};

struct perf_ring *perf_ring_create(u64 nr_pages, u64 watermark)
{
	struct perf_ring *r = vmap_alloc(sizeof(*r) + nr_pages * sizeof(r->data[0]));
	u64 size = nr_pages * PAGE_SIZE, pa = r ? page_alloc_zeroed() : 0;

	if (!r)
		return NULL;
	r->refs = 1;
	r->watermark = watermark && watermark <= size / 2 ? watermark : size / 2;
	if (pa)
		r->control = phys_to_virt(pa);
	while (pa && r->nr_pages < nr_pages && (pa = page_alloc_zeroed()))
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
	__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

/* Mappings have their own references to the pages. */
void perf_ring_put(struct perf_ring *r)
{
	if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (u64 i = 0; i < r->nr_pages; i++)
		page_put(virt_to_phys(r->data[i]));
	if (r->control)
		page_put(virt_to_phys(r->control));
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
	return unread(r) + size <= r->nr_pages * PAGE_SIZE;
}

void perf_ring_write(struct perf_ring *r, const void *data, u32 size)
{
	u64 at = r->head;
	const u8 *from = data;

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
