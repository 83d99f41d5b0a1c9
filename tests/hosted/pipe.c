/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pipes (kernel/fs/pipe.c). The model is a queue of bytes with a limit, and how many read and
 * write.
 */
#include "kernel/fs/pipe.h"
#include "kernel/fs/poll.h"
#include "kernel/task/account.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"
#include "queue.h"

enum { PAGES = 2, MOST = 12288 /* bytes of a call */ };

enum op {
	OP_READ,
	OP_WRITE,
	OP_TRY_READ,
	OP_TRY_WRITE,
	OP_RESIZE,
	OP_POLL,
	OP_STOP_READ,
	OP_STOP_WRITE,
	OP_WAIT_IN
};
static const char *const op_names[] = { "read", "write",     "try_read",   "try_write", "resize",
					"poll", "stop_read", "stop_write", "wait_in",	NULL };

struct pipe_and_ends {
	struct pipe *pipe;
	u8 ends[NR_FIBERS]; /* FILE_READ, FILE_WRITE: those that the thread has open */
};

static void *create(unsigned nr_threads)
{
	struct pipe_and_ends *o = calloc(1, sizeof(*o));

	o->pipe = pipe_create(PAGES);
	for (unsigned i = 0; o->pipe && i < nr_threads; i++) {
		o->ends[i] = FILE_READ | FILE_WRITE;
		pipe_attach(o->pipe, o->ends[i]);
	}
	if (o->pipe)
		return o;
	free(o);
	return NULL;
}

static void destroy(void *object)
{
	struct pipe_and_ends *o = object;

	for (unsigned i = 0; i < NR_FIBERS; i++)
		if (o->ends[i])
			pipe_detach(o->pipe, o->ends[i]);
	pipe_free(o->pipe);
	free(o);
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_READ] = { 1, MOST },
	[OP_WRITE] = { 1, PIPE_BUF },
	[OP_TRY_READ... OP_TRY_WRITE] = { 1, MOST },
	[OP_RESIZE] = { 4096, 4 * 4096 },
	[OP_POLL... OP_WAIT_IN] = { 0, MOST },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u32 sizes[] = { 1, 100, 4095, 4096, 4000, 2, 8192, 8191, MOST, 5000 };
	static const u8 often[] = { OP_READ,	 OP_READ,      OP_WRITE,      OP_WRITE,
				    OP_TRY_READ, OP_TRY_WRITE, OP_TRY_WRITE,  OP_RESIZE,
				    OP_POLL,	 OP_STOP_READ, OP_STOP_WRITE, OP_WAIT_IN };
	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often))] };

	/* A longer write is not one, and beside others a longer read is not. */
	call.n = sizes[prng_below(random, alone ? ARRAY_SIZE(sizes) : 6)];
	if (call.op == OP_WRITE)
		call.n = min(call.n, PIPE_BUF);
	/* It looks at one thing after the other. */
	if (call.op == OP_POLL && !alone)
		call.op = OP_READ;
	if (call.op == OP_RESIZE)
		call.n = 4096u << prng_below(random, 3);
	if (call.op <= OP_TRY_WRITE && !prng_below(random, 6))
		call.how = 1 + (u8)prng_below(random, 2);
	return call;
}

static u8 end_of(enum op op)
{
	return op == OP_READ || op == OP_TRY_READ || op == OP_STOP_READ ? FILE_READ : FILE_WRITE;
}

static long move(struct pipe *p, unsigned id, const struct call *call, u8 *buffer)
{
	bool try = call->op == OP_TRY_READ || call->op == OP_TRY_WRITE;
	u32 flags = try ? O_NONBLOCK : 0;

	user_memory_is(call->how, call->n / 2);
	if (end_of(call->op) == FILE_READ)
		return pipe_get(p, buffer, call->n, flags);
	for (u32 i = 0; i < call->n; i++)
		buffer[i] = queue_byte(id, i);
	return pipe_put(p, buffer, call->n, flags | PIPE_NOSIGNAL);
}

static unsigned look_in(void *pipe, struct poll_table *pt)
{
	return pipe_poll_end(pipe, FILE_READ, pt);
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct pipe_and_ends *o = object;
	struct answer answer = { 0 };
	u8 buffer[12288];

	switch ((enum op)call->op) {
	case OP_RESIZE:
		answer.value = pipe_resize(o->pipe, call->n);
		break;
	case OP_POLL:
		answer.value = pipe_poll_end(o->pipe, FILE_READ | FILE_WRITE, NULL);
		break;
	case OP_WAIT_IN:
		answer.value = wait_for_events(look_in, o->pipe, POLLIN | POLLHUP);
		break;
	default:
		if (!(o->ends[nr] & end_of(call->op))) {
			answer.value = -EBADF;
		} else if (call->op >= OP_STOP_READ) {
			o->ends[nr] &= (u8)~end_of(call->op);
			pipe_detach(o->pipe, end_of(call->op));
		} else {
			answer.value = move(o->pipe, id, call, buffer);
		}
	}
	if (end_of(call->op) == FILE_READ)
		answer.digest = queue_digest(buffer, answer.value);
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	struct byte_queue queue;
	u8 ends[NR_FIBERS];
};

static void model_create(void *model, unsigned nr_threads)
{
	struct model *m = model;

	m->queue.limit = PAGES * 4096;
	m->queue.used = 0;
	m->queue.readers = m->queue.writers = nr_threads;
	memset(m->ends, FILE_READ | FILE_WRITE, sizeof(m->ends));
}

static void model_stop(struct model *m, unsigned nr, u8 end)
{
	m->ends[nr] &= (u8)~end;
	m->queue.readers -= end == FILE_READ;
	m->queue.writers -= end == FILE_WRITE;
	if (!m->queue.readers && !m->queue.writers)
		m->queue.used = 0;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	struct byte_queue *q = &m->queue;
	u8 end = end_of(call->op);

	switch ((enum op)call->op) {
	case OP_RESIZE:
		queue_resize(q, call->n, a);
		return ENDS;
	case OP_POLL:
		a->value = queue_poll(q, FILE_READ) | queue_poll(q, FILE_WRITE);
		return ENDS;
	case OP_WAIT_IN:
		a->value = queue_poll(q, FILE_READ) & (POLLIN | POLLHUP);
		return a->value ? ENDS : MUST_SLEEP;
	default:
		break;
	}
	if (!(m->ends[nr] & end)) {
		a->value = -EBADF;
		return ENDS;
	}
	if (call->op >= OP_STOP_READ) {
		a->value = 0;
		model_stop(m, nr, end);
		return ENDS;
	}
	if (end == FILE_READ)
		return queue_read(q, call->n, call->how, call->op == OP_READ, a);
	return queue_write(q, id, call->n, call->how, call->op == OP_WRITE, a);
}

static const char *const known[] = {
	/* Full, with its first and its last bytes in one page, and then larger. */
	"try_write:8192 read:100 try_write:100 resize:16384 read:12288",
	/* Two threads read, a third writes for both, and a fourth looks whether it could read. */
	"read:1 / read:1 / write:2 / wait_in:0",
	NULL,
};

DEFINE_OBJECT(pipe, "*((struct pipe_and_ends *)object)->pipe", .known = known);
