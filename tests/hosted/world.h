/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads of the kernel on the host, one at a time. Each is a fiber with a CPU of its own. Between
 * two basic blocks of the kernel's code, and where it takes or gives back a lock, another one may
 * go on: the schedule says where. So a run is a function of its threads and its schedule.
 */
#pragma once

#include "fiber.h"
#include "lib/types.h"

/* At the point number @at of the run the thread @to goes on instead of the one that ran. */
struct preemption {
	u32 at;
	u8 to;
};

#define MAX_PREEMPTIONS 4

struct schedule {
	unsigned nr;
	struct preemption list[MAX_PREEMPTIONS]; /* by place */
};

/* A run with more points than that has no end; one of a single thread may have more. */
#define MAX_POINTS	 20000
#define MAX_POINTS_ALONE (200 * MAX_POINTS)

struct world {
	/* The run: @body(@nr) in each thread. */
	unsigned nr_threads;
	void (*body)(unsigned nr);
	void (*ends)(int code); /* the running thread ends within @body, with that wait status */
	struct schedule schedule;
	unsigned failing; /* the allocation that fails, from 1 on; 0: none */

	/* The outcome. */
	u32 nr_points;
	/* Of several threads, as bits: those but the running one that could go on there. */
	u8 able[MAX_POINTS];
	unsigned nr_allocations, nr_to_create; /* in all; before the threads ran */
	bool failed;			       /* the allocation did */
	unsigned failed_in;		       /* the thread that asked for it */
	bool stuck;	 /* all that were left slept: from there on their process is killed */
	char fault[200]; /* empty: none */
};

/* A new run of @w. From here on its user makes objects, before its threads run and after. */
void world_begin(struct world *w);
/* Runs @w->body in all threads until they end. */
void world_run(struct world *w);
/* All objects are gone: what is left of memory, or of the user's account, is a fault. */
void world_end(void);
/* The running thread's number. */
unsigned world_thread(void);
/* Each thread has a CPU, and what runs beside the threads. */
#define NR_CPUS (NR_FIBERS + 1)
/*
 * The running thread goes on as an interrupt of the CPU @cpu, whose own thread stands still
 * meanwhile. False: there is none.
 */
bool world_borrow_cpu(unsigned cpu);
void world_return_cpu(unsigned cpu);
/* On return every thread has let interrupts in, and the running one sees what it did before. */
void world_wait_for_irqs(void);
/* The number of points so far. */
u32 world_now(void);
/* Another thread may go on here. */
void world_point(void);

/* Wakeups by the running thread are counted from now on, or no more. */
void world_count_wakeups(bool on);
/* The number, from 1 on, of the last that woke the running thread; the call forgets it. */
u32 world_take_wakeup(void);

/* A signal for the thread @nr, until it takes it. */
void world_signal(unsigned nr);
void world_take_signal(void);

/* --- process.c ----------------------------------------------------------------------- */

struct thread;
/* A thread of the run, until world_end(). */
struct thread *world_thread_of(unsigned nr);
/* The process of all threads of a world, in which each signal is ignored. */
extern struct proc hosted_process;
void process_begin(void);
void process_add(struct thread *t);
/* Forgets the signals that are pending. */
void process_end(void);
/* The running thread ends: never returns. */
void world_thread_ends(int code) __attribute__((noreturn));

/* --- clock.c ------------------------------------------------------------------------- */

void clock_begin(void);
/* False: a timer is left. */
bool clock_end(void);
/* So much time goes by, in the running thread: it takes the interrupts of timers. */
void clock_advance(u64 ns);

/* --- memory.c ------------------------------------------------------------------------ */

void memory_begin(struct world *w);
/* Objects and pages that were allocated and not freed. */
unsigned memory_in_use(void);
/* An allocation of this run has failed. */
bool memory_failed(void);
bool memory_failed_in(unsigned nr); /* by thread @nr */
/* While it is on, allocations are the boot's: none fails, and nobody frees them. */
void memory_of_boot(bool on);
/* The next copies of the running thread from or to user memory meet this, @after bytes. */
enum user_memory { USER_PRESENT, USER_ABSENT, USER_BAD };
void user_memory_is(enum user_memory how, size_t after);

/* --- table.c ------------------------------------------------------------------------- */

/* An empty page table for pages from @va on. */
void table_begin(u64 va);
/* Gives back what the table takes, if not the pages in it. */
void table_end(void);
/* Nobody has a reference to the page @pa any more. */
void table_page_is_free(u64 pa);

/* --- file.c -------------------------------------------------------------------------- */

struct proc;
/*
 * Makes @p the process of the running thread: @nr_threads threads, and an empty table of at most
 * @max_files descriptors. False: there was no memory. The table is given back by files_put().
 */
bool proc_begin(struct proc *p, unsigned nr_threads, unsigned max_files);
