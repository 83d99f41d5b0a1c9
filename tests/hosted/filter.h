/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts of filters and records of events, both drawn by a number (filter.c, filter_model.c). */
#pragma once

#include "object.h"

/* The number of a call is that of a text, or of a record. */
enum filter_op { FILTER_SET, FILTER_TAKE_AWAY, FILTER_PASS, FILTER_SHOW };

enum { FILTER_TEXT = 400 };

/* A text is for sched_process_exec, or else for sched_switch. */
static inline bool filter_is_of_exec(u32 n)
{
	return n % 4 == 1;
}

/*
 * A record as a filter sees it. Of sched_process_exec the first name and process ID are those of
 * the program, the second ID is the old one.
 */
struct filter_record {
	s64 prev_state;
	s32 prev_pid, prev_prio, next_pid, next_prio;
	u8 common_flags;
	const char *prev_comm, *next_comm, *comm; /* the last: of the thread that records */
};

/* Writes the text number @n and a NUL; its length. One in three is spoilt; others may be wrong. */
size_t filter_text(u32 n, char text[FILTER_TEXT]);
struct filter_record filter_record(u32 n);

struct filter_model {
	struct {
		bool there;
		u32 n; /* of its text */
	} filter[NR_FIBERS];
};
DECLARE_MODEL(filter);
