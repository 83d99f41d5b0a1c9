/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters: which records of an event are kept, as an expression over its fields in Linux's
 * grammar (Documentation/trace/events.rst, "Event filtering"):
 *
 *	prev_pid == 7 && (next_comm ~ "hack*" || !(prev_state & 1))
 */
#pragma once

#include "kernel/trace/trace.h"

enum trace_field_kind {
	FIELD_UNSIGNED,
	FIELD_SIGNED,
	FIELD_TEXT,	    /* an array of characters */
	FIELD_LOCATION,	    /* u32: offset of a text in the record, length << 16 */
	FIELD_CPU,	    /* not in the record: the CPU that records */
	FIELD_CURRENT_COMM, /* likewise: the name of its thread */
};

struct trace_field {
	const char *name;
	u16 offset; /* in the record */
	u8 size;    /* in bytes */
	u8 kind;
};

/* The field of event number @event that is called @name, or NULL. */
const struct trace_field *trace_field_find(unsigned event, const char *name, size_t len);

/* The number in field @f of @record, extended to 64 bits by the field's sign. @f is no text. */
u64 trace_field_number(const struct trace_field *f, const void *record);

struct trace_filter;

/* Why a text is no filter. */
struct trace_filter_error {
	const char *what;
	size_t at; /* position in the text */
};

/*
 * The filter for event number @event that the @len bytes at @text describe; trace_filter_free()
 * ends it. NULL: it is none, and *error says why; error->what is NULL if memory is short.
 */
struct trace_filter *trace_filter_parse(unsigned event, const char *text, size_t len,
					struct trace_filter_error *error);
void trace_filter_free(struct trace_filter *f);
/* The text that it was made from. */
const char *trace_filter_text(const struct trace_filter *f);
/* Does @record, with its header, pass? Interrupts off, on the CPU that records it. */
bool trace_filter_passes(const struct trace_filter *f, const void *record);
