/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tests of bad behaviour: each runs in a child process and must end the way it ends on Linux.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How a child ends: an errno value (0: no error) as exit code, or a signal. */
#define ENDS(error)  (error)
#define DIES(signal) (1000 + (signal))

struct pointer_call; /* pointers.c */

struct crash_test {
	const char *name;
	int (*run)(void); /* in the child: returns an errno value, or not at all; NULL: use .call */
	int expected;	  /* ENDS or DIES, as on Linux */
	const char *what;
	const struct pointer_call *call;
};

/* Each list ends with an entry without name. */
extern const struct crash_test fault_tests[];	/* faults.c: the processor objects */
extern const struct crash_test exec_tests[];	/* execs.c: files that cannot be executed */
extern const struct crash_test call_tests[];	/* calls.c: bad arguments of system calls */
extern const struct crash_test pointer_tests[]; /* pointers.c: bad pointers */
extern const struct crash_test limit_tests[];	/* limits.c: too much; only when named */

/* Make @call with each bad pointer. EFAULT if all answer so, else the first other answer. */
int check_pointer(const struct pointer_call *call);

/* Call everything with senseless arguments; 0 when that is survived. */
int fuzz_syscalls(void);

/* The errno of the last call if it returned -1, else 0. */
int error_of(long result);

/* Addresses no process may use. */
#define KERNEL_ADDRESS 0xffffffff80200000ul /* the kernel's own code */
#define NO_ADDRESS     0x8000000000000000ul /* not canonical */
#define USER_END       0x00007ffffffff000ul
#define UNMAPPED       0x0000000000001000ul
