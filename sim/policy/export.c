/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes a policy as C, for examples/policies/. All numbers are u64 there, so that sums wrap; what
 * takes them as signed says so. The frame of each hook does what hooks.c does.
 */
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "sched/sched.h"
#include "sim/engine/util.h"
#include "sim/policy/policy.h"

struct writer {
	const struct recipe *recipe;
	enum hook hook;
	FILE *out;
	u32 indent;
};

static const char *const entity_name[NR_OWNERS] = { "e", "curr", "woken" };

static void add(struct writer *w, const char *format, ...) __printf(2, 3);
static void add(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(w->out, format, args);
	va_end(args);
}

static void indent(struct writer *w)
{
	for (u32 i = 0; i < w->indent; i++)
		fputc('\t', w->out);
}

/* --- expressions ------------------------------------------------------------------------------ */

static const char *op_text(u32 op)
{
	static char one[2];

	if (op >= OP_le)
		return op_two[op - OP_le];
	one[0] = (char)op;
	return one;
}

static const char *function_of(u32 op)
{
	switch (op) {
	case '/':
		return "divide";
	case '%':
		return "rest";
	case OP_min:
		return "least";
	case OP_max:
		return "most";
	case OP_eq:
		return "equal";
	case OP_ne:
		return "!equal";
	case '<':
		return "less";
	case '>': /* a > b is b < a */
		return "less";
	default:
		return "!less";
	}
}

/* A truth is an int in C; all that is added or multiplied is u64. */
static bool is_truth(const struct node *n)
{
	return (n->kind == NODE_unary && n->op == '!') || n->op == '<' || n->op == '>' ||
	       (n->op >= OP_le && n->op <= OP_or);
}

/* Its range is that of a type with fewer bits, and compilers complain of some comparisons. */
static bool is_narrow(const struct node *n)
{
	return is_truth(n) || n->kind == NODE_number ||
	       (n->kind == NODE_given && !strncmp(given_desc[n->value].text, "(u64)", 5));
}

/* Is the comparison @n written as the call of a function? */
static bool is_called(const struct recipe *p, const struct node *n)
{
	const struct node *a = &p->node[n->a], *b = &p->node[n->b];

	return is_truth(a) || is_truth(b) || (is_narrow(a) && is_narrow(b)) ||
	       (a->kind == b->kind && a->value == b->value && a->owner == b->owner);
}

/* How strong C's operator binds that @n is written with; 9: none. */
static u32 strength(const struct recipe *p, const struct node *n)
{
	if (n->kind == NODE_choice)
		return 1;
	if (n->kind == NODE_given && strchr(given_desc[n->value].text, '?'))
		return 1;
	if (n->kind == NODE_given && strstr(given_desc[n->value].text, " - "))
		return 6;
	if (n->kind == NODE_unary)
		return n->op == '-' ? 6 : 4;
	if (n->kind != NODE_binary)
		return 9;
	if (n->op != OP_and && n->op != OP_or && is_truth(n) && is_called(p, n))
		return 9;
	switch (n->op) {
	case OP_or:
		return 2;
	case OP_and:
		return 3;
	case OP_eq:
	case OP_ne:
		return 4;
	case '<':
	case '>':
	case OP_le:
	case OP_ge:
		return 5;
	case '+':
	case '-':
		return 6;
	case '*':
		return 7;
	default: /* a function's call */
		return 9;
	}
}

/* The C of what is given, with the name of the entity that is meant for "e". */
static void write_given(struct writer *w, const char *text, const char *e)
{
	for (const char *c = text; *c; c++) {
		bool word = c > text && (isalnum((unsigned char)c[-1]) || c[-1] == '_');

		if (*c == 'e' && !word && !isalnum((unsigned char)c[1]) && c[1] != '_')
			add(w, "%s", e);
		else
			fputc(*c, w->out);
	}
}

static void write_value(struct writer *w, s32 at);

static void write_in(struct writer *w, s32 at, bool parentheses)
{
	add(w, parentheses ? "(" : "");
	write_value(w, at);
	add(w, parentheses ? ")" : "");
}

/* The node as a condition; @strong: the operator around it. */
static void write_condition(struct writer *w, s32 at, u32 strong)
{
	const struct node *n = &w->recipe->node[at];
	bool truth = is_truth(n);
	u32 own = truth ? strength(w->recipe, n) : 4;

	add(w, own <= strong ? "(" : "");
	write_in(w, at, !truth && strength(w->recipe, n) <= 4);
	add(w, truth ? "" : " != 0");
	add(w, own <= strong ? ")" : "");
}

/* An operand of one that takes it as signed. */
static void write_signed(struct writer *w, s32 at)
{
	const struct node *n = &w->recipe->node[at];

	if (n->kind == NODE_number)
		return add(w, "%lld", (long long)n->value);
	add(w, "(s64)");
	write_in(w, at, strength(w->recipe, n) < 9);
}

/* An operand of an operator that is so @strong. */
static void write_operand(struct writer *w, s32 at, u32 strong, bool right)
{
	const struct node *n = &w->recipe->node[at];
	bool weaker =
		strength(w->recipe, n) < strong || (right && strength(w->recipe, n) == strong);

	if (strong >= 6 && is_truth(n)) {
		add(w, "(u64)");
		weaker = true;
	}
	write_in(w, at, weaker);
}

static void write_number(struct writer *w, u64 value)
{
	if (value == (u64)INT64_MIN)
		add(w, "(u64)INT64_MIN");
	else if ((s64)value < 0)
		add(w, "(u64)%lld", (long long)value);
	else
		add(w, "%lld", (long long)value);
}

static void write_call(struct writer *w, const struct node *n)
{
	bool turned = n->op == '>' || n->op == OP_le;

	add(w, "%s(", function_of(n->op));
	write_value(w, turned ? n->b : n->a);
	add(w, ", ");
	write_value(w, turned ? n->a : n->b);
	add(w, ")");
}

static void write_binary(struct writer *w, const struct node *n)
{
	u32 strong = strength(w->recipe, n);

	if (strong == 9)
		return write_call(w, n);
	if (strong <= 3)
		write_condition(w, n->a, 3);
	else if (strong == 5)
		write_signed(w, n->a);
	else
		write_operand(w, n->a, strong == 4 ? 6 : strong, false);
	add(w, " %s ", op_text(n->op));
	if (strong <= 3)
		write_condition(w, n->b, 3);
	else if (strong == 5)
		write_signed(w, n->b);
	else
		write_operand(w, n->b, strong == 4 ? 6 : strong, true);
}

/* -a, !a */
static void write_unary(struct writer *w, const struct node *n)
{
	if (n->op == '-') {
		add(w, "0ull - ");
		return write_operand(w, n->a, 6, true);
	}
	if (is_truth(&w->recipe->node[n->a])) {
		add(w, "!");
		return write_in(w, n->a, true);
	}
	write_operand(w, n->a, 6, false);
	add(w, " == 0");
}

static void write_variable(struct writer *w, const struct node *n)
{
	const struct recipe *p = w->recipe;

	if (n->kind == NODE_local)
		add(w, "%s", p->local[w->hook].name[n->value]);
	else if (n->kind == NODE_queue)
		add(w, "all->%s", p->queue.name[n->value]);
	else if (n->owner == OWNER_it)
		add(w, "own->%s", p->entity.name[n->value]);
	else
		add(w, "%s_entity(%s)->%s", p->name, entity_name[n->owner],
		    p->entity.name[n->value]);
}

static void write_value(struct writer *w, s32 at)
{
	const struct node *n = &w->recipe->node[at];

	switch (n->kind) {
	case NODE_number:
		return write_number(w, n->value);
	case NODE_given:
		return write_given(w, given_desc[n->value].text, entity_name[n->owner]);
	case NODE_unary:
		return write_unary(w, n);
	case NODE_binary:
		return write_binary(w, n);
	case NODE_choice:
		write_condition(w, n->a, 2);
		add(w, " ? ");
		write_operand(w, n->b, 6, false);
		/* One of the two is to be an u64. */
		add(w, w->recipe->node[n->b].kind == NODE_number ? "ull : " : " : ");
		return write_operand(w, n->c, 6, false);
	default:
		return write_variable(w, n);
	}
}

/* --- statements ------------------------------------------------------------------------------- */

static void write_block(struct writer *w, s32 at);

static void write_branch(struct writer *w, const char *word, const struct node *n)
{
	add(w, "%s (", word);
	write_condition(w, n->a, 0);
	add(w, ") {\n");
	write_block(w, n->b);
	indent(w);
	if (n->c != NO_NODE) {
		add(w, "} else {\n");
		write_block(w, n->c);
		indent(w);
	}
	add(w, "}\n");
}

static void write_block(struct writer *w, s32 at)
{
	w->indent++;
	for (const struct node *n; at != NO_NODE; at = n->next) {
		n = &w->recipe->node[at];
		indent(w);
		if (n->kind != NODE_set) {
			write_branch(w, n->kind == NODE_if ? "if" : "while", n);
			continue;
		}
		write_value(w, n->a);
		add(w, n->op == '=' ? " = " : n->op == '+' ? " += " : " -= ");
		write_value(w, n->b);
		add(w, ";\n");
	}
	w->indent--;
}

/* --- hooks ------------------------------------------------------------------------------------ */

/* Is a variable of @kind used without an owner in the node @at, below it or after it? */
static bool uses(const struct recipe *p, s32 at, u32 kind)
{
	for (const struct node *n; at != NO_NODE; at = n->next) {
		n = &p->node[at];
		if (n->kind == kind && n->owner == OWNER_it)
			return true;
		if (uses(p, n->a, kind) || uses(p, n->b, kind) || uses(p, n->c, kind))
			return true;
	}
	return false;
}

/* Whether the function of @op is called. */
static bool calls(const struct recipe *p, const char *function)
{
	for (u32 i = 0; i < p->nr_nodes; i++) {
		const struct node *n = &p->node[i];
		const char *called = n->kind == NODE_binary ? function_of(n->op) : "";

		if (n->kind == NODE_binary && strength(p, n) == 9 &&
		    !strcmp(called + (*called == '!'), function))
			return true;
	}
	return false;
}

static void write_hook_head(struct writer *w, const char *type, const char *more)
{
	static const char *const names[NR_HOOKS] = { [HOOK_tick] = "tick_expired" };
	const struct recipe *p = w->recipe;
	const char *name = names[w->hook] ?: hook_name[w->hook];
	bool own = uses(p, p->body[w->hook], NODE_entity);
	bool all = uses(p, p->body[w->hook], NODE_queue);

	add(w, "static %s %s(struct fair_queue *q, %s)\n{\n", type, name, more);
	if (own)
		add(w, "\tstruct %s_entity *own = %s_entity(e);\n", p->name, p->name);
	if (all)
		add(w, "\tstruct %s_queue *all = %s_queue(q);\n", p->name, p->name);
	for (u32 i = 0; i < p->local[w->hook].nr; i++)
		add(w, "\tu64 %s = 0;\n", p->local[w->hook].name[i]);
	if (own || all || p->local[w->hook].nr)
		add(w, "\n");
	for (u32 i = 0; i < p->local[w->hook].nr; i++)
		add(w, "\t(void)%s;\n", p->local[w->hook].name[i]);
}

/* Parameters that a hook may not use, and when it has nothing to do. */
static void write_statements(struct writer *w, enum hook hook)
{
	static const struct {
		const char *type, *more, *unused, *unless;
	} frames[] = {
		[HOOK_place] = { "void", "struct entity *e, unsigned flags", "(void)q, (void)e",
				 "flags & (PLACE_NEW | PLACE_SLEEPER | PLACE_ASLEEP)" },
		[HOOK_charge] = { "void", "struct entity *e, u64 delta", "(void)q, (void)delta",
				  "!e->queued" },
		[HOOK_yield] = { "void", "struct entity *e", "(void)q, (void)e", NULL },
		[HOOK_leave] = { "bool", "struct entity *e, unsigned flags",
				 "(void)q, (void)e, (void)flags", NULL },
		[HOOK_reweight] = { "void", "struct entity *e, u64 weight",
				    "(void)q, (void)e, (void)weight", NULL },
	};

	w->hook = hook;
	if (w->recipe->body[hook] == NO_NODE)
		return;
	write_hook_head(w, frames[hook].type, frames[hook].more);
	add(w, "\t%s;\n", frames[hook].unused);
	if (frames[hook].unless)
		add(w, "\tif (%s)\n\t\treturn;\n", frames[hook].unless);
	write_block(w, w->recipe->body[hook]);
	add(w, "%s}\n\n", hook == HOOK_leave ? "\treturn false;\n" : "");
}

static void write_slice(struct writer *w)
{
	s32 body = w->recipe->body[HOOK_slice];

	w->hook = HOOK_slice;
	write_hook_head(w, "u64", "struct entity *e");
	add(w, "\t(void)q, (void)e;\n\treturn ");
	if (body == NO_NODE) {
		add(w, "tunables_of(q)->base_slice_ns");
	} else {
		add(w, "(u64)max((s64)(");
		write_value(w, body);
		add(w, "), (s64)0)");
	}
	add(w, ";\n}\n\n");
}

static void write_truth(struct writer *w, enum hook hook, const char *more, const char *unused)
{
	w->hook = hook;
	if (w->recipe->body[hook] == NO_NODE)
		return;
	write_hook_head(w, "bool", more);
	add(w, "\t%s;\n\treturn ", unused);
	write_condition(w, w->recipe->body[hook], 0);
	add(w, ";\n}\n\n");
}

/* --- the file --------------------------------------------------------------------------------- */

static void write_about(struct writer *w)
{
	const char *at = w->recipe->about, *end = at + w->recipe->about_length;

	add(w, "/* SPDX-License-Identifier: GPL-2.0-only */\n/*\n");
	while (at < end) {
		int length = (int)strcspn(at, "\n");

		add(w, " *");
		for (int i = 1; i < length; i++)
			fputc(at[i] == '/' && at[i - 1] == '*' ? '|' : at[i], w->out);
		add(w, "\n");
		at += length + (at[length] == '\n');
	}
	add(w,
	    "%s * Written by schedsim --export from a policy in expressions (docs/policies.md).\n"
	    " */\n#include \"sched/fair/core/fair.h\"\n#include \"lib/fmt.h\"\n\n",
	    w->recipe->about_length ? " *\n" : "");
}

static void write_state(struct writer *w, const struct variables *v, const char *of, bool entity)
{
	if (!v->nr)
		return;
	add(w, "struct %s_%s {\n", w->recipe->name, of);
	for (u32 i = 0; i < v->nr; i++)
		add(w, "\tu64 %s;%s\n", v->name[i],
		    entity && i == w->recipe->key ? " /* the least is picked */" : "");
	add(w, "};\nPOLICY_%s_STATE(%s)\n\n", entity ? "ENTITY" : "QUEUE", w->recipe->name);
}

/* Signed operations that C has no operator for, those that are used. */
static void write_functions(struct writer *w)
{
	static const struct {
		const char *name, *text;
	} functions[] = {
		{ "divide", "/* Signed; 0 if @b is. */\nstatic u64 divide(u64 a, u64 b)\n{\n"
			    "\tif (!b || !~b)\n\t\treturn b ? 0 - a : 0;\n"
			    "\treturn (u64)((s64)a / (s64)b);\n}\n\n" },
		{ "rest", "/* Signed; 0 if @b is. */\nstatic u64 rest(u64 a, u64 b)\n{\n"
			  "\treturn b && ~b ? (u64)((s64)a % (s64)b) : 0;\n}\n\n" },
		{ "least", "static u64 least(u64 a, u64 b)\n{\n"
			   "\treturn (s64)a < (s64)b ? a : b;\n}\n\n" },
		{ "most", "static u64 most(u64 a, u64 b)\n{\n"
			  "\treturn (s64)a > (s64)b ? a : b;\n}\n\n" },
		{ "less", "static bool less(u64 a, u64 b)\n{\n"
			  "\treturn (s64)a < (s64)b;\n}\n\n" },
		{ "equal", "static bool equal(u64 a, u64 b)\n{\n\treturn a == b;\n}\n\n" },
	};

	for (u32 i = 0; i < ARRAY_SIZE(functions); i++)
		if (calls(w->recipe, functions[i].name))
			add(w, "%s", functions[i].text);
}

static void write_first_key(struct writer *w)
{
	const struct recipe *p = w->recipe;
	bool used = false;

	for (u32 i = 0; i < p->nr_nodes; i++)
		used |= p->node[i].kind == NODE_given && p->node[i].value == GIVEN_first;
	if (used)
		add(w,
		    "static u64 first_key(struct fair_queue *q)\n{\n"
		    "\tstruct entity *first = fair_pick_first(q);\n\n"
		    "\treturn first ? %s_entity(first)->%s : 0;\n}\n\n",
		    p->name, p->entity.name[p->key]);
}

static void write_table(struct writer *w)
{
	const struct recipe *p = w->recipe;
	const char *trait, *separator = "\t.traits = ";
	static const char *const fields[NR_HOOKS] = {
		[HOOK_yield] = ".yield = yield",
		[HOOK_leave] = ".leave = leave",
		[HOOK_tick] = ".tick_expired = tick_expired",
		[HOOK_preempts] = ".preempts = preempts",
		[HOOK_reweight] = ".reweight = reweight",
		[HOOK_place] = ".place = place",
		[HOOK_charge] = ".charge = charge",
	};

	add(w,
	    "static void dump_key(struct entity *e, struct text *out)\n{\n"
	    "\ttext_add(out, \"  %%15ld\", (s64)%s_entity(e)->%s);\n}\n\n",
	    p->name, p->entity.name[p->key]);
	add(w, "const struct fair_policy %s_policy = {\n\tFAIR_DEFAULTS,\n\t.name = \"", p->name);
	for (const char *c = p->name; *c; c++)
		fputc(*c == '_' ? '-' : *c, w->out);
	add(w, "\",\n");
	for (u32 bit = 0; (trait = sched_trait_name(bit)); bit++) {
		if (!(p->traits & BIT(bit)))
			continue;
		add(w, "%sBIT(TRAIT_", separator);
		for (const char *c = trait; *c; c++)
			fputc(*c == '-' ? '_' : toupper((unsigned char)*c), w->out);
		add(w, ")");
		separator = " | ";
	}
	add(w, p->traits ? ",\n" : "");
	if (p->body[HOOK_reweight] != NO_NODE)
		add(w, "\t.moved_by_weight = true,\n");
	add(w, "\t.key = TIMELINE_KEY_IN(struct %s_entity, %s),\n", p->name,
	    p->entity.name[p->key]);
	for (u32 i = 0; i < NR_HOOKS; i++)
		if (fields[i] && p->body[i] != NO_NODE)
			add(w, "\t.hooks%s,\n", fields[i]);
	add(w,
	    "\t.slice = slice,\n\t.progress = fair_no_progress,\n"
	    "\t.key_columns = \"%17s\",\n\t.dump_key = dump_key,\n};\n",
	    p->entity.name[p->key]);
}

void recipe_export(const struct recipe *recipe, FILE *out)
{
	struct writer w = { .recipe = recipe, .out = out };

	write_about(&w);
	write_state(&w, &recipe->entity, "entity", true);
	write_state(&w, &recipe->queue, "queue", false);
	write_functions(&w);
	write_first_key(&w);
	write_slice(&w);
	write_statements(&w, HOOK_place);
	write_statements(&w, HOOK_charge);
	write_truth(&w, HOOK_tick, "struct entity *e", "(void)q, (void)e");
	write_truth(&w, HOOK_preempts,
		    "struct entity *curr, struct entity *woken,\n\t\t     unsigned flags",
		    "(void)q, (void)flags, (void)curr, (void)woken");
	write_statements(&w, HOOK_leave);
	write_statements(&w, HOOK_yield);
	write_statements(&w, HOOK_reweight);
	write_table(&w);
}
