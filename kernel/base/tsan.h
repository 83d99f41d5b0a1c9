/* SPDX-License-Identifier: GPL-2.0-only */
/* SAN=thread, for its own test: a race on one word is caught instead of printed (tsan.c). */
#pragma once

#include "lib/types.h"

/* The places of two accesses that raced. */
struct tsan_race {
	u64 watched, met;
};

/* From now on races on the word @p are caught. NULL: on none. */
void tsan_catch(const u64 *p);
/* Returns whether one was caught since tsan_catch(), and where it was. */
bool tsan_caught(struct tsan_race *race);
