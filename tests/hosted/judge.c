/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is there an order of the calls in which the model answers what the object did? A call that ended
 * before another began comes before it. A call that slept until a signal came is one that sleeps,
 * or may sleep, after all others (Herlihy and Wing 1990: linearizability).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "program.h"

struct search {
	const struct program *p;
	struct history *h;
	unsigned next[NR_FIBERS]; /* the first call of each thread that has no place yet */
	unsigned placed, deepest;
};

static bool has_call(const struct search *s, unsigned nr)
{
	return s->next[nr] < s->p->nr_calls[nr] && s->h->events[nr][s->next[nr]].done;
}

/* Did another call end before that one began, which has no place yet? */
static bool comes_later(const struct search *s, unsigned nr)
{
	const struct event *e = &s->h->events[nr][s->next[nr]];

	for (unsigned i = 0; i < s->p->nr_threads; i++)
		if (i != nr && has_call(s, i) && s->h->events[i][s->next[i]].ended < e->begun &&
		    !s->h->events[i][s->next[i]].slept)
			return true;
	return false;
}

static bool same(const struct answer *a, const struct answer *b)
{
	return a->value == b->value && a->digest == b->digest;
}

/* Where states.py looks at @model. */
static __noinline void disagrees(const void *model)
{
	__asm__ volatile("" : : "r"(model) : "memory");
}

static void tell(struct search *s, unsigned nr, const struct answer *right, enum model_says says,
		 const void *model)
{
	const struct event *e = &s->h->events[nr][s->next[nr]];
	const struct call *call = &s->p->calls[nr][s->next[nr]];
	char *fault = s->h->world.fault;

	if (s->placed < s->deepest && fault[0])
		return;
	s->deepest = s->placed;
	disagrees(model);
	if (e->slept)
		snprintf(fault, 200,
			 "thread %u's %s:%u slept until a signal came (%ld): right is %ld", nr,
			 s->p->object->op_names[call->op], call->n, e->answer.value, right->value);
	else if (says == MUST_SLEEP)
		snprintf(fault, 200, "thread %u's %s:%u answered %ld: right is to sleep", nr,
			 s->p->object->op_names[call->op], call->n, e->answer.value);
	else
		snprintf(fault, 200, "thread %u's %s:%u answered %ld (%lx): right is %ld (%lx)", nr,
			 s->p->object->op_names[call->op], call->n, e->answer.value,
			 e->answer.digest, right->value, right->digest);
}

/* May the next call of thread @nr answer so, by @way, in the state @model, which it changes? */
static bool explains(struct search *s, unsigned nr, u8 way, void *model)
{
	const struct event *e = &s->h->events[nr][s->next[nr]];
	struct answer answer = e->answer;
	enum model_says says;

	if (e->answer.value == -ENOMEM && e->answer.failed)
		return !way;
	answer.way = way;
	says = s->p->object->model_perform(model, nr, nr * MAX_CALLS + s->next[nr],
					   &s->p->calls[nr][s->next[nr]], &answer);
	if (says == NO_WAY)
		return false;
	if (says != ENDS && e->slept && e->answer.value == -ERESTARTSYS)
		return true;
	if (same(&answer, &e->answer) && (e->slept ? says == MAY_SLEEP : says != MUST_SLEEP))
		return true;
	tell(s, nr, &answer, says, model);
	return false;
}

static bool slept(const struct search *s, unsigned nr)
{
	return s->h->events[nr][s->next[nr]].slept;
}

/* May the next call of thread @nr be the next of all? Those that slept come last. */
static bool is_next(const struct search *s, unsigned nr)
{
	if (!has_call(s, nr) || comes_later(s, nr))
		return false;
	for (unsigned i = 0; slept(s, nr) && i < s->p->nr_threads; i++)
		if (has_call(s, i) && !slept(s, i))
			return false;
	return true;
}

/* A call that the signal ended. One that it woke may have found its condition true. */
static bool changed_nothing(const struct search *s, unsigned nr)
{
	return slept(s, nr) && s->h->events[nr][s->next[nr]].answer.value == -ERESTARTSYS;
}

static bool search(struct search *s, const void *model);

/* Is there an order that begins with the next call of thread @nr? @copy: a model's room. */
static bool goes_on(struct search *s, unsigned nr, u8 way, const void *model, void *copy)
{
	bool found;

	memcpy(copy, model, s->p->object->model_size);
	if (!explains(s, nr, way, copy))
		return false;
	const void *then = changed_nothing(s, nr) ? model : copy;

	s->next[nr]++;
	s->placed++;
	found = search(s, then);
	s->next[nr]--;
	s->placed--;
	return found;
}

static bool search(struct search *s, const void *model)
{
	void *copy = malloc(s->p->object->model_size);
	u8 last_way = s->h->world.failed ? s->p->object->last_way : 0;
	bool left = false, found = false;

	for (unsigned nr = 0; nr < s->p->nr_threads && !found; nr++) {
		left |= has_call(s, nr);
		for (u8 way = 0; is_next(s, nr) && way <= last_way && !found; way++)
			found = goes_on(s, nr, way, model, copy);
	}
	free(copy);
	return found ||
	       (!left && (!s->p->object->model_may_end || s->p->object->model_may_end(model)));
}

bool judge_history(const struct program *p, struct history *h)
{
	struct search s = { .p = p, .h = h };
	void *model = malloc(p->object->model_size);
	bool good;

	for (unsigned nr = 0; nr < p->nr_threads; nr++)
		for (unsigned i = 0; i < p->nr_calls[nr]; i++)
			h->events[nr][i].answer.failed = h->world.failed;
	p->object->model_create(model, p->nr_threads);
	good = search(&s, model);
	free(model);
	if (good)
		h->world.fault[0] = '\0';
	else if (!h->world.fault[0])
		snprintf(h->world.fault, 200, "it was answered in a state that is no end");
	return good;
}
