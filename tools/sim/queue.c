/* The event queue; see queue.h. */
#include "queue.h"
#include "util.h"

#define ARITY 4u

void queue_init(struct event_queue *q, u64 start)
{
	*q = (struct event_queue){ .time = start };
}

void queue_free(struct event_queue *q)
{
	free(q->heap);
	free(q->now);
	*q = (struct event_queue){ .heap = NULL };
}

static bool is_valid(const struct queue_entry *e)
{
	return e->event->seq == e->seq;
}

static bool entry_before(const struct queue_entry *a, const struct queue_entry *b)
{
	return a->when < b->when || (a->when == b->when && a->seq < b->seq);
}

/* --- the heap --------------------------------------------------------------------------------- */

static void sift_up(struct event_queue *q, u32 at, struct queue_entry entry)
{
	while (at) {
		u32 parent = (at - 1) / ARITY;

		if (!entry_before(&entry, &q->heap[parent]))
			break;
		q->heap[at] = q->heap[parent];
		at = parent;
	}
	q->heap[at] = entry;
}

static void sift_down(struct event_queue *q, u32 at, struct queue_entry entry)
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
		q->heap[at] = q->heap[least];
		at = least;
	}
	q->heap[at] = entry;
}

static void remove_root(struct event_queue *q)
{
	if (--q->used)
		sift_down(q, 0, q->heap[q->used]);
}

/* Keep the valid entries only, and make them a heap again. */
static void rebuild(struct event_queue *q)
{
	u32 kept = 0;

	for (u32 i = 0; i < q->used; i++)
		if (is_valid(&q->heap[i]))
			q->heap[kept++] = q->heap[i];
	q->used = kept;
	q->rebuild_at = max(64u, 2 * kept);
	for (u32 i = kept / ARITY + 1; i-- > 0;)
		if (i < kept)
			sift_down(q, i, q->heap[i]);
}

static void heap_insert(struct event_queue *q, struct queue_entry entry)
{
	if (q->used >= q->rebuild_at)
		rebuild(q);
	q->heap = grow(q->heap, q->used, &q->size, sizeof(*q->heap));
	sift_up(q, q->used++, entry);
}

/* --- the ring --------------------------------------------------------------------------------- */

/* Drop what is invalid, and have at least as much room as that leaves. */
static void make_room(struct event_queue *q)
{
	u32 kept = 0, room = 64;
	struct queue_entry *now;

	for (u32 i = q->first; i != q->last; i++)
		kept += is_valid(&q->now[i & (q->room - 1)]);
	while (room < 2 * kept)
		room *= 2;
	now = allocate(room, sizeof(*now));
	kept = 0;
	for (u32 i = q->first; i != q->last; i++)
		if (is_valid(&q->now[i & (q->room - 1)]))
			now[kept++] = q->now[i & (q->room - 1)];
	free(q->now);
	q->now = now;
	q->room = room;
	q->first = 0;
	q->last = kept;
}

static void ring_add(struct event_queue *q, struct queue_entry entry)
{
	if (q->last - q->first == q->room)
		make_room(q);
	q->now[q->last++ & (q->room - 1)] = entry;
}

/* --- both ------------------------------------------------------------------------------------- */

void queue_set(struct event_queue *q, struct event *ev, u64 when)
{
	queue_cancel(q, ev);
	ev->when = when;
	ev->seq = ++q->seq;
	if (when <= q->time)
		ring_add(q, (struct queue_entry){ q->time, ev->seq, ev });
	else
		heap_insert(q, (struct queue_entry){ when, ev->seq, ev });
}

static void drop_invalid(struct event_queue *q)
{
	while (q->first != q->last && !is_valid(&q->now[q->first & (q->room - 1)]))
		q->first++;
	while (q->used && !is_valid(&q->heap[0]))
		remove_root(q);
}

struct event *queue_pop(struct event_queue *q, u64 limit)
{
	const struct queue_entry *e;
	struct event *ev;

	drop_invalid(q);
	e = q->used ? &q->heap[0] : NULL;
	if (q->first != q->last) {
		const struct queue_entry *first = &q->now[q->first & (q->room - 1)];

		if (!e || entry_before(first, e))
			e = first;
	}
	if (!e || e->when > limit)
		return NULL;
	ev = e->event;
	ev->seq = 0;
	q->time = e->when;
	if (q->used && e == &q->heap[0])
		remove_root(q);
	else
		q->first++;
	if (q->used)
		__builtin_prefetch(q->heap[0].event);
	return ev;
}
