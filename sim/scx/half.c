/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions that user halves of programs call (halves/half.h), and which CPUs share a cache. */
#include "sim/engine/process.h"
#include "sim/scx/binding.h"
#include "sim/scx/scx.h"
#include "sim/scx/include/scx/functions.h"
#include "sim/scx/include/scx/simulator.h"

unsigned CONFIG_HZ; /* of the machine; programs declare it with __kconfig */

s32 half_sibling(s32 cpu, s32 after)
{
	const struct sim_cpu *all = scx_sim()->cpus;

	for (s32 other = after + 1; (u32)other < scx_sim()->config.nr_cpus; other++)
		if (other != cpu && all[other].core == all[cpu].core)
			return other;
	return -1;
}

bool half_has_smt(void)
{
	for (u32 cpu = 0; cpu < scx_sim()->config.nr_cpus; cpu++)
		if (half_sibling((s32)cpu, -1) >= 0)
			return true;
	return false;
}

u32 half_capacity(s32 cpu)
{
	return scx_sim()->cpus[cpu].speed;
}

void half_pin(s32 cpu)
{
	scx_sim()->this_cpu = (u32)cpu;
}

void half_set(const volatile void *constant, const void *value, size_t size)
{
	process_make_writable((void *)constant, size);
	__builtin_memcpy((void *)constant, value, size);
}

static bool same_llc(u32 a, s32 b)
{
	return scx_sim()->cpus[a].llc == scx_sim()->cpus[b].llc;
}

s32 cpu_llc_id(s32 cpu)
{
	u32 first = 0;

	while (!same_llc(first, cpu))
		first++;
	return (s32)first;
}

s32 cpu_llc_size(s32 cpu)
{
	s32 nr = 0;

	for (u32 other = 0; other < scx_sim()->config.nr_cpus; other++)
		nr += same_llc(other, cpu);
	return nr;
}
