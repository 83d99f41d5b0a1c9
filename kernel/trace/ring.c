/* SPDX-License-Identifier: GPL-2.0-only */
/* The slow half of the event ring: page turns, long gaps, reading. The protocol is in ring.h. */
#include "kernel/trace/ring.h"
#include "lib/string.h"

void ring_init(struct ring *r, struct ring_slot *slots, u64 nr_pages)
{
	*r = (struct ring){
		.page = slots[0].page, .slots = slots, .nr_pages = nr_pages, .overwrite = true
	};
	slots[0].first = 0;
	slots[0].page->time = 0;
	slots[0].page->commit = 0;
}

/* A full page sends every writer to the slow path, so being closed costs the fast one nothing. */
void ring_set_closed(struct ring *r, bool closed)
{
	if (closed)
		r->used = r->held = RING_DATA_SIZE;
	r->closed = closed;
}

void ring_set_gate(struct ring *r, bool gate)
{
	if (gate == (r->gate != RING_NO_GATE))
		return;
	r->gate = RING_GATE_OPEN;
	if (gate) {
		ring_shut(r);
	} else {
		ring_open(r);
		r->gate = RING_NO_GATE;
	}
}

/* --- writing --------------------------------------------------------------------------------- */

/* Go on to the next page. False if it holds unread events that must not be overwritten. */
static bool turn_page(struct ring *r)
{
	u64 next = r->head + 1;
	u64 index = r->index + 1 == r->nr_pages ? 0 : r->index + 1;
	struct ring_slot *slot = &r->slots[index];

	if (next >= r->nr_pages) {
		u64 second = index + 1 == r->nr_pages ? 0 : index + 1;

		if (!r->overwrite && READ_ONCE(r->read) < r->slots[second].first)
			return false;
		__atomic_store_n(&r->tail, next - r->nr_pages + 1, __ATOMIC_SEQ_CST);
	}
	r->index = index;
	slot->first = r->written;
	slot->page->commit = 0;
	r->page = slot->page;
	r->used = 0;
	__atomic_store_n(&r->head, next, __ATOMIC_RELEASE);
	return true;
}

static u32 *put_word(struct ring *r, u32 word)
{
	u32 *p = (u32 *)(r->page->data + r->used);

	*p = word;
	r->used += 4;
	return p;
}

void *ring_reserve_slow(struct ring *r, u64 now, u32 size)
{
	bool is_long = size > RING_SHORT_MAX;
	u64 delta = now > r->time ? now - r->time : 0;
	u32 need = 4 + (is_long ? 4 : 0) + size + (delta >> RING_DELTA_BITS ? 8 : 0);
	u8 *payload;

	if (r->closed || r->gate == RING_GATE_SHUT)
		return NULL;
	if (r->used + need > RING_DATA_SIZE && !turn_page(r)) {
		r->dropped++;
		return NULL;
	}
	r->time += delta;
	if (!r->used) {
		r->page->time = r->time;
		delta = 0;
	}
	if (delta >> RING_DELTA_BITS) {
		put_word(r, (u32)delta << 5 | RING_TIME_EXTEND);
		put_word(r, (u32)(delta >> RING_DELTA_BITS));
		delta = 0;
	}
	put_word(r, (u32)delta << 5 | (is_long ? RING_LONG : size / 4));
	if (is_long)
		put_word(r, size + 4);
	payload = r->page->data + r->used;
	r->used += size;
	return payload;
}

/*
 * Reserves one payload that is as long, and takes it back: a gap before it remains, and the time in
 * its header. The header of a long one has a word more.
 */
void *ring_reserve_run_slow(struct ring *r, u64 now, u32 bytes)
{
	u32 *header = ring_reserve_slow(r, now, bytes);

	if (!header)
		return NULL;
	header -= bytes > RING_SHORT_MAX ? 2 : 1;
	r->used = (u64)((u8 *)header - r->page->data);
	*header &= ~31u;
	return header + 1;
}

/* --- reading --------------------------------------------------------------------------------- */

static u64 first_event(const struct ring *r, u64 page_nr)
{
	return READ_ONCE(r->slots[page_nr % r->nr_pages].first);
}

/* The page that event @nr is on. A guess while the writer laps us: load_page() corrects it. */
static u64 page_of_event(const struct ring *r, u64 nr)
{
	u64 low = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
	u64 high = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);

	while (low < high) {
		u64 middle = (low + high + 1) / 2;

		if (first_event(r, middle) <= nr)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/*
 * Copy page @nr as it is now. False if the writer may have overwritten it meanwhile. An empty page
 * has no time yet: the commit of the first event publishes it, so it counts from the copy that the
 * first event is passed in.
 */
static bool copy_page(struct ring_reader *rd, u64 nr)
{
	const struct ring_page *page = rd->ring->slots[nr % rd->ring->nr_pages].page;
	u64 commit = __atomic_load_n(&page->commit, __ATOMIC_ACQUIRE);

	rd->copy.time = READ_ONCE(page->time);
	rd->copy.commit = commit;
	if (!rd->offset)
		rd->time = rd->copy.time;
	memcpy(rd->copy.data, page->data, commit);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return READ_ONCE(rd->ring->tail) <= nr;
}

/* Stand at the first event of page @nr, or of the oldest one if that is gone. */
static void load_page(struct ring_reader *rd, u64 nr)
{
	const struct ring *r = rd->ring;

	rd->offset = 0;
	do {
		nr = max(nr, __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE));
		rd->event_nr = first_event(r, nr);
	} while (!copy_page(rd, nr));
	rd->page_nr = nr;
	rd->loaded = true;
}

/* Pass one event of the copy and the time extends before it. Returns its payload and *size. */
static const void *pass_event(struct ring_reader *rd, u32 *size)
{
	for (;;) {
		const u32 *word = (const u32 *)(rd->copy.data + rd->offset);
		u32 kind = word[0] & 31;

		rd->time += word[0] >> 5;
		if (kind != RING_TIME_EXTEND) {
			*size = kind == RING_LONG ? word[1] - 4 : kind * 4;
			word += kind == RING_LONG ? 2 : 1;
			rd->offset = (u32)((const u8 *)word - rd->copy.data) + *size;
			rd->event_nr++;
			return word;
		}
		rd->time += (u64)word[1] << RING_DELTA_BITS;
		rd->offset += 8;
	}
}

/* Stand at the wanted event, or the next that is left after it. False if there is none yet. */
static bool find_wanted(struct ring_reader *rd)
{
	u32 size;

	if (!rd->loaded)
		load_page(rd, page_of_event(rd->ring, rd->wanted));
	for (;;) {
		u64 head = __atomic_load_n(&rd->ring->head, __ATOMIC_ACQUIRE);
		u64 before = rd->copy.commit;
		bool intact;

		while (rd->offset < before && rd->event_nr < rd->wanted)
			pass_event(rd, &size);
		if (rd->offset < before)
			return true;
		/* At the end of the copy: has the page grown, or is there another? */
		intact = copy_page(rd, rd->page_nr);
		if (intact && rd->copy.commit == before && rd->page_nr == head)
			return false;
		if (!intact || rd->copy.commit == before)
			load_page(rd, rd->page_nr + 1);
	}
}

void ring_reader_init(struct ring_reader *rd, const struct ring *r)
{
	rd->ring = r;
	rd->wanted = READ_ONCE(r->read);
	rd->loaded = false;
}

bool ring_reader_next(struct ring_reader *rd, struct ring_event *ev)
{
	if (!find_wanted(rd))
		return false;
	ev->nr = rd->event_nr;
	ev->lost = rd->event_nr - rd->wanted;
	ev->data = pass_event(rd, &ev->size);
	ev->time = rd->time;
	rd->wanted = rd->event_nr;
	return true;
}

void ring_consume(struct ring *r, const struct ring_event *ev)
{
	r->lost += ev->nr - r->read;
	r->read = ev->nr + 1;
	r->nr_consumed++;
}

/* The commit word of a page that is handed out with @len bytes, @lost events missing before. */
static u64 finish_page(struct ring_page *page, u64 len, u64 lost)
{
	memset(page->data + len, 0, RING_DATA_SIZE - len);
	if (!lost)
		return len;
	if (len + sizeof(lost) > RING_DATA_SIZE)
		return len | RING_LOST_EVENTS;
	memcpy(page->data + len, &lost, sizeof(lost));
	return len | RING_LOST_EVENTS | RING_LOST_STORED;
}

bool ring_read_page(struct ring *r, struct ring_reader *rd)
{
	u64 first, lost, len;
	u32 start, size;

	ring_reader_init(rd, r);
	if (!find_wanted(rd))
		return false;
	first = rd->event_nr;
	lost = first - r->read;
	start = rd->offset;
	rd->copy.time = rd->time;
	while (rd->offset < rd->copy.commit)
		pass_event(rd, &size);
	len = rd->copy.commit - start;
	memmove(rd->copy.data, rd->copy.data + start, len);
	rd->copy.commit = finish_page(&rd->copy, len, lost);
	r->lost += lost;
	r->nr_consumed += rd->event_nr - first;
	WRITE_ONCE(r->read, rd->event_nr);
	return true;
}

void ring_clear(struct ring *r)
{
	WRITE_ONCE(r->read, READ_ONCE(r->written));
	r->lost = 0;
	r->nr_consumed = 0;
	r->dropped = 0;
}

void ring_stats(const struct ring *r, struct ring_stats *out)
{
	u64 head = __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
	u64 first_page = page_of_event(r, r->read);
	u64 oldest = max(first_event(r, first_page), r->read);

	*out = (struct ring_stats){
		.entries = READ_ONCE(r->written) - oldest,
		.overrun = r->lost + oldest - r->read,
		.oldest_ns = r->slots[first_page % r->nr_pages].page->time,
		.read_events = r->nr_consumed,
	};
	for (u64 nr = first_page; nr <= head; nr++)
		out->bytes += r->slots[nr % r->nr_pages].page->commit;
}
