/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The accountant of quotas (docs/oracles.md): books of the runtime of each limited group, kept from
 * what its queues used, what limits it was given, and which movements were told. Nothing here calls
 * a function of sched/ or reads its amounts, but to compare them with the books.
 */
#pragma once

#include "sched/fair/core/fair.h"
#include "sched/observe/event.h"

#define BOOK_CPUS  64
#define BOOK_MARKS 16

/* The part of a CPU's queue. */
struct share {
	s64 local; /* ns that it may use once its debt is paid; below 0: overdrawn */
	u64 debt;  /* ns that release it; 0: it does not wait for a payment */
	u64 since; /* throttled since, by its CPU's clock */
	bool limited, throttled;
	bool hungry;  /* it used up its runtime, and must ask for more before anything else */
	bool refused; /* it asked, and has none still */
};

/* The end of a period: what the group had used until then, been granted, and what CPUs held. */
struct mark {
	u64 used, granted, held;
};

struct book {
	u32 group;		  /* its number; 0: this book is empty */
	u64 quota, period, burst; /* ns */
	u64 slice;		  /* ns */
	u64 pool, owed;		  /* ns; owed by CPUs that left */
	u64 after_refill;	  /* the pool then */
	bool touched;		  /* something was fetched since */
	bool timed, slack_timed;  /* a timer runs, */
	u64 at, slack_at;	  /* until then */
	bool paying;		  /* the pool pays, and goes on until it is empty or all are paid */
	unsigned waiting[BOOK_CPUS]; /* whose debts are to be paid, the oldest first */
	u32 nr_waiting;
	u64 nr_periods, nr_throttled, nr_bursts, burst_time, throttled_time;
	u64 used, granted; /* ns, ever, since the limits were given */
	struct mark mark[BOOK_MARKS];
	u32 nr_marks;
	struct share share[BOOK_CPUS];
};

/* Begins with the machine @s, of which nothing is known yet. */
void quota_open(struct sched *s);
/* The entity that runs in @q used @ns; what the scheduler makes of it comes after. */
void quota_charge(struct fair_queue *q, u64 ns);
/* A record of an event of QUOTA_DECISION_EVENTS. Others are ignored. */
void quota_event(struct sched *s, const struct sched_event *event);
/* The limits that @tg was given, and that were accepted. */
void quota_limits(struct sched *s, const struct task_group *tg, u64 quota_ns, u64 period_ns,
		  u64 burst_ns);
/* Between two operations: all amounts are those of the books, and nothing was forgotten. */
void quota_compare(struct sched *s);
