/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's side of the vDSO (arch/x86/vdso): the page it reads, and the segment that tells it
 * which CPU it runs on.
 */
#include "kernel/arch.h"
#include "kernel/percpu.h"
#include "vdso/vvar.h"
#include "x86.h"

/* The clocks that programs can read, by the ids of clock_gettime(2). */
static const struct {
	u8 id;
	bool since_1970;
} clocks[] = {
	{ 0, true },  /* CLOCK_REALTIME */
	{ 1, false }, /* CLOCK_MONOTONIC */
	{ 4, false }, /* CLOCK_MONOTONIC_RAW */
	{ 5, true },  /* CLOCK_REALTIME_COARSE */
	{ 6, false }, /* CLOCK_MONOTONIC_COARSE */
	{ 7, false }, /* CLOCK_BOOTTIME */
	{ 11, true }, /* CLOCK_TAI */
};

void arch_vdso_publish(void *page, u64 realtime_offset_ns)
{
	struct vvar *v = page;
	u32 sequence = v->sequence;

	__atomic_store_n(&v->sequence, sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* odd before anything changes */
	for (unsigned id = 0; id < VVAR_CLOCKS; id++)
		v->offset_ns[id] = VVAR_NO_CLOCK;
	if (x86_clock_parameters(&v->tsc_base, &v->ns_per_tick))
		for (unsigned i = 0; i < ARRAY_SIZE(clocks); i++)
			v->offset_ns[clocks[i].id] = clocks[i].since_1970 ? realtime_offset_ns : 0;
	__atomic_store_n(&v->sequence, sequence + 2, __ATOMIC_RELEASE);
}

/*
 * A data segment that nobody loads. Its limit holds the CPU's number and node, for LSL in user
 * space.
 */
void x86_vdso_set_cpu(const struct cpu *c)
{
	const u64 read_only_data = 0x0040f10000000000; /* of user space, limit in bytes */
	u64 limit = c->id | (u64)arch_cpus[c->id].node << VDSO_CPU_BITS;

	c->arch->gdt[VDSO_CPU_SELECTOR / 8] =
		read_only_data | (limit & 0xffff) | (limit >> 16 & 0xf) << 48;
}
