/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The invariants' texts, by number.
 */
#include "sched/observe/check.h"

const char *const invariant_text[NR_INVARIANTS] = {
#define INVARIANT(id, text, ...) [INVARIANT_##id] = #id ": " text,
#include "sched/observe/invariant.def"
#undef INVARIANT
};
