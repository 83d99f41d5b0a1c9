/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Another CPU between any two instructions. A function runs in a process of its own, one machine
 * instruction at a time. This process is the machine around it: it does what the function calls,
 * and between two instructions what another CPU would.
 *
 * The other process begins as a copy of this one. What runs there can change its own memory only:
 * it gets no system call, so it neither prints nor ends, and nothing that this process knows
 * depends on it.
 */
#pragma once

#include "lib/types.h"

/* A function that this process does for the other one. @does gets its first three arguments. */
struct step_call {
	void *function;
	u64 (*does)(const u64 *arg);
};

/* Begins the process, as a copy of this one at this moment, which ends the one before. */
void step_begin(void);
/*
 * Runs @fn in it, with @between before each instruction. @calls ends with {}. Returns NULL when @fn
 * has returned, or else a sentence on what ended it. What the process then has can be read.
 */
const char *step_run(void (*fn)(void), const struct step_call *calls, void (*between)(void));

/* @size bytes, at most 8, of the other process; the test fails if there is no memory. */
u64 step_read(const void *at, size_t size);
void step_write(void *at, u64 value, size_t size);
/* The value of a variable there, and a store to it. */
#define THEIRS(variable)	    ((typeof(variable))step_read(&(variable), sizeof(variable)))
#define SET_THEIRS(variable, value) step_write(&(variable), (u64)(value), sizeof(variable))

/* Memory of a page of its own, all 0; before step_begin(). */
void *step_page(void);
/* From now on the other process may neither read nor write that page. */
void step_close_page(void *page);
/* Did a touch of the closed page @page end the function? */
bool step_touched(const void *page);

/* `current` and this_cpu() of the kernel: the GS segment begins at @cpu. Before step_begin(). */
void step_set_cpu(void *cpu);
