/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Judging decisions while a machine is explored. The judge knows the scheduler's structures, which
 * the simulator must not, so it lives with the tests: tests/oracle/judge.c.
 */
#pragma once

#include "lib/types.h"

struct sched;
struct sched_event;
struct task_group;

/*
 * From now on each fair queue of @s that there is asks its policy through the judge: a decision
 * that is not right ends in host_bug(). Queues that are made later are not judged until the next
 * call; calling again is cheap.
 */
void judge_attach(struct sched *s);
/* Only that: another policy has queues ask it directly. Needed before time passes. */
void judge_queues(struct sched *s);

/* An event of @s. Quotas are judged by their records, so sched_trace_set() has to have them on. */
void judge_event(struct sched *s, const struct sched_event *event);
/* The limits that @tg was given were accepted. */
void judge_limits(struct sched *s, const struct task_group *tg, u64 quota_ns, u64 period_ns,
		  u64 burst_ns);

/* Nothing is judged any more: only invariants and assertions are left. */
void judge_dismiss(void);
