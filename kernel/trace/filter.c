/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters of events. The text becomes a list of steps in postfix order: a comparison pushes a
 * truth value, an operator replaces those it takes. The values are the bits of one word, so
 * running a filter needs no memory and no recursion, and its length is bounded.
 */
#include "kernel/trace/filter.h"

#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "lib/errno.h"
#include "lib/string.h"

#define MAX_STEPS	48u
#define MAX_PENDING	32u /* operators and parentheses that are open; truth values likewise */
#define FILTER_TEXT_MAX 40u /* of a text to compare with, and its NUL */

/* In the order of the priority of the three operators that join comparisons. */
enum step_kind { STEP_OPEN, STEP_OR, STEP_AND, STEP_NOT, STEP_COMPARE };

enum compare { EQUAL, NOT_EQUAL, AT_MOST, LESS, AT_LEAST, MORE, GLOB, COMMON_BITS };

struct step {
	u8 kind;
	u8 compare;
	struct trace_field field; /* of a comparison */
	u64 value;		  /* extended to 64 bits as the field is */
	char text[FILTER_TEXT_MAX];
};

struct trace_filter {
	char *text;
	unsigned nr;
	struct step steps[MAX_STEPS];
};

/* --- running --------------------------------------------------------------------------------- */

/* The number of @size bytes at @p, extended to 64 bits. */
static u64 number_at(const u8 *p, unsigned size, bool is_signed)
{
	u64 value = 0;
	unsigned unused = 64 - 8 * size;

	debug_assert(size && size <= sizeof(u64));
	memcpy(&value, p, size);
	return is_signed ? (u64)((s64)(value << unused) >> unused) : value;
}

u64 trace_field_number(const struct trace_field *f, const void *record)
{
	debug_assert(f->kind != FIELD_TEXT && f->kind != FIELD_LOCATION);
	return f->kind == FIELD_CPU ? arch_cpu_id()
				    : number_at((const u8 *)record + f->offset, f->size,
						f->kind == FIELD_SIGNED);
}

static bool compare_numbers(u64 a, u64 b, enum compare how, bool is_signed)
{
	bool less = is_signed ? (s64)a < (s64)b : a < b;

	switch (how) {
	case EQUAL:
		return a == b;
	case NOT_EQUAL:
		return a != b;
	case LESS:
		return less;
	case AT_MOST:
		return less || a == b;
	case MORE:
		return !less && a != b;
	case AT_LEAST:
		return !less;
	default:
		return a & b;
	}
}

static bool compare_texts(const char *text, size_t size, const char *with, enum compare how)
{
	char copy[128];

	debug_assert(how == EQUAL || how == NOT_EQUAL || how == GLOB);
	str_copy(copy, text, min(size + 1, sizeof(copy)));
	if (how == GLOB)
		return str_glob(with, copy);
	return !strcmp(copy, with) == (how == EQUAL);
}

static bool step_holds(const struct step *s, const u8 *record)
{
	const u8 *at = record + s->field.offset;
	u32 location;

	switch (s->field.kind) {
	case FIELD_TEXT:
		return compare_texts((const char *)at, s->field.size, s->text, s->compare);
	case FIELD_CURRENT_COMM:
		return compare_texts(current->task.comm, COMM_LEN, s->text, s->compare);
	case FIELD_LOCATION:
		memcpy(&location, at, sizeof(location));
		return compare_texts((const char *)record + (location & 0xffff), location >> 16,
				     s->text, s->compare);
	default:
		return compare_numbers(trace_field_number(&s->field, record), s->value, s->compare,
				       s->field.kind == FIELD_SIGNED);
	}
}

bool trace_filter_passes(const struct trace_filter *f, const void *record)
{
	u64 stack = 0; /* bit 0 is the top */

	debug_assert(!arch_irq_enabled());
	for (unsigned i = 0; i < f->nr; i++) {
		const struct step *s = &f->steps[i];

		if (s->kind == STEP_COMPARE)
			stack = stack << 1 | step_holds(s, record);
		else if (s->kind == STEP_NOT)
			stack ^= 1;
		else
			stack = (stack >> 1 & ~1ull) |
				(s->kind == STEP_AND ? stack & stack >> 1 & 1
						     : (stack | stack >> 1) & 1);
	}
	return stack & 1;
}

/* --- reading the text ------------------------------------------------------------------------ */

struct parser {
	unsigned event;
	const char *text;
	size_t len, pos;
	struct trace_filter *out;
	u8 pending[MAX_PENDING];
	unsigned nr_pending, depth; /* depth: truth values that are there when this step ran */
	struct trace_filter_error *error;
};

static bool fail(struct parser *p, const char *what, size_t at)
{
	*p->error = (struct trace_filter_error){ what, at };
	return false;
}

static char peek(const struct parser *p, size_t ahead)
{
	return p->pos + ahead < p->len ? p->text[p->pos + ahead] : '\0';
}

static void skip_blanks(struct parser *p)
{
	while (peek(p, 0) && strchr(" \t\n", peek(p, 0)))
		p->pos++;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

/* Passes a word and returns its length. */
static size_t pass_word(struct parser *p)
{
	size_t start = p->pos;

	while (is_word(peek(p, 0)))
		p->pos++;
	return p->pos - start;
}

static bool add_step(struct parser *p, const struct step *s)
{
	if (p->out->nr == MAX_STEPS)
		return fail(p, "Too many terms in filter", p->pos);
	p->out->steps[p->out->nr++] = *s;
	return true;
}

/* Takes the operators off that bind more closely than one of @kind. */
static bool reduce(struct parser *p, u8 kind)
{
	while (p->nr_pending && p->pending[p->nr_pending - 1] >= kind) {
		struct step s = { .kind = p->pending[--p->nr_pending] };

		if (!add_step(p, &s))
			return false;
		debug_assert(s.kind == STEP_NOT || p->depth > 1);
		p->depth -= s.kind != STEP_NOT;
	}
	return true;
}

static bool push(struct parser *p, u8 kind)
{
	if (p->nr_pending == MAX_PENDING)
		return fail(p, "Too many operators", p->pos);
	p->pending[p->nr_pending++] = kind;
	return true;
}

/* Longer spellings before their beginnings. */
static bool parse_operator(struct parser *p, struct step *s)
{
	static const struct {
		char spelling[3];
		u8 how;
	} operators[] = {
		{ "==", EQUAL },    { "!=", NOT_EQUAL }, { "<=", AT_MOST }, { "<", LESS },
		{ ">=", AT_LEAST }, { ">", MORE },	 { "~", GLOB },	    { "&", COMMON_BITS },
	};

	skip_blanks(p);
	for (unsigned i = 0; i < ARRAY_SIZE(operators); i++) {
		const char *spelling = operators[i].spelling;

		if (peek(p, 0) != spelling[0] || (spelling[1] && peek(p, 1) != spelling[1]))
			continue;
		p->pos += strlen(spelling);
		s->compare = operators[i].how;
		return true;
	}
	return fail(p, "Invalid operator", p->pos);
}

static bool parse_text(struct parser *p, struct step *s)
{
	size_t start = p->pos + 1;
	const char *end = memchr(p->text + start, p->text[p->pos], p->len - start);
	size_t len = end ? (size_t)(end - p->text) - start : 0;

	if (!end)
		return fail(p, "Missing quote", p->pos);
	if (len >= sizeof(s->text))
		return fail(p, "Operand too long", p->pos);
	memcpy(s->text, p->text + start, len);
	s->text[len] = '\0';
	p->pos = start + len + 1;
	return true;
}

static bool parse_number(struct parser *p, struct step *s)
{
	size_t start = p->pos;
	bool is_signed = s->field.kind == FIELD_SIGNED;
	int err;

	p->pos += peek(p, 0) == '-';
	if (!pass_word(p))
		return fail(p, "Expected digit", start);
	err = is_signed ? parse_s64(p->text + start, p->pos - start, (s64 *)&s->value)
			: parse_u64(p->text + start, p->pos - start, &s->value);
	if (err)
		return fail(p, "Invalid value (did you forget quotes)?", start);
	s->value = number_at((const u8 *)&s->value, s->field.size, is_signed);
	return true;
}

static bool is_text(const struct trace_field *f)
{
	return f->kind == FIELD_TEXT || f->kind == FIELD_LOCATION || f->kind == FIELD_CURRENT_COMM;
}

/* field operator value */
static bool parse_comparison(struct parser *p)
{
	struct step s = { .kind = STEP_COMPARE };
	size_t start = p->pos, len = pass_word(p), operator_at;
	const struct trace_field *field = trace_field_find(p->event, p->text + start, len);
	bool quoted, text_operator;

	if (!field)
		return fail(p, "Field not found", start);
	s.field = *field;
	skip_blanks(p);
	operator_at = p->pos;
	if (!parse_operator(p, &s))
		return false;
	skip_blanks(p);
	quoted = peek(p, 0) == '"' || peek(p, 0) == '\'';
	text_operator = s.compare == EQUAL || s.compare == NOT_EQUAL || s.compare == GLOB;
	if (is_text(field) ? !text_operator : quoted || s.compare == GLOB)
		return fail(p, "Illegal operation for field type", operator_at);
	if (is_text(field) && !quoted)
		return fail(p, "Invalid value (did you forget quotes)?", p->pos);
	if (++p->depth > MAX_PENDING)
		return fail(p, "Too many terms in filter", start);
	return (quoted ? parse_text(p, &s) : parse_number(p, &s)) && add_step(p, &s);
}

/* A term begins with `!`, `(`, or a comparison, which sets *done. */
static bool parse_term(struct parser *p, bool *done)
{
	*done = false;
	if (peek(p, 0) == '!' || peek(p, 0) == '(')
		return push(p, p->text[p->pos++] == '!' ? STEP_NOT : STEP_OPEN);
	*done = true;
	return parse_comparison(p);
}

/* A term is followed by `)`, or by an operator, which sets *more. */
static bool parse_rest(struct parser *p, bool *more)
{
	char c = peek(p, 0);

	*more = c != ')';
	if (c == ')') {
		p->pos++;
		if (!reduce(p, STEP_OR))
			return false;
		if (!p->nr_pending)
			return fail(p, "Too many close parens", p->pos - 1);
		p->nr_pending--;
		return true;
	}
	if ((c != '&' && c != '|') || peek(p, 1) != c)
		return fail(p, "Expected operator", p->pos);
	p->pos += 2;
	return reduce(p, c == '&' ? STEP_AND : STEP_OR) && push(p, c == '&' ? STEP_AND : STEP_OR);
}

static bool parse_all(struct parser *p)
{
	bool term_done = false, more;

	for (skip_blanks(p); p->pos < p->len; skip_blanks(p)) {
		if (!term_done) {
			if (!parse_term(p, &term_done))
				return false;
		} else {
			if (!parse_rest(p, &more))
				return false;
			term_done = !more;
		}
	}
	if (!term_done && !p->out->nr)
		return fail(p, "No filter found", p->len);
	if (!term_done)
		return fail(p, "Operator at end of filter", p->len);
	if (!reduce(p, STEP_OR))
		return false;
	debug_assert(p->nr_pending || p->depth == 1);
	return p->nr_pending ? fail(p, "Too many open parens", p->len) : true;
}

struct trace_filter *trace_filter_parse(unsigned event, const char *text, size_t len,
					struct trace_filter_error *error)
{
	struct trace_filter *f = vmap_alloc(sizeof(*f));
	char *copy = kmalloc(len + 1);
	struct parser p = { event, text, len, .out = f, .error = error };

	debug_assert(event < NR_TRACE_EVENTS);
	*error = (struct trace_filter_error){ NULL, 0 };
	if (f)
		f->text = copy;
	if (!f || !copy || !parse_all(&p)) {
		if (f)
			trace_filter_free(f);
		else
			kfree(copy);
		return NULL;
	}
	memcpy(copy, text, len);
	copy[len] = '\0';
	return f;
}

void trace_filter_free(struct trace_filter *f)
{
	if (!f)
		return;
	kfree(f->text);
	vmap_free(f);
}

const char *trace_filter_text(const struct trace_filter *f)
{
	return f->text;
}
