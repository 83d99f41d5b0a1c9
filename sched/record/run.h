/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records of one decision: rows of one kind, then the record of the decision itself. They are
 * made where they stay, in a run of the host's trace (host.h), so a row costs its fields and little
 * more:
 *
 *	static const struct run_kind kind = {
 *		EVENT_ID_sched_decision_x, sizeof(struct event_sched_decision_x),
 *		sizeof(struct event_sched_decision_y)
 *	};
 *
 *	struct run run;
 *
 *	run_begin(&run, &kind, expected, cpu);
 *	while (... && (row = run_row(&run, &kind)))
 *		row->field = ...;
 *	record = run_record(&run, &kind, EVENT_ID_sched_decision_y);
 *	if (record) {
 *		nr = run_nr(&run, &kind);
 *		record->nr_rows = run.nr_rows + nr;
 *		record->field = ...;
 *		run_end(&run, &kind, nr);
 *	}
 *
 * The room holds arbitrary bytes, so each field except `common` must be filled in. From run_begin()
 * to run_end() nothing else is traced on this CPU.
 */
#pragma once

#include "sched/host.h"
#include "sched/observe/check.h"
#include "sched/observe/decision.h"
#include "sched/observe/event.h"

/* A word as it lies in a run. */
typedef u64 run_word __aligned(4);

#define RUN_ROWS 40u /* in one run; for more there is another */

struct run_kind {
	u16 type, size; /* of a row */
	u16 record;	/* size of the decision's own record */
};

struct run {
	u8 *first, *next; /* the first record, and where the next one goes; NULL: it is lost */
	u8 *end;	  /* the next row does not fit */
	u64 head;	  /* of each record, but for its type */
	u32 nr_rows;	  /* in runs before this one */
	u32 max;	  /* further rows are left out */
	u32 cpu;
};

/* Bytes from one record to the next. */
static inline u32 run_step(u32 size)
{
	return size + 4;
}

/* Asks the host for room for @rows rows, and the record. */
static inline void run_reserve(struct run *r, const struct run_kind *kind, u32 rows)
{
	u32 bytes = min(rows, RUN_ROWS) * run_step(kind->size);
	struct trace_run room = host_trace_reserve(bytes + kind->record);

	SCHED_DEBUG_ASSERT(bytes + kind->record <= TRACE_RUN_BYTES);
	r->first = r->next = r->end = room.at;
	r->head = room.head;
	if (likely(room.at)) {
		((u32 *)room.at)[-1] |= kind->size / 4u;
		r->end += bytes;
	}
}

/* Begins a decision on @cpu. @expected: how many rows there may be; more or fewer are fine. */
static inline void run_begin(struct run *r, const struct run_kind *kind, u32 expected, unsigned cpu)
{
	r->nr_rows = 0;
	r->max = DECISION_ROWS_MAX;
	r->cpu = cpu;
	run_reserve(r, kind, expected);
}

/* Another run (run.c): where the next row goes; NULL: that row is left out. */
u8 *run_more(struct run *r, const struct run_kind *kind);

/* @at is a row: fills in what is not a field, there and before the next record. */
static inline void run_put_head(u8 *at, u64 head, u32 size)
{
	*(run_word *)at = head;
	*(u32 *)(at + size) = size / 4;
}

/* Where the next row goes; NULL: it is left out. */
static inline void *run_row(struct run *r, const struct run_kind *kind)
{
	u8 *row = r->next == r->end ? run_more(r, kind) : r->next;

	SCHED_DEBUG_ASSERT(r->next <= r->end);
	if (!row)
		return NULL;
	run_put_head(row, r->head | kind->type, kind->size);
	r->next = row + run_step(kind->size);
	return row;
}

/*
 * Rows in a loop keep in registers what run_row() reads and writes for each:
 *
 *	struct rows rows = rows_begin(&run, &kind);
 *
 *	while (... && (row = rows_next(&rows, &run, &kind)))
 *		row->field = ...;
 *	rows_end(&rows, &run, &kind);
 */
struct rows {
	u8 *row;  /* the last one, or what would be before the first one */
	u64 head; /* of each row */
};

static inline struct rows rows_begin(const struct run *r, const struct run_kind *kind)
{
	return (struct rows){ r->next - run_step(kind->size), r->head | kind->type };
}

/* Where the next row goes; NULL: it is left out, and the loop is at its end. */
static __inlined void *rows_next(struct rows *rows, struct run *r, const struct run_kind *kind)
{
	u8 *row = rows->row + run_step(kind->size);

	if (unlikely(row == r->end)) {
		r->next = row;
		row = run_more(r, kind);
		if (!row)
			return NULL;
		rows->head = r->head | kind->type;
	}
	run_put_head(row, rows->head, kind->size);
	rows->row = row;
	return row;
}

static inline void rows_end(const struct rows *rows, struct run *r, const struct run_kind *kind)
{
	r->next = rows->row + run_step(kind->size);
}

/* Rows in this run. */
static inline u32 run_nr(const struct run *r, const struct run_kind *kind)
{
	return (u32)(r->next - r->first) / run_step(kind->size);
}

/* Where the record of @type goes, after the rows; NULL: the decision is lost. */
static inline void *run_record(const struct run *r, const struct run_kind *kind, unsigned type)
{
	u32 *word = (u32 *)(r->next - 4);

	if (unlikely(!r->next))
		return NULL;
	*word = (*word & ~TRACE_RUN_SIZE) | kind->record / 4u;
	*(run_word *)r->next = r->head | type;
	return r->next;
}

/* Hands over the decision, after @nr rows in this run. */
static inline void run_end(const struct run *r, const struct run_kind *kind, u32 nr)
{
	SCHED_DEBUG_ASSERT(nr == run_nr(r, kind));
	host_trace_commit(r->next + run_step(kind->record), nr + 1, r->cpu);
}
