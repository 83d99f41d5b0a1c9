/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects of the kernel on the host: random programs beside a model. Long ones of one thread; short
 * ones with each allocation failing in turn, at last of every three operations; and short ones of
 * two or three threads under many schedules. A program that fails is shrunk, and printed as a
 * command that replays it.
 */
#include <getopt.h>
#include <sanitizer/common_interface_defs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

static const struct object *const objects[] = {
	&account_object, &cgroup_object, &epoll_object,	 &eventfd_object,    &fdtable_object,
	&filter_object,	 &flock_object,	 &futex_object,	 &instance_object,   &ldisc_object,
	&mutex_object,	 &oom_object,	 &perf_object,	 &pipe_object,	     &posix_timer_object,
	&record_object,	 &ring_object,	 &signal_object, &socketpair_object, &timerfd_object,
	&tmpfs_object,	 &vma_object,
};

static struct history history;
static u64 nr_runs;
static unsigned most_preemptions = 2;
static u64 runs_of_a_program = 400; /* 0: every schedule */

/* --- schedules ----------------------------------------------------------------------------- */

static bool run(const struct program *p)
{
	nr_runs++;
	return program_run(p, &history);
}

/* Can thread @to go on at @at of the last run? */
static bool able(u32 at, u8 to)
{
	return history.world.able[at] >> to & 1;
}

/*
 * Runs @p, whose schedule failed nothing in the last run, with more preemptions behind it, up to
 * @most in all: every way there is.
 */
static bool extend(struct program *p, unsigned most)
{
	unsigned last = p->schedule.nr;
	u32 nr = history.world.nr_points, from = last ? p->schedule.list[last - 1].at + 1 : 0;
	u8 *was_able;
	bool good = true;

	if (last == most)
		return true;
	was_able = malloc(nr + 1);
	memcpy(was_able, history.world.able, nr);
	p->schedule.nr++;
	for (u32 at = from; at < nr && good; at++)
		for (u8 to = 0; to < p->nr_threads && good; to++) {
			if (!(was_able[at] >> to & 1))
				continue;
			p->schedule.list[last] = (struct preemption){ at, to };
			good = run(p) && extend(p, most);
		}
	free(was_able);
	if (good)
		p->schedule.nr--;
	return good;
}

/* Runs @p with one preemption more at a time, at random places. */
static bool run_some(struct program *p, struct prng *random)
{
	p->schedule.nr = 0;
	if (!run(p))
		return false;
	while (p->schedule.nr < most_preemptions) {
		unsigned last = p->schedule.nr;
		u32 from = last ? p->schedule.list[last - 1].at + 1 : 0;
		u32 at = from + prng_below(random, history.world.nr_points - from + 1);
		u8 to = (u8)prng_below(random, p->nr_threads);

		if (at >= history.world.nr_points || !able(at, to))
			return true;
		p->schedule.list[p->schedule.nr++] = (struct preemption){ at, to };
		if (!run(p))
			return false;
	}
	return true;
}

/* One preemption anywhere, and more at so many random places; or without a limit, every way. */
static bool schedules(struct program *p)
{
	struct prng random;
	u64 until = nr_runs + runs_of_a_program;
	bool good;

	p->schedule.nr = 0;
	if (!run(p))
		return false;
	if (p->nr_threads == 1 || !extend(p, runs_of_a_program ? 1 : most_preemptions))
		return p->nr_threads == 1;
	prng_seed(&random, p->nr_threads);
	for (good = true; good && nr_runs < until;)
		good = run_some(p, &random);
	if (good)
		p->schedule.nr = 0;
	return good;
}

static u64 nr_sequences;
static u64 nr_failing; /* runs in which an allocation failed */

/*
 * Runs @p, and then with each allocation failing in its turn, until one run comes to no such. Those
 * of the making of the object are left out but for @all.
 */
static bool every_allocation(struct program *p, bool all)
{
	bool good = run(p);

	p->failing = all ? 0 : history.world.nr_to_create;
	while (good) {
		p->failing++;
		good = run(p);
		if (!history.world.failed)
			break;
		nr_failing++;
	}
	if (good)
		p->failing = 0;
	return good;
}

#define RUNS_BESIDE 100

/* Runs @p, of several threads, with a preemption or two and an allocation failing, at random. */
static bool failing_beside(struct program *p, struct prng *random)
{
	const u64 until = nr_runs + RUNS_BESIDE;
	unsigned first, nr;
	bool good = run(p);

	first = history.world.nr_to_create;
	nr = history.world.nr_allocations - first;
	while (good && nr && nr_runs < until) {
		p->failing = first + 1 + prng_below(random, nr);
		good = run_some(p, random);
		nr_failing += history.world.failed;
	}
	if (good)
		p->failing = p->schedule.nr = 0;
	return good;
}

/* Every three operations in a row, with some numbers and each allocation failing in turn. */
static bool every_sequence(struct program *p, struct prng *random)
{
	u8 ops[3] = { 0 };
	unsigned nr_ops = 0, i;

	while (p->object->op_names[nr_ops])
		nr_ops++;
	do {
		if (program_draw_ops(p, random, ops, ARRAY_SIZE(ops))) {
			nr_sequences++;
			if (!every_allocation(p, false))
				return false;
		}
		for (i = 0; i < ARRAY_SIZE(ops) && ++ops[i] == nr_ops; i++)
			ops[i] = 0;
	} while (i < ARRAY_SIZE(ops));
	return true;
}

static bool try(struct program *p)
{
	return p->failing ? run(p) : schedules(p);
}

/* --- shrinking ------------------------------------------------------------------------------ */

/* A run that fails leaves the kernel's own data as they are, so it has a process of its own. */
static struct {
	struct program program;
	char fault[200];
	u64 nr_runs; /* of the last child */
} * shared;

#define FAILED 3 /* as exit status of a child: the program in @shared did; others: a sanitizer */

static bool in_child(bool (*way)(struct program *))
{
	int status;
	pid_t child = fork();

	if (!child) {
		bool good = way(&shared->program);

		memcpy(shared->fault, history.world.fault, sizeof(shared->fault));
		shared->nr_runs = nr_runs;
		fflush(stdout);
		_exit(good ? 0 : FAILED);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		exit(2);
	if (status && status != W_EXITCODE(FAILED, 0))
		exit(1);
	return !status;
}

static bool try_without(struct program *p, unsigned nr, unsigned i)
{
	struct program *shorter = &shared->program;

	*shorter = *p;
	shorter->nr_calls[nr]--;
	memmove(&shorter->calls[nr][i], &shorter->calls[nr][i + 1],
		(MAX_CALLS - i - 1) * sizeof(shorter->calls[nr][i]));
	if (in_child(try))
		return false;
	*p = *shorter;
	return true;
}

static bool run_as_it_is(struct program *p)
{
	return run(p);
}

static void shrink(struct program *p)
{
	bool any;

	do {
		any = false;
		for (unsigned nr = 0; nr < p->nr_threads; nr++)
			for (unsigned i = p->nr_calls[nr]; i-- > 0;)
				any |= try_without(p, nr, i);
	} while (any);
	shared->program = *p;
	in_child(run_as_it_is);
}

static const struct program *being_run;
static u64 found_in; /* the number of the run that failed; 0: the last one */

/* Also what a sanitizer calls before it ends the program. */
static void print_replay(void)
{
	if (!being_run)
		return;
	printf("  build/unit/hosted --object %s --replay \"", being_run->object->name);
	program_print(being_run, stdout);
	printf("\"\n  found in run %lu\n", found_in ? found_in : nr_runs);
	fflush(stdout);
}

/* Both states, if the program that fails is @p: by gdb, in which it runs once more. */
static void print_states(const struct program *p)
{
	char *text, path[4096];
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!realpath("/proc/self/exe", path))
		exit(1);
	program_print(p, out);
	fclose(out);
	setenv("ASAN_OPTIONS", "detect_leaks=0", true);
	execlp("gdb", "gdb", "-nx", "-q", "-batch", "-x", "tests/hosted/states.py", "--args", path,
	       "--object", p->object->name, "--replay", text, NULL);
	printf("  gdb is missing, which shows both states: sh tools/setup.sh --for gdb\n");
	exit(1);
}

static void shrink_and_tell(void)
{
	static struct program p;

	p = shared->program;
	found_in = shared->nr_runs;
	shrink(&p);
	printf("%s: %s\n", p.object->name, shared->fault);
	being_run = &p;
	print_replay();
	print_states(&p);
}

/* --- the command line ------------------------------------------------------------------------- */

/* A program of several threads comes after so many pairs of one thread. */
#define ALONE 4

static unsigned nr_programs = 100;
static unsigned sequences = 1; /* so often each three operations */
static u64 seed = 1;

static bool try_known(struct program *p)
{
	struct prng random;

	prng_seed(&random, seed);
	for (const char *const *text = p->object->known; text && *text; text++)
		if (!program_parse(p, *text) || !schedules(p) ||
		    !(p->nr_threads == 1 ? every_allocation(p, false) : failing_beside(p, &random)))
			return false;
	return true;
}

/* False: @p, whose object alone is given, is a program that fails. */
static bool explore(struct program *p)
{
	struct prng random;

	being_run = p;
	if (!try_known(p))
		return false;
	prng_seed(&random, seed);
	for (unsigned i = 0; i < nr_programs; i++) {
		program_draw(p, &random, true, MAX_CALLS);
		if (!schedules(p))
			return false;
		program_draw(p, &random, true, 3);
		if (!every_allocation(p, i == 0))
			return false;
		if (i % ALONE)
			continue;
		program_draw(p, &random, false, 2);
		if (!schedules(p) || !failing_beside(p, &random))
			return false;
	}
	for (unsigned i = 0; i < sequences; i++)
		if (!every_sequence(p, &random))
			return false;
	printf("%s: %u programs, %lu sequences, %lu runs, %lu without an allocation\n",
	       p->object->name, nr_programs, nr_sequences, nr_runs, nr_failing);
	return true;
}

static void print_answers(const struct program *p)
{
	for (unsigned nr = 0; nr < p->nr_threads; nr++)
		for (unsigned i = 0; i < p->nr_calls[nr]; i++) {
			const struct event *e = &history.events[nr][i];

			printf("  %u %s:%u = %ld (%lx)%s from %u to %u\n", nr,
			       p->object->op_names[p->calls[nr][i].op], p->calls[nr][i].n,
			       e->answer.value, e->answer.digest, e->slept ? " slept" : "",
			       e->begun, e->ended);
		}
}

static int replay(const struct object *object, const char *text)
{
	static struct program p;
	bool good;

	p.object = object;
	if (!program_parse(&p, text))
		return 2;
	being_run = &p;
	good = run(&p);
	print_answers(&p);
	printf("%s: %s\n", object->name, good ? "all is right" : history.world.fault);
	return !good;
}

/* Returns the exit status for a command that is wrong. */
static int __printf(1, 2) complain(const char *format, ...)
{
	va_list args;

	fputs("hosted: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" (--help says more)\n", stderr);
	return 2;
}

static const struct object *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		if (!strcmp(objects[i]->name, name))
			return objects[i];
	exit(complain("there is no object \"%s\"", name));
}

static void help(void)
{
	printf("usage: hosted [--object NAME] [--seed N] [--programs N] [--preemptions N]\n"
	       "              [--runs N] [--sequences N] [--replay PROGRAM]\n"
	       "Let programs of system calls run on objects of the kernel, beside their models.\n"
	       "  --object NAME    only this object; all:");
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		printf("%s%s", i % 10 ? " " : "\n                   ", objects[i]->name);
	printf("\n"
	       "  --seed N         draw other programs (1)\n"
	       "  --programs N     so many of each kind (100)\n"
	       "  --preemptions N  most switches of a run, up to %u (2)\n"
	       "  --runs N         runs of a program with several threads (400); 0: all "
	       "schedules\n"
	       "  --sequences N    so often every three calls in a row (1)\n"
	       "  --replay PROGRAM the one run that was printed, of the object that was\n",
	       MAX_PREEMPTIONS);
}

/* The number that option @name has; ends the program if @text is none from @least to @most. */
static u64 number(const char *name, const char *text, u64 most)
{
	const char *end;
	u64 n;

	if (parse_number(text, 0, most, &n, &end) && !*end)
		return n;
	exit(complain("--%s %s: this is no number from 0 to %lu", name, text, most));
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "object", 1, NULL, 'o' },   { "seed", 1, NULL, 's' },
		{ "programs", 1, NULL, 'n' }, { "preemptions", 1, NULL, 'p' },
		{ "runs", 1, NULL, 'm' },     { "sequences", 1, NULL, 'q' },
		{ "replay", 1, NULL, 'r' },   { "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	const struct object *object = NULL;
	const char *text = NULL, *name;
	int c, which;

	while ((c = getopt_long(argc, argv, "", options, &which)) != -1) {
		name = options[which].name;
		if (c == 'o')
			object = find(optarg);
		else if (c == 's')
			seed = number(name, optarg, UINT64_MAX);
		else if (c == 'n')
			nr_programs = (unsigned)number(name, optarg, UINT32_MAX);
		else if (c == 'p')
			most_preemptions = (unsigned)number(name, optarg, MAX_PREEMPTIONS);
		else if (c == 'm')
			runs_of_a_program = number(name, optarg, UINT32_MAX);
		else if (c == 'q')
			sequences = (unsigned)number(name, optarg, UINT32_MAX);
		else if (c == 'r')
			text = optarg;
		else if (c == 'h')
			return help(), 0;
		else
			return complain("which options are there?");
	}
	if (optind < argc)
		return complain("\"%s\" belongs to no option", argv[optind]);
	if (text && !object)
		return complain("--replay needs --object NAME: whose calls are \"%s\"?", text);
	__sanitizer_set_death_callback(print_replay);
	if (text)
		return replay(object, text);
	fiber_prepare();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		if (object && objects[i] != object)
			continue;
		shared->program.object = objects[i];
		if (!in_child(explore)) {
			shrink_and_tell();
			return 1;
		}
	}
	return 0;
}
