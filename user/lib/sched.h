/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scheduling as a program asks for it: policies, nice values, CPU sets, weights. System calls are
 * made directly because musl's sched_setscheduler() family answers ENOSYS without asking the
 * kernel.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_CPUS 256
#define MAX_LIST 256

#ifndef SCHED_EXT
#define SCHED_EXT 7 /* of Linux 6.12; musl's headers are older */
#endif

struct cpu_set {
	uint64_t bits[MAX_CPUS / 64];
};

struct int_list {
	int nr;
	int value[MAX_LIST];
};

struct policy {
	int policy; /* SCHED_OTHER, ... */
	int prio;   /* 1..99 for SCHED_FIFO and SCHED_RR, else 0 */
};

/* Weight of a nice value in proportional shares: nice 0 is 1024, one step about 25 %. */
unsigned nice_weight(int nice);
/* The same for any normal policy: SCHED_IDLE is 3 whatever its nice value. */
unsigned policy_weight(const struct policy *policy, int nice);

/* As sched_setscheduler(2), sched_getscheduler(2), setpriority(2): -1 and errno on error. */
int set_policy(pid_t tid, const struct policy *policy);
int get_policy(pid_t tid, struct policy *policy);
int set_nice(pid_t tid, int nice);
/* How much CPU time a thread of a normal policy asks for at a time; 0: what is usual. */
int set_slice(pid_t tid, uint64_t ns);
int get_slice(pid_t tid, uint64_t *ns);
/* SCHED_DEADLINE: @runtime ns of CPU time in each @period, until @deadline after its beginning. */
struct deadline {
	uint64_t runtime, deadline, period;
};
/* get_deadline() gives zeros if the thread has another policy. */
int set_deadline(pid_t tid, const struct deadline *deadline);
int get_deadline(pid_t tid, struct deadline *deadline);
/* Utilisation clamps, 0..1024; to set them, -1 is a reset. 0 where CPUs have one speed. */
struct clamps {
	bool set_least, set_most;
	int least, most;
};
/* @reset_on_fork false: that stays as it is. */
int set_clamp(pid_t tid, const struct clamps *clamps, bool reset_on_fork);
int get_clamp(pid_t tid, struct clamps *clamps);
/*
 * The policy and nice value that this process was started with: its children get them by default.
 */
void get_inherited(struct policy *policy, int *nice);
const char *policy_name(int policy);

/* Affinity of a thread (0: the caller). -1 and errno on error. */
int set_cpus(pid_t tid, const struct cpu_set *cpus);
int get_cpus(pid_t tid, struct cpu_set *cpus);
/* Pin the calling thread to one CPU or end the program. */
void pin_to_cpu(int cpu);

bool cpu_isset(const struct cpu_set *cpus, int cpu);
void cpu_add(struct cpu_set *cpus, int cpu);
int cpu_count(const struct cpu_set *cpus);
/* The @n-th CPU of the set, from 0, starting over at the end. -1 if the set is empty. */
int cpu_nth(const struct cpu_set *cpus, int n);

/* Parse user input; false if it is not understood. */
bool parse_cpus(const char *text, struct cpu_set *cpus);
bool parse_nices(const char *text, struct int_list *list);
bool parse_policy(const char *text, struct policy *policy);

int thread_id(void);

/* futex(2), private to the process. wait returns 0 also when *word != expected. */
void futex_wait(uint32_t *word, uint32_t expected);
void futex_wake(uint32_t *word, int nr);
