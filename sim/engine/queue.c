/* SPDX-License-Identifier: GPL-2.0-only */
/* The event queue; see queue.h. */
#include <assert.h>

#include "sim/engine/queue.h"
#include "sim/engine/util.h"

void queue_init(struct event_queue *q, u64 start)
{
	*q = (struct event_queue){ .base = start, .time = start };
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
	u64 differs = when ^ q->base;

	*level = differs ? (63 - (u32)__builtin_clzll(differs)) / QUEUE_DIGIT : 0;
	*digit = when >> (*level * QUEUE_DIGIT) & (QUEUE_SLOTS - 1);
}

static void put(struct event_queue *q, struct queue_entry entry)
{
	struct queue_slot *slot;
	struct queue_chunk *c;
	u32 level, digit, at;

	find_slot(q, entry.when, &level, &digit);
	slot = &q->slot[level][digit];
	if (!slot->tail || q->chunk[slot->tail].end == QUEUE_CHUNK) {
		at = take_chunk(q);
		if (slot->tail)
			q->chunk[slot->tail].next = at;
		else
			slot->head = at;
		slot->tail = at;
	}
	c = &q->chunk[slot->tail];
	c->entry[c->end++] = entry;
	q->occupied[level] |= 1u << digit;
	q->levels |= 1u << level;
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

/* The earliest entry of the first slot; with @valid the earliest valid one. */
static const struct queue_entry *find_first(const struct event_queue *q, bool valid)
{
	u32 level = (u32)__builtin_ctz(q->levels), digit = (u32)__builtin_ctz(q->occupied[level]);
	const struct queue_entry *first = NULL;

	for (u32 at = q->slot[level][digit].head; at; at = q->chunk[at].next) {
		const struct queue_chunk *c = &q->chunk[at];

		for (const struct queue_entry *e = &c->entry[c->first]; e < &c->entry[c->end]; e++)
			if ((!first || e->when < first->when) && (!valid || is_valid(e)))
				first = e;
		if (!level)
			break;
	}
	return first;
}

/* Drops the first entry of a slot at level 0, whose entries are all due at the same time. */
static void drop_first(struct event_queue *q, u32 digit)
{
	struct queue_slot *slot = &q->slot[0][digit];
	struct queue_chunk *c = &q->chunk[slot->head];

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
		u32 level = (u32)__builtin_ctz(q->levels);
		u32 digit = (u32)__builtin_ctz(q->occupied[level]);
		const struct queue_entry *first = find_first(q, level);

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
			drop_first(q, digit);
	}
	return ev;
}

struct event *queue_next(const struct event_queue *q)
{
	return q->levels ? find_first(q, false)->event : NULL;
}

const struct event *queue_second(const struct event_queue *q)
{
	const struct queue_chunk *c;

	if (!(q->levels & 1))
		return NULL;
	c = &q->chunk[q->slot[0][__builtin_ctz(q->occupied[0])].head];
	if (c->first + 1 < c->end)
		return c->entry[c->first + 1].event;
	return c->next ? q->chunk[c->next].entry[q->chunk[c->next].first].event : NULL;
}
