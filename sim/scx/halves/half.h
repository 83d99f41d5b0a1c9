/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For user halves. `make scx` includes the half of a known program, the file here that has its
 * name, behind the program itself, so a half sees what is static there. Its function user_half()
 * stands in for the program's Rust or C main(), with the options at their defaults. HALF_FLAGS are
 * the flags that main() gives to the table of operations.
 */
#pragma once

/* Most programs of crates have these. */
#define HALF_USUAL_FLAGS                                                                           \
	(SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_MIGRATION_DISABLED |                 \
	 SCX_OPS_ALLOW_QUEUED_WAKEUP)

static void user_half(enum half_phase phase);

#define HALF_SET(constant, value)                                                                  \
	do {                                                                                       \
		__typeof__(constant) half_value = (__typeof__(constant))(value);                   \
		half_set(&(constant), (const void *)&half_value, sizeof(half_value));              \
	} while (0)

#define half_for_each_cpu(cpu) for (s32 cpu = 0; (u32)cpu < scx_bpf_nr_cpu_ids(); cpu++)
#define half_for_each_sibling(sibling, cpu)                                                        \
	for (s32 sibling = half_sibling(cpu, -1); sibling >= 0;                                    \
	     sibling = half_sibling(cpu, sibling))

/* Tell a program that has enable_sibling_cpu() with which threads @cpu shares its core. */
#define HALF_ENABLE_SIBLINGS(cpu)                                                                  \
	half_for_each_sibling(sibling, cpu) enable_sibling_cpu(                                    \
		&(struct domain_arg){ .cpu_id = (cpu), .sibling_cpu_id = sibling })

/* The capacities of all CPUs, and the CPUs by falling capacity. */
#define HALF_SET_CAPACITIES(array) half_for_each_cpu(cpu) HALF_SET((array)[cpu], half_capacity(cpu))
#define HALF_SET_PREFERRED(array)                                                                  \
	do {                                                                                       \
		u32 nr = 0;                                                                        \
		for (u32 capacity = 1024; capacity > 0; capacity--)                                \
			half_for_each_cpu(cpu) if (half_capacity(cpu) == capacity)                 \
				HALF_SET((array)[nr++], cpu);                                      \
	} while (0)
