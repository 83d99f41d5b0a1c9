/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command lines from a table. Each program lists its options once; parsing, range checks, the usage
 * text and the error messages all derive from that list, so they cannot disagree.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/sched.h"

enum arg_type {
	ARG_FLAG,   /* bool *: present or not */
	ARG_INT,    /* int *, within [min, max] */
	ARG_NS,	    /* uint64_t *, ns; a plain number */
	ARG_TIME,   /* uint64_t *, ns; written with a unit: 250us 1.5ms 2s */
	ARG_CPUS,   /* struct cpu_set *: 0-3,6 */
	ARG_NICES,  /* struct int_list *: 0,5,10 */
	ARG_POLICY, /* struct policy *: other batch idle fifo:PRIO rr:PRIO */
};

struct arg {
	char letter;	  /* -t; 0 if only the long form exists */
	const char *name; /* --time; NULL if only the short form exists */
	enum arg_type type;
	void *value; /* points to what the type says; holds the default before parsing */
	const char *help;
	int min, max; /* ARG_INT */
};

struct program {
	const char *name;
	const char *purpose;	/* one sentence */
	const char *operands;	/* "CMD [ARG...]"; NULL if there are none */
	const struct arg *args; /* ends with an entry without letter and name */
};

/*
 * Parse; returns the index of the first operand. --help prints the usage and exits 0. An unknown
 * option, a missing or bad value, or an operand where none is allowed prints one line on stderr and
 * exits 2.
 */
int parse_args(const struct program *program, int argc, char **argv);

/* Complain on stderr as "NAME: what", add a pointer to --help, exit 2. */
_Noreturn void usage_error(const struct program *program, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Report that @what failed with errno, exit 1. */
_Noreturn void die(const char *what);

/* Become the program argv[0]; or say why not and exit 127 (not found) or 126, as shells do. */
_Noreturn void exec_command(const struct program *program, char **argv);

/* Whole-string conversions; false, and nothing stored, if @text is anything else. */
bool parse_int(const char *text, int min, int max, int *out);
bool parse_time(const char *text, uint64_t *ns);
