/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run in steps, for a host such as a page in a browser: make a machine from a command line, run
 * it a bit, read what it decided, change something, go on. docs/browser.md is about the page.
 *
 * There is one session at a time. All that it is lies in the program's memory, and between two
 * calls nothing is buffered: so a copy of a WebAssembly module's memory, and of its files, is a
 * second future of the same moment. Errors in the command line end the program with a message.
 */
#pragma once

#include "lib/types.h"

enum session_state {
	SESSION_TIME,	  /* the time asked for has come */
	SESSION_DECISION, /* a number of decisions was made */
	SESSION_END,	  /* the run has ended */
	SESSION_FAILED,	  /* a task made a mistake: see stderr */
};

enum session_event_kind {
	SESSION_SWITCH,	  /* from @pid to numbers[1], 0: idle; numbers[0] is 0 if @pid can go on */
	SESSION_RUNNABLE, /* @pid is; numbers: its row, as in session_ideal(), its waker, or 0 */
	SESSION_NAME,	  /* @pid is called @name; without a time */
	SESSION_AVERAGES, /* of @pid, at each charge and switch: util, load, runnable */
};

struct session_event {
	u64 time; /* ns from the start, at least 1, as in records */
	s32 pid;
	u16 kind, cpu;
	union {
		u32 numbers[4];
		char name[16]; /* without a 0 if it has 16 letters */
	};
};

/*
 * Room for @size bytes, in which the host puts the words of the command line, each with a 0. Of 0
 * bytes: the room that there is.
 */
char *session_room(u32 size);
/*
 * Begins the run that the @nr words say, "schedsim" first, of one policy. Its --decisions is
 * written as the run goes on. EVENTS, if it is not "", is a file for what a picture needs: struct
 * session_event after struct session_event.
 */
void session_open(int nr);
/*
 * Runs until @time, ns from the start, is reached or @decisions more were made, 0: any number. It
 * stops after the event in which the last one was made. Returns an enum session_state.
 */
int session_run(u64 time, u64 decisions);
/* ns from the start. */
u64 session_now(void);
/* The length of the run, ns. */
u64 session_length(void);
/*
 * Changes in the middle, made by CPU 0: a tunable by its file's name, the fair policy, the nice
 * value of a task. The text is in session_room(), for a tunable "NAME=VALUE". 0 or -errno.
 */
int session_set(void);
int session_policy(void);
int session_nice(int pid, int nice);
/*
 * Prints the sentences of all rules as one object of JSON, {"fair": {"RULE": "it is ..."}, ...}:
 * those of a fair policy's hooks, and of "aim", "select", "balance", "class" and "quota".
 */
void session_rules(void);
/* Prints a line for each policy, its name and traits, as schedsim --list-policies does. */
void session_policies(void);
/*
 * Prints what a fluid server would give the tasks of each program in the whole run, as one list of
 * JSON: [{"name": NAME, "ideal_ns": NS}, ...]. The run must have ended; changes made in the middle
 * do not count.
 */
void session_ideal(void);
/*
 * Prints the C of the policy in expressions (docs/policies.md) whose file is named in
 * session_room(). Needs no session.
 */
void session_export(void);
/*
 * Explores the policy in expressions whose file is named in session_room(), as schedsim --plugin
 * FILE --seed --ops does, and prints the same. Returns 1 if something failed, else 0. Needs no
 * session, and of the host the functions of sim/engine/process_wasi.c.
 */
int session_explore(u64 seed, u64 ops);
/* Prints what each operation of an exploration does: {"NAME": "the current task ends", ...}. */
void session_operations(void);
/* Ends the run: its file of decisions is complete. */
void session_close(void);
