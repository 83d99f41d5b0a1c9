/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which mutation is on: `make mutate` builds all of them into one tree (tools/scripts/mutation).
 * There this file is sched/mutation/switch.h or kernel/mutation/switch.h, and `a < b` is
 *
 *	(mutation(17) ? (a <= b) : (a < b))
 */
#pragma once

#ifdef ONLY_MUTATION /* for the compiler: a program with this one, and without a switch */
#define mutation(number) ((number) == ONLY_MUTATION)
#else
/* Is this mutation on? Notes that the program came by here. */
_Bool mutation(unsigned number);
#endif
