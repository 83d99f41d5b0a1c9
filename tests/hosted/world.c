/* SPDX-License-Identifier: GPL-2.0-only */
/* The scheduler, the locks and the panic of a hosted world; see world.h. */
#include "kernel/kernel.h"
#include "kernel/task/account.h"
#include "kernel/task/lockdep.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "kernel/task/thread.h"
#include "lib/fmt.h"
#include "lib/string.h"
#include "libc.h"
#include "world.h"

struct hosted_thread {
	struct cpu cpu;
	struct arch_cpu arch;
	struct thread thread;
	const struct spinlock *waits_for;
	struct cpu *on; /* its own, or one that it has borrowed */
	bool sleeps, ended;
	bool lent;   /* its CPU */
	bool counts; /* its wakeups */
	u32 woken;   /* the number of its last wakeup that counted, or 0 */
};

static struct hosted_thread threads[NR_FIBERS], outside = {
	.cpu = { .id = NR_FIBERS, .arch = &outside.arch },
};
struct cpu *hosted_cpu = &outside.cpu;
static struct world *world;
static unsigned running; /* the thread that runs, or is to go on next */
static unsigned next_preemption;
static u32 nr_wakeups; /* that counted */

unsigned world_thread(void)
{
	return running;
}

u32 world_now(void)
{
	return world->nr_points;
}

static bool inside(void)
{
	return hosted_cpu != &outside.cpu;
}

/* The running thread stops here, and goes on when it is chosen again. */
static void leave(void)
{
	unsigned me = running;

	hosted_cpu = &outside.cpu;
	fiber_leave(me);
}

/* A fault of the object's, or one that the world finds: the run ends here. */
void panic(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fmt_vsnprintf(world->fault, sizeof(world->fault), format, args);
	va_end(args);
	if (!inside()) {
		write(2, world->fault, strlen(world->fault));
		abort();
	}
	for (;;)
		leave();
}

static bool can_run(const struct hosted_thread *t)
{
	if (t->ended || t->lent || (t->waits_for && t->waits_for->locked))
		return false;
	return !t->sleeps || t->thread.task.state == TASK_RUNNING;
}

static u8 all_able(void)
{
	u8 able = 0;

	for (unsigned i = 0; i < world->nr_threads; i++)
		able |= (u8)(can_run(&threads[i]) << i);
	return able;
}

/* The running thread lets @to go on. */
static void go_on_with(unsigned to)
{
	unsigned me = running;

	hosted_cpu = &outside.cpu;
	running = to;
	fiber_leave(me);
}

void world_point(void)
{
	const struct preemption *next;
	u32 at;

	if (!inside())
		return;
	next = &world->schedule.list[next_preemption];
	at = world->nr_points++;
	if (at == (world->nr_threads == 1 ? MAX_POINTS_ALONE : MAX_POINTS))
		panic("it does not end");
	if (world->nr_threads == 1)
		return;
	world->able[at] = (u8)(all_able() & ~(1u << running));
	if (next_preemption == world->schedule.nr || next->at != at)
		return;
	next_preemption++;
	if (world->able[at] >> next->to & 1)
		go_on_with(next->to);
}

/* The running thread spins: another goes on. */
void hosted_relax(void)
{
	unsigned to = running;

	world_point();
	for (unsigned i = 1; inside() && i < world->nr_threads && to == running; i++)
		if (can_run(&threads[(running + i) % world->nr_threads]))
			to = (running + i) % world->nr_threads;
	if (to != running)
		go_on_with(to);
}

bool world_borrow_cpu(unsigned cpu)
{
	struct hosted_thread *t = &threads[cpu];

	if (cpu == world->nr_threads)
		return false;
	while (cpu != running && (t->lent || t->arch.irqs_off))
		hosted_relax();
	t->lent = cpu != running;
	hosted_cpu = threads[running].on = &t->cpu;
	fiber_take(&t->cpu);
	return true;
}

void world_return_cpu(unsigned cpu)
{
	threads[cpu].lent = false;
	fiber_give(&threads[cpu].cpu);
	hosted_cpu = threads[running].on = &threads[running].cpu;
}

void world_wait_for_irqs(void)
{
	for (unsigned i = 0; inside() && i < world->nr_threads; i++) {
		while (i != running && threads[i].arch.irqs_off)
			hosted_relax();
		fiber_take(&threads[i].cpu); /* its CPU answered the interrupt */
	}
}

/* Compiled into the kernel's code at the beginning of each basic block. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	world_point();
}

/* --- the run -------------------------------------------------------------------------- */

static void run_body(unsigned nr)
{
	fiber_take(&world->body);
	world->body(nr);
	threads[nr].ended = true;
	fiber_ends();
	for (;;)
		leave();
}

struct thread *world_thread_of(unsigned nr)
{
	return &threads[nr].thread;
}

void world_thread_ends(int code)
{
	world->ends(code);
	threads[running].ended = true;
	fiber_ends();
	for (;;)
		leave();
}

void world_count_wakeups(bool on)
{
	threads[running].counts = on;
}

u32 world_take_wakeup(void)
{
	u32 nr = threads[running].woken;

	threads[running].woken = 0;
	return nr;
}

void world_signal(unsigned nr)
{
	thread_set_flags(&threads[nr].thread, THREAD_SIGPENDING);
	thread_wake(&threads[nr].thread, TASK_INTERRUPTIBLE);
}

void world_take_signal(void)
{
	thread_clear_flags(current, THREAD_SIGPENDING);
}

/* Every thread that is left sleeps: each is to end. */
static void kill_all(void)
{
	world->stuck = true;
	hosted_process.group_exit = true;
	for (unsigned i = 0; i < world->nr_threads; i++) {
		thread_set_flags(&threads[i].thread, THREAD_SIGPENDING);
		thread_wake(&threads[i].thread, TASK_INTERRUPTIBLE | TASK_STOPPED | TASK_WAKEKILL);
	}
}

/* The next thread that can run, from the running one on; -1: there is none. */
static int choose(void)
{
	for (unsigned i = 0; i < world->nr_threads; i++) {
		unsigned nr = (running + i) % world->nr_threads;

		if (can_run(&threads[nr]))
			return (int)nr;
	}
	return -1;
}

static bool all_ended(void)
{
	for (unsigned i = 0; i < world->nr_threads; i++)
		if (!threads[i].ended)
			return false;
	return true;
}

static void say_who_waits(void)
{
	for (unsigned i = 0; i < world->nr_threads; i++) {
		const struct spinlock *lock = threads[i].waits_for;

		if (threads[i].ended)
			continue;
		fmt_snprintf(world->fault, sizeof(world->fault), "thread %u %s%s", i,
			     lock ? "waits for ever for the lock of " : "sleeps, signal or not",
			     lock ? lock->name : "");
		return;
	}
}

static void begin_threads(void)
{
	for (unsigned i = 0; i < world->nr_threads; i++) {
		struct hosted_thread *t = &threads[i];

		memset(t, 0, sizeof(*t));
		t->cpu.id = i;
		t->cpu.self = &t->cpu;
		t->cpu.arch = &t->arch;
		t->cpu.running = &t->thread;
		t->on = &t->cpu;
		t->thread.tid = (int)i + 1;
		t->thread.account = outside.thread.account;
		process_add(&t->thread);
		fiber_begin(i, run_body);
	}
	running = next_preemption = nr_wakeups = 0;
}

extern initcall_fn __start_initcall[], __stop_initcall[];

/* Anew for each run: one that failed may leave something behind. */
static void run_initcalls(void)
{
	memory_of_boot(true);
	for (initcall_fn *fn = __start_initcall; fn < __stop_initcall; fn++)
		(*fn)();
	memory_of_boot(false);
}

void world_begin(struct world *w)
{
	world = w;
	w->nr_points = w->nr_allocations = 0;
	w->failed = w->stuck = false;
	w->fault[0] = '\0';
	outside.cpu.running = &outside.thread;
	outside.thread.account = &root_account;
	memset(root_account.used, 0, sizeof(root_account.used));
	memory_begin(w);
	clock_begin();
	run_initcalls();
	process_begin();
	outside.thread.proc = &hosted_process;
	begin_threads();
}

void world_end(void)
{
	process_end();
	for (unsigned i = 0; i < NR_RESOURCES; i++)
		if (root_account.used[i])
			fmt_snprintf(world->fault, sizeof(world->fault),
				     "the user is charged %lu of %u", root_account.used[i], i);
	if (!clock_end())
		fmt_snprintf(world->fault, sizeof(world->fault), "a timer is left");
	if (memory_in_use())
		fmt_snprintf(world->fault, sizeof(world->fault), "%u allocations are left",
			     memory_in_use());
}

void world_run(struct world *w)
{
	fiber_give(&w->body);
	while (!w->fault[0] && !all_ended()) {
		int next = choose();

		if (next < 0 && !w->stuck) {
			kill_all();
			continue;
		}
		if (next < 0) {
			say_who_waits();
			break;
		}
		running = (unsigned)next;
		hosted_cpu = threads[running].on;
		fiber_enter(running);
		hosted_cpu = &outside.cpu;
	}
	fiber_join();
}

/* --- locks ------------------------------------------------------------------------------ */

void spin_lock_init(struct spinlock *lock, const char *name)
{
	*lock = (struct spinlock){ .name = name };
}

void spin_lock(struct spinlock *lock)
{
	world_point();
	if (lock->holder == this_cpu())
		panic("%s is locked by the CPU that has it", lock->name);
	threads[running].waits_for = inside() ? lock : NULL;
	while (lock->locked) {
		if (!inside())
			panic("%s is left locked", lock->name);
		leave();
	}
	threads[running].waits_for = NULL;
	fiber_take(lock);
	lock->locked = 1;
	lock->holder = this_cpu();
	preempt_disable();
}

void spin_unlock(struct spinlock *lock)
{
	if (lock->holder != this_cpu())
		panic("%s is given back by a CPU that does not have it", lock->name);
	fiber_give(lock);
	lock->holder = NULL;
	lock->locked = 0;
	preempt_enable_no_resched();
	world_point();
}

unsigned long spin_lock_irqsave(struct spinlock *lock)
{
	unsigned long flags = arch_irq_save();

	spin_lock(lock);
	return flags;
}

void spin_unlock_irqrestore(struct spinlock *lock, unsigned long flags)
{
	spin_unlock(lock);
	arch_irq_restore(flags);
}

void lockdep_acquire_mutex(const struct mutex *m, bool trying)
{
	(void)m;
	(void)trying;
}

void lockdep_release_mutex(const struct mutex *m)
{
	(void)m;
}

/* --- sleeping ----------------------------------------------------------------------------- */

void sched_block(struct task *t, u32 state)
{
	t->state = state;
	world_point();
}

void sched_unblock(struct task *t)
{
	t->state = TASK_RUNNING;
	world_point();
}

void schedule(void)
{
	struct hosted_thread *t = &threads[running];

	if (t->cpu.preempt_count)
		panic("it sleeps with a spin lock");
	world_point();
	t->sleeps = true;
	while (t->thread.task.state != TASK_RUNNING)
		leave();
	t->sleeps = false;
	fiber_take(&t->sleeps);
}

bool thread_wake_flags(struct thread *t, u32 state_mask, unsigned flags)
{
	struct hosted_thread *sleeper = container_of(t, struct hosted_thread, thread);

	(void)flags;
	if (threads[running].counts)
		sleeper->woken = ++nr_wakeups;
	if (!(t->task.state & state_mask))
		return false;
	fiber_give(&sleeper->sleeps);
	t->task.state = TASK_RUNNING;
	world_point();
	return true;
}

bool thread_wake(struct thread *t, u32 state_mask)
{
	return thread_wake_flags(t, state_mask, 0);
}

void might_resched_slow(void)
{
}

void cond_resched_slow(void)
{
}

void preempt_now(void)
{
}
