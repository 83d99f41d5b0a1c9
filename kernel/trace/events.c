/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of the events. It is made from the two lists sched/observe/event.def and
 * kernel/trace/event.def: for each event the `format` file that tells tools the binary layout, and
 * the function that prints a record as text. The print arguments of a list are C expressions over
 * REC, so one spelling serves both: as text in the format file, as code here.
 */
#include "kernel/trace/internal.h"
#include "lib/string.h"

/* After the events: it names their fields anew. */
#include "lib/event_format.h"

const char trace_header_page[] = EVENT_HEADER_PAGE;
STATIC_ASSERT(RING_DATA_SIZE == 4080, "as header_page says");

const char trace_header_event[] = "# compressed entry header\n"
				  "\ttype_len    :    5 bits\n"
				  "\ttime_delta  :   27 bits\n"
				  "\tarray       :   32 bits\n"
				  "\n"
				  "\tpadding     : type == 29\n"
				  "\ttime_extend : type == 30\n"
				  "\ttime_stamp : type == 31\n"
				  "\tdata max type_len  == 28\n";

/* --- the format files ------------------------------------------------------------------------ */

#define EVENT EVENT_FORMAT
#include "sched/observe/event.def"
#include "kernel/trace/event.def"
#undef EVENT

#define EVENT(system, name, id, fields, ...)                                                       \
	static const char print_fmt_##name[] = EVENT_PRINT_TEXT(__VA_ARGS__);
#include "sched/observe/event.def"
#include "kernel/trace/event.def"
#undef EVENT

size_t trace_event_format(const struct trace_event *ev, char *buf, size_t size)
{
	struct text out = text_of(buf, size);

	debug_assert(ev >= trace_events && ev < trace_events + NR_TRACE_EVENTS);
	event_format_begin(&out, ev->name, ev->id);
	ev->format(&out);
	event_format_end(&out, ev->print_fmt);
	return out.len;
}

/* --- records as text ------------------------------------------------------------------------- */

/* Not before the texts of the print formats, which would name its inside. */
#include "lib/event_text.h"

#define __get_str(name) ((const char *)REC + (REC->name & 0xffff))

/* In a ring an event is aligned to 4 bytes. */
#define EVENT(system, name, id, fields, ...)                                                       \
	static void print_##name(struct text *out, const void *record)                             \
	{                                                                                          \
		typedef __typeof__(struct event_##name) in_ring __aligned(4);                      \
		const in_ring *REC = record;                                                       \
                                                                                                   \
		text_add(out, __VA_ARGS__);                                                        \
	}
#include "sched/observe/event.def"
#include "kernel/trace/event.def"
#undef EVENT

/* --- the table ------------------------------------------------------------------------------- */

const struct trace_event trace_events[NR_TRACE_EVENTS] = {
#define EVENT(system, name, id, fields, ...)                                                       \
	[EVENT_##name] = { #system, #name, id, format_##name, print_##name, print_fmt_##name },
#include "sched/observe/event.def"
#include "kernel/trace/event.def"
#undef EVENT
};

const struct trace_event *trace_event_by_id(u16 id)
{
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++) {
		if (trace_events[nr].id == id)
			return &trace_events[nr];
	}
	return NULL;
}

u64 trace_events_switchable(void)
{
	return (BIT(NR_TRACE_EVENTS) - 1) & ~BIT(EVENT_print);
}

u64 trace_events_matching(const char *pattern, size_t len)
{
	char system[64], *name;
	u64 mask = 0;

	if (!len || len >= sizeof(system))
		return 0;
	str_copy(system, pattern, len + 1);
	name = strchr(system, ':');
	if (name)
		*name++ = '\0';
	for (unsigned nr = 0; nr < NR_TRACE_EVENTS; nr++) {
		const struct trace_event *ev = &trace_events[nr];
		bool in_system = str_glob(system, ev->system);

		if (name ? in_system && str_glob(*name ? name : "*", ev->name)
			 : in_system || str_glob(system, ev->name))
			mask |= BIT(nr);
	}
	return mask & trace_events_switchable();
}
