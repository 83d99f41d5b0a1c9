/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a futex sleeps and wakes (kernel/task/futex.c): a second CPU acts between any two machine
 * instructions of the first, each place once. Its locks are flags: what would have to wait for one
 * acts an instruction later.
 *
 * The first CPU is another process (step.h). This one is the second CPU, the kernel around both,
 * and the judge, of whose knowledge the other has a copy from before it began.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "checked.h"

#include "futex_entry.h"
#include "kernel/kernel.h"
#include "kernel/mm/mm.h"
#include "kernel/task/futex.h"
#include "kernel/task/task.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "step.h"

enum { OLD_WORD = 7, NEW_WORD = 8 };
enum { NR_WAKEUPS_FOR_NOTHING = 3 };

/* The other process has copies of these, which THEIRS() reads. */
struct x86_clock x86_clock;
static struct cpu this_one;
static struct thread thread;
static struct futex_waiter *w;
static u32 word;
static bool sleeps; /* what begin_wait() returned, and its *result */
static long result;

static long load_error;	     /* of arch_user_load_u32() */
static unsigned nr_switches; /* to the idle thread: how often the thread slept */
static unsigned nr_wakeups;
static bool woken_too_early; /* `woken` was false when the thread was woken */

/* The deed of the second CPU, after how many instructions it comes or came, and whether it did. */
static void (*act)(void);
static unsigned act_at, nr_instructions;
static unsigned next_place; /* for act_at; the other process does not have it */
static bool acted;
static bool announced; /* the sleep, when it acted */
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
	struct list *waiters = &w->bucket->waiters;

	return THEIRS(waiters->next) != waiters;
}

static void act_now(void)
{
	acted = true;
	announced = THEIRS(thread.task.state) != TASK_RUNNING;
	act();
}

static void act_between(void)
{
	if (acted || nr_instructions++ < act_at || THEIRS(w->bucket->lock.locked))
		return;
	act_at = nr_instructions - 1;
	act_now();
}

/* Wakes the thread, if it sleeps in a state of @state_mask. */
static bool wake(u64 state_mask)
{
	nr_wakeups++;
	woken_too_early |= !THEIRS(w->woken);
	if (!(THEIRS(thread.task.state) & state_mask))
		return false;
	SET_THEIRS(thread.task.state, TASK_RUNNING);
	return true;
}

/* As list_del() does it. */
static void unlink_waiter(void)
{
	struct list *node = &w->link, *next = THEIRS(node->next), *prev = THEIRS(node->prev);

	SET_THEIRS(prev->next, next);
	SET_THEIRS(next->prev, prev);
	SET_THEIRS(node->next, node);
	SET_THEIRS(node->prev, node);
}

/* A wakeup as it should be, of whoever is in the bucket. */
static void wake_as_it_should_be(void)
{
	if (!in_its_bucket())
		return;
	nr_found++;
	SET_THEIRS(w->woken, true);
	wake(TASK_INTERRUPTIBLE);
	unlink_waiter();
	SET_THEIRS(w->released, true);
}

/* A wakeup whose CPU is held up as soon as the thread is awake: the rest of it comes much later. */
static void begin_to_wake(void)
{
	SET_THEIRS(w->woken, true);
	wake(TASK_INTERRUPTIBLE);
}

static void store_and_wake(void)
{
	SET_THEIRS(word, NEW_WORD);
	wake_as_it_should_be();
}

static void expire(void)
{
	SET_THEIRS(w->timed_out, true);
	wake(TASK_INTERRUPTIBLE);
}

static void send_signal(void)
{
	SET_THEIRS(thread.flags, THEIRS(thread.flags) | THREAD_SIGPENDING);
	wake(TASK_INTERRUPTIBLE);
}

/* --- the kernel around it --------------------------------------------------------------- */

void spin_lock_init(struct spinlock *lock, const char *name)
{
	*lock = (struct spinlock){ .name = name };
}

static u64 lock_theirs(const u64 *arg)
{
	struct spinlock *lock = (struct spinlock *)arg[0];

	if (THEIRS(lock->locked))
		fail_msg("the lock of the bucket is taken by the CPU that has it: it waits for "
			 "itself");
	SET_THEIRS(lock->locked, 1);
	return 0;
}

static u64 unlock_theirs(const u64 *arg)
{
	struct spinlock *lock = (struct spinlock *)arg[0];

	if (!THEIRS(lock->locked))
		fail_msg("a lock is given back that nobody has");
	SET_THEIRS(lock->locked, 0);
	return 0;
}

static u64 wake_theirs(const u64 *arg)
{
	if ((struct thread *)arg[0] != &thread)
		fail_msg("thread_wake() is called for what is not the waiter's thread");
	return wake((u32)arg[1]);
}

/*
 * The thread switches. If it sleeps then, it has something to wait for: that the second CPU acts,
 * after some wakeups for nothing.
 */
static u64 leave_cpu(const u64 *arg)
{
	u32 state = THEIRS(thread.task.state);

	(void)arg;
	if (state == TASK_RUNNING)
		return 0;
	if (state != TASK_INTERRUPTIBLE)
		fail_msg(
			"the thread sleeps in a state in which thread_wake() does not look for it");
	if (acted)
		fail_msg("the thread sleeps on: what ends its sleep came %s the announcement of "
			 "the sleep, %u instructions after the call of wait_for_wake(), and "
			 "nothing comes after it",
			 announced ? "after" : "before", act_at);
	if (++nr_switches <= NR_WAKEUPS_FOR_NOTHING && act_at == UINT32_MAX)
		SET_THEIRS(thread.task.state, TASK_RUNNING);
	else
		act_now();
	return 0;
}

static u64 must_not_yield(const u64 *arg)
{
	(void)arg;
	fail_msg("the thread waits for its wakeup in a loop of yield(): it must sleep");
	return 0;
}

static u64 do_nothing(const u64 *arg)
{
	(void)arg;
	return 0;
}

static u64 load_theirs(const u64 *arg)
{
	if ((u32 *)arg[0] != &word)
		fail_msg("arch_user_load_u32() is called for what is not the word of the futex");
	if (!load_error)
		SET_THEIRS(*(u32 *)arg[1], THEIRS(word));
	return (u64)load_error;
}

/* Linked, and not called: what this process does for the other, and what the file calls else. */
#define NOT_CALLED(...)                                                                            \
	__VA_ARGS__                                                                                \
	{                                                                                          \
		__builtin_trap();                                                                  \
	}                                                                                          \
	STATIC_ASSERT(true, "takes the semicolon")
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
void yield(void);
NOT_CALLED(void spin_lock(struct spinlock *lock));
NOT_CALLED(void spin_unlock(struct spinlock *lock));
NOT_CALLED(bool thread_wake(struct thread *t, u32 state_mask));
NOT_CALLED(bool thread_wake_flags(struct thread *t, u32 state_mask, unsigned flags));
NOT_CALLED(void schedule(void));
NOT_CALLED(void yield(void));
NOT_CALLED(void cond_resched_slow(void));
NOT_CALLED(int arch_user_load_u32(const u32 *addr, u32 *value));
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

static const struct step_call calls[] = {
	{ spin_lock, lock_theirs },
	{ spin_unlock, unlock_theirs },
	{ thread_wake, wake_theirs },
	{ thread_wake_flags, wake_theirs },
	{ schedule, leave_cpu },
	{ yield, must_not_yield },
	{ cond_resched_slow, do_nothing },
	{ arch_user_load_u32, load_theirs },
	{},
};

/* --- a thread and a waiter --------------------------------------------------------------- */

/* A thread that runs, and its waiter, which is in its bucket if that is @queued. */
static void prepare(bool queued)
{
	static struct proc proc;

	enter_init();
	thread.proc = &proc;
	thread.flags = 0;
	thread.task.state = TASK_RUNNING;
	this_one.self = &this_one;
	this_one.running = &thread;
	step_set_cpu(&this_one);
	w = step_page();
	*w = (struct futex_waiter){ .key = { 1, 4096 }, .thread = &thread, .bitset = ~0u };
	w->bucket = enter_bucket_of(&w->key);
	if (queued)
		list_add_tail(&w->bucket->waiters, &w->link);
	word = OLD_WORD;
	load_error = nr_switches = nr_wakeups = nr_instructions = act_at = 0;
	woken_too_early = acted = announced = false;
	nr_found = 0;
	act = NULL;
}

/* The process begins. At the next place the second CPU does @what; the process knows of neither. */
static void begin(void (*what)(void))
{
	step_begin();
	SET_THEIRS(next_place, 0);
	act = what;
	act_at = next_place;
}

static void run(void (*fn)(void), void (*between)(void))
{
	const char *ended = step_run(fn, calls, between);

	if (ended)
		fail_msg("%s", ended);
}

/* --- wait_for_wake ------------------------------------------------------------------------ */

static void sleep_once(void)
{
	enter_wait_for_wake(w);
}

/* @what ends a sleep: after 0, 1, ... instructions, and last while the thread sleeps. */
static void ends_the_sleep(void (*what)(void))
{
	next_place = 0;
	do {
		prepare(true);
		begin(what);
		run(sleep_once, act_between);
		next_place = act_at + 1;
		if (!acted)
			fail_msg("wait_for_wake() returned though nothing had ended the sleep");
		if (THEIRS(thread.task.state) != TASK_RUNNING)
			fail_msg("wait_for_wake() returned and still announces a sleep: at its "
				 "next switch the thread stays away for ever");
		note(announced, THEIRS(w->woken), nr_found);
	} while (!nr_switches);
	CHECKED_OUTCOMES();
}

static void a_wakeup_between_any_two_instructions_ends_the_sleep(void **state)
{
	(void)state;
	ends_the_sleep(wake_as_it_should_be);
	ends_the_sleep(begin_to_wake);
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
	next_place = UINT32_MAX;
	prepare(true);
	begin(wake_as_it_should_be);
	run(sleep_once, act_between);
	if (!acted)
		fail_msg("wait_for_wake() returned after switch %u, and there was no wakeup, no "
			 "timeout and no signal: a thread may be woken for something else, so it "
			 "must look again each time",
			 nr_switches);
	note(THEIRS(w->woken), nr_found, nr_switches > NR_WAKEUPS_FOR_NOTHING);
	CHECKED_OUTCOMES();
}

/* --- wake_waiter --------------------------------------------------------------------------- */

static void wake_once(void)
{
	enter_wake_waiter(w);
}

/* A process with a waiter in its bucket, whose thread sleeps and whose lock the waker has. */
static void begin_wakeup(void)
{
	prepare(true);
	w->bucket->lock.locked = 1;
	thread.task.state = TASK_INTERRUPTIBLE;
	step_begin();
}

static void act_never(void)
{
}

static void woken_is_set_before_its_thread_is_woken(void **state)
{
	(void)state;
	begin_wakeup();
	run(wake_once, act_never);
	if (!nr_wakeups || THEIRS(thread.task.state) != TASK_RUNNING)
		fail_msg("wake_waiter() woke no thread that sleeps");
	if (woken_too_early)
		fail_msg("wake_waiter() wakes the thread before woken is set: on another CPU it "
			 "looks at once, sees nothing and sleeps on");
	note(THEIRS(w->woken), nr_wakeups, THEIRS(thread.task.state));
	CHECKED_OUTCOMES();
}

static void who_is_woken_is_in_no_bucket_and_released(void **state)
{
	(void)state;
	begin_wakeup();
	run(wake_once, act_never);
	if (!THEIRS(w->bucket->lock.locked))
		fail_msg("wake_waiter() gives back the lock of the bucket, which is its caller's");
	if (in_its_bucket())
		fail_msg("wake_waiter() leaves the waiter in its bucket: the next wakeup finds it "
			 "again, when its stack has ended");
	if (!THEIRS(w->woken))
		fail_msg("wake_waiter() does not set woken");
	if (!THEIRS(w->released))
		fail_msg("wake_waiter() does not store released: each waiter then takes the lock "
			 "of the bucket, for which the waker should have spared it");
	note(THEIRS(w->woken), THEIRS(w->released), in_its_bucket());
	CHECKED_OUTCOMES();
}

/* As soon as `released` is stored, the waiter's stack is another's: the page is closed. */
static void close_when_released(void)
{
	if (acted || !THEIRS(w->released))
		return;
	acted = true;
	step_close_page(w);
}

static void a_waiter_that_is_released_is_touched_no_more(void **state)
{
	(void)state;
	begin_wakeup();
	const char *ended = step_run(wake_once, calls, close_when_released);
	if (ended && step_touched(w))
		fail_msg("wake_waiter() touches the waiter after it stored released: from that "
			 "instruction on the waiter may have returned, and its stack belong to "
			 "something else");
	if (ended)
		fail_msg("%s", ended);
	if (!nr_wakeups)
		fail_msg("wake_waiter() woke no thread");
	note(nr_wakeups, THEIRS(thread.task.state), true);
	CHECKED_OUTCOMES();
}

/* --- begin_wait ------------------------------------------------------------------------------ */

static void look(void)
{
	sleeps = enter_begin_wait(w, &word, OLD_WORD, &result);
}

/* The second CPU has stored and woken, at some place. */
static void expect_an_answer(void)
{
	long right = nr_found ? 0 : load_error ? load_error : -EAGAIN;
	long said = THEIRS(result);

	note(THEIRS(sleeps), nr_found, !THEIRS(sleeps) && !said);
	if (THEIRS(sleeps) && acted && !nr_found)
		fail_msg("%u instructions after the call of begin_wait() the word changed, the "
			 "wakeup found nobody in the bucket, and the thread is to sleep: that "
			 "wakeup is lost",
			 act_at);
	if (THEIRS(sleeps))
		return;
	if (said != right)
		fail_msg("%u instructions after the call of begin_wait() the word changed, the "
			 "wakeup found %s in the bucket, the load %s fail, and *result is %ld, "
			 "where %ld is right",
			 act_at, nr_found ? "the waiter" : "nobody", load_error ? "did" : "did not",
			 said, right);
	if (in_its_bucket())
		fail_msg("begin_wait() says that the thread is not to sleep, and leaves the waiter "
			 "in its bucket");
}

static void the_word_changes_between_any_two_instructions_of_the_look(void **state)
{
	(void)state;
	next_place = 0;
	do {
		prepare(false);
		begin(store_and_wake);
		run(look, act_between);
		next_place = act_at + 1;
		expect_an_answer();
	} while (acted);
	if (!THEIRS(sleeps) || !in_its_bucket())
		fail_msg("the word holds what is expected: begin_wait() must say so, with the "
			 "waiter in its bucket");
	CHECKED_OUTCOMES();
}

/* The load fails, and a wakeup comes between any two instructions: it counts if it found @w. */
static void wakeups_beside_an_error_count(void)
{
	next_place = 0;
	do {
		prepare(false);
		load_error = -EFAULT;
		begin(store_and_wake);
		run(look, act_between);
		next_place = act_at + 1;
		if (THEIRS(sleeps))
			fail_msg("the load of the word fails, and begin_wait() says that the "
				 "thread is to sleep");
		expect_an_answer();
	} while (acted);
}

static void an_error_of_the_load_leaves_nobody_in_the_bucket(void **state)
{
	(void)state;
	prepare(false);
	load_error = -EFAULT;
	step_begin();
	run(look, act_never);
	if (THEIRS(sleeps) || THEIRS(result) != -EFAULT)
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
