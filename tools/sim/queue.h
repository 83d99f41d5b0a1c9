/*
 * The event queue: what happens next. Events are embedded in what they belong to, can be moved and
 * cancelled, and leave in order of time; equal times in the order in which they were set. That
 * makes a run a function of its input.
 *
 * A 4-ary heap whose entries carry their key, so that a comparison touches no event, and beside it
 * a plain list for events of the present moment, which are most: an interrupt that costs nothing
 * is taken at once.
 */
#pragma once

#include "lib/list.h"
#include "lib/types.h"

struct event {
	u64 when;
	u64 seq;
	u32 place; /* 0: not queued, EVENT_NOW: in the list, else its index in the heap + 1 */
	u32 kind;  /* the owner's business */
	struct list link;
};

#define EVENT_NOW UINT32_MAX

struct event_queue {
	struct heap_entry {
		u64 when, seq;
		struct event *event;
	} * heap;
	u32 used, size;
	struct list now;
	u64 time; /* of the event that left last */
	u64 seq;
};

void queue_init(struct event_queue *q, u64 start);
void queue_free(struct event_queue *q);
/* Let @ev happen at @when, which is not past, instead of when it was set to before. */
void queue_set(struct event_queue *q, struct event *ev, u64 when);
/* Without effect if @ev is not queued. */
void queue_cancel(struct event_queue *q, struct event *ev);
/* Remove and return the next event if it is due at @limit or before, else NULL. */
struct event *queue_pop(struct event_queue *q, u64 limit);

static inline bool event_queued(const struct event *ev)
{
	return ev->place;
}
