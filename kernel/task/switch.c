/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Switching threads: the kernel's half of the scheduler's protocol.
 *
 *	schedule()      the running thread gives the CPU up: it announced a sleep, yielded, or ended
 *	preempt_here()  the scheduler wants the CPU for somebody else (need_resched), and kernel
 *	                code has come to where the model of preemption allows it (preempt.c);
 *	                also at the end of interrupts and, as R in a trace, before user space
 *
 * Both end in switch_threads(): sched_switch_begin() picks with the runqueue locked, arch_switch()
 * changes stacks, and the thread that runs then calls finish_switch(), which unlocks. A thread that
 * ended is freed there, by its successor, when nothing stands on its stack any more.
 *
 * Locking: interrupts are off from before the pick until after the unlock. preempt_count is 0 at
 * each switch, so it need not move with the threads.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/task/preempt.h"
#include "kernel/task/proc.h"
#include "kernel/task/signal.h"
#include "kernel/task/task.h"
#include "kernel/time/speed.h"
#include "kernel/time/tick.h"
#include "kernel/trace/perf.h"
#include "kernel/trace/trace.h"

static __noinline void bury_dead(struct cpu *c)
{
	struct thread *t = c->dead;

	debug_assert(t != current && t->task.state == TASK_DEAD);
	c->dead = NULL;
	thread_put(t);
}

/*
 * Lab 11, finish: does what is left to do on the new stack: the scheduler's half, which gives the
 * lock of the runqueue back, and the burial of a thread that ended here and stood on its stack
 * until now.
 */
static inline void finish_switch(void)
{
	struct cpu *c = this_cpu();

	debug_assert(!arch_irq_enabled());
	sched_switch_end(machine, c->id);
	if (unlikely(c->dead))
		bury_dead(c);
}

__noreturn void switch_away(void)
{
	debug_assert(!thread_has(current, THREAD_IDLE));
	arch_irq_disable();
	this_cpu()->dead = current;
	sched_task_exit(machine, arch_cpu_id());
	schedule();
	panic("a dead thread runs");
}

/* Inline in schedule(), where every instruction is paid for on each switch. */
static inline __attribute__((always_inline)) void switch_threads(bool preempt);

/*
 * Lab 11, hand-over: lets the scheduler pick, goes to who was picked if that is another thread, and
 * finishes the switch, with the lock of the runqueue held from the pick to the end. The idle thread
 * had no tick, so who follows it needs tick_start().
 */
static inline void switch_threads(bool preempt)
{
	struct cpu *c = this_cpu();
	struct thread *prev = current;

	debug_assert(!arch_irq_enabled());
	/*
	 * Cleared before the pick: a kick from now on may be about a task that the pick does not
	 * see.
	 */
	WRITE_ONCE(c->need_resched, 0); /* beside host_kick() on another CPU */
	struct thread *next = thread_of(sched_switch_begin(machine, c->id, preempt));
	debug_assert(next->task.state != TASK_DEAD);
	if (likely(prev != next)) {
		if (unlikely(thread_has(prev, THREAD_IDLE)))
			tick_start();
		perf_leave_cpu(prev);
		arch_switch(prev, next);
	}
	finish_switch();
}

/* The scheduler wants the CPU. @in_kernel: what the thread announced waits until it is back. */
static __noinline void give_way(bool in_kernel)
{
	debug_assert(!arch_irq_enabled());
	switch_threads(in_kernel);
}

void schedule(void)
{
	arch_irq_disable();
	assert(!(this_cpu()->preempt_count | this_cpu()->irq_depth));
	switch_threads(false);
	arch_irq_enable();
}

void yield(void)
{
	debug_assert(may_sleep() && arch_irq_enabled());
	arch_irq_disable();
	if (sched_yield(machine, arch_cpu_id()))
		switch_threads(false);
	arch_irq_enable();
}

/* Others ask at any time. A request that comes just now is seen at the next look. */
static inline __racy bool is_asked(u32 requests)
{
	return this_cpu()->need_resched & requests;
}

void preempt_here(u32 requests)
{
	/*
	 * If preemption or interrupts are off, need_resched is looked at again when they are turned
	 * on.
	 */
	if (!arch_preemptible() || !arch_irq_enabled())
		return;
	arch_irq_disable();
	while (is_asked(requests) && !this_cpu()->irq_depth)
		give_way(true);
	arch_irq_enable();
}

void kernel_preempt_irq(void)
{
	struct cpu *c = this_cpu();

	debug_assert(!arch_irq_enabled());
	if (READ_ONCE(c->need_resched) & NEED_RESCHED_NOW && !c->preempt_count &&
	    preempt_model->anywhere)
		give_way(true);
}

/* The architecture's entry does the same for system calls, but for the work (entry.S). */
void kernel_exit_to_user(struct user_regs *regs)
{
	debug_assert(!thread_has(current, THREAD_KERNEL));
	debug_assert(!arch_irq_enabled());
	while (unlikely(exit_work_pending())) {
		if (arch_need_resched()) {
			assert(!current->task.state);
			give_way(false);
		} else {
			arch_irq_enable();
			signal_deliver(regs);
			arch_irq_disable();
		}
	}
	current->user_stamp = arch_cycles32();
}

void kernel_thread_begin(void)
{
	struct thread *t = current;

	debug_assert(!arch_irq_enabled());
	finish_switch();
	arch_irq_enable();
	/* As on Linux, a bad address only concerns the program that gave it. */
	if (t->set_child_tid)
		(void)!arch_copy_to_user(t->set_child_tid, &t->tid, sizeof(t->tid));
}

void kernel_ipi_reschedule(void)
{
	debug_assert(!arch_irq_enabled());
	/* If the sender set need_resched, the way out of the interrupt acts on it. */
	TRACE(reschedule_entry, RESCHEDULE_VECTOR);
	timer_recheck();
	speed_recheck();
	TRACE(reschedule_exit, RESCHEDULE_VECTOR);
}

static inline bool wake(struct thread *t, u32 state_mask, unsigned wake_flags)
{
	unsigned long flags = arch_irq_save();
	bool woken = sched_wake(machine, &t->task, state_mask, arch_cpu_id(), wake_flags);

	debug_assert(state_mask);
	arch_irq_restore(flags);
	preempt_check();
	return woken;
}

bool thread_wake_flags(struct thread *t, u32 state_mask, unsigned wake_flags)
{
	return wake(t, state_mask, wake_flags);
}

bool thread_wake(struct thread *t, u32 state_mask)
{
	return wake(t, state_mask, 0);
}

void thread_kick(struct thread *t)
{
	unsigned long flags = arch_irq_save();
	unsigned cpu = READ_ONCE(t->task.cpu);

	debug_assert(cpu < arch_nr_cpus);
	if (cpu != arch_cpu_id() && READ_ONCE(cpus[cpu]->running) == t)
		arch_send_reschedule(cpu);
	arch_irq_restore(flags);
}

__noreturn void idle_loop(void)
{
	debug_assert(thread_has(current, THREAD_IDLE));
	arch_irq_disable();
	for (;;) {
		/*
		 * An interrupt that wants a switch does it on its way out and comes back here much
		 * later.
		 */
		while (!arch_need_resched())
			arch_cpu_idle();
		switch_threads(false);
	}
}
