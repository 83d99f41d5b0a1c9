/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The event queue: what happens next. Events are embedded in what they belong to and can be moved
 * and cancelled. They leave in order of time; events of the same time leave in the order in which
 * they were set. That makes a run a function of its input.
 *
 * The queue is a hierarchical timing wheel (Varghese and Lauck, 1987) that is exact. A time is a
 * number with digits of 5 bits. An entry's level is that of the highest digit in which its time
 * differs from the queue's base, and its slot there is the value of that digit. So everything at
 * one level comes before everything at the next, and the slots of a level are in order. When the
 * first slot is not at level 0, its earliest time becomes the base and its entries move to lower
 * levels, keeping their order. An entry moves a few times, however many entries there are.
 *
 * Entries carry their time. Moving or cancelling an event only makes its entry invalid. An invalid
 * entry is dropped when it comes up, or when most entries are invalid. So the queue never touches
 * the events themselves, which are scattered over memory.
 */
#pragma once

#include "lib/types.h"

#define QUEUE_DIGIT  5u /* bits */
#define QUEUE_SLOTS  (1u << QUEUE_DIGIT)
#define QUEUE_LEVELS 13u /* enough for 64 bits */
#define QUEUE_CHUNK  5u

struct event {
	u64 when;
	u64 seq;  /* of its valid entry; 0: the event is not queued */
	u32 kind; /* for the owner */
};

struct queue_entry {
	u64 when, seq;
	struct event *event;
};

/* A few entries of a slot, in order. A slot is a list of chunks. */
struct queue_chunk {
	u32 next; /* index of the next chunk of the slot or of the free list; 0: none */
	u16 first, end;
	struct queue_entry entry[QUEUE_CHUNK];
};

struct event_queue {
	struct queue_chunk *chunk; /* [0] is always full, and of no slot */
	u32 used, size, free;	   /* chunks */
	u32 nr, rebuild_at;	   /* entries; the number at which the invalid ones are dropped */
	u64 base;
	u64 time; /* of the event that left last */
	u64 seq;
	u32 levels;		    /* bit set: the level has entries */
	u32 occupied[QUEUE_LEVELS]; /* bit set: the slot has entries */
	struct queue_slot {
		u32 head, tail; /* chunks */
	} slot[QUEUE_LEVELS][QUEUE_SLOTS];
};

void queue_init(struct event_queue *q, u64 start);
void queue_free(struct event_queue *q);
/* Allocates memory for @nr entries in slots of their own. */
void queue_reserve(struct event_queue *q, u32 nr);
/* Sets @ev to happen at @when, which must not be past. An earlier setting is forgotten. */
void queue_set(struct event_queue *q, struct event *ev, u64 when);
/*
 * Removes and returns the next event if it is due at @limit or before. Otherwise NULL; times up to
 * @limit are then past.
 */
struct event *queue_pop(struct event_queue *q, u64 limit);
/*
 * The first events of the first slot, perhaps cancelled, at most two, for fetching their memory.
 * Returns their number. They are the next ones if the whole slot is due at the same time, as it is
 * on a busy machine.
 */
u32 queue_peek(const struct event_queue *q, const struct event *next[static 2]);

static inline bool event_queued(const struct event *ev)
{
	return ev->seq;
}

/* Has no effect if @ev is not queued. The memory of @ev must last until queue_free(). */
static inline void queue_cancel(struct event_queue *q, struct event *ev)
{
	(void)q;
	ev->seq = 0;
}
