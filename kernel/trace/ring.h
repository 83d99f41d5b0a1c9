/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A ring of pages that one CPU writes events into and anybody may read, without a lock.
 *
 * The bytes are Linux's ring buffer format, so a page is what trace_pipe_raw and trace.dat carry:
 * a time stamp, the number of valid bytes, then events. Each event is a u32 (5 bits of length in
 * words, 27 bits of ns since the event before) and its payload; a longer gap is a "time extend" in
 * front.
 *
 * PROTOCOL. The writer is the ring's own CPU with interrupts off, so writers never nest or race.
 * Pages are numbered for ever; page n lives in slots[n % nr_pages]. Readers copy a page and then
 * look whether the writer has lapped them meanwhile:
 *
 *	writer, turning the page:  tail past the page it reuses -> reset that page -> head to it
 *	writer, every event:       (time of the page, before its first) payload -> commit
 *	reader:                    head -> commit, copy -> tail still <= n, or the copy is discarded
 *	                           a page without a committed event has no time of its own yet
 *
 * A full ring overwrites its oldest page, or (overwrite off) drops new events until somebody
 * consumes. Events are numbered too: slots[].first says which event a page starts with, so loss,
 * consumption and clearing are arithmetic on event numbers.
 */
#pragma once

#include "lib/types.h"

#define RING_PAGE_SIZE	4096
#define RING_DATA_SIZE	(RING_PAGE_SIZE - 16)
#define RING_SHORT_MAX	112u /* payload bytes that the 5 length bits can say */
#define RING_DELTA_BITS 27

/* Special values of the length bits. Linux's two others, padding and time stamp, are not needed. */
enum {
	RING_LONG = 0,	       /* the next word is the length + 4 */
	RING_TIME_EXTEND = 30, /* no event: the next word is the gap in units of 2^27 ns */
};

/* Flags in ring_page.commit, for pages that are handed out. */
#define RING_LOST_EVENTS BIT(31) /* events were lost before this page... */
#define RING_LOST_STORED BIT(30) /* ...and their number is the u64 after the valid bytes */

struct ring_page {
	u64 time;   /* ns; base of the first event's delta */
	u64 commit; /* valid bytes of data */
	u8 data[RING_DATA_SIZE];
};
STATIC_ASSERT(sizeof(struct ring_page) == RING_PAGE_SIZE, "a ring page is a page");

struct ring_slot {
	struct ring_page *page;
	u64 first; /* number of the first event on the page */
};

/* tools/fairground/machine/image.py reads this structure in the memory image of a finished run. */
struct ring {
	/* written by: the ring's CPU with interrupts off */
	struct ring_page *page; /* being filled */
	u64 time;		/* of the last event */
	u64 used;		/* bytes of page->data reserved */
	u64 written;		/* events ever committed */
	u64 head, tail;		/* numbers of the page being filled and of the oldest intact one */
	u64 index;		/* head % nr_pages */
	u64 dropped;		/* events that found the ring full, with @overwrite off */
	/* settings; all but overwrite change only while there is no writer */
	struct ring_slot *slots;
	u64 nr_pages;
	u32 overwrite;
	u16 closed, gate;
	/* guarded by: the reader's lock */
	u64 read; /* events below this number were consumed or cleared */
	u64 lost; /* overwritten unread before the last consuming read, since the clear */
	u64 nr_consumed;
	/* written by: the ring's CPU; with a gate that is shut: the true `used` */
	u64 held;
} __aligned(128);
STATIC_ASSERT(sizeof(struct ring) == 128, "layout known to image.py");

/* Start empty, with @nr_pages >= 2 pages, given in @slots. No writer or reader may be active. */
void ring_init(struct ring *r, struct ring_slot *slots, u64 nr_pages);

/* A closed ring records nothing. No writer may be active. */
void ring_set_closed(struct ring *r, bool closed);

/*
 * With a gate the plain ways to write find the ring full; what may be written comes between
 * ring_open() and ring_shut(), which do nothing without one. No writer may be active.
 */
enum ring_gate { RING_NO_GATE, RING_GATE_SHUT, RING_GATE_OPEN };
void ring_set_gate(struct ring *r, bool gate);

static inline void ring_open(struct ring *r)
{
	if (r->gate) {
		r->gate = RING_GATE_OPEN;
		r->used = r->held;
	}
}

static inline void ring_shut(struct ring *r)
{
	if (r->gate) {
		r->gate = RING_GATE_SHUT;
		r->held = r->used;
		r->used = RING_DATA_SIZE;
	}
}

void *ring_reserve_slow(struct ring *r, u64 now, u32 size);
void *ring_reserve_run_slow(struct ring *r, u64 now, u32 bytes);

/*
 * Room for a payload of @size bytes (a multiple of 4, from 8 to RING_PAYLOAD_MAX) at time @now;
 * the caller fills it and calls ring_commit(). NULL: not recorded. Interrupts off in between.
 */
#define RING_PAYLOAD_MAX (RING_DATA_SIZE - 8u)
static inline void *ring_reserve(struct ring *r, u64 now, u32 size)
{
	u64 delta = now - r->time;
	u64 end = r->used + 4 + size;
	u32 *header = (u32 *)(r->page->data + r->used);

	if (unlikely(delta >> RING_DELTA_BITS || end > RING_DATA_SIZE || size > RING_SHORT_MAX))
		return ring_reserve_slow(r, now, size);
	*header = (u32)delta << 5 | size / 4;
	r->time = now;
	r->used = end;
	return header + 1;
}

static inline void ring_commit(struct ring *r)
{
	r->written++;
	__atomic_store_n(&r->page->commit, r->used, __ATOMIC_RELEASE);
}

/*
 * The same for a run of payloads with their headers in between, @bytes from the first payload to
 * the end of the last, all at @now. The header of the first is there, except for the size; it must
 * be a short one. The caller makes the others, then says where the run ends and how many it has.
 */
static inline void *ring_reserve_run(struct ring *r, u64 now, u32 bytes)
{
	u64 delta = now - r->time;
	u32 *header = (u32 *)(r->page->data + r->used);

	if (unlikely(delta >> RING_DELTA_BITS || r->used + 4 + bytes > RING_DATA_SIZE))
		return ring_reserve_run_slow(r, now, bytes);
	*header = (u32)delta << 5;
	r->time = now;
	return header + 1;
}

static inline void ring_commit_run(struct ring *r, const u8 *end, u32 nr)
{
	r->used = (u64)(end - r->page->data);
	r->written += nr;
	__atomic_store_n(&r->page->commit, r->used, __ATOMIC_RELEASE);
}

/* --- reading --------------------------------------------------------------------------------- */

struct ring_event {
	u64 time, nr;
	u64 lost;	  /* events overwritten between the one before and this one */
	const void *data; /* in the reader's copy: valid until the next call */
	u32 size;
};

/* Walks the events from the oldest unread one on, without consuming them. */
struct ring_reader {
	const struct ring *ring;
	u64 wanted;   /* number of the next event to give out */
	u64 page_nr;  /* the page in @copy */
	u64 event_nr; /* number of the event at @offset */
	u64 time;     /* of the event before it */
	u32 offset;   /* in copy.data */
	bool loaded;
	struct ring_page copy;
};

void ring_reader_init(struct ring_reader *rd, const struct ring *r);
/* Take the next event; false when there is none (yet). */
bool ring_reader_next(struct ring_reader *rd, struct ring_event *ev);

/*
 * Consume the unread rest of the oldest page. It goes to @rd->copy in the form of trace_pipe_raw;
 * nothing else of @rd is used. False if there is nothing. The caller holds the reader's lock.
 */
bool ring_read_page(struct ring *r, struct ring_reader *rd);
/* Consume the event that a reader has just given out. The caller holds the reader's lock. */
void ring_consume(struct ring *r, const struct ring_event *ev);
/* Forget all events recorded so far. The caller holds the reader's lock. */
void ring_clear(struct ring *r);

struct ring_stats {
	u64 entries;	 /* unread, in the ring */
	u64 overrun;	 /* overwritten before anyone consumed them, since the last clear */
	u64 bytes;	 /* in the ring, headers included */
	u64 oldest_ns;	 /* time of the oldest page */
	u64 read_events; /* consumed */
};
void ring_stats(const struct ring *r, struct ring_stats *out);
