/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy of the fair class whose hooks run a recipe (policy.h). It stands where a plugin does:
 * the host's guest. Like a plugin it knows the inside of sched/fair.
 *
 * Three rules hold for every text, here and in the C that export.c writes: an entity that is not
 * queued yet is not placed, an entity that has left is not charged, and a slice is not negative.
 */
#include <string.h>

#include "sched/fair/core/fair.h"
#include "sim/policy/policy.h"
#include "lib/fmt.h"

static struct fair_policy policy;
static const struct recipe *running;
static const char *running_file;

u64 *recipe_entity(const struct scope *scope, enum owner owner, u32 nr)
{
	return &scope->e[owner]->policy_state[nr];
}

u64 *recipe_queue(const struct scope *scope, u32 nr)
{
	return (u64 *)scope->q->policy_state.guest + nr;
}

static u64 key_of(const struct entity *e)
{
	return e->policy_state[running->key];
}

static u64 run(struct scope scope)
{
	u64 value;

	scope.recipe = running;
	if (running->body[scope.hook] == NO_NODE)
		return 0;
	value = recipe_run(&scope);
	if (scope.hung_line)
		host_bug(running_file, (int)scope.hung_line,
			 "this loop does not end: it went round 100,000 times in one call");
	return value;
}

/* --- what is given ---------------------------------------------------------------------------- */

static u64 first_key(struct fair_queue *q)
{
	struct entity *first = fair_pick_first(q);

	return first ? key_of(first) : 0;
}

/* Named as the exported file names it: given.def calls it. */
static u64 slice(struct fair_queue *q, struct entity *e)
{
	s64 ns;

	if (running->body[HOOK_slice] == NO_NODE)
		return tunables_of(q)->base_slice_ns;
	ns = (s64)run((struct scope){ .hook = HOOK_slice, .q = q, .e = { e } });
	return (u64)max(ns, (s64)0);
}

#define GIVEN(name, where, what, text)                                                             \
	static u64 given_##name(struct fair_queue *q, struct entity *e, u64 delta, unsigned flags, \
				u64 weight)                                                        \
	{                                                                                          \
		(void)q, (void)e, (void)delta, (void)flags, (void)weight;                          \
		return text;                                                                       \
	}
#include "sim/policy/given.def"
#undef GIVEN

u64 recipe_given(const struct scope *s, enum owner owner, enum given given)
{
	static u64 (*const gives[NR_GIVEN])(struct fair_queue *, struct entity *, u64, unsigned,
					    u64) = {
#define GIVEN(name, ...) given_##name,
#include "sim/policy/given.def"
#undef GIVEN
	};

	return gives[given](s->q, s->e[owner], s->delta, s->flags, s->weight);
}

/* --- hooks ------------------------------------------------------------------------------------ */

static void recipe_place(struct fair_queue *q, struct entity *e, unsigned flags)
{
	if (!(flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP)))
		run((struct scope){ .hook = HOOK_place, .q = q, .e = { e }, .flags = flags });
}

static void recipe_charge(struct fair_queue *q, struct entity *e, u64 delta)
{
	if (e->queued)
		run((struct scope){ .hook = HOOK_charge, .q = q, .e = { e }, .delta = delta });
}

static bool recipe_tick_expired(struct fair_queue *q, struct entity *e)
{
	return run((struct scope){ .hook = HOOK_tick, .q = q, .e = { e } });
}

static bool recipe_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
			    unsigned flags)
{
	return run((struct scope){ .hook = HOOK_preempts,
				   .q = q,
				   .e = { [OWNER_curr] = curr, [OWNER_woken] = woken },
				   .flags = flags });
}

static bool recipe_leave(struct fair_queue *q, struct entity *e, unsigned flags)
{
	run((struct scope){ .hook = HOOK_leave, .q = q, .e = { e }, .flags = flags });
	return false;
}

static void recipe_yield(struct fair_queue *q, struct entity *e)
{
	run((struct scope){ .hook = HOOK_yield, .q = q, .e = { e } });
}

static void recipe_reweight(struct fair_queue *q, struct entity *e, u64 weight)
{
	run((struct scope){ .hook = HOOK_reweight, .q = q, .e = { e }, .weight = weight });
}

static void recipe_dump_key(struct entity *e, struct text *out)
{
	text_add(out, "  %15ld", (s64)key_of(e));
}

const struct fair_policy *recipe_policy(const struct recipe *recipe, const char *file)
{
	static const struct fair_policy table = {
		FAIR_DEFAULTS,	.hooks.place = recipe_place,  .hooks.charge = recipe_charge,
		.slice = slice, .progress = fair_no_progress, .dump_key = recipe_dump_key,
	};
	static char name[RECIPE_NAME + 1], columns[RECIPE_NAME + 4];

	strcpy(name, recipe->name);
	for (char *c = name; *c; c++)
		*c = *c == '_' ? '-' : *c;
	snprintf(columns, sizeof(columns), "%17s", recipe->entity.name[recipe->key]);
	running = recipe;
	running_file = file;
	policy = table;
	policy.name = name;
	policy.traits = recipe->traits;
	policy.key = TIMELINE_KEY(policy_state) + recipe->key * sizeof(u64);
	policy.key_columns = columns;
	policy.moved_by_weight = recipe->body[HOOK_reweight] != NO_NODE;
	if (recipe->body[HOOK_tick] != NO_NODE)
		policy.hooks.tick_expired = recipe_tick_expired;
	if (recipe->body[HOOK_preempts] != NO_NODE)
		policy.hooks.preempts = recipe_preempts;
	if (recipe->body[HOOK_leave] != NO_NODE)
		policy.hooks.leave = recipe_leave;
	if (recipe->body[HOOK_yield] != NO_NODE)
		policy.hooks.yield = recipe_yield;
	if (recipe->body[HOOK_reweight] != NO_NODE)
		policy.hooks.reweight = recipe_reweight;
	return &policy;
}
