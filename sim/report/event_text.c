/* SPDX-License-Identifier: GPL-2.0-only */
/* Events as lines for people, in the print formats of sched/observe/event.def. */
#include <stdio.h>

#include "sim/report/explain.h"

struct flag {
	u64 bit;
	const char *name;
};

/* The names of the bits set in @value, @delimiter between them. */
static const char *flags_text(char *buf, size_t size, u64 value, const char *delimiter,
			      const struct flag *flags, u32 nr)
{
	size_t at = 0;

	for (u32 i = 0; i < nr; i++)
		if (value & flags[i].bit && at < size)
			at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? delimiter : "",
					       flags[i].name);
	return buf;
}

#define __print_flags(value, delimiter, ...)                                                       \
	flags_text((char[64]){ 0 }, 64, (u64)(value), delimiter,                                   \
		   (const struct flag[]){ __VA_ARGS__ },                                           \
		   ARRAY_SIZE(((const struct flag[]){ __VA_ARGS__ })))

#define EVENT(system, name, id, fields, ...)                                                       \
	static void print_##name(FILE *out, const void *record)                                    \
	{                                                                                          \
		const struct event_##name *REC = record;                                           \
                                                                                                   \
		fprintf(out, #name ": " __VA_ARGS__);                                              \
	}
#include "sched/observe/event.def"
#undef EVENT

void print_event(FILE *out, const struct sched_event *event)
{
	switch (event->type) {
#define EVENT(system, name, id, ...)                                                               \
	case id:                                                                                   \
		print_##name(out, event);                                                          \
		break;
#include "sched/observe/event.def"
#undef EVENT
	}
}

bool event_concerns(const struct sched_event *event, unsigned cpu)
{
	switch (event->type) {
	case EVENT_ID_sched_waking:
	case EVENT_ID_sched_wakeup:
	case EVENT_ID_sched_wakeup_new:
		return (u32)((const struct event_sched_wakeup *)event)->target_cpu == cpu;
	case EVENT_ID_sched_migrate_task:
		if ((u32)((const struct event_sched_migrate_task *)event)->dest_cpu == cpu)
			return true;
	}
	return event->cpu == cpu;
}
