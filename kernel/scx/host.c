/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel as the host of programs: memory, CPUs, time (sim/scx/binding.h). */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/procfs.h"
#include "kernel/scx/scx.h"
#include "kernel/task/task.h"
#include "kernel/time/speed.h"
#include "kernel/time/time.h"
#include "lib/opp.h"
#include "lib/prng.h"

void scx_relax(void)
{
	arch_cpu_relax();
}

u32 scx_nr_cpus(void)
{
	return arch_nr_cpus;
}

u32 scx_this_cpu(void)
{
	const struct scx_frame *f = scx_frame();

	return f && f->pinned ? f->pinned - 1 : arch_cpu_id();
}

bool scx_in_interrupt(void)
{
	return arch_in_irq();
}

struct scx_place scx_place(u32 cpu)
{
	const struct opp_table *speeds = speed_table();
	struct scx_place place = { arch_cpus[cpu].core, arch_cpus[cpu].llc, OPP_CAPACITY };
	const struct opp_type *type;

	if (!speeds)
		return place;
	type = &speeds->type[speeds->type_of[speeds->domain_of[cpu]]];
	place.capacity = type->opp[type->nr_opps - 1].capacity;
	return place;
}

u32 scx_hz(void)
{
	return tick_hz;
}

void scx_need_constant(void *p, size_t n)
{
	scx_need(p, n, true);
}

u64 scx_clock(void)
{
	return clock_ns();
}

/* Each CPU has its own sequence. Interrupts off. */
u32 scx_random(void)
{
	static struct prng state[MAX_CPUS];
	u32 cpu = arch_cpu_id();

	debug_assert(!arch_irq_enabled());
	if (!state[cpu].state)
		prng_seed(&state[cpu], cmdline_get_u64("seed", 1) + cpu);
	return (u32)prng_u64(&state[cpu]);
}

const struct cpumask *scx_possible(void)
{
	static struct cpumask masks[MAX_CPUS];
	struct cpumask *m = &masks[arch_cpu_id()];

	*m = possible_cpus();
	return m;
}

const struct cpumask *scx_online(void)
{
	static struct cpumask masks[MAX_CPUS];
	struct cpumask *m = &masks[arch_cpu_id()];

	*m = online_cpus();
	return m;
}

void *scx_alloc(size_t size)
{
	return kzalloc(size);
}

void *scx_alloc_large(size_t size)
{
	return vmap_alloc(size);
}

void scx_free(void *p)
{
	kfree(p);
}

void scx_free_large(void *p)
{
	vmap_free(p);
}

void scx_say(char *text)
{
	kprintf("sched_ext: %s: %s\n", scx.program->ops->name, text);
}

/* --- memory that has left ------------------------------------------------- */

static struct scx_left *left; /* a stack; atomic */

/* In a call, which cannot wait for others. */
void scx_keep_left(struct scx_left *l)
{
	if (l->t)
		thread_get(thread_of(l->t));
	l->next = READ_ONCE(left);
	while (!__atomic_compare_exchange_n(&left, &l->next, l, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

bool scx_has_left(void)
{
	return READ_ONCE(left);
}

void scx_free_left(void)
{
	struct scx_left *all = __atomic_exchange_n(&left, NULL, __ATOMIC_ACQUIRE), *next;

	might_sleep();
	if (!all)
		return;
	/* Calls that were running may have it, and give it to functions until they end. */
	scx_wait_for_calls();
	for (struct scx_left *l = all; l; l = l->next)
		scx_unsee(l);
	/* Later ones have it only if the program kept a pointer, and may be in such a function. */
	scx_wait_for_calls();
	for (; all; all = next) {
		next = all->next;
		if (all->t)
			thread_put(thread_of(all->t));
		scx_free(all);
	}
}

bool scx_has_room(u32 pid)
{
	return pid < scx.nr_tasks;
}
