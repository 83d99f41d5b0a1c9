/* SPDX-License-Identifier: GPL-2.0-only */
/* The `format` texts of the scheduler's events: files carry them, and so describe themselves. */
#include "sched/observe/event.h"
#include "sim/engine/util.h"
#include "sim/report/trace.h"

/* This comes after the events: it defines the macros of their fields anew. */
#include "lib/event_format.h"

#define EVENT EVENT_FORMAT
#include "sched/observe/event.def"
#undef EVENT

static const struct {
	const char *system, *name;
	int id;
	void (*format)(struct text *out);
	const char *print_fmt;
} events[NR_SCHED_EVENTS] = {
#define EVENT(system, name, id, fields, ...)                                                       \
	{ #system, #name, id, format_##name, EVENT_PRINT_TEXT(__VA_ARGS__) },
#include "sched/observe/event.def"
#undef EVENT
};

/* Returns the length of the text, of which @buf of @size bytes holds what fits. */
static size_t make_format(char *buf, size_t size, u32 nr)
{
	struct text text = text_of(buf, size);

	event_format_begin(&text, events[nr].name, events[nr].id);
	events[nr].format(&text);
	event_format_end(&text, events[nr].print_fmt);
	return text.len;
}

const char *event_system(u32 nr)
{
	return events[nr].system;
}

char *event_format_text(u32 nr)
{
	size_t size = make_format(NULL, 0, nr) + 1;
	char *buf = allocate(size, 1);

	make_format(buf, size, nr);
	return buf;
}
