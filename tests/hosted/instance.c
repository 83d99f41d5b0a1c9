/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Instances of the tracer: directories of tracefs that are made and removed, each with settings and
 * rings (kernel/trace/instance.c, trace.c). Of the files in such a directory there are two. The
 * model is a table of places, of which a new instance takes the first that is free. It works out
 * which events are recorded, whether each record is asked about on its way, and after which calls
 * no writer may be left that saw the settings before.
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

/* The number of a call says which instance, and with that of TIMES what it is set to. */
enum op {
	OP_MKDIR,
	OP_RMDIR,
	OP_OPEN,
	OP_CLOSE,
	OP_EVENTS,
	OP_FOLLOW,
	OP_INHERIT,
	OP_RECORD,
	OP_FILTER,
	OP_HIST,
	OP_SHOW,
};
static const char *const op_names[] = { "mkdir",   "rmdir",  "open",   "close", "events", "follow",
					"inherit", "record", "filter", "hist",	"show",	  NULL };

/* One more than there are places, one that is too long, and the top, which is no directory. */
static const char *const names[] = {
	"a", "b", "c", "d", "e", "f", "g", "h", "a_name_of_thirty_two_characters_", ""
};
enum {
	NAMES = ARRAY_SIZE(names),
	TOP = NAMES - 1,
	TOO_LONG = TOP - 1,
	TIMES = 4,
	FEW = 2,
	PLACE = 100
};
/* The events that an instance may choose. */
#define SWITCH (BIT(EVENT_sched_switch))
#define CALLS  (BIT(EVENT_sys_enter))

static bool alone; /* the last run has one thread */

struct opened {
	struct trace_instance *by[NR_FIBERS];
};

unsigned arch_nr_cpus = 1;
struct cmdline trace_cmdlines[NR_CMDLINES];
const char trace_header_page[] = "", trace_header_event[] = "";

/* --- the rest of the tracer ------------------------------------------------------------------ */

static u64 told_sched;	  /* the events that the scheduler was told to record */
static bool told_calls;	  /* likewise system calls */
static unsigned nr_waits; /* for writers that are at work */

void arch_call_others(void (*fn)(void *), void *arg)
{
	(void)fn, (void)arg;
	__atomic_fetch_add(&nr_waits, 1, __ATOMIC_RELAXED);
	world_wait_for_irqs();
}

void sched_trace_set(struct sched *s, u64 mask)
{
	(void)s;
	told_sched = mask;
}

void syscall_trace(bool on)
{
	told_calls = on;
}

void trace_remove_hists(struct trace_instance *t, unsigned event)
{
	t->hist_events &= ~BIT(event);
	trace_apply();
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

	if (!*name)
		return trace_top;
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

/* All that follows from the settings of the instances. */
struct shown {
	u64 events, pages; /* of one */
	u64 mask, sched;
	bool calls, routed, gate;
};

/* Beside other threads, which change the rest, it is the events of the instance alone. */
static u64 digest_of(const struct shown *s)
{
	if (!alone)
		return s->events;
	return mix(mix(mix(mix(mix(mix(s->events, s->pages), s->mask), s->sched), s->calls),
		       s->routed),
		   s->gate);
}

static long set_filter(struct trace_instance *t, bool on)
{
	static const char text[] = "prev_pid == 1";
	struct trace_filter_error error;
	struct trace_filter *f = NULL;

	if (on)
		f = trace_filter_parse(EVENT_sched_switch, text, sizeof(text) - 1, &error);
	if (on && !f)
		return -ENOMEM;
	trace_set_filter(t, EVENT_sched_switch, f);
	return 0;
}

static long follow(struct trace_instance *t, bool on)
{
	u64 *pids = on ? kzalloc(PID_MAX / 8) : NULL;

	if (on && !pids)
		return -ENOMEM;
	trace_set_pids(t, pids);
	return 0;
}

static long set_events(struct trace_instance *t, u32 what)
{
	/* The usual size is some hundred pages. The ring of the top stays without any. */
	int err = t == trace_top ? 0 : trace_set_buffer_kb(t, -1, 8);

	return err ? err : trace_set_events(t, (what & 1 ? SWITCH : 0) | (what & 2 ? CALLS : 0));
}

static u64 show(const struct trace_instance *t)
{
	return digest_of(&(struct shown){
		.events = t->events_on,
		.pages = t->rings[0].nr_pages,
		.mask = trace_mask,
		.sched = told_sched,
		.calls = told_calls,
		.routed = trace_routed,
		.gate = trace_rings[0].gate != RING_NO_GATE,
	});
}

static long use_locked(struct trace_instance *t, enum op op, u32 what, struct answer *answer)
{
	switch (op) {
	case OP_OPEN:
		t->nr_open++;
		return 0;
	case OP_SHOW:
		answer->digest = show(t);
		return 0;
	case OP_INHERIT:
		trace_set_option(t, TRACE_EVENT_FORK, what & 1);
		return 0;
	case OP_RECORD:
		trace_set_on(t, what & 1);
		return 0;
	case OP_FOLLOW:
		return follow(t, what & 1);
	case OP_FILTER:
		return set_filter(t, what & 1);
	case OP_HIST:
		t->hist_events = what & 1 ? SWITCH : 0;
		trace_apply();
		return 0;
	default:
		return set_events(t, what);
	}
}

static struct answer use(struct opened *o, unsigned nr, const struct call *call)
{
	struct trace_instance *t = find(names[call->n % NAMES]);
	struct answer answer = { .value = -ENOENT };

	if (!t)
		return answer;
	mutex_lock(&trace_lock);
	answer.value = t->live ? use_locked(t, call->op, call->n / NAMES, &answer) : -ENODEV;
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

/* The top is no directory of instances/, and its readers are not counted here. */
static bool is_of_directories(const struct call *call)
{
	return call->n % NAMES == TOP &&
	       (call->op == OP_MKDIR || call->op == OP_RMDIR || call->op == OP_OPEN);
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	const char *name = names[call->n % NAMES];
	struct opened *o = object;
	struct answer answer = { 0 };

	(void)id;
	WRITE_ONCE(nr_waits, 0);
	if (is_of_directories(call))
		answer.value = -EPERM;
	else if (call->op == OP_MKDIR)
		answer.value = tracefs_type.mkdir(directory(), name, strlen(name), 0755);
	else if (call->op == OP_RMDIR)
		answer.value = tracefs_type.remove(directory(), name, strlen(name), true);
	else if (call->op == OP_CLOSE)
		answer.value = close(o, nr);
	else if (call->op == OP_OPEN && o->by[nr])
		answer.value = -EMFILE;
	else
		answer = use(o, nr, call);
	if (alone && call->op != OP_SHOW && answer.value >= 0)
		answer.digest = READ_ONCE(nr_waits) > 0;
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
	mutex_lock(&trace_lock);
	follow(trace_top, false);
	set_filter(trace_top, false);
	trace_top->hist_events = trace_top->events_on = 0;
	trace_set_option(trace_top, TRACE_EVENT_FORK, false);
	trace_set_on(trace_top, false);
	mutex_unlock(&trace_lock);
	for (unsigned i = 0; i < TOP; i++)
		tracefs_type.remove(directory(), names[i], strlen(names[i]), true);
	free(o);
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_MKDIR... OP_SHOW] = { 0, NAMES *TIMES - 1 },
};

static struct call draw(struct prng *random, bool one)
{
	static const u8 often[] = { OP_MKDIR, OP_MKDIR,	 OP_MKDIR,  OP_MKDIR,  OP_RMDIR, OP_RMDIR,
				    OP_OPEN,  OP_CLOSE,	 OP_EVENTS, OP_FOLLOW, OP_SHOW,	 OP_INHERIT,
				    OP_SHOW,  OP_RECORD, OP_FILTER, OP_HIST,   OP_EVENTS };

	return (struct call){ .op = often[prng_below(random, ARRAY_SIZE(often))],
			      .n = prng_below(random, one ? NAMES : FEW) +
				   NAMES * prng_below(random, TIMES) };
}

/* --- the model ------------------------------------------------------------------------------- */

enum { PLACES = 7, FEWEST = 2, OF_8_KB = 3 };

struct model {
	struct place {
		u8 name; /* of the instance + 1; 0: free */
		u8 open;
		u64 events;
		u64 pages;
		bool follows, inherits, records, filters, counts;
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
	m->place[place] =
		(struct place){ .name = (u8)(name + 1), .pages = FEWEST, .records = true };
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

static u64 model_wanted(const struct place *p)
{
	return p->records ? p->events | BIT(EVENT_print) : 0;
}

/* Threads that are followed are told from their births and ends if their children are, too. */
static u64 model_mask(const struct model *m)
{
	u64 mask = 0;

	for (const struct place *p = m->place; p <= &m->place[PLACES]; p++) {
		mask |= model_wanted(p) | (p->counts ? SWITCH : 0);
		if (p->follows && p->inherits)
			mask |= BIT(EVENT_sched_process_fork) | BIT(EVENT_sched_process_exit);
	}
	return mask;
}

/* Is there something to ask of a record before it is in the ring of the top? */
static bool model_routed(const struct model *m)
{
	bool routed = m->place[0].follows || m->place[0].filters;

	for (const struct place *p = m->place; p <= &m->place[PLACES]; p++)
		routed |= p->counts || (p != m->place && p->records && p->events);
	return routed;
}

static u64 model_show(const struct model *m, const struct place *p)
{
	bool routed = model_routed(m);
	u64 mask = model_mask(m);

	return digest_of(&(struct shown){ p->events, p->pages, mask,
					  mask & (BIT(NR_SCHED_EVENTS) - 1), mask & CALLS, routed,
					  routed });
}

/* Has a writer that saw the settings before something that is no more? */
static bool model_must_wait(const struct model *old, const struct model *m, const struct call *call)
{
	for (unsigned i = 0; i <= PLACES; i++) {
		const struct place *was = &old->place[i], *is = &m->place[i];
		bool of_call = i ? was->name == call->n % NAMES + 1 : call->n % NAMES == TOP;

		if (model_wanted(was) & ~model_wanted(is))
			return true;
		if (of_call && was->follows && (call->op == OP_FOLLOW || call->op == OP_RMDIR))
			return true;
		if (of_call && was->filters && (call->op == OP_FILTER || call->op == OP_RMDIR))
			return true;
		if (of_call && was->pages && call->op == OP_EVENTS && model_mask(old))
			return true;
	}
	return model_routed(old) != model_routed(m) && model_mask(old);
}

static void model_set(struct place *p, enum op op, u32 what)
{
	switch (op) {
	case OP_EVENTS:
		p->events = (what & 1 ? SWITCH : 0) | (what & 2 ? CALLS : 0);
		p->pages = p->name ? OF_8_KB : 0;
		break;
	case OP_FOLLOW:
		p->follows = what & 1;
		break;
	case OP_INHERIT:
		p->inherits = what & 1;
		break;
	case OP_RECORD:
		p->records = what & 1;
		break;
	case OP_FILTER:
		p->filters = what & 1;
		break;
	case OP_HIST:
		p->counts = what & 1;
		break;
	default:;
	}
}

static void model_use(struct model *m, unsigned nr, const struct call *call, struct answer *a)
{
	bool of_top = call->n % NAMES == TOP;
	unsigned place = of_top ? 0 : model_find(m, call->n % NAMES + 1);
	unsigned seen = (unsigned)(a->value - PLACE);
	struct place *p;

	if (!m->alone && seen - 1 < PLACES && m->place[seen].name)
		place = seen;
	if (!place && !of_top) {
		a->value = !m->alone && a->value == -ENODEV ? -ENODEV : -ENOENT;
		a->digest = 0;
		return;
	}
	p = &m->place[place];
	a->value = PLACE + (long)place;
	model_set(p, call->op, call->n / NAMES);
	a->digest = call->op == OP_SHOW ? model_show(m, p) : a->digest;
	if (call->op == OP_OPEN) {
		m->place[place].open++;
		m->hand[nr] = (u8)place;
	}
}

static void model_call(struct model *m, unsigned nr, const struct call *call, struct answer *a)
{
	unsigned name = call->n % NAMES;

	if (is_of_directories(call))
		a->value = -EPERM;
	else if (call->op == OP_MKDIR)
		a->value = model_mkdir(m, name);
	else if (call->op == OP_RMDIR)
		a->value = model_rmdir(m, name);
	else if (call->op == OP_CLOSE)
		a->value = model_close(m, nr);
	else if (call->op == OP_OPEN && m->hand[nr])
		a->value = -EMFILE;
	else
		model_use(m, nr, call, a);
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model, old = *m;

	(void)id;
	model_call(m, nr, call, a);
	if (m->alone && a->value >= 0 && call->op != OP_SHOW && model_must_wait(&old, m, call))
		a->digest = 1; /* where it need not wait, it may */
	return ENDS;
}

static const char *const known[] = {
	"mkdir:0 / open:0", /* also when memory is short */
	"mkdir:0 rmdir:0 / open:0 close:0",
	NULL,
};

DEFINE_OBJECT(instance, "trace_instances", .known = known);
