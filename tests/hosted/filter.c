/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Filters of events (kernel/trace/filter.c, fields.c). Each thread has one of its own, for
 * sched_switch or sched_process_exec: its text is read, and records pass it or not. The model is
 * filter_model.c.
 */
#include "kernel/trace/filter.h"
#include "kernel/kernel.h"
#include "kernel/trace/internal.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"

#include "filter.h"
#include "queue.h"

static const char *const op_names[] = { "set", "take_away", "pass", "show", NULL };

struct filters {
	struct trace_filter *of[NR_FIBERS];
	bool of_exec[NR_FIBERS];
};

/* --- texts ---------------------------------------------------------------------------------- */

struct writer {
	char *text;
	size_t len;
	struct prng random;
	unsigned left; /* comparisons that there may be */
	bool of_exec;
};

#define CHOOSE(w, list) ((list)[prng_below(&(w)->random, ARRAY_SIZE(list))])

static void add(struct writer *w, const char *word)
{
	size_t len = strlen(word);

	if (!prng_below(&w->random, 3))
		w->text[w->len++] = ' ';
	memcpy(w->text + w->len, word, len);
	w->len += len;
}

static void add_comparison(struct writer *w)
{
	static const char *const texts[] = { "prev_comm", "next_comm", "COMM" };
	static const char *const numbers[] = { "prev_pid",  "next_pid",	  "prev_prio",
					       "next_prio", "prev_state", "common_flags" };
	static const char *const exec_texts[] = { "filename", "filename", "COMM" };
	static const char *const exec_numbers[] = { "pid", "old_pid", "common_flags" };
	static const char *const text_operators[] = { "==", "!=", "~" };
	static const char *const operators[] = { "==", "!=", "<", "<=", ">", ">=", "&" };
	static const char *const patterns[] = { "\"hack\"", "'ha*'", "\"*\"", "'*c*k'",
						"\"sh\"",   "'*:0'", "''",    "\"a'b\"" };
	static const char *const values[] = {
		"0", "7", "-1", "100", "120", "1", "255", "2147483647"
	};

	w->left -= !!w->left;
	if (prng_below(&w->random, 2)) {
		add(w, w->of_exec ? CHOOSE(w, exec_texts) : CHOOSE(w, texts));
		add(w, CHOOSE(w, text_operators));
		add(w, prng_below(&w->random, 12) ? CHOOSE(w, patterns) : CHOOSE(w, values));
	} else {
		add(w, w->of_exec ? CHOOSE(w, exec_numbers) : CHOOSE(w, numbers));
		add(w, CHOOSE(w, operators));
		add(w, CHOOSE(w, values));
	}
}

static void add_expression(struct writer *w, unsigned depth)
{
	for (bool more = true; more;) {
		if (!prng_below(&w->random, 4))
			add(w, "!");
		if (depth && w->left && !prng_below(&w->random, 3)) {
			add(w, "(");
			add_expression(w, depth - 1);
			add(w, ")");
		} else {
			add_comparison(w);
		}
		more = w->left && prng_below(&w->random, 2);
		if (more)
			add(w, prng_below(&w->random, 2) ? "&&" : "||");
	}
}

/* A character goes, comes, or becomes another. */
static void spoil(struct writer *w)
{
	static const char others[] = " ()!&|=<>~\"'a-";
	size_t at = prng_below(&w->random, (u32)w->len), rest = w->len - at;
	char c = others[prng_below(&w->random, sizeof(others) - 1)];

	switch (prng_below(&w->random, 3)) {
	case 0:
		memmove(w->text + at, w->text + at + 1, rest - 1);
		w->len--;
		break;
	case 1:
		memmove(w->text + at + 1, w->text + at, rest);
		w->len++;
		w->text[at] = c;
		break;
	default:
		w->text[at] = c;
	}
}

size_t filter_text(u32 n, char text[FILTER_TEXT])
{
	struct writer w = { .text = text, .left = 5, .of_exec = filter_is_of_exec(n) };

	prng_seed(&w.random, n);
	add_expression(&w, 3);
	if (n % 3 == 0)
		spoil(&w);
	while (w.len && text[w.len - 1] == ' ')
		w.len--;
	text[w.len] = '\0';
	return w.len;
}

/* --- records --------------------------------------------------------------------------------- */

struct filter_record filter_record(u32 n)
{
	static const char *const names[] = { "hack", "hackbench", "sh", "kworker/0:0", "" };
	static const s32 numbers[] = { 0, 7, -1, 100, 120, 1, 255, 2147483647 };
	struct writer w;

	prng_seed(&w.random, n);
	return (struct filter_record){
		.prev_state = CHOOSE(&w, numbers),
		.prev_pid = CHOOSE(&w, numbers),
		.prev_prio = CHOOSE(&w, numbers),
		.next_pid = CHOOSE(&w, numbers),
		.next_prio = CHOOSE(&w, numbers),
		.common_flags = (u8)CHOOSE(&w, numbers),
		.prev_comm = CHOOSE(&w, names),
		.next_comm = CHOOSE(&w, names),
		.comm = CHOOSE(&w, names),
	};
}

static bool passes_now(const struct trace_filter *f, const char *comm, const void *record)
{
	unsigned long flags = arch_irq_save();
	bool ret;

	str_copy(current->task.comm, comm, sizeof(current->task.comm));
	ret = trace_filter_passes(f, record);
	arch_irq_restore(flags);
	return ret;
}

/* The name is behind the fields. */
static bool passes_exec(const struct trace_filter *f, const struct filter_record *r)
{
	const struct record_header header = { .flags = r->common_flags };
	u32 at = sizeof(struct event_sched_process_exec), len = (u32)strlen(r->prev_comm) + 1;
	u8 bytes[sizeof(struct event_sched_process_exec) + 16] = { 0 };
	struct event_sched_process_exec e = {
		.filename = at | len << 16,
		.pid = r->prev_pid,
		.old_pid = r->next_pid,
	};

	memcpy(&e, &header, sizeof(header));
	memcpy(bytes, &e, sizeof(e));
	memcpy(bytes + at, r->prev_comm, len);
	return passes_now(f, r->comm, bytes);
}

static bool passes_switch(const struct trace_filter *f, const struct filter_record *r)
{
	const struct record_header header = { .flags = r->common_flags };
	struct event_sched_switch e = {
		.prev_pid = r->prev_pid,
		.prev_prio = r->prev_prio,
		.prev_state = r->prev_state,
		.next_pid = r->next_pid,
		.next_prio = r->next_prio,
	};

	memcpy(&e, &header, sizeof(header));
	str_copy(e.prev_comm, r->prev_comm, sizeof(e.prev_comm));
	str_copy(e.next_comm, r->next_comm, sizeof(e.next_comm));
	return passes_now(f, r->comm, &e);
}

/* --- the object ------------------------------------------------------------------------------ */

static void *create(unsigned nr_threads)
{
	(void)nr_threads;
	return calloc(1, sizeof(struct filters));
}

static void destroy(void *object)
{
	struct filters *o = object;

	for (unsigned i = 0; i < NR_FIBERS; i++)
		trace_filter_free(o->of[i]);
	free(o);
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[FILTER_SET... FILTER_SHOW] = { 0, 999999 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { FILTER_SET,	 FILTER_SET,  FILTER_SET,  FILTER_TAKE_AWAY,
				    FILTER_PASS, FILTER_PASS, FILTER_PASS, FILTER_SHOW };

	(void)alone;
	return (struct call){ .op = often[prng_below(random, ARRAY_SIZE(often))],
			      .n = prng_below(random, 1000000) };
}

static long set(struct filters *o, unsigned nr, u32 n)
{
	unsigned event = filter_is_of_exec(n) ? EVENT_sched_process_exec : EVENT_sched_switch;
	struct trace_filter_error error;
	char text[FILTER_TEXT];
	size_t len = filter_text(n, text);
	struct trace_filter *f = trace_filter_parse(event, text, len, &error);

	if (!f && error.at > len)
		panic("the fault is behind the text");
	if (!f)
		return error.what ? -EINVAL : -ENOMEM;
	trace_filter_free(o->of[nr]);
	o->of[nr] = f;
	o->of_exec[nr] = filter_is_of_exec(n);
	return 0;
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct filters *o = object;
	struct answer answer = { 0 };
	struct filter_record r;
	const char *text;

	(void)id;
	if (call->op == FILTER_SET) {
		answer.value = set(o, nr, call->n);
	} else if (call->op == FILTER_TAKE_AWAY) {
		trace_filter_free(o->of[nr]);
		o->of[nr] = NULL;
	} else if (!o->of[nr]) {
		answer.value = 1;
	} else if (call->op == FILTER_PASS) {
		r = filter_record(call->n);
		answer.value =
			o->of_exec[nr] ? passes_exec(o->of[nr], &r) : passes_switch(o->of[nr], &r);
	} else {
		text = trace_filter_text(o->of[nr]);
		answer.digest = queue_digest((const u8 *)text, (long)strlen(text));
	}
	return answer;
}

DEFINE_OBJECT_BESIDE(filter, "*(struct filters *)object");
