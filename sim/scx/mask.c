/* SPDX-License-Identifier: GPL-2.0-only */
/* Masks of CPUs as programs have them, those of their own among them. */
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

#define NEED(p)	  scx_need(p, sizeof(*(p)), false)
#define CHANGE(p) scx_need(p, sizeof(*(p)), true)

/* A mask of a program's own. */
struct bpf_cpumask {
	struct cpumask mask; /* first: programs cast the one to the other */
};

/* --- questions ------------------------------------------------------------ */

/* No CPU is the number behind the last one, as on Linux. */
static u32 or_none(u32 cpu)
{
	return min(cpu, scx_nr_cpus());
}

bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	NEED(mask);
	return cpu < CPU_MAX && cpumask_test(mask, cpu);
}

u32 bpf_cpumask_first(const struct cpumask *mask)
{
	NEED(mask);
	return cpumask_first(mask);
}

u32 bpf_cpumask_weight(const struct cpumask *mask)
{
	NEED(mask);
	return cpumask_weight(mask);
}

bool bpf_cpumask_empty(const struct cpumask *mask)
{
	NEED(mask);
	return cpumask_empty(mask);
}

bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	NEED(a);
	NEED(b);
	return cpumask_intersects(a, b);
}

bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
	NEED(a);
	NEED(b);
	return cpumask_subset(a, b);
}

u32 bpf_cpumask_first_zero(const struct cpumask *mask)
{
	u32 cpu = 0;

	NEED(mask);
	while (cpu < scx_nr_cpus() && cpumask_test(mask, cpu))
		cpu++;
	return cpu;
}

/* The CPUs of both. */
static struct cpumask both_of(const struct cpumask *a, const struct cpumask *b)
{
	NEED(a);
	NEED(b);
	return cpumask_and(a, b);
}

u32 bpf_cpumask_first_and(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both = both_of(a, b);

	return or_none(cpumask_first(&both));
}

u32 bpf_cpumask_any_distribute(const struct cpumask *mask)
{
	static u32 last;
	u32 cpu;

	NEED(mask);
	if (cpumask_empty(mask))
		return scx_nr_cpus();
	cpu = cpumask_next_wrap(mask, READ_ONCE(last));
	WRITE_ONCE(last, cpu);
	return cpu;
}

u32 bpf_cpumask_any_and_distribute(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both = both_of(a, b);

	return bpf_cpumask_any_distribute(&both);
}

bool bpf_cpumask_full(const struct cpumask *mask)
{
	NEED(mask);
	return cpumask_weight(mask) >= scx_nr_cpus();
}

bool bpf_cpumask_equal(const struct cpumask *a, const struct cpumask *b)
{
	NEED(a);
	NEED(b);
	return cpumask_equal(a, b);
}

/* --- masks of the program's own ------------------------------------------- */

struct bpf_cpumask *bpf_cpumask_create(void)
{
	return scx_obj_new(sizeof(struct bpf_cpumask));
}

struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *own)
{
	return scx_obj_hold(own) ? own : NULL;
}

void bpf_cpumask_release(struct bpf_cpumask *own)
{
	bpf_obj_drop(own);
}

/* Changes one bit, which another CPU may do as well. Returns its value before. */
static bool set_bit(struct bpf_cpumask *own, u32 cpu, bool to)
{
	u64 bit = BIT(cpu % 64), *word;

	CHANGE(own);
	if (cpu >= CPU_MAX)
		return false;
	word = &own->mask.bits[cpu / 64];
	if (to)
		return __atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST) & bit;
	return __atomic_fetch_and(word, ~bit, __ATOMIC_SEQ_CST) & bit;
}

void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *own)
{
	set_bit(own, cpu, true);
}

void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *own)
{
	set_bit(own, cpu, false);
}

bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *own)
{
	return set_bit(own, cpu, true);
}

bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *own)
{
	return set_bit(own, cpu, false);
}

static void set_all(struct bpf_cpumask *own, struct cpumask mask)
{
	CHANGE(own);
	own->mask = mask;
}

void bpf_cpumask_setall(struct bpf_cpumask *own)
{
	set_all(own, cpumask_first_n(scx_nr_cpus()));
}

void bpf_cpumask_clear(struct bpf_cpumask *own)
{
	set_all(own, cpumask_none());
}

void bpf_cpumask_copy(struct bpf_cpumask *to, const struct cpumask *from)
{
	NEED(from);
	set_all(to, *from);
}

bool bpf_cpumask_and(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	set_all(to, both_of(a, b));
	return !cpumask_empty(&to->mask);
}

void bpf_cpumask_or(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	NEED(a);
	NEED(b);
	set_all(to, cpumask_or(a, b));
}

void bpf_cpumask_xor(struct bpf_cpumask *to, const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both = both_of(a, b), any = cpumask_or(a, b);

	set_all(to, cpumask_andnot(&any, &both));
}
