/* SPDX-License-Identifier: GPL-2.0-only */
/* Masks of CPUs as programs have them, those of their own among them. */
#include <stdlib.h>

#include "sim/engine/util.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"
#include "sim/scx/include/scx/simulator.h"

/* A mask of a program's own, which counts its holders. */
struct bpf_cpumask {
	struct cpumask mask; /* first: programs cast the one to the other */
	u32 holders;
};

/* --- questions ------------------------------------------------------------ */

/* No CPU is the number behind the last one, as on Linux. */
static u32 or_none(u32 cpu)
{
	return min(cpu, scx_nr_cpus());
}

u32 bpf_cpumask_first_zero(const struct cpumask *mask)
{
	u32 cpu = 0;

	while (cpu < scx_nr_cpus() && cpumask_test(mask, cpu))
		cpu++;
	return cpu;
}

u32 bpf_cpumask_first_and(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both = cpumask_and(a, b);

	return or_none(cpumask_first(&both));
}

u32 bpf_cpumask_any_distribute(const struct cpumask *mask)
{
	static u32 last;

	last = cpumask_empty(mask) ? last : cpumask_next_wrap(mask, last);
	return cpumask_empty(mask) ? scx_nr_cpus() : last;
}

u32 bpf_cpumask_any_and_distribute(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both = cpumask_and(a, b);

	return bpf_cpumask_any_distribute(&both);
}

bool bpf_cpumask_full(const struct cpumask *mask)
{
	return cpumask_weight(mask) >= scx_nr_cpus();
}

bool bpf_cpumask_equal(const struct cpumask *a, const struct cpumask *b)
{
	return cpumask_equal(a, b);
}

/* --- masks of the program's own ------------------------------------------- */

struct bpf_cpumask *bpf_cpumask_create(void)
{
	struct bpf_cpumask *own = allocate(1, sizeof(*own));

	own->holders = 1;
	return own;
}

struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *own)
{
	own->holders++;
	return own;
}

void bpf_cpumask_release(struct bpf_cpumask *own)
{
	if (!--own->holders)
		free(own);
}

void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *own)
{
	if (cpu < CPU_MAX)
		cpumask_set(&own->mask, cpu);
}

void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *own)
{
	if (cpu < CPU_MAX)
		cpumask_clear(&own->mask, cpu);
}

bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *own)
{
	bool was = bpf_cpumask_test_cpu(cpu, &own->mask);

	bpf_cpumask_set_cpu(cpu, own);
	return was;
}

bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *own)
{
	bool was = bpf_cpumask_test_cpu(cpu, &own->mask);

	bpf_cpumask_clear_cpu(cpu, own);
	return was;
}

void bpf_cpumask_setall(struct bpf_cpumask *own)
{
	own->mask = cpumask_first_n(scx_nr_cpus());
}

void bpf_cpumask_clear(struct bpf_cpumask *own)
{
	own->mask = (struct cpumask){ { 0 } };
}

void bpf_cpumask_copy(struct bpf_cpumask *to, const struct cpumask *from)
{
	to->mask = *from;
}

bool bpf_cpumask_and(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	to->mask = cpumask_and(a, b);
	return !cpumask_empty(&to->mask);
}

void bpf_cpumask_or(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	to->mask = cpumask_or(a, b);
}

void bpf_cpumask_xor(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask left = cpumask_andnot(a, b), right = cpumask_andnot(b, a);

	to->mask = cpumask_or(&left, &right);
}
