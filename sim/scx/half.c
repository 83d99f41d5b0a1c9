/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions that user halves of programs call (halves/half.h), and which CPUs share a cache. */
#include "lib/string.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

static struct scx_place place_of(s32 cpu)
{
	return scx_place((u32)cpu < scx_nr_cpus() ? (u32)cpu : 0);
}

s32 half_sibling(s32 cpu, s32 after)
{
	for (s32 other = max(after + 1, 0); (u32)other < scx_nr_cpus(); other++)
		if (other != cpu && place_of(other).core == place_of(cpu).core)
			return other;
	return -1;
}

bool half_has_smt(void)
{
	for (u32 cpu = 0; cpu < scx_nr_cpus(); cpu++)
		if (half_sibling((s32)cpu, -1) >= 0)
			return true;
	return false;
}

u32 half_core(s32 cpu)
{
	return place_of(cpu).core;
}

u32 half_llc(s32 cpu)
{
	return place_of(cpu).llc;
}

u32 half_capacity(s32 cpu)
{
	return place_of(cpu).capacity;
}

void half_pin(s32 cpu)
{
	scx_frame()->pinned = (u32)cpu < scx_nr_cpus() ? (u32)cpu + 1 : 0;
}

void half_set(const volatile void *constant, const void *value, size_t size)
{
	void *to = (void *)(uintptr_t)constant;

	scx_need_constant(to, size);
	scx_need(value, size, false);
	memcpy(to, value, size);
}

s32 cpu_llc_id(s32 cpu)
{
	u32 first = 0;

	while (place_of((s32)first).llc != place_of(cpu).llc)
		first++;
	return (s32)first;
}

s32 cpu_llc_size(s32 cpu)
{
	s32 nr = 0;

	for (u32 other = 0; other < scx_nr_cpus(); other++)
		nr += place_of((s32)other).llc == place_of(cpu).llc;
	return nr;
}
