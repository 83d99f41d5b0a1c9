/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Senseless input to the kernel: where the numbers come from, and the two kinds of it.
 */
#pragma once

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

/* calls.c: make @n system calls. In a process that may end from it. */
void fuzz_calls(struct random *r, int n);

/* Where v1 is mounted, and control groups to play with: this one and "inner" in it. */
#define FUZZ_GROUPS "/cg"
#define FUZZ_GROUP  FUZZ_GROUPS "/fuzz"

/* files.c: find the writable files of the kernel; how many. */
int find_files(void);
/* Read, write, seek and truncate @n times, each time one of these files. */
void fuzz_files(struct random *r, int n);
