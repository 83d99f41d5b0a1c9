/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel timers: order, cancellation, slack; sleeping; the clock of a thread.
 */
#include "kernel/kernel.h"
#include "kernel/task/proc.h"
#include "kernel/time/time.h"
#include "kernel/time/watchdog.h"

#define NR_TIMERS 64

static struct {
	struct ktimer timer[NR_TIMERS];
	u64 fired_ns[NR_TIMERS];
	u32 order[NR_TIMERS], nr_fired;
} set;

static void note_fired(struct ktimer *t)
{
	u32 i = (u32)(t - set.timer);

	set.fired_ns[i] = clock_ns();
	set.order[__atomic_fetch_add(&set.nr_fired, 1, __ATOMIC_SEQ_CST)] = i;
}

static void sleep_ns(u64 ns)
{
	sleep_until(clock_ns() + ns, 0);
}

/* Armed in a scrambled order on one CPU, they fire in the order of their times, and none early. */
SELFTEST(timers_fire_in_order)
{
	u64 base = clock_ns() + 5 * NS_PER_MS;

	set.nr_fired = 0;
	for (unsigned i = 0; i < NR_TIMERS; i++)
		ktimer_init(&set.timer[i], note_fired, NULL);
	/* All on one CPU, and all armed before the first fires, however long the host stops us. */
	unsigned long flags = arch_irq_save();
	for (unsigned n = 0; n < NR_TIMERS; n++) {
		unsigned i = n * 37 % NR_TIMERS;
		ktimer_start(&set.timer[i], base + i * 20 * NS_PER_US);
	}
	arch_irq_restore(flags);
	while (__atomic_load_n(&set.nr_fired, __ATOMIC_SEQ_CST) < NR_TIMERS)
		sleep_ns(NS_PER_MS);
	for (unsigned i = 0; i < NR_TIMERS; i++) {
		SELFTEST_CHECK(set.order[i] == i);
		SELFTEST_CHECK(set.fired_ns[i] >= base + i * 20 * NS_PER_US);
	}
	return 0;
}

SELFTEST(timers_cancel_and_rearm)
{
	struct ktimer *t = set.timer;

	set.nr_fired = 0;
	ktimer_init(t, note_fired, NULL);
	SELFTEST_CHECK(!ktimer_cancel(t));
	/* It cannot fire before it is cancelled, however long the host stops us between the two. */
	unsigned long flags = arch_irq_save();
	ktimer_start(t, clock_ns() + 5 * NS_PER_MS);
	bool was_armed = ktimer_cancel(t);
	arch_irq_restore(flags);
	SELFTEST_CHECK(was_armed);
	SELFTEST_CHECK(!ktimer_cancel(t));
	sleep_ns(10 * NS_PER_MS);
	SELFTEST_CHECK(set.nr_fired == 0);
	u64 start = clock_ns();
	ktimer_start(t, start + 1000 * NS_PER_SEC);
	ktimer_start(t, start + 2 * NS_PER_MS);
	while (!__atomic_load_n(&set.nr_fired, __ATOMIC_SEQ_CST))
		sleep_ns(NS_PER_MS);
	sleep_ns(20 * NS_PER_MS);
	SELFTEST_CHECK(set.nr_fired == 1);
	SELFTEST_CHECK(set.fired_ns[0] >= start + 2 * NS_PER_MS);
	return 0;
}

/* A timer with slack does not ask for an interrupt of its own when one comes soon enough. */
SELFTEST(timer_slack_joins_the_next_interrupt)
{
	u64 base = clock_ns() + 5 * NS_PER_MS;

	set.nr_fired = 0;
	ktimer_init(&set.timer[0], note_fired, NULL);
	ktimer_init(&set.timer[1], note_fired, NULL);
	preempt_disable();
	ktimer_start_slack(&set.timer[0], base, 4 * NS_PER_MS);
	ktimer_start(&set.timer[1], base + 2 * NS_PER_MS);
	preempt_enable();
	while (__atomic_load_n(&set.nr_fired, __ATOMIC_SEQ_CST) < 2)
		sleep_ns(NS_PER_MS);
	/* Any interrupt at or after its time takes it along, so only the bounds are certain. */
	SELFTEST_CHECK(set.fired_ns[0] >= base);
	SELFTEST_CHECK(set.fired_ns[1] >= base + 2 * NS_PER_MS);
	return 0;
}

/* Cancel returns only when the callback is over: what the callback uses may go then. */
static struct {
	struct ktimer timer;
	volatile u32 inside, ran;
} slow;

static void slow_callback(struct ktimer *t)
{
	u64 until = clock_ns() + 200 * NS_PER_US;

	slow.inside++;
	while (clock_ns() < until)
		arch_cpu_relax();
	slow.ran++;
	slow.inside--;
	ktimer_start(t, clock_ns() + 50 * NS_PER_US);
}

static void arm_slow(void *armed)
{
	ktimer_start(&slow.timer, clock_ns() + 50 * NS_PER_US);
	__atomic_store_n((bool *)armed, true, __ATOMIC_SEQ_CST);
}

SELFTEST(timer_cancel_waits_for_the_callback)
{
	for (unsigned i = 0; i < 20; i++) {
		bool armed = false;
		ktimer_init(&slow.timer, slow_callback, NULL);
		SELFTEST_CHECK(kthread_create("arm", arm_slow, &armed));
		while (!__atomic_load_n(&armed, __ATOMIC_SEQ_CST))
			sleep_ns(10 * NS_PER_US);
		sleep_ns(i * 30 * NS_PER_US);
		ktimer_cancel(&slow.timer);
		SELFTEST_CHECK(!slow.inside);
		u32 ran = slow.ran;
		sleep_ns(500 * NS_PER_US);
		SELFTEST_CHECK(slow.ran == ran);
	}
	return 0;
}

/*
 * The worst moment for an idle CPU: its timer's interrupt wakes a thread that runs there, so a
 * switch is wanted, but another CPU takes the thread away before the switch. The CPU stays idle,
 * and must still come back for the timer that is left.
 */
static struct {
	struct ktimer waking, left;
	struct waitq q;
	struct thread *sleeper;
	u32 victim; /* the idle CPU */
	bool woken, stolen, left_fired;
} theft;

static void raise_flag(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_SEQ_CST);
}

static bool is_raised(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static int allow_only(struct thread *t, u32 cpu)
{
	struct cpumask mask = cpumask_of(cpu);
	unsigned long flags = arch_irq_save();
	int err = sched_set_affinity(machine, &t->task, &mask);

	arch_irq_restore(flags);
	return err;
}

static void wake_and_be_robbed(struct ktimer *unused)
{
	(void)unused;
	raise_flag(&theft.woken);
	waitq_wake(&theft.q, 0);
	while (!is_raised(&theft.stolen))
		arch_cpu_relax();
}

static void note_left_fired(struct ktimer *unused)
{
	(void)unused;
	raise_flag(&theft.left_fired);
}

/* Samples of the watchdogs look after all timers of a CPU, so they would hide a timer not set. */
static void let_watchdogs_look(u64 enabled)
{
	watchdog.enabled = enabled;
	watchdog_restart();
}

static void sleep_on_victim(void *unused)
{
	(void)unused;
	allow_only(current, theft.victim);
	while (arch_cpu_id() != theft.victim)
		yield();
	u64 now = clock_ns();
	ktimer_start(&theft.waking, now + 2 * NS_PER_MS);
	ktimer_start(&theft.left, now + 4 * NS_PER_MS);
	wait_event(&theft.q, is_raised(&theft.woken));
}

SELFTEST(idle_cpu_whose_task_is_stolen_keeps_its_timers)
{
	struct cpumask before = current->task.allowed;
	u64 watched = watchdog.enabled;
	u32 thief = 0;

	theft.victim = 1;
	if (!cpus[theft.victim] || !cpus[theft.victim]->online)
		return 0; /* nobody steals on one CPU */
	let_watchdogs_look(0);
	SELFTEST_CHECK(!allow_only(current, thief));
	ktimer_init(&theft.waking, wake_and_be_robbed, NULL);
	ktimer_init(&theft.left, note_left_fired, NULL);
	waitq_init(&theft.q, "theft");
	theft.woken = theft.stolen = theft.left_fired = false;
	theft.sleeper = kthread_create("sleeper", sleep_on_victim, NULL);
	SELFTEST_CHECK(theft.sleeper);
	while (!is_raised(&theft.woken))
		arch_cpu_relax();
	int err = allow_only(theft.sleeper, thief);
	raise_flag(&theft.stolen);
	for (unsigned ms = 0; ms < 10000 && !is_raised(&theft.left_fired); ms++)
		sleep_ns(NS_PER_MS);
	unsigned long flags = arch_irq_save();
	err = err ? err : sched_set_affinity(machine, &current->task, &before);
	arch_irq_restore(flags);
	let_watchdogs_look(watched);
	SELFTEST_CHECK(!err);
	SELFTEST_CHECK(theft.left_fired);
	return 0;
}

SELFTEST(sleep_is_never_early)
{
	for (unsigned i = 0; i < 50; i++) {
		u64 deadline = clock_ns() + i * 17 * NS_PER_US;
		SELFTEST_CHECK(!sleep_until(deadline, i % 2 ? 50 * NS_PER_US : 0));
		SELFTEST_CHECK(clock_ns() >= deadline);
	}
	return 0;
}

/*
 * A thread is charged exactly its busy stretch, less the time that other threads took of the CPU
 * meanwhile.
 */
SELFTEST(thread_time_is_exact)
{
	u64 start = clock_ns(); /* first: the host may stop us between any two lines */
	struct usage before = thread_usage(current);

	while (clock_ns() < start + 20 * NS_PER_MS)
		arch_cpu_relax();
	struct usage after = thread_usage(current);
	u64 charged = after.system_ns + after.user_ns - before.system_ns - before.user_ns;
	u64 elapsed = clock_ns() - start;
	SELFTEST_CHECK(charged <= elapsed);
	SELFTEST_CHECK(after.user_ns == before.user_ns);
	SELFTEST_CHECK(charged > 0);
	return 0;
}
