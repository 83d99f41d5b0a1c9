/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events: for each row of event.def the function that makes its record and hands it to the
 * host. TRACE in trace.h calls it if the event is on.
 */
#include "sched/core/core.h"
#include "lib/string.h"
#include "sched/fair/core/fair.h"
#include "sched/observe/trace.h"
#include "sched/record/class.h"

void sched_trace_set(struct sched *s, u64 mask)
{
	bool fair = traced_any(s, FAIR_DECISION_EVENTS);
	bool classes_too = traced_any(s, CLASS_DECISION_EVENTS);

	WRITE_ONCE(s->trace_mask, mask);
	if (fair != !!traced_any(s, FAIR_DECISION_EVENTS))
		fair_record(s);
	if (classes_too != !!traced_any(s, CLASS_DECISION_EVENTS))
		class_record(s);
}

/* A name as a record has it: cut, or filled up with NULs. */
struct comm {
	char text[TASK_COMM_LEN];
};

static struct comm comm_of(const char *name)
{
	struct comm comm = { "" };

	str_copy(comm.text, name, sizeof(comm.text));
	return comm;
}

#define FIELD(type, name, value) record.name = (type)(value);
#define LONG(name, value)	 FIELD(s64, name, value)
#define PID(name, value)	 FIELD(s32, name, value)
#define COMM(name, value)	 __builtin_memcpy(record.name, value, sizeof(record.name));

/*
 * A hole between two fields is zero: records are shown as bytes. Where there is none, nothing is
 * zeroed, because the compiler sees that all of it is written again.
 */
#undef TRACE_EVENT
#define EVENT(...)
#define TRACE_EVENT(system, name, id, parameters, fields, ...)                                     \
	void emit_##name parameters                                                                \
	{                                                                                          \
		struct event_##name record;                                                        \
                                                                                                   \
		__builtin_memset(&record, 0, sizeof(record));                                      \
		record.common = (struct sched_event){ id, sizeof(record), cpu };                   \
		fields host_trace(&record.common);                                                 \
	}
#include "sched/observe/event.def"
