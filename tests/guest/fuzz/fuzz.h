/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Senseless input to the kernel: where the numbers come from, and the three kinds of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stream of numbers that depends on its first value only (splitmix64). */
struct random {
	uint64_t state;
};

uint64_t random_next(struct random *r);
/* 0 .. n-1; 0 if @n is 0. */
uint64_t random_below(struct random *r, uint64_t n);
/* Mostly numbers at the edges of ranges, sometimes any. */
uint64_t random_edge(struct random *r);

/* --- calls.c: any number with any arguments ------------------------------------------------ */

#define PAGE	 4096
#define NR_PATHS 20

extern char *pages; /* three: random numbers, the same read-only, none */
extern const char *const paths[NR_PATHS];

void make_pages(void);
/* Makes one system call. In a process that may end from it. */
void fuzz_call(struct random *r);
void fuzz_calls(struct random *r, int n);
/* Does call @nr end the machine, or this process at once? */
bool is_skipped(long nr);
/* Does call @nr send signals? */
bool is_sending(long nr);

/* Where control groups are mounted, and one to play with: this one and "inner" in it. */
#define FUZZ_GROUPS "/cg"
#define FUZZ_GROUP  FUZZ_GROUPS "/fuzz"

/* --- files.c: the writable files of the kernel ---------------------------------------------- */

/* Makes control groups of version 2 or 1. Returns how many files there are. */
int find_files(bool in_v2);
/* Reads, writes, seeks and truncates one of these files, which follows from @which. */
void fuzz_file(struct random *which, struct random *r);
/* Remembers the settings that these files are; gives back those that have changed. */
void keep_settings(void);
void restore_settings(void);
void put_text(const char *path, const char *text);
void fuzz_files(struct random *r, int n);

/* --- run.c: scripts (script.h) --------------------------------------------------------------- */

/*
 * Runs @nr scripts that follow from @r. Returns how many lose objects or pages each time; one that
 * does not end, ends this program.
 */
int fuzz_scripts(struct random *r, int nr);
/* Runs the scripts that the host hands in by the kernel of COVER=1, without end. */
_Noreturn void serve_link(void);
/* Runs the script in the file @name so often. Returns whether it loses something. */
int replay(const char *name, int times);

/* rows.c: more calls for scripts, and what they leave. */
void add_script_rows(void);
void restore_machine(void);

/* source.c: print the script in the file @name as C; and the table of calls. */
void print_source(const char *name);
void print_table(void);
