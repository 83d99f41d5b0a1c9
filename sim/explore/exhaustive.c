/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every sequence of operations on a small machine: 3 tasks, 2 CPUs that share a cache, 2 weights.
 *
 * A machine is a few blocks of memory, so the search saves them, tries an operation and copies them
 * back to where they were: pointers stay good. There are two starts, one without tasks and one
 * with three awake. Operations that would do nothing are left out, and so is what follows if
 *
 *   - the memory is byte by byte what another sequence left, with as many operations to go or
 *     more. States are recognised by 61 bits of a hash; among N states two are taken for one with a
 *     probability of N^2 / 2^62, 1 in 50,000 for ten million.
 *   - a task is created in another than the first free place: tasks differ in nothing else.
 *
 * CPUs are not taken for interchangeable: the scheduler prefers those with lower numbers.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/explore.h"
#include "sim/engine/util.h"
#include "sim/engine/plugin.h"

#define NR_TASKS  3u
#define MAX_MOVES 64u
/* Set by a sequence of operations and those before it: the queue's memory must not move. */
#define MAX_EVENTS 31u

static const struct shape small = { .hz = 250, .nr_cpus = 2, .smt = 1, .llc = 2, .node = 2 };

struct region {
	void *at;
	size_t size;
};

struct search {
	struct world world;
	struct region region[8];
	unsigned nr_regions;
	size_t sched_bytes;
	u8 *saved[EXHAUSTIVE_MAX + 1];
	struct op path[NR_TASKS + EXHAUSTIVE_MAX];
	unsigned nr_path, length;
	u64 *seen; /* hashes; the low 3 bits count the operations left; 0: free */
	u64 seen_size, nr_seen, nr_ops, nr_known;
};

static jmp_buf failed;

static void leave(void)
{
	longjmp(failed, 1);
}

/* --- states ----------------------------------------------------------------------------------- */

static void add_region(struct search *x, void *at, size_t size)
{
	x->region[x->nr_regions++] = (struct region){ at, size };
}

static void list_regions(struct search *x, struct sim_task **tasks)
{
	struct sim *sim = x->world.sim;

	x->nr_regions = 0;
	x->sched_bytes = sched_size(small.nr_cpus);
	add_region(x, &x->world, sizeof(x->world));
	add_region(x, sim, sizeof(*sim));
	add_region(x, sim->s, x->sched_bytes);
	add_region(x, sim->cpus, small.nr_cpus * sizeof(*sim->cpus));
	add_region(x, sim->queue.chunk, sim->queue.size * sizeof(*sim->queue.chunk));
	for (unsigned i = 0; i < NR_TASKS; i++)
		add_region(x, tasks[i], sizeof(*tasks[i]));
}

static void save(struct search *x, unsigned depth)
{
	u8 *to = x->saved[depth];

	for (unsigned i = 0; i < x->nr_regions; to += x->region[i++].size)
		memcpy(to, x->region[i].at, x->region[i].size);
}

static void restore(struct search *x, unsigned depth)
{
	const u8 *from = x->saved[depth];

	for (unsigned i = 0; i < x->nr_regions; from += x->region[i++].size)
		memcpy(x->region[i].at, from, x->region[i].size);
}

/* Four lanes of multiply and fold, so that they overlap in the CPU. @size: a multiple of 8. */
static u64 hash_bytes(u64 seed, const void *bytes, size_t size)
{
	const u64 *word = bytes, prime = 0x9e3779b97f4a7c15ull;
	u64 lane[4] = { seed, ~seed, seed ^ prime, seed + prime };

	for (size_t i = 0; i < size / 8; i++) {
		unsigned __int128 product = (unsigned __int128)(lane[i % 4] ^ word[i]) * prime;

		lane[i % 4] = (u64)product ^ (u64)(product >> 64) ^ (lane[i % 4] << 7);
	}
	for (unsigned i = 1; i < 4; i++)
		lane[0] = (lane[0] ^ lane[i]) * prime ^ (lane[0] >> 29);
	return lane[0];
}

/* All that what happens next depends on. */
static u64 hash_state(struct search *x)
{
	struct world *w = &x->world;
	u64 hash = hash_bytes(w->sim->now, w->sim->s, x->sched_bytes & ~7ul);

	hash = hash_bytes(hash, w->subject, sizeof(w->subject[0]) * NR_TASKS);
	hash = hash_bytes(hash, &w->sim->free, sizeof(w->sim->free));
	for (unsigned i = 0; i < NR_TASKS; i++)
		if (w->subject[i].t)
			hash = hash_bytes(hash, &w->subject[i].t->task, sizeof(struct task));
	for (unsigned cpu = 0; cpu < small.nr_cpus; cpu++) {
		const struct sim_cpu *c = &w->sim->cpus[cpu];
		u64 timer = event_queued(&c->timer) ? c->timer.when : 0;

		hash = hash_bytes(hash, &timer, sizeof(timer));
		hash = hash_bytes(hash, &c->idle.task, sizeof(struct task));
	}
	return hash;
}

static void enlarge_seen(struct search *x)
{
	u64 old_size = x->seen_size, *old = x->seen;

	x->seen_size = old_size ? 2 * old_size : 1u << 20;
	x->seen = calloc(x->seen_size, sizeof(*x->seen));
	if (!x->seen) {
		fprintf(stderr, "schedsim: out of memory for %llu states\n",
			(unsigned long long)x->seen_size);
		exit(1);
	}
	for (u64 i = 0; i < old_size; i++) {
		u64 at = old[i] / 8 % x->seen_size;

		if (!old[i])
			continue;
		while (x->seen[at])
			at = (at + 1) % x->seen_size;
		x->seen[at] = old[i];
	}
	free(old);
}

/* Was this state met before, with @left operations to go or more? Now it was. */
static bool is_known(struct search *x, unsigned left)
{
	u64 hash = hash_state(x) & ~7ull, at = hash / 8 % x->seen_size;

	while (x->seen[at] && (x->seen[at] & ~7ull) != hash)
		at = (at + 1) % x->seen_size;
	if (!x->seen[at])
		x->nr_seen++;
	else if ((x->seen[at] & 7) >= left)
		return true;
	x->seen[at] = hash | left;
	if (x->nr_seen > x->seen_size / 2)
		enlarge_seen(x);
	return false;
}

/* --- moves ------------------------------------------------------------------------------------ */

static void add_move(struct op *move, unsigned *nr, enum op_kind kind, unsigned cpu, unsigned task,
		     u32 arg)
{
	move[(*nr)++] =
		(struct op){ .kind = (u8)kind, .cpu = (u8)cpu, .task = (u8)task, .arg = arg };
}

static void moves_of_cpu(struct search *x, unsigned cpu, struct op *move, unsigned *nr)
{
	struct world *w = &x->world;
	unsigned place = 0;

	while (place < NR_TASKS && w->subject[place].t)
		place++;
	if (place < NR_TASKS)
		add_move(move, nr, OP_fork, cpu, place, 0);
	if (!world_running(w, cpu))
		return;
	add_move(move, nr, OP_exit, cpu, 0, 0);
	add_move(move, nr, OP_block, cpu, 0, 0);
	add_move(move, nr, OP_yield, cpu, 0, 0);
	add_move(move, nr, OP_kick, cpu, 0, 0);
}

/* Nice 0 and 5; every CPU, the first, the second. The arguments are what world.c makes of them. */
static void moves_of_task(struct search *x, unsigned place, struct op *move, unsigned *nr)
{
	const struct subject *subject = &x->world.subject[place];

	if (!subject->t)
		return;
	add_move(move, nr, OP_nice, 0, place, subject->attr.nice ? 20 : 25);
	add_move(move, nr, OP_affinity, 0, place,
		 subject->allowed == 3 ? 4 : (subject->allowed == 1 ? 12 : 0));
	if (subject->state == ASLEEP)
		for (unsigned cpu = 0; cpu < small.nr_cpus; cpu++)
			add_move(move, nr, OP_wake, cpu, place, 0);
}

static unsigned list_moves(struct search *x, struct op *move)
{
	const char *current = sched_fair_current(x->world.sim->s);
	unsigned nr = 0;

	add_move(move, &nr, OP_tick, 0, 0, 0);
	for (unsigned cpu = 0; cpu < small.nr_cpus; cpu++)
		moves_of_cpu(x, cpu, move, &nr);
	for (unsigned place = 0; place < NR_TASKS; place++)
		moves_of_task(x, place, move, &nr);
	for (unsigned i = 0; policy_name(i) && nr < MAX_MOVES; i++)
		if (strcmp(policy_name(i), current))
			add_move(move, &nr, OP_swap, 0, 0, i);
	return nr;
}

/* --- the search ------------------------------------------------------------------------------- */

static void search(struct search *x, unsigned depth)
{
	struct op move[MAX_MOVES];
	unsigned nr = list_moves(x, move), left = x->length - depth - 1;

	save(x, depth);
	for (unsigned i = 0; i < nr; i++) {
		if (i)
			restore(x, depth);
		x->path[x->nr_path++] = move[i];
		x->nr_ops++;
		world_do(&x->world, &move[i], 0);
		if (x->world.sim->queue.size > MAX_EVENTS + 1)
			usage_error("MAX_EVENTS is too small: the event queue has moved");
		if (left && is_known(x, left))
			x->nr_known++;
		else if (left)
			search(x, depth + 1);
		x->nr_path--;
	}
}

/* A machine whose tasks' memory exists already, with @nr_awake of them awake. */
static void set_up(struct search *x, const char *policy, unsigned nr_awake)
{
	struct sim_task *tasks[NR_TASKS];

	if (!world_init(&x->world, &small, NR_TASKS, policy)) {
		fprintf(stderr, "schedsim: no machine under %s\n", policy);
		exit(1);
	}
	for (unsigned i = 0; i < NR_TASKS; i++)
		tasks[i] = sim_task_new(x->world.sim, "task");
	for (unsigned i = NR_TASKS; i--;)
		sim_task_free(x->world.sim, tasks[i]);
	queue_reserve(&x->world.sim->queue, MAX_EVENTS);
	list_regions(x, tasks);
	x->world.sim->leave = leave;
	x->nr_path = 0;
	for (unsigned i = 0; i < nr_awake; i++) {
		x->path[x->nr_path++] = (struct op){ .kind = OP_fork, .task = (u8)i };
		world_do(&x->world, &x->path[i], 0);
	}
}

static void prepare_memory(struct search *x)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < x->nr_regions; i++)
		bytes += x->region[i].size;
	for (unsigned depth = 0; depth < x->length; depth++)
		if (!x->saved[depth])
			x->saved[depth] = malloc(bytes);
}

static void print_failure(struct search *x, const char *policy)
{
	struct script script = {
		.shape = small, .nr_tasks = NR_TASKS, .ops = x->path, .nr_ops = x->nr_path
	};

	printf("%s: %s\n  build/schedsim --sched %s --replay \"", policy, x->world.sim->bug,
	       policy);
	script_print(&script, stdout);
	printf("\"\n");
}

static bool search_from(struct search *x, const char *policy, unsigned nr_awake)
{
	if (setjmp(failed)) {
		print_failure(x, policy);
		return false;
	}
	set_up(x, policy, nr_awake);
	prepare_memory(x);
	search(x, 0);
	restore(x, 0);
	world_free(&x->world);
	return true;
}

static bool search_policy(struct search *x, const char *policy)
{
	if (!search_from(x, policy, 0) || !search_from(x, policy, NR_TASKS))
		return false;
	printf("%s: every sequence of %u operations or fewer: %llu performed, %llu states, "
	       "%llu met again\n",
	       policy, x->length, (unsigned long long)x->nr_ops, (unsigned long long)x->nr_seen,
	       (unsigned long long)x->nr_known);
	return true;
}

int explore_exhaustive(const char *policy, unsigned length)
{
	int failures = 0;

	for (unsigned i = 0; policy_name(i); i++) {
		static struct search x;

		if (policy && strcmp(policy, policy_name(i)))
			continue;
		x = (struct search){ .length = length };
		enlarge_seen(&x);
		failures += !search_policy(&x, policy_name(i));
		free(x.seen);
		for (unsigned depth = 0; depth < length; depth++)
			free(x.saved[depth]);
	}
	return failures;
}
