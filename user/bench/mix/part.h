/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A part of a mix: some processes of one kind with the same attributes, and what came of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/hist.h"
#include "lib/sched.h"

struct part;
struct member;

struct kind {
	const char *name;
	void (*run)(const struct part *p, struct member *m); /* until m->end_ns */
	int processes;					     /* of each, which run together */
	const char *count; /* what m->done counts; NULL: nothing */
	bool late;	   /* it wakes by a timer and fills m->late and m->response */
	bool changes;	   /* it needs p->change */
};

#define NAME_LENGTH 32
#define MAX_VALUES  8
#define GROUPS	    "/tmp/cgroup" /* where a version 2 hierarchy is mounted */

/* Give @what the value that @value means. -1 and errno on error. */
typedef int change_fn(const char *what, const char *value);

/* A setting that a process changes, and the values that it gets in turn. */
struct change {
	change_fn *set;
	int nr;
	char what[NAME_LENGTH], value[MAX_VALUES][NAME_LENGTH];
};

struct part {
	char name[NAME_LENGTH], group[NAME_LENGTH];
	const struct kind *kind;
	int nr; /* of kind->processes each */
	int nice;
	struct policy policy;
	struct deadline deadline;
	struct cpu_set cpus;
	uint64_t slice_ns, run_ns, sleep_ns;
	uint64_t own_ns; /* fork: what the parent uses before each */
	struct change change;
	int pipe[MAX_LIST][2][2]; /* kinds of two processes: there and back, of each pair */
};

/* One process: what it knows, then what it reports. */
struct member {
	int index; /* in its part */
	uint64_t end_ns;
	uint64_t cpu_ns, wait_ns, slices, migrations, done;
	struct hist late, response;
};

/* The kind called @name, or NULL. */
const struct kind *find_kind(const char *name);

/* Fill @c from "WHAT VALUE..."; false if it is not understood. */
bool parse_change(const char *text, struct change *c);
/* Make the change number @n, from 0 on; ends the program if the kernel refuses it. */
void make_change(const struct change *c, uint64_t n);
/* Write @value to @file below GROUPS. -1 and errno on error. */
int write_group(const char *file, const char *value);

/* Fill @p from "KIND[:KEY=VALUE,...]"; ends the program with a sentence if that makes no sense. */
void parse_part(const char *text, struct part *p);
