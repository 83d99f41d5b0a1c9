/* SPDX-License-Identifier: GPL-2.0-only */
/* failcheck: the system calls that are made, and what each finds when it is made. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>

/* Descriptors of every try. The low ones are free, so that one that is forgotten shows. */
enum {
	A_FILE = 40, /* "file", 8 KiB */
	A_DIR,	     /* "." */
	A_NULL,	     /* /dev/null */
	PIPE_IN,     /* to read 100 bytes from */
	PIPE_OUT,
	EMPTY_IN, /* an empty pipe */
	EMPTY_OUT,
	SOCK_A, /* 100 bytes wait on either side */
	SOCK_B,
	AN_EPOLL, /* which A_EVENT is in */
	AN_EVENT, /* has counted to 1 */
	A_TIMER,  /* expired */
	A_SIGNAL, /* SIGUSR2 is pending */
	A_TTY,	  /* the console */
	NTH,	  /* /proc/thread-self/fail-nth */
	LAST_OPEN,
};

enum row_flags {
	FORKS = 1,    /* returns twice: the child ends at once */
	ENDS = 2,     /* the process ends, so that nobody can say whether a failure was taken */
	EXECS = 4,    /* this program begins again, and tells by its status */
	ONCE = 8,     /* after a failure it has another result: what it took or did is gone */
	MAY_DIE = 16, /* a signal is the answer to a failure */
};

struct row {
	const char *name; /* of the call, and perhaps a word about its arguments */
	long nr;
	long arg[6];
	unsigned flags;
	void (*prepare)(void); /* before the failure is ordered */
};

/* The histogram of "write trigger", which the program takes away after each try. */
#define TRIGGER	  "/sys/kernel/tracing/events/sched/sched_wakeup/trigger"
#define HISTOGRAM "hist:keys=pid:vals=hitcount"

#define P(pointer) ((long)(pointer))
#define ROW(call, ...)                                                                             \
	{                                                                                          \
#call, SYS_##call,                                                                 \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
/* With a word, flags and a function. */
#define ROW_AS(call, word, row_flags, function, ...)                                               \
	{                                                                                          \
#call " " word, SYS_##call, { __VA_ARGS__ }, row_flags, function                   \
	}

/* The end of each list has no name. */
extern const struct row file_rows[], path_rows[], task_rows[], kernel_rows[];

/* Objects and pages that the kernel has handed out. */
struct in_use {
	long objects, pages;
};

struct in_use count_in_use(void);
/* Returns how many objects, or 1000 times how many pages, are in use more and stay; 0: none. */
long lasting_loss(struct in_use before);

/* Before a process that calls set_up(), and after it. */
void make_place(void);
void clean_up(void);
/* Makes the files and objects that rows are about, for the running process. */
void set_up(void);
/* Puts new pipes, sockets, timers and so on in the place of the old ones, which go away. */
void renew_objects(void);
long make_call(const struct row *row);

/* pairs.c: runs @nr_pairs pairs of the @nr_rows rows. Returns how many went wrong. */
int check_pairs(const struct row *const *rows, int nr_rows, int nr_pairs, unsigned seed);

extern char buffer[65536];
/* Never returns if @result is negative. Returns it otherwise. */
long must(long result, const char *what);
