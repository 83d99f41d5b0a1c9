/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frequencies and energy: the part of the scheduler's face for machines whose CPUs have more than
 * one speed. CPUs that change their frequency together are a frequency domain; a governor chooses
 * its operating performance point (OPP). sched.h includes this.
 */
#pragma once

#include "lib/opp.h"

struct sched;
struct task;
struct task_group;

/* Bytes that a table for @nr_cpus CPUs needs; 64-byte aligned, zeroed. */
size_t sched_freq_size(unsigned nr_cpus);
/*
 * The CPUs of @s, of which none was in service yet, are those of @table, which is copied to @mem.
 * Every domain begins at its fastest point under the governor `performance`. Without this call all
 * CPUs have one speed, and what follows must not be called.
 */
void sched_freq_init(struct sched *s, const struct opp_table *table, void *mem);

/* The name of the @index-th governor, or NULL past the end. */
const char *sched_governor_name(unsigned index);
/* The domain of @cpu is governed by @name from now on. -EINVAL: there is none. */
int sched_freq_govern(struct sched *s, unsigned cpu, const char *name);
/* Under the governor `userspace`: run at @mhz. -EINVAL: another governor, or no such point. */
int sched_freq_set(struct sched *s, unsigned cpu, u32 mhz);

/*
 * The domain of @cpu stays from now on at points from @least_mhz to @most_mhz, whoever governs.
 * -EINVAL: there is none.
 */
int sched_freq_limit(struct sched *s, unsigned cpu, u32 least_mhz, u32 most_mhz);

/*
 * Boost groups (SchedTune). Each task is a member of one, a child of its parent's; 0 is that of all
 * others, whose boost is the tunable sched_cfs_boost. The host serialises these calls.
 */
#define SCHED_TUNE_GROUPS 16
/* The number of a new group of boost 0, or -ENOSPC. */
int sched_tune_new(struct sched *s);
/* The group, not 0, ends. It has no members. */
void sched_tune_free(struct sched *s, unsigned group);
/* Sets the group's boost in %. -EINVAL: over 100, or no such group. */
int sched_tune_boost(struct sched *s, unsigned group, u64 boost);
/* The boost of the group, which exists. */
unsigned sched_tune_boost_of(const struct sched *s, unsigned group);
/* @t becomes a member. -EINVAL: no such group. */
int sched_tune_move(struct sched *s, struct task *t, unsigned group);
unsigned sched_tune_of(const struct task *t);
/* The boost of @cpu now, in %. */
unsigned sched_tune_cpu(struct sched *s, unsigned cpu);

/*
 * Utilisation clamps (uclamp): what governors take the utilisation of a CPU for at least and at
 * most. Tasks ask for theirs by sched_set_attr(); groups limit what their members get, the tunables
 * sched_util_clamp_min and _max what all get.
 */
enum sched_clamp { SCHED_CLAMP_MIN, SCHED_CLAMP_MAX, NR_SCHED_CLAMPS };
#define SCHED_CLAMP_RESET (~0u) /* in a request: what a task has that never asked */
/*
 * Members of @tg, and of the groups below, have clamps from the group's minimum to its maximum, of
 * which @which becomes @util. A new group has 0 and 1024. Effective at once; the host serialises
 * it as all that changes groups. -EINVAL: over 1024, or the root.
 */
int task_group_set_clamp(struct sched *s, struct task_group *tg, enum sched_clamp which, u64 util);
/* The clamp of @cpu now, 0..1024: the greatest of its runnable tasks, or if it idles the last. */
unsigned sched_clamp_cpu(struct sched *s, unsigned cpu, enum sched_clamp which);

/*
 * A domain, or one of its CPUs. Energy is the integral of the table's power over time in ns. Times
 * are as of now, by the clock of that CPU.
 */
struct sched_freq_stat {
	const char *governor;
	u32 domain, mhz, capacity; /* of the present point */
	u32 slowest_mhz, fastest_mhz;
	u64 nr_transitions;	   /* of the domain's point, ever */
	u64 at_ns[OPP_MAX];	   /* how long it was at each */
	u64 energy, domain_energy; /* of this CPU alone; of what its domain shares */
	/* How long the CPU was busy at each point and was in each idle state, in ns. */
	u64 busy_ns[OPP_MAX], idle_ns[OPP_IDLE_MAX];
	/* How long a CPU of the domain was busy at each point, and how long all were idle. */
	u64 domain_busy_ns[OPP_MAX], domain_idle_ns[OPP_IDLE_MAX];
};
/* How often the domain of @cpu changed from its point number @from to @to. */
u32 sched_freq_changes(struct sched *s, unsigned cpu, u32 from, u32 to);
void sched_freq_stat(struct sched *s, unsigned cpu, struct sched_freq_stat *out);
/* The energy of @cpu alone, as of now. */
u64 sched_freq_energy(struct sched *s, unsigned cpu);
