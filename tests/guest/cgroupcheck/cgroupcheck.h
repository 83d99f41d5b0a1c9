/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests of control groups; see cgroupcheck.c. common.c has the functions that they share. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "lib/check.h"

extern const struct check row_tests[];	    /* rows.c: what files take and answer */
extern const struct check v1_tests[];	    /* v1.c: v1 otherwise */
extern const struct check member_tests[];   /* members.c: moving, forking, ending, removing (v1) */
extern const struct check v2_tests[];	    /* v2.c: v2 otherwise */
extern const struct check type_tests[];	    /* types.c: v2's rules about who may be where */
extern const struct check fdl_tests[];	    /* fdl.c: deadlines and guarantees, not on Linux */
extern const struct check delegate_tests[]; /* delegate.c: groups of ordinary users */
extern const struct check storm_tests[];    /* storm.c: many groups, many writers */

/*
 * Mount the hierarchy with the controller and go to its root; leave it again, with nothing left
 * behind.
 */
void enter_v1(void);
void enter_v2(void);
void leave_v1(void);
void leave_v2(void);

struct hierarchy {
	void (*enter)(void), (*leave)(void);
};
extern const struct hierarchy v1, v2;
/* Call @fn in a new group, which is empty again when it returns. */
void in_group(const struct hierarchy *h, void (*fn)(void));

/* One write(2) of @text into an existing file: 0 or the error. */
int put(const char *file, const char *text);
int put_number(const char *file, long number);
/* The text of a file, until the next call; EXPECTs that it can be read. */
const char *get(const char *file);
/* The error of reading @file, or 0. */
int read_error(const char *file);
/* Is the text of @file @text and a newline? With "": is it empty? */
bool reads(const char *file, const char *text);
/* Is @number one of the lines of @file? */
bool lists(const char *file, pid_t number);
unsigned nr_lines(const char *file);
/* The number behind "NAME " in a file of such lines. */
long value_of(const char *file, const char *name);

struct row {			 /* of a table of writes and what comes of them */
	const char *file, *text; /* no text: only look */
	int error;
	const char
		*reads; /* what the file then contains, without the newline; NULL: not looked at */
};
/* Go through a table that ends with a row without file. */
void check_rows(const struct row *rows);
/* In a new group. */
void check_in_group(const struct hierarchy *h, const struct row *rows);

/* A child that sleeps until it is killed; and ending it. */
pid_t start_sleeper(void);
void end_child(pid_t pid);
/* Spend @ms of CPU time, mostly in user space. */
void burn(unsigned ms);
