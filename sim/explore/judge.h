/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Judging decisions while a machine is explored. The judge knows the scheduler's structures, which
 * the simulator must not, so it lives with the tests: tests/oracle/judge.c.
 */
#pragma once

#include "lib/types.h"

struct ext_call;
struct ext_ops;
struct sched;
struct sched_event;
struct task;
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

/*
 * Dispatch by a loaded scheduler. judge_scheduler() returns the table for sched_ext_load() in the
 * place of @ops: its operations stand before those, and the first of them, init, begins to judge.
 * With @tells the scheduler says what it is about to ask for, by the next six functions: an
 * insert of @t; that this is taken back; that the first task of @dsq is to come to the local queue;
 * that a walk is to move @t, and whether it did; that @here, its own CPU, kicks @cpu.
 */
const struct ext_ops *judge_scheduler(const struct ext_ops *ops, bool tells);
void judge_asks(struct ext_call *c, struct task *t, u64 dsq, u64 slice, u64 vtime, u64 flags);
void judge_cancels(const struct task *t);
void judge_takes(const struct ext_call *c, u64 dsq);
void judge_walks(struct task *t, u64 dsq, u64 vtime, u64 flags);
void judge_walked(struct task *t, bool moved);
void judge_kicks(const struct ext_call *c, u32 here, u32 cpu, u64 flags);
/* The scheduler acts of its own accord, as in a timer; @begins: it starts, else it has ended. */
void judge_callback(bool begins);
/* The scheduler is about to be unloaded. */
void judge_unloaded(void);
/* Between operations of @s each task that is runnable must be in one place. */
void judge_dispatch(const struct sched *s);

/* Nothing is judged any more: only invariants and assertions are left. */
void judge_dismiss(void);
