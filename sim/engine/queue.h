/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event queue: what happens next. Events are embedded in what they belong to, can be moved and
 * cancelled, and leave in order of time; equal times in the order in which they were set. That
 * makes a run a function of its input.
 *
 * A hierarchical timing wheel (Varghese and Lauck, 1987) that is exact. A time is a number of
 * digits of 5 bits; an entry is at the level of the highest digit in which its time differs from
 * the queue's base, in the slot of that digit. So all of a level comes before all of the next, and
 * its slots are in order. When the first slot is not at level 0 its earliest time becomes the base,
 * and its entries go to lower levels, in the order in which they are. An entry moves a few times,
 * however many there are.
 *
 * Entries carry their time. Moving or cancelling an event only invalidates its entry, which is
 * dropped when it comes up, or when most entries are invalid: so the queue never touches the
 * events themselves, which are scattered over memory.
 */
#pragma once

#include "lib/types.h"

#define QUEUE_DIGIT  5u /* bits */
#define QUEUE_SLOTS  (1u << QUEUE_DIGIT)
#define QUEUE_LEVELS 13u /* enough for 64 bits */
#define QUEUE_CHUNK  5u

struct event {
	u64 when;
	u64 seq;  /* of its valid entry; 0: not queued */
	u32 kind; /* the owner's business */
};

struct queue_entry {
	u64 when, seq;
	struct event *event;
};

/* Some entries of a slot, in order; a slot is a list of them. */
struct queue_chunk {
	u32 next; /* of the slot, or free; an index, 0: none */
	u16 first, end;
	struct queue_entry entry[QUEUE_CHUNK];
};

struct event_queue {
	struct queue_chunk *chunk; /* [0] is not used */
	u32 used, size, free;	   /* chunks */
	u32 nr, rebuild_at;	   /* entries; so many: then the invalid ones are dropped */
	u64 base;
	u64 time; /* of the event that left last */
	u64 seq;
	u32 levels;		    /* bit set: something is there */
	u32 occupied[QUEUE_LEVELS]; /* the same of slots */
	struct queue_slot {
		u32 head, tail; /* chunks */
	} slot[QUEUE_LEVELS][QUEUE_SLOTS];
};

void queue_init(struct event_queue *q, u64 start);
void queue_free(struct event_queue *q);
/* Have memory for @nr entries in slots of their own. */
void queue_reserve(struct event_queue *q, u32 nr);
/* Let @ev happen at @when, which is not past, instead of when it was set to before. */
void queue_set(struct event_queue *q, struct event *ev, u64 when);
/*
 * Remove and return the next event if it is due at @limit or before. Else NULL, and what is before
 * @limit is past.
 */
struct event *queue_pop(struct event_queue *q, u64 limit);
/* The next event, or one that was cancelled since; NULL: there is none. */
struct event *queue_next(const struct event_queue *q);
/* The one after that, with the same doubt, if it is due at the same time; else NULL. */
const struct event *queue_second(const struct event_queue *q);

static inline bool event_queued(const struct event *ev)
{
	return ev->seq;
}

/* Without effect if @ev is not queued. Its memory must last until queue_free(). */
static inline void queue_cancel(struct event_queue *q, struct event *ev)
{
	(void)q;
	ev->seq = 0;
}
