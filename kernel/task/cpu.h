/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine's scheduler and its CPUs: bring-up, and CPU time exact up to now. */
#pragma once

#include "lib/types.h"
#include "sched/sched.h"

struct thread;
struct proc;

extern struct sched *machine; /* the one scheduler of this kernel */

/*
 * Build the scheduler, give every CPU of arch_cpus[] its struct cpu and its idle thread, and make
 * the caller CPU 0's idle thread. Runs on the boot CPU once memory works.
 */
void task_init(void);
/* Put the running CPU into service. */
void task_cpu_online(void);
/* The main loop of every CPU's idle thread. */
__noreturn void idle_loop(void);

/* Used by getrusage(2) and wait4(2). */
struct usage {
	u64 user_ns, system_ns;
	u64 min_flt, maj_flt;
	u64 nr_voluntary, nr_involuntary; /* switches */
	u64 read_bytes, written_bytes, nr_reads, nr_writes;
	u64 max_rss; /* pages; of several processes, that of the largest */
};
/* From each tick: does the running thread come near a limit of CPU time? */
void limits_tick(void);
struct usage thread_usage(struct thread *t);
struct usage proc_usage(struct proc *p); /* the sum of its threads, ended ones too */

struct cpu_usage {
	u64 user_ns, system_ns, idle_ns;
};
struct sched_cpu_stat cpu_stat(unsigned cpu); /* the scheduler's; takes the runqueue's lock */
struct cpu_usage cpu_usage(unsigned cpu);     /* for /proc/stat */
struct cpu_usage machine_usage(void);	      /* the sum of all CPUs */
