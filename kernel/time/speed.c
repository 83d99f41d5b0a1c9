/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs of several speeds, on a machine whose CPUs have one. A CPU at capacity c runs for c / 1024
 * of each slice of 100 us and is stalled for the rest of it, so that unmodified programs slow down.
 *
 * The stall is in the timer interrupt: the CPU halts there until its time is over. It serves other
 * interrupts meanwhile, but switches only afterwards. To scheduler and program the stall is time
 * in which the running task had the CPU: it is charged, and ticks count it.
 *
 * The stall that a CPU owes is counted exactly: (1024 - c) / c ns for each ns at capacity c. It is
 * paid when it makes a slice's stall. The rest, and what a late interrupt paid too much, stays when
 * the CPU idles, or when its speed changes. A CPU that idles owes nothing more.
 *
 * The boot parameters are opp= (the table, lib/opp.h) and governor=. Without a table nothing here
 * is ever called.
 *
 * Locking: a CPU's record is its own, with interrupts off; `capacity` is written by others, which
 * then send an interrupt.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/hotplug.h"
#include "kernel/pseudo/procfs.h"
#include "kernel/task/cpu.h"
#include "kernel/task/task.h"
#include "kernel/time/speed.h"
#include "kernel/time/tick.h"
#include "kernel/time/time.h"
#include "lib/string.h"
#include "sched/host.h"

#define SLICE_NS   100000
#define MIN_RUN_NS 1000 /* so that a stall that comes late does not follow upon itself */

struct speed_cpu {
	u32 capacity; /* the present one, or of the last work; written by any CPU */
	u32 applied;  /* up to which owed_ns is accounted */
	bool busy, stalled;
	u64 since;   /* while busy: owed_ns holds as of then */
	s64 owed_ns; /* of stall; negative: it stalled too long */
	struct ktimer timer;
};

static struct speed_cpu speed_cpus[MAX_CPUS];
static struct opp_table table;
static bool enabled;
bool speeds_on;

const struct opp_table *speed_table(void)
{
	return enabled ? &table : NULL;
}

/* --- stalls; on the CPU of @c, interrupts off --------------------------------------------- */

/* Is this the CPU of @c, with interrupts off? */
static bool is_own(const struct speed_cpu *c)
{
	return c == &speed_cpus[arch_cpu_id()] && !arch_irq_enabled();
}

static u64 stall_for(u64 ran_ns, u32 capacity)
{
	debug_assert(capacity && capacity <= OPP_CAPACITY);
	return ran_ns * (OPP_CAPACITY - capacity) / capacity;
}

/* Accounts up to @now, and takes the present capacity. */
static void account(struct speed_cpu *c, u64 now)
{
	debug_assert(is_own(c));
	if (c->busy && !c->stalled) {
		c->owed_ns += (s64)stall_for(now - c->since, c->applied);
		c->since = now;
	}
	c->applied = READ_ONCE(c->capacity);
}

/* Sets the timer for when the CPU owes the stall of a slice. */
static void arm(struct speed_cpu *c, u64 now)
{
	s64 stall_ns = SLICE_NS * (s64)(OPP_CAPACITY - c->applied) / OPP_CAPACITY, run_ns;

	debug_assert(is_own(c));
	if (!c->busy || c->stalled || c->applied == OPP_CAPACITY)
		return;
	run_ns = (stall_ns - c->owed_ns) * (s64)c->applied / (s64)(OPP_CAPACITY - c->applied);
	ktimer_start(&c->timer, now + (u64)max(run_ns, (s64)MIN_RUN_NS));
}

static void stall(struct speed_cpu *c, u64 now)
{
	const struct user_regs *regs = this_cpu()->irq_regs;
	u64 until = now + (u64)c->owed_ns;

	debug_assert(is_own(c));
	c->stalled = true;
	ktimer_start(&c->timer, until);
	for (timer_program_next(); now < until; now = clock_ns())
		arch_cpu_idle();
	c->stalled = false;
	c->owed_ns = (s64)(until - now);
	c->since = now;
	c->applied = READ_ONCE(c->capacity);
	this_cpu()->irq_regs = regs;
}

/* A slice has run, or a stall is over; the latter is seen by stall(). */
static void slice_ends(struct ktimer *t)
{
	struct speed_cpu *c = &speed_cpus[arch_cpu_id()];
	u64 now = clock_ns();

	debug_assert(!arch_irq_enabled());
	/* A timer of a CPU that left the service ends elsewhere. */
	if (t != &c->timer || c->stalled || !c->busy)
		return;
	account(c, now);
	if (c->owed_ns > 0)
		stall(c, now);
	arm(c, clock_ns());
}

static void recheck(struct speed_cpu *c)
{
	u64 now = clock_ns();

	debug_assert(is_own(c));
	account(c, now);
	arm(c, now);
}

void speed_recheck_slow(void)
{
	struct speed_cpu *c = &speed_cpus[arch_cpu_id()];

	debug_assert(!arch_irq_enabled());
	if (c->applied != READ_ONCE(c->capacity))
		recheck(c);
}

void host_set_speed(unsigned cpu, u32 capacity)
{
	struct speed_cpu *c = &speed_cpus[cpu];
	bool is_mine = cpu == arch_cpu_id();

	debug_assert(!arch_irq_enabled());
	if (capacity)
		WRITE_ONCE(c->capacity, capacity);
	if (!is_mine) {
		arch_send_reschedule(cpu);
		return;
	}
	if (c->busy == !!capacity) {
		recheck(c);
		return;
	}
	account(c, clock_ns());
	c->busy = capacity;
	c->since = clock_ns();
	arm(c, c->since);
}

/* --- the table ---------------------------------------------------------------------------- */

static void take_table(const char *text, const char *name, unsigned nr_cpus, void *mem)
{
	struct cpu_place *places = mem;

	for (unsigned i = 0; i < nr_cpus; i++)
		places[i] = (struct cpu_place){
			.core = arch_cpus[i].core,
			.llc = arch_cpus[i].llc,
			.package = arch_cpus[i].package,
			.node = arch_cpus[i].node,
		};
	enabled = opp_read(&table, text, places, nr_cpus);
	if (!enabled)
		kprintf("opp=%s: %s; all CPUs have one speed\n", name, table.error);
}

bool speed_read(unsigned nr_cpus, void *scratch)
{
	const char *name = cmdline_get("opp"), *shape, *text;

	debug_assert(nr_cpus <= ARRAY_SIZE(speed_cpus));
	if (!name || !strcmp(name, "none"))
		return false;
	text = opp_builtin(name, &shape);
	if (!text)
		kprintf("opp=%s: there is no such table; all CPUs have one speed\n", name);
	else
		take_table(text, name, nr_cpus, scratch);
	for (unsigned i = 0; enabled && i < nr_cpus; i++)
		ktimer_init(&speed_cpus[i].timer, slice_ends, NULL);
	speeds_on = enabled;
	return enabled;
}

static int governor_init(void)
{
	const char *name = cmdline_get("governor");
	struct cpumask online = online_cpus();
	unsigned cpu;
	int err = 0;

	if (!name)
		return 0;
	if (!enabled) {
		kprintf("governor=%s: all CPUs have one speed\n", name);
		return 0;
	}
	for_each_cpu(cpu, &online)
		with_irqs_off(err = sched_freq_govern(machine, cpu, name));
	if (err)
		kprintf("governor=%s: there is no such governor\n", name);
	return 0;
}
INITCALL(governor_init);
