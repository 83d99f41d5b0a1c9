/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Exploration: many operations on many machines, with every invariant checked after each.
 *
 * Random: a run is a function of its seed, which draws the machine, the weights of the operations
 * (some runs hardly fork, some only migrate) and then the operations. What fails is shrunk to a
 * list from which nothing can be left out, and printed as a command that replays it.
 *
 * Exhaustive: every sequence of operations up to a length on a small machine.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "sim/explore/world.h"

struct explore_options {
	const char *policy; /* the fair policy to explore; NULL: one after the other */
	u64 seed;	    /* of the first run; each further run has the next number */
	u64 ops;	    /* number of them under each policy */
	bool verbose;	    /* print each operation */
	bool no_shrink;
	bool ext;	       /* as in a script */
	u64 without;	       /* likewise */
	const char *decisions; /* likewise; there is one machine then */
};

/* All that is needed to repeat a run. */
struct script {
	const char *policy;
	struct shape shape;
	unsigned nr_tasks;
	struct op *ops;
	unsigned nr_ops;
	bool verbose;
	unsigned limit_s;      /* CPU time after which a run is taken to hang; 0: RUN_LIMIT_S */
	u64 without;	       /* bits: operations that are not drawn */
	bool ext;	       /* OP_ext is drawn, too */
	const char *decisions; /* NULL, or the file for all decisions: no test of the end state */
	/* NULL, or a condition of the caller's that must hold after each operation too. */
	bool (*holds)(const struct world *);
};

/* The outcome of a run of a script. */
#define NO_END "it does not end"

struct verdict {
	char what[200];	 /* "file:line: text" of what failed, or NO_END; empty: nothing did */
	unsigned nr_ops; /* number of operations performed, with the one that failed */
};

/*
 * The machine and @nr_ops operations that @seed gives. script->without is the caller's; script->ops
 * is allocated.
 */
void script_draw(struct script *script, u64 seed, unsigned nr_ops);
struct verdict script_run(const struct script *script);
/* Leave out of @script, which fails with @what, everything without which it still does. */
void script_shrink(struct script *script, const char *what);
void script_print(const struct script *script, FILE *out);
/* From the text that script_print() printed. False: it is none; an error was printed. */
bool script_parse(struct script *script, const char *text);

#define EXHAUSTIVE_MAX 8u

/* Whether the command line asks for an exploration. */
static inline bool explore_wanted(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "--ops", 5) || !strncmp(argv[i], "--exh", 5) ||
		    !strncmp(argv[i], "--rep", 5))
			return true;
	return false;
}

/* The command line of both; the status to exit with. */
int explore_main(int argc, char **argv);

/* Each returns the number of policies under which something failed, after printing it to stdout. */
int explore_random(const struct explore_options *options);
int explore_replay(const char *policy, const char *text, bool verbose);
int explore_exhaustive(const char *policy, unsigned length);
