/* SPDX-License-Identifier: GPL-2.0-only */
/* See queue.h. */
#include "queue.h"

#include "kernel/fs/pipe.h"
#include "lib/errno.h"
#include "lib/string.h"

u8 queue_byte(unsigned id, u32 i)
{
	return (u8)((id + 1) * 37 + i * 11 + i / 256);
}

u64 queue_digest(const u8 *bytes, long n)
{
	u64 digest = 0;

	for (long i = 0; i < n; i++)
		digest = mix(digest, bytes[i]);
	return digest;
}

enum model_says queue_read(struct byte_queue *q, u32 most, u8 how, bool wait, struct answer *a)
{
	u32 n = min(most, q->used);

	a->value = 0;
	a->digest = 0;
	if (!n && !q->writers)
		return ENDS;
	if (!n && wait)
		return MUST_SLEEP;
	a->value = n ? (long)n : -EAGAIN;
	if (n && how == USER_BAD && n > most / 2) {
		/* Whole pieces before the bad address are taken. */
		n = most / 2 / PIPE_BUF * PIPE_BUF;
		a->value = n ? (long)n : -EFAULT;
	}
	a->digest = queue_digest(q->bytes, n);
	q->used -= n;
	memmove(q->bytes, q->bytes + n, q->used);
	return ENDS;
}

enum model_says queue_write(struct byte_queue *q, unsigned id, u32 n, u8 how, bool wait,
			    struct answer *a)
{
	u32 done = 0, most = a->failed && a->value > 0 ? (u32)a->value : n;

	a->value = 0;
	while (done < most) {
		u32 piece = min(most - done, PIPE_BUF);

		if (!q->readers)
			a->value = -EPIPE;
		else if (q->limit < q->used + piece)
			a->value = -EAGAIN;
		else if (how == USER_BAD && done + piece > n / 2)
			a->value = -EFAULT;
		else
			a->value = 0;
		if (a->value)
			break;
		for (u32 i = 0; i < piece; i++)
			q->bytes[q->used++] = queue_byte(id, done + i);
		done += piece;
	}
	if (wait && a->value == -EAGAIN)
		return MUST_SLEEP;
	if (done)
		a->value = done;
	/* A writer that slept goes on when there is room for PIPE_BUF, or nobody to read. */
	return wait && q->readers && q->limit - q->used + done < PIPE_BUF ? MAY_SLEEP : ENDS;
}

/* Bytes lie in pages, and those in use need not begin at the beginning of one. */
void queue_resize(struct byte_queue *q, u32 size, struct answer *a)
{
	bool may_be_busy = (q->used + 4094) / 4096 + 1 > size / 4096;

	if (q->used > size)
		a->value = -EBUSY;
	else if (a->value != -EBUSY || !may_be_busy)
		a->value = size;
	if (a->value > 0)
		q->limit = size;
}

unsigned queue_poll(const struct byte_queue *q, unsigned end)
{
	if (end == FILE_READ)
		return (q->used ? POLLIN | POLLRDNORM : 0) | (q->writers ? 0 : POLLHUP);
	return (q->limit - q->used >= PIPE_BUF ? POLLOUT | POLLWRNORM : 0) |
	       (q->readers ? 0 : POLLERR);
}
