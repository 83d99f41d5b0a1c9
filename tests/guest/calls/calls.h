/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls, one row for each way to make one, and what each finds when it is made.
 * failcheck makes them as they stand; fuzz takes them as the description of their arguments.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
	A_PERF,	  /* an event of perf, of this thread, which records names */
	NTH,	  /* /proc/thread-self/fail-nth */
	LAST_OPEN,
};

enum row_flags {
	FORKS = 1,    /* returns twice: the child ends at once */
	ENDS = 2,     /* the process ends, so that nobody can say whether a failure was taken */
	EXECS = 4,    /* this program begins again, and tells by its status */
	ONCE = 8,     /* after a failure it has another result: what it took or did is gone */
	MAY_DIE = 16, /* a signal is the answer to a failure */
	LATE = 32,    /* prepared just before it is made: others may have changed what it needs */
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

#define CALLS_PLACE "/tmp/calls" /* the files of a row are in "in" there */
#define DEBUGFS	    "/sys/kernel/debug/"

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
void add_rows(const struct row *list); /* behind these */
int nr_rows(void);
const struct row *row_at(int i); /* 0 <= @i < nr_rows() */

/* Objects and pages that the kernel has handed out. */
struct in_use {
	long objects, pages;
};

/* Which failures may be ordered: all; @verbose: each with a message. Needs a debug kernel. */
void allow_failures(bool verbose);
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
/* Makes the new descriptor @fd the descriptor @where. */
void place(int fd, int where);

/* The attributes of A_PERF, in the first form of Linux's struct perf_event_attr. */
extern struct perf_attributes {
	uint32_t type, size;
	uint64_t config, period, sample_type, read_format, flags;
	uint32_t wakeup, breakpoint_type;
	uint64_t breakpoint, breakpoint_length;
} perf_attributes;
extern char buffer[65536];
/* A failure of must() ends nothing: another thread, or a strange argument, may be its cause. */
extern bool forgiving;
/* Never returns if @result is negative and nothing is forgiven. Returns it otherwise. */
long must(long result, const char *what);
