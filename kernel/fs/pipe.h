/* SPDX-License-Identifier: GPL-2.0-only */
/* The byte queue behind pipes, FIFOs and socket pairs; see pipe.c. */
#pragma once

#include "kernel/fs/vfs.h"
#include "kernel/mm/mm.h"

#define PIPE_BUF   4096u /* writes up to this size are atomic; poll reports room of this size */
#define PIPE_PAGES 16	 /* 64 KiB, Linux's default capacity */

struct pipe {
	struct spinlock lock;
	GUARDED(lock, "sleepers and poll, which look again");
	u32 head, tail; /* bytes written and read so far, wrapping */
	GUARDED(lock, "F_GETPIPE_SZ and poll: one word");
	u32 nr_pages; /* capacity, a power of two */
	GUARDED(lock, "sleepers and poll, which look again");
	u32 readers, writers; /* open ends */
	GUARDED(lock, "openers of a FIFO, which look again");
	u32 readers_ever, writers_ever; /* ends ever opened; a FIFO's opener waits for a change */
	GUARDED(inode->lock);
	u32 files; /* that have it open */
	GUARDED(constant);
	struct account *user; /* who made it, and is charged */
	bool limited;	      /* its capacity counts against the limits of the user's pipes */

	struct waitq readable, writable;
	char **pages; /* NULL until first used */
	char *inline_pages[PIPE_PAGES];
};

/* No ends yet; @nr_pages is a power of two. NULL: no memory. */
struct pipe *pipe_create(unsigned nr_pages);
/*
 * As pipe_create(), of PIPE_PAGES, or of 2 for a user who has pipe-user-pages-soft, or NULL for one
 * who has pipe-user-pages-hard.
 */
struct pipe *pipe_create_limited(void);
void pipe_free(struct pipe *p); /* all ends are closed */
/* Add the ends in @mode (FILE_READ, FILE_WRITE). True if both kinds of end are open now. */
bool pipe_attach(struct pipe *p, unsigned mode);
/* Drop ends. Once no end is left, the data is discarded. */
void pipe_detach(struct pipe *p, unsigned mode);
/*
 * Drop all ends at once: no byte enters any more. What is there can be read, and then its end;
 * @discard: it is gone.
 */
void pipe_shut(struct pipe *p, bool discard);
#define PIPE_NOSIGNAL (1u << 31) /* with O_*: a broken pipe raises no SIGPIPE */
/* As read(2), write(2) and writev(2); @flags may have O_NONBLOCK and PIPE_NOSIGNAL. */
long pipe_get(struct pipe *p, void *user_buf, size_t n, u32 flags);
long pipe_put(struct pipe *p, const void *user_buf, size_t n, u32 flags);
long pipe_putv(struct pipe *p, const struct iovec *iov, unsigned nr, size_t total, u32 flags);
/*
 * splice.c: put a page of the kernel, all of it or nothing. Returns PAGE_SIZE, -EAGAIN (no room),
 * -ENOMEM, or -EPIPE after SIGPIPE.
 */
long pipe_put_page(struct pipe *p, const void *data);
/* Wait for room for PIPE_BUF bytes. 0 to look again, -EAGAIN with O_NONBLOCK, or -ERESTARTSYS. */
long pipe_wait_writable(struct pipe *p, u32 flags);
/* For a write that no reader is left for: sends SIGPIPE, unless PIPE_NOSIGNAL; returns -EPIPE. */
long pipe_broken(u32 flags);
/* The page of byte @at of the ring, a new one if there is none; NULL: no memory. lock held. */
char *pipe_page(struct pipe *p, u32 at);
/* Bytes waiting to be read. */
static inline u32 pipe_used(const struct pipe *p)
{
	return READ_ONCE(p->head) - READ_ONCE(p->tail);
}
static inline u32 pipe_capacity(const struct pipe *p)
{
	return READ_ONCE(p->nr_pages) * (u32)PAGE_SIZE;
}
/* POLL* of an end, registered with @pt. */
unsigned pipe_poll_end(struct pipe *p, unsigned mode, struct poll_table *pt);
/* F_SETPIPE_SZ: the new capacity; -EBUSY, -ENOMEM, or -EPERM beyond a limit. */
long pipe_resize(struct pipe *p, u64 size);
/* The pipe of a pipe or FIFO descriptor; NULL for other files. */
struct pipe *pipe_of(struct file *f);
