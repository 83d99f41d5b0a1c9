/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs out of service and back: /sys/devices/system/cpu/cpuN/online.
 *
 * Each CPU has a stopper, a thread of the scheduler's highest class, made at the first use. To stop
 * the machine all of them are woken; they meet, first with interrupts on - somebody may wait for an
 * answer to one - then, when every CPU runs its stopper and so is in the middle of nothing, with
 * interrupts off. Then CPU 0's alone does what is to be done.
 *
 * A CPU that leaves never gets further than its stopper, which halts it, with interrupts on but
 * none to come: its timers are CPU 0's, no call waits for its answer, the legacy interrupts are
 * CPU 0's anyway. To come back it needs a word and an interrupt, and forgets its page tables.
 * CPU 0 stays: it is the one with the interrupts. As Linux 6.1, it has no such file.
 *
 * Locking: hotplug_lock, a mutex, outermost; see PROTOCOL: hotplug in sched/core/hotplug.c.
 */
#include "kernel/task/hotplug.h"

#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/pseudo/pseudo.h"
#include "kernel/task/task.h"
#include "kernel/time/tick.h"
#include "kernel/time/time.h"
#include "lib/errno.h"
#include "lib/fmt.h"
#include "lib/string.h"

static struct mutex hotplug_lock = MUTEX_INIT(hotplug_lock);

/* --- tasks that lost their CPUs ------------------------------------------------------- */

static struct waitq losses = WAITQ_INIT(losses);
static bool to_report;

static void report_all(void)
{
	struct thread *t;
	struct proc *p;
	int cpu;

	spin_lock(&proc_tree_lock);
	list_for_each(p, &all_procs, all_link)
		list_for_each(t, &p->threads, proc_link)
			if ((cpu = sched_affinity_lost(&t->task)) >= 0)
				kprintf("process %d (%s) no longer affine to cpu%d\n", t->tid,
					t->task.comm, cpu);
	spin_unlock(&proc_tree_lock);
}

static void reporter_main(void *unused)
{
	(void)unused;
	for (;;) {
		wait_event_idle(&losses, __atomic_exchange_n(&to_report, false, __ATOMIC_ACQ_REL));
		report_all();
	}
}

/*
 * Some of these tasks wake up long after their CPUs left, under a runqueue's lock, where nothing
 * may be printed.
 */
void hotplug_tick(void)
{
	debug_assert(!arch_irq_enabled());
	__atomic_store_n(&to_report, true, __ATOMIC_RELEASE);
	waitq_wake(&losses, 0);
}

/* --- stopping the machine ------------------------------------------------------------ */

static struct stopper {
	struct thread *thread;
	struct waitq work;
	u32 wanted; /* it is to come to the meeting */
	bool parked;
} stoppers[MAX_CPUS];

/* One meeting at a time: hotplug_lock. */
static struct {
	void (*fn)(void *);
	void *arg;
	u32 expected, here, quiet, released;
	struct waitq over;
} stop = { .over = WAITQ_INIT(stop.over) };

static void await(const u32 *count, u32 value)
{
	while (__atomic_load_n(count, __ATOMIC_ACQUIRE) != value)
		arch_cpu_relax();
}

static void join(u32 *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
}

static void park(struct stopper *me)
{
	debug_assert(me == &stoppers[arch_cpu_id()]);
	preempt_disable();
	timer_stop_cpu();
	arch_cpu_park(&me->parked);
	tick_start();
	preempt_enable_no_resched();
}

static void meet(struct stopper *me)
{
	debug_assert(me == &stoppers[arch_cpu_id()]);
	join(&stop.here);
	await(&stop.here, stop.expected);
	arch_irq_disable();
	join(&stop.quiet);
	if (arch_cpu_id() == 0) {
		await(&stop.quiet, stop.expected);
		stop.fn(stop.arg);
		__atomic_store_n(&stop.released, 1, __ATOMIC_RELEASE);
	} else {
		await(&stop.released, 1);
	}
	WRITE_ONCE(me->wanted, 0);
	if (__atomic_sub_fetch(&stop.here, 1, __ATOMIC_ACQ_REL) == 0)
		waitq_wake(&stop.over, 0);
	if (READ_ONCE(me->parked))
		park(me);
	arch_irq_enable();
}

static void stopper_main(void *arg)
{
	struct stopper *me = arg;

	for (;;) {
		wait_event_idle(&me->work, READ_ONCE(me->wanted));
		meet(me);
	}
}

static int make_threads(void)
{
	static struct thread *reporter;
	char name[COMM_LEN];

	debug_assert(mutex_is_held(&hotplug_lock));
	reporter = reporter ?: kthread_create("hotplugd", reporter_main, NULL);
	if (!reporter)
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		struct stopper *s = &stoppers[cpu];

		if (s->thread)
			continue;
		snprintf(name, sizeof(name), "migration/%u", cpu);
		waitq_init(&s->work, "stopper");
		s->thread = kthread_create_stopper(cpu, name, stopper_main, s);
		if (!s->thread)
			return -ENOMEM;
	}
	return 0;
}

/* Call @fn(@arg) on CPU 0 while every other CPU stands still, interrupts off. */
static void stop_machine(void (*fn)(void *), void *arg)
{
	debug_assert(mutex_is_held(&hotplug_lock));
	stop.fn = fn;
	stop.arg = arg;
	stop.expected = stop.here = stop.quiet = stop.released = 0;
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++)
		stop.expected += cpus[cpu]->online;
	/* Without this, our own stopper would wait for stoppers that we have not woken yet. */
	preempt_disable();
	for (unsigned cpu = 0; cpu < arch_nr_cpus; cpu++) {
		if (!cpus[cpu]->online)
			continue;
		WRITE_ONCE(stoppers[cpu].wanted, 1);
		waitq_wake(&stoppers[cpu].work, 0);
	}
	preempt_enable();
	wait_event(&stop.over, READ_ONCE(stop.released) && !READ_ONCE(stop.here));
}

/* --- down and up ---------------------------------------------------------------------- */

struct order {
	unsigned cpu;
	int err;
};

/* These two: in the stopped machine, on CPU 0. */
static void take_down(void *arg)
{
	struct order *o = arg;
	struct cpu *c = cpus[o->cpu];

	debug_assert(arch_cpu_id() == 0 && !arch_irq_enabled());
	o->err = sched_cpu_offline(machine, o->cpu);
	if (o->err)
		return;
	timers_take_over(o->cpu);
	c->online = false;
	c->offline_since_ns = clock_ns();
	stoppers[o->cpu].parked = true;
}

static void bring_up(void *arg)
{
	struct order *o = arg;
	struct cpu *c = cpus[o->cpu];

	debug_assert(arch_cpu_id() == 0 && !arch_irq_enabled());
	sched_cpu_online(machine, o->cpu, &c->idle->task);
	c->online_ns += clock_ns() - c->offline_since_ns;
	c->online = true;
	WRITE_ONCE(stoppers[o->cpu].parked, false);
	arch_send_reschedule(o->cpu);
}

static int change(unsigned cpu, bool online)
{
	struct order order = { .cpu = cpu };
	int err;

	debug_assert(cpu && cpu < arch_nr_cpus);
	debug_assert(mutex_is_held(&hotplug_lock));
	if (cpus[cpu]->online == online)
		return 0;
	err = make_threads();
	if (err)
		return err;
	stop_machine(online ? bring_up : take_down, &order);
	/*
	 * The CPU is about to halt, or about to take its first steps. Until it has, it is in
	 * neither state.
	 */
	while (!order.err && arch_cpu_is_parked(cpu) == online) {
		arch_cpu_relax();
		yield();
	}
	return order.err;
}

static u64 nr_changes; /* written with the lock of cpu_set_online() held */

u64 cpu_nr_changes(void)
{
	return READ_ONCE(nr_changes);
}

int cpu_set_online(unsigned cpu, bool online)
{
	int err;

	might_sleep();
	if (cpu == 0)
		return -EPERM;
	mutex_lock(&hotplug_lock);
	nr_changes += cpus[cpu]->online != online;
	err = change(cpu, online);
	if (!err) {
		sysfs_show_cpu(cpu, online);
		cpufreq_show_cpu(cpu, online);
		schedfs_show_domains();
	}
	mutex_unlock(&hotplug_lock);
	return err;
}
