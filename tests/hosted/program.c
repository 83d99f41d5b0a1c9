/* SPDX-License-Identifier: GPL-2.0-only */
/* See program.h. A text is "write:100 read:4096? / poll:0 @ 17>1 #2". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void program_draw(struct program *p, struct prng *random, bool alone, unsigned length)
{
	const struct object *of = p->object;

	*p = (struct program){ .object = of, .nr_threads = alone ? 1 : 2 + prng_below(random, 2) };
	for (unsigned nr = 0; nr < p->nr_threads; nr++) {
		p->nr_calls[nr] = alone ? length : 1 + prng_below(random, length);
		for (unsigned i = 0; i < p->nr_calls[nr]; i++)
			p->calls[nr][i] = of->draw(random, alone);
	}
}

bool program_draw_ops(struct program *p, struct prng *random, const u8 *ops, unsigned nr)
{
	enum { DRAWS = 1000 };

	*p = (struct program){ .object = p->object, .nr_threads = 1, .nr_calls[0] = nr };
	for (unsigned i = 0; i < nr; i++) {
		unsigned left = DRAWS;

		do
			p->calls[0][i] = p->object->draw(random, true);
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

static bool parse_call(struct program *p, const char *word)
{
	unsigned nr = p->nr_threads - 1, n;
	char name[32], how = 0;
	int fields = sscanf(word, "%31[a-z_]:%u%c", name, &n, &how);
	struct call call = { .n = n, .how = how == '?' ? USER_ABSENT : how == '!' ? USER_BAD : 0 };

	if (fields < 2 || p->nr_calls[nr] == MAX_CALLS)
		return false;
	for (const char *const *op = p->object->op_names; *op; op++, call.op++)
		if (!strcmp(*op, name)) {
			p->calls[nr][p->nr_calls[nr]++] = call;
			return true;
		}
	return false;
}

static bool parse_preemption(struct program *p, const char *word)
{
	unsigned at, to;

	if (sscanf(word, "%u>%u", &at, &to) != 2 || p->schedule.nr == MAX_PREEMPTIONS ||
	    to >= p->nr_threads)
		return false;
	p->schedule.list[p->schedule.nr++] = (struct preemption){ at, (u8)to };
	return true;
}

static bool parse_word(struct program *p, const char *word)
{
	if (!strcmp(word, "@"))
		return true;
	if (!strcmp(word, "/"))
		return ++p->nr_threads <= NR_FIBERS;
	if (*word == '#')
		return sscanf(word, "#%u", &p->failing) == 1;
	return strchr(word, '>') ? parse_preemption(p, word) : parse_call(p, word);
}

bool program_parse(struct program *p, const char *text)
{
	char *copy = strdup(text);
	bool good = true;

	*p = (struct program){ .object = p->object, .nr_threads = 1 };
	for (char *word = strtok(copy, " "); word && good; word = strtok(NULL, " ")) {
		good = parse_word(p, word);
		if (!good)
			fprintf(stderr, "hosted: \"%s\" is no call of %s's, and no preemption\n",
				word, p->object->name);
	}
	free(copy);
	return good;
}
