/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watchdogs of tasks, a kernel thread that looks now and then for
 *
 *	a hung task	asleep uninterruptibly for more than hung_task_timeout_secs: what it waits
 *			for has probably been lost. Said once for each such sleep, with a backtrace.
 *	a starving task	runnable for more than watchdog=S seconds without a CPU: placement, a clock
 *			or the host. Said with its queue and the state of all CPUs, once in S
 *			seconds, because neighbours starve together.
 *
 * Only fair tasks can starve. Real-time ones may rightly be kept waiting for ever by more urgent
 * ones, and fair ones too while real-time throttling is off (sched_rt_runtime_us = -1) or, under a
 * policy with fair servers, one of them is (runtime = 0): that is the user's decision.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/task/proc.h"
#include "kernel/time/time.h"
#include "kernel/time/watchdog.h"

static u64 next_look_ns, next_starving_ns;
static bool queues_wanted; /* a lockup was found */
static struct waitq wake = WAITQ_INIT(wake);

/* --- finding them ----------------------------------------------------------------- */

/* Have real-time tasks leave to starve others? */
static bool throttling_is_off(void)
{
	char text[32] = "";

	if (sched_fair_has(machine, TRAIT_FAIR_SERVER)) {
		for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
			if (sched_fair_server_read(machine, cpu, 0, text, sizeof(text)) > 0 &&
			    text[0] == '0')
				return true;
		return false;
	}
	return sched_tunable_read(machine, "sched_rt_runtime_us", text, sizeof(text)) > 0 &&
	       text[0] == '-';
}

/* ns that @t has waited for a CPU; 0 if it does not wait, or rightly. */
static u64 waited(const struct thread *t, u64 now)
{
	u64 since = READ_ONCE(t->task.wait_start);

	debug_assert(spin_is_held(&proc_tree_lock));
	return READ_ONCE(t->task.on_rq) == TASK_QUEUED && since && now > since &&
			       task_is_fair_policy(READ_ONCE(t->task.policy))
		       ? now - since
		       : 0;
}

/* Is @t in a long sleep not told of yet? As on Linux, killable sleeps do not count. */
static bool is_hung(const struct thread *t, u64 now)
{
	debug_assert(spin_is_held(&proc_tree_lock));
	return READ_ONCE(t->task.state) == TASK_UNINTERRUPTIBLE &&
	       READ_ONCE(t->task.on_rq) == TASK_OFF_RQ &&
	       READ_ONCE(t->task.sleep_start) + watchdog.hung_task_s * NS_PER_SEC < now &&
	       t->hung_said_ns != t->task.sleep_start;
}

struct finding {
	u64 now, waited_ns;
	unsigned nr_starving;
	struct thread *starving,
		*hung;	      /* the longest to wait, the first to hang; with references */
	struct thread *ahead; /* runs before @starving: no fair task; with a reference */
};

static void take(struct thread **place, struct thread *t)
{
	if (*place)
		thread_put(*place);
	*place = thread_get(t);
}

static void look_at(struct finding *f, const struct list *threads)
{
	struct thread *t;

	assert_held(&proc_tree_lock);
	list_for_each(t, threads, proc_link) {
		u64 wait = waited(t, f->now);

		if (wait > watchdog.starving_s * NS_PER_SEC)
			f->nr_starving++;
		if (wait > f->waited_ns) {
			f->waited_ns = wait;
			take(&f->starving, t);
		}
		if (!f->hung && watchdog.hung_task_s && is_hung(t, f->now)) {
			t->hung_said_ns = t->task.sleep_start;
			take(&f->hung, t);
		}
	}
}

static void look_at_all(struct finding *f)
{
	struct proc *p;

	spin_lock(&proc_tree_lock);
	f->now = clock_ns();
	look_at(f, &kernel_proc.threads);
	list_for_each(p, &all_procs, all_link)
		look_at(f, &p->threads);
	spin_unlock(&proc_tree_lock);
}

/* The task that is to blame, if a fair task waits because the CPU is not its class's. */
static void find_ahead(struct finding *f)
{
	struct thread *t;
	struct proc *p;

	spin_lock(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link)
		list_for_each(t, &p->threads, proc_link)
			if (!task_is_fair_policy(READ_ONCE(t->task.policy)) &&
			    READ_ONCE(t->task.on_rq) == TASK_QUEUED &&
			    READ_ONCE(t->task.cpu) == f->starving->task.cpu &&
			    (!f->ahead || t->task.prio < f->ahead->task.prio))
				take(&f->ahead, t);
	spin_unlock(&proc_tree_lock);
}

/* --- saying so ------------------------------------------------------------------------ */

/* A mutex that is being handed over has no holder: nothing is said then. */
static void say_blocker(struct thread *t)
{
	struct thread *holder = mutex_blocker(t);

	if (!holder)
		return;
	kprintf("INFO: task %s:%d is blocked on a mutex owned by task %s:%d.\n", t->task.comm,
		t->tid, holder->task.comm, holder->tid);
	if (READ_ONCE(holder->task.on_rq) == TASK_OFF_RQ)
		backtrace_thread(holder);
	thread_put(holder);
}

/* After the line that says which task waits. The panic shows the same. */
static void show_machine(void)
{
	backtrace_all_cpus();
	show_runqueues();
}

/* True if it was said. */
static bool say_hung(struct thread *t)
{
	if (!watchdog.hung_task_warnings)
		return false;
	watchdog.hung_task_warnings--;
	kprintf("INFO: task %s:%d blocked for more than %llu seconds.\n", t->task.comm, t->tid,
		(unsigned long long)watchdog.hung_task_s);
	kprintf("\"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\" disables this message.\n");
	backtrace_thread(t);
	say_blocker(t);
	if (watchdog.hung_task_panic)
		panic("hung_task: blocked tasks");
	return true;
}

static void say_starving(struct finding *f)
{
	const struct thread *t = f->starving;

	if (!f->nr_starving || !watchdog.starving_s || f->now < next_starving_ns ||
	    throttling_is_off())
		return;
	next_starving_ns = f->now + watchdog.starving_s * NS_PER_SEC;
	find_ahead(f);
	kprintf("watchdog: %s (%d) is runnable on cpu %u but has not run for %llu s; %u such "
		"tasks\n",
		t->task.comm, t->tid, t->task.cpu, (unsigned long long)(f->waited_ns / NS_PER_SEC),
		f->nr_starving);
	if (f->ahead)
		kprintf("watchdog: cpu %u runs %s (%d), of real-time priority %d, before them\n",
			t->task.cpu, f->ahead->task.comm, f->ahead->tid,
			f->ahead->task.rt_priority);
	if (watchdog.starving_panic)
		panic("watchdog: a task starves");
	show_machine();
}

static void look(void)
{
	bool again, said = false;

	do {
		struct finding f = { 0 };

		look_at_all(&f);
		again = f.hung; /* there may be another */
		if (f.hung)
			said |= say_hung(f.hung);
		if (f.starving)
			say_starving(&f);
		if (f.hung)
			thread_put(f.hung);
		if (f.starving)
			thread_put(f.starving);
		if (f.ahead)
			thread_put(f.ahead);
	} while (again);
	if (said) /* once for all that hang */
		show_machine();
}

/* The time between two checks: a quarter of the shorter limit, which bounds the delay. */
static u64 interval_ns(void)
{
	u64 hung = watchdog.hung_task_s ?: watchdog.starving_s;
	u64 starving = watchdog.starving_s ?: hung;

	return hung ? min(hung, starving) * NS_PER_SEC / 4 : TIME_NEVER / 2;
}

static void watchdog_main(void *unused)
{
	(void)unused;
	for (;;) {
		wait_event_idle(&wake, clock_ns() >= READ_ONCE(next_look_ns));
		WRITE_ONCE(next_look_ns, clock_ns() + interval_ns());
		if (__atomic_exchange_n(&queues_wanted, false, __ATOMIC_RELAXED))
			show_runqueues();
		look();
	}
}

void hung_task_tick(u64 now_ns)
{
	debug_assert(!arch_irq_enabled());
	if (now_ns >= READ_ONCE(next_look_ns))
		waitq_wake(&wake, 0);
}

void hung_task_show_queues(void)
{
	WRITE_ONCE(queues_wanted, true);
	WRITE_ONCE(next_look_ns, 0);
}

void hung_task_restart(void)
{
	WRITE_ONCE(next_look_ns, 0);
}

static int hung_task_init(void)
{
	next_look_ns = clock_ns() + interval_ns();
	return kthread_create("watchdog", watchdog_main, NULL) ? 0 : -1;
}
INITCALL(hung_task_init);
