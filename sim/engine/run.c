/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The loop that makes simulated CPUs run; see sim.h.
 *
 * One thread plays every CPU. An event happens on one CPU. sim_enter() brings that CPU up to date;
 * the event calls the scheduler; sim_leave() switches as long as a switch is due, and asks tasks
 * that have no work left what they do next. A kick of another CPU is an event of its own, even when
 * it takes no time, so that no CPU acts in the middle of another's operation.
 *
 * The tick is one event for all busy CPUs, in order of their numbers, at multiples of 1/HZ as in
 * the kernel. An idle CPU keeps its tick until it has been idle for one, then costs nothing.
 */
#include <assert.h>

#include "sim/engine/engine.h"

#define MAX_STUCK_STEPS 1000u /* of each task at one moment */
#define MAX_QUIET_TURNS 1000u /* of each task and CPU at one moment */
#define HANG_MS		10000u

/* --- progress --------------------------------------------------------------------------------- */

/*
 * Counts an event or a switch. A scheduler that asks for another switch in each switch, or for its
 * timer at once, would keep the machine at one moment for ever.
 */
static void note_turn(struct sim *sim)
{
	if (sim->quiet_at != sim->now) {
		sim->quiet_at = sim->now;
		sim->quiet_turns = 0;
	}
	if (unlikely(++sim->quiet_turns > MAX_QUIET_TURNS * 100) &&
	    sim->quiet_turns > MAX_QUIET_TURNS * (100 + sim->config.nr_cpus + sim->nr_tasks))
		host_bug(__FILE__, __LINE__,
			 "no progress: it switches on and on, and no time passes");
}

bool sim_is_stuck(struct sim *sim, const struct sim_task *t)
{
	if (sim->stuck_at != sim->now) {
		sim->stuck_at = sim->now;
		sim->stuck_steps = 0;
	}
	sim->quiet_turns = 0;
	if (likely(++sim->stuck_steps < MAX_STUCK_STEPS * 100) ||
	    sim->stuck_steps < MAX_STUCK_STEPS * (100 + sim->nr_tasks))
		return false;
	sim_fail(sim, t, "it goes on and on without using time: a loop without run or sleep?");
	return true;
}

/* --- time on a CPU ---------------------------------------------------------------------------- */

static bool is_idle(const struct sim_cpu *c)
{
	return c->curr == &c->idle;
}

/* The work that @c does in @ns of its time. */
static u64 work_in(struct sim_cpu *c, u64 ns)
{
	u64 parts;

	if (likely(c->speed == FULL_SPEED))
		return ns;
	parts = ns * c->speed + c->rest;
	c->rest = (u32)(parts % FULL_SPEED);
	return parts / FULL_SPEED;
}

/* The first time at which work_in() it will be @work. */
static u64 time_for(const struct sim_cpu *c, u64 work)
{
	if (likely(c->speed == FULL_SPEED))
		return work;
	return (work * FULL_SPEED - min(work * FULL_SPEED, (u64)c->rest) + c->speed - 1) / c->speed;
}

/* Accounts the time up to now: @c first worked off its debt, then its task's work. */
static void catch_up(struct sim *sim, struct sim_cpu *c)
{
	u64 elapsed = sim->now - c->since, paid = min(elapsed, c->debt_ns);

	c->since = sim->now;
	c->debt_ns -= paid;
	if (unlikely(c->cold_ns))
		caches_work(sim, c, work_in(c, elapsed - paid));
	else if (c->curr->left_ns != SIM_FOREVER)
		c->curr->left_ns -= min(work_in(c, elapsed - paid), c->curr->left_ns);
}

static void start_tick(struct sim *sim, struct sim_cpu *c)
{
	sim->ticking[c->id / 64] |= BIT(c->id % 64);
	if (!event_queued(&sim->tick))
		queue_set(&sim->queue, &sim->tick,
			  sim->now - (sim->now - sim->tick_phase) % sim->tick_ns + sim->tick_ns);
}

static u64 migration_cost(struct sim *sim, struct sim_cpu *c, struct sim_task *t)
{
	u32 from = t->last_cpu;

	t->last_cpu = c->id;
	if (from == c->id || from == SIM_NOWHERE)
		return 0;
	return sim->cpus[from].llc == c->llc && sim->cpus[from].node == c->node
		       ? sim->config.costs.migration_ns
		       : sim->config.costs.cold_ns;
}

static void switch_cpu(struct sim *sim, struct sim_cpu *c, bool preempt)
{
	struct sim_task *prev = c->curr, *next;
	bool blocked = !preempt && prev->task.state;

	note_turn(sim);
	c->kicked = false;
	sim->count.operations++;
	TELL(sim, decision, c, preempt, NULL);
	/* A task is in user mode, unless it has announced a sleep. */
	next = sim_task_of(sched_switch_begin(sim->s, c->id, preempt && prev->task.state));
	if (next != prev) {
		sim->count.switches++;
		if (is_idle(c)) {
			c->idle_ns += sim->now - c->idle_since;
			start_tick(sim, c);
		}
		c->curr = next;
		c->rest = 0;
		if (unlikely(sim->caches))
			caches_switch(sim, c, prev, next);
		if (is_idle(c))
			c->idle_since = sim->now;
		else
			sim_pay(c, sim->config.costs.switch_ns + migration_cost(sim, c, next));
		prev->asleep = blocked;
		TELL(sim, switched, prev, next);
	}
	sched_switch_end(sim->s, c->id);
	TELL(sim, decision, c, preempt, next);
	if (next != prev && prev->task.state == TASK_DEAD && blocked) {
		sim->count.exits++;
		TELL(sim, ended, prev);
		sim_task_free(sim, prev);
	}
}

void sim_switch(struct sim *sim, bool preempt)
{
	switch_cpu(sim, sim_this_cpu(sim), preempt);
}

void sim_do(struct sim *sim, enum sim_next what)
{
	struct sim_cpu *c = sim_this_cpu(sim);

	if (what == SIM_WORK)
		return;
	if (what == SIM_SLEEP) {
		sched_block(&c->curr->task, TASK_INTERRUPTIBLE);
	} else if (what == SIM_YIELD) {
		sched_yield(sim->s, c->id);
		sim->count.yields++;
	} else {
		queue_cancel(&sim->queue, &c->curr->wakeup);
		sched_task_ends(sim->s, c->id);
		sched_task_exit(sim->s, c->id);
	}
	sim->count.operations++;
	switch_cpu(sim, c, false);
}

/* Sets the CPU's next event. */
static void set_done(struct sim *sim, struct sim_cpu *c)
{
	if (c->kicked)
		queue_set(&sim->queue, &c->done, sim->now + c->debt_ns);
	else if (c->curr->left_ns != SIM_FOREVER)
		queue_set(&sim->queue, &c->done, sim->now + c->debt_ns + time_for(c, work_left(c)));
	else
		queue_cancel(&sim->queue, &c->done);
}

void sim_set_speed(struct sim *sim, struct sim_cpu *c, u32 speed)
{
	/* A CPU that idles does no work anyway. */
	if (!speed)
		return;
	catch_up(sim, c);
	c->own_speed = speed;
	c->speed = sim->caches ? caches_speed(sim, c) : speed;
	set_done(sim, c);
}

/*
 * Switches while a switch is due, and asks tasks without work what they do next. Both wait until
 * the overhead is worked off, because the kernel is not preempted. Then sets the CPU's next event.
 */
static void settle(struct sim *sim, struct sim_cpu *c)
{
	while (!c->debt_ns) {
		if (c->kicked)
			switch_cpu(sim, c, true);
		else if (!c->curr->left_ns && !sim->failure && !sim_is_stuck(sim, c->curr))
			sim_do(sim, sim->config.next(sim, c->curr));
		else
			break;
	}
	set_done(sim, c);
}

void sim_enter(struct sim *sim, unsigned cpu)
{
	assert(cpu < sim->config.nr_cpus && !sim->nr_held);
	sim->this_cpu = cpu;
	catch_up(sim, &sim->cpus[cpu]);
}

void sim_leave(struct sim *sim)
{
	settle(sim, sim_this_cpu(sim));
}

/* --- fetching ahead --------------------------------------------------------------------------- */

/*
 * A big machine does not fit into the host's cache, but the next event is known: its memory is
 * fetched while the present event happens.
 */
static void fetch_task(const struct sim_task *t)
{
	prefetch(t, &t->task.allowed);
	prefetch(&t->task.nr_allowed, &t->task.waste_cpu);
	prefetch(&t->task.last_wakee, &t->row);
}

static void fetch_cpu(struct sim *sim, const struct sim_cpu *c)
{
	prefetch(c, &c->idle);
	sched_prefetch(sim->s, c->id);
	fetch_task(c->curr);
}

static void fetch_next(struct sim *sim)
{
	const struct event *next[2], *ev;
	const struct sim_task *t;
	u32 nr = queue_peek(&sim->queue, next);

	if (!nr)
		return;
	if (nr > 1) /* with its surroundings: the task or CPU that contains it */
		prefetch((const char *)next[1] - 64, next[1] + 1);
	ev = next[0];
	switch (ev->kind) {
	case EVENT_DONE:
		fetch_cpu(sim, container_of(ev, struct sim_cpu, done));
		break;
	case EVENT_TIMER:
		fetch_cpu(sim, container_of(ev, struct sim_cpu, timer));
		break;
	case EVENT_KICK:
		fetch_cpu(sim, container_of(ev, struct sim_cpu, kick));
		break;
	case EVENT_WAKEUP:
		t = container_of(ev, struct sim_task, wakeup);
		fetch_task(t);
		fetch_cpu(sim, &sim->cpus[t->timer_cpu]);
		break;
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static void tick_cpu(struct sim *sim, struct sim_cpu *c)
{
	if (misses_tick(sim, c))
		return;
	if (is_idle(c) && sched_tick_can_stop(sim->s, c->id)) {
		sim->ticking[c->id / 64] &= ~BIT(c->id % 64);
		return;
	}
	sim_enter(sim, c->id);
	sim_pay(c, sim->config.costs.tick_ns);
	sim->count.ticks++;
	sim->count.operations++;
	sim->in_interrupt = true;
	sched_tick(sim->s, c->id);
	sim->in_interrupt = false;
	if (c->kicked || sim->config.costs.tick_ns)
		settle(sim, c);
}

/* Tick the CPUs from @first to below @end that have a tick, in order of their numbers. */
static void tick_some(struct sim *sim, u32 first, u32 end)
{
	for (u32 w = first / 64; w * 64 < end; w++) {
		u64 left = sim->ticking[w];

		if (w == first / 64)
			left &= ~0ull << first % 64;
		for (; left; left &= left - 1) {
			u32 cpu = w * 64 + (u32)__builtin_ctzll(left);

			if (cpu < end)
				tick_cpu(sim, &sim->cpus[cpu]);
		}
	}
}

/* If runs vary, any CPU may be the first. */
static void tick_all(struct sim *sim)
{
	u32 nr = sim->config.nr_cpus, words = (nr + 63) / 64, first = (u32)draw_varied(sim, nr);
	u64 any = 0;

	tick_some(sim, first, nr);
	tick_some(sim, 0, first);
	for (u32 w = 0; w < words; w++)
		any |= sim->ticking[w];
	if (any)
		queue_set(&sim->queue, &sim->tick, sim->now + sim->tick_ns);
}

static void timer_expired(struct sim *sim, struct sim_cpu *c)
{
	sim_enter(sim, c->id);
	sim->count.timers++;
	sim->count.operations++;
	sim->in_interrupt = true;
	sched_timer(sim->s, c->id);
	sim->in_interrupt = false;
	sim_leave(sim);
}

static void sleep_ended(struct sim *sim, struct sim_task *t)
{
	sim_enter(sim, t->timer_cpu);
	sim_pay(sim_this_cpu(sim), sim->config.costs.timer_ns);
	sim->in_interrupt = true;
	sim_wake(sim, t, 0);
	sim->in_interrupt = false;
	sim_leave(sim);
}

static void start_due(struct sim *sim, struct sim_task *t)
{
	t->wakeup.kind = EVENT_WAKEUP;
	t->cursor.origin = sim->now;
	sim_enter(sim, t->timer_cpu);
	sim_start(sim, t);
	sim_leave(sim);
}

static void kick_arrived(struct sim *sim, struct sim_cpu *c)
{
	sim_enter(sim, c->id);
	c->kicked = true;
	sim_leave(sim);
}

/* Runs on CPU 0 and costs nothing: it stands for a thread of the kernel. */
static void control_groups(struct sim *sim)
{
	sim_enter(sim, 0);
	sched_fdl_control(sim->s);
	sim_leave(sim);
	queue_set(&sim->queue, &sim->control, sim->now + sched_fdl_interval_ns(sim->s));
}

static void happen(struct sim *sim, struct event *ev)
{
	switch (ev->kind) {
	case EVENT_TICK:
		tick_all(sim);
		break;
	case EVENT_DONE:
		sim_enter(sim, container_of(ev, struct sim_cpu, done)->id);
		sim_leave(sim);
		break;
	case EVENT_TIMER:
		timer_expired(sim, container_of(ev, struct sim_cpu, timer));
		break;
	case EVENT_CONTROL:
		control_groups(sim);
		break;
	case EVENT_JUMP:
		jump_clocks(sim);
		break;
	case EVENT_DUMP:
		read_dumps(sim);
		break;
	case EVENT_START:
		start_due(sim, container_of(ev, struct sim_task, wakeup));
		break;
	case EVENT_CALL:
		call_due(sim, container_of(ev, struct sim_call, event));
		break;
	case EVENT_KICK:
		kick_arrived(sim, container_of(ev, struct sim_cpu, kick));
		break;
	default:
		sleep_ended(sim, container_of(ev, struct sim_task, wakeup));
		break;
	}
}

bool sim_step(struct sim *sim, u64 until)
{
	struct event *ev = queue_pop(&sim->queue, until);

	if (!ev)
		return false;
	sim->now = sim->queue.time;
	sim->count.events++;
	note_turn(sim);
	sim->cause = ev->kind;
	if (sim->is_big)
		fetch_next(sim);
	happen(sim, ev);
	if (unlikely(sim->after_event))
		sim->after_event(sim);
	if (sim->config.check)
		sched_check(sim->s);
	return true;
}

bool sim_run(struct sim *sim, u64 until)
{
	sim_select(sim);
	host_watch(sim->config.hang_ms ? sim->config.hang_ms : HANG_MS);
	while (!sim->failure && !sim->stopped && sim_step(sim, until - 1))
		;
	host_watch(0);
	if (sim->failure || sim->stopped)
		return !sim->failure;
	sim->now = sim->queue.time = until;
	for (unsigned cpu = 0; cpu < sim->config.nr_cpus; cpu++)
		catch_up(sim, &sim->cpus[cpu]);
	return true;
}

/* --- tasks ------------------------------------------------------------------------------------ */

struct sim_task *sim_task_of(struct task *t)
{
	return container_of(t, struct sim_task, task);
}

/* Is the CPU that acts up to date? */
static bool is_entered(const struct sim *sim)
{
	return sim->server || sim->cpus[sim->this_cpu].since == sim->now;
}

void sim_start(struct sim *sim, struct sim_task *t)
{
	assert(is_entered(sim));
	sim->count.starts++;
	sim->count.operations++;
	t->runnable_since = sim->now;
	t->woken = true;
	if (sim->server) {
		sim->server->wake(sim->server, sim, t);
		return;
	}
	t->asleep = false;
	TELL(sim, runnable, t, true);
	sched_task_start(sim->s, &t->task, sim->this_cpu);
}

bool sim_wake(struct sim *sim, struct sim_task *t, unsigned flags)
{
	if (sim->server) {
		sim->server->wake(sim->server, sim, t);
		return true;
	}
	if (!(t->task.state & TASK_NORMAL))
		return false;
	assert(is_entered(sim));
	queue_cancel(&sim->queue, &t->wakeup);
	sim_pay(sim_this_cpu(sim), sim->config.costs.wake_ns);
	sim->count.wakeups++;
	sim->count.operations++;
	if (t->asleep) {
		t->asleep = false;
		t->runnable_since = sim->now;
		t->woken = true;
		TELL(sim, runnable, t, false);
	}
	return sched_wake(sim->s, &t->task, TASK_NORMAL, sim->this_cpu, flags);
}

static void change(struct sim *sim, struct sim_task *t, bool begin)
{
	sim->count.operations += begin;
	if (sim->server)
		sim->server->change(sim->server, sim, t, begin);
	else
		TELL(sim, change, t, begin);
}

int sim_set_attr(struct sim *sim, struct sim_task *t, const struct sched_attr_req *req)
{
	int error;

	change(sim, t, true);
	error = sched_set_attr(sim->s, &t->task, req);
	change(sim, t, false);
	return error;
}

int sim_set_affinity(struct sim *sim, struct sim_task *t, const struct cpumask *mask)
{
	int error;

	change(sim, t, true);
	error = sched_set_affinity(sim->s, &t->task, mask);
	change(sim, t, false);
	return error;
}

void sim_set_group(struct sim *sim, struct sim_task *t, u32 group)
{
	assert(group < sim->nr_groups);
	if (sim->group_changes)
		sim->group_changes(sim, t, group);
	change(sim, t, true);
	t->group = group;
	if (!sim->server)
		task_group_move(sim->s, &t->task, sim->groups[group].tg);
	if (!sim->server && sim->freq)
		sched_tune_move(sim->s, &t->task, sim->groups[group].tune);
	change(sim, t, false);
}

/* If runs vary, a sleep ends up to this much later: chance orders those that would end together. */
#define TIMER_VARIES_NS 100

void sim_set_wakeup(struct sim *sim, struct sim_task *t, u64 when)
{
	t->timer_cpu = sim->this_cpu;
	queue_set(&sim->queue, &t->wakeup, when + draw_varied(sim, TIMER_VARIES_NS));
}

void sim_start_varied(struct sim *sim, struct sim_task *t)
{
	if (!sim->config.disturbance.vary) {
		sim_start(sim, t);
		return;
	}
	t->timer_cpu = (u32)draw_varied(sim, sim->config.nr_cpus);
	t->wakeup.kind = EVENT_START;
	queue_set(&sim->queue, &t->wakeup, sim->now + draw_varied(sim, sim->tick_ns));
}

/* --- CPUs that come and go -------------------------------------------------------------------- */

bool sim_cpu_offline(struct sim *sim, unsigned cpu)
{
	struct sim_cpu *c = &sim->cpus[cpu];
	u32 here = sim->this_cpu;
	struct sim_task *t;

	if (here == cpu || sched_cpu_offline(sim->s, cpu))
		return false;
	c->offline = true;
	list_for_each(t, &sim->tasks, link)
		if (t->timer_cpu == cpu)
			t->timer_cpu = here;
	sim_enter(sim, cpu);
	c->debt_ns = 0;
	c->kicked = true;
	sim_leave(sim);
	sim->this_cpu = here;
	return true;
}

bool sim_cpu_online(struct sim *sim, unsigned cpu)
{
	struct sim_cpu *c = &sim->cpus[cpu];
	u32 here = sim->this_cpu;

	if (!c->offline)
		return false;
	c->offline = false;
	sim_enter(sim, cpu);
	sched_cpu_online(sim->s, cpu, &c->idle.task);
	sim_leave(sim);
	sim->this_cpu = here;
	return true;
}
