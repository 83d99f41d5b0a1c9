/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests of limits; see limitcheck.c. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "lib/check.h"

extern const struct check user_tests[];	  /* users.c: threads, signals, timers */
extern const struct check memory_tests[]; /* memory.c: what descriptors hold */

/* Users that nobody else is: of each run others, for what the dead have taken comes back late. */
extern uid_t first_user;
#define ALICE first_user
#define BOB   (first_user + 1)
#define CAROL (first_user + 2)

/* The soft and the hard limit. */
void limit(int kind, rlim_t most);
