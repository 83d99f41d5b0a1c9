/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between a program written for sched_ext and its host: the simulator (sim/scx/) or the kernel
 * (kernel/scx/). Both link all but scx.c, guard_*.c and timer.c, which are the simulator's own, and
 * each has the functions of the second part.
 */
#pragma once

#include <stdarg.h>

#include "sched/ext.h"
#include "sched/host.h"
#include "sched/task.h"
#include "sim/scx/include/scx/abi.h"

/* A walk of the program through a queue (kfunc.c). */
struct scx_walk;

/* A call of the program by this CPU. Calls nest: a function that the program calls may ask it. */
struct scx_frame {
	struct ext_call *call;
	struct scx_frame *outer;
	struct scx_walk *walks;	    /* that it has not ended yet */
	struct bpf_spin_lock *lock; /* that it holds */
	u32 pinned;		    /* a user half: 1 + the CPU on which it seems to be */
	struct rq rq;		    /* for scx_bpf_cpu_rq() */
};

/* The program that is loaded; at most one is. */
struct scx {
	const struct scx_program *program;
	struct task_struct **task; /* by PID; NULL: not of the program */
	u32 nr_tasks;
	struct task_struct idle;
	char *dump; /* the state in which it erred, or ""; for its operation exit */
};
extern struct scx scx;

/*
 * Memory that the program has no longer. Calls that were running then may use it to their end. The
 * view of a task is such memory, and then the task stays, too.
 */
struct scx_left {
	struct scx_left *next; /* the host's */
	struct task *t;	       /* NULL: of no task */
};

/* The program's view of @t, brought up to date; of the idle task if @t is none of its own. */
struct task_struct *scx_see(struct task *t);
/* The same of the program's task that has this number, or NULL. */
struct task_struct *scx_see_pid(u32 pid);
/* The task that the program means, even if it has left meanwhile; NULL: there is none such. */
struct task *scx_task(const struct task_struct *p);
/* No new call finds @left any more, if it is a task's. */
void scx_unsee(struct scx_left *left);
/* All tasks are the program's: its user half is told. For sched_ext_outside(). */
void scx_attached(struct ext_call *c, void *unused);
/* The table of operations for the class, made from the program's. */
struct ext_ops scx_operations(void);
/* Bytes that a dump of the program may have. */
size_t scx_dump_size(void);
/*
 * NULL, or why the class does not take @program, with *@err: it needs things that are not there, or
 * Linux refuses it. The host serialises this and the next one.
 */
const char *scx_refusal(const struct scx_program *program, int *err);
/* Sets the constant that @word, NAME=VALUE, names. NULL, or why not. */
const char *scx_set_constant(const struct scx_program *program, const char *word);
/* Does it have operations for control groups? */
bool scx_has_groups(const struct scx_program *program);
/* @program's constant (const volatile) with the name of @n bytes at @name; NULL: there is none. */
const struct scx_variable *scx_constant(const struct scx_program *program, const char *name,
					size_t n);
/* Ends the walks and releases the lock that a call has left (kfunc.c). */
void scx_end_call(struct scx_frame *frame);

/*
 * Memory for the maps of the program (map.c). NULL, or which map is refused, and why. Storage of a
 * task or a group ends with it.
 */
const char *scx_maps_open(void);
void scx_maps_close(void);
void scx_forget_task(const struct task_struct *p);
void scx_forget_group(const struct cgroup *cgrp);

/* The same for the arena @d (arena.c): false if there is no memory, or one before it. */
bool scx_arena_open(const struct scx_map *d);
void scx_arena_close(void);

/* @data, an object of the program (object.c), has one holder more; else false and a fault. */
bool scx_obj_hold(const void *data);
/* All objects of the program end, which is never called again. */
void scx_objects_free(void);

/*
 * Control groups (group.c). The program hears of those that there are when it is loaded and when it
 * goes, and between of each change. The host serialises these calls with loading and unloading, and
 * calls scx_groups_free() when the program is never called again.
 */
#define SCX_GROUPS_MAX 16384u
/* Before loading: false if there is no memory. */
bool scx_groups_prepare(void);
/* In the operations init and exit. */
s32 scx_groups_open(struct ext_call *c);
void scx_groups_close(struct ext_call *c);
void scx_groups_free(void);
/* Programs take the new @tg for the root, as Linux does with groups of sessions. */
void scx_group_hide(struct task_group *tg);
/* The operation of the class. */
s32 scx_group_move(struct ext_call *c, struct task *t, struct task_group *from,
		   struct task_group *to, enum ext_regroup_step step);
/* @tg is new: 0, or the error with which the program refuses it. */
s32 scx_group_begins(struct sched *s, struct task_group *tg);
/* @tg, without members, ends. Returns the memory that any running call of the program may use. */
void *scx_group_ends(struct sched *s, struct task_group *tg);
/* Parameters of @tg were written. */
void scx_group_changes(struct sched *s, struct task_group *tg, enum ext_group_news news);
/* The program's view of @t's group; NULL before it is loaded. */
struct cgroup *scx_see_group(const struct task *t);

/* No timer of the program expires any more; without @alive the machine of all is gone (timer.c). */
void scx_timers_end(bool alive);

/*
 * A division of the program by zero at @ip: its length, with BPF's results in the registers @ax and
 * @dx. 0: another instruction (divide.c).
 */
unsigned scx_skip_division(const u8 *ip, u64 *ax, u64 *dx);

/* --- the host ------------------------------------------------------------- */

/* Calls the program's function @fn, its @op, with up to four arguments. 0 if it did not return. */
#define scx_call(call, op, fn, ...) scx_call_with(call, op, fn, (const u64[4]){ __VA_ARGS__ })
u64 scx_call_with(struct ext_call *call, const char *op, void *fn, const u64 args[4]);
/* The innermost call on this CPU. */
struct scx_frame *scx_frame(void);
/*
 * Does the program own the @n bytes at @p, which it has given for reading or, with @write, for
 * writing? If not, the call of the program does not go on.
 */
void scx_need(const void *p, size_t n, bool write);
/* This CPU looks at a word again and again, which another is to change. */
void scx_relax(void);
/* The same for writing constants of the program, in its user half. */
void scx_need_constant(void *p, size_t n);
/* The constants that the user named have the user's values. In the operation init. */
void scx_set_constants(void);
/* Where @cpu is, by numbers of cores and caches, and its capacity in 1024ths of the fastest. */
struct scx_place {
	u32 core, llc, capacity;
};
struct scx_place scx_place(u32 cpu);
u32 scx_hz(void);
u32 scx_nr_cpus(void);
u32 scx_this_cpu(void);
bool scx_in_interrupt(void);
u64 scx_clock(void);
u32 scx_random(void);
const struct cpumask *scx_possible(void);
const struct cpumask *scx_online(void);
/* Zeroed memory, or NULL. scx_alloc_large() is for loading. */
void *scx_alloc(size_t size);
void *scx_alloc_large(size_t size);
void scx_free(void *p);
void scx_free_large(void *p);
/* Once no call may use @left: scx_unsee(), and after all calls that run then, scx_free(@left). */
void scx_keep_left(struct scx_left *left);
/* Is there room in scx.task for @pid? */
bool scx_has_room(u32 pid);
/* The program says @text, a line. */
void scx_say(char *text);
/* Text of the program, with arguments of its own, in @text. */
void scx_print(char *text, size_t size, const char *format, va_list args);
