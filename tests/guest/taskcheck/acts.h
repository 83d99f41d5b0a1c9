/* SPDX-License-Identifier: GPL-2.0-only */
/* Acts that an ordinary user is refused, in three tables: paths, system calls, what takes steps. */
#pragma once

#include <sys/types.h>

/* The ordinary user; what the victim has open: a file, and one that is unlinked. */
enum { USER = 1000, OPEN_FD = 60, UNLINKED_FD };

/* A process of user 0 that leads a session and a group. A secret is in its environment. */
extern pid_t victim;

/* One system call. An argument VICTIM becomes the victim's number. */
#define VICTIM (-0x76696374L)
struct call_act {
	const char *name;
	int error;
	long number, args[6];
};
extern const struct call_act call_acts[]; /* acts_calls.c; a name NULL ends each table */

/* More than one call. The act runs in a process of its own; -1 and errno: refused. */
struct step_act {
	const char *name;
	int error;
	long (*act)(void);
};
extern const struct step_act step_acts[]; /* acts_steps.c */

/* The files that the acts are about, in the working directory; then the victim. By user 0. */
void make_files(void);
void make_file(const char *name, mode_t mode);
