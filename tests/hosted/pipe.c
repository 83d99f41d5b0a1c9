/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pipes and sockets' halves (kernel/fs/pipe.c). The model is a queue of bytes with a limit. Its
 * rules are those of pipe(7): a write of at most PIPE_BUF bytes is all or nothing; it sleeps while
 * there is no room for it; poll and wakeups go by room for PIPE_BUF.
 */
#include "kernel/fs/pipe.h"
#include "kernel/task/account.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { PAGES = 2, MOST_PAGES = 8, LIMIT = MOST_PAGES * 4096 };

enum op {
	OP_READ,
	OP_WRITE,
	OP_TRY_READ,
	OP_TRY_WRITE,
	OP_RESIZE,
	OP_POLL,
	OP_STOP_READ,
	OP_STOP_WRITE
};
static const char *const op_names[] = { "read", "write",     "try_read",   "try_write", "resize",
					"poll", "stop_read", "stop_write", NULL };

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

static struct call draw(struct prng *random, bool alone)
{
	static const u32 sizes[] = { 1, 100, 4095, 4096, 4000, 2, 8192, 8191, 12288, 5000 };
	static const u8 often[] = { OP_READ,	 OP_READ,      OP_WRITE,     OP_WRITE,
				    OP_TRY_READ, OP_TRY_WRITE, OP_TRY_WRITE, OP_RESIZE,
				    OP_POLL,	 OP_STOP_READ, OP_STOP_WRITE };
	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often))] };

	/* A longer write is not one, and beside others a longer read is not. */
	call.n = sizes[prng_below(random, alone ? ARRAY_SIZE(sizes) : 6)];
	if (call.op == OP_WRITE)
		call.n = min(call.n, PIPE_BUF);
	/* It looks at one thing after the other. */
	if (call.op == OP_POLL && !alone)
		call.op = OP_READ;
	if (call.op == OP_RESIZE)
		call.n = 4096u << prng_below(random, 4);
	if (call.op <= OP_TRY_WRITE && !prng_below(random, 6))
		call.how = 1 + (u8)prng_below(random, 2);
	return call;
}

static u8 byte_of(unsigned id, u32 i)
{
	return (u8)((id + 1) * 37 + i * 11 + i / 256);
}

static u64 add_byte(u64 digest, u8 byte)
{
	return (digest ^ byte) * 0x100000001b3;
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
		buffer[i] = byte_of(id, i);
	return pipe_put(p, buffer, call->n, flags | PIPE_NOSIGNAL);
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
		for (long i = 0; i < answer.value; i++)
			answer.digest = add_byte(answer.digest, buffer[i]);
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	u32 limit, used, readers, writers;
	u8 ends[NR_FIBERS];
	u8 queue[LIMIT];
};

static void model_create(void *model, unsigned nr_threads)
{
	struct model *m = model;

	memset(m, 0, sizeof(*m));
	m->limit = PAGES * 4096;
	m->readers = m->writers = nr_threads;
	memset(m->ends, FILE_READ | FILE_WRITE, sizeof(m->ends));
}

static enum model_says model_read(struct model *m, const struct call *call, struct answer *a)
{
	u32 n = min(call->n, m->used);

	a->value = 0;
	a->digest = 0;
	if (!n && !m->writers)
		return ENDS;
	if (!n && call->op == OP_READ)
		return MUST_SLEEP;
	a->value = n ? (long)n : -EAGAIN;
	if (n && call->how == USER_BAD && n > call->n / 2) {
		/* Whole pieces before the bad address are taken. */
		n = call->n / 2 / PIPE_BUF * PIPE_BUF;
		a->value = n ? (long)n : -EFAULT;
	}
	for (u32 i = 0; i < n; i++)
		a->digest = add_byte(a->digest, m->queue[i]);
	m->used -= n;
	memmove(m->queue, m->queue + n, m->used);
	return ENDS;
}

static enum model_says model_write(struct model *m, unsigned id, const struct call *call,
				   struct answer *a)
{
	u32 done = 0, most = a->failed && a->value > 0 ? (u32)a->value : call->n;

	a->value = 0;
	while (done < most) {
		u32 piece = min(most - done, PIPE_BUF);

		if (!m->readers)
			a->value = -EPIPE;
		else if (m->limit < m->used + piece)
			a->value = -EAGAIN;
		else if (call->how == USER_BAD && done + piece > call->n / 2)
			a->value = -EFAULT;
		else
			a->value = 0;
		if (a->value)
			break;
		for (u32 i = 0; i < piece; i++)
			m->queue[m->used++] = byte_of(id, done + i);
		done += piece;
	}
	if (call->op == OP_WRITE && a->value == -EAGAIN)
		return MUST_SLEEP;
	if (done)
		a->value = done;
	/* A writer that slept goes on when there is room for PIPE_BUF. */
	return call->op == OP_WRITE && m->limit - m->used + done < PIPE_BUF ? MAY_SLEEP : ENDS;
}

/* Bytes lie in pages, and those in use need not begin at the beginning of one. */
static void model_resize(struct model *m, const struct call *call, struct answer *a)
{
	bool may_be_busy = (m->used + 4094) / 4096 + 1 > call->n / 4096;

	if (m->used > call->n)
		a->value = -EBUSY;
	else if (a->value != -EBUSY || !may_be_busy)
		a->value = call->n;
	if (a->value > 0)
		m->limit = call->n;
}

static long model_poll(const struct model *m)
{
	return (m->used ? POLLIN | POLLRDNORM : 0) | (m->writers ? 0 : POLLHUP) |
	       (m->limit - m->used >= PIPE_BUF ? POLLOUT | POLLWRNORM : 0) |
	       (m->readers ? 0 : POLLERR);
}

static void model_stop(struct model *m, unsigned nr, u8 end)
{
	m->ends[nr] &= (u8)~end;
	m->readers -= end == FILE_READ;
	m->writers -= end == FILE_WRITE;
	if (!m->readers && !m->writers)
		m->used = 0;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	u8 end = end_of(call->op);

	switch ((enum op)call->op) {
	case OP_RESIZE:
		model_resize(m, call, a);
		return ENDS;
	case OP_POLL:
		a->value = model_poll(m);
		return ENDS;
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
	} else if (end == FILE_READ) {
		return model_read(m, call, a);
	} else {
		return model_write(m, id, call, a);
	}
	return ENDS;
}

DEFINE_OBJECT(pipe);
