/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A mutex (kernel/task/mutex.c) that guards a counter: each call adds one to it, slowly, and
 * answers what was there before. The model is the counter. Two threads inside at once would answer
 * the same; a wakeup that is lost leaves a thread asleep that no signal ends.
 */
#include "kernel/sync.h"
#include "lib/errno.h"
#include "libc.h"
#include "object.h"

enum op { OP_ADD, OP_TRY_ADD };
static const char *const op_names[] = { "add", "try_add", NULL };

struct counter {
	struct mutex mutex;
	struct spinlock pause; /* taken for nothing: others may come */
	u64 n;
};

static bool alone;

static void *create(unsigned nr_threads)
{
	struct counter *c = calloc(1, sizeof(*c));

	alone = nr_threads == 1;
	mutex_init(&c->mutex, "counter");
	spin_lock_init(&c->pause, "pause");
	return c;
}

static void destroy(void *object)
{
	free(object);
}

static const struct range ranges[ARRAY_SIZE(op_names)];

static struct call draw(struct prng *random, bool one)
{
	(void)one;
	return (struct call){ .op = prng_below(random, 4) ? OP_ADD : OP_TRY_ADD };
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct counter *c = object;

	(void)nr;
	(void)id;
	if (call->op == OP_ADD)
		mutex_lock(&c->mutex);
	else if (!mutex_trylock(&c->mutex))
		return (struct answer){ .value = -EBUSY };
	u64 n = c->n;
	spin_lock(&c->pause);
	spin_unlock(&c->pause);
	c->n = n + 1;
	mutex_unlock(&c->mutex);
	return (struct answer){ .digest = n };
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	u64 n;
};

static void model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	*(struct model *)model = (struct model){ 0 };
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;

	(void)nr;
	(void)id;
	if (call->op == OP_TRY_ADD && a->value == -EBUSY && !alone)
		return ENDS;
	a->value = 0;
	a->digest = m->n++;
	return ENDS;
}

DEFINE_OBJECT(mutex, "*(struct counter *)object");
