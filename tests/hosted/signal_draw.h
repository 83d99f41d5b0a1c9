/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls of the object "signal", and how they are drawn. */
#pragma once

#include "object.h"

#define NR_SIGNALS 10
#define NR_SETS	   7
#define EVERYTHING (NR_SETS - 1) /* the set of all signals */

/*
 * The number of a call that sends is the signal's place in the list, and times 10 the thread; of
 * one with a set the set's place, and times 10 the time until when it waits; of an action the
 * signal's place, and times 10 the action.
 */
enum op {
	OP_KILL,
	OP_QUEUE,
	OP_TGKILL,
	OP_KERNEL,
	OP_FORCE,
	OP_MASK,
	OP_ACTION,
	OP_DELIVER,
	OP_WAIT,
	OP_WAIT_UNTIL,
	OP_TRY_WAIT,
	OP_READ,
	OP_TRY_READ,
	OP_POLL,
	OP_PENDING,
	OP_ADVANCE
};

enum action { DEFAULT, IGNORE, HANDLE, HANDLE_ONCE, NR_ACTIONS };

struct call signal_draw(struct prng *random, bool alone);
