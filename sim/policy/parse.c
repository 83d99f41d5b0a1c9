/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads a policy's text: declarations and statements. Errors are sentences with a line. */
#include <string.h>

#include "sched/sched.h"
#include "sim/engine/util.h"
#include "sim/policy/parse.h"

const char *const hook_name[NR_HOOKS] = { "place",    "charge", "yield", "leave",
					  "reweight", "slice",	"tick",	 "preempts" };

const struct given_desc given_desc[NR_GIVEN] = {
#define GIVEN(name, where, what, text) { #name, where, #text },
#include "sim/policy/given.def"
#undef GIVEN
};

/* Words of the language and of C, and the names that the exported file has for itself. */
static const char reserved[] =
	" policy promises entity queue key let if else while curr woken min max auto break case "
	"char const continue default do double enum extern float for goto inline int long register "
	"restrict return short signed sizeof static struct switch typedef union unsigned void "
	"volatile asm typeof bool true false unix linux errno u8 u16 u32 u64 s8 s16 s32 s64 q e "
	"own "
	"all flags first_key divide rest least most less equal tick_expired dump_key guest ";

s32 parse_node(struct parser *p, enum node_kind kind)
{
	struct recipe *recipe = p->tokens.recipe;
	struct node *n;

	if (recipe->error_line)
		return NO_NODE;
	if (recipe->nr_nodes == RECIPE_NODES) {
		token_error(&p->tokens, "The policy is too large.");
		return NO_NODE;
	}
	n = &recipe->node[recipe->nr_nodes];
	*n = (struct node){ .kind = (u8)kind, .line = p->tokens.line, .next = NO_NODE };
	n->a = n->b = n->c = NO_NODE;
	return (s32)recipe->nr_nodes++;
}

bool parse_deeper(struct parser *p)
{
	if (p->tokens.recipe->error_line)
		return false;
	if (++p->depth < RECIPE_DEPTH)
		return true;
	token_error(&p->tokens, "This is nested more than %u deep.", RECIPE_DEPTH);
	return false;
}

s32 variable_find(const struct variables *v, const char *name)
{
	for (u32 i = 0; i < v->nr; i++)
		if (!strcmp(v->name[i], name))
			return (s32)i;
	return -1;
}

s32 given_find(const char *name)
{
	for (u32 i = 0; i < NR_GIVEN; i++)
		if (!strcmp(given_desc[i].name, name))
			return (s32)i;
	return -1;
}

static bool is_hook(const char *name)
{
	for (u32 i = 0; i < NR_HOOKS; i++)
		if (!strcmp(hook_name[i], name))
			return true;
	return false;
}

static bool is_taken(const struct parser *p, const char *name)
{
	const struct recipe *recipe = p->tokens.recipe;
	char word[40];

	snprintf(word, sizeof(word), " %s ", name);
	return strstr(reserved, word) || is_hook(name) || given_find(name) >= 0 ||
	       variable_find(&recipe->entity, name) >= 0 ||
	       variable_find(&recipe->queue, name) >= 0 ||
	       variable_find(&recipe->local[p->hook], name) >= 0;
}

static void add_variable(struct parser *p, struct variables *v, u32 most)
{
	struct tokens *t = &p->tokens;

	if (t->is_next != TOKEN_name)
		return token_expect(t, TOKEN_name, "A name for a number");
	if (is_taken(p, t->name))
		return token_error(t, "The name \"%s\" is taken.", t->name);
	if (v->nr == most)
		return token_error(t, "There are more than %u such numbers.", most);
	strcpy(v->name[v->nr++], t->name);
	token_next(t);
}

static void end_line(struct parser *p)
{
	if (p->tokens.is_next != TOKEN_end)
		token_expect(&p->tokens, TOKEN_line, "The end of the line");
}

static void skip_lines(struct parser *p)
{
	while (token_accept(&p->tokens, TOKEN_line))
		;
}

/* --- statements ------------------------------------------------------------------------------- */

static s32 parse_block(struct parser *p);

static s32 parse_if(struct parser *p, enum node_kind kind)
{
	struct recipe *recipe = p->tokens.recipe;
	s32 at = parse_node(p, kind);

	token_next(&p->tokens);
	if (at == NO_NODE)
		return at;
	recipe->node[at].a = parse_expression(p);
	recipe->node[at].b = parse_block(p);
	if (kind != NODE_if || !token_is_name(&p->tokens, "else"))
		return at;
	token_next(&p->tokens);
	recipe->node[at].c =
		token_is_name(&p->tokens, "if") ? parse_if(p, NODE_if) : parse_block(p);
	return at;
}

/* NAME = VALUE, NAME += VALUE, NAME -= VALUE */
static s32 parse_set(struct parser *p)
{
	struct recipe *recipe = p->tokens.recipe;
	s32 at = parse_node(p, NODE_set), target;
	u32 op = '=';

	if (at == NO_NODE)
		return at;
	if (p->tokens.is_next != TOKEN_name) {
		token_expect(&p->tokens, TOKEN_name, "A statement or \"}\"");
		return NO_NODE;
	}
	target = parse_variable(p, OWNER_it);
	if (target != NO_NODE && recipe->node[target].kind == NODE_given)
		token_error(&p->tokens, "\"%s\" is given, and cannot be set.",
			    given_desc[recipe->node[target].value].name);
	if (p->tokens.is_next == '+' || p->tokens.is_next == '-') {
		op = p->tokens.is_next;
		token_next(&p->tokens);
	}
	token_expect(&p->tokens, '=', "\"=\"");
	recipe->node[at].op = (u16)op;
	recipe->node[at].a = target;
	recipe->node[at].b = parse_expression(p);
	return at;
}

static s32 parse_statement(struct parser *p)
{
	struct variables *local = &p->tokens.recipe->local[p->hook];

	if (token_is_name(&p->tokens, "if"))
		return parse_if(p, NODE_if);
	if (token_is_name(&p->tokens, "while"))
		return parse_if(p, NODE_while);
	if (token_is_name(&p->tokens, "let")) {
		struct tokens name;

		token_next(&p->tokens);
		name = p->tokens;
		add_variable(p, local, RECIPE_LOCALS);
		if (!p->tokens.recipe->error_line)
			p->tokens = name; /* "let x = 1" is "x = 1" from here on */
	}
	return parse_set(p);
}

static s32 parse_block(struct parser *p)
{
	struct recipe *recipe = p->tokens.recipe;
	s32 first = NO_NODE, last = NO_NODE;

	token_expect(&p->tokens, '{', "\"{\"");
	if (!parse_deeper(p))
		return NO_NODE;
	skip_lines(p);
	while (!token_accept(&p->tokens, '}')) {
		s32 at = parse_statement(p);

		if (recipe->error_line)
			return NO_NODE;
		if (first == NO_NODE)
			first = at;
		else
			recipe->node[last].next = at;
		last = at;
		if (p->tokens.is_next != '}')
			end_line(p);
		skip_lines(p);
	}
	p->depth--;
	return first;
}

/* --- declarations ----------------------------------------------------------------------------- */

static void parse_name(struct parser *p)
{
	struct tokens *t = &p->tokens;

	if (t->recipe->name[0])
		return token_error(t, "The policy has a name already.");
	if (t->is_next != TOKEN_name)
		return token_expect(t, TOKEN_name, "The policy's name");
	if (is_taken(p, t->name))
		return token_error(t, "The name \"%s\" is taken.", t->name);
	strcpy(t->recipe->name, t->name);
	token_next(t);
}

static void parse_promises(struct parser *p)
{
	struct tokens *t = &p->tokens;

	while (t->is_next == TOKEN_name) {
		const char *trait;
		char word[40];
		u32 bit;

		strcpy(word, t->name);
		token_next(t);
		if (token_accept(t, '-') && t->is_next == TOKEN_name) {
			strcat(strcat(word, "-"), t->name);
			token_next(t);
		}
		for (bit = 0; (trait = sched_trait_name(bit)); bit++)
			if (!strcmp(trait, word))
				break;
		if (!trait || bit > TRAIT_DETERMINISTIC)
			return token_error(t,
					   "\"%s\" is no promise; proportional, even, bounded-lag "
					   "and deterministic are.",
					   word);
		t->recipe->traits |= (u32)BIT(bit);
	}
}

static void parse_key(struct parser *p)
{
	s32 key = p->tokens.is_next == TOKEN_name
			  ? variable_find(&p->tokens.recipe->entity, p->tokens.name)
			  : -1;

	if (key < 0)
		return token_error(&p->tokens,
				   "The key must be a number that \"entity\" has named above.");
	p->tokens.recipe->key = (u32)key;
	token_next(&p->tokens);
}

static void parse_hook(struct parser *p, enum hook hook)
{
	struct recipe *recipe = p->tokens.recipe;

	if (recipe->body[hook] != NO_NODE)
		return token_error(&p->tokens, "There is a %s already.", hook_name[hook]);
	p->hook = hook;
	token_next(&p->tokens);
	if (hook < HOOK_slice) {
		recipe->body[hook] = parse_block(p);
		/* One without statements is there, too: it sets nothing. */
		if (recipe->body[hook] == NO_NODE)
			token_error(&p->tokens, "The %s is empty; leave it out.", hook_name[hook]);
		return;
	}
	token_expect(&p->tokens, '=', "\"=\"");
	recipe->body[hook] = parse_expression(p);
}

static void parse_declaration(struct parser *p)
{
	struct tokens *t = &p->tokens;
	struct recipe *recipe = t->recipe;
	char word[32];

	if (t->is_next != TOKEN_name)
		return token_expect(t, TOKEN_name, "A declaration or a hook");
	for (u32 i = 0; i < NR_HOOKS; i++)
		if (token_is_name(t, hook_name[i]))
			return parse_hook(p, (enum hook)i);
	strcpy(word, t->name);
	token_next(t);
	if (!strcmp(word, "policy"))
		return parse_name(p);
	if (!strcmp(word, "promises"))
		return parse_promises(p);
	if (!strcmp(word, "key"))
		return parse_key(p);
	if (strcmp(word, "entity") && strcmp(word, "queue"))
		return token_error(t, "\"%s\" is neither a declaration nor a hook.", word);
	do
		if (*word == 'e')
			add_variable(p, &recipe->entity, RECIPE_ENTITY_VARS);
		else
			add_variable(p, &recipe->queue, RECIPE_QUEUE_VARS);
	while (t->is_next == TOKEN_name);
}

static void find_about(struct recipe *p, const char *text)
{
	const char *end = text;

	while (*end == '#')
		end += strcspn(end, "\n") + !!strchr(end, '\n');
	p->about = text;
	p->about_length = (u32)(end - text);
}

struct recipe *recipe_parse(const char *text)
{
	struct recipe *recipe = allocate(1, sizeof(*recipe));
	struct parser p = { .tokens = { .recipe = recipe, .at = text, .line = 1 } };

	for (u32 i = 0; i < NR_HOOKS; i++)
		recipe->body[i] = NO_NODE;
	recipe->key = RECIPE_ENTITY_VARS;
	find_about(recipe, text);
	if (strlen(text) > RECIPE_TEXT)
		token_error(&p.tokens, "The text has more than %u characters.", RECIPE_TEXT);
	token_next(&p.tokens);
	skip_lines(&p);
	while (p.tokens.is_next != TOKEN_end) {
		parse_declaration(&p);
		end_line(&p);
		skip_lines(&p);
	}
	if (!recipe->name[0])
		token_error(&p.tokens, "The policy has no name: \"policy NAME\" is missing.");
	else if (recipe->key == RECIPE_ENTITY_VARS)
		token_error(&p.tokens, "There is no key: the least one is picked.");
	else if (recipe->body[HOOK_place] == NO_NODE)
		token_error(&p.tokens, "There is no place: it sets the key of one that comes.");
	return recipe;
}
