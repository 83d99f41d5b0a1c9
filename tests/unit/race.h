/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two CPUs, and any order of what they do: one of them goes from one access to memory to the next,
 * and between any two the other does all of its part. Of sections under a lock only two outcomes
 * are right: that of one part after the other, and that of the other order.
 *
 * The file whose accesses count is compiled with -fsanitize=thread (UNIT_RACE_ in mk/unit.mk), so
 * it calls race.c before each of them.
 */
#pragma once

#include "lib/types.h"

#define RACE_FIELDS 24

struct race {
	const char *here_is, *there_is; /* "CPU 0 returns runtime" */
	void (*begin)(void);		/* both CPUs are about to begin */
	void (*here)(void);
	void (*there)(void);
	bool (*locked)(void);	  /* a lock is held here that there() takes: it waits */
	const char *const *field; /* names of what is compared, the last is NULL */
	void (*outcome)(s64 *value);
	void (*end)(void);
};

/* Fails with the field, the place and all three values if there is an outcome that is not right. */
void race_try(const struct race *race);
