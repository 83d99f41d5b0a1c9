/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine under test: the simulator's CPUs driven by operations (op.def) instead of by events, so
 * that every order can be tried, and beside it what the driver knows: who sleeps, who may run
 * where, how long each task has run. After each operation world_check() compares, besides
 * sched_check().
 *
 * A violation ends in host_bug(), which calls world->sim->leave().
 */
#pragma once

#include "sim/engine/sim.h"

/* Fail as the scheduler's own assertions do. */
#define EXPECT(cond)                                                                               \
	do {                                                                                       \
		if (unlikely(!(cond)))                                                             \
			host_bug(__FILE__, __LINE__, #cond);                                       \
	} while (0)

#define WORLD_TASKS  32u
#define WORLD_CPUS   64u
#define WORLD_GROUPS 6u

enum op_kind {
#define OP(name, text) OP_##name,
#include "sim/explore/op.def"
#undef OP
	NR_OPS
};
extern const char *const op_name[NR_OPS];

struct op {
	u8 kind, cpu, task;
	bool late; /* kicks and due timers are not served after it */
	/*
	 * Not 0: another CPU does it during the last operation where this is 0, the so many-th time
	 * that no lock is held, counted from the operation before and including its moment; if it
	 * comes to that, else after it.
	 */
	u8 inside;
	u32 arg;
};

/* Speeds of a machine's CPUs; each cache is a frequency domain. */
enum world_opp {
	WORLD_ONE_SPEED,
	WORLD_ONE_TYPE,	 /* all have the same points */
	WORLD_TWO_TYPES, /* caches by turns have fast and slow CPUs */
	NR_WORLD_OPPS
};

/* CPUs in blocks: of @smt threads a core, of @llc CPUs a cache, of @node CPUs a node. */
struct shape {
	u16 hz;
	u8 nr_cpus, smt, llc, node;
	u8 opp;	     /* enum world_opp */
	u8 isolated; /* number of CPUs, from the last down, that are */
};

/* The driver's own record of a task. */
struct subject {
	struct sim_task *t; /* NULL: the place is free */
	enum { AWAKE, ANNOUNCED, ASLEEP, DYING, UNBORN } state;
	struct sched_attr_req attr;
	s32 group;   /* a place, or ROOT */
	u64 allowed; /* bit per CPU */
	u64 ran_ns;
};

struct group_subject {
	struct task_group *tg; /* NULL: the place is free */
	s32 parent;	       /* a place, or ROOT */
	struct task_group_params params;
	u64 ran_ns; /* its members and those of groups below, while they were */
};
#define ROOT (-1)

struct world {
	struct sim *sim;
	struct sim_listener listener;
	struct shape shape;
	unsigned nr_tasks; /* places */
	struct subject subject[WORLD_TASKS];
	struct group_subject group[WORLD_GROUPS];
	int current_pid[WORLD_CPUS]; /* by the switch events */
	u64 online;		     /* bit per CPU */
	unsigned tune[2];	     /* boost groups */
	bool deadlines;		     /* a task had some, ever */
	struct subject *undecided;   /* its change of policy goes on, and may fail */
	bool was_ext;		     /* a scheduler was loaded, ever */
	bool is_inside;		     /* an operation is performed in the middle of another */
	bool debts;		     /* vruntimes may be minutes or years apart */
	const struct op *outer;	     /* being done */
	const struct op *inner;	     /* the next of those to be done inside it */
	unsigned nr_inner, unlocks_left;
};

/* A machine without tasks; NULL: not one the scheduler accepts. */
bool world_init(struct world *w, const struct shape *shape, unsigned nr_tasks, const char *policy);
void world_free(struct world *w);

void world_check(struct world *w);
/* Tests the end state: left alone, tasks spread over the CPUs and get their shares. */
void world_calm(struct world *w);

/* The task that runs on @cpu; NULL: the idle task. */
struct subject *world_running(struct world *w, unsigned cpu);
/* Notes that a task whose last allowed CPU has left may now be allowed all. */
void world_learn_allowed(const struct world *w, struct subject *x);
/* The @n-th CPU if it is in service, or the next one that is. */
unsigned world_online_cpu(const struct world *w, unsigned n);
/* A bit for each CPU; as a mask. */
u64 world_cpus(const struct world *w);
/* The same without those that are isolated. */
u64 world_home(const struct world *w);
struct cpumask world_mask(u64 bits);

/* The running task of @cpu runs for @ns, in the driver's books. */
void world_account(struct world *w, unsigned cpu, u64 ns);

/* Switch on @cpu as the kernel does, for a kick or after an announcement. */
void world_switch(struct world *w, unsigned cpu, bool preempt);
/* Serve timers that are due and kicks until there are none. */
void world_settle(struct world *w);
/* @ns pass on every CPU. */
void world_pass(struct world *w, u64 ns);
/* A tick period passes, then every busy CPU has a tick; a tick of one, without time. */
void world_tick(struct world *w);
void world_tick_cpu(struct world *w, unsigned cpu);

/* The CPU leaves, unless it is the last; it comes back. */
void world_cpu_off(struct world *w, unsigned cpu);
void world_cpu_on(struct world *w, unsigned cpu);

/* The random scheduler is loaded no longer, if it was (op_ext.c). */
void ext_unload(struct world *w);

/* Perform @op, with the @nr_inner that follow it inside it, and check (op.c). */
void world_do(struct world *w, const struct op *op, unsigned nr_inner);
/* "nice.1.3.7~" and back. op_parse() returns false if @word is none. */
#define OP_TEXT 48
void op_print(const struct op *op, char text[static OP_TEXT]);
bool op_parse(struct op *op, const char *word);
