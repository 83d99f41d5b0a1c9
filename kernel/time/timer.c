/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Timers. Each CPU has one hardware timer, a one-shot, shared by four users: the periodic tick,
 * the scheduler's timer (host_timer), the watchdogs, and the kernel's timers, which are kept in a
 * tree ordered by expiry. The hardware is programmed for the earliest of the four, and reprogrammed
 * only when that became earlier; one that was cancelled costs a spurious interrupt at worst, and
 * none on an idle CPU.
 *
 * A timer with slack has two times: it may fire from expires_ns on, and the interrupt is programmed
 * for hard_ns = expires_ns + slack. Whatever interrupt comes in between takes it along.
 *
 * Locking: a CPU's tree is guarded by its lock, a leaf below which only the callback's CPU moves
 * on. tick_ns, sched_ns, watchdog_ns and programmed_ns are the CPU's own with interrupts off; other
 * CPUs write sched_ns and send an IPI.
 */
#include "kernel/contract.h"
#include "kernel/kernel.h"
#include "kernel/task/thread.h"
#include "kernel/task/hotplug.h"
#include "kernel/time/tick.h"
#include "kernel/time/time.h"
#include "kernel/trace/trace.h"

struct timer_cpu {
	struct spinlock lock;
	struct rb_tree tree;	/* by hard_ns */
	struct ktimer *running; /* whose callback runs now */
	u64 tick_ns;		/* next tick; 0: stopped */
	u64 sched_ns;		/* sched_timer() is due; 0: never */
	u64 watchdog_ns;	/* watchdog_sample() is due, idle or not; 0: never */
	u64 programmed_ns;	/* what the hardware will do; 0: nothing */
	u32 nr_ticks;		/* debug kernels count them */
};

static struct timer_cpu timers[MAX_CPUS] = {
	[0 ... MAX_CPUS - 1] = { .lock = SPINLOCK_INIT("timers") },
};

unsigned tick_hz = 250;
static u64 tick_period_ns;

static struct timer_cpu *my_timers(void)
{
	return &timers[arch_cpu_id()];
}

/* --- programming ------------------------------------------------------------------ */

/* Returns the earlier of two times; 0 means never. */
static u64 earlier(u64 a, u64 b)
{
	return a - 1 < b - 1 ? a : b;
}

/*
 * When the hardware of the running CPU, that of @c, is to interrupt. Interrupts off. Another CPU
 * may cancel a timer of the tree and free it, but none puts one in.
 */
static u64 next_event(struct timer_cpu *c)
{
	u64 next = earlier(earlier(c->tick_ns, c->watchdog_ns), READ_ONCE(c->sched_ns));

	debug_assert(!arch_irq_enabled() && c == my_timers());
	if (!READ_ONCE(c->tree.root))
		return next;
	spin_lock(&c->lock);
	struct rb_node *first = rb_first(&c->tree);
	if (first)
		next = earlier(next, container_of(first, struct ktimer, node)->hard_ns);
	spin_unlock(&c->lock);
	return next;
}

/* Interrupts off, on the CPU of @c. */
static void program(struct timer_cpu *c, u64 when_ns)
{
	debug_assert(!arch_irq_enabled() && c == my_timers());
	if (c->programmed_ns == when_ns)
		return;
	c->programmed_ns = when_ns;
	arch_timer_set(when_ns);
}

static void program_if_earlier(struct timer_cpu *c, u64 when_ns)
{
	debug_assert(c == my_timers());
	if (earlier(when_ns, c->programmed_ns) != c->programmed_ns)
		program(c, when_ns);
}

/* --- the tick ----------------------------------------------------------------------- */

void tick_init(void)
{
	u64 hz = cmdline_get_u64("hz", tick_hz);

	if (hz != 100 && hz != 250 && hz != 1000)
		panic("hz=%llu: must be 100, 250 or 1000", (unsigned long long)hz);
	tick_hz = (unsigned)hz;
	tick_period_ns = NS_PER_SEC / tick_hz;
}

/*
 * Ticks fall on multiples of the period, on every CPU. A CPU that becomes idle keeps its tick until
 * it has been idle for a whole period: most stays are shorter, and so need no hardware writes.
 */
static u64 next_tick(u64 now)
{
	return now - now % tick_period_ns + tick_period_ns;
}

/* Debug kernels recompute the scheduler's sums now and then: too slow for every tick. */
static void check_scheduler(struct timer_cpu *c)
{
	const unsigned interval_ticks = 16;

	debug_assert(!arch_irq_enabled());
	if (++c->nr_ticks % interval_ticks == 0)
		sched_check(machine);
}

static void tick(struct timer_cpu *c, unsigned cpu, u64 now)
{
	debug_assert(c == my_timers());
	debug_assert(!arch_irq_enabled());
	if (thread_has(current, THREAD_IDLE) && sched_tick_can_stop(machine, cpu)) {
		c->tick_ns = 0;
		return;
	}
	c->tick_ns = next_tick(now);
	sched_tick(machine, cpu);
	limits_tick();
	if (unlikely(sched_affinity_losses(machine)))
		hotplug_tick();
	if (DEBUG)
		check_scheduler(c);
}

void tick_start(void)
{
	struct timer_cpu *c = my_timers();

	debug_assert(!arch_irq_enabled());
	if (!c->tick_ns) {
		u64 now = clock_ns();

		c->tick_ns = next_tick(now);
		if (!c->watchdog_ns)
			c->watchdog_ns = watchdog_start(now);
	}
	program_if_earlier(c, c->programmed_ns ? c->tick_ns : next_event(c));
}

void timer_restart_watchdog(void)
{
	struct timer_cpu *c = my_timers();

	assert_irqs_off();
	c->watchdog_ns = watchdog_start(clock_ns());
	program_if_earlier(c, c->watchdog_ns);
}

void timer_program_next(void)
{
	struct timer_cpu *c = my_timers();

	debug_assert(!arch_irq_enabled());
	program(c, next_event(c));
}

void timer_set_sched(unsigned cpu, u64 when_ns)
{
	struct timer_cpu *c = &timers[cpu];

	debug_assert(cpu < arch_nr_cpus);
	debug_assert(!arch_irq_enabled());
	WRITE_ONCE(c->sched_ns, when_ns);
	if (cpu == arch_cpu_id())
		program_if_earlier(c, when_ns);
	else if (when_ns)
		arch_send_reschedule(cpu);
}

void timer_recheck(void)
{
	struct timer_cpu *c = my_timers();

	debug_assert(!arch_irq_enabled());
	program_if_earlier(c, READ_ONCE(c->sched_ns));
}

/* --- kernel timers -------------------------------------------------------------------- */

static bool fires_before(const struct rb_node *a, const struct rb_node *b)
{
	return container_of(a, struct ktimer, node)->hard_ns <
	       container_of(b, struct ktimer, node)->hard_ns;
}

void ktimer_init(struct ktimer *t, void (*fn)(struct ktimer *), void *arg)
{
	debug_assert(fn);
	*t = (struct ktimer){ .fn = fn, .arg = arg, .cpu = arch_cpu_id() };
}

/* Lock the timers of the CPU that @t was armed on last; an armed timer cannot move meanwhile. */
static struct timer_cpu *lock_timer(struct ktimer *t, unsigned long *flags)
{
	for (;;) {
		u32 cpu = READ_ONCE(t->cpu);
		struct timer_cpu *c = &timers[cpu];
		*flags = spin_lock_irqsave(&c->lock);
		if (t->cpu == cpu)
			return c;
		spin_unlock_irqrestore(&c->lock, *flags);
	}
}

static bool remove_locked(struct timer_cpu *c, struct ktimer *t)
{
	debug_assert(spin_is_held(&c->lock));
	if (!t->armed)
		return false;
	rb_erase(&c->tree, &t->node);
	t->armed = false;
	return true;
}

void ktimer_start_slack(struct ktimer *t, u64 expires_ns, u64 slack_ns)
{
	unsigned long flags;
	struct timer_cpu *c = lock_timer(t, &flags);

	debug_assert(t->fn);
	remove_locked(c, t);
	if (c != my_timers()) {
		/*
		 * An unarmed timer belongs to no CPU: take it to this one. Only its owner starts
		 * it, so there is no race.
		 */
		spin_unlock(&c->lock);
		c = my_timers();
		spin_lock(&c->lock);
		t->cpu = arch_cpu_id();
	}
	t->expires_ns = max(expires_ns, 1ull); /* hardware takes 0 for never */
	t->hard_ns = t->expires_ns + min(slack_ns, TIME_NEVER - t->expires_ns);
	t->armed = true;
	rb_insert(&c->tree, &t->node, fires_before);
	program_if_earlier(c, t->hard_ns);
	spin_unlock_irqrestore(&c->lock, flags);
}

void ktimer_start(struct ktimer *t, u64 expires_ns)
{
	ktimer_start_slack(t, expires_ns, 0);
}

bool ktimer_cancel(struct ktimer *t)
{
	debug_assert(!arch_in_irq() || my_timers()->running != t);
	bool was_armed = false;

	/* Both are read in one section: between two a callback may re-arm its timer and end. */
	for (;;) {
		unsigned long flags;
		struct timer_cpu *c = lock_timer(t, &flags);
		was_armed |= remove_locked(c, t);
		bool running = c->running == t;
		spin_unlock_irqrestore(&c->lock, flags);
		if (!running)
			return was_armed;
		arch_cpu_relax();
	}
}

u64 ktimer_expiry(struct ktimer *t)
{
	debug_assert(!arch_in_irq());
	for (;;) {
		unsigned long flags;
		struct timer_cpu *c = lock_timer(t, &flags);
		u64 expires_ns = t->armed ? t->expires_ns : 0;
		bool running = c->running == t;
		spin_unlock_irqrestore(&c->lock, flags);
		if (expires_ns || !running)
			return expires_ns;
		arch_cpu_relax();
	}
}

/*
 * Call the timers that are due. The lock is not held during a callback, so that it may re-arm its
 * timer.
 */
static void run_ktimers(struct timer_cpu *c, u64 now)
{
	struct rb_node *first;

	debug_assert(c == my_timers() && arch_in_irq());
	spin_lock(&c->lock);
	while ((first = rb_first(&c->tree))) {
		struct ktimer *t = container_of(first, struct ktimer, node);
		if (t->expires_ns > now)
			break;
		c->running = t;
		remove_locked(c, t);
		spin_unlock(&c->lock);
		t->fn(t);
		debug_assert(!arch_irq_enabled());
		spin_lock(&c->lock);
		c->running = NULL;
	}
	spin_unlock(&c->lock);
}

/* --- CPUs that leave ---------------------------------------------------------------------- */

void timers_take_over(unsigned from)
{
	debug_assert(from != arch_cpu_id());
	assert_irqs_off();

	struct timer_cpu *old = &timers[from], *c = my_timers();
	struct rb_node *first;

	while ((first = rb_first(&old->tree))) {
		struct ktimer *t = container_of(first, struct ktimer, node);

		spin_lock(&old->lock);
		rb_erase(&old->tree, first);
		t->cpu = arch_cpu_id();
		spin_unlock(&old->lock);
		spin_lock(&c->lock);
		rb_insert(&c->tree, first, fires_before);
		spin_unlock(&c->lock);
	}
	old->tick_ns = old->sched_ns = old->watchdog_ns = 0;
	watchdog_stop(from);
	program_if_earlier(c, next_event(c));
}

void timer_stop_cpu(void)
{
	debug_assert(!arch_irq_enabled());
	program(my_timers(), 0);
}

/* --- the interrupt ------------------------------------------------------------------------ */

void kernel_timer_interrupt(void)
{
	struct timer_cpu *c = my_timers();
	unsigned cpu = arch_cpu_id();
	u64 now = clock_ns();

	debug_assert(arch_in_irq());
	debug_assert(!arch_irq_enabled());
	TRACE(local_timer_entry, LOCAL_TIMER_VECTOR);
	c->programmed_ns = 0;
	/* First: the tick asks for a switch that is no sign of trouble yet. */
	if (c->watchdog_ns && c->watchdog_ns <= now)
		c->watchdog_ns = watchdog_sample(now);
	/* Before the tick, as on Linux: if a period ends now, the tick sees who got runtime. */
	if (c->sched_ns && c->sched_ns <= now) {
		c->sched_ns = 0;
		sched_timer(machine, cpu);
	}
	if (c->tick_ns && c->tick_ns <= now)
		tick(c, cpu, now);
	if (!rb_is_empty(&c->tree))
		run_ktimers(c, now);
	/*
	 * Program the timer even on an idle CPU that is about to run something: another CPU may
	 * take that task away first, and then nothing would set the timer.
	 */
	program(c, next_event(c));
	TRACE(local_timer_exit, LOCAL_TIMER_VECTOR);
}
