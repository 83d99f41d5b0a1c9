/* SPDX-License-Identifier: GPL-2.0-only */
/* Events as lines for people, in the print formats of sched/observe/event.def. */
#include <stdio.h>

#include "lib/event_text.h"
#include "lib/fmt.h"
#include "sim/report/explain.h"

#define EVENT(system, name, id, fields, ...)                                                       \
	static void print_##name(FILE *out, const void *record)                                    \
	{                                                                                          \
		const struct event_##name *REC = record;                                           \
                                                                                                   \
		char line[512];                                                                    \
		struct text text = text_of(line, sizeof(line));                                    \
                                                                                                   \
		/* not with printf(): the formats are Linux's, and %Lu is not in every libc */     \
		text_add(&text, #name ": " __VA_ARGS__);                                           \
		fputs(line, out);                                                                  \
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
