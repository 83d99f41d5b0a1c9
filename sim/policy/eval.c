/* SPDX-License-Identifier: GPL-2.0-only */
/* Computes what the tree of a policy says; see policy.h. */
#include "sim/policy/policy.h"

static u64 divide(s64 a, s64 b, bool rest)
{
	if (!b)
		return 0;
	if (b == -1) /* the least number has no opposite */
		return rest ? 0 : 0 - (u64)a;
	return (u64)(rest ? a % b : a / b);
}

u64 recipe_operate(unsigned op, u64 a, u64 b)
{
	s64 left = (s64)a, right = (s64)b;

	switch (op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
	case '%':
		return divide(left, right, op == '%');
	case '<':
		return left < right;
	case '>':
		return left > right;
	case OP_le:
		return left <= right;
	case OP_ge:
		return left >= right;
	case OP_eq:
		return a == b;
	case OP_ne:
		return a != b;
	case OP_min:
		return left < right ? a : b;
	case OP_max:
		return left > right ? a : b;
	default: /* '!' */
		return !b;
	}
}

static u64 value_of(struct scope *s, s32 at);

static u64 binary(struct scope *s, const struct node *n)
{
	if (n->op == OP_and)
		return value_of(s, n->a) && value_of(s, n->b);
	if (n->op == OP_or)
		return value_of(s, n->a) || value_of(s, n->b);
	return recipe_operate(n->op, value_of(s, n->a), value_of(s, n->b));
}

static u64 *place_of(struct scope *s, const struct node *n)
{
	switch (n->kind) {
	case NODE_entity:
		return recipe_entity(s, n->owner, (u32)n->value);
	case NODE_queue:
		return recipe_queue(s, (u32)n->value);
	default:
		return &s->local[n->value];
	}
}

static u64 value_of(struct scope *s, s32 at)
{
	const struct node *n = &s->recipe->node[at];

	switch (n->kind) {
	case NODE_number:
		return n->value;
	case NODE_given:
		return recipe_given(s, n->owner, (enum given)n->value);
	case NODE_unary:
		return recipe_operate(n->op, 0, value_of(s, n->a));
	case NODE_binary:
		return binary(s, n);
	case NODE_choice:
		return value_of(s, value_of(s, n->a) ? n->b : n->c);
	default:
		return *place_of(s, n);
	}
}

static void perform(struct scope *s, s32 at);

static void repeat(struct scope *s, const struct node *n)
{
	while (!s->hung_line && value_of(s, n->a)) {
		if (++s->rounds > RECIPE_ROUNDS) {
			s->hung_line = n->line;
			return;
		}
		perform(s, n->b);
	}
}

static void perform(struct scope *s, s32 at)
{
	for (const struct node *n; at != NO_NODE && !s->hung_line; at = n->next) {
		n = &s->recipe->node[at];
		if (n->kind == NODE_while) {
			repeat(s, n);
		} else if (n->kind == NODE_if) {
			perform(s, value_of(s, n->a) ? n->b : n->c);
		} else {
			u64 *place = place_of(s, &s->recipe->node[n->a]);
			u64 value = value_of(s, n->b);

			*place = n->op == '=' ? value : recipe_operate(n->op, *place, value);
		}
	}
}

u64 recipe_run(struct scope *scope)
{
	s32 body = scope->recipe->body[scope->hook];

	if (scope->hook >= HOOK_slice)
		return value_of(scope, body);
	perform(scope, body);
	return 0;
}
