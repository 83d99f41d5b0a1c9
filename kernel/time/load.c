/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Load averages: how many threads ran, were ready to, or slept uninterruptibly, as decaying
 * averages over 1, 5 and 15 minutes.
 *
 * Every five seconds and one tick (so that the sampling cannot march in step with programs that
 * wake every second): load = load * exp(-5/T) + active * (1 - exp(-5/T)), in fixed point.
 */
#include "kernel/kernel.h"
#include "kernel/task/cpu.h"
#include "kernel/time/time.h"

/* LOAD_ONE * exp(-5/60), exp(-5/300), exp(-5/900) */
static const u32 decay[3] = { 1884, 2014, 2037 };
static u64 average[3];
static struct ktimer timer;

static unsigned count_active(void)
{
	unsigned active = 0;

	debug_assert(!arch_irq_enabled());
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		struct sched_cpu_stat stat;

		/* With the threads that fell asleep on a CPU that has left, until they wake. */
		sched_cpu_stat(machine, cpu, &stat);
		active += stat.nr_running + stat.nr_uninterruptible;
	}
	return active;
}

static void sample(struct ktimer *t)
{
	u64 active = (u64)count_active() << LOAD_SHIFT;

	debug_assert(arch_in_irq());
	for (unsigned i = 0; i < ARRAY_SIZE(average); i++) {
		u64 sum = average[i] * decay[i] + active * (LOAD_ONE - decay[i]);
		/* A rising load is rounded up: otherwise it would never reach a constant load. */
		average[i] = (sum + (active >= average[i] ? LOAD_ONE - 1 : 0)) >> LOAD_SHIFT;
	}
	ktimer_start(t, t->expires_ns + 5 * NS_PER_SEC + NS_PER_SEC / tick_hz);
}

void load_average(u64 loads[3])
{
	for (unsigned i = 0; i < ARRAY_SIZE(average); i++)
		loads[i] = READ_ONCE(average[i]);
}

static int load_init(void)
{
	ktimer_init(&timer, sample, NULL);
	ktimer_start(&timer, clock_ns() + 5 * NS_PER_SEC);
	return 0;
}
INITCALL(load_init);
