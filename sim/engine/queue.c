/* SPDX-License-Identifier: GPL-2.0-only */
/* The event queue; see queue.h. */
#include <assert.h>

#include "sim/engine/queue.h"
#include "sim/engine/util.h"

void queue_init(struct event_queue *q, u64 start)
{
	*q = (struct event_queue){ .base = start, .time = start };
	queue_reserve(q, 1);
	q->chunk[0].end = QUEUE_CHUNK;
}

void queue_free(struct event_queue *q)
{
	free(q->chunk);
	*q = (struct event_queue){ .chunk = NULL };
}

static bool is_valid(const struct queue_entry *e)
{
	return e->event->seq == e->seq;
}

/* --- chunks ----------------------------------------------------------------------------------- */

void queue_reserve(struct event_queue *q, u32 nr)
{
	while (q->size <= nr)
		q->chunk = grow(q->chunk, q->size, &q->size, sizeof(*q->chunk));
}

/* The number of an empty chunk. All chunks may move. */
static u32 take_chunk(struct event_queue *q)
{
	u32 at = q->free;

	if (at) {
		q->free = q->chunk[at].next;
	} else {
		at = ++q->used;
		q->chunk = grow(q->chunk, at, &q->size, sizeof(*q->chunk));
	}
	q->chunk[at].next = q->chunk[at].first = q->chunk[at].end = 0;
	return at;
}

static u32 free_chunk(struct event_queue *q, u32 at)
{
	u32 next = q->chunk[at].next;

	q->chunk[at].next = q->free;
	q->free = at;
	return next;
}

/* --- slots ------------------------------------------------------------------------------------ */

/* The slot of an entry due at @when, until the base changes. */
static void find_slot(const struct event_queue *q, u64 when, u32 *level, u32 *digit)
{
	u64 differs = (when ^ q->base) | 1;

	*level = (63 - (u32)__builtin_clzll(differs)) / QUEUE_DIGIT;
	*digit = when >> (*level * QUEUE_DIGIT) & (QUEUE_SLOTS - 1);
}

/* Makes a chunk the slot's last. All chunks may move. */
static __noinline struct queue_chunk *add_chunk(struct event_queue *q, u32 level, u32 digit)
{
	struct queue_slot *slot = &q->slot[level][digit];
	u32 at = take_chunk(q);

	if (slot->tail)
		q->chunk[slot->tail].next = at;
	else
		slot->head = at;
	slot->tail = at;
	q->occupied[level] |= 1u << digit;
	q->levels |= 1u << level;
	return &q->chunk[at];
}

/* A slot without chunks ends with chunk 0, which is full. */
static inline void put(struct event_queue *q, struct queue_entry entry)
{
	struct queue_chunk *c;
	u32 level, digit;

	find_slot(q, entry.when, &level, &digit);
	c = &q->chunk[q->slot[level][digit].tail];
	if (c->end == QUEUE_CHUNK)
		c = add_chunk(q, level, digit);
	c->entry[c->end++] = entry;
	q->nr++;
}

/* Empties the slot. Returns the first of its chunks, a list that is now the caller's. */
static u32 empty_slot(struct event_queue *q, u32 level, u32 digit)
{
	u32 head = q->slot[level][digit].head;

	q->slot[level][digit] = (struct queue_slot){ 0, 0 };
	q->occupied[level] &= ~(1u << digit);
	if (!q->occupied[level])
		q->levels &= ~(1u << level);
	return head;
}

/* Empties the slot and puts its valid entries where they belong now. */
static void spread(struct event_queue *q, u32 level, u32 digit)
{
	for (u32 at = empty_slot(q, level, digit); at; at = free_chunk(q, at)) {
		q->nr -= (u32)(q->chunk[at].end - q->chunk[at].first);
		for (u32 i = q->chunk[at].first; i < q->chunk[at].end; i++)
			if (is_valid(&q->chunk[at].entry[i]))
				put(q, q->chunk[at].entry[i]);
	}
}

/* Drops the invalid entries. */
static void rebuild(struct event_queue *q)
{
	for (u32 level = 0; level < QUEUE_LEVELS; level++)
		for (u32 left = q->occupied[level]; left; left &= left - 1)
			spread(q, level, (u32)__builtin_ctz(left));
	q->rebuild_at = max(64u, 2 * q->nr);
}

/* --- the queue -------------------------------------------------------------------------------- */

void queue_set(struct event_queue *q, struct event *ev, u64 when)
{
	assert(when >= q->time);
	queue_cancel(q, ev);
	if (q->nr >= q->rebuild_at)
		rebuild(q);
	ev->when = when;
	ev->seq = ++q->seq;
	put(q, (struct queue_entry){ when, ev->seq, ev });
}

/* The first chunk of the first slot of a queue that is not empty. */
static struct queue_chunk *first_chunk(const struct event_queue *q, u32 *level, u32 *digit)
{
	*level = (u32)__builtin_ctz(q->levels);
	*digit = (u32)__builtin_ctz(q->occupied[*level]);
	return &q->chunk[q->slot[*level][*digit].head];
}

/* The earliest valid entry in @c and the chunks after it, or NULL. */
static const struct queue_entry *find_first(const struct event_queue *q,
					    const struct queue_chunk *c)
{
	const struct queue_entry *first = NULL;

	for (;; c = &q->chunk[c->next]) {
		for (const struct queue_entry *e = &c->entry[c->first]; e < &c->entry[c->end]; e++)
			if ((!first || e->when < first->when) && is_valid(e))
				first = e;
		if (!c->next)
			return first;
	}
}

/* Drops the first entry, at level 0, whose chunk is @c. */
static inline void drop_first(struct event_queue *q, struct queue_chunk *c, u32 digit)
{
	struct queue_slot *slot = &q->slot[0][digit];

	q->nr--;
	if (++c->first < c->end)
		return;
	if (slot->head == slot->tail)
		free_chunk(q, empty_slot(q, 0, digit));
	else
		slot->head = free_chunk(q, slot->head);
}

struct event *queue_pop(struct event_queue *q, u64 limit)
{
	struct event *ev = NULL;

	while (q->levels && !ev) {
		u32 level, digit;
		struct queue_chunk *c = first_chunk(q, &level, &digit);
		/* At level 0 all entries of a slot are due at the same time. */
		const struct queue_entry *first = level ? find_first(q, c) : &c->entry[c->first];

		if (first && first->when > limit)
			return NULL;
		if (first && is_valid(first)) {
			ev = first->event;
			ev->seq = 0;
			q->base = q->time = first->when;
		}
		if (level)
			spread(q, level, digit);
		else
			drop_first(q, c, digit);
	}
	return ev;
}

u32 queue_peek(const struct event_queue *q, const struct event *next[static 2])
{
	const struct queue_chunk *c;
	u32 level, digit;

	if (!q->levels)
		return 0;
	c = first_chunk(q, &level, &digit);
	next[0] = c->entry[c->first].event;
	if (c->first + 1u < c->end) {
		next[1] = c->entry[c->first + 1].event;
		return 2;
	}
	if (!c->next)
		return 1;
	c = &q->chunk[c->next];
	next[1] = c->entry[c->first].event;
	return 2;
}
