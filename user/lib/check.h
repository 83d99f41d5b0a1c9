/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program of checks: tests by name, each in a child process and in an empty directory of its
 * own, so that none can spoil another.
 */
#pragma once

#include <sys/types.h>

#include "lib/args.h"

struct check {
	const char *name; /* NULL ends a list */
	void (*run)(void);
};

/* main() of such a program: run the tests named by the operands, or all; 0 if none failed. */
int run_checks(const struct program *program, const struct check *const *groups, unsigned nr_groups,
	       int argc, char **argv);

/* Say what is wrong and end the test. */
_Noreturn void fail(const char *file, int line, const char *what);

#define EXPECT(cond)                                                                               \
	do {                                                                                       \
		if (!(cond))                                                                       \
			fail(__FILE__, __LINE__, #cond);                                           \
	} while (0)
/* @call returns -1 and sets errno to @error. */
#define EXPECT_ERROR(error, call)                                                                  \
	do {                                                                                       \
		errno = 0;                                                                         \
		if ((call) != -1 || errno != (error))                                              \
			fail(__FILE__, __LINE__, #call " fails with " #error);                     \
	} while (0)

/* A child process that runs @fn(@arg) and exits 0; and waiting for it to have done so. */
pid_t spawn(void (*fn)(void *), void *arg);
void await_child(pid_t pid);
/*
 * Become @user, of its own group and no other, for good. Without the right to do so the test ends
 * here, and counts as passed.
 */
void become(uid_t user);
/* Call @fn with a pointer to 0..PARTIES-1, each in a child; return when all have ended. */
enum { PARTIES = 4 };
void run_parties(void (*fn)(void *index));
/*
 * Wait until the thread @tid of the process @pid sleeps, however slow the machine is. If the call
 * under test is the first that can sleep, the thread sleeps in this call.
 */
void await_sleep(pid_t pid, pid_t tid);
