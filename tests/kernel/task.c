/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads, locks, waiting and preemption: stress on all CPUs at once, with a count at the end that
 * is right only if nothing was lost, done twice, or left behind.
 */
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/account.h"
#include "kernel/task/preempt.h"
#include "kernel/task/proc.h"
#include "kernel/time/time.h"
#include "lib/string.h"

/* Runs @fn(@arg) in @nr threads and waits until all have returned. */
struct team {
	void (*fn)(void *arg);
	void *arg;
	u32 running;
	struct waitq done;
};

static void team_member(void *arg)
{
	struct team *team = arg;

	team->fn(team->arg);
	/* Under the lock, so that the team is gone only after the last member has left it. */
	unsigned long flags = spin_lock_irqsave(&team->done.lock);
	team->running--;
	spin_unlock_irqrestore(&team->done.lock, flags);
}

static bool run_team(unsigned nr, void (*fn)(void *), void *arg)
{
	struct team team = { .fn = fn, .arg = arg, .running = nr };
	bool all = true;

	waitq_init(&team.done, "team");
	for (unsigned i = 0; i < nr && all; i++)
		all = kthread_create("team", team_member, &team);
	while (all) {
		unsigned long flags = spin_lock_irqsave(&team.done.lock);
		bool finished = !team.running;
		spin_unlock_irqrestore(&team.done.lock, flags);
		if (finished)
			break;
		sleep_until(clock_ns() + NS_PER_MS, 0);
	}
	return all;
}

static unsigned nr_online(void)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < MAX_CPUS; i++)
		nr += cpus[i] && cpus[i]->online;
	return nr;
}

/* --- locks ------------------------------------------------------------------------ */

#define ROUNDS 600

static struct {
	struct spinlock spin;
	struct mutex mutex;
	volatile u64 counter; /* plain reads and writes: only the lock makes ++ whole */
	u64 inside;
} locked;

static void count_under_spinlock(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < ROUNDS; i++) {
		spin_lock(&locked.spin);
		locked.counter++;
		spin_unlock(&locked.spin);
	}
}

SELFTEST(spinlock_excludes_on_all_cpus)
{
	unsigned nr = 2 * nr_online();

	spin_lock_init(&locked.spin, "test");
	locked.counter = 0;
	SELFTEST_CHECK(run_team(nr, count_under_spinlock, NULL));
	SELFTEST_CHECK(locked.counter == nr * ROUNDS);
	SELFTEST_CHECK(!spin_is_held(&locked.spin));
	return 0;
}

static void count_under_mutex(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < ROUNDS; i++) {
		mutex_lock(&locked.mutex);
		u64 seen = locked.counter;
		/* A holder may sleep: the others must wait in the queue, not spin. */
		if (i % 64 == 0)
			sleep_until(clock_ns() + 10 * NS_PER_US, 0);
		locked.counter = seen + 1;
		mutex_unlock(&locked.mutex);
	}
}

SELFTEST(mutex_excludes_although_holders_sleep)
{
	unsigned nr = 2 * nr_online() + 1;

	mutex_init(&locked.mutex, "test");
	locked.counter = 0;
	SELFTEST_CHECK(run_team(nr, count_under_mutex, NULL));
	SELFTEST_CHECK(locked.counter == nr * ROUNDS);
	SELFTEST_CHECK(mutex_trylock(&locked.mutex));
	SELFTEST_CHECK(!mutex_trylock(&locked.mutex));
	mutex_unlock(&locked.mutex);
	return 0;
}

static u32 nr_sleeps; /* of all members of the team */

/* On CPU 0: what the first holder's sleep does to a mutex that nobody holds for long. */
static void take_often(void *unused)
{
	struct cpumask here = { 0 };

	(void)unused;
	cpumask_set(&here, 0);
	with_irqs_off(sched_set_affinity(machine, &current->task, &here));
	mutex_lock(&locked.mutex);
	sleep_until(clock_ns() + NS_PER_MS, 0);
	mutex_unlock(&locked.mutex);
	u64 before = current->task.nr_voluntary;
	for (unsigned i = 0; i < ROUNDS; i++) {
		mutex_lock(&locked.mutex);
		mutex_unlock(&locked.mutex);
	}
	__atomic_fetch_add(&nr_sleeps, (u32)(current->task.nr_voluntary - before),
			   __ATOMIC_RELAXED);
}

/*
 * If each unlock handed the mutex to a thread that waits for its CPU, the others would sleep at
 * each lock, for ever.
 */
SELFTEST(mutex_makes_no_convoy)
{
	const unsigned nr = 3;

	mutex_init(&locked.mutex, "test");
	nr_sleeps = 0;
	SELFTEST_CHECK(run_team(nr, take_often, NULL));
	SELFTEST_CHECK(nr_sleeps < ROUNDS / 10);
	return 0;
}

static struct {
	bool is_through;
	u64 nr_sleeps; /* of the waiter, until it has the mutex */
} patient;

static void wait_for_mutex(void)
{
	u64 before = current->task.nr_voluntary;

	mutex_lock(&locked.mutex);
	patient.nr_sleeps = current->task.nr_voluntary - before;
	WRITE_ONCE(patient.is_through, true);
	mutex_unlock(&locked.mutex);
}

/* Takes the mutex again as soon as it is free, and sleeps with it. */
static void take_again(void)
{
	for (unsigned i = 0; i < ROUNDS && !READ_ONCE(patient.is_through); i++) {
		mutex_lock(&locked.mutex);
		sleep_until(clock_ns() + 100 * NS_PER_US, 0);
		mutex_unlock(&locked.mutex);
	}
}

static void take_or_wait(void *first)
{
	if (__atomic_fetch_add((u32 *)first, 1, __ATOMIC_RELAXED))
		wait_for_mutex();
	else
		take_again();
}

/*
 * With several CPUs the one that is awake is faster than the one that is woken, each time. The
 * waiter sleeps once, and once more when it was woken in vain: no number of rounds of the other
 * thread is a bound, because the host may stop the waiter's CPU for any time.
 */
SELFTEST(mutex_waiters_get_their_turn)
{
	u32 first = 0;

	mutex_init(&locked.mutex, "test");
	memset(&patient, 0, sizeof(patient));
	SELFTEST_CHECK(run_team(2, take_or_wait, &first));
	SELFTEST_CHECK(patient.is_through && patient.nr_sleeps <= 2);
	return 0;
}

/* --- waiting ------------------------------------------------------------------------ */

/* A bounded buffer of one item: with a single lost wakeup both sides sleep for ever. */
static struct {
	struct waitq full, empty;
	struct spinlock lock;
	bool has_item;
	u64 produced, consumed;
} buffer;

static bool move_item(bool want_item)
{
	spin_lock(&buffer.lock);
	bool can = buffer.has_item == want_item;
	if (can) {
		buffer.has_item = !want_item;
		*(want_item ? &buffer.consumed : &buffer.produced) += 1;
	}
	spin_unlock(&buffer.lock);
	return can;
}

static void producer(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < ROUNDS; i++) {
		wait_event(&buffer.empty, move_item(false));
		waitq_wake(&buffer.full, 0);
	}
}

static void consumer(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < ROUNDS; i++) {
		wait_event(&buffer.full, move_item(true));
		waitq_wake(&buffer.empty, 0);
	}
}

static void producer_or_consumer(void *turn)
{
	(__atomic_fetch_add((u32 *)turn, 1, __ATOMIC_RELAXED) % 2 ? consumer : producer)(NULL);
}

SELFTEST(waitq_loses_no_wakeup)
{
	unsigned pairs = nr_online();
	u32 turn = 0;

	waitq_init(&buffer.full, "full");
	waitq_init(&buffer.empty, "empty");
	spin_lock_init(&buffer.lock, "buffer");
	buffer.produced = buffer.consumed = buffer.has_item = 0;
	SELFTEST_CHECK(run_team(2 * pairs, producer_or_consumer, &turn));
	SELFTEST_CHECK(buffer.produced == pairs * ROUNDS);
	SELFTEST_CHECK(buffer.consumed == buffer.produced);
	return 0;
}

/* The wakeup at the worst moment: when the condition has just been found false. */
static struct {
	struct waitq q;
	u32 checks;
	bool returned;
} crossing;

static bool false_but_true_now(void)
{
	if (crossing.checks++)
		return true;
	waitq_wake(&crossing.q, 0);
	return false;
}

static void wait_while_woken(void *unused)
{
	(void)unused;
	wait_event(&crossing.q, false_but_true_now());
	__atomic_store_n(&crossing.returned, true, __ATOMIC_SEQ_CST);
}

SELFTEST(waitq_wakeup_during_the_check_counts)
{
	waitq_init(&crossing.q, "crossing");
	crossing.checks = crossing.returned = 0;
	SELFTEST_CHECK(kthread_create("crossing", wait_while_woken, NULL));
	for (unsigned ms = 0; ms < 10000 && !__atomic_load_n(&crossing.returned, __ATOMIC_SEQ_CST);
	     ms++)
		sleep_until(clock_ns() + NS_PER_MS, 0);
	SELFTEST_CHECK(crossing.returned);
	return 0;
}

static struct {
	struct waitq q;
	u32 waiting, woken;
	bool go;
} line;

static void stand_in_line(void *unused)
{
	struct waiter w = { .thread = current, .exclusive = true };
	(void)unused;

	list_init(&w.link);
	waitq_prepare(&line.q, &w, TASK_UNINTERRUPTIBLE);
	__atomic_fetch_add(&line.waiting, 1, __ATOMIC_SEQ_CST);
	schedule();
	waitq_finish(&line.q, &w);
	__atomic_fetch_add(&line.woken, 1, __ATOMIC_SEQ_CST);
}

static void settle(void)
{
	sleep_until(clock_ns() + 2 * NS_PER_MS, 0);
}

/* Wait until @nr have been woken, and then a little longer: were there more? */
static bool woken_are(u32 nr)
{
	while (__atomic_load_n(&line.woken, __ATOMIC_SEQ_CST) < nr)
		settle();
	settle();
	return line.woken == nr;
}

SELFTEST(waitq_wakes_as_many_as_told)
{
	enum { NR = 8 };

	waitq_init(&line.q, "line");
	line.waiting = line.woken = 0;
	for (unsigned i = 0; i < NR; i++)
		SELFTEST_CHECK(kthread_create("line", stand_in_line, NULL));
	while (__atomic_load_n(&line.waiting, __ATOMIC_SEQ_CST) < NR)
		settle();
	settle();
	SELFTEST_CHECK(waitq_wake(&line.q, 1) == 1);
	SELFTEST_CHECK(woken_are(1));
	SELFTEST_CHECK(waitq_wake(&line.q, 3) == 3);
	SELFTEST_CHECK(woken_are(4));
	SELFTEST_CHECK(waitq_wake(&line.q, 0) == NR - 4);
	SELFTEST_CHECK(woken_are(NR));
	SELFTEST_CHECK(list_empty(&line.q.waiters));
	SELFTEST_CHECK(waitq_wake(&line.q, 0) == 0);
	return 0;
}

/* More than are looked at while the lock is held. */
SELFTEST(waitq_wakes_all_of_many)
{
	enum { NR = 50 };

	waitq_init(&line.q, "line");
	line.waiting = line.woken = 0;
	for (unsigned i = 0; i < NR; i++)
		SELFTEST_CHECK(kthread_create("line", stand_in_line, NULL));
	while (__atomic_load_n(&line.waiting, __ATOMIC_SEQ_CST) < NR)
		settle();
	settle();
	SELFTEST_CHECK(waitq_wake(&line.q, 0) == NR);
	SELFTEST_CHECK(woken_are(NR));
	SELFTEST_CHECK(list_empty(&line.q.waiters));
	return 0;
}

/* --- accounts ---------------------------------------------------------------------------- */

/* A thread that changes its user leaves nothing in the account before. */
SELFTEST(account_is_left)
{
	struct account *mine = current->account, *a = account_find(4321), *b = NULL;
	u32 refs = 0;
	bool ok = a && account_charge(a, RES_THREADS, 1, 1);

	if (ok) {
		current->account = account_get(a);
		ok = account_switch(4322);
		b = ok ? current->account : a;
		refs = a->refs;
		ok = ok && account_used(a, RES_THREADS) == 0 && account_used(b, RES_THREADS) == 1;
		current->account = mine;
		account_give(b, RES_THREADS, 1);
		account_put(b);
	}
	account_put(a);
	SELFTEST_CHECK(ok && refs == 1);
	return 0;
}

/* --- threads come and go --------------------------------------------------------------- */

static void count_and_end(void *counter)
{
	__atomic_fetch_add((u64 *)counter, 1, __ATOMIC_SEQ_CST);
}

SELFTEST(thread_storm_leaves_nothing_behind)
{
	enum { NR = 800, WARM_UP = 200 };
	u64 ended = 0, free_before = 0;
	unsigned threads_before = nr_threads_total;

	for (unsigned i = 1; i <= NR; i++) {
		SELFTEST_CHECK(kthread_create("storm", count_and_end, &ended));
		if (i % 50 == 0)
			settle();
		if (i == WARM_UP)
			free_before = page_nr_free();
	}
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < NR)
		settle();
	while (READ_ONCE(nr_threads_total) > threads_before)
		settle();
	SELFTEST_CHECK(nr_threads_total == threads_before);
	/* Caches may keep some stacks for each CPU, but not one for each thread. */
	SELFTEST_CHECK(page_nr_free() + 100 * nr_online() > free_before);
	return 0;
}

/* --- preemption --------------------------------------------------------------------------- */

static struct {
	bool stop;
	u32 spinning; /* threads on all CPUs change it: atomically */
} spin;

static void spin_until_stopped(void *unused)
{
	(void)unused;
	__atomic_fetch_add(&spin.spinning, 1, __ATOMIC_SEQ_CST);
	while (!READ_ONCE(spin.stop))
		arch_cpu_relax();
	__atomic_fetch_sub(&spin.spinning, 1, __ATOMIC_SEQ_CST);
}

/* On a CPU full of kernel threads that never give it up, others run all the same. */
SELFTEST(kernel_code_is_preempted)
{
	unsigned nr = 2 * nr_online();

	WRITE_ONCE(spin.stop, false);
	for (unsigned i = 0; i < nr; i++)
		SELFTEST_CHECK(kthread_create("spin", spin_until_stopped, NULL));
	while (READ_ONCE(spin.spinning) < nr)
		sleep_until(clock_ns() + 10 * NS_PER_MS, 0);
	WRITE_ONCE(spin.stop, true);
	while (READ_ONCE(spin.spinning))
		settle();
	return 0;
}

/* While preemption is off the wish for it is kept, and granted when it is on again. */
struct gate {
	struct waitq q;
	bool open;
	u64 waits, passed;
};

static void pass_gate(void *arg)
{
	struct gate *gate = arg;

	__atomic_store_n(&gate->waits, 1, __ATOMIC_SEQ_CST);
	wait_event(&gate->q, READ_ONCE(gate->open));
	count_and_end(&gate->passed);
}

/*
 * A FIFO thread wakes up on this CPU. Fills in @ran: whether it has run before preemption is on
 * again, then, after might_resched(), after cond_resched(). With @announces this thread has
 * announced a sleep before preemption is on again, and takes it back then.
 */
static int wake_urgent_here(bool ran[4], bool announces)
{
	struct gate gate = { .open = false };
	struct sched_attr_req fifo = { .policy = SCHED_FIFO, .rt_priority = 1 };
	struct thread *t;
	struct cpumask here;

	waitq_init(&gate.q, "gate");
	t = kthread_create("urgent", pass_gate, &gate);
	SELFTEST_CHECK(t);
	while (!__atomic_load_n(&gate.waits, __ATOMIC_SEQ_CST) ||
	       READ_ONCE(t->task.on_rq) == TASK_QUEUED)
		settle(); /* until it sleeps: else it passes on another CPU */
	preempt_disable();
	here = cpumask_of(arch_cpu_id());
	unsigned long flags = arch_irq_save();
	int err = sched_set_affinity(machine, &t->task, &here);
	err = err ? err : sched_set_attr(machine, &t->task, &fifo);
	arch_irq_restore(flags);
	WRITE_ONCE(gate.open, true);
	waitq_wake(&gate.q, 0);
	/* More urgent than this thread, on its CPU, and awake: only the count keeps it away. */
	ran[0] = __atomic_load_n(&gate.passed, __ATOMIC_SEQ_CST);
	if (announces)
		sched_block(&current->task, TASK_INTERRUPTIBLE);
	preempt_enable();
	if (announces)
		sched_unblock(&current->task);
	ran[1] = __atomic_load_n(&gate.passed, __ATOMIC_SEQ_CST);
	might_resched();
	ran[2] = __atomic_load_n(&gate.passed, __ATOMIC_SEQ_CST);
	cond_resched();
	ran[3] = __atomic_load_n(&gate.passed, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&gate.passed, __ATOMIC_SEQ_CST))
		settle();
	return err;
}

struct place_row {
	const char *model;
	bool ran[4];
};

static int check_places(const struct place_row *row)
{
	bool ran[4];

	SELFTEST_CHECK(!preempt_choose(row->model));
	SELFTEST_CHECK(!wake_urgent_here(ran, false));
	SELFTEST_CHECK(!memcmp(ran, row->ran, sizeof(ran)));
	return 0;
}

SELFTEST(preemption_waits_for_a_place_that_the_model_allows)
{
	static const struct place_row rows[] = {
		{ "none", { false, false, false, true } },
		{ "voluntary", { false, false, true, true } },
		{ "lazy", { false, true, true, true } },
		{ "full", { false, true, true, true } },
	};
	const char *was = preempt_model->name;
	int err = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(rows) && !err; i++)
		err = check_places(&rows[i]);
	preempt_choose(was);
	return err;
}

static bool rescued;

static void rescue(struct ktimer *timer)
{
	WRITE_ONCE(rescued, true);
	thread_wake(timer->arg, TASK_INTERRUPTIBLE);
}

/* It may have been woken before it announced its sleep: it must look, so it stays on its queue. */
SELFTEST(switch_goes_back_to_a_preempted_thread_that_announced_a_sleep)
{
	const char *was = preempt_model->name;
	struct ktimer timer;
	bool ran[4];

	rescued = false;
	SELFTEST_CHECK(!preempt_choose("full"));
	ktimer_init(&timer, rescue, current);
	ktimer_start(&timer, clock_ns() + 10 * NS_PER_SEC);
	int err = wake_urgent_here(ran, true);
	ktimer_cancel(&timer);
	preempt_choose(was);
	SELFTEST_CHECK(!err && ran[1]);
	SELFTEST_CHECK(!rescued);
	return 0;
}
