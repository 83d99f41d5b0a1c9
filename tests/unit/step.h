/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Another CPU between any two instructions: a function runs one machine instruction at a time, and
 * between two of them a test does what another CPU would.
 */
#pragma once

#include "lib/types.h"

/*
 * Runs @fn and calls @between before each instruction until it returns false; the rest of @fn then
 * runs at full speed. Not to be nested. A test that fails in @between leaves @fn where it is.
 */
void step_through(void (*fn)(void), bool (*between)(void));

/* Memory of a page of its own, all 0. */
void *step_page(void);
/* From now on nobody may read or write that page. */
void step_close_page(void *page);
/*
 * Runs @fn. True if it ended without touching a closed page; otherwise it is left where it was.
 */
bool step_ends_well(void (*fn)(void));

/* `current` and this_cpu() of the kernel: the GS segment begins at @cpu. */
void step_set_cpu(void *cpu);
