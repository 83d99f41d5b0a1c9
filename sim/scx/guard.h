/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations of a program are native code that nobody has verified. A wild pointer or an endless
 * loop in one ends the operation, and the scheduler is thrown out; the simulator goes on.
 */
#pragma once

#include <setjmp.h>

struct ext_call;

/* An operation that is being called; they nest, for one CPU's may cause one of another CPU. */
struct guard {
	sigjmp_buf start;
	const char *operation;
	struct ext_call *call;
	struct guard *before;
};

/* @what calls the program's operation @op; it returns at the end of that, or where it crashed. */
#define WITHIN_GUARD(c, op, what)                                                                  \
	do {                                                                                       \
		struct guard guard_;                                                               \
		guard_enter(&guard_, c, op);                                                       \
		if (!sigsetjmp(guard_.start, 0))                                                   \
			what;                                                                      \
		else                                                                               \
			guard_crashed(&guard_);                                                    \
		guard_leave(&guard_);                                                              \
	} while (0)

void guard_enter(struct guard *g, struct ext_call *c, const char *op);
void guard_leave(struct guard *g);
void guard_crashed(struct guard *g);
/* From now on crashes and hangs inside operations end these alone. */
void guard_open(void);
