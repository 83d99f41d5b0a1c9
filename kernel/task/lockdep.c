/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lock order and interrupt safety, checked as locks are taken (debug builds). A deadlock needs an
 * unlucky moment; the order that makes it possible shows in every run.
 *
 * Locks of one name form a class. Taking a lock of class B while holding one of class A is an edge
 * A -> B in a graph, for ever. An edge that would close a cycle is reported at once, with the chain
 * that was there before. Within a class the order is by address (futex.c takes two buckets), and
 * for runqueues by CPU, as sched/host.h demands.
 *
 * A class that is ever taken in an interrupt must never be taken with interrupts on: the interrupt
 * could come to the CPU that holds it. Nor may a lock that is taken with interrupts on nest in it.
 *
 * A CPU that waited for spin locks and held them for a second says so when it releases the last,
 * once for each class: nothing else ran there.
 *
 * Spin locks belong to the CPU (nobody switches with one held, and a runqueue's stays with its
 * CPU), mutexes to the thread. Idea: Linux's lockdep (Molnar, 2006), without its states for readers
 * and softirqs.
 */
#include "kernel/task/lockdep.h"

#include "kernel/base/guards.h"
#include "kernel/kernel.h"
#include "kernel/task/thread.h"
#include "lib/fmt.h"
#include "lib/string.h"
#include "sched/host.h"

#if DEBUG

#define NR_CLASSES 256
#define WORDS	   (NR_CLASSES / 64)
STATIC_ASSERT(NR_CLASSES % 64 == 0, "sets of classes are whole words");

struct lock_class {
	const char *name;
	bool in_irq, with_irqs_on; /* has been taken so */
	bool long_said;		   /* that it was held for long */
	u64 before[WORDS];	   /* classes taken while this one was held */
};

static struct lock_class classes[NR_CLASSES];
static unsigned nr_classes;
static bool graph_lock; /* guards the graph; taken with interrupts off, for short */

struct held_stack {
	struct held_lock {
		const void *lock;
		struct lock_class *class;
	} lock[LOCKDEP_DEPTH];
	unsigned nr;
};
STATIC_ASSERT(sizeof(struct held_stack) <= sizeof(struct held_mutexes),
	      "a thread has room for one");
static struct held_stack held_by_cpu[MAX_CPUS];
static u64 since_ns[MAX_CPUS]; /* when a CPU that held no spin lock wanted one */

static void lock_graph(void)
{
	while (__atomic_exchange_n(&graph_lock, true, __ATOMIC_ACQUIRE))
		arch_cpu_relax();
}

static void unlock_graph(void)
{
	__atomic_store_n(&graph_lock, false, __ATOMIC_RELEASE);
}

static struct lock_class *class_of(const char *name)
{
	unsigned n = __atomic_load_n(&nr_classes, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < n; i++)
		if (classes[i].name == name || !strcmp(classes[i].name, name))
			return &classes[i];
	lock_graph();
	assert(nr_classes < NR_CLASSES);
	struct lock_class *c = &classes[nr_classes];
	c->name = name;
	__atomic_store_n(&nr_classes, nr_classes + 1, __ATOMIC_RELEASE);
	unlock_graph();
	return c;
}

/* --- the order ---------------------------------------------------------------------- */

static unsigned index_of(const struct lock_class *c)
{
	return (unsigned)(c - classes);
}

static bool has_edge(const struct lock_class *from, const struct lock_class *to)
{
	return from->before[index_of(to) / 64] >> (index_of(to) % 64) & 1;
}

/*
 * Returns how many steps the path @from -> ... -> @to has, 0 if there is none, and leaves its
 * classes behind @from in path[]. @seen bounds the search. The graph is locked.
 */
static unsigned find_path(const struct lock_class *from, const struct lock_class *to, u64 *seen,
			  const struct lock_class **path)
{
	path[0] = to;
	if (has_edge(from, to))
		return 1;
	seen[index_of(from) / 64] |= BIT(index_of(from) % 64);
	for (unsigned i = 0; i < nr_classes; i++) {
		if (!has_edge(from, &classes[i]) || seen[i / 64] >> (i % 64) & 1)
			continue;
		unsigned steps = find_path(&classes[i], to, seen, path + 1);
		path[0] = &classes[i];
		if (steps)
			return steps + 1;
	}
	return 0;
}

/* Returns the path from @class to @held as text, NULL if there is none. The graph is locked. */
static const char *chain_to(const struct lock_class *class, const struct lock_class *held)
{
	static const struct lock_class *path[NR_CLASSES];
	static char chain[256];
	u64 seen[WORDS] = { 0 };
	unsigned steps = find_path(class, held, seen, path);
	struct text t = text_of(chain, sizeof(chain));

	text_add(&t, "%s", class->name);
	for (unsigned i = 0; i < steps; i++)
		text_add(&t, " -> %s", path[i]->name);
	return steps ? chain : NULL;
}

/*
 * The CPU that holds @outer in an interrupt may wait for @inner, and the holder of @inner be
 * interrupted and want @outer.
 */
static void check_irq_pair(const struct lock_class *outer, const struct lock_class *inner)
{
	if (outer->in_irq && inner->with_irqs_on)
		panic("lockdep: %s is taken in interrupts, and under it %s, which is also taken "
		      "with interrupts on",
		      outer->name, inner->name);
}

static void check_order(const struct held_lock *held, const void *lock, struct lock_class *class)
{
	if (held->class == class) {
		if (held->lock >= lock)
			panic("lockdep: a second lock of class %s, not in order of address",
			      class->name);
		return;
	}
	if (has_edge(held->class, class))
		return;
	lock_graph();
	const char *chain = chain_to(class, held->class);
	held->class->before[index_of(class) / 64] |= BIT(index_of(class) % 64);
	unlock_graph();
	if (chain)
		panic("lockdep: now %s -> %s, and before %s", held->class->name, class->name,
		      chain);
	check_irq_pair(held->class, class);
}

/* The class has a new property: look at all that nests in it, or that it nests in. */
static void check_irq_neighbours(const struct lock_class *class)
{
	for (unsigned i = 0; i < nr_classes; i++) {
		if (has_edge(class, &classes[i]))
			check_irq_pair(class, &classes[i]);
		if (has_edge(&classes[i], class))
			check_irq_pair(&classes[i], class);
	}
}

static void check_irqs(struct lock_class *class, bool irqs_on)
{
	bool in_irq = this_cpu()->irq_depth;
	bool *seen = in_irq ? &class->in_irq : &class->with_irqs_on;

	if ((!in_irq && !irqs_on) || *seen)
		return;
	*seen = true;
	if (class->in_irq && class->with_irqs_on)
		panic("lockdep: %s is taken in interrupts, and also with interrupts on",
		      class->name);
	check_irq_neighbours(class);
}

/* --- held locks ----------------------------------------------------------------------- */

static void push(struct held_stack *stack, const void *lock, struct lock_class *class)
{
	assert(stack->nr < LOCKDEP_DEPTH);
	stack->lock[stack->nr++] = (struct held_lock){ lock, class };
}

static struct lock_class *pop(struct held_stack *stack, const void *lock)
{
	for (unsigned i = stack->nr; i-- > 0;) {
		struct lock_class *class = stack->lock[i].class;

		if (stack->lock[i].lock != lock)
			continue;
		stack->nr--;
		for (; i < stack->nr; i++)
			stack->lock[i] = stack->lock[i + 1];
		return class;
	}
	panic("lockdep: a lock is released that is not held here");
}

static void check_all(const struct held_stack *stack, const void *lock, struct lock_class *class)
{
	for (unsigned i = 0; i < stack->nr; i++)
		check_order(&stack->lock[i], lock, class);
}

/* Returns the running thread's mutexes, or NULL before there are threads. */
static struct held_stack *held_mutexes(void)
{
	return current ? (struct held_stack *)&current->held_mutexes : NULL;
}

static void acquire(const void *lock, struct lock_class *class)
{
	struct held_stack *mutexes = held_mutexes();
	struct held_stack *spins = &held_by_cpu[arch_cpu_id()];

	/* An interrupt handler does not act for the thread that it interrupted. */
	if (mutexes && !this_cpu()->irq_depth)
		check_all(mutexes, lock, class);
	check_all(spins, lock, class);
	if (!spins->nr)
		since_ns[arch_cpu_id()] = arch_clock_ns();
	push(spins, lock, class);
}

void lockdep_acquire(const void *lock, const char *name)
{
	bool irqs_on = arch_irq_enabled();
	unsigned long flags = arch_irq_save();
	struct lock_class *class = class_of(name);

	check_irqs(class, irqs_on);
	acquire(lock, class);
	arch_irq_restore(flags);
}

/* The CPU releases its last spin lock, which is of @class. */
static void check_length(struct lock_class *class)
{
	u64 ns = arch_clock_ns() - since_ns[arch_cpu_id()];

	if (ns < NS_PER_SEC || __atomic_exchange_n(&class->long_said, true, __ATOMIC_RELAXED))
		return;
	kprintf("lockdep: %s kept cpu %u for %llu ms\n", class->name, arch_cpu_id(),
		ns / NS_PER_MS);
	backtrace_print((u64)__builtin_frame_address(0));
}

void lockdep_release(const void *lock)
{
	unsigned long flags = arch_irq_save();
	struct held_stack *spins = &held_by_cpu[arch_cpu_id()];
	struct lock_class *class = pop(spins, lock);

	if (!spins->nr)
		check_length(class);
	arch_irq_restore(flags);
}

void lockdep_acquire_host(const struct host_lock *lock)
{
	static const char *const names[] = { [HOST_RANK_RQ] = "sched rq",
					     [HOST_RANK_GROUP] = "sched group",
					     [HOST_RANK_SHARD] = "sched shard",
					     [HOST_RANK_LEAF] = "sched leaf" };

	assert(lock->rank >= HOST_RANK_RQ && lock->rank <= HOST_RANK_LEAF && !arch_irq_enabled());
	acquire(lock, class_of(names[lock->rank]));
}

void lockdep_acquire_mutex(const struct mutex *m, bool trying)
{
	/* Turn interrupts off first: otherwise this thread may move before it uses this_cpu(). */
	unsigned long flags = arch_irq_save();
	struct lock_class *class = class_of(m->queue.lock.name);
	struct held_stack *mutexes = held_mutexes();
	const struct held_stack *spins = &held_by_cpu[arch_cpu_id()];

	if (spins->nr)
		panic("lockdep: the mutex %s is taken under the spin lock %s", class->name,
		      spins->lock[spins->nr - 1].class->name);
	assert(!this_cpu()->preempt_count && !this_cpu()->irq_depth);
	if (mutexes && !trying)
		check_all(mutexes, m, class);
	if (mutexes)
		push(mutexes, m, class);
	arch_irq_restore(flags);
}

void lockdep_release_mutex(const struct mutex *m)
{
	struct held_stack *mutexes = held_mutexes();

	debug_assert(!arch_in_irq());
	if (mutexes)
		pop(mutexes, m);
}

/* --- for guards.c ----------------------------------------------------------------------- */

#if CHECK_GUARDS
/*
 * A class that was taken with interrupts on may be held by the code that an interrupt met: a lock
 * of that kind is not the interrupt's.
 */
unsigned lockdep_held(struct lockdep_lock *held, unsigned max)
{
	bool in_irq = this_cpu()->irq_depth;
	const struct held_stack *stacks[] = { in_irq ? NULL : held_mutexes(),
					      &held_by_cpu[arch_cpu_id()] };
	unsigned nr = 0;

	debug_assert(!arch_irq_enabled());
	for (unsigned s = 0; s < ARRAY_SIZE(stacks); s++)
		for (unsigned i = 0; stacks[s] && i < stacks[s]->nr && nr < max; i++) {
			const struct held_lock *l = &stacks[s]->lock[i];

			if (!in_irq || !l->class->with_irqs_on)
				held[nr++] = (struct lockdep_lock){ l->lock, l->class->name };
		}
	return nr;
}
#endif

#endif
