/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a futex sleeps and wakes (kernel/task/futex.c): a second CPU acts between any two machine
 * instructions of the first, each place once. Its locks are flags: what would have to wait for one
 * acts an instruction later.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "checked.h"

#include "kernel/task/futex.c"
#include "kernel/task/task.h"
#include "step.h"

enum { OLD_WORD = 7, NEW_WORD = 8 };
enum { NR_WAKEUPS_FOR_NOTHING = 3 };

struct x86_clock x86_clock;
static struct cpu this_one;
static struct thread thread;
static struct futex_waiter *w;
static u32 word;
static long load_error;	     /* of arch_user_load_u32() */
static unsigned nr_switches; /* to the idle thread: how often the thread slept */
static unsigned nr_wakeups;
static bool woken_too_early; /* `woken` was false when the thread was woken */

/* The deed of the second CPU, after how many instructions it comes or came, and whether it did. */
static void (*act)(void);
static unsigned act_at, nr_instructions;
static bool acted;
static bool announced; /* the sleep, when it acted */
static bool switching; /* the scheduler has the lock of its runqueue */
static long nr_found;  /* by its wakeup */

/*
 * A bit for each of eight outcomes, set if it came out at a place of the second CPU. It goes into
 * the test's record: the number of places is another for each way to write the functions.
 */
static u64 outcomes;

static void note(bool a, bool b, bool c)
{
	outcomes |= 1u << (a << 2 | b << 1 | c);
}

#define CHECKED_OUTCOMES() host_checked(__LINE__, outcomes)

/* --- the second CPU --------------------------------------------------------------------- */

static bool in_its_bucket(void)
{
	return !list_empty(&bucket_of(&w->key)->waiters);
}

static void act_now(void)
{
	acted = true;
	announced = thread.task.state != TASK_RUNNING;
	act();
}

static bool act_between(void)
{
	if (acted)
		return false;
	if (nr_instructions++ < act_at || switching || bucket_of(&w->key)->lock.locked)
		return true;
	act_at = nr_instructions - 1;
	act_now();
	return false;
}

/* A wakeup as it should be, of whoever is in the bucket. */
static void wake_as_it_should_be(void)
{
	if (!in_its_bucket())
		return;
	nr_found++;
	WRITE_ONCE(w->woken, true);
	thread_wake(w->thread, TASK_INTERRUPTIBLE);
	list_del(&w->link);
	__atomic_store_n(&w->released, true, __ATOMIC_RELEASE);
}

static void store_and_wake(void)
{
	WRITE_ONCE(word, NEW_WORD);
	wake_as_it_should_be();
}

static void expire(void)
{
	wait_timeout(&(struct ktimer){ .arg = w });
}

static void send_signal(void)
{
	thread_set_flags(&thread, THREAD_SIGPENDING);
	thread_wake(&thread, TASK_INTERRUPTIBLE);
}

/* --- the kernel around it --------------------------------------------------------------- */

void spin_lock_init(struct spinlock *lock, const char *name)
{
	*lock = (struct spinlock){ .name = name };
}

void spin_lock(struct spinlock *lock)
{
	if (lock->locked)
		fail_msg("the lock of the bucket is taken by the CPU that has it: it waits for "
			 "itself");
	lock->locked = 1;
}

void spin_unlock(struct spinlock *lock)
{
	if (!lock->locked)
		fail_msg("a lock is given back that nobody has");
	lock->locked = 0;
}

bool thread_wake(struct thread *t, u32 state_mask)
{
	nr_wakeups++;
	woken_too_early |= !w->woken;
	if (!(t->task.state & state_mask))
		return false;
	t->task.state = TASK_RUNNING;
	return true;
}

bool thread_wake_flags(struct thread *t, u32 state_mask, unsigned flags)
{
	(void)flags;
	return thread_wake(t, state_mask);
}

/*
 * The thread switches. If it sleeps then, it has something to wait for: that the second CPU acts,
 * after some wakeups for nothing.
 */
static void leave_cpu(void)
{
	if (thread.task.state == TASK_RUNNING)
		return;
	if (thread.task.state != TASK_INTERRUPTIBLE)
		fail_msg(
			"the thread sleeps in a state in which thread_wake() does not look for it");
	if (acted)
		fail_msg("the thread sleeps on: what ends its sleep came %s the announcement of "
			 "the sleep, %u instructions after the call of wait_for_wake(), and "
			 "nothing comes after it",
			 announced ? "after" : "before", act_at);
	if (++nr_switches <= NR_WAKEUPS_FOR_NOTHING && act_at == UINT32_MAX) {
		thread.task.state = TASK_RUNNING;
		return;
	}
	act_now();
}

void schedule(void)
{
	switching = true;
	leave_cpu();
	switching = false;
}

void yield(void);
void yield(void)
{
	fail_msg("the thread waits for its wakeup in a loop of yield(): it must sleep");
}

void cond_resched_slow(void)
{
}

int arch_user_load_u32(const u32 *addr, u32 *value)
{
	if (load_error)
		return (int)load_error;
	*value = READ_ONCE(*addr);
	return 0;
}

/* Linked, and not called: what the rest of the file calls, and what the grader then refuses. */
#define NOT_CALLED(...)                                                                            \
	__VA_ARGS__                                                                                \
	{                                                                                          \
		__builtin_trap();                                                                  \
	}                                                                                          \
	STATIC_ASSERT(true, "takes the semicolon")
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
NOT_CALLED(int futex_op(u32 *addr, u32 code, bool *wake));
NOT_CALLED(size_t arch_copy_from_user(void *dst, const void *src, size_t n));
NOT_CALLED(long mm_shared_page(struct mm *mm, u64 addr, u64 *page));
NOT_CALLED(void page_get(u64 pa));
NOT_CALLED(void page_put(u64 pa));
NOT_CALLED(u64 clock_monotonic_of(u64 ns));
NOT_CALLED(void ktimer_init(struct ktimer *t, void (*fn)(struct ktimer *), void *arg));
NOT_CALLED(void ktimer_start(struct ktimer *t, u64 deadline_ns));
NOT_CALLED(bool ktimer_cancel(struct ktimer *t));
NOT_CALLED(void kprintf(const char *fmt, ...));
NOT_CALLED(void panic(const char *fmt, ...));
#pragma GCC diagnostic pop

/* --- a thread and a waiter --------------------------------------------------------------- */

/* A thread that runs, whose waiter is in no bucket yet. The second CPU is to do @what at @at. */
static void begin(void (*what)(void), unsigned at)
{
	static struct proc proc;

	futex_init();
	thread.proc = &proc;
	thread.flags = 0;
	thread.task.state = TASK_RUNNING;
	this_one.self = &this_one;
	this_one.running = &thread;
	step_set_cpu(&this_one);
	w = step_page();
	*w = (struct futex_waiter){ .key = { 1, 4096 }, .thread = &thread, .bitset = ~0u };
	word = OLD_WORD;
	load_error = nr_switches = nr_wakeups = nr_instructions = 0;
	woken_too_early = acted = false;
	announced = switching = false;
	nr_found = 0;
	act = what;
	act_at = at;
}

/* --- wait_for_wake ------------------------------------------------------------------------ */

static void sleep_once(void)
{
	wait_for_wake(w);
}

/* @what ends a sleep: after 0, 1, ... instructions, and last while the thread sleeps. */
static void ends_the_sleep(void (*what)(void))
{
	unsigned at = 0;

	do {
		begin(what, at);
		enqueue_waiter(w);
		step_through(sleep_once, act_between);
		at = act_at + 1;
		if (!acted)
			fail_msg("wait_for_wake() returned though nothing had ended the sleep");
		if (thread.task.state != TASK_RUNNING)
			fail_msg("wait_for_wake() returned and still announces a sleep: at its "
				 "next switch the thread stays away for ever");
		note(announced, w->woken, nr_found);
	} while (!nr_switches);
	CHECKED_OUTCOMES();
}

static void a_wakeup_between_any_two_instructions_ends_the_sleep(void **state)
{
	(void)state;
	ends_the_sleep(wake_as_it_should_be);
}

static void a_timeout_between_any_two_instructions_ends_the_sleep(void **state)
{
	(void)state;
	ends_the_sleep(expire);
}

static void a_signal_between_any_two_instructions_ends_the_sleep(void **state)
{
	(void)state;
	ends_the_sleep(send_signal);
}

static void a_thread_that_is_woken_for_something_else_sleeps_on(void **state)
{
	(void)state;
	begin(wake_as_it_should_be, UINT32_MAX);
	enqueue_waiter(w);
	wait_for_wake(w);
	if (!acted)
		fail_msg("wait_for_wake() returned after switch %u, and there was no wakeup, no "
			 "timeout and no signal: a thread may be woken for something else, so it "
			 "must look again each time",
			 nr_switches);
	note(w->woken, nr_found, nr_switches > NR_WAKEUPS_FOR_NOTHING);
	CHECKED_OUTCOMES();
}

/* --- wake_waiter --------------------------------------------------------------------------- */

/* A waiter in its bucket, whose thread sleeps and whose lock the waker has. */
static void begin_wakeup(void)
{
	begin(NULL, 0);
	enqueue_waiter(w);
	spin_lock(&w->bucket->lock);
	thread.task.state = TASK_INTERRUPTIBLE;
}

static void wake_once(void)
{
	wake_waiter(w);
}

static void woken_is_set_before_its_thread_is_woken(void **state)
{
	(void)state;
	begin_wakeup();
	wake_waiter(w);
	if (!nr_wakeups || thread.task.state != TASK_RUNNING)
		fail_msg("wake_waiter() woke no thread that sleeps");
	if (woken_too_early)
		fail_msg("wake_waiter() wakes the thread before woken is set: on another CPU it "
			 "looks at once, sees nothing and sleeps on");
	note(w->woken, nr_wakeups, thread.task.state);
	CHECKED_OUTCOMES();
}

static void who_is_woken_is_in_no_bucket_and_released(void **state)
{
	(void)state;
	begin_wakeup();
	wake_waiter(w);
	if (!w->bucket->lock.locked)
		fail_msg("wake_waiter() gives back the lock of the bucket, which is its caller's");
	if (in_its_bucket())
		fail_msg("wake_waiter() leaves the waiter in its bucket: the next wakeup finds it "
			 "again, when its stack has ended");
	if (!w->woken)
		fail_msg("wake_waiter() does not set woken");
	if (!w->released)
		fail_msg("wake_waiter() does not store released: each waiter then takes the lock "
			 "of the bucket, for which the waker should have spared it");
	note(w->woken, w->released, in_its_bucket());
	CHECKED_OUTCOMES();
}

/* As soon as `released` is stored, the waiter's stack is another's: the page is closed. */
static bool close_when_released(void)
{
	if (!w->released)
		return true;
	step_close_page(w);
	return false;
}

static void step_wakeup(void)
{
	step_through(wake_once, close_when_released);
}

static void a_waiter_that_is_released_is_touched_no_more(void **state)
{
	(void)state;
	begin_wakeup();
	if (!step_ends_well(step_wakeup))
		fail_msg("wake_waiter() touches the waiter after it stored released: from that "
			 "instruction on the waiter may have returned, and its stack belong to "
			 "something else");
	if (!nr_wakeups)
		fail_msg("wake_waiter() woke no thread");
	note(nr_wakeups, thread.task.state, true);
	CHECKED_OUTCOMES();
}

/* --- begin_wait ------------------------------------------------------------------------------ */

static bool sleeps;
static long result;

static void look(void)
{
	sleeps = begin_wait(w, &word, OLD_WORD, &result);
}

/* The second CPU has stored and woken, at some place. */
static void expect_an_answer(void)
{
	long right = nr_found ? 0 : load_error ? load_error : -EAGAIN;

	note(sleeps, nr_found, !sleeps && !result);
	if (sleeps && acted && !nr_found)
		fail_msg("%u instructions after the call of begin_wait() the word changed, the "
			 "wakeup found nobody in the bucket, and the thread is to sleep: that "
			 "wakeup is lost",
			 act_at);
	if (sleeps)
		return;
	if (result != right)
		fail_msg("%u instructions after the call of begin_wait() the word changed, the "
			 "wakeup found %s in the bucket, the load %s fail, and *result is %ld, "
			 "where %ld is right",
			 act_at, nr_found ? "the waiter" : "nobody", load_error ? "did" : "did not",
			 result, right);
	if (in_its_bucket())
		fail_msg("begin_wait() says that the thread is not to sleep, and leaves the waiter "
			 "in its bucket");
}

static void the_word_changes_between_any_two_instructions_of_the_look(void **state)
{
	unsigned at = 0;

	(void)state;
	do {
		begin(store_and_wake, at);
		step_through(look, act_between);
		at = act_at + 1;
		expect_an_answer();
	} while (acted);
	if (!sleeps || !in_its_bucket())
		fail_msg("the word holds what is expected: begin_wait() must say so, with the "
			 "waiter in its bucket");
	CHECKED_OUTCOMES();
}

/* The load fails, and a wakeup comes after 0, 8, ... instructions: it counts if it found @w. */
static void wakeups_beside_an_error_count(void)
{
	unsigned at = 0;

	do {
		begin(store_and_wake, at);
		at += 8; /* the waiter is in its bucket for longer */
		load_error = -EFAULT;
		step_through(look, act_between);
		if (sleeps)
			fail_msg("the load of the word fails, and begin_wait() says that the "
				 "thread is to sleep");
		expect_an_answer();
	} while (acted);
}

static void an_error_of_the_load_leaves_nobody_in_the_bucket(void **state)
{
	(void)state;
	begin(NULL, 0);
	load_error = -EFAULT;
	look();
	if (sleeps || result != -EFAULT)
		fail_msg("the load of the word fails with %d: begin_wait() must say so and not "
			 "sleep",
			 -EFAULT);
	if (in_its_bucket())
		fail_msg("the load of the word fails, and begin_wait() leaves the waiter in its "
			 "bucket: the next wakeup finds it there, when its stack has ended");
	wakeups_beside_an_error_count();
	CHECKED_OUTCOMES();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wakeup_between_any_two_instructions_ends_the_sleep),
		cmocka_unit_test(a_timeout_between_any_two_instructions_ends_the_sleep),
		cmocka_unit_test(a_signal_between_any_two_instructions_ends_the_sleep),
		cmocka_unit_test(a_thread_that_is_woken_for_something_else_sleeps_on),
		cmocka_unit_test(woken_is_set_before_its_thread_is_woken),
		cmocka_unit_test(who_is_woken_is_in_no_bucket_and_released),
		cmocka_unit_test(a_waiter_that_is_released_is_touched_no_more),
		cmocka_unit_test(the_word_changes_between_any_two_instructions_of_the_look),
		cmocka_unit_test(an_error_of_the_load_leaves_nobody_in_the_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
