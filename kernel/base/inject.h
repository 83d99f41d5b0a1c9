/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Failures on order (debug builds): allocations return NULL and copies from and to programs fail
 * although nothing is wrong, so that the ways out of every system call can be taken. Names and
 * rules are those of Linux's fault injection; docs/machine.md says how it is used. In release
 * builds these calls are nothing.
 */
#pragma once

#include "kernel/kernel.h"

struct thread;

enum inject_kind { INJECT_SLAB, INJECT_PAGE, INJECT_COPY, NR_INJECT_KINDS };

bool inject_fails(enum inject_kind kind, size_t size);
bool inject_fails_page(unsigned order, bool for_program);
bool inject_fails_inline(void);
bool inject_took_memory(void);
void inject_to_child(struct thread *child);
void inject_count(enum inject_kind kind, long nr);

/* Is the object of @size bytes, which the caller's caller wants, refused? */
#define inject_slab(size) (DEBUG && inject_fails(INJECT_SLAB, size))
/* Are the 2^@order pages refused? @for_program: it would have to leave the kernel its reserve. */
#define inject_page(order, for_program) (DEBUG && inject_fails_page(order, for_program))
/* Is the copy from or to a program refused? */
#define inject_copy()	     (DEBUG && inject_fails(INJECT_COPY, 1))
#define inject_inline_copy() (DEBUG && inject_fails_inline())

/* Was memory only pretended to be short when the running thread last got none? Asked once. */
static inline bool inject_is_cause(void)
{
	return DEBUG && inject_took_memory();
}

/* Of @kind, @nr more are in use: objects, or pages that are not slabs. */
static inline void inject_in_use(enum inject_kind kind, long nr)
{
	if (DEBUG)
		inject_count(kind, nr);
}

/* The running thread makes a thread @child. */
static inline void inject_inherit(struct thread *child)
{
	if (DEBUG)
		inject_to_child(child);
}

/* /proc/PID/fail-nth and make-it-fail: see struct injection. */
size_t show_fail_nth(void *ref, char *buf, size_t size);
long store_fail_nth(void *ref, const char *text, size_t len);
size_t show_make_it_fail(void *ref, char *buf, size_t size);
long store_make_it_fail(void *ref, const char *text, size_t len);
