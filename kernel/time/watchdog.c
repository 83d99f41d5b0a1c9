/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watchdogs of CPUs. Every CPU in service, idle or not, takes a sample each 2/5 of
 * watchdog_thresh seconds from its timer interrupt, and looks for
 *
 *	hard lockup	another CPU has taken no sample for watchdog_thresh: it takes no interrupts
 *	soft lockup	this CPU has been asked to switch for twice that, and has not: kernel code
 *			runs with preemption off while a task waits
 *	spin lockup	this CPU has spun for a lock for twice that; lock.c asks
 *	stall		this CPU has waited for an answer of another one for twice that, which keeps
 *			its interrupts off: for example until no CPU reads what is to be freed;
 *			arch_call_others() asks
 *
 * A lockup is said once, with registers and backtraces, which each CPU prints on an NMI, and with
 * all runqueues, which the thread of hung_task.c shows: that thread may wait for their locks. The
 * machine goes on, unless watchdog=panic or the sysctl *_panic says otherwise. Tasks are looked
 * after in hung_task.c. The words are Linux's, so that what searches logs for them finds them.
 *
 * Locking: none. A CPU's samples are written by that CPU; flags that make a report the only one are
 * exchanged atomically.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/task/thread.h"
#include "kernel/time/tick.h"
#include "kernel/time/time.h"
#include "kernel/time/watchdog.h"

struct watchdog_settings watchdog = {
	.enabled = 1,
	.thresh_s = 10,
	.hung_task_s = 120,
	.hung_task_warnings = 10,
	.starving_s = 60,
};

static struct watch {
	u64 sample_ns;	     /* the last; 0: out of service */
	u64 sound_ns;	     /* the last sample at which no switch was overdue */
	const void *running; /* at the last sample, and how often it had been switched to */
	u64 nr_switches;
	bool hard_said, soft_said;
} watches[MAX_CPUS];

static bool spin_said, stall_said;

static u64 thresh_ns(void)
{
	return READ_ONCE(watchdog.thresh_s) * NS_PER_SEC;
}

static u64 next_sample(u64 now)
{
	u64 period = thresh_ns() * 2 / 5;

	return READ_ONCE(watchdog.enabled) && period ? now - now % period + period : 0;
}

/* After the line that says which lockup it is. */
static void say_rest(u64 panic_wanted, const char *why)
{
	if (panic_wanted)
		panic("%s", why);
	backtrace_all_cpus();
	hung_task_show_queues();
}

/* --- hard lockups ----------------------------------------------------------------- */

static void check_other(unsigned cpu, u64 now)
{
	struct watch *w = &watches[cpu];
	u64 sample = READ_ONCE(w->sample_ns);

	debug_assert(cpu != arch_cpu_id());
	debug_assert(!arch_irq_enabled());
	if (!sample || !cpus[cpu]->online)
		return;
	if (sample + thresh_ns() >= now) {
		WRITE_ONCE(w->hard_said, false);
		return;
	}
	if (__atomic_exchange_n(&w->hard_said, true, __ATOMIC_RELAXED))
		return;
	kprintf("watchdog: Watchdog detected hard LOCKUP on cpu %u\n", cpu);
	say_rest(watchdog.hard_panic, "Hard LOCKUP");
}

/* --- soft lockups ----------------------------------------------------------------- */

/* Is a switch overdue since the sample before? */
static bool owes_switch(struct watch *w)
{
	struct thread *t = current;
	u64 nr = t->task.nr_voluntary + t->task.nr_involuntary;
	bool same = w->running == t && w->nr_switches == nr;

	debug_assert(!arch_irq_enabled());
	w->running = t;
	w->nr_switches = nr;
	return same && arch_need_resched();
}

static void check_self(struct watch *w, u64 now)
{
	debug_assert(!arch_irq_enabled());
	if (!owes_switch(w)) {
		w->sound_ns = now;
		w->soft_said = false;
		return;
	}
	if (now - w->sound_ns < 2 * thresh_ns() || w->soft_said)
		return;
	w->soft_said = true;
	kprintf("watchdog: BUG: soft lockup - CPU#%u stuck for %llus! [%s:%d]\n", arch_cpu_id(),
		(unsigned long long)((now - w->sound_ns) / NS_PER_SEC), current->task.comm,
		current->tid);
	backtrace_interrupted();
	say_rest(watchdog.soft_panic, "softlockup: hung tasks");
}

/* --- samples ---------------------------------------------------------------------- */

u64 watchdog_sample(u64 now)
{
	struct watch *w = &watches[arch_cpu_id()];
	u64 before = w->sample_ns;

	debug_assert(arch_in_irq());
	assert_irqs_off();
	WRITE_ONCE(w->sample_ns, now);
	check_self(w, now);
	/* A CPU that stood still itself, perhaps with the whole machine, cannot judge others. */
	for (unsigned cpu = 0; cpu < arch_nr_cpus && before + thresh_ns() >= now; cpu++)
		if (cpus[cpu] != this_cpu())
			check_other(cpu, now);
	hung_task_tick(now);
	return next_sample(now);
}

u64 watchdog_start(u64 now)
{
	struct watch *w = &watches[arch_cpu_id()];

	assert_irqs_off();
	w->sound_ns = now;
	WRITE_ONCE(w->sample_ns, next_sample(now) ? now : 0);
	return next_sample(now);
}

void watchdog_stop(unsigned cpu)
{
	debug_assert(!arch_irq_enabled());
	WRITE_ONCE(watches[cpu].sample_ns, 0);
}

static void restart_here(void *unused)
{
	(void)unused;
	with_irqs_off(timer_restart_watchdog());
}

void watchdog_restart(void)
{
	debug_assert(arch_irq_enabled());
	restart_here(NULL);
	arch_call_others(restart_here, NULL);
}

/* --- waits of a CPU that spins ---------------------------------------------------------- */

/* True once for each kind of wait: the CPU has spun since @since_ns, and that is too long. */
static bool too_long(u64 since_ns, bool *said)
{
	return thresh_ns() && clock_ns() - since_ns >= 2 * thresh_ns() &&
	       !__atomic_exchange_n(said, true, __ATOMIC_RELAXED);
}

void watchdog_spins(u64 since_ns)
{
	if (!too_long(since_ns, &spin_said))
		return;
	kprintf("watchdog: BUG: spinlock lockup suspected on CPU#%u, %s/%d\n", arch_cpu_id(),
		current->task.comm, current->tid);
	say_rest(watchdog.hard_panic, "spinlock lockup");
}

void kernel_awaits(u64 since_ns, unsigned cpu)
{
	if (!too_long(since_ns, &stall_said))
		return;
	kprintf("watchdog: INFO: stall detected by CPU#%u, %s/%d: CPU#%u has not answered for "
		"%llus\n",
		arch_cpu_id(), current->task.comm, current->tid, cpu,
		(unsigned long long)((clock_ns() - since_ns) / NS_PER_SEC));
	say_rest(watchdog.hard_panic, "stall");
}
