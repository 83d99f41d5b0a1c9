/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals of a process of several threads (kernel/task/signal.c and delivery.c, and
 * kernel/fs/signalfd.c). The model is a queue for each thread and one for the process, the masks
 * and the actions. It is lenient where a stop signal is pending: the thread that takes it sleeps
 * until it is continued, and what it has done comes before its answer. Of a wait that another
 * thread's call robs of its signal it permits EINTR, as Linux does.
 */
#include "kernel/fs/event.h"
#include "kernel/fs/poll.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/signal.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "signal_draw.h"

#define BEGIN_NS 1000000000ull
#define STEP_NS	 100000ull
#define LIMIT	 3 /* RLIMIT_SIGPENDING of one thread: others give places back as they sleep */
#define SI_QUEUE (-1)

static const int signals[] = { SIGUSR1, SIGSEGV, SIGRTMIN, SIGRTMIN + 1, SIGCHLD,
			       SIGTERM, SIGCONT, SIGTSTP,  SIGSTOP,	 SIGKILL };
STATIC_ASSERT(ARRAY_SIZE(signals) == NR_SIGNALS, "as they are drawn");

#define STOPS (SIGMASK(SIGTSTP) | SIGMASK(SIGSTOP))
#define KILLS (SIGMASK(SIGTERM) | SIGMASK(SIGKILL))

/* A mask is one of these, and so is the set that a call waits for. */
static const sigset_t sets[] = {
	0,
	SIGMASK(SIGUSR1),
	SIGMASK(SIGRTMIN),
	SIGMASK(SIGUSR1) | SIGMASK(SIGRTMIN),
	SIGMASK(SIGSEGV) | SIGMASK(SIGRTMIN + 1),
	SIGMASK(SIGUSR1) | SIGMASK(SIGSEGV) | SIGMASK(SIGRTMIN) | SIGMASK(SIGRTMIN + 1) |
		SIGMASK(SIGCHLD) | SIGMASK(SIGTERM),
	~SIG_UNBLOCKABLE,
};
STATIC_ASSERT(ARRAY_SIZE(sets) == NR_SETS, "as they are drawn");

static const char *const op_names[] = { "kill",	    "queue",  "tgkill",	  "kernel", "force",
					"mask",	    "action", "deliver",  "wait",   "wait_until",
					"try_wait", "read",   "try_read", "poll",   "pending",
					"advance",  NULL };

#define HANDLER 0x1000 /* its address */

static unsigned signal_of(const struct call *call)
{
	return call->n % 10 % NR_SIGNALS;
}

static sigset_t set_of(const struct call *call)
{
	return sets[call->n % 10 % NR_SETS];
}

static u64 deadline_of(const struct call *call)
{
	return BEGIN_NS + call->n / 10 * STEP_NS;
}

static unsigned nr_threads_of_run;

static unsigned target_of(const struct call *call)
{
	return call->n / 10 % nr_threads_of_run;
}

/* Which of an action's flags and masks there are; SIGTERM and what stops are not caught. */
static enum action begin_action(int sig)
{
	return sig == SIGUSR1 || sig == SIGSEGV || sig >= SIGRTMIN ? HANDLE : DEFAULT;
}

/* Several threads block two signals, so that they can wait for them. */
static sigset_t first_mask(unsigned nr_threads)
{
	return sets[nr_threads == 1 ? 0 : 3];
}

static u64 digest_of(int sig, int code, u64 value)
{
	return (u64)sig << 32 | (u64)(u16)code << 16 | (u16)value;
}

/* --- the object --------------------------------------------------------------------------- */

static struct file *files[NR_SETS];
static u64 handled[NR_FIBERS]; /* the digest of the signal whose handler a thread enters */
static int failed_id;	       /* the call whose allocation failed; -1: none */

int arch_signal_frame(struct thread *t, const struct sigframe_request *req)
{
	const struct siginfo *info = req->siginfo;
	unsigned nr = (unsigned)t->tid - 1;
	char stack, frame = 0;

	if (arch_copy_to_user(&stack, &frame, 1))
		return -EFAULT;
	handled[nr] = digest_of(req->sig, info->code, info->rt.value);
	return 0;
}

static struct sigaction make_action(enum action how)
{
	static const u64 handlers[] = { SIG_DFL, SIG_IGN, HANDLER, HANDLER };

	return (struct sigaction){ .handler = handlers[how],
				   .flags = how == HANDLE_ONCE ? SA_RESETHAND : SA_NODEFER,
				   .mask = how == HANDLE_ONCE ? sets[1] : 0 };
}

static void destroy(void *object)
{
	(void)object;
	for (unsigned i = 0; i < NR_SETS; i++)
		if (files[i])
			file_put(files[i]);
}

static void *create(unsigned nr_threads)
{
	nr_threads_of_run = nr_threads;
	failed_id = -1;
	memset(files, 0, sizeof(files));
	for (unsigned i = 0; i < NR_SIGNALS; i++)
		hosted_process.action[signals[i] - 1] = make_action(begin_action(signals[i]));
	hosted_process.rlimit[RLIMIT_SIGPENDING].cur = nr_threads == 1 ? LIMIT : RLIM_INFINITY;
	for (unsigned i = 0; i < nr_threads; i++)
		world_thread_of(i)->blocked = first_mask(nr_threads);
	for (unsigned i = 0; i < NR_SETS; i++) {
		files[i] = signalfd_open(sets[i], 0);
		if (!files[i]) {
			destroy(files);
			return NULL;
		}
	}
	return files;
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_KILL... OP_KERNEL] = { 0, 2 * 10 + NR_SIGNALS - 1 },
	[OP_MASK] = { 0, NR_SETS - 1 },
	[OP_ACTION] = { 0, (NR_ACTIONS - 1) * 10 + 7 },
	[OP_WAIT] = { 0, NR_SETS - 1 },
	[OP_WAIT_UNTIL] = { 0, 3 * 10 + NR_SETS - 1 },
	[OP_TRY_WAIT... OP_POLL] = { 0, NR_SETS - 1 },
	[OP_ADVANCE] = { 1, 2 },
};

static struct call draw(struct prng *random, bool alone)
{
	return signal_draw(random, alone);
}

static long send(const struct call *call, u64 value)
{
	struct siginfo info = { .rt = { .value = value } };
	int sig = signals[signal_of(call)];

	info.code = call->op == OP_KILL ? SI_USER : call->op == OP_QUEUE ? SI_QUEUE : SI_TKILL;
	if (call->op == OP_TGKILL)
		return signal_send_thread(world_thread_of(target_of(call)), sig, &info);
	return signal_send_proc(&hosted_process, sig, call->op == OP_KERNEL ? NULL : &info);
}

static void take(const struct call *call, struct answer *a)
{
	u64 until = call->op == OP_WAIT	      ? TIME_NEVER
		    : call->op == OP_TRY_WAIT ? 0
					      : deadline_of(call);
	struct siginfo info;

	a->value = signal_wait(set_of(call), &info, until);
	if (a->value == -EINTR)
		a->value = -ERESTARTSYS;
	if (a->value > 0)
		a->digest = digest_of((int)a->value, info.code, info.rt.value);
}

static void read(const struct call *call, struct answer *a)
{
	struct file f = *files[call->n % 10 % NR_SETS]; /* with flags of its own */
	u32 out[32] = { 0 };				/* struct signalfd_siginfo */
	u64 pos = 0;

	f.flags |= call->op == OP_TRY_READ ? O_NONBLOCK : 0;
	a->value = f.ops->read(&f, out, sizeof(out), &pos);
	if (a->value < 0)
		return;
	/* The status of a child is where others have the value. */
	a->digest = digest_of((int)out[0], (int)out[2], out[0] == SIGCHLD ? out[10] : out[12]);
	a->value = (long)out[0];
}

static void deliver(unsigned nr, struct answer *a)
{
	struct user_regs regs = { 0 };

	handled[nr] = 0;
	signal_deliver(&regs);
	a->digest = handled[nr];
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct siginfo fault = { .code = SEGV_MAPERR, .rt = { .value = id } };
	bool had_failed = memory_failed();
	struct sigaction action, old;
	struct answer a = { 0 };

	(void)object;
	user_memory_is(call->how, 0);
	if (call->op <= OP_KERNEL) {
		a.value = send(call, id);
	} else if (call->op >= OP_WAIT && call->op <= OP_TRY_WAIT) {
		take(call, &a);
	} else if (call->op == OP_READ || call->op == OP_TRY_READ) {
		read(call, &a);
	} else if (call->op == OP_FORCE) {
		signal_force(SIGSEGV, &fault);
	} else if (call->op == OP_MASK) {
		a.digest = signal_set_blocked(set_of(call));
	} else if (call->op == OP_ACTION) {
		action = make_action(call->n / 10 % NR_ACTIONS);
		a.value = signal_set_action(signals[signal_of(call)], &action, &old);
		a.digest = old.handler;
	} else if (call->op == OP_DELIVER) {
		deliver(nr, &a);
	} else if (call->op == OP_POLL) {
		a.value = files[call->n % 10 % NR_SETS]->ops->poll(files[call->n % 10 % NR_SETS],
								   NULL);
	} else if (call->op == OP_PENDING) {
		a.digest = signal_pending_set() & ~STOPS;
	} else {
		clock_advance(call->n * STEP_NS);
	}
	if (memory_failed_in(nr) && !had_failed)
		failed_id = (int)id;
	return a;
}

/* --- the model ---------------------------------------------------------------------------- */

#define MOST 24 /* in one queue: LIMIT, and of the others one each */

struct queue {
	sigset_t set; /* also of what could not be queued */
	unsigned nr;
	struct queued {
		u8 sig;
		u16 value;
		int code;
	} list[MOST];
};

struct model {
	struct queue of_thread[NR_FIBERS], of_process;
	sigset_t blocked[NR_FIBERS];
	u8 action[NSIG + 1]; /* enum action */
	u64 now;
	unsigned nr_threads;
	int code;	 /* of the end of the process; 0: it lives */
	sigset_t stolen; /* was pending, and is taken by another or discarded */
	bool stops;	 /* a stop signal was sent, and no SIGCONT after it */
	bool stopped;	 /* a stop signal was sent */
};

static void model_create(void *model, unsigned nr_threads)
{
	struct model *m = model;

	*m = (struct model){ .now = BEGIN_NS, .nr_threads = nr_threads };
	for (unsigned i = 0; i < NR_SIGNALS; i++)
		m->action[signals[i]] = begin_action(signals[i]);
	for (unsigned i = 0; i < nr_threads; i++)
		m->blocked[i] = first_mask(nr_threads);
}

static void drop(struct model *m, struct queue *q, sigset_t set)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < q->nr; i++)
		if (!(SIGMASK(q->list[i].sig) & set))
			q->list[kept++] = q->list[i];
	q->nr = kept;
	m->stolen |= q->set & set;
	q->set &= ~set;
}

static void drop_all(struct model *m, sigset_t set)
{
	drop(m, &m->of_process, set);
	for (unsigned i = 0; i < m->nr_threads; i++)
		drop(m, &m->of_thread[i], set);
}

static unsigned nr_queued(const struct model *m)
{
	unsigned nr = m->of_process.nr;

	for (unsigned i = 0; i < m->nr_threads; i++)
		nr += m->of_thread[i].nr;
	return nr;
}

static bool is_ignored(const struct model *m, int sig)
{
	return m->action[sig] == IGNORE ||
	       (m->action[sig] == DEFAULT && (sig == SIGCHLD || sig == SIGCONT));
}

/* Returns false if a real-time signal finds no room. */
static bool enqueue(struct model *m, struct queue *q, struct queued what, bool no_memory)
{
	bool realtime = what.sig >= SIGRTMIN;
	bool always = !realtime && what.code >= 0;
	bool room = (always || m->nr_threads > 1 || nr_queued(m) < LIMIT) && !no_memory;

	if (!realtime && (q->set & SIGMASK(what.sig)))
		return true;
	if (!room && realtime && what.code != SI_USER && what.code != SI_KERNEL)
		return false;
	if (room)
		q->list[q->nr++] = what;
	q->set |= SIGMASK(what.sig);
	return true;
}

static void model_send(struct model *m, unsigned id, const struct call *call, struct answer *a)
{
	static const int codes[] = { SI_USER, SI_QUEUE, SI_TKILL, SI_KERNEL };
	unsigned target = call->op == OP_TGKILL ? target_of(call) : 0;
	int sig = signals[signal_of(call)];
	struct queue *q = call->op == OP_TGKILL ? &m->of_thread[target] : &m->of_process;
	struct queued what = { (u8)sig, (u16)(call->op == OP_KERNEL ? 0 : id), codes[call->op] };

	a->value = 0;
	if (SIGMASK(sig) & STOPS) {
		drop_all(m, SIGMASK(SIGCONT));
		m->stops = m->stopped = true;
	} else if (sig == SIGCONT) {
		drop_all(m, STOPS);
		m->stops = false;
	}
	if (sig == SIGKILL) {
		m->code = m->code ? m->code : SIGKILL;
		return;
	}
	if (is_ignored(m, sig) && !(m->blocked[target] & SIGMASK(sig)))
		return;
	if (!enqueue(m, q, what, failed_id == (int)id))
		a->value = -EAGAIN;
}

static void model_force(struct model *m, unsigned nr, unsigned id)
{
	struct queued what = { SIGSEGV, (u16)id, SEGV_MAPERR };

	if ((m->blocked[nr] & SIGMASK(SIGSEGV)) || m->action[SIGSEGV] == IGNORE)
		m->action[SIGSEGV] = DEFAULT;
	m->blocked[nr] &= ~SIGMASK(SIGSEGV);
	enqueue(m, &m->of_thread[nr], what, failed_id == (int)id);
}

static bool model_dequeue(struct queue *q, sigset_t set, struct queued *what)
{
	sigset_t ready = q->set & set;
	bool found = false, more = false;
	unsigned kept = 0;

	if (!ready)
		return false;
	if (ready & SIGMASK(SIGSEGV))
		ready = SIGMASK(SIGSEGV);
	*what = (struct queued){ .sig = 1, .code = SI_USER };
	while (!(ready & SIGMASK(what->sig)))
		what->sig++;
	for (unsigned i = 0; i < q->nr; i++) {
		if (q->list[i].sig != what->sig || found)
			q->list[kept++] = q->list[i];
		else
			*what = q->list[i];
		more |= found && q->list[i].sig == what->sig;
		found |= q->list[i].sig == what->sig;
	}
	q->nr = kept;
	if (!more)
		q->set &= ~SIGMASK(what->sig);
	return true;
}

static bool model_take(struct model *m, unsigned nr, sigset_t set, struct queued *what)
{
	if (model_dequeue(&m->of_thread[nr], set, what))
		return true;
	if (!model_dequeue(&m->of_process, set, what))
		return false;
	m->stolen |= SIGMASK(what->sig);
	return true;
}

static sigset_t pending(const struct model *m, unsigned nr)
{
	return m->of_thread[nr].set | m->of_process.set;
}

/* A wait, or a read, that another call may have woken for nothing. */
static bool may_be_interrupted(const struct model *m, unsigned nr, sigset_t set)
{
	return m->nr_threads > 1 && (m->stopped || (m->stolen & (set | ~m->blocked[nr])));
}

static enum model_says model_wait(struct model *m, unsigned nr, const struct call *call,
				  struct answer *a)
{
	bool reads = call->op == OP_READ || call->op == OP_TRY_READ;
	bool tries = call->op == OP_TRY_READ || call->op == OP_TRY_WAIT;
	/* A signal that nobody can block may be for a thread that is through. */
	sigset_t others = m->nr_threads > 1 ? SIG_UNBLOCKABLE : 0;
	sigset_t for_it = m->of_thread[nr].set | (m->of_process.set & ~others);
	bool interrupted = m->code || (for_it & ~m->blocked[nr]);
	bool late = call->op == OP_WAIT_UNTIL && m->now >= deadline_of(call);
	sigset_t set = set_of(call);
	struct queued what;
	long seen = a->value;

	/* A read looks at its set, and then at what has a handler. */
	if (reads && interrupted && seen == -ERESTARTSYS && m->nr_threads > 1)
		return MAY_SLEEP;
	a->digest = 0;
	a->value = -EAGAIN;
	if (model_take(m, nr, set, &what)) {
		a->value = what.sig;
		a->digest = digest_of(what.sig, what.code, what.value);
		if (!reads || call->how != USER_BAD)
			return ENDS;
		a->value = -EFAULT;
		a->digest = 0;
		return ENDS;
	}
	if (tries)
		return ENDS;
	if (late && seen != -ERESTARTSYS)
		return ENDS;
	a->value = -ERESTARTSYS;
	if (interrupted)
		return ENDS;
	return may_be_interrupted(m, nr, set) ? MAY_SLEEP : late ? ENDS : MUST_SLEEP;
}

static void model_end(struct model *m, struct answer *a)
{
	a->value = ENDED | m->code;
	a->digest = 0;
}

/* Enters a handler. False: that had no stack, and SIGSEGV comes instead. */
static bool model_handle(struct model *m, unsigned nr, unsigned id, const struct call *call,
			 const struct queued *what)
{
	bool once = m->action[what->sig] == HANDLE_ONCE;
	struct queued segv = { SIGSEGV, 0, SI_KERNEL };

	if (once)
		m->action[what->sig] = DEFAULT;
	if (call->how != USER_BAD) {
		if (once)
			m->blocked[nr] |= sets[1] | SIGMASK(what->sig);
		return true;
	}
	if (what->sig == SIGSEGV) {
		m->code = m->code ? m->code : SIGSEGV;
		return false;
	}
	if ((m->blocked[nr] & SIGMASK(SIGSEGV)) || m->action[SIGSEGV] == IGNORE)
		m->action[SIGSEGV] = DEFAULT;
	m->blocked[nr] &= ~SIGMASK(SIGSEGV);
	enqueue(m, &m->of_thread[nr], segv, failed_id == (int)id);
	return false;
}

static enum model_says model_deliver(struct model *m, unsigned nr, unsigned id,
				     const struct call *call, struct answer *a)
{
	sigset_t set = ~m->blocked[nr];
	struct queued what;

	/* A thread that has taken SIGTSTP finds out where its group is before it stops others. */
	if (m->nr_threads > 1)
		set &= ~(m->of_process.set & SIGMASK(SIGTSTP));
	if (m->stops && !m->code && a->value == -ERESTARTSYS)
		return MAY_SLEEP;
	a->value = 0;
	a->digest = 0;
	while (!m->code && model_take(m, nr, set, &what)) {
		if (m->action[what.sig] >= HANDLE) {
			if (model_handle(m, nr, id, call, &what))
				a->digest = digest_of(what.sig, what.code, what.value);
			break;
		}
		if (is_ignored(m, what.sig))
			continue;
		if (SIGMASK(what.sig) & STOPS)
			return MUST_SLEEP;
		m->code = what.sig;
	}
	if (m->code)
		model_end(m, a);
	return ENDS;
}

static void model_action(struct model *m, const struct call *call, struct answer *a)
{
	static const u64 handlers[] = { SIG_DFL, SIG_IGN, HANDLER, HANDLER };
	int sig = signals[signal_of(call)];

	a->value = SIGMASK(sig) & SIG_UNBLOCKABLE ? -EINVAL : 0;
	if (a->value)
		return;
	a->digest = handlers[m->action[sig]];
	m->action[sig] = call->n / 10 % NR_ACTIONS;
	if (is_ignored(m, sig))
		drop_all(m, SIGMASK(sig));
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;

	switch ((enum op)call->op) {
	case OP_KILL:
	case OP_QUEUE:
	case OP_TGKILL:
	case OP_KERNEL:
		model_send(m, id, call, a);
		return ENDS;
	case OP_FORCE:
		model_force(m, nr, id);
		return ENDS;
	case OP_MASK:
		a->digest = m->blocked[nr];
		m->blocked[nr] = set_of(call);
		return ENDS;
	case OP_ACTION:
		model_action(m, call, a);
		return ENDS;
	case OP_DELIVER:
		return model_deliver(m, nr, id, call, a);
	case OP_POLL:
		a->value = pending(m, nr) & set_of(call) ? POLLIN | POLLRDNORM : 0;
		return ENDS;
	case OP_PENDING:
		a->digest = pending(m, nr) & m->blocked[nr] & ~STOPS;
		return ENDS;
	case OP_ADVANCE:
		m->now += call->n * STEP_NS;
		return ENDS;
	default:
		return model_wait(m, nr, call, a);
	}
}

/* A thread that is through takes no signals any more: the others shall. */
static const struct call last_call = { .op = OP_MASK, .n = EVERYTHING };

/* Each needs what a drawn program seldom has together. */
static const char *const known[] = {
	"wait:3 / wait:2 / kill:2 kill:0", /* two signals for a thread that takes one */
	"mask:0 / wait:1 / kill:0",	   /* a signal for a thread that then blocks it */
	"kill:8 deliver:0 / kill:9",	   /* a process that is stopped is killed */
	NULL
};

DEFINE_OBJECT(signal, "hosted_process.action; hosted_process.pending", .last = &last_call,
	      .known = known);
