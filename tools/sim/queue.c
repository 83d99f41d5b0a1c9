/* The event queue; see queue.h. */
#include <stdio.h>
#include <stdlib.h>

#include "queue.h"

#define ARITY 4u

void queue_init(struct event_queue *q, u64 start)
{
	*q = (struct event_queue){ .time = start };
	list_init(&q->now);
}

void queue_free(struct event_queue *q)
{
	free(q->heap);
	q->heap = NULL;
}

static bool entry_before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->when < b->when || (a->when == b->when && a->seq < b->seq);
}

static void put_entry(struct event_queue *q, u32 at, struct heap_entry entry)
{
	q->heap[at] = entry;
	entry.event->place = at + 1;
}

/* @entry belongs at @at or nearer to the root. */
static void sift_up(struct event_queue *q, u32 at, struct heap_entry entry)
{
	while (at) {
		u32 parent = (at - 1) / ARITY;

		if (!entry_before(&entry, &q->heap[parent]))
			break;
		put_entry(q, at, q->heap[parent]);
		at = parent;
	}
	put_entry(q, at, entry);
}

/* @entry belongs at @at or below. */
static void sift_down(struct event_queue *q, u32 at, struct heap_entry entry)
{
	for (;;) {
		u32 first = at * ARITY + 1, end = min(first + ARITY, q->used), least = first;

		if (first >= q->used)
			break;
		for (u32 child = first + 1; child < end; child++)
			if (entry_before(&q->heap[child], &q->heap[least]))
				least = child;
		if (!entry_before(&q->heap[least], &entry))
			break;
		put_entry(q, at, q->heap[least]);
		at = least;
	}
	put_entry(q, at, entry);
}

static void heap_insert(struct event_queue *q, struct heap_entry entry)
{
	if (q->used == q->size) {
		q->size = q->size ? 2 * q->size : 64;
		q->heap = realloc(q->heap, q->size * sizeof(*q->heap));
		if (!q->heap) {
			fprintf(stderr, "schedsim: out of memory for %u events\n", q->size);
			exit(1);
		}
	}
	sift_up(q, q->used++, entry);
}

static void heap_remove(struct event_queue *q, u32 at)
{
	struct heap_entry last = q->heap[--q->used];

	if (at == q->used)
		return;
	if (at && entry_before(&last, &q->heap[(at - 1) / ARITY]))
		sift_up(q, at, last);
	else
		sift_down(q, at, last);
}

void queue_cancel(struct event_queue *q, struct event *ev)
{
	if (ev->place == EVENT_NOW)
		list_del(&ev->link);
	else if (ev->place)
		heap_remove(q, ev->place - 1);
	ev->place = 0;
}

void queue_set(struct event_queue *q, struct event *ev, u64 when)
{
	struct heap_entry entry = { when, q->seq++, ev };

	ev->when = when;
	ev->seq = entry.seq;
	if (when <= q->time) {
		queue_cancel(q, ev);
		list_add_tail(&q->now, &ev->link);
		ev->place = EVENT_NOW;
	} else if (ev->place && ev->place != EVENT_NOW) {
		u32 at = ev->place - 1;

		if (at && entry_before(&entry, &q->heap[(at - 1) / ARITY]))
			sift_up(q, at, entry);
		else
			sift_down(q, at, entry);
	} else {
		queue_cancel(q, ev);
		heap_insert(q, entry);
	}
}

struct event *queue_pop(struct event_queue *q, u64 limit)
{
	struct event *ev = q->used ? q->heap[0].event : NULL;

	if (!list_empty(&q->now)) {
		struct event *first = list_first(&q->now, struct event, link);

		if (!ev || ev->when > q->time || first->seq < ev->seq)
			ev = first;
	}
	if (!ev || ev->when > limit)
		return NULL;
	q->time = max(q->time, ev->when);
	queue_cancel(q, ev);
	return ev;
}
