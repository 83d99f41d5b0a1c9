/*
 * Kernel timers: order, cancellation, slack; sleeping; the clock of a thread.
 */
#include "kernel/kernel.h"
#include "kernel/proc.h"
#include "kernel/time/time.h"

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
	preempt_disable();
	for (unsigned n = 0; n < NR_TIMERS; n++) {
		unsigned i = n * 37 % NR_TIMERS;
		ktimer_start(&set.timer[i], base + i * 20 * NS_PER_US);
	}
	preempt_enable();
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
	ktimer_start(t, clock_ns() + 5 * NS_PER_MS);
	SELFTEST_CHECK(ktimer_cancel(t));
	SELFTEST_CHECK(!ktimer_cancel(t));
	sleep_ns(10 * NS_PER_MS);
	SELFTEST_CHECK(set.nr_fired == 0);
	u64 start = clock_ns();
	ktimer_start(t, start + 1000 * NS_PER_SEC);
	ktimer_start(t, start + 2 * NS_PER_MS);
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
 * What a thread is charged for a busy stretch is the stretch, less what others took of the CPU
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
