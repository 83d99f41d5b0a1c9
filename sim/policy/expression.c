/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads expressions of a policy. From the weakest to the strongest: a ? b : c, ||, &&, comparisons,
 * + -, * / %, - and ! of one. What is made of numbers alone becomes a number.
 */
#include <string.h>

#include "sim/policy/parse.h"

#define NR_LEVELS 5u

static const u32 level_ops[NR_LEVELS][7] = {
	{ OP_or },    { OP_and },	 { '<', '>', OP_le, OP_ge, OP_eq, OP_ne },
	{ '+', '-' }, { '*', '/', '%' },
};

static bool is_number(const struct parser *p, s32 at)
{
	return at != NO_NODE && p->tokens.recipe->node[at].kind == NODE_number;
}

static s32 make_number(struct parser *p, u64 value)
{
	s32 at = parse_node(p, NODE_number);

	if (at != NO_NODE)
		p->tokens.recipe->node[at].value = value;
	return at;
}

static s32 make(struct parser *p, u32 op, s32 a, s32 b)
{
	struct node *nodes = p->tokens.recipe->node;
	bool logic = op == OP_and || op == OP_or;
	s32 at;

	if (!logic && is_number(p, b) && (a == NO_NODE || is_number(p, a)))
		return make_number(
			p, recipe_operate(op, a == NO_NODE ? 0 : nodes[a].value, nodes[b].value));
	at = parse_node(p, a == NO_NODE ? NODE_unary : NODE_binary);
	if (at == NO_NODE)
		return at;
	nodes[at].op = (u16)op;
	nodes[at].a = a == NO_NODE ? b : a;
	nodes[at].b = b;
	return at;
}

static s32 parse_given(struct parser *p, enum owner owner)
{
	const char *name = p->tokens.name;
	s32 given = given_find(name), at;
	bool of_entity;

	if (given < 0) {
		token_error(&p->tokens, "\"%s\" is not known.", name);
		return NO_NODE;
	}
	of_entity = given_desc[given].where & GIVEN_OF_ENTITY;
	if (!(given_desc[given].where & BIT(p->hook)))
		token_error(&p->tokens, "\"%s\" is not known in %s.", name, hook_name[p->hook]);
	else if (!of_entity && owner != OWNER_it)
		token_error(&p->tokens, "\"%s\" is not an entity's: it stands alone.", name);
	else if (of_entity && owner == OWNER_it && p->hook == HOOK_preempts)
		token_error(&p->tokens, "Whose? In preempts say curr.%s or woken.%s.", name, name);
	at = parse_node(p, NODE_given); /* none after an error */
	if (at != NO_NODE) {
		p->tokens.recipe->node[at].value = (u64)given;
		p->tokens.recipe->node[at].owner = (u8)owner;
	}
	token_next(&p->tokens);
	return at;
}

s32 parse_variable(struct parser *p, enum owner owner)
{
	struct recipe *recipe = p->tokens.recipe;
	const char *name = p->tokens.name;
	s32 entity = variable_find(&recipe->entity, name), at, nr;
	enum node_kind kind;

	if (entity >= 0 && owner == OWNER_it && p->hook == HOOK_preempts) {
		token_error(&p->tokens, "Whose? In preempts say curr.%s or woken.%s.", name, name);
		return NO_NODE;
	}
	if (entity >= 0) {
		kind = NODE_entity;
		nr = entity;
	} else if (owner == OWNER_it && (nr = variable_find(&recipe->queue, name)) >= 0) {
		kind = NODE_queue;
	} else if (owner == OWNER_it && (nr = variable_find(&recipe->local[p->hook], name)) >= 0) {
		kind = NODE_local;
	} else {
		return parse_given(p, owner);
	}
	at = parse_node(p, kind);
	if (at != NO_NODE) {
		recipe->node[at].value = (u64)nr;
		recipe->node[at].owner = (u8)owner;
	}
	token_next(&p->tokens);
	return at;
}

/* min(a, b), max(a, b) */
static s32 parse_call(struct parser *p, u32 op)
{
	s32 a, b;

	token_next(&p->tokens);
	token_expect(&p->tokens, '(', "\"(\"");
	a = parse_expression(p);
	token_expect(&p->tokens, ',', "\",\"");
	b = parse_expression(p);
	token_expect(&p->tokens, ')', "\")\"");
	return make(p, op, a, b);
}

static s32 parse_named(struct parser *p)
{
	bool curr = token_is_name(&p->tokens, "curr");

	if (token_is_name(&p->tokens, "min"))
		return parse_call(p, OP_min);
	if (token_is_name(&p->tokens, "max"))
		return parse_call(p, OP_max);
	if (!curr && !token_is_name(&p->tokens, "woken"))
		return parse_variable(p, OWNER_it);
	if (p->hook != HOOK_preempts) {
		token_error(&p->tokens, "Only preempts knows curr and woken.");
		return NO_NODE;
	}
	token_next(&p->tokens);
	token_expect(&p->tokens, '.', "\".\"");
	if (p->tokens.is_next != TOKEN_name)
		token_expect(&p->tokens, TOKEN_name, "A name");
	if (p->tokens.recipe->error_line)
		return NO_NODE;
	return parse_variable(p, curr ? OWNER_curr : OWNER_woken);
}

static s32 parse_single(struct parser *p)
{
	s32 at = NO_NODE;

	if (!parse_deeper(p))
		return at;
	if (token_accept(&p->tokens, '-')) {
		at = make(p, '-', NO_NODE, parse_single(p));
	} else if (token_accept(&p->tokens, '!')) {
		at = make(p, '!', NO_NODE, parse_single(p));
	} else if (token_accept(&p->tokens, '(')) {
		at = parse_expression(p);
		token_expect(&p->tokens, ')', "\")\"");
	} else if (p->tokens.is_next == TOKEN_number) {
		at = make_number(p, p->tokens.value);
		token_next(&p->tokens);
	} else if (p->tokens.is_next == TOKEN_name) {
		at = parse_named(p);
	} else {
		token_expect(&p->tokens, TOKEN_name, "A number, a name or \"(\"");
	}
	p->depth--;
	return at;
}

static u32 op_of_level(const struct parser *p, u32 level)
{
	for (const u32 *op = level_ops[level]; *op; op++)
		if (p->tokens.is_next == *op)
			return *op;
	return 0;
}

static s32 parse_level(struct parser *p, u32 level)
{
	s32 left = level == NR_LEVELS ? parse_single(p) : parse_level(p, level + 1);
	u32 op;

	if (level == NR_LEVELS)
		return left;
	while ((op = op_of_level(p, level))) {
		token_next(&p->tokens);
		left = make(p, op, left, parse_level(p, level + 1));
	}
	return left;
}

s32 parse_expression(struct parser *p)
{
	s32 condition = parse_level(p, 0), at;
	struct node *n;

	if (!token_accept(&p->tokens, '?') || !parse_deeper(p))
		return condition;
	at = parse_node(p, NODE_choice);
	if (at == NO_NODE)
		return at;
	n = &p->tokens.recipe->node[at];
	n->a = condition;
	n->b = parse_expression(p);
	token_expect(&p->tokens, ':', "\":\" of \"a ? b : c\"");
	n->c = parse_expression(p);
	p->depth--;
	if (is_number(p, condition))
		return p->tokens.recipe->node[condition].value ? n->b : n->c;
	return at;
}
