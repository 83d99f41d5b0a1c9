/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Oracles of the classes above the fair one (docs/oracles.md). A judge takes the places of a
 * class's operations in the machine's copy of the class (s->class_copy), asks the class, and
 * compares with a model: for each CPU a plain array of the tasks that must be queued there, in the
 * order in which they must run. The model changes by the rules only; a list or a tree that differs
 * from it, after whatever operation, is a mistake. Nothing here calls a function of sched/ to find
 * an answer.
 */
#pragma once

#include "sched/dl/dl.h"

#define JUDGE_CPUS  64
#define JUDGE_TASKS 64

#define JUDGE_URGENT(is_right, what)                                                               \
	do {                                                                                       \
		if (unlikely(!(is_right)))                                                         \
			host_bug(__FILE__, __LINE__, "the oracle disagrees: " what);               \
	} while (0)

/* A task in a model queue. */
struct place {
	struct task *t;
	int prio;
};

struct model {
	u32 nr;
	struct place place[JUDGE_TASKS];
};

/* A task whose parameters change: where it was. */
struct parted {
	struct task *t; /* NULL: nobody's change */
	int prio;
	bool kept; /* its place is kept for it */
};

struct court {
	struct sched *s;
	struct model rt[JUDGE_CPUS], dl[JUDGE_CPUS];
	struct parted parted;
	u32 nr_calls; /* of operations that change a queue, or what runs */
	struct {
		struct task *t;
		u32 ticks; /* left of its slice */
	} slice[JUDGE_TASKS];
	u32 nr_slices;
	struct {
		struct task *t;
		u64 bw, until; /* t is NULL: it lingers until then */
	} admitted[4 * JUDGE_TASKS];
	u32 nr_admitted;
	u64 crowded_until; /* until then more may linger than the class can tell apart */
};

/* The court of the machine @s. */
struct court *court_of(const struct sched *s);

/*
 * Is @to where an urgent task of @rq goes on behalf of CPU @cpu, if all of @best are as good? Of
 * those the own CPU comes first. Of the nearest others it is @cpu, or the next after @last.
 */
bool is_in_turn(const struct rq *rq, u64 best, unsigned cpu, u32 last, unsigned to);

/* The class's own operations. */
static inline const struct sched_class *own_rt(const struct rq *rq)
{
	return rq->s->class_own[CLASS_rt];
}

static inline const struct sched_class *own_dl(const struct rq *rq)
{
	return rq->s->class_own[CLASS_dl];
}

/* The right numbers of a fair server: the running fair task is charged; and time has come. */
struct dl_server charged_server(const struct rq *rq);
void server_time(struct dl_server *v, u64 now);
void compare_server(const struct rq *rq, const struct dl_server *right);

static inline const struct dl_server *server_of(const struct rq *rq)
{
	return &dl_seen(rq)->server;
}

static inline bool is_ready(const struct rq *rq)
{
	return server_of(rq)->ready;
}

/* Have the judges stand before the operations of @c. */
void judge_rt(struct sched_class *c);
void judge_dl(struct sched_class *c);
/* The same for what the fair class has to do with its server. */
void judge_fair(struct sched_class *c);
/* The class of loaded schedulers; a table of operations that stand before @ops. dispatch_ops.c */
void judge_ext(struct sched_class *c);
struct ext_ops;
const struct ext_ops *stand_before(const struct ext_ops *ops, bool tells);
/* Has the fair class fork, and judges what @child takes over: family.c. family_lock held. */
void judge_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags);
/* Has the fair class choose a CPU, and judges the choice where energy decides: energy.c. */
unsigned judge_energy(struct rq *rq, struct task *t, unsigned cpu, unsigned reason);
/* If @s is a machine that no judge has seen, begins with it. */
void judge_urgent(struct sched *s);

/* --- model queues ----------------------------------------------------------------------------- */

static inline u32 model_index(const struct model *m, const struct task *t)
{
	u32 i = 0;

	while (i < m->nr && m->place[i].t != t)
		i++;
	return i;
}

static inline void model_insert(struct model *m, u32 at, struct task *t)
{
	JUDGE_URGENT(m->nr < JUDGE_TASKS, "a queue has more tasks than there are");
	for (u32 i = m->nr++; i > at; i--)
		m->place[i] = m->place[i - 1];
	m->place[at] = (struct place){ t, t->prio };
}

static inline void model_remove(struct model *m, const struct task *t)
{
	u32 at = model_index(m, t);

	JUDGE_URGENT(at < m->nr, "a task leaves a queue that it is not in");
	for (m->nr--; at < m->nr; at++)
		m->place[at] = m->place[at + 1];
}

/* May @t run on two CPUs or more? */
static inline bool can_move(const struct task *t)
{
	u32 nr = 0;

	for (unsigned cpu = 0; cpu < CPU_MAX && nr < 2; cpu++)
		nr += (t->allowed.bits[cpu / 64] >> (cpu % 64)) & 1;
	return nr > 1;
}

/* May @t be queued on @rq? */
static inline bool may_use(const struct task *t, const struct rq *rq)
{
	return rq->online && (t->allowed.bits[rq->cpu / 64] >> (rq->cpu % 64) & 1);
}

static inline bool is_isolated(const struct rq *rq)
{
	return rq->s->isolated.bits[rq->cpu / 64] >> (rq->cpu % 64) & 1;
}

/* May the class move @t from @rq to @there? */
static inline bool may_move(const struct task *t, const struct rq *rq, const struct rq *there)
{
	return may_use(t, there) && is_isolated(rq) == is_isolated(there);
}
