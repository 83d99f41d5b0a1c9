/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seam: all that the scheduler asks of its host. The kernel, the unit
 * tests and the simulator each implement these twelve functions; nothing else
 * is undefined in the scheduler's objects (`make test` checks that with nm).
 *
 * Every function may be called with runqueue locks held and interrupts off,
 * so none of them may sleep, switch or call back into the scheduler.
 */
#pragma once

#include "lib/types.h"

/*
 * A lock whose implementation belongs to the host; the storage is the same
 * everywhere so that a runqueue has one layout. The scheduler sets @rank and
 * @cpu once. Ranks are taken in strictly ascending order: a CPU never holds two
 * locks of one rank, so never two runqueues'. Test hosts and debug kernels check it.
 */
struct host_lock {
	u64 word[2];
	u32 rank;
	u32 cpu;
};

enum host_rank {
	HOST_RANK_RQ = 1,    /* rq.lock */
	HOST_RANK_GROUP = 2, /* bandwidth.lock, of a task group's quota */
	HOST_RANK_SHARD = 3, /* shard.lock, of the shared wake queue */
	HOST_RANK_LEAF = 4,  /* sched.waste_lock, sched.family_lock, freq_domain.lock */
};

struct sched_event;

/* Time of @cpu in ns. Never decreases on one CPU; CPUs may disagree slightly. */
u64 host_clock(unsigned cpu);

/*
 * Arm the one-shot timer of @cpu: call sched_timer() there at @when (ns of
 * host_clock). 0 cancels; a new call replaces the old. May be late, never early.
 * Called on @cpu itself.
 */
void host_timer(unsigned cpu, u64 when);

/*
 * Have @cpu call sched_switch_begin() soon; if not @urgent, a host may let it wait until @cpu is
 * back in user mode. A tick that finds such a call unanswered makes an urgent one. Idempotent;
 * calls may coalesce.
 */
void host_kick(unsigned cpu, bool urgent);

/*
 * The caller, on @cpu behind a switch and without a lock, has nothing to do before other CPUs have
 * acted, which may need an answer of this one. True: a moment has passed for that. False: it passes
 * when the call of sched_switch_end() is over, before the task of @cpu does anything.
 */
bool host_wait(unsigned cpu);

/* @cpu does @capacity / 1024 of the fastest one's work from now on; 0: it idles. See freq.h */
void host_set_speed(unsigned cpu, u32 capacity);

/* Non-recursive. The caller has interrupts off. */
void host_lock(struct host_lock *lock);
void host_unlock(struct host_lock *lock);

/* Exact, for assertions: does the caller's context hold @lock? */
bool host_lock_held(const struct host_lock *lock);

/* Record @event. Bounded time, takes no lock, never calls back. */
void host_trace(const struct sched_event *event);

/*
 * The same for a run of records, which the caller makes where they stay. Returns room for @bytes of
 * them; at NULL: they are lost. The record at `at` follows a word whose low bits, TRACE_RUN_SIZE,
 * are 0; the caller adds the size of the record in words. The other records follow, each after a
 * word that is its size in words. A record begins with the u64 `head` + its type (EVENT_ID_*); its
 * size is a multiple of 4 and at most EVENT_SIZE_MAX. All addresses are multiples of 4.
 *
 * The caller hands over @nr records, at least one, which end 4 bytes before @end, and happened on
 * @cpu. In between it stays where it is and traces nothing else.
 */
#define TRACE_RUN_SIZE	0x1fu
#define TRACE_RUN_BYTES 4064u /* of a run */
struct trace_run {
	u8 *at;
	u64 head;
};
struct trace_run host_trace_reserve(u32 bytes);
void host_trace_commit(const u8 *end, u32 nr, unsigned cpu);

/* An internal impossibility: dump every runqueue and stop the machine. */
__noreturn void host_bug(const char *file, int line, const char *what);
