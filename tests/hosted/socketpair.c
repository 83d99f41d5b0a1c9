/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connected pair of sockets, by its system calls (kernel/fs/socket.c, kernel/syscall/socket.c).
 * Each thread has a descriptor of either end. The model is two queues of bytes, crossed.
 *
 * A shutdown of both directions, and the last close of an end, are two steps, on Linux as well: of
 * several threads none draws them. A receive of all that is woken may answer with less.
 */
#include "kernel/fs/pipe.h"
#include "kernel/fs/socket.h"
#include "kernel/kernel.h"
#include "kernel/syscall/syscall.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"
#include "lib/errno.h"
#include "lib/signal.h"
#include "lib/string.h"
#include "libc.h"
#include "queue.h"

enum {
	CAPACITY = 2 * 4096,
	MOST = 12288, /* bytes of a call */
	SHUT_BOTH = 2,
	FIONREAD = 0x541b,
	AF_UNIX = 1,
	SOCK_STREAM = 1,
	SOL_SOCKET = 1,
	SO_SNDBUF = 7,
	SO_RCVBUF = 8,
	MSG_DONTWAIT = 0x40,
	MSG_WAITALL = 0x100,
	MSG_NOSIGNAL = 0x4000,
};

/* The number of a call is twice how much, or which directions, and which end. */
enum op {
	OP_SEND,
	OP_TRY_SEND,
	OP_SEND_PARTS,
	OP_RECEIVE,
	OP_TRY_RECEIVE,
	OP_RECEIVE_ALL,
	OP_SHUTDOWN,
	OP_CLOSE,
	OP_RESIZE,
	OP_ROOM,
	OP_COUNT,
	OP_POLL,
	OP_PAIR
};
static const char *const op_names[] = { "send",	       "try_send",    "send_parts", "receive",
					"try_receive", "receive_all", "shutdown",   "close",
					"resize",      "room",	      "count",	    "poll",
					"pair",	       NULL };

struct sockets {
	struct proc proc;
	unsigned nr_threads;
};

static unsigned end_of(const struct call *call)
{
	return call->n % 2;
}

static u32 size_of(const struct call *call)
{
	return call->n / 2;
}

static int fd_of(unsigned nr, const struct call *call)
{
	return (int)(nr * 2 + end_of(call));
}

#define SIGPIPE_BIT	(1ull << (SIGPIPE - 1))
#define CALL(name, ...) sys_##name((const u64[]){ __VA_ARGS__ })

static void destroy(void *object)
{
	struct sockets *o = object;

	files_put(o->proc.files);
	free(o);
}

/* A second descriptor of each end for each other thread. */
static bool share_ends(unsigned nr_threads)
{
	for (int i = 2; i < (int)nr_threads * 2; i++)
		if (fd_install(fd_get(i - 2), 0, false) != i)
			return false;
	return true;
}

static long set_room(int fd, u32 size)
{
	return CALL(setsockopt, (u64)fd, SOL_SOCKET, SO_SNDBUF, (u64)&size, sizeof(size));
}

static void *create(unsigned nr_threads)
{
	struct sockets *o = calloc(1, sizeof(*o));
	int ends[2];

	o->nr_threads = nr_threads;
	if (proc_begin(&o->proc, nr_threads, nr_threads * 2) &&
	    !CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, (u64)ends) && share_ends(nr_threads) &&
	    !set_room(0, CAPACITY) && !set_room(1, CAPACITY))
		return o;
	destroy(o);
	return NULL;
}

static u32 draw_size(struct prng *random, enum op op, bool alone)
{
	static const u32 sizes[] = { 1, 100, 4095, 4096, 4000, 2, 8192, 8191, 12288, 5000 };

	/* A longer write is not one, and beside others a longer read is not. */
	u32 size = sizes[prng_below(random, alone ? ARRAY_SIZE(sizes) : 6)];

	if (op == OP_SHUTDOWN)
		return prng_below(random, alone ? SHUT_BOTH + 2 : SHUT_BOTH);
	if (op == OP_RESIZE)
		return 4096u << prng_below(random, 3);
	return op == OP_SEND || op == OP_SEND_PARTS ? min(size, PIPE_BUF) : size;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_SEND] = { 2, 2 * PIPE_BUF + 1 },
	[OP_TRY_SEND] = { 2, 2 * MOST + 1 },
	[OP_SEND_PARTS] = { 2, 2 * PIPE_BUF + 1 },
	[OP_RECEIVE... OP_RECEIVE_ALL] = { 2, 2 * MOST + 1 },
	[OP_SHUTDOWN] = { 0, 2 * SHUT_BOTH + 3 },
	[OP_CLOSE] = { 0, 2 * MOST + 1 },
	[OP_RESIZE] = { 2 * 4096, 2 * 4 * 4096 + 1 },
	[OP_ROOM... OP_PAIR] = { 0, 2 * MOST + 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { OP_SEND,	    OP_SEND,	    OP_SEND,	    OP_TRY_SEND,
				    OP_SEND_PARTS,  OP_RECEIVE,	    OP_RECEIVE,	    OP_RECEIVE,
				    OP_TRY_RECEIVE, OP_TRY_RECEIVE, OP_SHUTDOWN,    OP_RESIZE,
				    OP_COUNT,	    OP_ROOM,	    OP_RECEIVE_ALL, OP_CLOSE,
				    OP_POLL,	    OP_PAIR };
	struct call call = { .op = often[prng_below(random, alone ? 18 : 14)] };

	/* Ended once, a direction stays so. */
	if (alone && (call.op == OP_SHUTDOWN || call.op == OP_CLOSE) && prng_below(random, 4))
		call.op = OP_TRY_SEND;
	call.n = draw_size(random, call.op, alone) * 2 + prng_below(random, 2);
	if ((call.op < OP_SHUTDOWN || call.op == OP_PAIR) && !prng_below(random, 6))
		call.how = 1 + (u8)prng_below(random, 2);
	return call;
}

/* True: the call raised SIGPIPE, which is blocked. */
static bool take_signal(void)
{
	bool raised = current->pending.set & SIGPIPE_BIT;

	signal_flush(&current->pending);
	return raised;
}

static long send_parts(int fd, u8 *bytes, u32 n)
{
	const struct iovec parts[2] = { { bytes, n / 3 }, { bytes + n / 3, n - n / 3 } };
	struct fd_ref ref = fd_borrow(fd);
	long ret;

	if (!ref.file)
		return -EBADF;
	ret = ref.file->ops->writev(ref.file, parts, 2, n);
	fd_release(ref);
	return ret;
}

static struct answer send(unsigned id, int fd, const struct call *call)
{
	u32 n = size_of(call);
	struct answer answer;
	u8 bytes[MOST];

	for (u32 i = 0; i < n; i++)
		bytes[i] = queue_byte(id, i);
	current->blocked = SIGPIPE_BIT;
	user_memory_is(call->how, n / 2);
	if (call->op == OP_SEND_PARTS)
		answer.value = send_parts(fd, bytes, n);
	else
		answer.value =
			CALL(sendto, (u64)fd, (u64)bytes, n,
			     call->op == OP_TRY_SEND ? MSG_DONTWAIT | MSG_NOSIGNAL : 0, 0, 0);
	answer.digest = take_signal();
	return answer;
}

static struct answer receive(int fd, const struct call *call)
{
	u32 n = size_of(call), flags = 0;
	struct answer answer;
	u8 bytes[MOST];

	if (call->op == OP_TRY_RECEIVE)
		flags = MSG_DONTWAIT;
	else if (call->op == OP_RECEIVE_ALL)
		flags = MSG_WAITALL;
	user_memory_is(call->how, n / 2);
	answer.value = CALL(recvfrom, (u64)fd, (u64)bytes, n, flags, 0, 0);
	answer.digest = queue_digest(bytes, answer.value);
	return answer;
}

/* SO_SNDBUF, with SO_RCVBUF as digest. */
static struct answer room(int fd)
{
	u32 sent = 0, received = 0, len = sizeof(u32);
	long ret = CALL(getsockopt, (u64)fd, SOL_SOCKET, SO_SNDBUF, (u64)&sent, (u64)&len);

	if (ret || CALL(getsockopt, (u64)fd, SOL_SOCKET, SO_RCVBUF, (u64)&received, (u64)&len))
		return (struct answer){ .value = ret ? ret : -EBADF };
	return (struct answer){ .value = sent, .digest = received };
}

/* Makes another pair and closes it. */
static long make_pair(const struct call *call)
{
	int ends[2] = { -1, -1 };
	long ret;

	user_memory_is(call->how, sizeof(ends) / 2);
	ret = CALL(socketpair, AF_UNIX, SOCK_STREAM, 0, (u64)ends);
	return ret ?: fd_close(ends[0]) ?: fd_close(ends[1]);
}

static long ask(int fd, const struct call *call)
{
	struct fd_ref ref = fd_borrow(fd);
	u32 count = 0;
	long ret;

	if (!ref.file)
		return -EBADF;
	if (call->op == OP_POLL)
		ret = ref.file->ops->poll(ref.file, NULL);
	else
		ret = ref.file->ops->ioctl(ref.file, FIONREAD, (u64)&count) ?: (long)count;
	fd_release(ref);
	return ret;
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct sockets *o = object;
	struct answer answer = { 0 };
	int fd = fd_of(nr, call);

	current->proc = &o->proc;
	user_memory_is(USER_PRESENT, 0);
	if (call->op <= OP_SEND_PARTS)
		return send(id, fd, call);
	if (call->op <= OP_RECEIVE_ALL)
		return receive(fd, call);
	if (call->op == OP_ROOM)
		return room(fd);
	if (call->op == OP_SHUTDOWN)
		answer.value = CALL(shutdown, (u64)fd, size_of(call));
	else if (call->op == OP_CLOSE)
		answer.value = fd_close(fd);
	else if (call->op == OP_RESIZE)
		answer.value = set_room(fd, size_of(call));
	else if (call->op == OP_PAIR)
		answer.value = make_pair(call);
	else
		answer.value = ask(fd, call);
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	bool alone;
	struct byte_queue sent[2]; /* by which end */
	u8 nr_open[2];
	bool open[NR_FIBERS][2];
};

static void model_create(void *model, unsigned nr_threads)
{
	struct model *m = model;

	memset(m->open, 0, sizeof(m->open));
	m->alone = nr_threads == 1;
	for (unsigned end = 0; end < 2; end++) {
		m->sent[end].limit = CAPACITY;
		m->sent[end].used = 0;
		m->sent[end].readers = m->sent[end].writers = 1;
		m->nr_open[end] = (u8)nr_threads;
		for (unsigned nr = 0; nr < nr_threads; nr++)
			m->open[nr][end] = true;
	}
}

static void end_queue(struct byte_queue *q)
{
	q->readers = q->writers = 0;
}

static long model_close(struct model *m, unsigned nr, unsigned end)
{
	m->open[nr][end] = false;
	if (--m->nr_open[end])
		return 0;
	end_queue(&m->sent[end]);
	end_queue(&m->sent[!end]);
	m->sent[!end].used = 0; /* nobody can read that any more */
	return 0;
}

static long model_shutdown(struct model *m, unsigned end, u32 how)
{
	if (how > SHUT_BOTH)
		return -EINVAL;
	if (how == 0 || how == SHUT_BOTH)
		end_queue(&m->sent[!end]);
	if (how == 1 || how == SHUT_BOTH)
		end_queue(&m->sent[end]);
	return 0;
}

static long model_poll(const struct byte_queue *in, const struct byte_queue *out)
{
	bool ends = !in->writers;
	long events =
		(queue_poll(in, FILE_READ) & ~POLLHUP) | (queue_poll(out, FILE_WRITE) & ~POLLERR);

	return events | (ends ? POLLIN | POLLRDNORM | POLLRDHUP : 0) |
	       (ends && !out->readers ? POLLHUP : 0);
}

/* A sender that finds the direction ended gets a signal; one that slept when it did gets none. */
static enum model_says model_send(struct byte_queue *q, unsigned id, const struct call *call,
				  bool alone, struct answer *a)
{
	bool raises = alone || a->digest;
	enum model_says says;

	says = queue_write(q, id, size_of(call), call->how, call->op != OP_TRY_SEND, a);
	a->digest = a->value == -EPIPE && raises && call->op != OP_TRY_SEND;
	return says;
}

static enum model_says model_receive(struct byte_queue *q, const struct call *call,
				     struct answer *a)
{
	bool all = call->op == OP_RECEIVE_ALL;
	enum model_says says;

	says = queue_read(q, size_of(call), call->how, call->op != OP_TRY_RECEIVE, a);
	return all && a->value > 0 && a->value < (long)size_of(call) && q->writers ? MAY_SLEEP
										   : says;
}

/* Of SO_SNDBUF the answer is 0, and it is never less than two pages. */
static void model_resize(struct byte_queue *q, const struct call *call, struct answer *a)
{
	a->value = a->value ? a->value : 1;
	queue_resize(q, max(size_of(call), (u32)CAPACITY), a);
	a->value = min(a->value, 0l);
}

static long model_pair(const struct model *m, const struct call *call)
{
	/* Its numbers are those of what was closed. */
	if (m->open[0][0] || m->open[0][1])
		return -EMFILE;
	return call->how == USER_BAD ? -EFAULT : 0;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	unsigned end = end_of(call);
	struct byte_queue *out = &m->sent[end], *in = &m->sent[!end];

	if (call->op == OP_PAIR)
		a->value = model_pair(m, call);
	else if (!m->open[nr][end])
		*a = (struct answer){ .value = -EBADF };
	else if (call->op <= OP_SEND_PARTS)
		return model_send(out, id, call, m->alone, a);
	else if (call->op <= OP_RECEIVE_ALL)
		return model_receive(in, call, a);
	else if (call->op == OP_SHUTDOWN)
		a->value = model_shutdown(m, end, size_of(call));
	else if (call->op == OP_CLOSE)
		a->value = model_close(m, nr, end);
	else if (call->op == OP_RESIZE)
		model_resize(out, call, a);
	else if (call->op == OP_ROOM)
		*a = (struct answer){ .value = out->limit, .digest = in->limit };
	else
		a->value = call->op == OP_COUNT ? (long)in->used : model_poll(in, out);
	return ENDS;
}

/*
 * The end comes to one who waits for bytes, and to one who waits for room. A receive of all gets
 * the rest of what it asked for, and no more.
 */
static const char *const known[] = {
	"close:1 receive:200 / close:1",
	"receive:200 / shutdown:2",
	"send:8192 send:8192 send:8192 / shutdown:1",
	"send:8192 send:8192 close:1 / send:8192 close:1",
	"receive_all:200 / send:3 send:201",
	"close:0 pair:0 close:1 pair:0 pair:0!",
	NULL,
};

DEFINE_OBJECT(socketpair, "*((struct sockets *)object)->proc.files", .known = known);
