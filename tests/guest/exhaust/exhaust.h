/* SPDX-License-Identifier: GPL-2.0-only */
/* Kinds of things that an ordinary user may take too much of; see exhaust.c. */
#pragma once

#include <stdbool.h>

#define MOST 1000000l /* of anything: it takes too long to take more */

struct kind {
	const char *name; /* NULL ends the list */
	bool (*take)(long nr); /* one more, @nr have been taken; false, with errno: there is none */
};

extern const struct kind kinds[]; /* kinds.c */
