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

/* Where v1 is mounted, and control groups to play with: this one and "inner" in it. */
#define FUZZ_GROUPS "/cg"
#define FUZZ_GROUP  FUZZ_GROUPS "/fuzz"

/* --- files.c: the writable files of the kernel ---------------------------------------------- */

/* Returns how many there are. */
int find_files(void);
/* Reads, writes, seeks and truncates one of these files. */
void fuzz_file(struct random *r);
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

/* source.c: print the script in the file @name as C; and the table of calls. */
void print_source(const char *name);
void print_table(void);
