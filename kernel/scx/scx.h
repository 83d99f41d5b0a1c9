/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs written for sched_ext as the kernel's scheduler: native objects (make scx) that root
 * loads. docs/scx.md is the manual. The binding to the class ext is shared with the simulator
 * (sim/scx/binding.h); this is the kernel as its host.
 *
 * PROTOCOL: guarded calls. The program runs in the kernel, and is not trusted to be right. Each
 * call of it is a guarded one with interrupts off, whose frame is this CPU's innermost. A fault in
 * its code ends the call (guard.c), and so does a call that takes too long or too much stack: the
 * program counts the blocks of code that it runs, by a call that the compiler puts into each. Then
 * the class throws the scheduler out, and the kernel goes on. A wild store into memory that exists
 * is not noticed.
 */
#pragma once

#include "kernel/arch.h"
#include "sim/scx/binding.h"

#define SCX_PATH_MAX 128

/* A loaded object. Its text is read-only, its data are not executable, and nothing is beside it. */
struct scx_object {
	u8 *file; /* a copy of the file, for names */
	u64 size;
	u64 base, text_end, constants_end, end; /* whole pages */
	u64 *place;				/* by section: its address; 0: not in memory */
};

/* Loads the file @path. NULL, or the sentence that says why it is damaged, with *@err set. */
const char *scx_object_open(struct scx_object *o, const char *path, int *err);
void scx_object_close(struct scx_object *o);
/* From now on text cannot be written. Sleeps. */
void scx_object_protect_text(struct scx_object *o);
/* Constants neither. Sleeps. */
void scx_object_protect_constants(struct scx_object *o);
/* The table of the program in @o, if all that it points to is in @o; else NULL. */
const struct scx_program *scx_object_program(const struct scx_object *o);
/* Is @ip in the code of @o, which may be NULL? */
bool scx_object_has_text(const struct scx_object *o, u64 ip);
/* "name+0x12" of the object's function at @ip, or the number. Returns @buf. */
const char *scx_object_name(const struct scx_object *o, u64 ip, char *buf, size_t size);

/* The loaded object, for messages of guard.c; NULL: none. */
extern const struct scx_object *scx_object;

/* Timers of the program (timer.c): all stop, and none starts any more. Sleeps. */
void scx_timers_close(void);

/* Loads FILE[,NAME=VALUE...]; 0 or -errno, and why is in the log. Sleeps. */
int scx_load(const char *spec);
/* At boot, from the first process: loads what the parameter sched=scx:FILE names. Sleeps. */
void scx_boot(void);
/* Unloads the scheduler, if there is one. Sleeps. */
void scx_unload(void);
/* The name of the loaded scheduler in @buf; false: there is none. */
bool scx_name(char *buf, size_t size);
/* Are all fair tasks the loaded scheduler's? */
bool scx_switches_all(void);
/* Its counters; all 0 if there is none. */
struct ext_events scx_events(void);
/* "enabled", "disabled" or "disabling", and how many schedulers were loaded since boot. */
const char *scx_state(void);
u64 scx_nr_loads(void);
/* Returns when each call of the program that was running has ended. Sleeps. */
void scx_wait_for_calls(void);
/* Is there memory that has left the program, and is kept for calls that are running? */
bool scx_has_left(void);
/* Frees it when those calls have ended. The program stays loaded meanwhile. Sleeps. */
void scx_free_left(void);
/* The directory of the loaded scheduler in /sys appears or goes (sysfs.c). */
void scx_show_root(bool visible);
