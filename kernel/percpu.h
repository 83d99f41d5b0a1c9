/* SPDX-License-Identifier: GPL-2.0-only */
/* The data of one CPU. this_cpu() finds it while preemption is off. */
#pragma once

#include "lib/types.h"

struct thread;
struct arch_cpu;
struct user_regs;

/* How urgently: LAZY may wait until the CPU is back in user space (kernel/task/preempt.c). */
#define NEED_RESCHED_NOW  1u
#define NEED_RESCHED_LAZY 2u

struct cpu {
	/* --- read by assembly: offsets are asserted in arch/x86 --- */
	struct cpu *self;
	struct thread *running; /* `current` of kernel/task/thread.h */
	u64 kernel_sp;		/* stack for entries from user space */
	u64 user_sp_scratch;	/* system call entry */
	u32 preempt_count;	/* > 0: no preemption of kernel code on this CPU */
	u32 need_resched;	/* the scheduler wants a switch (host_kick): NEED_RESCHED_ */
	u64 user_cycles;	/* arch_cycles() spent in user space; written by this CPU */
	/* --- C only --- */
	u32 irq_depth; /* nested interrupts */
	u32 id;
	const struct user_regs *irq_regs; /* what the last interrupt came between */
	struct thread *idle;
	struct thread *dead;   /* a thread that ended and switched away; its successor drops it */
	struct arch_cpu *arch; /* descriptor tables, interrupt stacks, timer: arch/x86 */
	bool online;
	u64 nr_irqs, nr_timer, nr_resched_ipi;
	u64 nr_lock_waits, lock_wait_ns; /* for spin locks */
	u64 online_ns; /* when the CPU came into service, plus its time out of service since */
	u64 offline_since_ns;
	u64 system_ns; /* the most that /proc/stat has said */
};

#define MAX_CPUS 256
extern struct cpu *cpus[MAX_CPUS]; /* by logical number; NULL when absent */
