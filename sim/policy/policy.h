/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fair policies in expressions: a text with the hooks place, charge, slice, tick, preempts, yield,
 * leave and reweight, whose pick is the least key (docs/policies.md). parse.c reads it into a tree,
 * eval.c computes what the tree says, hooks.c is the policy, and export.c writes the same as C.
 *
 * All numbers have 64 bits and wrap; comparisons, divisions, min and max take them as signed, and a
 * division by zero gives 0. A hook whose loops go round more than RECIPE_ROUNDS times is a bug.
 */
#pragma once

#include <stdio.h>

#include "lib/types.h"

#define RECIPE_NAME	   16u /* characters of a name, at most */
#define RECIPE_ENTITY_VARS 12u
#define RECIPE_QUEUE_VARS  32u
#define RECIPE_LOCALS	   16u
#define RECIPE_NODES	   4096u
#define RECIPE_DEPTH	   64u /* of parentheses and blocks */
#define RECIPE_TEXT	   65536u
#define RECIPE_ROUNDS	   100000u

/* The hooks before HOOK_slice are statements; HOOK_slice and the hooks after it are a value. */
enum hook {
	HOOK_place,
	HOOK_charge,
	HOOK_yield,
	HOOK_leave,
	HOOK_reweight,
	HOOK_slice,
	HOOK_tick,
	HOOK_preempts,
	NR_HOOKS
};
extern const char *const hook_name[NR_HOOKS];

#define IN_ALL		(BIT(NR_HOOKS) - 1)
#define GIVEN_OF_ENTITY BIT(NR_HOOKS)

enum given {
#define GIVEN(name, where, what, text) GIVEN_##name,
#include "sim/policy/given.def"
#undef GIVEN
	NR_GIVEN
};
/* A number that is given: its name, BIT(HOOK_x) for where, and its C. */
struct given_desc {
	const char *name;
	u32 where;
	const char *text;
};
extern const struct given_desc given_desc[NR_GIVEN];

/* The entity that a number belongs to; outside of preempts there is one. */
enum owner { OWNER_it, OWNER_curr, OWNER_woken, NR_OWNERS };

enum node_kind {
	NODE_number, /* value */
	NODE_entity, /* the variable @value of @owner */
	NODE_queue,  /* the variable @value of the queue */
	NODE_local,
	NODE_given,  /* enum given in @value, of @owner */
	NODE_unary,  /* @op of @a */
	NODE_binary, /* @op of @a and @b */
	NODE_choice, /* @a ? @b : @c */
	NODE_set,    /* @a becomes @b, or with @op '+' and '-' more or less by it; then @next */
	NODE_if,     /* @a: then the statements @b, else @c; then @next */
	NODE_while,  /* while @a: the statements @b; then @next */
};

/* Operators of one character are that; '-' of one operand is one, too. */
enum recipe_op { OP_le = 256, OP_ge, OP_eq, OP_ne, OP_and, OP_or, OP_min, OP_max };
/* Operators of two characters, from OP_le to OP_or, as a text writes them. */
#define NR_TWO (OP_or - OP_le + 1)
extern const char op_two[NR_TWO][3];

#define NO_NODE (-1)

struct node {
	u8 kind, owner;
	u16 op;
	u32 line;
	s32 a, b, c, next;
	u64 value;
};

struct variables {
	u32 nr;
	char name[RECIPE_QUEUE_VARS][RECIPE_NAME + 1];
};

struct recipe {
	char name[RECIPE_NAME + 1];
	const char *about; /* the comment at the begin of the text, which has @about_length bytes */
	u32 about_length;
	u32 traits; /* BIT(TRAIT_x) */
	struct variables entity, queue, local[NR_HOOKS];
	u32 key; /* a variable of the entity */
	s32 body[NR_HOOKS];
	struct node node[RECIPE_NODES];
	u32 nr_nodes;
	u32 error_line; /* 0: there is none */
	char error[160];
};

/* Reads @text, which must stay. The first mistake is in error_line and error. Free the result. */
struct recipe *recipe_parse(const char *text);
/* Is @path the name of a text, by its ending? */
bool recipe_is_text(const char *path);
/*
 * Reads the file that @option of the command line names; with a mistake in it the program ends. The
 * result stays.
 */
const struct recipe *recipe_load(const char *option, const char *path);

struct fair_queue;
struct entity;

/* One call of a hook: its parameters and local variables. */
struct scope {
	const struct recipe *recipe;
	enum hook hook;
	struct fair_queue *q;
	struct entity *e[NR_OWNERS];
	u64 delta, weight;
	unsigned flags;
	u32 rounds;    /* of loops; past RECIPE_ROUNDS nothing is done any more */
	u32 hung_line; /* of the loop that does not end; else 0 */
	u64 local[RECIPE_LOCALS];
};

/* Runs the hook, and returns the value of those that have one. */
u64 recipe_run(struct scope *scope);
/* One operation on two numbers, as the language defines it. Of '-' and '!' alone only @b counts. */
u64 recipe_operate(unsigned op, u64 a, u64 b);
/* Where a variable is kept, and what is given (hooks.c). */
u64 *recipe_entity(const struct scope *scope, enum owner owner, u32 nr);
u64 *recipe_queue(const struct scope *scope, u32 nr);
u64 recipe_given(const struct scope *scope, enum owner owner, enum given given);

struct fair_policy;
/*
 * The policy that @recipe is, from now on; @file is its name in messages. Both must stay. One
 * policy at a time.
 */
const struct fair_policy *recipe_policy(const struct recipe *recipe, const char *file);

/* Writes the policy as a file for examples/policies/. */
void recipe_export(const struct recipe *recipe, FILE *out);

/* The hook of @p that begins last before @place, an address in the same object; NULL: none does. */
const char *policy_hook_at(const struct fair_policy *p, const void *place);
