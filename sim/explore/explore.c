/* SPDX-License-Identifier: GPL-2.0-only */
/* Random exploration; see explore.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/explore/explore.h"
#include "sim/explore/op.h"
#include "sim/engine/plugin.h"
#include "sim/engine/process.h"
#include "sim/report/decisions.h"

#define RUN_OPS	    2000u /* operations on one machine, then there is a new one */
#define RUN_LIMIT_S 20	  /* CPU time after which a run is taken to hang */

/* --- one run ---------------------------------------------------------------------------------- */

static struct world world;
static const struct script *running;
static struct verdict verdict;

static void print_op(unsigned i, const struct op *op)
{
	char text[OP_TEXT];

	op_print(op, text);
	printf("%u: %s\n", i, text);
	fflush(stdout);
}

static void perform(void)
{
	const struct script *script = running;

	for (unsigned i = 0, nr_inner; i < script->nr_ops; i += 1 + nr_inner) {
		const struct op *op = &script->ops[i];

		for (nr_inner = 0; i + nr_inner + 1 < script->nr_ops; nr_inner++)
			if (!op[nr_inner + 1].inside)
				break;
		verdict.nr_ops = i + nr_inner + 1;
		for (unsigned n = 0; script->verbose && n <= nr_inner; n++)
			print_op(i + n, &op[n]);
		world_do(&world, op, nr_inner);
		if (script->holds && !script->holds(&world))
			host_bug(__FILE__, __LINE__, "the caller's condition");
	}
	if (!script->decisions)
		world_calm(&world);
}

/* The file for the decisions of the run, after a line that says which run it is. */
static struct decision_file *open_decisions(const struct script *script)
{
	const struct shape *shape = &script->shape;
	char about[400];

	snprintf(about, sizeof(about),
		 "{\"schema\": \"" DECISIONS_SCHEMA "\", \"sched\": \"%s\", \"commit\": "
		 "\"" COMMIT "\", \"topology\": \"%u threads, cores to %u, caches to %u\", "
		 "\"cpus\": %u, \"isolated\": %u, \"hz\": %u, \"speeds\": %u}\n",
		 script->policy, shape->smt, shape->llc, shape->node, shape->nr_cpus,
		 shape->isolated, shape->hz, shape->opp);
	return decisions_open_as(world.sim, about, script->decisions);
}

/* A crash, or a run that does not end, is a failure as good as a broken invariant. */
struct verdict script_run(const struct script *script)
{
	static const char *const ends[] = {
		[PROCESS_CRASHED] = "it crashes", [PROCESS_HANGS] = NO_END
	};
	struct decision_file *decisions;
	enum process_end end;

	verdict = (struct verdict){ .nr_ops = 0 };
	if (!world_init(&world, &script->shape, script->nr_tasks, script->policy)) {
		snprintf(verdict.what, sizeof(verdict.what), "no such machine");
		return verdict;
	}
	decisions = script->decisions ? open_decisions(script) : NULL;
	world.sim->leave = process_leave;
	running = script;
	end = process_attempt(perform, script->limit_s ?: RUN_LIMIT_S);
	if (end == PROCESS_DONE && decisions)
		decisions_close(decisions);
	if (end == PROCESS_DONE)
		world_free(&world);
	else /* Nothing in it can be relied on any more, so it is not taken apart. */
		snprintf(verdict.what, sizeof(verdict.what), "%s",
			 end == PROCESS_LEFT ? world.sim->bug : ends[end]);
	return verdict;
}

/* --- the text of a script --------------------------------------------------------------------- */

void script_print(const struct script *script, FILE *out)
{
	const struct shape *shape = &script->shape;
	char text[OP_TEXT];

	fprintf(out, "machine.%u.%u.%u.%u.%u.%u", shape->hz, shape->nr_cpus, shape->smt, shape->llc,
		shape->node, script->nr_tasks);
	if (shape->opp || shape->isolated)
		fprintf(out, ".%u", shape->opp);
	if (shape->isolated)
		fprintf(out, ".%u", shape->isolated);
	for (unsigned i = 0; i < script->nr_ops; i++) {
		op_print(&script->ops[i], text);
		fprintf(out, " %s", text);
	}
}

static bool parse_machine(struct script *script, const char *word)
{
	struct shape *shape = &script->shape;
	int end = 0, more = 0;

	shape->opp = WORLD_ONE_SPEED;
	shape->isolated = 0;
	if (!word ||
	    sscanf(word, "machine.%hu.%hhu.%hhu.%hhu.%hhu.%u%n", &shape->hz, &shape->nr_cpus,
		   &shape->smt, &shape->llc, &shape->node, &script->nr_tasks, &end) != 6)
		return false;
	if (word[end] &&
	    sscanf(word + end, ".%hhu%n.%hhu%n", &shape->opp, &more, &shape->isolated, &more) < 1)
		return false;
	return !word[end + more];
}

bool script_parse(struct script *script, const char *text)
{
	char *words = strdup(text), *rest = words, *word = strsep(&rest, " ");
	bool good = parse_machine(script, word);

	script->nr_ops = 0;
	script->ops = malloc((strlen(text) + 1) * sizeof(*script->ops));
	while (good && (word = strsep(&rest, " ")))
		if (*word)
			good = op_parse(&script->ops[script->nr_ops++], word);
	if (!good)
		fprintf(stderr, "schedsim: no operation of a replay: \"%s\"\n", word ? word : "");
	free(words);
	return good;
}

/* --- drawing runs ----------------------------------------------------------------------------- */

struct swarm {
	u32 weight[NR_OPS], total;
	u32 late_in;   /* one operation in so many leaves kicks for later */
	u32 inside_in; /* and one in so many is done inside the one before */
};

/*
 * Symmetric machines only: beside a core of two threads, a core of one keeps two tasks, by Linux
 * 6.1's rule that half of a difference of one is nothing to move.
 */
static struct shape draw_shape(struct prng *rng)
{
	static const u16 hz[] = { 100, 250, 1000 };
	unsigned most = prng_below(rng, 8) ? 8 : WORLD_CPUS, smt, llc, node, nr_cpus;

	do {
		smt = 1 + prng_below(rng, 2);
		llc = smt * (1 + prng_below(rng, 4));
		node = llc * (1 + prng_below(rng, 3));
		nr_cpus = node * (1 + prng_below(rng, 3));
	} while (nr_cpus > most);
	return (struct shape){
		hz[prng_below(rng, 3)], (u8)nr_cpus, (u8)smt, (u8)llc, (u8)node, WORLD_ONE_SPEED, 0
	};
}

static void prefer(struct swarm *swarm, enum op_kind op, u32 more)
{
	swarm->weight[op] += more;
	swarm->total += more;
}

/*
 * A machine on which energy decides where tasks wake up: fast CPUs and slow ones, no second
 * threads, and few tasks that sleep most of the time, for no CPU may have much to do.
 */
static void draw_frugal(struct prng *rng, struct script *script, struct swarm *swarm)
{
	u8 llc = (u8)(1 + prng_below(rng, 3)), nr_cpus = (u8)(llc * (2 + prng_below(rng, 3)));

	script->shape =
		(struct shape){ script->shape.hz, nr_cpus, 1, llc, nr_cpus, WORLD_TWO_TYPES, 0 };
	script->nr_tasks = 1 + prng_below(rng, nr_cpus);
	swarm->total = 0;
	for (unsigned op = 0; op < NR_OPS; op++)
		swarm->total += swarm->weight[op] = (swarm->weight[op] + 3) / 4;
	prefer(swarm, OP_block, 100);
	prefer(swarm, OP_wake, 60);
	prefer(swarm, OP_time, 20);
	prefer(swarm, OP_tick, 10);
}

/*
 * Every third machine has speeds, and every second of those with two types of CPU is frugal, which
 * is returned. From numbers of their own: the others stay what they were.
 */
static bool draw_speeds(u64 seed, struct script *script, struct swarm *swarm)
{
	struct prng rng;

	prng_seed(&rng, ~seed);
	if (prng_below(&rng, 3))
		return false;
	script->shape.opp = (u8)(WORLD_ONE_TYPE + prng_below(&rng, 2));
	prefer(swarm, OP_speed, 1 + prng_below(&rng, 10));
	if (script->shape.opp != WORLD_TWO_TYPES || prng_below(&rng, 2))
		return false;
	draw_frugal(&rng, script, swarm);
	return true;
}

/* Are the first @nr CPUs a symmetric machine? */
static bool is_symmetric(const struct shape *shape, unsigned nr)
{
	return nr == 1 || nr % shape->node == 0 || (nr < shape->node && nr % shape->llc == 0) ||
	       (nr < shape->llc && nr % shape->smt == 0);
}

/* On every eighth machine of several CPUs some are isolated. From numbers of their own, too. */
static void draw_isolated(u64 seed, struct script *script)
{
	struct shape *shape = &script->shape;
	unsigned left;
	struct prng rng;

	prng_seed(&rng, ~seed + 1);
	if (shape->nr_cpus == 1 || prng_below(&rng, 8))
		return;
	do
		left = 1 + prng_below(&rng, shape->nr_cpus - 1u);
	while (!is_symmetric(shape, left));
	shape->isolated = (u8)(shape->nr_cpus - left);
}

static struct swarm draw_swarm(struct prng *rng)
{
	struct swarm swarm = {
		.late_in = 2 + prng_below(rng, 8),
		.inside_in = prng_below(rng, 2) ? 2 + prng_below(rng, 4) : 0,
	};

	for (unsigned op = 0; op < OP_speed; op++)
		swarm.weight[op] = prng_below(rng, 3) ? 1 + prng_below(rng, 20) : 0;
	swarm.weight[OP_fork] += 2;
	swarm.weight[OP_tick] += 2;
	swarm.weight[OP_wake] += 2;
	swarm.weight[OP_exit] = (swarm.weight[OP_exit] + 3) / 4;
	swarm.weight[OP_group_new] = (swarm.weight[OP_group_new] + 3) / 4;
	if (swarm.weight[OP_far_sleep])
		swarm.weight[OP_far_sleep] = prng_below(rng, 4) == 0;
	for (unsigned op = 0; op < NR_OPS; op++)
		swarm.total += swarm.weight[op];
	return swarm;
}

static void forgo(struct swarm *swarm, unsigned op)
{
	swarm->total -= swarm->weight[op];
	swarm->weight[op] = 0;
}

static struct op draw_op(struct prng *rng, const struct swarm *swarm)
{
	u32 n = prng_below(rng, swarm->total);
	u8 kind = 0, inside = 0;

	while (n >= swarm->weight[kind])
		n -= swarm->weight[kind++];
	if (swarm->inside_in && prng_below(rng, swarm->inside_in) == 0)
		inside = (u8)(1 + prng_below(rng, 4));
	return (struct op){
		.kind = kind,
		.inside = inside,
		.cpu = (u8)prng_below(rng, WORLD_CPUS),
		.task = (u8)prng_below(rng, WORLD_TASKS),
		.late = prng_below(rng, swarm->late_in) == 0,
		.arg = (u32)prng_u64(rng),
	};
}

void script_draw(struct script *script, u64 seed, unsigned nr_ops)
{
	struct swarm swarm;
	struct prng rng;
	bool frugal;

	prng_seed(&rng, seed);
	script->ops = malloc(nr_ops * sizeof(*script->ops));
	if (!script->ops)
		abort();
	script->shape = draw_shape(&rng);
	script->nr_tasks = 1 + prng_below(&rng, WORLD_TASKS);
	swarm = draw_swarm(&rng);
	frugal = draw_speeds(seed, script, &swarm);
	if (!frugal)
		draw_isolated(seed, script);
	if (script->ext)
		prefer(&swarm, OP_ext, 2);
	for (unsigned op = 0; op < NR_OPS; op++)
		if (script->without & BIT(op))
			forgo(&swarm, op);
	script->nr_ops = nr_ops;
	for (unsigned i = 0; i < nr_ops; i++) {
		script->ops[i] = draw_op(&rng, &swarm);
		script->ops[i].cpu %= script->shape.nr_cpus;
		script->ops[i].task %= script->nr_tasks;
	}
	if (frugal && swarm.weight[OP_speed])
		script->ops[0] = (struct op){ .kind = OP_speed, .arg = SPEED_BY_ENERGY };
}

/* --- many runs -------------------------------------------------------------------------------- */

static void report(struct script *script, struct verdict found, u64 seed, u64 done, bool shrink)
{
	printf("%s, seed %llu, operation %llu: %s\n", script->policy, (unsigned long long)seed,
	       (unsigned long long)done + found.nr_ops, found.what);
	script->nr_ops = found.nr_ops;
	if (shrink)
		script_shrink(script, found.what);
	printf("%u operations are left; replay them with\n  build/schedsim %s%s%s", script->nr_ops,
	       plugin_path() ? "--plugin " : "", plugin_path() ?: "", plugin_path() ? " " : "");
	ext_print_programs(stdout);
	printf("--sched %s --replay \"", script->policy);
	script_print(script, stdout);
	printf("\"\n");
}

/* Returns whether all of it held. */
static bool explore_policy(const struct explore_options *options, const char *policy)
{
	u64 seed = options->seed;

	for (u64 done = 0; done < options->ops; done += RUN_OPS, seed++) {
		struct script script = { .policy = policy,
					 .verbose = options->verbose,
					 .ext = options->ext,
					 .without = options->without,
					 .decisions = options->decisions };
		struct verdict found;

		script_draw(&script, seed, (unsigned)min(options->ops - done, (u64)RUN_OPS));
		found = script_run(&script);
		if (found.what[0])
			report(&script, found, seed, done, !options->no_shrink);
		free(script.ops);
		if (found.what[0])
			return false;
	}
	printf("%s: %llu operations on %llu machines, every invariant held (seeds %llu..%llu)\n",
	       policy, (unsigned long long)options->ops, (unsigned long long)(seed - options->seed),
	       (unsigned long long)options->seed, (unsigned long long)seed - 1);
	return true;
}

int explore_random(const struct explore_options *options)
{
	int failures = 0;

	if (options->policy)
		return !explore_policy(options, options->policy);
	for (unsigned i = 0; policy_name(i); i++)
		failures += !explore_policy(options, policy_name(i));
	return failures;
}

int explore_replay(const char *policy, const char *text, bool verbose)
{
	struct script script = { .policy = policy, .verbose = verbose };
	struct verdict found;

	if (!script_parse(&script, text))
		return 2;
	found = script_run(&script);
	free(script.ops);
	if (!found.what[0])
		printf("%u operations, every invariant held\n", found.nr_ops);
	else
		printf("operation %u: %s\n", found.nr_ops - 1, found.what);
	return found.what[0] != 0;
}
