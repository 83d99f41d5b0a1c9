/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Futexes (kernel/task/futex.c): two words, each known by its address and, shared, by its page. The
 * model is a queue of those whose wait will answer 0: a wake takes the first that fit, and says how
 * many it took. Who is woken, and answers that a signal or the time ended the wait, has swallowed
 * that wakeup. The first thread is a fair task, the others have real-time priorities: a wait that
 * was woken answers also as which of all, and the more urgent go first.
 */
#include "kernel/mm/mm.h"
#include "kernel/syscall/syscall.h"
#include "kernel/time/timespec.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "libc.h"
#include "object.h"

enum { WORDS = 2, STEP_NS = 10000, LIMIT = 2 * STEP_NS, BEGIN_NS = 1000000000 };
enum { WAIT = 9, WAKE = 10, REQUEUE = 3, CMP_REQUEUE = 4, WAKE_OP = 5, PRIVATE = 128 };

/*
 * The number of a call says which word, which value or how many, and which bits. One thread alone
 * says whether it is shared; two share nothing, three do. wake_op wakes one, and of the other
 * word's one or all if that word compares as the number says; it may add 1 or 2 there if no other
 * thread runs. A requeue wakes one or none, and moves none, one or all.
 */
enum op {
	OP_WAIT,
	OP_WAIT_UNTIL,
	OP_WAKE,
	OP_STORE,
	OP_REQUEUE,
	OP_CMP_REQUEUE,
	OP_WAKE_OP,
	OP_SIGNAL,
	OP_ADVANCE
};
static const char *const op_names[] = { "wait",	       "wait_until", "wake",   "store",	  "requeue",
					"cmp_requeue", "wake_op",    "signal", "advance", NULL };

enum { FAIR_PRIO = 120, FIFO_PRIO = 50 };

static unsigned nr_threads_of_run;

static unsigned word_of(const struct call *call)
{
	return call->n & 1;
}

static u32 value_of(const struct call *call)
{
	return call->n >> 1 & 1;
}

static unsigned is_shared(const struct call *call)
{
	return nr_threads_of_run == 1 ? call->n >> 2 & 1 : nr_threads_of_run == 3;
}

static u32 bits_of(const struct call *call)
{
	return call->n >> 3 & 3 ? call->n >> 3 & 3 : ~0u;
}

static long most_woken(const struct call *call)
{
	return value_of(call) ? INT32_MAX : 1;
}

static long most_of_other(const struct call *call)
{
	return value_of(call) ? 1 : INT32_MAX;
}

static long woken_first(const struct call *call)
{
	return (call->n >> 3 & 3) != 1;
}

static long most_moved(const struct call *call)
{
	static const long most[] = { INT32_MAX, INT32_MAX, 1, 0 };

	return most[call->n >> 3 & 3];
}

/* How FUTEX_WAKE_OP compares the other word, and with what: as futex(2) has it. */
enum { EQ, NE, LT, LE, GT, GE, NR_COMPARISONS };
enum { ARGUMENTS = 3, NUMBERS = 32 }; /* -1, 0 and 1; of all other calls */

static unsigned comparison_of(const struct call *call)
{
	return call->n / NUMBERS % NR_COMPARISONS;
}

static s32 argument_of(const struct call *call)
{
	return (s32)(call->n / (NUMBERS * NR_COMPARISONS) % ARGUMENTS) - 1;
}

static u32 added_by(const struct call *call)
{
	return value_of(call) || nr_threads_of_run > 1 ? 0 : 1 + (call->n >> 3 & 1);
}

/* The last argument of FUTEX_WAKE_OP: add 1, add 1 << 1, or set no bit. */
static u32 wake_op_of(const struct call *call)
{
	static const u32 code[] = { 2u << 28, 1u << 28 | 1u << 12, 9u << 28 | 1u << 12 };

	return code[added_by(call)] | comparison_of(call) << 24 | ((u32)argument_of(call) & 0xfff);
}

static void *create(unsigned nr_threads)
{
	u32 *words = (u32 *)page_alloc_user();

	nr_threads_of_run = nr_threads;
	for (unsigned nr = 0; nr < nr_threads; nr++)
		world_thread_of(nr)->task.prio = nr ? FIFO_PRIO - (int)nr : FAIR_PRIO;
	if (words)
		words[0] = words[1] = 0;
	return words;
}

static void destroy(void *object)
{
	page_put((u64)object);
}

static const struct range ranges[ARRAY_SIZE(op_names)] = {
	[OP_WAIT... OP_CMP_REQUEUE] = { 0, NUMBERS - 1 },
	[OP_WAKE_OP] = { 0, NUMBERS *NR_COMPARISONS *ARGUMENTS - 1 },
	[OP_SIGNAL] = { 0, 2 },
	[OP_ADVANCE] = { 1, 2 },
};

static struct call draw(struct prng *random, bool alone)
{
	static const u8 often[] = { OP_WAIT,	OP_WAIT,	OP_WAIT,    OP_WAIT_UNTIL, OP_WAKE,
				    OP_WAKE,	OP_ADVANCE,	OP_STORE,   OP_STORE,	   OP_STORE,
				    OP_REQUEUE, OP_CMP_REQUEUE, OP_WAKE_OP, OP_SIGNAL };
	static struct call last;
	struct call call = { .op = often[prng_below(random, ARRAY_SIZE(often))] };

	call.n = prng_below(random, alone || prng_below(random, 2) ? NUMBERS : 4);
	if (call.op == OP_WAKE_OP)
		call.n += NUMBERS * prng_below(random, NR_COMPARISONS * ARGUMENTS);
	/* A store is followed by a wake of all. */
	if (last.op == OP_STORE)
		call = (struct call){ .op = OP_WAKE, .n = (last.n & 5) | 2 };
	last = call;
	if (call.op == OP_SIGNAL)
		call.n = prng_below(random, alone ? 1 : 3);
	if (call.op == OP_ADVANCE)
		call.n = 1 + prng_below(random, 2);
	if (call.op < OP_STORE && !prng_below(random, 8))
		call.how = 1 + (u8)prng_below(random, 2);
	return call;
}

static long futex(u32 *word, int op, const struct call *call, u64 val, u64 arg4, u32 *second,
		  u64 val3)
{
	int flags = is_shared(call) ? 0 : PRIVATE;
	const u64 args[] = { (u64)word, (u64)(op | flags), val, arg4, (u64)second, val3 };

	return sys_futex(args);
}

static long call_futex(u32 *words, const struct call *call)
{
	const struct timespec until = { .sec = 1, .nsec = LIMIT };
	u32 *word = &words[word_of(call)], *other = &words[!word_of(call)];

	switch ((enum op)call->op) {
	case OP_WAIT:
		return futex(word, WAIT, call, value_of(call), 0, NULL, bits_of(call));
	case OP_WAIT_UNTIL:
		return futex(word, WAIT, call, value_of(call), (u64)&until, NULL, bits_of(call));
	case OP_WAKE:
		return futex(word, WAKE, call, (u64)most_woken(call), 0, NULL, bits_of(call));
	case OP_STORE:
		WRITE_ONCE(*word, value_of(call));
		return 0;
	case OP_REQUEUE:
		return futex(word, REQUEUE, call, (u64)woken_first(call), (u64)most_moved(call),
			     other, 0);
	case OP_CMP_REQUEUE:
		return futex(word, CMP_REQUEUE, call, (u64)woken_first(call), (u64)most_moved(call),
			     other, value_of(call));
	default:
		return futex(word, WAKE_OP, call, 1, (u64)most_of_other(call), other,
			     wake_op_of(call));
	}
}

static struct answer perform(void *object, unsigned nr, unsigned id, const struct call *call)
{
	struct answer answer = { 0 };

	(void)nr;
	(void)id;
	user_memory_is(call->how, 0);
	world_count_wakeups(call->op >= OP_WAKE && call->op <= OP_WAKE_OP);
	world_take_wakeup();
	if (call->op == OP_SIGNAL)
		world_signal(call->n);
	else if (call->op == OP_ADVANCE)
		clock_advance(call->n * STEP_NS);
	else
		answer.value = call_futex(object, call);
	world_count_wakeups(false);
	if (call->op <= OP_WAIT_UNTIL && !answer.value)
		answer.digest = world_take_wakeup();
	if (answer.value == -ERESTART_RESTARTBLOCK)
		answer.value = -ERESTARTSYS;
	if (answer.value == -ERESTARTSYS)
		world_take_signal();
	return answer;
}

/* --- the model ---------------------------------------------------------------------------- */

struct model {
	u32 word[WORDS];
	bool told[WORDS]; /* all who might wait for another value were woken */
	bool away[WORDS]; /* waiters may have been moved to the other word */
	u64 now;
	bool signalled[NR_FIBERS];
	unsigned nr_threads, nr_waiting;
	struct waiting {
		unsigned nr, word, shared;
		u32 bits;
		u64 woken; /* as which of all, it said */
	} queue[NR_FIBERS];
};

/* A wakeup that was out of turn: an answer that nobody gives. */
#define OUT_OF_TURN -1000

static void model_create(void *model, unsigned nr_threads)
{
	*(struct model *)model = (struct model){ .now = BEGIN_NS, .nr_threads = nr_threads };
}

static bool model_may_end(const void *model)
{
	return !((const struct model *)model)->nr_waiting;
}

static bool is_waiting(const struct model *m, unsigned nr)
{
	for (unsigned i = 0; i < m->nr_waiting; i++)
		if (m->queue[i].nr == nr)
			return true;
	return false;
}

/* Urgent threads have high numbers, but for the first, which is the only one that is not urgent. */
static void model_enqueue(struct model *m, const struct waiting *w)
{
	unsigned at = m->nr_waiting++;

	for (; at && m->queue[at - 1].nr < w->nr; at--)
		m->queue[at] = m->queue[at - 1];
	m->queue[at] = *w;
}

static long model_wake(struct model *m, unsigned word, unsigned shared, long most, u32 bits)
{
	long woken = 0;
	unsigned kept = 0;
	u64 last = 0;

	for (unsigned i = 0; i < m->nr_waiting; i++) {
		const struct waiting *w = &m->queue[i];

		if (woken < most && w->word == word && w->shared == shared && w->bits & bits) {
			woken += w->woken > last ? 1 : OUT_OF_TURN;
			last = w->woken;
		} else {
			m->queue[kept++] = *w;
		}
	}
	m->nr_waiting = kept;
	return woken;
}

/* Says how many will be woken by the other word from now on, in the order they have. */
static long model_move(struct model *m, unsigned word, unsigned shared, long most)
{
	long moved = 0;

	for (unsigned i = 0; i < m->nr_waiting; i++)
		if (moved < most && m->queue[i].word == word && m->queue[i].shared == shared) {
			m->queue[i].word = !word;
			moved++;
		}
	return moved;
}

static enum model_says model_wait(struct model *m, unsigned nr, const struct call *call,
				  struct answer *a)
{
	bool late = call->op == OP_WAIT_UNTIL && m->now >= BEGIN_NS + LIMIT;

	if (!a->value) {
		const struct waiting w = { nr, word_of(call), is_shared(call), bits_of(call),
					   a->digest };

		model_enqueue(m, &w);
		return ENDS;
	}
	if (call->how == USER_BAD) {
		a->value = -EFAULT;
		return ENDS;
	}
	if ((a->value == -ERESTARTSYS && m->signalled[nr]) || (a->value == -ETIMEDOUT && late))
		return MAY_SLEEP;
	a->value = -EAGAIN;
	if (m->word[word_of(call)] != value_of(call))
		return m->told[word_of(call)] ? ENDS : MAY_SLEEP;
	a->value = -ETIMEDOUT;
	return late ? ENDS : MUST_SLEEP;
}

/* Plain requeue says how many it woke; the other adds the moved, who may yet end otherwise. */
static void model_requeue(struct model *m, const struct call *call, struct answer *a)
{
	bool compares = call->op == OP_CMP_REQUEUE, fits = m->word[word_of(call)] == value_of(call);
	long nr, moved, most = m->nr_threads;

	/* Beside a store that has not yet woken anybody. */
	if (compares && m->nr_threads > 1)
		fits = a->value != -EAGAIN;
	if (compares && !fits) {
		a->value = -EAGAIN;
		return;
	}
	nr = model_wake(m, word_of(call), is_shared(call), woken_first(call), ~0u);
	moved = model_move(m, word_of(call), is_shared(call), most_moved(call));
	m->away[word_of(call)] |= most_moved(call) > 0;
	if (compares)
		nr += moved;
	if (!compares || a->value < nr || a->value > most)
		a->value = nr;
}

static bool compares_true(const struct call *call, u32 word)
{
	s32 value = (s32)word, with = argument_of(call);

	switch (comparison_of(call)) {
	case EQ:
		return value == with;
	case NE:
		return value != with;
	case LT:
		return value < with;
	case LE:
		return value <= with;
	case GT:
		return value > with;
	default:
		return value >= with;
	}
}

static void model_tell(struct model *m, unsigned word)
{
	m->away[!word] = false;
	m->told[word] |= !m->away[word];
}

static void model_wake_op(struct model *m, const struct call *call, struct answer *a)
{
	u32 *other = &m->word[!word_of(call)];
	long nr = model_wake(m, word_of(call), is_shared(call), 1, ~0u);

	/* It looks at the word, and later wakes whoever is there by then. */
	if (compares_true(call, *other) && most_of_other(call) > 1)
		model_tell(m, !word_of(call));
	if (compares_true(call, *other) || (m->nr_threads > 1 && a->value > nr))
		nr += model_wake(m, !word_of(call), is_shared(call), most_of_other(call), ~0u);
	*other += added_by(call);
	a->value = nr;
}

static enum model_says model_perform(void *model, unsigned nr, unsigned id, const struct call *call,
				     struct answer *a)
{
	struct model *m = model;
	unsigned word = word_of(call), shared = is_shared(call);

	(void)id;
	if (is_waiting(m, nr))
		return MUST_SLEEP;
	switch ((enum op)call->op) {
	case OP_WAIT:
	case OP_WAIT_UNTIL:
		return model_wait(m, nr, call, a);
	case OP_WAKE:
		a->value = -EFAULT;
		if (call->how == USER_BAD && shared)
			return ENDS;
		a->value = model_wake(m, word, shared, most_woken(call), bits_of(call));
		if (most_woken(call) > 1 && bits_of(call) == ~0u)
			model_tell(m, word);
		return ENDS;
	case OP_STORE:
		m->told[word] &= m->word[word] == value_of(call);
		m->word[word] = value_of(call);
		return ENDS;
	case OP_REQUEUE:
	case OP_CMP_REQUEUE:
		model_requeue(m, call, a);
		return ENDS;
	case OP_WAKE_OP:
		model_wake_op(m, call, a);
		return ENDS;
	case OP_SIGNAL:
		m->signalled[call->n] = true;
		return ENDS;
	default:
		m->now += call->n * STEP_NS;
		return ENDS;
	}
}

/*
 * The more urgent waiter came later and is woken first, also if both or one of them were moved. A
 * wait for a value is told by a wake_op of the other word. The last: a wait that was moved sleeps
 * on when its first word is woken.
 */
static const char *const known[] = { "wait:0 / wait:0 / wake:2",
				     "wait:1 / wait:1 / requeue:9 wake:2",
				     "wait:1 / wait:0 / requeue:8 wake:3",
				     "wait:1 / wait:1 / wake_op:192",
				     "wait:0 / store:2 wake_op:385",
				     "wait:4 / store:30 wake:6 / requeue:14",
				     NULL };

DEFINE_OBJECT(futex, "*(u32 *)object@2", .known = known, .model_may_end = model_may_end);
