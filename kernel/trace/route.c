/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a record goes when there is something to ask: which instances want the event, whether
 * their filters and lists of threads let it pass, and which histograms count it. trace.c says when
 * records come this way.
 *
 * LOCKING. As record.c: none, interrupts off. What an instance's settings point to is freed after
 * trace_wait_for_writers().
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/trace/internal.h"
#include "kernel/trace/perf.h"
#include "lib/errno.h"
#include "lib/string.h"

/* A page for each CPU: a run and the word before its first record; a run is the longest. */
static void *rooms[MAX_CPUS];
STATIC_ASSERT(TRACE_RUN_BYTES + sizeof(u64) <= PAGE_SIZE, "a run has room");

void *trace_route_room(void)
{
	debug_assert(!arch_irq_enabled());
	return rooms[arch_cpu_id()];
}

bool trace_route_init(void)
{
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		u64 pa = page_alloc(0);

		if (!pa)
			return false;
		rooms[cpu] = phys_to_virt(pa);
	}
	return true;
}

/* The thread that records, or the one that is switched to or woken. */
static bool concerns(const u64 *pids, unsigned nr, const struct record_header *record)
{
	if (pids_have(pids, record->pid))
		return true;
	if (nr == EVENT_sched_switch)
		return pids_have(pids, ((const struct event_sched_switch *)record)->next_pid);
	if (nr == EVENT_sched_waking || nr == EVENT_sched_wakeup || nr == EVENT_sched_wakeup_new)
		return pids_have(pids, ((const struct event_sched_waking *)record)->pid);
	return false;
}

STATIC_ASSERT(sizeof(struct event_sched_waking) == sizeof(struct event_sched_wakeup) &&
		      sizeof(struct event_sched_waking) == sizeof(struct event_sched_wakeup_new),
	      "the three are one");

static bool wants(const struct trace_instance *t, unsigned nr, const struct record_header *record)
{
	const struct trace_filter *filter = READ_ONCE(t->filter[nr]);
	const u64 *pids = READ_ONCE(t->pids);

	debug_assert(!arch_irq_enabled());
	return READ_ONCE(t->wanted) & BIT(nr) && (!pids || concerns(pids, nr, record)) &&
	       (!filter || trace_filter_passes(filter, record));
}

static void put(struct ring *r, const struct record_header *record, u32 size, u64 now)
{
	void *to;

	debug_assert(!arch_irq_enabled());
	ring_open(r);
	to = ring_reserve(r, now, size);
	if (to) {
		memcpy(to, record, size);
		ring_commit(r);
	}
	ring_shut(r);
}

void trace_route(const struct record_header *record, u32 size, u64 now)
{
	unsigned nr = (unsigned)(trace_event_by_id(record->type) - trace_events);
	unsigned cpu = arch_cpu_id();

	debug_assert(nr < NR_TRACE_EVENTS);
	debug_assert(!arch_irq_enabled());
	for (unsigned i = 0; i < NR_TRACE_INSTANCES; i++) {
		struct trace_instance *t = &trace_instances[i];

		trace_count(t, nr, record);
		if (wants(t, nr, record))
			put(&t->rings[cpu], record, size, now);
	}
	perf_route(nr, record, size, now);
}

/* --- threads that are followed --------------------------------------------------------------- */

static void follow(const struct trace_instance *t, int parent, int child)
{
	u64 *pids = READ_ONCE(t->pids);

	debug_assert(!arch_irq_enabled());
	if (pids && trace_option(t, TRACE_EVENT_FORK))
		pids_follow(pids, parent, child);
}

void trace_follow(int parent, int child)
{
	unsigned long flags = arch_irq_save();

	for (unsigned i = 0; i < NR_TRACE_INSTANCES; i++)
		follow(&trace_instances[i], parent, child);
	arch_irq_restore(flags);
}
