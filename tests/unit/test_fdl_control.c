/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The passes of FDL's controller against their definition: trees of groups drawn at random, with
 * guarantees that change, and with usage and demand that are put into the books of each CPU. What a
 * controlled machine does over time: test_fdl_shares.c.
 */
#include <string.h>

#include "fdl.h"
#include "swap.h"
#include "lib/errno.h"
#include "lib/prng.h"
#include "sched/fair/fdl/fdl.h"

#define CPUS   3
#define GROUPS 6

/* A group, and what the definition says of it. */
struct member {
	struct task_group *tg;
	int parent; /* index; -1: the root */
	u64 guaranteed, children, absolute, shares;
	u64 used, wanted; /* since the last pass, ns */
	u64 avg_usage, avg_wait;
	bool up, down;
};

struct tree {
	struct machine *m;
	struct prng rng;
	struct member at[GROUPS];
	u64 children; /* guaranteed to those below the root */
	u64 last;     /* pass; 0: none */
	u32 nr_guaranteed;
};

static u64 one_of(struct tree *tree, const u64 *values, unsigned nr)
{
	return values[prng_below(&tree->rng, nr)];
}

/* --- guarantees ------------------------------------------------------------------------------- */

static void judge_guarantees(struct tree *tree)
{
	tree->children = tree->nr_guaranteed = 0;
	for (unsigned i = 0; i < GROUPS; i++) {
		struct member *a = &tree->at[i];

		a->children = 0;
		for (unsigned k = 0; k < GROUPS; k++)
			a->children += tree->at[k].parent == (int)i ? tree->at[k].guaranteed : 0;
		tree->children += a->parent < 0 ? a->guaranteed : 0;
		tree->nr_guaranteed += a->guaranteed != 0;
		assert_int_equal(fdl_group(a->tg)->guaranteed, a->guaranteed);
		assert_int_equal(fdl_group(a->tg)->children_guaranteed, a->children);
		assert_int_equal(fdl_group(a->tg)->shares, a->shares);
	}
	assert_int_equal(fdl_root(tree->m->s)->children_guaranteed, tree->children);
	assert_int_equal(fdl_root(tree->m->s)->nr_guaranteed, tree->nr_guaranteed);
}

/* A guarantee that begins or ends is the end of what the controller made of the shares. */
static void guarantee(struct tree *tree)
{
	static const u64 some[] = { 0, 1, 100, 512, 1024, 256 * 1024 * CPUS };
	struct member *a = &tree->at[prng_below(&tree->rng, GROUPS)];
	u64 shares = one_of(tree, some, ARRAY_SIZE(some));

	assert_int_equal(task_group_set_guaranteed(tree->m->s, a->tg, 256 * 1024 * CPUS + 1),
			 -EINVAL);
	assert_int_equal(task_group_set_guaranteed(tree->m->s, a->tg, shares), 0);
	if (!shares != !a->guaranteed) {
		a->shares = shares;
		a->absolute = 0;
		a->up = a->down = false;
	}
	a->guaranteed = shares;
	judge_guarantees(tree);
}

/* --- a pass ----------------------------------------------------------------------------------- */

/* Puts CPU time and demand of the last interval into the books of each CPU. */
static void use(struct tree *tree)
{
	static const u64 times[] = { 0, 0, 1, 1000, 5 * MS, 10 * MS, 17 * MS };

	for (unsigned i = 0; i < GROUPS; i++)
		for (unsigned cpu = 0; cpu < CPUS; cpu++) {
			struct member *a = &tree->at[i];
			struct entity *e = &a->tg->cpu[cpu].entity;
			u64 used = one_of(tree, times, ARRAY_SIZE(times));
			u64 wanted = one_of(tree, times, ARRAY_SIZE(times));

			e->sum_exec += used;
			fdl_of(e)->demand_ns += wanted;
			a->used += used;
			a->wanted += wanted;
		}
}

static u64 average(u64 old, u64 now, u64 alpha)
{
	return old * (1024 - alpha) / 1024 + now * alpha / 1024;
}

static u64 in_1024ths(const struct tree *tree, u64 ns)
{
	return ns * 1024 / tree->m->s->tunable.control_loop_interval;
}

/* The shares after a pass: see the head of fdl_control.c, and the RFC. */
static u64 next_shares(const struct tree *tree, const struct member *a)
{
	const struct tunables *tn = &tree->m->s->tunable;
	const struct member *above = a->parent < 0 ? NULL : &tree->at[a->parent];
	u64 usage = in_1024ths(tree, a->avg_usage), wait = in_1024ths(tree, a->avg_wait);
	u64 part = usage * 1024 / a->absolute, most = a->guaranteed * tn->max_share_boost;
	u64 more = a->shares > a->guaranteed ? a->shares - a->guaranteed : 0, next = a->shares;
	bool waits = usage && wait > usage * tn->target_wait_fraction / 1024;

	if (part >= 1024 || (above && above->up)) {
		if (!above || !above->down)
			next -= more * 20 / 1024;
	} else if (!waits || a->shares >= most) {
		next -= more * 10 / 1024;
	} else {
		next += (most - a->shares) * (1024 - part) * 100 / (1024 * 1024);
	}
	next = next > most ? most : next;
	return next < a->guaranteed ? a->guaranteed : next;
}

/* Does one step of the controller for @a, after @elapsed ns. The step of the parent comes first. */
static void define(const struct tree *tree, struct member *a, u64 elapsed)
{
	const struct tunables *tn = &tree->m->s->tunable;
	const struct member *above = a->parent < 0 ? NULL : &tree->at[a->parent];
	u64 used = a->used * tn->control_loop_interval / elapsed;
	u64 wanted = a->wanted * tn->control_loop_interval / elapsed, next;

	a->avg_usage = average(a->avg_usage, used, tn->avg_usage_alpha);
	a->avg_wait = average(a->avg_wait, wanted > used ? wanted - used : 0, tn->avg_wait_alpha);
	a->absolute = above && a->guaranteed ? above->absolute * a->guaranteed / above->children
					     : a->guaranteed;
	a->up = a->down = false;
	if (!a->absolute)
		return;
	next = next_shares(tree, a);
	a->up = next > a->shares;
	a->down = next < a->shares;
	a->shares = next;
}

static void judge_stat(const struct tree *tree, const struct member *a)
{
	struct task_group_fdl_stat stat;

	task_group_fdl_stat(tree->m->s, a->tg, &stat);
	assert_int_equal(stat.overcommit, tree->children / CPUS);
	assert_int_equal(stat.legacy_shares, 1024);
	assert_int_equal(stat.dynamic_shares, a->shares ? a->shares : 1024);
	assert_int_equal(stat.abs_guaranteed, a->absolute);
	assert_int_equal(stat.avg_usage, in_1024ths(tree, a->avg_usage));
	assert_int_equal(stat.avg_wait, in_1024ths(tree, a->avg_wait));
	assert_int_equal(stat.increased, a->up);
	assert_int_equal(stat.decreased, a->down);
}

static void judge_pass(struct tree *tree)
{
	bool any = tree->nr_guaranteed;
	u64 elapsed = tree->last ? tree->m->now - tree->last : 0;

	assert_int_equal(sched_fdl_control(tree->m->s), any);
	tree->last = any ? tree->m->now : 0;
	assert_int_equal(fdl_root(tree->m->s)->controlled, tree->last);
	for (unsigned i = 0; any && i < GROUPS; i++) {
		struct member *a = &tree->at[i];

		if (elapsed)
			define(tree, a, elapsed);
		else
			a->avg_usage = a->avg_wait = 0;
		a->used = a->wanted = 0;
		assert_int_equal(fdl_group(a->tg)->avg_usage, a->avg_usage);
		assert_int_equal(fdl_group(a->tg)->avg_wait, a->avg_wait);
		judge_stat(tree, a);
	}
	judge_guarantees(tree);
}

/* --- trees ------------------------------------------------------------------------------------ */

/* Groups below the root and below each other; parents have smaller indices. */
static void plant(struct tree *tree, u64 seed)
{
	*tree = (struct tree){ .m = machine_under(CPUS, "fdl") };
	prng_seed(&tree->rng, seed);
	for (unsigned i = 0; i < GROUPS; i++) {
		struct member *a = &tree->at[i];

		a->parent = (int)prng_below(&tree->rng, i + 1) - 1;
		a->tg = new_group(tree->m, a->parent < 0 ? NULL : tree->at[a->parent].tg);
	}
	if (seed % 2) {
		set_tunable(tree->m, "avg_usage_alpha", "300");
		set_tunable(tree->m, "avg_wait_alpha", "700");
		set_tunable(tree->m, "control_loop_interval", "5000000");
		set_tunable(tree->m, "max_share_boost", "3");
	}
}

static void fell(struct tree *tree)
{
	for (unsigned i = GROUPS; i-- > 0;)
		end_group(tree->m, tree->at[i].tg);
	assert_int_equal(fdl_root(tree->m->s)->nr_guaranteed, 0);
	assert_int_equal(fdl_root(tree->m->s)->children_guaranteed, 0);
	machine_free(tree->m);
}

static void a_pass_makes_of_usage_what_the_definition_says(void **state)
{
	enum { TREES = 40, PASSES = 60 };
	static const u64 between[] = { 1, 5 * MS, 10 * MS, 10 * MS, 13 * MS + 7, 40 * MS };

	(void)state;
	for (u64 seed = 1; seed <= TREES; seed++) {
		struct tree tree;

		plant(&tree, seed);
		for (unsigned n = 0; n < PASSES; n++) {
			if (!prng_below(&tree.rng, 3))
				guarantee(&tree);
			use(&tree);
			tree.m->now += one_of(&tree, between, ARRAY_SIZE(between));
			judge_pass(&tree);
		}
		fell(&tree);
	}
}

/* Neither a SCHED_IDLE group nor none can be guaranteed anything. */
static void who_can_have_no_guarantee_gets_none(void **state)
{
	struct machine *m = machine_under(CPUS, "fdl");
	struct task_group *tg = new_group(m, NULL);

	(void)state;
	tg->idle = true;
	assert_int_equal(task_group_set_guaranteed(m->s, tg, 1), -EINVAL);
	assert_int_equal(task_group_set_guaranteed(m->s, NULL, 1), -EINVAL);
	assert_int_equal(fdl_root(m->s)->nr_guaranteed, 0);
	tg->idle = false;
	end_group(m, tg);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pass_makes_of_usage_what_the_definition_says),
		cmocka_unit_test(who_can_have_no_guarantee_gets_none),
	};

	return cmocka_run_group_tests_name("fdl control", tests, NULL, NULL);
}
