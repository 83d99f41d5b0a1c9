/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters with a descriptor (kernel/fs/eventfd.c): a plain one and a semaphore. The model is two
 * numbers. A read that meets a bad address has taken what it cannot give, as on Linux.
 */
#include "kernel/fs/event.h"
#include "kernel/fs/poll.h"
#include "kernel/fs/vfs.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { PLAIN, SEMAPHORE, NR_COUNTERS };
#define MOST (UINT64_MAX - 1)

/* The number of a call says which counter, and of a write how much it adds. */
enum op { OP_READ, OP_TRY_READ, OP_WRITE, OP_TRY_WRITE, OP_POLL };
static const char *const op_names[] = { "read", "try_read", "write", "try_write", "poll", NULL };
static const u64 amounts[] = { 1, 2, MOST, MOST - 1, 0, UINT64_MAX };

static unsigned counter_of(const struct call *call)
{
	return call->n % NR_COUNTERS;
}

static u64 amount_of(const struct call *call)
{
	return amounts[call->n / NR_COUNTERS % ARRAY_SIZE(amounts)];
}

struct counters {
	struct file *file[NR_COUNTERS];
};

static void destroy(void *object)
{
	struct counters *o = object;

	for (unsigned i = 0; i < NR_COUNTERS; i++)
		if (o->file[i])
			file_put(o->file[i]);
	free(o);
}

static void *create(unsigned nr_threads)
{
	struct counters *o = calloc(1, sizeof(*o));

	(void)nr_threads;
	o->file[PLAIN] = eventfd_open(0, false, 0);
	o->file[SEMAPHORE] = eventfd_open(2, true, 0);
	if (o->file[PLAIN] && o->file[SEMAPHORE])
		return o;
	destroy(o);
	return NULL;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_READ... OP_POLL] = { 0, NR_COUNTERS *ARRAY_SIZE(amounts) - 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { OP_READ,  OP_READ,	OP_TRY_READ,  OP_WRITE,
				    OP_WRITE, OP_WRITE, OP_TRY_WRITE, OP_POLL };
	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often))] };

	call.n = prng_below(random, NR_COUNTERS * ARRAY_SIZE(amounts));
	/* Those beside each other use one counter, and amounts that matter. */
	if (!alone)
		call.n = prng_below(random, 4) * NR_COUNTERS + !prng_below(random, 4);
	if (!prng_below(random, 6))
		call.how = 1 + (u8)prng_below(random, 2);
	return call;
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	const struct counters *o = object;
	struct file f = *o->file[counter_of(call)]; /* with flags of its own */
	struct answer answer = { 0 };
	u64 word = 0, pos = 0;

	(void)nr;
	(void)id;
	user_memory_is(call->how, 0);
	f.flags |= call->op == OP_TRY_READ || call->op == OP_TRY_WRITE ? O_NONBLOCK : 0;
	if (call->op == OP_POLL) {
		answer.value = f.ops->poll(&f, NULL);
	} else if (call->op <= OP_TRY_READ) {
		answer.value = f.ops->read(&f, &word, sizeof(word), &pos);
		answer.digest = word;
	} else {
		word = amount_of(call);
		answer.value = f.ops->write(&f, &word, sizeof(word), &pos);
	}
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	u64 count[NR_COUNTERS];
};

static void model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	*(struct model *)model = (struct model){ { 0, 2 } };
}

static enum model_says model_read(u64 *count, const struct call *call, struct answer *a)
{
	u64 taken = counter_of(call) == SEMAPHORE ? min(*count, 1ull) : *count;

	a->digest = 0;
	a->value = -EAGAIN;
	if (!taken)
		return call->op == OP_READ ? MUST_SLEEP : ENDS;
	*count -= taken;
	a->value = -EFAULT;
	if (call->how == USER_BAD)
		return ENDS;
	a->value = sizeof(taken);
	a->digest = taken;
	return ENDS;
}

static enum model_says model_write(u64 *count, const struct call *call, struct answer *a)
{
	u64 added = amount_of(call);

	a->value = call->how == USER_BAD ? -EFAULT : -EINVAL;
	if (call->how == USER_BAD || added > MOST)
		return ENDS;
	a->value = -EAGAIN;
	if (added > MOST - *count)
		return call->op == OP_WRITE ? MUST_SLEEP : ENDS;
	*count += added;
	a->value = sizeof(added);
	return ENDS;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	u64 *count = &((struct model *)model)->count[counter_of(call)];

	(void)nr;
	(void)id;
	if (call->op == OP_POLL) {
		a->value = (*count ? POLLIN | POLLRDNORM : 0) |
			   (*count < MOST ? POLLOUT | POLLWRNORM : 0);
		return ENDS;
	}
	return call->op <= OP_TRY_READ ? model_read(count, call, a) : model_write(count, call, a);
}

DEFINE_OBJECT(eventfd, "*(struct eventfd *)((struct counters *)object)->file[0]->private; "
		       "*(struct eventfd *)((struct counters *)object)->file[1]->private");
