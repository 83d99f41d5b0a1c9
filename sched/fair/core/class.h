/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The operations of the fair class that are functions of other files than class.c, by file. Their
 * contracts are in sched/class.h.
 */
#pragma once

#include "sched/fair/core/fair.h"

/* fair.c: they walk the tree of queues */
void fair_enqueue(struct rq *rq, struct task *t, unsigned flags);
bool fair_dequeue(struct rq *rq, struct task *t, unsigned flags);
void fair_yield(struct rq *rq);
struct task *fair_pick(struct rq *rq);
void fair_put_prev(struct rq *rq, struct task *t);
void fair_set_next(struct rq *rq, struct task *t);
void fair_exchange(struct rq *rq, struct task *prev, struct task *next);
void fair_charge(struct rq *rq);
void fair_charge_task(struct rq *rq);
void fair_tick(struct rq *rq, struct task *t);
bool fair_preempts(struct rq *rq, struct task *woken, unsigned flags);
void fair_migrate(struct rq *rq, struct task *t);
void fair_join(struct rq *rq, struct task *t, bool runnable);
/* @t, which fair_quit() took off another queue, counts on its new one, with its lag and scores. */
void fair_arrive(struct task *t, bool runnable);
void fair_quit(struct rq *rq, struct task *t, bool runnable);
void fair_retune(struct rq *rq, struct task *t, int old_prio);
u64 fair_slice(struct rq *rq, struct task *t);

/* placement.c */
unsigned fair_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);

/* check.c */
void fair_check(struct rq *rq);

/* dump.c */
void fair_dump(struct rq *rq, struct task *t, struct text *out);
