/*
 * The event queue: what happens next. Events are embedded in what they belong to, can be moved and
 * cancelled, and leave in order of time; equal times in the order in which they were set. That
 * makes a run a function of its input.
 *
 * A 4-ary heap whose entries carry their key, and beside it a ring for events of the present
 * moment, which are most: an interrupt that costs nothing is taken at once. Moving or cancelling
 * an event only invalidates its entry, which is dropped when it comes up, or when most entries are
 * invalid: so the heap never touches the events themselves, which are scattered over memory.
 */
#pragma once

#include "lib/types.h"

struct event {
	u64 when;
	u64 seq;  /* of its valid entry; 0: not queued */
	u32 kind; /* the owner's business */
};

struct event_queue {
	struct queue_entry {
		u64 when, seq;
		struct event *event;
	} * heap, *now;
	u32 used, size;	       /* of the heap */
	u32 rebuild_at;	       /* entries: then the invalid ones are dropped */
	u32 first, last, room; /* of now: a ring, room a power of two */
	u64 time;	       /* of the event that left last */
	u64 seq;
};

void queue_init(struct event_queue *q, u64 start);
void queue_free(struct event_queue *q);
/* Let @ev happen at @when, which is not past, instead of when it was set to before. */
void queue_set(struct event_queue *q, struct event *ev, u64 when);
/* Remove and return the next event if it is due at @limit or before, else NULL. */
struct event *queue_pop(struct event_queue *q, u64 limit);

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
