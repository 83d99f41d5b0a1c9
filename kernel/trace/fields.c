/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fields of the events as data: where each lies in a record, for filters. Made from the same
 * lists as the `format` files (events.c).
 */
#include "kernel/trace/filter.h"

#include "kernel/kernel.h"
#include "lib/string.h"

#define EVENT_FIELD(name, size, kind) { #name, offsetof(__typeof__(*REC), name), size, kind },

#define IS_SIGNED(type) ((type)-1 < (type)1)
#define FIELD(type, name, ...)                                                                     \
	EVENT_FIELD(name, sizeof(type), IS_SIGNED(type) ? FIELD_SIGNED : FIELD_UNSIGNED)
#define LONG(name, ...)	    EVENT_FIELD(name, 8, FIELD_SIGNED)
#define PID(name, ...)	    EVENT_FIELD(name, 4, FIELD_SIGNED)
#define COMM(name, ...)	    EVENT_FIELD(name, COMM_LEN, FIELD_TEXT)
#define STRING(name)	    EVENT_FIELD(name, 4, FIELD_LOCATION)
#define CHOICE(name, list)  EVENT_FIELD(name, 1, FIELD_UNSIGNED)
#define WORDS(name, n, ...) /* no filter has an array of numbers */
#define TEXT(name)	    /* in `print` only, which has no filter */

/* Fields are the last argument: they have commas. */
#define LIST_FIELDS(name, ...)                                                                     \
	static const struct trace_field *fields_of_##name(unsigned *nr)                            \
	{                                                                                          \
		const struct event_##name *REC = NULL; /* for its type only */                     \
		static const struct trace_field list[] = { __VA_ARGS__ };                          \
                                                                                                   \
		(void)REC;                                                                         \
		*nr = ARRAY_SIZE(list);                                                            \
		return list;                                                                       \
	}
#undef TRACE_EVENT
#define EVENT(system, name, id, fields, ...)		       LIST_FIELDS(name, fields)
#define TRACE_EVENT(system, name, id, parameters, fields, ...) LIST_FIELDS(name, fields)
#include "sched/observe/event.def"
#include "kernel/trace/event.def"
#undef EVENT
#undef TRACE_EVENT

static const struct trace_field *(*const fields_of[NR_TRACE_EVENTS])(unsigned *nr) = {
#define TRACE_EVENT		 EVENT
#define EVENT(system, name, ...) [EVENT_##name] = fields_of_##name,
#include "sched/observe/event.def"
#include "kernel/trace/event.def"
#undef EVENT
};

/* Every event has these: its header, and what is known where it happens. */
static const struct trace_field common_fields[] = {
	{ "common_type", 0, 2, FIELD_UNSIGNED },
	{ "common_flags", 2, 1, FIELD_UNSIGNED },
	{ "common_preempt_count", 3, 1, FIELD_UNSIGNED },
	{ "common_pid", 4, 4, FIELD_SIGNED },
	{ "CPU", 0, 4, FIELD_CPU },
	{ "cpu", 0, 4, FIELD_CPU },
	{ "COMM", 0, COMM_LEN, FIELD_CURRENT_COMM },
	{ "comm", 0, COMM_LEN, FIELD_CURRENT_COMM },
};

static const struct trace_field *find(const struct trace_field *list, unsigned nr, const char *name,
				      size_t len)
{
	for (unsigned i = 0; i < nr; i++) {
		if (strlen(list[i].name) == len && !memcmp(list[i].name, name, len))
			return &list[i];
	}
	return NULL;
}

const struct trace_field *trace_field_find(unsigned event, const char *name, size_t len)
{
	unsigned nr;
	const struct trace_field *list = fields_of[event](&nr), *own = find(list, nr, name, len);

	debug_assert(event < NR_TRACE_EVENTS);
	return own ? own : find(common_fields, ARRAY_SIZE(common_fields), name, len);
}
