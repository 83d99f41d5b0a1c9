/* SPDX-License-Identifier: GPL-2.0-only */
/* The two files of the oracle of dispatch share this. */
#pragma once

#include "sched/ext/ext.h"
#include "sim/explore/judge.h"
#include "tests/oracle/urgent.h"

#define QUEUES_MAX 160u

/* A task in a queue. */
struct member {
	struct task *t;
	u64 vtime;
	bool ordered;
};

struct seen_queue {
	u32 nr;
	struct member member[JUDGE_TASKS];
};

/* The insert or move that the scheduler asked for, until the task is there. */
struct ask {
	bool open;
	u64 dsq, flags, vtime, slice;
	u32 cpu; /* that EXT_DSQ_LOCAL means */
	u32 seq;
	bool buffered, selected; /* from dispatch, from select_cpu; else from enqueue, or a walk */
};

/* The oracle's own record of a runnable task. */
struct book {
	struct task *t;
	struct ask ask;
	bool queued; /* it is runnable; else select_cpu was asked about it */
	bool given;  /* the scheduler has it: enqueue kept it */
	bool runs, runnable;
	u64 slice, ran; /* as of the last look */
};

/* A CPU waits for another one that it kicked. */
struct kick_wait {
	bool open;
	u32 chosen; /* of the other CPU, at that time */
};

/* The scheduler that is loaded, and what was seen of it last. */
struct docket {
	struct sched *s;
	struct ext *x; /* NULL: no scheduler is loaded that the oracle follows */
	const struct ext_ops *own;
	struct ext_ops ops;
	bool tells; /* the scheduler says what it asks for */
	struct seen_queue queue[QUEUES_MAX];
	struct book book[JUDGE_TASKS];
	u32 nr_books;
	struct task *leaving;  /* that is being dequeued */
	struct task *moving;   /* that is about to leave its CPU */
	struct task *walked;   /* that a walk takes out of a queue, from any place */
	u64 taken[JUDGE_CPUS]; /* queues, as bits, whose first task dispatch took */
	struct kick_wait wait[JUDGE_CPUS][JUDGE_CPUS]; /* by the CPU that waits, and the other */
	u32 nr_waits, chosen[JUDGE_CPUS]; /* how often each CPU chose, or said that it waits */
	u32 picks;			  /* the CPU that is about to pick */
	u32 released;			  /* 1 + the CPU whose cpu_release goes on; 0: none */
	u32 depth;			  /* operations of the scheduler that go on */
	u32 seq, nr_enqueues, nr_dispatches, nr_releases;
};
extern struct docket docket;

struct book *book_of(const struct task *t);
/* The book of @t, begun if there is none; it ends. */
struct book *begin_book(struct task *t);
void close_book(const struct task *t);
/* Does @ask name the local queue of @cpu? */
bool is_for(const struct ask *ask, u32 cpu);
/* Is there a task in the global queue that @cpu may run? */
bool global_has(u32 cpu);
const struct seen_queue *local_of(u32 cpu);
/* Looks at everything, and judges what is new. */
void look(void);
/* Begins to judge @x, which has no task yet. */
void open_docket(struct ext *x);

static inline const struct ext_seen *part_of(struct task *t)
{
	return ((const struct ext_task *)t->class_state)->seen;
}
