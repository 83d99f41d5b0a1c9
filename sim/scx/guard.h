/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations of a program are code that nobody has verified. A crash or, in native code, an endless
 * loop in one ends the operation, and the scheduler is thrown out; the simulator goes on.
 * guard_posix.c is for native code, and guard_wasi.c for WebAssembly.
 */
#pragma once

#include "lib/types.h"

struct ext_call;
struct scx_program;

/* The program in @file; NULL with a reason in @error if there is none. */
const struct scx_program *guard_load(const char *file, const char **error);
/*
 * Calls the program's function @fn, its operation @op. 0 if it crashed: @c is told. Calls nest, for
 * an operation of one CPU may cause one of another CPU.
 */
u64 guard_call(struct ext_call *c, const char *op, void *fn, const u64 args[4]);
/* From now on crashes and hangs inside operations end these alone. */
void guard_open(void);
