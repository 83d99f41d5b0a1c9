/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decisions of the scheduler (sched/observe/decision.def) as the reports have them: gathered from
 * events, as text for people, and as a file for tools.
 */
#pragma once

#include <stdio.h>

#include "sched/observe/decision.h"
#include "sim/report/report.h"

/* The candidates of the decision that comes next. All 0 before the first. */
struct candidates {
	u32 nr;
	bool complete; /* the decision has come: the next candidate is another's */
	struct event_sched_decision_candidate row[DECISION_ROWS_MAX + 1];
};

/* The record of a decision, which all kinds share. */
#define decision_record event_sched_decision_pick

/* --- decision_text.c ---------------------------------------------------------------------- */

/*
 * Takes an event of the machine. Returns the decision that it completes, with @c its candidates
 * until the next call; or NULL.
 */
const struct decision_record *decision_gather(struct candidates *c,
					      const struct sched_event *event);

/* Prints the table of candidates, as rows of ms from the leftmost, and who was picked and why. */
void decision_print(FILE *out, const struct decision_record *d, const struct candidates *c);

/* The tasks of the decision of another class that comes next. */
struct class_tasks {
	u32 nr;
	struct event_sched_decision_task row[DECISION_ROWS_MAX + 1];
};
/* For a pick of ext: prints the table of tasks with the queues that they wait in. */
void class_tasks_print(FILE *out, const struct event_sched_decision_class *d,
		       const struct class_tasks *c);
/* The sentences of rules (rule.def), which continue "because". */
const char *decision_rule_text(u8 rule);
const char *class_rule_text(u8 rule);

/* --- decisions.c -------------------------------------------------------------------------- */

/*
 * --decisions: every decision of the machine @sim, which has not run yet, goes to @path, after what
 * says which run it is: @r, under the policy @sched. The file holds lines of JSON, or if its name
 * ends in ".bin" the records' own bytes. decisions_close() before the machine is freed.
 */
#define DECISIONS_SCHEMA "fairground-decisions/4"

struct decision_file;
struct decision_file *decisions_open(struct sim *sim, const struct report *r, const char *sched,
				     const char *path);
/* The same; @about is the line of JSON that says which run it is. */
struct decision_file *decisions_open_as(struct sim *sim, const char *about, const char *path);
void decisions_close(struct decision_file *file);
/* Writes what is still in memory. */
void decisions_flush(struct decision_file *file);
/* Is an event of @type a decision, and not one of the rows that come before it? */
bool decisions_is_record(u16 type);
/* Does the name of a file end so? */
bool has_ending(const char *text, const char *ending);
