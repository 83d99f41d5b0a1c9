/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events as C: one structure per row of event.def. The layout is the binary record that tools
 * read, so a host can copy it as it is: only the common header differs. Here it tells the host what
 * the event is; in the record, what the host knows better (context flags, thread id) takes the
 * place of size and cpu.
 */
#pragma once

#include "lib/types.h"

struct sched_event {
	u16 type; /* EVENT_ID_* */
	u16 size; /* in bytes, with this header; a multiple of 4 */
	u32 cpu;  /* where it happened: the CPU that the scheduler's caller runs on */
};

/* emit_sched_migrate_task(cpu, t, to) and so on. TRACE in trace.h calls one if its event is on. */
struct task;
struct entity;
struct fair_queue;
#define EVENT(...)
#define TRACE_EVENT(system, name, id, parameters, ...) void emit_##name parameters;
#include "sched/observe/event.def"
#undef EVENT
#undef TRACE_EVENT

/* To all who ask for events only, rows with parameters are like the others. */
#define TRACE_EVENT(system, name, id, parameters, ...) EVENT(system, name, id, __VA_ARGS__)

/* The 28 words that the ring buffer's short header can tell. */
#define EVENT_SIZE_MAX 112

#define FIELD(type, name, ...) type name;
#define LONG(name, ...)	       s64 name;
#define PID(name, ...)	       s32 name;
#define COMM(name, ...)	       char name[16];
#define CHOICE(name, list)     u8 name;

/*
 * The layout of each system. Linux's events have its holes. Records of our own have none, so
 * every compiler makes the same bytes; and they lie at any multiple of 4, as they do in a ring.
 */
#define LAYOUT_sched
#define LAYOUT_power
#define LAYOUT_decision __attribute__((packed, aligned(4)))
#define LAYOUT_pelt	LAYOUT_decision

#define EVENT(system, name, id, fields, ...)                                                       \
	struct event_##name {                                                                      \
		struct sched_event common;                                                         \
		fields                                                                             \
	} LAYOUT_##system;                                                                         \
	STATIC_ASSERT(sizeof(struct event_##name) <= EVENT_SIZE_MAX, "fits a short header");
#include "sched/observe/event.def"
#undef EVENT

/* Dense numbers, for masks: BIT(EVENT_sched_switch). A host may continue them. */
enum sched_event_nr {
#define EVENT(system, name, id, ...) EVENT_##name,
#include "sched/observe/event.def"
#undef EVENT
	NR_SCHED_EVENTS
};

enum sched_event_id {
#define EVENT(system, name, id, ...) EVENT_ID_##name = (id),
#include "sched/observe/event.def"
#undef EVENT
};

/*
 * Parts of the list, each up to the next: speeds of CPUs, averages, decisions. Of the latter there
 * are those of a fair policy's hooks, of the classes above, about energy, and about quotas.
 */
#define POWER_EVENTS	     (BIT(EVENT_sched_pelt_se) - BIT(EVENT_cpu_frequency))
#define AVERAGE_EVENTS	     (BIT(EVENT_sched_decision_candidate) - BIT(EVENT_sched_pelt_se))
#define DECISION_EVENTS	     (BIT(NR_SCHED_EVENTS) - BIT(EVENT_sched_decision_candidate))
#define FAIR_DECISION_EVENTS (BIT(EVENT_sched_decision_cpu) - BIT(EVENT_sched_decision_candidate))
#define CLASS_DECISION_EVENTS                                                                      \
	(BIT(EVENT_sched_decision_task) | BIT(EVENT_sched_decision_level) |                        \
	 BIT(EVENT_sched_decision_class))
#define ENERGY_DECISION_EVENTS (BIT(EVENT_sched_decision_use) | BIT(EVENT_sched_decision_energy))
#define QUOTA_DECISION_EVENTS  (BIT(EVENT_sched_decision_quota) | BIT(EVENT_sched_decision_pool))

#undef CHOICE
#undef FIELD
#undef LONG
#undef PID
#undef COMM

STATIC_ASSERT(sizeof(struct event_sched_switch) == 64, "as Linux lays it out");
STATIC_ASSERT(sizeof(struct event_sched_stat_runtime) == 48, "as Linux lays it out");
STATIC_ASSERT(sizeof(struct event_sched_decision_quota) == 108, "its fields leave no hole");
STATIC_ASSERT(sizeof(struct event_sched_decision_pool) == 112, "its fields leave no hole");
