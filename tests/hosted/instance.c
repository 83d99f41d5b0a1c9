/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instances of the tracer: directories of tracefs that are made and removed, each with settings and
 * rings (kernel/trace/instance.c, trace.c). Of the files in such a directory there are two. The
 * model is a table of places, of which a new instance takes the first that is free.
 *
 * Of several threads one may find the file of an instance whose place is another's when it is used.
 */
#include "kernel/fs/vfs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/pseudo/engine.h"
#include "kernel/syscall/syscall.h"
#include "kernel/trace/internal.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum op { OP_MKDIR, OP_RMDIR, OP_OPEN, OP_CLOSE, OP_EVENTS, OP_FOLLOW, OP_INHERIT, OP_SHOW };
static const char *const op_names[] = { "mkdir",  "rmdir",   "open", "close", "events",
					"follow", "inherit", "show", NULL };

/* One more than there are places, and one that is too long. */
static const char *const names[] = { "a", "b", "c",
				     "d", "e", "f",
				     "g", "h", "a_name_of_thirty_two_characters_" };
enum { NAMES = ARRAY_SIZE(names), TOO_LONG = NAMES - 1, FEW = 2, PLACE = 100 };

static bool alone; /* the last run has one thread */

struct opened {
	struct trace_instance *by[NR_FIBERS];
};

unsigned arch_nr_cpus = 1;
struct cmdline trace_cmdlines[NR_CMDLINES];
const char trace_header_page[] = "", trace_header_event[] = "";

/* --- the rest of the tracer ------------------------------------------------------------------ */

void arch_call_others(void (*fn)(void *), void *arg)
{
	(void)fn, (void)arg;
	world_wait_for_irqs();
}

void sched_trace_set(struct sched *s, u64 mask)
{
	(void)s, (void)mask;
}

void syscall_trace(bool on)
{
	(void)on;
}

void trace_remove_hists(struct trace_instance *t, unsigned event)
{
	(void)t, (void)event;
}

static int add(unsigned i, const char *name)
{
	char path[128];
	const struct pseudo_file file = { .name = path, .mode = 0640, .arg = TRACE_ARG(i, 0) };

	fmt_snprintf(path, sizeof(path), "%s%s", tracefs_prefix(i), name);
	return i ? tracefs_add(&file) : 0;
}

int tracefs_add_control(unsigned i)
{
	return add(i, "tracing_on");
}

int tracefs_add_settings(unsigned i)
{
	(void)i;
	return 0;
}

int tracefs_add_events(unsigned i)
{
	return add(i, "events/enable");
}

/* --- calls ----------------------------------------------------------------------------------- */

static struct dentry *directory(void)
{
	return pseudo_find(&tracefs_type, "instances");
}

/* The instance of the file @name/tracing_on; NULL: there is none. */
static struct trace_instance *find(const char *name)
{
	struct dentry *dir = directory(), *d;
	struct trace_instance *t = NULL;

	spin_lock(&tree_lock);
	d = dentry_find(dir, name, strlen(name));
	d = d ? dentry_find(d, "tracing_on", strlen("tracing_on")) : NULL;
	if (d)
		t = instance_of(inode_arg(d->inode));
	spin_unlock(&tree_lock);
	return t;
}

static long place_of(const struct trace_instance *t)
{
	return PLACE + (t - trace_instances);
}

/*
 * Events that an instance has, pages of its ring, and all events that are recorded. Beside other
 * threads, which change the last, it is of the first alone.
 */
static u64 digest_of(u64 events, u64 pages, u64 mask)
{
	return alone ? (events * 31 + pages) * 31 + mask : events;
}

static long use_locked(struct trace_instance *t, enum op op, u32 n, struct answer *answer)
{
	u64 *pids;
	int err;

	switch (op) {
	case OP_OPEN:
		t->nr_open++;
		return 0;
	case OP_SHOW:
		answer->digest = digest_of(t->events_on, t->rings[0].nr_pages, trace_mask);
		return 0;
	case OP_INHERIT:
		trace_set_option(t, TRACE_EVENT_FORK, n / NAMES);
		return 0;
	case OP_FOLLOW:
		pids = kzalloc(PID_MAX / 8);
		if (pids)
			trace_set_pids(t, pids);
		return pids ? 0 : -ENOMEM;
	default:
		/* The usual size is some hundred pages. */
		err = trace_set_buffer_kb(t, -1, 8);
		return err ? err : trace_set_events(t, n / NAMES << EVENT_sched_switch);
	}
}

static struct answer use(struct opened *o, unsigned nr, const struct call *call)
{
	struct trace_instance *t = find(names[call->n % NAMES]);
	struct answer answer = { .value = -ENOENT };

	if (!t)
		return answer;
	mutex_lock(&trace_lock);
	answer.value = t->live ? use_locked(t, call->op, call->n, &answer) : -ENODEV;
	mutex_unlock(&trace_lock);
	if (answer.value)
		return answer;
	answer.value = place_of(t);
	if (call->op == OP_OPEN)
		o->by[nr] = t;
	return answer;
}

static long close(struct opened *o, unsigned nr)
{
	struct trace_instance *t = o->by[nr];

	if (!t)
		return -EBADF;
	o->by[nr] = NULL;
	mutex_lock(&trace_lock);
	t->nr_open--;
	mutex_unlock(&trace_lock);
	return place_of(t);
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	const char *name = names[call->n % NAMES];
	struct opened *o = object;
	struct answer answer = { 0 };

	(void)id;
	if (call->op == OP_MKDIR)
		answer.value = tracefs_type.mkdir(directory(), name, strlen(name), 0755);
	else if (call->op == OP_RMDIR)
		answer.value = tracefs_type.remove(directory(), name, strlen(name), true);
	else if (call->op == OP_CLOSE)
		answer.value = close(o, nr);
	else if (call->op == OP_OPEN && o->by[nr])
		answer.value = -EMFILE;
	else
		answer = use(o, nr, call);
	return answer;
}

static void *create(unsigned nr_threads)
{
	alone = nr_threads == 1;
	return calloc(1, sizeof(struct opened));
}

static void destroy(void *object)
{
	struct opened *o = object;

	for (unsigned nr = 0; nr < NR_FIBERS; nr++)
		close(o, nr);
	for (unsigned i = 0; i < NAMES; i++)
		tracefs_type.remove(directory(), names[i], strlen(names[i]), true);
	free(o);
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_MKDIR... OP_SHOW] = { 0, NAMES * 2 - 1 },
};

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = {
		OP_MKDIR, OP_MKDIR, OP_MKDIR,  OP_MKDIR,  OP_RMDIR, OP_RMDIR,
		OP_OPEN,  OP_CLOSE, OP_EVENTS, OP_FOLLOW, OP_SHOW,  OP_INHERIT
	};

	return (struct call){ .op = often[prng_below(random, ARRAY_SIZE(often))],
			      .n = prng_below(random, one ? NAMES : FEW) +
				   NAMES * prng_below(random, 2) };
}

/* --- the model ------------------------------------------------------------------------------- */

enum { PLACES = 7, FEWEST = 2, OF_8_KB = 3 };

struct model {
	struct place {
		u8 name; /* of the instance + 1; 0: free */
		u8 open;
		u64 events;
		u64 pages;
		bool follows, inherits;
	} place[PLACES + 1]; /* the first is the top's */
	u8 hand[NR_FIBERS];
	bool alone;
};

static void model_create(void *model, unsigned nr_threads)
{
	*(struct model *)model = (struct model){ .alone = nr_threads == 1 };
}

/* The place of the instance @name, or the first free one if @name is 0; 0: there is none. */
static unsigned model_find(const struct model *m, unsigned name)
{
	for (unsigned i = 1; i <= PLACES; i++)
		if (m->place[i].name == name)
			return i;
	return 0;
}

static long model_mkdir(struct model *m, unsigned name)
{
	unsigned place = model_find(m, 0);

	if (model_find(m, name + 1))
		return -EEXIST;
	if (name == TOO_LONG)
		return -ENAMETOOLONG;
	if (!place)
		return -ENOSPC;
	m->place[place] = (struct place){ .name = (u8)(name + 1), .pages = FEWEST };
	return 0;
}

static long model_rmdir(struct model *m, unsigned name)
{
	unsigned place = model_find(m, name + 1);

	if (!place)
		return -ENOENT;
	if (m->place[place].open)
		return -EBUSY;
	m->place[place] = (struct place){ 0 };
	return 0;
}

static long model_close(struct model *m, unsigned nr)
{
	unsigned place = m->hand[nr];

	m->hand[nr] = 0;
	if (!place)
		return -EBADF;
	m->place[place].open--;
	return PLACE + (long)place;
}

/* Threads that are followed are told from their births and ends if their children are, too. */
static u64 model_mask(const struct model *m)
{
	u64 mask = 0;

	for (const struct place *p = m->place; p <= &m->place[PLACES]; p++) {
		mask |= p->events | (p->name ? BIT(EVENT_print) : 0);
		if (p->follows && p->inherits)
			mask |= BIT(EVENT_sched_process_fork) | BIT(EVENT_sched_process_exit);
	}
	return mask;
}

static void model_use(struct model *m, unsigned nr, const struct call *call, struct answer *a)
{
	unsigned place = model_find(m, call->n % NAMES + 1);
	unsigned seen = (unsigned)(a->value - PLACE);
	struct place *p;

	if (!m->alone && seen - 1 < PLACES && m->place[seen].name)
		place = seen;
	if (!place) {
		a->value = !m->alone && a->value == -ENODEV ? -ENODEV : -ENOENT;
		a->digest = 0;
		return;
	}
	p = &m->place[place];
	a->value = PLACE + (long)place;
	if (call->op == OP_EVENTS)
		p->events = call->n / NAMES << EVENT_sched_switch;
	if (call->op == OP_EVENTS)
		p->pages = OF_8_KB;
	p->follows |= call->op == OP_FOLLOW;
	if (call->op == OP_INHERIT)
		p->inherits = call->n / NAMES;
	a->digest = call->op == OP_SHOW ? digest_of(p->events, p->pages, model_mask(m)) : 0;
	if (call->op == OP_OPEN) {
		m->place[place].open++;
		m->hand[nr] = (u8)place;
	}
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	unsigned name = call->n % NAMES;
	struct model *m = model;

	(void)id;
	if (call->op == OP_MKDIR)
		a->value = model_mkdir(m, name);
	else if (call->op == OP_RMDIR)
		a->value = model_rmdir(m, name);
	else if (call->op == OP_CLOSE)
		a->value = model_close(m, nr);
	else if (call->op == OP_OPEN && m->hand[nr])
		a->value = -EMFILE;
	else
		model_use(m, nr, call, a);
	return ENDS;
}

static const char *const known[] = {
	"mkdir:0 / open:0", /* also when memory is short */
	"mkdir:0 rmdir:0 / open:0 close:0",
	NULL,
};

DEFINE_OBJECT(instance, "trace_instances", .known = known);
