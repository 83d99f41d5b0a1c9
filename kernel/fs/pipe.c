/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The byte queue of pipes, FIFOs and socket pairs: a ring of pages between readers and writers.
 *
 * The ring is addressed by two byte counters that only grow; the page of byte b is (b / PAGE_SIZE)
 * mod nr_pages. Pages are allocated when the head first enters them. An empty ring starts again at
 * 0, so that a pipe used for short messages lives in one page.
 *
 * Data moves under the pipe's spin lock, straight between user memory and the ring, at most
 * PIPE_BUF bytes per hold. User memory that is not present makes the copy fail under the lock
 * (kernel_page_fault); then the page is faulted in without the lock and the piece is tried again.
 * The counters move only after a complete copy, so a piece is all or nothing: that is the atomicity
 * that POSIX wants for writes up to PIPE_BUF.
 *
 * WAKEUPS. A writer that finds the pipe empty wakes one reader. A reader that makes room for
 * PIPE_BUF bytes again wakes one writer. Both wakeups are "sync", since the waker is usually about
 * to sleep. Sleepers are exclusive, and one that leaves work behind wakes the next.
 */
#include "kernel/fs/pipe.h"

#include "kernel/kernel.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/task/account.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"
#include "lib/signal.h"
#include "lib/string.h"

#define MAX_PAGES 256 /* 1 MiB: Linux's pipe-max-size */
STATIC_ASSERT(PIPE_BUF >= PAGE_SIZE, "splice waits for room for PIPE_BUF bytes and puts a page");
STATIC_ASSERT(PIPE_BUF < PIPE_PAGES * PAGE_SIZE && PIPE_PAGES <= MAX_PAGES, "capacities");

static u32 room(const struct pipe *p)
{
	return pipe_capacity(p) - pipe_used(p);
}

static char **page_slot(struct pipe *p, u32 byte)
{
	return &p->pages[byte / PAGE_SIZE & (p->nr_pages - 1)];
}

struct pipe *pipe_create(unsigned nr_pages)
{
	struct pipe *p = kzalloc(sizeof(*p));

	assert(nr_pages && !(nr_pages & (nr_pages - 1)));
	if (!p)
		return NULL;
	spin_lock_init(&p->lock, "pipe");
	waitq_init(&p->readable, "pipe readable");
	waitq_init(&p->writable, "pipe writable");
	p->nr_pages = nr_pages;
	p->pages = nr_pages <= PIPE_PAGES ? p->inline_pages : kzalloc(nr_pages * sizeof(*p->pages));
	if (!p->pages) {
		kfree(p);
		return NULL;
	}
	p->user = account_get(current->account);
	return p;
}

static void free_pages(struct pipe *p, char **pages, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		if (!pages[i])
			continue;
		page_put(virt_to_phys(pages[i]));
		account_give(p->user, RES_HELD, 1);
	}
}

void pipe_free(struct pipe *p)
{
	debug_assert(list_empty(&p->readable.waiters) && list_empty(&p->writable.waiters));
	debug_assert(!p->readers && !p->writers);
	free_pages(p, p->pages, p->nr_pages);
	if (p->pages != p->inline_pages)
		kfree(p->pages);
	if (p->limited)
		account_give(p->user, RES_PIPE_PAGES, p->nr_pages);
	account_put(p->user);
	kfree(p);
}

/* --- limits of a user ------------------------------------------------------------------- */

#define FEW_PAGES 2 /* of a pipe of a user who has many: Linux's since 5.14 */

static u64 soft_limit = 16384, hard_limit; /* pages; 0: none */

static u64 limit_of(const u64 *setting)
{
	u64 limit = account_is_exempt() ? 0 : READ_ONCE(*setting);

	return limit ? limit : NO_LIMIT;
}

struct pipe *pipe_create_limited(void)
{
	struct account *user = current->account;
	bool many = !account_charge(user, RES_PIPE_PAGES, PIPE_PAGES, limit_of(&soft_limit));
	unsigned nr = many ? FEW_PAGES : PIPE_PAGES;
	struct pipe *p = NULL;

	if (many)
		account_charge(user, RES_PIPE_PAGES, nr, NO_LIMIT);
	if (account_used(user, RES_PIPE_PAGES) <= limit_of(&hard_limit))
		p = pipe_create(nr);
	if (p)
		p->limited = true;
	else
		account_give(user, RES_PIPE_PAGES, nr);
	return p;
}

static bool may_grow(struct pipe *p, u32 more)
{
	u64 limit = min(limit_of(&soft_limit), limit_of(&hard_limit));

	return !p->limited || account_charge(p->user, RES_PIPE_PAGES, more, limit);
}

static int pipe_files_init(void)
{
	return proc_sys_add_number("fs/pipe-user-pages-soft", &soft_limit)
		       ?: proc_sys_add_number("fs/pipe-user-pages-hard", &hard_limit);
}
INITCALL(pipe_files_init);

bool pipe_attach(struct pipe *p, unsigned mode)
{
	bool met;

	spin_lock(&p->lock);
	p->readers += !!(mode & FILE_READ);
	p->readers_ever += !!(mode & FILE_READ);
	p->writers += !!(mode & FILE_WRITE);
	p->writers_ever += !!(mode & FILE_WRITE);
	met = p->readers && p->writers;
	spin_unlock(&p->lock);
	waitq_wake(&p->readable, 0);
	waitq_wake(&p->writable, 0);
	return met;
}

void pipe_shut(struct pipe *p, bool discard)
{
	spin_lock(&p->lock);
	p->readers = p->writers = 0;
	if (discard)
		p->head = p->tail = 0;
	spin_unlock(&p->lock);
	waitq_wake(&p->readable, 0);
	waitq_wake(&p->writable, 0);
}

void pipe_detach(struct pipe *p, unsigned mode)
{
	spin_lock(&p->lock);
	debug_assert(p->readers >= !!(mode & FILE_READ) && p->writers >= !!(mode & FILE_WRITE));
	p->readers -= !!(mode & FILE_READ);
	p->writers -= !!(mode & FILE_WRITE);
	if (!p->readers && !p->writers)
		p->head = p->tail = 0;
	spin_unlock(&p->lock);
	waitq_wake(&p->readable, 0);
	waitq_wake(&p->writable, 0);
}

/* --- moving bytes --------------------------------------------------------------------- */

/* Resolve the fault that stopped a copy at @addr. */
static int fault_in(const void *addr, bool write)
{
	return mm_user_page(current->mm, (u64)addr, write) ? 0 : -EFAULT;
}

static __noinline u32 copy_out_pages(struct pipe *p, u32 byte, char *user, u32 len)
{
	u32 done = 0, offset = byte % PAGE_SIZE;

	debug_assert(spin_is_held(&p->lock));
	while (done < len) {
		u32 n = min(len - done, (u32)PAGE_SIZE - offset);
		size_t left =
			arch_copy_to_user(user + done, *page_slot(p, byte + done) + offset, n);

		done += n - (u32)left;
		if (unlikely(left))
			break;
		offset = 0;
	}
	return done;
}

/*
 * Copy @len bytes from the ring at @byte to user memory. Returns the number of bytes copied, which
 * is smaller after a fault. lock held.
 */
static inline u32 copy_out(struct pipe *p, u32 byte, char *user, u32 len)
{
	u32 offset = byte % PAGE_SIZE;

	debug_assert(spin_is_held(&p->lock));
	if (likely(offset + len <= PAGE_SIZE))
		return len - (u32)arch_copy_to_user(user, *page_slot(p, byte) + offset, len);
	return copy_out_pages(p, byte, user, len);
}

static char *add_page(struct pipe *p, char **slot)
{
	u64 pa = account_may_hoard() ? page_alloc_user() : 0;

	if (pa)
		account_charge(p->user, RES_HELD, 1, NO_LIMIT);
	return *slot = pa ? phys_to_virt(pa) : NULL;
}

char *pipe_page(struct pipe *p, u32 at)
{
	char **slot = page_slot(p, at);

	debug_assert(spin_is_held(&p->lock));
	return *slot ? *slot : add_page(p, slot);
}

static __noinline long copy_in_pages(struct pipe *p, u32 byte, const char *user, u32 len)
{
	u32 done = 0, offset = byte % PAGE_SIZE;

	debug_assert(spin_is_held(&p->lock));
	while (done < len) {
		u32 n = min(len - done, (u32)PAGE_SIZE - offset);
		char *page = pipe_page(p, byte + done);
		size_t left;

		if (unlikely(!page))
			return -ENOMEM;
		left = arch_copy_from_user(page + offset, user + done, n);
		done += n - (u32)left;
		if (unlikely(left))
			break;
		offset = 0;
	}
	return done;
}

/*
 * Copy from user memory into the ring. Returns as copy_out(), or -ENOMEM for lack of a ring page.
 * lock held.
 */
static inline long copy_in(struct pipe *p, u32 byte, const char *user, u32 len)
{
	u32 offset = byte % PAGE_SIZE;
	char *page = *page_slot(p, byte);

	debug_assert(spin_is_held(&p->lock));
	if (likely(page && offset + len <= PAGE_SIZE))
		return len - (u32)arch_copy_from_user(page + offset, user, len);
	return copy_in_pages(p, byte, user, len);
}

/* Sleep once on @q unless @ready. 0 (the caller looks again) or -ERESTARTSYS. */
static __noinline long pipe_sleep(struct pipe *p, struct waitq *q,
				  bool (*ready)(const struct pipe *p))
{
	struct waiter w = { .thread = current, .exclusive = true };
	long err = 0;

	list_init(&w.link);
	waitq_prepare(q, &w, TASK_INTERRUPTIBLE);
	if (!ready(p)) {
		if (signal_pending())
			err = -ERESTARTSYS;
		else
			schedule();
	}
	waitq_finish(q, &w);
	if (err && ready(p)) /* the wakeup may have been meant for us: pass it on */
		waitq_wake(q, 1);
	return err;
}

static bool ready_to_read(const struct pipe *p)
{
	return pipe_used(p) || !READ_ONCE(p->writers);
}

static bool ready_to_write(const struct pipe *p)
{
	return room(p) >= PIPE_BUF || !READ_ONCE(p->readers);
}

/*
 * A call that was woken for what it then does not do lets the next sleeper of @q look. Returns
 * @err.
 */
static __noinline long pass_on(struct waitq *q, long err)
{
	waitq_pass_on(q);
	return err;
}

/* Take at most PIPE_BUF bytes. Returns how many, 0 if the pipe is empty, or -EFAULT. */
static long get_piece(struct pipe *p, char *user, size_t n)
{
	u32 most = n < PIPE_BUF ? (u32)n : PIPE_BUF, len, done, used, full;
	bool wake_writer, wake_reader = false;

	for (;;) {
		spin_lock(&p->lock);
		used = p->head - p->tail;
		len = min(most, used);
		done = copy_out(p, p->tail, user, len);
		if (likely(done == len))
			break;
		assert(*page_slot(p, p->tail + done)); /* it was the user's page that is missing */
		spin_unlock(&p->lock);
		if (fault_in(user + done, true))
			return pass_on(&p->readable, -EFAULT);
		if (signal_fatal_pending())
			return pass_on(&p->readable, -EINTR);
	}
	full = pipe_capacity(p) - PIPE_BUF;
	wake_writer = used > full && used - len <= full;
	if (used == len) {
		p->head = p->tail = 0;
	} else {
		p->tail += len;
		wake_reader = waitq_is_awaited(&p->readable);
	}
	spin_unlock(&p->lock);
	if (unlikely(wake_writer))
		waitq_wake_sync(&p->writable, 1);
	if (unlikely(wake_reader))
		waitq_pass_on(&p->readable);
	return len;
}

/* Wait until there is something to read. 0 to look again, 1 at the end of the file, or -errno. */
static __noinline long wait_readable(struct pipe *p, u32 flags)
{
	if (!READ_ONCE(p->writers) && !pipe_used(p))
		return 1;
	return flags & O_NONBLOCK ? -EAGAIN : pipe_sleep(p, &p->readable, ready_to_read);
}

long pipe_get(struct pipe *p, void *user_buf, size_t n, u32 flags)
{
	size_t done = 0;
	long ret;

	while (done < n) {
		ret = pipe_used(p) ? get_piece(p, (char *)user_buf + done, n - done) : 0;
		if (likely(ret > 0)) {
			done += (size_t)ret;
			/* That was all there was: what comes now may follow another reader's. */
			if (ret < PIPE_BUF)
				break;
			continue;
		}
		if (done)
			break;
		if (!ret)
			ret = wait_readable(p, flags);
		if (ret)
			return ret > 0 ? 0 : ret;
	}
	return (long)done;
}

/*
 * Copy all segments to the head of the ring. Returns 0; -ENOMEM; or 1, with the user address to
 * fault in in *fault.
 */
static long copy_segments(struct pipe *p, const struct iovec *iov, unsigned nr, const void **fault)
{
	u32 at = p->head;

	debug_assert(spin_is_held(&p->lock));
	for (unsigned i = 0; i < nr; at += (u32)iov[i].len, i++) {
		long done = copy_in(p, at, iov[i].base, (u32)iov[i].len);

		if (done < 0)
			return done;
		if ((u32)done < iov[i].len) {
			*fault = (const char *)iov[i].base + done;
			return 1;
		}
	}
	return 0;
}

long pipe_broken(u32 flags)
{
	if (!(flags & PIPE_NOSIGNAL))
		signal_send_thread(current, SIGPIPE, NULL);
	return -EPIPE;
}

__noinline long pipe_wait_writable(struct pipe *p, u32 flags)
{
	return flags & O_NONBLOCK ? -EAGAIN : pipe_sleep(p, &p->writable, ready_to_write);
}

/* Put a piece of @len <= PIPE_BUF bytes, all of it or nothing. Returns @len or -errno. */
static long put_piece(struct pipe *p, const struct iovec *iov, unsigned nr, u32 len, u32 flags)
{
	const void *fault = NULL;
	bool was_empty, wake_writer;
	long err;

	debug_assert(len <= PIPE_BUF);
	for (;;) {
		spin_lock(&p->lock);
		if (unlikely(!p->readers)) {
			spin_unlock(&p->lock);
			return pipe_broken(flags);
		}
		if (likely(room(p) >= len)) {
			err = copy_segments(p, iov, nr, &fault);
			if (likely(!err))
				break;
			spin_unlock(&p->lock);
			if (err > 0)
				err = fault_in(fault, false);
			if (!err && signal_fatal_pending())
				err = -EINTR;
			if (err)
				return pass_on(&p->writable, err);
		} else {
			spin_unlock(&p->lock);
			err = pipe_wait_writable(p, flags);
		}
		if (err)
			return err;
	}
	was_empty = p->head == p->tail;
	p->head += len;
	wake_writer = waitq_is_awaited(&p->writable) && room(p) >= PIPE_BUF;
	spin_unlock(&p->lock);
	if (was_empty)
		waitq_wake_sync(&p->readable, 1);
	if (unlikely(wake_writer))
		waitq_pass_on(&p->writable);
	return len;
}

static __noinline long put_pieces(struct pipe *p, const char *user, size_t n, u32 flags)
{
	size_t done = 0;

	while (done < n) {
		u32 len = (u32)min(n - done, (size_t)PIPE_BUF);
		struct iovec iov = { (char *)user + done, len };
		long ret = put_piece(p, &iov, 1, len, flags);

		if (ret < 0)
			return done ? (long)done : ret;
		done += (size_t)ret;
		cond_resched();
	}
	return (long)done;
}

long pipe_put(struct pipe *p, const void *user_buf, size_t n, u32 flags)
{
	struct iovec iov = { (void *)user_buf, n };

	if (unlikely(n - 1 >= PIPE_BUF)) /* nothing, or more than one piece */
		return put_pieces(p, user_buf, n, flags);
	return put_piece(p, &iov, 1, (u32)n, flags);
}

long pipe_putv(struct pipe *p, const struct iovec *iov, unsigned nr, size_t total, u32 flags)
{
	size_t done = 0;

	if (total <= PIPE_BUF)
		return total ? put_piece(p, iov, nr, (u32)total, flags) : 0;
	for (unsigned i = 0; i < nr; i++) {
		long ret = pipe_put(p, iov[i].base, iov[i].len, flags);

		if (ret < 0)
			return done ? (long)done : ret;
		done += (size_t)ret;
		if ((size_t)ret < iov[i].len)
			break;
	}
	return (long)done;
}

/* --- F_SETPIPE_SZ --------------------------------------------------------------------- */

/*
 * Move the pages that hold data to the ring @pages of @nr. -EBUSY if they do not fit. A ring that
 * is nearly full may have its last bytes and its first in one page; the other ring has a page for
 * each, so the last bytes are copied to the page *@spare, which becomes NULL. lock held.
 */
static int move_pages(struct pipe *p, char **pages, unsigned nr, char **spare)
{
	u32 first = p->tail / PAGE_SIZE, last = (p->head - 1) / PAGE_SIZE;

	assert(spin_is_held(&p->lock));
	if (p->head == p->tail)
		return 0;
	if (last - first >= nr)
		return -EBUSY;
	if (last - first == p->nr_pages) {
		memcpy(*spare, *page_slot(p, last * (u32)PAGE_SIZE), (p->head - 1) % PAGE_SIZE + 1);
		pages[last & (nr - 1)] = *spare;
		*spare = NULL;
		last--;
	}
	for (u32 i = first; i <= last; i++) {
		char **slot = page_slot(p, i * (u32)PAGE_SIZE);

		pages[i & (nr - 1)] = *slot;
		*slot = NULL;
	}
	return 0;
}

/*
 * Give @p the ring *@pages of *@nr, and the caller its old one in exchange. -EBUSY, or -EPERM: the
 * user has too many. lock held.
 */
static int exchange_ring(struct pipe *p, char ***pages, unsigned *nr, char **spare)
{
	char **old = p->pages;
	unsigned old_nr = p->nr_pages;
	int err;

	debug_assert(spin_is_held(&p->lock));
	if (*nr == old_nr)
		return 0;
	if (*nr > old_nr && !may_grow(p, *nr - old_nr))
		return -EPERM;
	err = move_pages(p, *pages, *nr, spare);
	if (err)
		return err;
	if (*nr < old_nr && p->limited)
		account_give(p->user, RES_PIPE_PAGES, old_nr - *nr);
	p->pages = *pages;
	p->nr_pages = *nr;
	*pages = old;
	*nr = old_nr;
	return 0;
}

long pipe_resize(struct pipe *p, u64 size)
{
	char **pages, *spare = NULL;
	unsigned nr = 1, other_nr;
	int err;

	if (size > MAX_PAGES * PAGE_SIZE)
		return -EPERM;
	while (nr * PAGE_SIZE < size)
		nr *= 2;
	pages = kzalloc(nr * sizeof(*pages));
	if (!pages || !add_page(p, &spare)) {
		kfree(pages);
		return -ENOMEM;
	}
	other_nr = nr;
	spin_lock(&p->lock);
	err = exchange_ring(p, &pages, &other_nr, &spare);
	spin_unlock(&p->lock);
	free_pages(p, pages, other_nr);
	free_pages(p, &spare, 1);
	if (pages != p->inline_pages)
		kfree(pages);
	waitq_wake(&p->writable, 0);
	return err ? err : (long)(nr * PAGE_SIZE);
}

/* --- poll ------------------------------------------------------------------------------ */

unsigned pipe_poll_end(struct pipe *p, unsigned mode, struct poll_table *pt)
{
	unsigned events = 0;

	if (mode & FILE_READ) {
		poll_wait(&p->readable, pt);
		if (pipe_used(p))
			events |= POLLIN | POLLRDNORM;
		if (!READ_ONCE(p->writers))
			events |= POLLHUP;
	}
	if (mode & FILE_WRITE) {
		poll_wait(&p->writable, pt);
		if (room(p) >= PIPE_BUF)
			events |= POLLOUT | POLLWRNORM;
		if (!READ_ONCE(p->readers))
			events |= POLLERR;
	}
	return events;
}
