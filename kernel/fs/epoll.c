/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * epoll: a set of watched files, and the list of those that may have become ready.
 *
 * Each watch (struct epoll_item) sits in the wait queues of its file with a notify function. A
 * wakeup of such a queue puts the watch on the set's ready list. epoll_wait() takes watches from
 * that list, polls their files, and reports what it finds: the list says where to look, the poll
 * says what is there. A level-triggered watch that reported something goes back to the list. An
 * edge-triggered watch waits for the next wakeup. A one-shot watch is silent until it is modified.
 *
 * A watch counts no reference to its file: the last file_put() calls epoll_forget(). Both ends of a
 * watch are guarded by watch_lock, so each end finds the other alive.
 *
 * Locking: watch_lock guards the lists of watches. set->lock guards their settings, and is held
 * while events are collected. set->ready_lock guards the ready list; it nests inside the lock of
 * any wait queue, because notify functions take it, also in interrupts.
 * Order: watch_lock, set->lock, a wait queue's lock, set->ready_lock.
 */
#include "kernel/fs/epoll.h"

#include "kernel/contract.h"
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/task/account.h"
#include "kernel/task/thread.h"
#include "kernel/time/time.h"

#define ALWAYS_REPORTED (POLLERR | POLLHUP)
/* All that may be asked for with EPOLLEXCLUSIVE. */
#define EXCLUSIVE_EVENTS                                                                           \
	(POLLIN | POLLOUT | ALWAYS_REPORTED | EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLET)
#define SETTINGS (EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLONESHOT | EPOLLET)

struct epoll_set {
	struct mutex lock;
	GUARDED(watch_lock);
	struct list items;

	struct spinlock ready_lock;
	GUARDED(ready_lock, "poll, which looks again");
	struct list ready;

	struct waitq waiters, pollers;
	GUARDED(constant);
	struct account *user; /* who made it, and is charged for its watches */
};

struct epoll_item {
	GUARDED(constant);
	struct epoll_set *set;
	struct file *file;
	int fd;

	struct list link; /* set->items */
	GUARDED(watch_lock);
	struct epoll_item *next; /* file->watchers */

	struct list ready_link; /* set->ready, or the list of collect() */
	GUARDED(epoll_set->ready_lock);
	bool ready; /* on one of them */
	GUARDED(epoll_set->lock, "wakers: which events");
	struct epoll_event event;

	struct poll_entry entries[POLL_QUEUES_MAX];
	struct poll_table queues;
};

static struct mutex watch_lock = MUTEX_INIT(watch_lock);
static u64 max_user_watches;

/* Linux's default: a user's watches may fill 4 % of memory. */
static int epoll_limits_init(void)
{
	max_user_watches = page_nr_total() / 25 * PAGE_SIZE / sizeof(struct epoll_item);
	return proc_sys_add_number("fs/epoll/max_user_watches", &max_user_watches);
}
INITCALL(epoll_limits_init);

/* --- the ready list -------------------------------------------------------------------- */

static void make_ready(struct epoll_item *item)
{
	struct epoll_set *set = item->set;
	unsigned long flags = spin_lock_irqsave(&set->ready_lock);
	bool news = !item->ready;

	if (news) {
		item->ready = true;
		list_add_tail(&set->ready, &item->ready_link);
	}
	spin_unlock_irqrestore(&set->ready_lock, flags);
	waitq_wake(&set->waiters, 1);
	if (news)
		waitq_wake(&set->pollers, 0);
}

/* Called by a wait queue of a watched file, with its lock held. */
static void file_notifies(struct waiter *w)
{
	struct poll_entry *e = container_of(w, struct poll_entry, waiter);

	debug_assert(spin_is_held(&e->q->lock));
	make_ready(e->item);
}

static struct epoll_item *take_ready(struct epoll_set *set)
{
	struct epoll_item *item = NULL;
	unsigned long flags = spin_lock_irqsave(&set->ready_lock);

	if (!list_empty(&set->ready)) {
		item = list_first(&set->ready, struct epoll_item, ready_link);
		debug_assert(item->ready);
		list_del(&item->ready_link);
		item->ready = false;
	}
	spin_unlock_irqrestore(&set->ready_lock, flags);
	return item;
}

/* Put @item back, unless a wakeup was faster. A thread may have found the list empty meanwhile. */
static void put_back(struct epoll_item *item)
{
	struct epoll_set *set = item->set;
	unsigned long flags = spin_lock_irqsave(&set->ready_lock);

	if (!item->ready) {
		item->ready = true;
		list_add_tail(&set->ready, &item->ready_link);
	}
	spin_unlock_irqrestore(&set->ready_lock, flags);
	waitq_wake(&set->waiters, 1);
}

/* Without ready_lock it may be out of date. */
static __racy bool any_ready(const struct epoll_set *set)
{
	return set->ready.next != &set->ready;
}

/* Returns the wanted events that the file of @item has now. set->lock held. */
static u32 events_of(struct epoll_item *item)
{
	u32 wanted = item->event.events & ~SETTINGS;

	assert(mutex_is_held(&item->set->lock));
	if (!wanted) /* a one-shot that has reported */
		return 0;
	return item->file->ops->poll(item->file, NULL) & wanted;
}

/* --- watches ---------------------------------------------------------------------------- */

static struct epoll_item *find_item(struct epoll_set *set, struct file *f, int fd)
{
	assert(mutex_is_held(&watch_lock));
	for (struct epoll_item *i = f->watchers; i; i = i->next)
		if (i->set == set && i->fd == fd)
			return i;
	return NULL;
}

/* Report what is there already. set->lock held. */
static void look_now(struct epoll_item *item)
{
	debug_assert(mutex_is_held(&item->set->lock));
	if (events_of(item))
		make_ready(item);
}

static long add_item(struct epoll_set *set, struct file *f, int fd, const struct epoll_event *event)
{
	struct epoll_item *item;

	debug_assert(mutex_is_held(&watch_lock));
	if (!account_charge(set->user, RES_WATCHES, 1, READ_ONCE(max_user_watches)))
		return -ENOSPC;
	item = kzalloc(sizeof(*item));
	if (!item) {
		account_give(set->user, RES_WATCHES, 1);
		return -ENOMEM;
	}
	*item = (struct epoll_item){ .set = set, .file = f, .fd = fd, .event = *event };
	item->event.events |= ALWAYS_REPORTED;
	item->queues = (struct poll_table){ .max = POLL_QUEUES_MAX,
					    .entries = item->entries,
					    .notify = file_notifies };
	for (unsigned i = 0; i < POLL_QUEUES_MAX; i++)
		item->entries[i].item = item;
	list_init(&item->ready_link);
	mutex_lock(&set->lock);
	list_add_tail(&set->items, &item->link);
	item->next = f->watchers;
	WRITE_ONCE(f->watchers, item);
	f->ops->poll(f, &item->queues);
	assert(!item->queues.full);
	look_now(item);
	mutex_unlock(&set->lock);
	return 0;
}

/* End the watch and free it. watch_lock held. */
static void remove_item(struct epoll_item *item)
{
	struct epoll_set *set = item->set;
	struct epoll_item **at = &item->file->watchers;

	assert(mutex_is_held(&watch_lock));
	for (unsigned i = 0; i < item->queues.nr; i++)
		waitq_unwatch(item->entries[i].q, &item->entries[i].waiter);
	mutex_lock(&set->lock); /* nobody collects it */
	unsigned long flags = spin_lock_irqsave(&set->ready_lock);
	list_del(&item->ready_link);
	spin_unlock_irqrestore(&set->ready_lock, flags);
	list_del(&item->link);
	while (*at != item)
		at = &(*at)->next;
	WRITE_ONCE(*at, item->next);
	mutex_unlock(&set->lock);
	account_give(set->user, RES_WATCHES, 1);
	kfree(item);
}

static void modify_item(struct epoll_item *item, const struct epoll_event *event)
{
	debug_assert(mutex_is_held(&watch_lock));
	mutex_lock(&item->set->lock);
	item->event = *event;
	item->event.events |= ALWAYS_REPORTED;
	look_now(item);
	mutex_unlock(&item->set->lock);
}

void epoll_forget(struct file *f)
{
	might_sleep();
	mutex_lock(&watch_lock);
	while (f->watchers)
		remove_item(f->watchers);
	mutex_unlock(&watch_lock);
}

/* --- the set as a file -------------------------------------------------------------------- */

static void epoll_release(struct file *f)
{
	struct epoll_set *set = f->private;
	struct epoll_item *item, *next;

	mutex_lock(&watch_lock);
	list_for_each_safe(item, next, &set->items, link)
		remove_item(item);
	mutex_unlock(&watch_lock);
	debug_assert(list_empty(&set->ready) && list_empty(&set->waiters.waiters));
	account_put(set->user);
	kfree(set);
}

/*
 * Drop from the front of the ready list what is no longer ready. While somebody collects, the list
 * is right soon: what is on it counts as ready.
 */
static unsigned epoll_poll(struct file *f, struct poll_table *pt)
{
	struct epoll_set *set = f->private;
	struct epoll_item *item;
	bool ready = false;

	poll_wait(&set->pollers, pt);
	if (!mutex_trylock(&set->lock))
		return any_ready(set) ? POLLIN | POLLRDNORM : 0;
	while (!ready && (item = take_ready(set)))
		ready = events_of(item);
	if (ready)
		put_back(item);
	mutex_unlock(&set->lock);
	return ready ? POLLIN | POLLRDNORM : 0;
}

static const struct file_ops epoll_ops = {
	.poll = epoll_poll,
	.llseek = seek_nowhere,
	.release = epoll_release,
};

struct file *epoll_open(void)
{
	struct epoll_set *set = kzalloc(sizeof(*set));
	struct file *f = set ? file_nameless(&epoll_ops, set, O_RDWR) : NULL;

	if (!f) {
		kfree(set);
		return NULL;
	}
	mutex_init(&set->lock, "epoll set");
	spin_lock_init(&set->ready_lock, "epoll ready");
	waitq_init(&set->waiters, "epoll waiters");
	waitq_init(&set->pollers, "epoll pollers");
	list_init(&set->items);
	list_init(&set->ready);
	set->user = account_get(current->account);
	return f;
}

static struct epoll_set *set_of(struct file *f)
{
	return f->ops == &epoll_ops ? f->private : NULL;
}

static long control_locked(struct epoll_set *set, int op, struct file *f, int fd,
			   const struct epoll_event *event)
{
	struct epoll_item *item = find_item(set, f, fd);

	debug_assert(mutex_is_held(&watch_lock));
	switch (op) {
	case EPOLL_CTL_ADD:
		return item ? -EEXIST : add_item(set, f, fd, event);
	case EPOLL_CTL_DEL:
		if (item)
			remove_item(item);
		return item ? 0 : -ENOENT;
	case EPOLL_CTL_MOD:
		if (item && item->event.events & EPOLLEXCLUSIVE)
			return -EINVAL;
		if (item)
			modify_item(item, event);
		return item ? 0 : -ENOENT;
	default:
		return -EINVAL;
	}
}

/* May @op have @events for @f? EPOLLEXCLUSIVE excludes some, and cannot be modified. */
static bool events_fit(int op, struct file *f, u32 events)
{
	if (op == EPOLL_CTL_DEL || !(events & EPOLLEXCLUSIVE))
		return true;
	return op == EPOLL_CTL_ADD && !set_of(f) && !(events & ~EXCLUSIVE_EVENTS);
}

long epoll_control(struct file *f_set, int op, struct file *f, int fd,
		   const struct epoll_event *event)
{
	struct epoll_set *set = set_of(f_set);
	long ret;

	if (!f->ops->poll)
		return -EPERM;
	if (!set || f == f_set || !events_fit(op, f, event->events))
		return -EINVAL;
	if (set_of(f))
		return -ELOOP;
	mutex_lock(&watch_lock);
	ret = control_locked(set, op, f, fd, event);
	mutex_unlock(&watch_lock);
	return ret;
}

/* --- waiting ------------------------------------------------------------------------------ */

/* After a report: does @item stay on the ready list? set->lock held. */
static bool reported(struct epoll_item *item)
{
	debug_assert(mutex_is_held(&item->set->lock));
	if (item->event.events & EPOLLONESHOT) {
		item->event.events &= SETTINGS;
		return false;
	}
	return !(item->event.events & EPOLLET);
}

/* Take up to @max events. Returns their number, or -EFAULT if there is none. set->lock held. */
static long collect(struct epoll_set *set, struct epoll_event *user, unsigned max)
{
	struct list again = LIST_INIT(again);
	struct epoll_item *item, *next;
	unsigned nr = 0;
	bool fault = false;

	assert(mutex_is_held(&set->lock));
	while (nr < max && !fault && (item = take_ready(set))) {
		struct epoll_event event = { events_of(item), item->event.data };

		if (!event.events)
			continue;
		fault = arch_copy_to_user(&user[nr], &event, sizeof(event));
		nr += !fault;
		if (!fault && !reported(item))
			continue;
		unsigned long flags = spin_lock_irqsave(&set->ready_lock);
		if (!item->ready) { /* on our list until all have been seen once */
			item->ready = true;
			list_add_tail(&again, &item->ready_link);
		}
		spin_unlock_irqrestore(&set->ready_lock, flags);
	}
	unsigned long flags = spin_lock_irqsave(&set->ready_lock);
	list_for_each_safe(item, next, &again, ready_link) {
		list_del(&item->ready_link);
		list_add_tail(&set->ready, &item->ready_link);
	}
	spin_unlock_irqrestore(&set->ready_lock, flags);
	return nr || !fault ? (long)nr : -EFAULT;
}

static long collect_and_pass_on(struct epoll_set *set, struct epoll_event *user, unsigned max)
{
	long ret;

	mutex_lock(&set->lock);
	ret = collect(set, user, max);
	mutex_unlock(&set->lock);
	if (ret && any_ready(set)) { /* others may have seen the list while it was empty */
		waitq_wake(&set->waiters, 1);
		waitq_wake(&set->pollers, 0);
	}
	return ret;
}

/* Sleep until something may be ready: 0, -EINTR or -ETIMEDOUT. */
static long sleep_once(struct epoll_set *set, u64 deadline_ns)
{
	struct waiter w = { .thread = current, .exclusive = true };
	long ret = 0;

	debug_assert(may_sleep());
	list_init(&w.link);
	waitq_prepare(&set->waiters, &w, TASK_INTERRUPTIBLE);
	if (!any_ready(set)) {
		if (signal_pending())
			ret = -EINTR;
		else if (!schedule_until(deadline_ns))
			ret = -ETIMEDOUT;
	}
	waitq_finish(&set->waiters, &w);
	return ret;
}

long epoll_wait_until(struct file *f, struct epoll_event *user, unsigned max, u64 deadline_ns)
{
	struct epoll_set *set = set_of(f);
	long ret, slept = 0;

	if (!set)
		return -EINVAL;
	for (;;) {
		bool last = slept || (deadline_ns && clock_ns() >= deadline_ns);

		/* The list may be empty because others look at it: a last look waits for them. */
		if (last || any_ready(set)) {
			ret = collect_and_pass_on(set, user, max);
			if (ret)
				return ret;
		}
		if (last)
			return slept == -EINTR ? slept : 0;
		slept = sleep_once(set, deadline_ns);
	}
}
