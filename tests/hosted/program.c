/* SPDX-License-Identifier: GPL-2.0-only */
/* See program.h. A text is "write:100 read:4096? / poll:0 @ 17>1 #2". */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "lib/errno.h"
#include "program.h"

static const struct program *program;
static struct history *history;
static void *object;

static unsigned id_of(unsigned nr, unsigned i)
{
	return nr * MAX_CALLS + i;
}

static struct event *event_of_thread[NR_FIBERS]; /* of the call that it makes */

static void ends(int code)
{
	struct event *e = event_of_thread[world_thread()];

	e->answer = (struct answer){ .value = history->world.stuck ? -ERESTARTSYS : ENDED | code };
	e->ended = world_now();
	e->done = true;
	e->slept = history->world.stuck;
}

static void body(unsigned nr)
{
	for (unsigned i = 0; i < program->nr_calls[nr] && !history->world.stuck; i++) {
		struct event *e = &history->events[nr][i];

		event_of_thread[nr] = e;
		world_point();
		e->begun = world_now();
		e->answer =
			program->object->perform(object, nr, id_of(nr, i), &program->calls[nr][i]);
		e->ended = world_now();
		e->done = true;
		e->slept = history->world.stuck;
	}
}

/* @p with the object's last call behind those of each thread. */
static const struct program *with_last_calls(const struct program *p)
{
	static struct program whole;

	if (!p->object->last || p->nr_threads == 1)
		return p;
	whole = *p;
	for (unsigned nr = 0; nr < p->nr_threads; nr++)
		whole.calls[nr][whole.nr_calls[nr]++] = *p->object->last;
	return &whole;
}

bool program_run(const struct program *p, struct history *h)
{
	struct world *w = &h->world;

	program = with_last_calls(p);
	history = h;
	memset(h->events, 0, sizeof(h->events));
	w->nr_threads = p->nr_threads;
	w->body = body;
	w->ends = ends;
	w->schedule = p->schedule;
	w->failing = p->failing;
	world_begin(w);
	object = p->object->create(p->nr_threads);
	w->nr_to_create = w->nr_allocations;
	if (!object) {
		if (!memory_failed())
			snprintf(w->fault, sizeof(w->fault), "it cannot be made");
		world_end();
		return !w->fault[0];
	}
	world_run(w);
	if (w->fault[0])
		return false;
	p->object->destroy(object);
	world_end();
	return !w->fault[0] && judge_history(program, h);
}

static struct call draw_call(const struct object *of, struct prng *random, bool alone)
{
	struct call call = of->draw(random, alone);
	struct range range = of->ranges[call.op];

	if (call.n < range.least || call.n > range.most)
		panic("%s:%u of %s is drawn and not taken", of->op_names[call.op], call.n,
		      of->name);
	return call;
}

void program_draw(struct program *p, struct prng *random, bool alone, unsigned length)
{
	const struct object *of = p->object;

	*p = (struct program){ .object = of, .nr_threads = alone ? 1 : 2 + prng_below(random, 2) };
	for (unsigned nr = 0; nr < p->nr_threads; nr++) {
		p->nr_calls[nr] = alone ? length : 1 + prng_below(random, length);
		for (unsigned i = 0; i < p->nr_calls[nr]; i++)
			p->calls[nr][i] = draw_call(of, random, alone);
	}
}

bool program_draw_ops(struct program *p, struct prng *random, const u8 *ops, unsigned nr)
{
	enum { DRAWS = 1000 };

	*p = (struct program){ .object = p->object, .nr_threads = 1, .nr_calls[0] = nr };
	for (unsigned i = 0; i < nr; i++) {
		unsigned left = DRAWS;

		do
			p->calls[0][i] = draw_call(p->object, random, true);
		while (p->calls[0][i].op != ops[i] && --left);
		if (!left)
			return false;
	}
	return true;
}

void program_print(const struct program *p, FILE *out)
{
	for (unsigned nr = 0; nr < p->nr_threads; nr++) {
		if (nr)
			fprintf(out, "/ ");
		for (unsigned i = 0; i < p->nr_calls[nr]; i++) {
			const struct call *call = &p->calls[nr][i];

			fprintf(out, "%s:%u%s ", p->object->op_names[call->op], call->n,
				&"\0\0?\0!\0"[call->how * 2]);
		}
	}
	if (p->schedule.nr)
		fprintf(out, "@ ");
	for (unsigned i = 0; i < p->schedule.nr; i++)
		fprintf(out, "%u>%u ", p->schedule.list[i].at, p->schedule.list[i].to);
	if (p->failing)
		fprintf(out, "#%u ", p->failing);
}

/* --- reading ----------------------------------------------------------------------------- */

/* Says what is wrong with @word, and returns false. */
static bool __printf(2, 3) refuse(const char *word, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "hosted: \"%s\": ", word);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return false;
}

bool parse_number(const char *text, u64 least, u64 most, u64 *number, const char **end)
{
	bool fits = isdigit(*text);

	for (*number = 0; isdigit(*text); text++)
		fits &= !__builtin_mul_overflow(*number, 10, number) &&
			!__builtin_add_overflow(*number, (u64)(*text - '0'), number);
	*end = text;
	return fits && *number >= least && *number <= most;
}

static bool refuse_name(const char *word, const struct object *of)
{
	char names[400] = "";

	for (const char *const *op = of->op_names; *op; op++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s", *op);
	return refuse(word, "the calls of %s are%s", of->name, names);
}

static bool parse_call(struct program *p, const char *word)
{
	size_t len = strcspn(word, ":");
	unsigned nr = p->nr_threads - 1;
	struct call call = { 0 };
	const char *const *op = p->object->op_names, *end;
	u64 n;

	while (op[call.op] && (strncmp(op[call.op], word, len) || op[call.op][len]))
		call.op++;
	if (!op[call.op])
		return refuse_name(word, p->object);
	struct range range = p->object->ranges[call.op];

	if (word[len] != ':' || !parse_number(word + len + 1, range.least, range.most, &n, &end))
		return refuse(word, "behind %s and a colon comes a number from %u to %u",
			      op[call.op], range.least, range.most);
	call.n = (u32)n;
	call.how = *end == '?' ? USER_ABSENT : *end == '!' ? USER_BAD : 0;
	if (end[call.how != 0])
		return refuse(word, "behind the number comes nothing, ? or !");
	if (p->nr_calls[nr] == MAX_CALLS)
		return refuse(word, "a thread has at most %u calls", MAX_CALLS);
	p->calls[nr][p->nr_calls[nr]++] = call;
	return true;
}

static bool parse_preemption(struct program *p, const char *word)
{
	struct schedule *s = &p->schedule;
	u64 at, to, least = s->nr ? s->list[s->nr - 1].at + 1ull : 0;
	const char *end;

	if (!parse_number(word, least, UINT32_MAX, &at, &end) || *end != '>')
		return refuse(word, "before > comes the number of a point, from %lu on", least);
	if (!parse_number(end + 1, 0, p->nr_threads - 1, &to, &end) || *end)
		return refuse(word, "behind > comes the number of a thread, 0 to %u",
			      p->nr_threads - 1);
	if (s->nr == MAX_PREEMPTIONS)
		return refuse(word, "a program has at most %u preemptions", MAX_PREEMPTIONS);
	s->list[s->nr++] = (struct preemption){ (u32)at, (u8)to };
	return true;
}

static bool parse_failing(struct program *p, const char *word)
{
	const char *end;
	u64 n;

	if (!parse_number(word + 1, 1, UINT32_MAX, &n, &end) || *end)
		return refuse(word, "behind # comes the number of an allocation, from 1 on");
	p->failing = (unsigned)n;
	return true;
}

static bool parse_word(struct program *p, const char *word)
{
	if (!strcmp(word, "@"))
		return true;
	if (!strcmp(word, "/"))
		return p->nr_threads++ < NR_FIBERS ||
		       refuse(word, "a program has at most %u threads", NR_FIBERS);
	if (*word == '#')
		return parse_failing(p, word);
	return strchr(word, '>') ? parse_preemption(p, word) : parse_call(p, word);
}

bool program_parse(struct program *p, const char *text)
{
	char *copy = strdup(text);
	bool good = true;

	*p = (struct program){ .object = p->object, .nr_threads = 1 };
	for (char *word = strtok(copy, " "); word && good; word = strtok(NULL, " "))
		good = parse_word(p, word);
	free(copy);
	return good;
}
