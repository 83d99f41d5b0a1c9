/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests of processes, threads, signals and time; see taskcheck.c. */
#pragma once

#include <stdint.h>

#include "lib/check.h"

extern const struct check process_tests[]; /* processes.c: fork, wait, groups, exec, limits */
extern const struct check
	signal_tests[]; /* signals.c: handlers, masks, queues, stop and continue */
extern const struct check
	thread_tests[]; /* threads.c: clone, futexes, exit and exec with threads */
extern const struct check credential_tests[]; /* credentials.c: users, groups, capabilities */
extern const struct check forbidden_tests[];  /* forbidden.c: an ordinary user's rights */
extern const struct check act_tests[];	      /* acts.c: what an ordinary user is refused */
extern const struct check limit_tests[];      /* limits.c: limits, fork, orphans */
extern const struct check exec_tests[];	      /* setid.c: exec of what is shared, set-id */
extern const struct check timer_tests[];      /* timers.c: sleeping, interval timers, clocks */

#define MS 1000000L

/* struct sched_attr, version 0, which musl does not declare */
struct sched_attr0 {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* With TELL in its environment the program says with its status what exec gave it; see setid.c. */
#define TELL "TELL"
int tell_what_exec_gave(void);

long now_ns(void);
void sleep_ms(long ms);
/* A process that waits for signals until one ends it. */
pid_t spawn_pausing(void);
/* waitpid with @options, the status as it is. */
int status_of(pid_t pid, int options);
