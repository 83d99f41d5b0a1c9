/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The choice of a process to kill when memory is out (kernel/mm/oom.c), from those of two users,
 * who also hold memory of the kernel's. The model is a list of processes in the order of their
 * birth. A program of several threads kills nobody: two that choose at once may choose the same.
 */
#include "kernel/fs/fs.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"
#include "lib/errno.h"
#include "lib/signal.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { PROCS = 5, USERS = 2, VALUES = 4, PATIENCE_MS = 2000, TABLES = 1 };

/* The number of a call is a process or a user, plus PROCS times which value. Process 0 is ours. */
enum op { OP_SPAWN, OP_END, OP_SIZE, OP_ADJUST, OP_HOLD, OP_DIE, OP_ADVANCE, OP_KILL, OP_SCORE };
static const char *const op_names[] = { "spawn", "end",	    "size", "adjust", "hold",
					"die",	 "advance", "kill", "score",  NULL };
static const s32 sizes[VALUES] = { 10, 100, 1000, 200000 },
		 adjustments[VALUES] = { 0, -1000, -500, 500 };
static const u32 delays_ms[VALUES] = { 1, 500, 1999, 2000 };

static unsigned index_of(const struct call *call)
{
	return call->n % PROCS;
}

static unsigned value_of(const struct call *call)
{
	return call->n / PROCS % VALUES;
}

static struct subject {
	bool exists;
	struct proc proc;
	struct thread thread;
	struct mm mm;
} subjects[PROCS];
static struct account users[USERS];
static int next_pid = 100, first_pid; /* no run has the number of another's process */
static int killed; /* the number of the process that was, as the log says; 0: none */

/* --- what the killer calls ------------------------------------------------------------------ */

void kprintf(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	killed = va_arg(args, int);
	va_end(args);
}

struct proc *proc_get(struct proc *p)
{
	return p;
}

void proc_put(struct proc *p)
{
	(void)p;
}

u64 page_chain_length(u64 first)
{
	return first;
}

/* --- the object ------------------------------------------------------------------------------ */

static void spawn(unsigned i, unsigned user)
{
	struct subject *s = &subjects[i];
	struct proc *p = &s->proc;

	memset(s, 0, sizeof(*s));
	s->exists = true;
	s->mm = (struct mm){ .rss = (u64)sizes[0], .pt_root = TABLES };
	s->thread.proc = p;
	s->thread.account = &users[user];
	list_init(&s->thread.pending.queue);
	spin_lock_init(&p->sig_lock, "process");
	list_init(&p->threads);
	list_init(&p->pending.queue);
	list_add_tail(&p->threads, &s->thread.proc_link);
	p->leader = &s->thread;
	p->nr_threads = 1;
	p->pid = next_pid++;
	p->mm = &s->mm;
	list_add_tail(&all_procs, &p->all_link);
}

static void end(unsigned i)
{
	struct subject *s = &subjects[i];

	signal_flush(&s->proc.pending);
	signal_flush(&s->thread.pending);
	list_del(&s->proc.all_link);
	s->exists = false;
}

static void *create(unsigned nr_threads)
{
	(void)nr_threads;
	first_pid = next_pid;
	memset(users, 0, sizeof(users));
	memset(subjects, 0, sizeof(subjects));
	spawn(0, 0);
	return subjects;
}

static void destroy(void *object)
{
	(void)object;
	for (unsigned i = 0; i < PROCS; i++)
		if (subjects[i].exists)
			end(i);
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_SPAWN... OP_SCORE] = { 0, PROCS *VALUES - 1 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { OP_SPAWN,	OP_SPAWN, OP_END,   OP_SIZE, OP_SIZE,
				    OP_ADJUST,	OP_HOLD,  OP_SCORE, OP_DIE,  OP_ADVANCE,
				    OP_ADVANCE, OP_KILL,  OP_KILL,  OP_KILL };

	return (struct call){ .op = often[prng_below(random, alone ? 14 : 8)],
			      .n = prng_below(random, PROCS * VALUES) };
}

/* The birth of who was killed, or 0. A signal keeps our process from waiting for memory. */
static long make_room(void)
{
	current->proc = &subjects[0].proc;
	killed = 0;
	world_signal(world_thread());
	oom_kill();
	world_take_signal();
	current->proc = &hosted_process;
	return killed ? killed - first_pid + 1 : 0;
}

static long change(unsigned i, const struct call *call)
{
	struct subject *s = &subjects[i];
	bool fresh = call->op == OP_SPAWN;

	if (call->op == OP_HOLD) {
		users[i % USERS].used[RES_HELD] = (u64)sizes[value_of(call)];
		return 0;
	}
	if (s->exists == fresh || (!i && call->op == OP_END))
		return -EINVAL;
	if (fresh)
		spawn(i, value_of(call) % USERS);
	else if (call->op == OP_END)
		end(i);
	else if (call->op == OP_SIZE)
		s->mm.rss = (u64)sizes[value_of(call)];
	else
		s->proc.oom_score_adj = (u32)adjustments[value_of(call)];
	return 0;
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	unsigned i = index_of(call);
	struct answer answer = { 0 };

	(void)object;
	(void)nr;
	(void)id;
	if (call->op <= OP_HOLD) {
		spin_lock(&proc_tree_lock);
		answer.value = change(i, call);
		spin_unlock(&proc_tree_lock);
	} else if (call->op == OP_KILL) {
		answer.value = make_room();
	} else if (call->op == OP_ADVANCE) {
		clock_advance(delays_ms[value_of(call)] * 1000000ull);
	} else if (call->op == OP_SCORE) {
		answer.value = subjects[i].exists ? oom_score(&subjects[i].proc) : -EINVAL;
	} else {
		answer.value = subjects[i].exists
				       ? signal_send_proc(&subjects[i].proc, SIGKILL, NULL)
				       : -EINVAL;
	}
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	u64 now_ms, held[USERS];
	unsigned births;
	unsigned waits_for; /* the birth of whose end is waited for; 0: nobody's */
	u64 until_ms;
	struct task_model {
		unsigned birth; /* 0: there is none */
		unsigned user;
		bool dying;
		s64 size, adjustment;
	} task[PROCS];
};

static void model_spawn(struct model *m, unsigned i, unsigned user)
{
	m->task[i] = (struct task_model){ .birth = ++m->births, .user = user, .size = sizes[0] };
}

static void model_create(void *model, unsigned nr_threads)
{
	(void)nr_threads;
	memset(model, 0, sizeof(struct model));
	model_spawn(model, 0, 0);
}

/* 0: it must not be killed. */
static s64 weight(const struct task_model *t)
{
	s64 pages = t->size + TABLES + t->adjustment * (s64)page_nr_total() / 1000;

	return !t->birth || t->adjustment == -1000 ? 0 : max(pages, (s64)1);
}

static s64 user_weight(const struct model *m, unsigned user)
{
	s64 sum = (s64)m->held[user];

	for (unsigned i = 0; i < PROCS; i++)
		sum += m->task[i].user == user ? weight(&m->task[i]) : 0;
	return sum;
}

/* The oldest of those whose user has most; with @user, of that user's those that have most. */
static const struct task_model *worst(const struct model *m, int user)
{
	const struct task_model *found = NULL;
	s64 most = 0;

	for (unsigned i = 0; i < PROCS; i++) {
		const struct task_model *t = &m->task[i];
		s64 key = user < 0 ? user_weight(m, t->user) : weight(t);

		if (!weight(t) || t->dying || (user >= 0 && t->user != (unsigned)user))
			continue;
		if (!found || key > most || (key == most && t->birth < found->birth)) {
			found = t;
			most = key;
		}
	}
	return found;
}

/* The oldest that dies and could have been chosen, or NULL. */
static const struct task_model *oldest_dying(const struct model *m)
{
	const struct task_model *found = NULL;

	for (unsigned i = 0; i < PROCS; i++)
		if (m->task[i].dying && weight(&m->task[i]) &&
		    (!found || m->task[i].birth < found->birth))
			found = &m->task[i];
	return found;
}

static long model_kill(struct model *m)
{
	const struct task_model *dying = oldest_dying(m), *victim;
	long i;

	if (dying && m->waits_for != dying->birth) {
		m->waits_for = dying->birth;
		m->until_ms = m->now_ms + PATIENCE_MS;
	}
	if (dying && m->now_ms < m->until_ms)
		return 0;
	m->waits_for = 0;
	victim = worst(m, -1);
	i = (victim ? worst(m, (int)victim->user) : &m->task[0]) - m->task;
	m->task[i].dying = true;
	return m->task[i].birth;
}

static long model_change(struct model *m, unsigned i, const struct call *call)
{
	struct task_model *t = &m->task[i];

	if (call->op == OP_HOLD) {
		m->held[i % USERS] = (u64)sizes[value_of(call)];
		return 0;
	}
	if (!t->birth == (call->op != OP_SPAWN) || (!i && call->op == OP_END))
		return -EINVAL;
	if (call->op == OP_SPAWN)
		model_spawn(m, i, value_of(call) % USERS);
	else if (call->op == OP_END)
		t->birth = 0;
	else if (call->op == OP_SIZE)
		t->size = sizes[value_of(call)];
	else if (call->op == OP_ADJUST)
		t->adjustment = adjustments[value_of(call)];
	else
		t->dying = true;
	return 0;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	unsigned i = index_of(call);

	(void)nr;
	(void)id;
	a->value = 0;
	if (call->op == OP_ADVANCE)
		m->now_ms += delays_ms[value_of(call)];
	else if (call->op == OP_KILL)
		a->value = model_kill(m);
	else if (call->op != OP_SCORE)
		a->value = model_change(m, i, call);
	else
		a->value = m->task[i].birth ? weight(&m->task[i]) * 1000 / (s64)page_nr_total()
					    : -EINVAL;
	return ENDS;
}

DEFINE_OBJECT(oom, "subjects; users");
