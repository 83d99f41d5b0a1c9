/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of schedsim that explore instead of simulating. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/plugin.h"
#include "sim/engine/util.h"
#include "sim/explore/explore.h"
#include "sim/explore/judge.h"
#include "sim/explore/op.h"
#include "sim/scx/scx.h"

static const char usage[] =
	"usage: schedsim [--sched NAME|all] --ops N [--seed N] [--verbose] [--no-shrink]\n"
	"                [--no-oracle] [--ext] [--scx FILE]... [--without OPERATION,...]\n"
	"       schedsim --sched NAME --ops N --decisions FILE [--seed N] [--without ...]\n"
	"       schedsim [--sched NAME|all] --exhaustive LENGTH\n"
	"       schedsim --sched NAME --replay \"machine... OPERATION...\" [--verbose]\n"
	"                [--scx FILE]...\n";

static bool known_policy(const char *name)
{
	for (unsigned i = 0; policy_name(i); i++)
		if (!strcmp(policy_name(i), name))
			return true;
	return false;
}

struct choice {
	struct explore_options options;
	u64 length;
	const char *replay;
};

/* The bits of the operations that a list names; it is cut up. */
static bool parse_operations(char *text, u64 *bits)
{
	char *name;
	struct op op;

	while ((name = strsep(&text, ","))) {
		if (!op_parse(&op, name))
			return false;
		*bits |= BIT(op.kind);
	}
	return true;
}

static bool parse_option(struct choice *choice, int option)
{
	struct explore_options *o = &choice->options;

	switch (option) {
	case 'l':
		plugin_load(optarg);
		return true;
	case 'p':
		o->policy = strcmp(optarg, "all") ? optarg : NULL;
		return !o->policy || known_policy(o->policy);
	case 'o':
		return parse_number(optarg, UINT64_MAX, &o->ops) && o->ops;
	case 's':
		return parse_number(optarg, UINT64_MAX, &o->seed);
	case 'x':
		return parse_number(optarg, UINT64_MAX, &choice->length) && choice->length &&
		       choice->length <= EXHAUSTIVE_MAX;
	case 'r':
		choice->replay = optarg;
		return true;
	case 'v':
		return o->verbose = true;
	case 'n':
		return o->no_shrink = true;
	case 'd': /* the oracles do not see through what records */
		o->decisions = optarg;
		o->no_shrink = true;
		judge_dismiss();
		return true;
	case 'e':
		return o->ext = true;
	case 'c': /* it is opened for a try: what is wrong with it is told here */
		scx_open(optarg);
		scx_go(false);
		o->ext = true;
		return ext_add_program(optarg);
	case 'w':
		return parse_operations(optarg, &o->without);
	case 'j':
		judge_dismiss();
		return true;
	default:
		return false;
	}
}

static int run_choice(const struct choice *choice)
{
	if (choice->replay)
		return explore_replay(choice->options.policy, choice->replay,
				      choice->options.verbose);
	if (choice->length)
		return explore_exhaustive(choice->options.policy, (unsigned)choice->length);
	return explore_random(&choice->options);
}

int explore_main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "plugin", required_argument, NULL, 'l' },
		{ "sched", required_argument, NULL, 'p' },
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "exhaustive", required_argument, NULL, 'x' },
		{ "replay", required_argument, NULL, 'r' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "no-shrink", no_argument, NULL, 'n' },
		{ "no-oracle", no_argument, NULL, 'j' },
		{ "decisions", required_argument, NULL, 'd' },
		{ "ext", no_argument, NULL, 'e' },
		{ "scx", required_argument, NULL, 'c' },
		{ "without", required_argument, NULL, 'w' },
		{ 0 },
	};
	struct choice choice = { .options.seed = 1 };
	int option, which;

	while ((option = getopt_long(argc, argv, "", long_options, &which)) != -1) {
		if (parse_option(&choice, option))
			continue;
		if (option == '?')
			fputs(usage, stderr);
		else
			fprintf(stderr, "schedsim: --%s %s: %s\n", long_options[which].name, optarg,
				option == 'p' ? "no such policy" : "not a number, or out of range");
		return 2;
	}
	if (optind < argc || !!choice.replay + !!choice.length + !!choice.options.ops != 1) {
		fputs(usage, stderr);
		return 2;
	}
	printf("schedsim, commit %s:", COMMIT);
	for (int i = 1; i < argc; i++)
		printf(" %s", argv[i]);
	printf("\n");
	return run_choice(&choice);
}
