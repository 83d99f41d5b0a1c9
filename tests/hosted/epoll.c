/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of epoll(7) that watches two counters (kernel/fs/epoll.c). The model knows of each counter
 * what it holds, how it is watched, and whether news of it is due. A wait answers with any that it
 * may tell of. Of an edge it may tell once too often, if others run beside it: who adds to a
 * counter tells of it a moment later. Beside others a poll may be wrong: it waits for nobody.
 */
#include "kernel/fs/epoll.h"
#include "kernel/fs/event.h"
#include "kernel/fs/poll.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/proc.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { FILES = 2 };
enum mode { LEVEL, EDGE, ONE_SHOT, EXCLUSIVE, NR_MODES };

/* The number of a call: which counter, and of add and modify how; of a wait the most events. */
enum op {
	OP_ADD,
	OP_MODIFY,
	OP_DELETE,
	OP_CLOSE,
	OP_WRITE,
	OP_READ,
	OP_WAIT,
	OP_TRY_WAIT,
	OP_POLL
};
static const char *const op_names[] = { "add",	"modify", "delete",   "close", "write",
					"read", "wait",	  "try_wait", "poll",  NULL };

struct watched {
	struct file *set;
	struct proc proc; /* its descriptors are the counters */
};

static bool alone;

static unsigned file_of(const struct call *call)
{
	return call->n % FILES;
}

static enum mode mode_of(const struct call *call)
{
	return call->n / FILES % NR_MODES;
}

static void destroy(void *object)
{
	struct watched *o = object;

	files_put(o->proc.files);
	if (o->set)
		file_put(o->set);
	free(o);
}

static bool open_counter(u64 count)
{
	struct file *f = eventfd_open(count, false, O_NONBLOCK);

	return f && fd_install(f, 0, false) >= 0;
}

static void *create(unsigned nr_threads)
{
	struct watched *o = calloc(1, sizeof(*o));

	alone = nr_threads == 1;
	o->set = epoll_open();
	if (o->set && proc_begin(&o->proc, nr_threads, FILES) && open_counter(0) && open_counter(1))
		return o;
	destroy(o);
	return NULL;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_ADD... OP_READ] = { 0, FILES *NR_MODES - 1 },
	[OP_WAIT... OP_TRY_WAIT] = { 1, FILES },
	[OP_POLL] = { 0, FILES *NR_MODES - 1 },
};

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = { OP_ADD,	 OP_ADD,      OP_ADD,	   OP_MODIFY, OP_DELETE,
				    OP_CLOSE,	 OP_WRITE,    OP_WRITE,	   OP_READ,   OP_WAIT,
				    OP_TRY_WAIT, OP_TRY_WAIT, OP_TRY_WAIT, OP_POLL };
	struct call call = { .op = often[prng_below(random, one ? 14 : 13)] };

	call.n = prng_below(random, FILES * NR_MODES);
	/* Closed once, it stays so. */
	if (one && call.op == OP_CLOSE && prng_below(random, 8))
		call.op = OP_ADD;
	if (call.op == OP_WAIT || call.op == OP_TRY_WAIT) {
		/* It looks at one after the other. */
		call.n = one ? 1 + prng_below(random, 2) : 1;
		if (!prng_below(random, 6))
			call.how = 1 + (u8)prng_below(random, 2);
	}
	return call;
}

static long wait(struct watched *o, const struct call *call, u64 *seen)
{
	struct epoll_event events[FILES];
	long nr;

	user_memory_is(call->how, 0);
	nr = epoll_wait_until(o->set, events, call->n, call->op == OP_TRY_WAIT);
	for (long i = 0; i < nr; i++)
		*seen |= (events[i].events == POLLIN) << events[i].data;
	return nr == -EINTR ? -ERESTARTSYS : nr;
}

static long control(struct watched *o, struct file *f, const struct call *call)
{
	static const int ops[] = { EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL };
	static const u32 settings[] = { 0, EPOLLET, EPOLLONESHOT, EPOLLEXCLUSIVE };
	unsigned i = file_of(call);
	const struct epoll_event event = { POLLIN | settings[mode_of(call)], i };

	return epoll_control(o->set, ops[call->op], f, (int)i, &event);
}

static long use(struct watched *o, struct file *f, const struct call *call)
{
	u64 word = 1, pos = 0;

	switch ((enum op)call->op) {
	case OP_CLOSE:
		return fd_close((int)file_of(call));
	case OP_WRITE:
		return f->ops->write(f, &word, sizeof(word), &pos);
	case OP_READ:
		return f->ops->read(f, &word, sizeof(word), &pos);
	default:
		return control(o, f, call);
	}
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct watched *o = object;
	struct answer answer = { .value = -EBADF };
	struct file *f;

	(void)nr;
	(void)id;
	current->proc = &o->proc;
	user_memory_is(USER_PRESENT, 0);
	if (call->op == OP_POLL) {
		answer.value = o->set->ops->poll(o->set, NULL);
	} else if (call->op == OP_WAIT || call->op == OP_TRY_WAIT) {
		answer.value = wait(o, call, &answer.digest);
	} else {
		f = fd_get((int)file_of(call));
		if (f) {
			answer.value = use(o, f, call);
			file_put(f);
		}
	}
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	struct counter {
		bool closed, watched, armed, news;
		enum mode mode;
		u64 count;
	} file[FILES];
};

static void model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	*(struct model *)model = (struct model){ .file[1].count = 1 };
}

/* Must the set tell of @c? */
static bool is_ready(const struct counter *c)
{
	if (!c->watched || c->closed || !c->armed || !c->count)
		return false;
	return c->mode != EDGE || c->news;
}

/* May it? A file that is closed is watched until the last call that uses it is over. */
static bool may_be_ready(const struct counter *c)
{
	return is_ready(c) || (!alone && c->watched && c->armed && c->count);
}

static void model_tell(struct counter *c)
{
	c->news = false;
	if (c->mode == ONE_SHOT)
		c->armed = false;
}

static enum model_says model_wait(struct model *m, const struct call *call, struct answer *a)
{
	u64 may = 0, must = 0;

	for (unsigned i = 0; i < FILES; i++) {
		must |= (u64)is_ready(&m->file[i]) << i;
		may |= (u64)may_be_ready(&m->file[i]) << i;
	}
	if (call->how == USER_BAD && (must || (may && a->value == -EFAULT))) {
		a->value = -EFAULT;
		return ENDS;
	}
	if (!must && a->value <= 0) {
		a->value = call->op == OP_WAIT ? a->value : 0;
		return call->op == OP_WAIT ? MUST_SLEEP : ENDS;
	}
	if (a->digest & ~may || !a->digest)
		a->digest = must;
	a->value = min(__builtin_popcountl(alone ? must : a->digest), (int)call->n);
	for (unsigned i = 0; i < FILES; i++)
		if (a->digest >> i & 1)
			model_tell(&m->file[i]);
	return ENDS;
}

static long model_control(struct counter *c, const struct call *call)
{
	if (call->op == OP_MODIFY && mode_of(call) == EXCLUSIVE)
		return -EINVAL;
	if (call->op == OP_ADD && c->watched)
		return -EEXIST;
	if (call->op != OP_ADD && !c->watched)
		return -ENOENT;
	if (call->op == OP_MODIFY && c->mode == EXCLUSIVE)
		return -EINVAL;
	c->watched = c->armed = call->op != OP_DELETE;
	c->mode = mode_of(call);
	c->news = c->count;
	return 0;
}

static long model_use(struct counter *c, const struct call *call, long seen)
{
	long had = c->count ? (long)sizeof(u64) : -EAGAIN;

	/* A call that began before the close goes on. */
	if (c->closed && (alone || seen == -EBADF))
		return -EBADF;
	switch ((enum op)call->op) {
	case OP_CLOSE:
		c->closed = true;
		return 0;
	case OP_WRITE:
		c->count++;
		c->news = true;
		return sizeof(u64);
	case OP_READ:
		c->count = 0;
		return had;
	default:
		return model_control(c, call);
	}
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	bool ready = is_ready(&m->file[0]) || is_ready(&m->file[1]);

	(void)nr;
	(void)id;
	if (call->op == OP_WAIT || call->op == OP_TRY_WAIT)
		return model_wait(m, call, a);
	if (call->op != OP_POLL)
		a->value = model_use(&m->file[file_of(call)], call, a->value);
	else
		a->value = ready ? POLLIN | POLLRDNORM : 0;
	return ENDS;
}

DEFINE_OBJECT(epoll, "$each(((struct epoll_set *)((struct watched *)object)->set->private)->items, "
		     "\"struct epoll_item.link\")");
