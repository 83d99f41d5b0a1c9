/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of a filter: it reads the text anew for each record, by recursive descent, and knows
 * while it reads whether the record passes. The grammar is that of Documentation/trace/events.rst:
 *
 *	or   = and { "||" and }
 *	and  = term { "&&" term }
 *	term = "!" term | "(" or ")" | field operator value
 */
#include "filter.h"
#include "queue.h"

#include "lib/errno.h"
#include "lib/string.h"

struct reader {
	const char *at;
	bool wrong; /* the text is no filter */
	const struct filter_record *record;
	bool of_exec;
};

static char next(struct reader *r)
{
	while (*r->at == ' ')
		r->at++;
	return *r->at;
}

static bool accept(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	next(r);
	if (memcmp(r->at, word, min(len, strlen(r->at) + 1)))
		return false;
	r->at += len;
	return true;
}

/* A letter, a digit or "_". */
static bool in_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static size_t word_length(const struct reader *r)
{
	size_t len = 0;

	while (in_word(r->at[len]))
		len++;
	return len;
}

/* Of a pattern only "*" is special. */
static bool matches(const char *pattern, const char *text)
{
	if (*pattern == '*')
		return matches(pattern + 1, text) || (*text && matches(pattern, text + 1));
	return *pattern == *text && (!*text || matches(pattern + 1, text + 1));
}

static bool read_text(struct reader *r, const char *operator, const char * value)
{
	char quote = next(r), with[FILTER_TEXT];
	size_t len = 0;

	if (quote != '"' && quote != '\'') {
		r->wrong = true;
		return false;
	}
	while (r->at[1 + len] && r->at[1 + len] != quote)
		len++;
	r->wrong |= !r->at[1 + len] || !(*operator== '~' || operator[1] == '=');
	r->wrong |= *operator== '<' || * operator== '>' || len >= 40;
	if (r->wrong)
		return false;
	memcpy(with, r->at + 1, len);
	with[len] = '\0';
	r->at += len + 2;
	if (*operator== '~')
		return matches(with, value);
	return !strcmp(with, value) == (*operator== '=');
}

static bool compare(const char *operator, s64 value, s64 with)
{
	switch (*operator) {
	case '=':
		return value == with;
	case '!':
		return value != with;
	case '<':
		return operator[1] ? value <= with : value<with;
	case '>':
		return operator[1] ? value >= with : value> with;
	default:
		return value & with;
	}
}

/* Of a byte it takes the lowest 8 bits. */
static bool read_number(struct reader *r, const char *operator, s64 value, bool is_byte)
{
	bool minus = next(r) == '-';
	s64 with = 0;
	size_t len;

	r->at += minus;
	len = word_length(r);
	r->wrong |= !len || *operator== '~' ||(minus &&is_byte);
	for (; len; len--, r->at++) {
		r->wrong |= *r->at < '0' || *r->at > '9';
		with = with * 10 + (*r->at - '0');
	}
	if (r->wrong)
		return false;
	with = minus ? -with : with;
	return compare(operator, value, is_byte ? (u8)with : with);
}

static const char *read_operator(struct reader *r)
{
	static const char *const operators[] = { "==", "!=", "<=", ">=", "<", ">", "~", "&" };

	for (unsigned i = 0; i < ARRAY_SIZE(operators); i++)
		if (accept(r, operators[i]))
			return operators[i];
	r->wrong = true;
	return NULL;
}

static bool read_comparison(struct reader *r)
{
	const struct filter_record *of = r->record;
	const struct {
		const char *name, *text;
		s64 number;
		bool of_switch, of_exec;
	} fields[] = {
		{ "COMM", of->comm, 0, true, true },
		{ "common_flags", NULL, of->common_flags, true, true },
		{ "prev_comm", of->prev_comm, 0, true, false },
		{ "next_comm", of->next_comm, 0, true, false },
		{ "prev_pid", NULL, of->prev_pid, true, false },
		{ "next_pid", NULL, of->next_pid, true, false },
		{ "prev_prio", NULL, of->prev_prio, true, false },
		{ "next_prio", NULL, of->next_prio, true, false },
		{ "prev_state", NULL, of->prev_state, true, false },
		{ "filename", of->prev_comm, 0, false, true },
		{ "pid", NULL, of->prev_pid, false, true },
		{ "old_pid", NULL, of->next_pid, false, true },
	};
	size_t len = word_length(r);
	const char *word = r->at, *operator;

	r->at += len;
	operator= read_operator(r);
	for (unsigned i = 0; i < ARRAY_SIZE(fields) && !r->wrong; i++)
		if (strlen(fields[i].name) == len && !memcmp(fields[i].name, word, len) &&
		    (r->of_exec ? fields[i].of_exec : fields[i].of_switch))
			return fields[i].text ? read_text(r, operator, fields[i].text)
					      : read_number(r, operator, fields[i].number, i == 1);
	r->wrong = true;
	return false;
}

static bool read_or(struct reader *r);

static bool read_term(struct reader *r)
{
	bool passes;

	next(r);
	if (accept(r, "!"))
		return !read_term(r);
	if (!accept(r, "("))
		return read_comparison(r);
	passes = read_or(r);
	r->wrong |= !accept(r, ")");
	return passes;
}

static bool read_and(struct reader *r)
{
	bool passes = read_term(r);

	while (!r->wrong && accept(r, "&&"))
		passes &= read_term(r);
	return passes;
}

static bool read_or(struct reader *r)
{
	bool passes = read_and(r);

	while (!r->wrong && accept(r, "||"))
		passes |= read_and(r);
	return passes;
}

/* 1: the record passes; 0; -EINVAL: the text is no filter. */
static long evaluate(const char *text, bool of_exec, u32 record_nr)
{
	struct filter_record record = filter_record(record_nr);
	struct reader r = { .at = text, .record = &record, .of_exec = of_exec };
	bool passes = read_or(&r);

	return r.wrong || next(&r) ? -EINVAL : passes;
}

void filter_model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	memset(model, 0, sizeof(struct filter_model));
}

enum model_says filter_model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct filter_model *m = model;
	char text[FILTER_TEXT];
	size_t len;

	(void)id;
	a->value = a->digest = 0;
	if (call->op == FILTER_SET) {
		filter_text(call->n, text);
		a->value = min(evaluate(text, filter_is_of_exec(call->n), 0), 0l);
		if (a->value)
			return ENDS;
	}
	if (call->op <= FILTER_TAKE_AWAY) {
		m->filter[nr].there = call->op == FILTER_SET;
		m->filter[nr].n = call->n;
		return ENDS;
	}
	if (!m->filter[nr].there) {
		a->value = 1;
		return ENDS;
	}
	len = filter_text(m->filter[nr].n, text);
	if (call->op == FILTER_PASS)
		a->value = evaluate(text, filter_is_of_exec(m->filter[nr].n), call->n);
	else
		a->digest = queue_digest((const u8 *)text, (long)len);
	return ENDS;
}
