/* SPDX-License-Identifier: GPL-2.0-only */
/* Tests of memory; see memcheck.c. */
#pragma once

#include <stddef.h>

#include "lib/check.h"

extern const struct check map_tests[];	   /* maps.c: mmap and its family */
extern const struct check process_tests[]; /* processes.c: fork, heap, stack, exec */
extern const struct check thread_tests[];  /* threads.c: several threads, several CPUs */
extern const struct check vdso_tests[];	   /* vdso.c: the vDSO */

#define PAGE 4096ul
#define RW   (PROT_READ | PROT_WRITE)

/* The result of a read of *p, or of a read and write: 0, or signal << 8 | si_code. */
int fault_of(volatile char *p, bool write);
#define MAPERR (SIGSEGV << 8 | SEGV_MAPERR)
#define ACCERR (SIGSEGV << 8 | SEGV_ACCERR)
#define BUSERR (SIGBUS << 8 | BUS_ADRERR)

/* A new anonymous mapping. */
char *map_memory(size_t size, int prot, int flags);
bool is_filled(const char *p, char with, size_t n);
