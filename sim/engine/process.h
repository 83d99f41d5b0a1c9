/* SPDX-License-Identifier: GPL-2.0-only */
/* The simulator asks this of its process. process_posix.c answers, or process_wasi.c. */
#pragma once

#include <stddef.h>

#include "lib/types.h"

/*
 * From now on @stuck is called each time that @ms of this process's CPU time have passed, from the
 * middle of anything; 0 ends that. Nothing happens where there is no such clock.
 */
void process_watch(u32 ms, void (*stuck)(void));

enum process_end { PROCESS_DONE, PROCESS_LEFT, PROCESS_CRASHED, PROCESS_HANGS };
/*
 * Calls @what, which may end early: by process_leave(), by a crash, or because @limit_s seconds of
 * CPU time have passed. Then nothing that it used can be relied on. One attempt at a time.
 */
enum process_end process_attempt(void (*what)(void), u32 limit_s);
__noreturn void process_leave(void);

/*
 * From now on a crash calls @crashed, on a stack of its own, with a phrase ("used a wild pointer")
 * and the address that was used wrongly. If it returns, the process ends. A division by zero asks
 * @skip first, unless that is NULL: the instruction at @ip has that length, and its results are in
 * @ax and @dx. 0: it is a crash.
 */
typedef unsigned skip_division_fn(const u8 *ip, u64 *ax, u64 *dx);
void process_catch(void (*crashed)(const char *phrase, const void *address),
		   skip_division_fn *skip);
/* Do the two addresses lie in the same shared object? */
bool process_same_object(const void *a, const void *b);
/* The outermost function that is being called of the shared object of @object: a place in it. */
const void *process_called_in(const void *object);

/* The object @symbol of the shared object @file; NULL with a reason in @error if there is none. */
const void *process_load(const char *file, const char *symbol, const char **error);

/* The shared object @file is gone, unless others need it; when it is loaded again, it is new. */
void process_unload(const char *file);

/* From now on the @bytes at @address can be written, though they are constant. */
void process_make_writable(void *address, size_t bytes);

/* An advice: @memory is large and used at once. */
void process_use_huge_pages(void *memory, size_t bytes);

/* The standard output is a terminal whose lines are shorter than those of a wide report. */
bool process_has_narrow_terminal(void);
