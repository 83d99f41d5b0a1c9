/* SPDX-License-Identifier: GPL-2.0-only */
/* Probes of the memory that the kernel writes for a program; see leakcheck.c. */
#pragma once

#include <stddef.h>

#include "lib/check.h"

/* The memory is full of this byte before the kernel writes. */
#define UNTOUCHED 0x5a

struct probe {
	const char *name; /* NULL ends a list */
	/*
	 * Let the kernel write into @buf, which has room for ROOM bytes. Returns the size of what
	 * the kernel may have written, from @buf on, or -1 if the call does not exist.
	 */
	long (*write)(void *buf);
};

enum { ROOM = 16384 };

/* The system call @nr, which must succeed, as a number of bytes: @size. */
long wrote(size_t size, long result);
/* A child that has ended, or ends soon, with status 0. */
pid_t spawn_short(void);

extern const struct probe file_probes[];   /* files.c: metadata, directories, devices, pages */
extern const struct probe task_probes[];   /* tasks.c: processes, limits, scheduling, time */
extern const struct probe signal_probes[]; /* signals.c: frames, siginfo, masks */
