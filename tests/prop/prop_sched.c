/*
 * Random operations on a machine of 1..8 CPUs, with sched_check() and the test's own model after
 * each.
 *
 * A run is a function of its seed: the seed draws the machine, the weights of the operations (swarm
 * testing: some runs hardly fork, some only migrate) and then each operation. On a failure the
 * runner shrinks the list of operations by leaving out ranges, and prints the line that replays it.
 *
 *	prop_sched [--seed N] [--runs N] [--ops N] [--keep A,B,C,...] [--verbose] [--no-shrink]
 *
 * Each operation draws its parameters from a generator of its own, seeded by its index, so that
 * leaving some out does not change the others.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "lib/errno.h"

#define MAX_TASKS 24
#define MAX_OPS	  100000u

/* Fail such that the runner can shrink: as the scheduler's own assertions do. */
#define EXPECT(cond)                                                                               \
	do {                                                                                       \
		if (!(cond))                                                                       \
			host_bug(__FILE__, __LINE__, #cond);                                       \
	} while (0)

enum op {
	OP_FORK,
	OP_EXIT,
	OP_BLOCK,
	OP_CANCELLED_BLOCK,
	OP_WAKE,
	OP_WAKE_SYNC,
	OP_NICE,
	OP_POLICY,
	OP_AFFINITY,
	OP_YIELD,
	OP_TICK,
	OP_TIME,
	OP_FEATURE,
	OP_TUNABLE,
	OP_EXEC,
	OP_KICK,
	OP_SKEW,
	OP_FAR_SLEEP,
	NR_OPS
};

static const char *const op_name[NR_OPS] = {
	"fork",	     "exit", "block",	  "cancelled-block", "wake",
	"wake-sync", "nice", "policy",	  "affinity",	     "yield",
	"tick",	     "time", "feature",	  "tunable",	     "exec",
	"kick",	     "skew", "far-sleep",
};

struct run {
	struct machine *m;
	struct prng rng;
	struct task *tasks[MAX_TASKS];
	u32 weight[NR_OPS], total_weight;
};

static struct {
	u64 seed;
	unsigned runs, ops;
	bool verbose, no_shrink;
	bool *skip; /* operations left out */
} option = { .seed = 1, .runs = 60, .ops = 3000 };

static u32 below(struct run *r, u32 bound)
{
	return prng_below(&r->rng, bound);
}

static int random_nice(struct run *r)
{
	return (int)below(r, 40) - 20;
}

static struct cpumask random_mask(struct run *r)
{
	struct cpumask mask = cpumask_none();

	for (unsigned cpu = 0; cpu < r->m->nr_cpus; cpu++)
		if (below(r, 2))
			cpumask_set(&mask, cpu);
	return mask;
}

static struct task *random_task(struct run *r)
{
	return r->tasks[below(r, MAX_TASKS)];
}

static struct task **free_slot(struct run *r)
{
	for (unsigned i = 0; i < MAX_TASKS; i++)
		if (!r->tasks[i])
			return &r->tasks[i];
	return NULL;
}

static void forget(struct run *r, struct task *t)
{
	for (unsigned i = 0; i < MAX_TASKS; i++)
		if (r->tasks[i] == t)
			r->tasks[i] = NULL;
	free(t);
}

/* --- operations ----------------------------------------------------------- */

static void op_fork(struct run *r, unsigned cpu)
{
	struct task *parent = running(r->m, cpu), **slot = free_slot(r), *t;

	if (!slot)
		return;
	t = calloc(1, sizeof(*t));
	if (parent == &r->m->idle[cpu])
		sched_task_init(r->m->s, t, r->m->next_pid++, "first");
	else
		sched_task_fork(r->m->s, parent, t, r->m->next_pid++);
	if (below(r, 4) == 0) {
		struct cpumask mask = random_mask(r);

		/* Before it starts, as clone() followed by an attribute call might. */
		sched_set_affinity(r->m->s, t, &mask);
	}
	*slot = t;
	sched_task_start(r->m->s, t, cpu);
}

static void op_exit(struct run *r, unsigned cpu)
{
	struct task *t = running(r->m, cpu);

	if (t == &r->m->idle[cpu] || below(r, 4))
		return;
	sched_task_exit(r->m->s, cpu);
	switch_cpu(r->m, cpu, false);
	EXPECT(running(r->m, cpu) != t);
	forget(r, t);
}

static void op_block(struct run *r, unsigned cpu, bool cancel)
{
	struct task *t = running(r->m, cpu);

	if (t == &r->m->idle[cpu])
		return;
	sched_block(t, below(r, 2) ? TASK_INTERRUPTIBLE : TASK_UNINTERRUPTIBLE);
	/* It may be preempted, or woken, between the announcement and the switch. */
	if (below(r, 8) == 0)
		switch_cpu(r->m, cpu, true);
	else if (cancel && below(r, 2))
		sched_unblock(t);
	else if (cancel)
		sched_wake(r->m->s, t, TASK_NORMAL, below(r, r->m->nr_cpus), 0);
	else
		switch_cpu(r->m, cpu, false);
}

static void op_wake(struct run *r, unsigned cpu, unsigned flags)
{
	struct task *t = random_task(r);

	if (t)
		sched_wake(r->m->s, t, TASK_NORMAL, cpu, flags);
}

static void op_policy(struct run *r, bool nice_only)
{
	static const int policies[] = { SCHED_NORMAL, SCHED_FIFO, SCHED_RR, SCHED_BATCH,
					SCHED_IDLE };
	struct task *t = random_task(r);
	struct sched_attr_req req;

	if (!t)
		return;
	sched_get_attr(t, &req);
	if (!nice_only)
		req.policy = policies[below(r, ARRAY_SIZE(policies))];
	req.nice = random_nice(r);
	req.rt_priority = task_is_fair_policy(req.policy) ? 0 : 1 + (int)below(r, 99);
	req.reset_on_fork = below(r, 2);
	EXPECT(sched_set_attr(r->m->s, t, &req) == 0);
}

static void op_affinity(struct run *r)
{
	struct cpumask mask = random_mask(r);
	struct task *t = random_task(r);

	if (t)
		EXPECT(sched_set_affinity(r->m->s, t, &mask) ==
		       (cpumask_empty(&mask) ? -EINVAL : 0));
}

static void op_feature(struct run *r)
{
	static const char *const names[] = {
#define FEATURE(name, ...) #name, "NO_" #name,
#include "sched/feature.def"
#undef FEATURE
	};

	set_feature(r->m, names[below(r, ARRAY_SIZE(names))]);
}

static void op_tunable(struct run *r)
{
	static const char *const settings[][2] = {
		{ "latency_ns", "0" },
		{ "latency_ns", "24000000" },
		{ "min_granularity_ns", "0" },
		{ "min_granularity_ns", "3000000" },
		{ "wakeup_granularity_ns", "0" },
		{ "wakeup_granularity_ns", "4000000000" },
		{ "tunable_scaling", "0" },
		{ "tunable_scaling", "1" },
		{ "tunable_scaling", "2" },
		{ "migration_cost_ns", "0" },
		{ "nr_migrate", "0" },
		{ "nr_migrate", "2" },
		{ "sched_child_runs_first", "1" },
		{ "sched_rt_runtime_us", "-1" },
		{ "sched_rt_runtime_us", "10000" },
		{ "sched_rr_timeslice_ms", "1" },
		{ "sched_schedstats", "1" },
	};
	unsigned i = below(r, ARRAY_SIZE(settings));

	set_tunable(r->m, settings[i][0], settings[i][1]);
}

/*
 * Time passes for the sleepers until their vruntime is nearly 2^63 behind, beside a light runner. A
 * running task has ticks in the meantime, so no single charge is longer than a few weeks.
 */
static void op_far_sleep(struct run *r)
{
	r->m->now += (u64)(1 + below(r, 40)) * 86400 * NS_PER_SEC;
	tick(r->m);
}

/* What a task or its CPU does. */
static void perform_task_op(struct run *r, enum op op, unsigned cpu)
{
	switch (op) {
	case OP_FORK:
		op_fork(r, cpu);
		break;
	case OP_EXIT:
		op_exit(r, cpu);
		break;
	case OP_BLOCK:
	case OP_CANCELLED_BLOCK:
		op_block(r, cpu, op == OP_CANCELLED_BLOCK);
		break;
	case OP_WAKE:
	case OP_WAKE_SYNC:
		op_wake(r, cpu, op == OP_WAKE_SYNC ? WAKE_SYNC : 0);
		break;
	case OP_YIELD:
		sched_yield(r->m->s, cpu);
		switch_cpu(r->m, cpu, false);
		break;
	case OP_EXEC:
		sched_task_exec(r->m->s, cpu);
		break;
	default:
		break;
	}
}

/* What is done to tasks and the machine. */
static void perform_machine_op(struct run *r, enum op op, unsigned cpu)
{
	switch (op) {
	case OP_NICE:
	case OP_POLICY:
		op_policy(r, op == OP_NICE);
		break;
	case OP_AFFINITY:
		op_affinity(r);
		break;
	case OP_TICK:
		tick(r->m);
		break;
	case OP_TIME:
		advance(r->m, 1 + below(r, 3000000));
		break;
	case OP_FEATURE:
		op_feature(r);
		break;
	case OP_TUNABLE:
		op_tunable(r);
		break;
	case OP_KICK:
		switch_cpu(r->m, cpu, true);
		break;
	case OP_SKEW:
		r->m->skew[cpu] += below(r, 20000);
		break;
	case OP_FAR_SLEEP:
		op_far_sleep(r);
		break;
	default:
		break;
	}
}

static void perform(struct run *r, enum op op, unsigned cpu)
{
	perform_task_op(r, op, cpu);
	perform_machine_op(r, op, cpu);
}

/* --- what must hold ------------------------------------------------------- */

/* The test's own view: every task is where its state says. */
static void check_model(struct run *r)
{
	for (unsigned i = 0; i < MAX_TASKS; i++) {
		struct task *t = r->tasks[i];

		if (!t)
			continue;
		EXPECT(task_allowed(t, t->cpu) || t->on_rq == TASK_OFF_RQ ||
		       t->push_cpu != PUSH_NONE);
		/* A task that wants to run is queued; one between two queues would be lost. */
		EXPECT(t->state != TASK_RUNNING || t->on_rq == TASK_QUEUED);
	}
}

/*
 * Work conservation: when nothing but balancing happens for two seconds, no CPU idles while another
 * has a task to spare. (Not that every task runs: its vruntime may be years to the right.)
 */
static void check_work_conservation(struct run *r)
{
	struct machine *m = r->m;
	struct cpumask all = cpumask_first_n(m->nr_cpus);
	bool idle = false, crowded = false;

	set_tunable(m, "migration_cost_ns", "500000");
	set_tunable(m, "nr_migrate", "32");
	for (unsigned i = 0; i < MAX_TASKS; i++) {
		struct sched_attr_req req = { .policy = SCHED_NORMAL };

		if (!r->tasks[i])
			continue;
		sched_set_attr(m->s, r->tasks[i], &req);
		sched_set_affinity(m->s, r->tasks[i], &all);
		settle(m);
	}
	for (unsigned n = 0; n < 2 * m->s->hz; n++)
		tick(m);
	for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
		idle |= running(m, cpu) == &m->idle[cpu];
		crowded |= m->s->rq[cpu].nr_running > 1;
	}
	if (idle && crowded && option.verbose)
		for (unsigned cpu = 0; cpu < m->nr_cpus; cpu++) {
			char text[4096];

			sched_dump_cpu(m->s, cpu, text, sizeof(text));
			print_message("%s\n", text);
		}
	EXPECT(!(idle && crowded));
}

/* --- runs ----------------------------------------------------------------- */

static void setup(struct run *r, u64 seed)
{
	static const unsigned hz[] = { 100, 250, 1000 };
	struct sched_cpu_desc desc[8];
	unsigned nr_cpus, smt, llc, node;

	memset(r, 0, sizeof(*r));
	prng_seed(&r->rng, seed);
	/*
	 * Symmetric machines only: beside a core of two threads, a core of one keeps two tasks, by
	 * Linux 6.1's rule that half of a difference of one is nothing to move.
	 */
	do {
		smt = 1 + below(r, 2);
		llc = smt * (1 + below(r, 4));
		node = llc * (1 + below(r, 3));
		nr_cpus = node * (1 + below(r, 2));
	} while (nr_cpus > ARRAY_SIZE(desc));
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		desc[cpu] = (struct sched_cpu_desc){ cpu / smt, cpu / llc, 0, cpu / node };
	r->m = machine_new_on(nr_cpus, hz[below(r, 3)], desc, "cfs");
	for (unsigned op = 0; op < NR_OPS; op++)
		r->weight[op] = below(r, 3) ? 1 + below(r, 20) : 0;
	r->weight[OP_FORK] += 2;
	r->weight[OP_TICK] += 2;
	if (r->weight[OP_FAR_SLEEP])
		r->weight[OP_FAR_SLEEP] = 1;
	for (unsigned op = 0; op < NR_OPS; op++)
		r->total_weight += r->weight[op];
	sched_trace_set(r->m->s, below(r, 2) ? ~0ull : 0);
}

static enum op draw_op(struct run *r)
{
	u32 n = below(r, r->total_weight);
	unsigned op = 0;

	while (n >= r->weight[op])
		n -= r->weight[op++];
	return (enum op)op;
}

static void one_op(struct run *r, u64 seed, unsigned i)
{
	unsigned cpu;
	enum op op;

	prng_seed(&r->rng, seed * 1000003 + i);
	op = draw_op(r);
	cpu = below(r, r->m->nr_cpus);
	if (option.verbose)
		printf("  %u: %s on cpu %u\n", i, op_name[op], cpu);
	perform(r, op, cpu);
	/* Mostly kicks are served at once; sometimes they are late. */
	if (below(r, 4))
		settle(r->m);
	sched_check(r->m->s);
	check_model(r);
}

static const char *bug_text;
static jmp_buf failed;

static void note_bug(const char *what)
{
	bug_text = what;
	longjmp(failed, 1);
}

/* One whole run. Returns NULL, or what failed. */
static const char *execute(u64 seed, const bool *skip)
{
	static struct run r;

	bug_text = NULL;
	if (setjmp(failed))
		return bug_text ? bug_text : "?";
	setup(&r, seed);
	r.m->on_bug = note_bug;
	for (unsigned i = 0; i < option.ops; i++)
		if (!skip || !skip[i])
			one_op(&r, seed, i);
	settle(r.m);
	check_work_conservation(&r);
	sched_check(r.m->s);
	for (unsigned i = 0; i < MAX_TASKS; i++)
		free(r.tasks[i]);
	machine_free(r.m);
	return NULL;
}

/* Leave out ever smaller ranges as long as the same thing still fails. */
static void shrink(u64 seed, bool *skip, const char *what)
{
	for (unsigned size = option.ops / 2; size; size /= 2) {
		for (unsigned start = 0; start < option.ops; start += size) {
			unsigned end = min(start + size, option.ops);
			bool saved[MAX_OPS];
			const char *still;

			memcpy(saved, skip, option.ops);
			memset(skip + start, true, end - start);
			still = execute(seed, skip);
			if (!still || strcmp(still, what))
				memcpy(skip, saved, option.ops);
		}
	}
}

static void print_replay(u64 seed, const bool *skip, const char *what)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < option.ops; i++)
		kept += !skip[i];
	print_error("seed %llu: %s\nreplay (%u operations): make prop PROP=\"--seed %llu --runs 1 "
		    "--ops %u --verbose",
		    (unsigned long long)seed, what, kept, (unsigned long long)seed, option.ops);
	for (unsigned i = 0, listed = 0; kept < option.ops && i < option.ops; i++)
		if (!skip[i])
			print_error("%s%u", listed++ ? "," : " --keep ", i);
	print_error("\"\n");
}

static void random_operations_keep_every_invariant(void **state)
{
	(void)state;
	for (u64 seed = option.seed; seed < option.seed + option.runs; seed++) {
		static bool skip[MAX_OPS];
		const char *what = execute(seed, option.skip);

		if (!what)
			continue;
		memset(skip, 0, sizeof(skip));
		if (!option.skip && !option.no_shrink)
			shrink(seed, skip, what);
		print_replay(seed, option.skip ? option.skip : skip, what);
		fail_msg("an invariant was broken");
	}
}

static void parse_keep(char *list)
{
	option.skip = malloc(MAX_OPS);
	memset(option.skip, true, MAX_OPS);
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ","))
		option.skip[strtoul(word, NULL, 10) % MAX_OPS] = false;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations_keep_every_invariant),
	};

	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "0";

		if (!strcmp(argv[i], "--verbose"))
			option.verbose = true;
		else if (!strcmp(argv[i], "--no-shrink"))
			option.no_shrink = true;
		else if (!strcmp(argv[i], "--seed"))
			option.seed = strtoull(value, NULL, 10), i++;
		else if (!strcmp(argv[i], "--runs"))
			option.runs = (unsigned)strtoul(value, NULL, 10), i++;
		else if (!strcmp(argv[i], "--ops"))
			option.ops = min((unsigned)strtoul(value, NULL, 10), MAX_OPS), i++;
		else if (!strcmp(argv[i], "--keep") && i + 1 < argc)
			parse_keep(argv[++i]);
	}
	return cmocka_run_group_tests_name("prop_sched", tests, NULL, NULL);
}
