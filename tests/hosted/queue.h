/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model for pipes and sockets: a queue of bytes with a limit. Its rules are those of pipe(7): a
 * write of at most PIPE_BUF bytes is all or nothing; it sleeps while there is no room for it; poll
 * and wakeups go by room for PIPE_BUF.
 */
#pragma once

#include "object.h"

enum { QUEUE_LIMIT = 4 * 4096 };

struct byte_queue {
	u32 limit, used, readers, writers;
	u8 bytes[QUEUE_LIMIT];
};

/* Byte @i of what the call @id writes. */
u8 queue_byte(unsigned id, u32 i);
/* The digest of @n bytes; 0 for n <= 0. */
u64 queue_digest(const u8 *bytes, long n);
/*
 * A read or a write of @n bytes, which waits if @wait. Of a user's memory that is bad the first
 * half is there. @a is as for an object's model_perform.
 */
enum model_says queue_read(struct byte_queue *q, u32 n, u8 how, bool wait, struct answer *a);
enum model_says queue_write(struct byte_queue *q, unsigned id, u32 n, u8 how, bool wait,
			    struct answer *a);
/* @a is @size, or -EBUSY. */
void queue_resize(struct byte_queue *q, u32 size, struct answer *a);
/* The events of an end, FILE_READ or FILE_WRITE. */
unsigned queue_poll(const struct byte_queue *q, unsigned end);
