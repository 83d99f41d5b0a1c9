/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seam (sched/host.h) of a simulated machine. One thread plays every CPU, so locks cost
 * nothing; their order is checked all the same. A kick of another CPU and a timer are events.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/observe/event.h"
#include "sim/engine/engine.h"
#include "sim/engine/plugin.h"
#include "sim/engine/process.h"
#include "sim/engine/util.h"

/* The machine that the seam's functions act on. */
static struct sim *host;

void sim_select(struct sim *sim)
{
	host = sim;
}

/* --- the seam --------------------------------------------------------------------------------- */

u64 host_clock(unsigned cpu)
{
	return host->now + host->cpus[cpu].skew_ns;
}

void host_timer(unsigned cpu, u64 when)
{
	struct event *timer = &host->cpus[cpu].timer;

	if (when)
		queue_set(&host->queue, timer, time_max(when - host->cpus[cpu].skew_ns, host->now));
	else
		queue_cancel(&host->queue, timer);
}

void host_kick(unsigned cpu, bool urgent)
{
	struct sim_cpu *c = &host->cpus[cpu];

	host->count.kicks++;
	/* Without an interrupt a CPU notices when it next has a reason to look. */
	if (cpu == host->this_cpu || (!urgent && host->config.lazy))
		c->kicked = true;
	else if (!event_queued(&c->kick))
		queue_set(&host->queue, &c->kick, host->now + host->config.costs.ipi_ns);
}

/* The least time between two looks of a CPU that waits for another. */
#define LOOK_NS 100u

/* The CPU is busy with looking: it does that again when this time is over. */
bool host_wait(unsigned cpu)
{
	sim_pay(&host->cpus[cpu], max(host->config.costs.ipi_ns, (u64)LOOK_NS));
	return false;
}

void host_set_speed(unsigned cpu, u32 capacity)
{
	sim_set_speed(host, &host->cpus[cpu], capacity);
}

bool host_lock_held(const struct host_lock *lock)
{
	for (u32 i = 0; i < host->nr_held; i++)
		if (host->held[i] == lock)
			return true;
	return false;
}

/* One thread plays all CPUs, so a lock is always free. What waiting would have cost is added. */
static void pay_for_shard(struct host_lock *lock)
{
	struct sim_cpu *c = &host->cpus[host->this_cpu];
	u64 hold_ns = host->config.costs.shard_ns, now = host->now + c->debt_ns;
	u64 *free_at = &lock->word[0], wait_ns = *free_at > now ? *free_at - now : 0;

	*free_at = now + wait_ns + hold_ns;
	sim_pay(c, wait_ns + hold_ns);
	host->count.shard_locks++;
	host->count.shard_waits += wait_ns > 0;
	host->count.shard_wait_ns += wait_ns;
}

/* Ranks ascend strictly: the scheduler never holds two runqueue locks. */
void host_lock(struct host_lock *lock)
{
	if (unlikely(lock->rank == HOST_RANK_SHARD) && host->config.costs.shard_ns)
		pay_for_shard(lock);
	if (host->nr_held && host->held[host->nr_held - 1]->rank >= lock->rank)
		host_bug(__FILE__, __LINE__, "locks taken out of order");
	assert(host->nr_held < ARRAY_SIZE(host->held));
	host->held[host->nr_held++] = lock;
}

void host_unlock(struct host_lock *lock)
{
	if (!host->nr_held || host->held[host->nr_held - 1] != lock)
		host_bug(__FILE__, __LINE__, "unlock of a lock that is not the last taken");
	host->nr_held--;
	if (!host->nr_held)
		TELL(host, unlocked);
}

/* The run that is being made, and its first word. */
static u32 run[1 + TRACE_RUN_BYTES / 4];
static bool run_open;

void host_trace(const struct sched_event *event)
{
	assert(!run_open);
	TELL(host, event, event);
}

struct trace_run host_trace_reserve(u32 bytes)
{
	assert(bytes <= TRACE_RUN_BYTES && !run_open);
	run[0] = 0;
	run_open = true;
	return (struct trace_run){ .at = (u8 *)&run[1], .head = 0 };
}

void host_trace_commit(const u8 *end, u32 nr, unsigned cpu)
{
	u64 record[EVENT_SIZE_MAX / 8];
	const u32 *at = run;

	run_open = false;
	for (; nr; nr--, at += 1 + (*at & TRACE_RUN_SIZE)) {
		u32 size = 4 * (*at & TRACE_RUN_SIZE);

		memcpy(record, at + 1, size);
		*(struct sched_event *)record = (struct sched_event){ (u16)at[1], (u16)size, cpu };
		host_trace((const struct sched_event *)record);
	}
	assert((const u8 *)at == end - 4);
}

/* The runqueues that hold tasks, and that of the present event. */
static void dump_runqueues(void)
{
	static char text[1 << 16];
	struct sched_cpu_stat stat;

	for (unsigned cpu = 0; cpu < host->config.nr_cpus; cpu++) {
		sched_cpu_stat(host->s, cpu, &stat);
		if (!stat.nr_running && cpu != host->this_cpu)
			continue;
		sched_dump_cpu(host->s, cpu, text, sizeof(text));
		fprintf(stderr, "%s\n", text);
	}
}

void host_bug(const char *file, int line, const char *what)
{
	static bool again;

	host->nr_held = 0;
	snprintf(host->bug, sizeof(host->bug), "%s:%d: %s", file, line, what);
	if (host->leave)
		host->leave();
	fflush(stdout);
	fprintf(stderr, "schedsim: bug at %llu ns on CPU %u: %s\n",
		(unsigned long long)(host->now - SIM_START), host->this_cpu, host->bug);
	if (!again) {
		again = true;
		dump_runqueues();
	}
	exit(EXIT_BUG);
}

/* --- plugins that err ------------------------------------------------------------------------- */

/* If a hook of the plugin is being called: says what it did, and ends the program. */
static void blame_plugin(const char *phrase, const void *address)
{
	const char *hook = plugin_hook();

	if (!hook)
		return;
	fflush(stdout);
	fprintf(stderr, "schedsim: at %.6f s on CPU %u the hook %s of the policy %s ",
		(double)(host->now - SIM_START) / 1e9, host->this_cpu, hook,
		sched_policy_name(plugin_policy()));
	fprintf(stderr, "%s (%s", phrase, plugin_path());
	if (address)
		fprintf(stderr, ", address %p", address);
	fprintf(stderr, ")\n");
	exit(EXIT_BUG);
}

/* --- progress --------------------------------------------------------------------------------- */

static u64 turns_seen;

static u64 turns(void)
{
	return host->count.events + host->count.operations + host->stuck_steps;
}

/* Finds a call of the scheduler that does not return, by the CPU time that passes. */
static void look_for_progress(void)
{
	if (turns_seen == turns() && host->recover)
		host->recover();
	if (turns_seen == turns())
		blame_plugin("does not return", NULL);
	if (turns_seen == turns())
		host_bug(__FILE__, __LINE__, "no progress: the scheduler does not return");
	turns_seen = turns();
}

void host_watch(u32 ms)
{
	if (plugin_policy() && !host->recover)
		process_catch(blame_plugin, NULL);
	turns_seen = UINT64_MAX;
	process_watch(ms, look_for_progress);
}
