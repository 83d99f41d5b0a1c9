/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine under test; see world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "sched/ext.h"
#include "sim/explore/judge.h"
#include "sim/explore/world.h"

/* --- subjects --------------------------------------------------------------------------------- */

static struct subject *subject_of(struct world *w, const struct task *t)
{
	for (unsigned i = 0; i < w->nr_tasks; i++)
		if (w->subject[i].t && &w->subject[i].t->task == t)
			return &w->subject[i];
	return NULL;
}

struct subject *world_running(struct world *w, unsigned cpu)
{
	return subject_of(w, sched_current(w->sim->s, cpu));
}

u64 world_cpus(const struct world *w)
{
	return w->shape.nr_cpus == 64 ? ~0ull : BIT(w->shape.nr_cpus) - 1;
}

u64 world_home(const struct world *w)
{
	return world_cpus(w) >> w->shape.isolated;
}

void world_learn_allowed(const struct world *w, struct subject *x)
{
	if (!(x->allowed & w->online) && x->t->task.allowed.bits[0] == world_cpus(w))
		x->allowed = world_cpus(w);
}

unsigned world_online_cpu(const struct world *w, unsigned n)
{
	unsigned cpu = n % w->shape.nr_cpus;

	while (!(w->online & BIT(cpu)))
		cpu = (cpu + 1) % w->shape.nr_cpus;
	return cpu;
}

struct cpumask world_mask(u64 bits)
{
	struct cpumask mask = cpumask_none();

	mask.bits[0] = bits;
	return mask;
}

/* --- switching -------------------------------------------------------------------------------- */

static bool kick_pending(const struct sim_cpu *c)
{
	return c->kicked || event_queued(&c->kick);
}

/* @x, or an idle task (NULL), ran for @ns. */
static void account(struct world *w, struct subject *x, u64 ns)
{
	if (!x)
		return;
	x->ran_ns += ns;
	if (!task_is_fair_policy(x->attr.policy))
		return;
	for (s32 g = x->group; g != ROOT; g = w->group[g].parent)
		w->group[g].ran_ns += ns;
}

void world_account(struct world *w, unsigned cpu, u64 ns)
{
	account(w, world_running(w, cpu), ns);
}

/* @cpu switched from @prev: a switch that was @asked for may leave the time since to the other. */
static void account_switch(struct world *w, unsigned cpu, struct subject *prev, bool asked)
{
	const struct task *now = sched_current(w->sim->s, cpu);
	u64 since = host_clock(cpu) - now->fair.exec_start;
	struct subject *next = world_running(w, cpu);

	if (next == prev)
		return;
	/* Balancing behind the switch may have charged a part of it already. */
	if (next)
		since += now->fair.sum_exec - next->ran_ns;
	account(w, prev, 0 - since);
	account(w, next, since);
	EXPECT(asked || !since);
}

void world_switch(struct world *w, unsigned cpu, bool preempt)
{
	struct sim_cpu *c = &w->sim->cpus[cpu];
	struct subject *prev = world_running(w, cpu);
	bool asked = kick_pending(c);

	if (prev && !preempt && prev->state == ANNOUNCED)
		prev->state = ASLEEP;
	c->kicked = false;
	queue_cancel(&w->sim->queue, &c->kick);
	sim_enter(w->sim, cpu);
	sim_switch(w->sim, preempt);
	account_switch(w, cpu, prev, asked);
}

static bool timer_due(const struct world *w, unsigned cpu)
{
	const struct sim_cpu *c = &w->sim->cpus[cpu];

	return event_queued(&c->timer) && c->timer.when <= w->sim->now;
}

/* Serve timers that are due and kicks until there are none. */
void world_settle(struct world *w)
{
	bool any;

	do {
		any = false;
		for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++) {
			struct sim_cpu *c = &w->sim->cpus[cpu];

			if (timer_due(w, cpu)) {
				queue_cancel(&w->sim->queue, &c->timer);
				sim_enter(w->sim, cpu);
				sched_timer(w->sim->s, cpu);
				any = true;
			}
			if (kick_pending(c)) {
				world_switch(w, cpu, true);
				any = true;
			}
		}
	} while (any);
}

void world_pass(struct world *w, u64 ns)
{
	w->sim->now += ns;
	w->sim->queue.time = w->sim->now;
	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++)
		world_account(w, cpu, ns);
}

void world_tick_cpu(struct world *w, unsigned cpu)
{
	struct sched_cpu_stat stat;

	/* It stands still. */
	if (!(w->online & BIT(cpu)) && !world_running(w, cpu))
		return;
	sim_enter(w->sim, cpu);
	if (!sched_tick_can_stop(w->sim->s, cpu)) {
		sched_tick(w->sim->s, cpu);
		return;
	}
	sched_cpu_stat(w->sim->s, cpu, &stat);
	EXPECT(!world_running(w, cpu) && !stat.nr_running);
}

void world_tick(struct world *w)
{
	world_pass(w, w->sim->tick_ns);
	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++)
		world_tick_cpu(w, cpu);
}

void world_cpu_off(struct world *w, unsigned cpu)
{
	u64 rest = w->online & ~BIT(cpu);

	if (!(w->online & BIT(cpu))) {
		EXPECT(sched_cpu_offline(w->sim->s, cpu) == -EINVAL);
	} else if (!rest) {
		EXPECT(sched_cpu_offline(w->sim->s, cpu) == -EBUSY);
	} else {
		w->online = rest; /* before, for the events of those it sends away */
		int err = sched_cpu_offline(w->sim->s, cpu);

		EXPECT(!err || (err == -EBUSY && w->deadlines));
		w->online |= err ? BIT(cpu) : 0;
	}
}

void world_cpu_on(struct world *w, unsigned cpu)
{
	if (w->online & BIT(cpu))
		return;
	/* Only when it has come to rest. */
	if (world_running(w, cpu))
		world_switch(w, cpu, true);
	EXPECT(!world_running(w, cpu));
	for (unsigned i = 0; i < w->nr_tasks; i++)
		if (w->subject[i].t)
			world_learn_allowed(w, &w->subject[i]);
	w->online |= BIT(cpu);
	sim_enter(w->sim, cpu);
	sched_cpu_online(w->sim->s, cpu, &w->sim->cpus[cpu].idle.task);
}

/* --- what must hold --------------------------------------------------------------------------- */

static bool same_attr(const struct subject *x)
{
	struct sched_attr_req now;

	sched_get_attr(&x->t->task, &now);
	if (now.policy == SCHED_DEADLINE &&
	    (now.runtime_ns != x->attr.runtime_ns || now.deadline_ns != x->attr.deadline_ns ||
	     now.period_ns != x->attr.period_ns))
		return false;
	return now.policy == x->attr.policy && now.nice == x->attr.nice &&
	       now.rt_priority == x->attr.rt_priority && now.slice_ns == x->attr.slice_ns &&
	       now.reset_on_fork == x->attr.reset_on_fork;
}

static void check_subject(const struct world *w, struct subject *x, bool running)
{
	const struct task *t = &x->t->task;
	bool may_run_here;

	world_learn_allowed(w, x);
	may_run_here = x->allowed & w->online & BIT(t->cpu);

	EXPECT(t->allowed.bits[0] == x->allowed);
	EXPECT(same_attr(x));
	EXPECT(task_group_of(t) == (x->group == ROOT ? NULL : w->group[x->group].tg));
	EXPECT((t->state == TASK_RUNNING) == (x->state == AWAKE));
	/* A task that wants to run is queued: between two queues it would be lost. */
	EXPECT(x->state == ASLEEP || t->on_rq == TASK_QUEUED);
	EXPECT(x->state == ASLEEP || may_run_here || t->push_cpu != PUSH_NONE);
	EXPECT(x->state == ASLEEP || x->allowed & w->online || t->push_cpu != PUSH_NONE);
	EXPECT(x->state != ASLEEP || t->push_cpu == PUSH_NONE);
	/* Not charged for a moment more or less than it ran. */
	EXPECT(running ? t->fair.sum_exec <= x->ran_ns : t->fair.sum_exec == x->ran_ns);
}

/* Each CPU that works is as fast as the scheduler says. */
static void check_speed(struct world *w, unsigned cpu)
{
	const struct sim_cpu *c = &w->sim->cpus[cpu];
	struct sched_freq_stat stat;

	if (!w->shape.opp || sched_current(w->sim->s, cpu) == &c->idle.task)
		return;
	sched_freq_stat(w->sim->s, cpu, &stat);
	EXPECT(c->speed == stat.capacity);
}

void world_check(struct world *w)
{
	u64 running = 0;

	sched_check(w->sim->s);
	judge_attach(w->sim->s); /* to queues of groups that are new */
	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++) {
		struct subject *x = world_running(w, cpu);

		check_speed(w, cpu);
		if (!x) {
			EXPECT(sched_current(w->sim->s, cpu) == &w->sim->cpus[cpu].idle.task);
			continue;
		}
		EXPECT(x->state != ASLEEP && x->t->task.cpu == cpu);
		EXPECT(!(running & BIT(x - w->subject)));
		running |= BIT(x - w->subject);
	}
	for (unsigned i = 0; i < w->nr_tasks; i++)
		if (w->subject[i].t)
			check_subject(w, &w->subject[i], running & BIT(i));
}

/* --- the end ---------------------------------------------------------------------------------- */

static void copy_settings(struct sched *to, struct sched *from)
{
	const struct sched_tunable_info *info;
	char text[1024], *rest = text, *word;

	EXPECT(sched_features_read(from, text, sizeof(text)) < (int)sizeof(text));
	while ((word = strsep(&rest, " \n")))
		EXPECT(!*word || !sched_features_write(to, word, strlen(word)));
	/*
	 * Twice: some limit each other. -EBUSY: deadlines are admitted. -EINVAL: it is limited by
	 * one that is busy, or only read.
	 */
	for (unsigned n = 0; n < 2; n++)
		for_each_tunable(info)
		{
			int length = sched_tunable_read(from, info->name, text, sizeof(text));
			int err = sched_tunable_write(to, info->name, text, (size_t)length);

			EXPECT(!n || !err || err == -EBUSY || err == -EINVAL);
		}
}

/* Tunables and features as on a new machine under the present policy. */
static void restore_settings(struct world *w)
{
	struct world fresh;
	void (*leave)(void) = w->sim->leave;

	EXPECT(world_init(&fresh, &w->shape, 0, sched_fair_current(w->sim->s)));
	fresh.sim->leave = leave;
	sim_select(w->sim); /* host calls are for @w: a clamp that goes may change a speed */
	copy_settings(w->sim->s, fresh.sim->s);
	sim_select(fresh.sim);
	world_free(&fresh);
	sim_select(w->sim);
}

/* Only for the end of a run: reading a group's usage charges the running tasks. */
static void check_groups(struct world *w)
{
	struct task_group_stat stat;

	for (unsigned i = 0; i < WORLD_GROUPS; i++) {
		if (!w->group[i].tg)
			continue;
		task_group_stat(w->sim->s, w->group[i].tg, &stat);
		EXPECT(stat.usage_ns == w->group[i].ran_ns);
	}
}

/* Equal tasks on all CPUs but isolated ones, default settings, no groups. */
static void make_equal(struct world *w)
{
	struct cpumask all = world_mask(world_home(w));

	restore_settings(w);
	world_settle(w);
	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++)
		world_cpu_on(w, cpu);
	for (unsigned i = 0; i < w->nr_tasks; i++) {
		struct subject *x = &w->subject[i];

		if (!x->t)
			continue;
		x->attr = (struct sched_attr_req){ .policy = SCHED_NORMAL };
		EXPECT(!sched_set_attr(w->sim->s, &x->t->task, &x->attr));
		x->allowed = world_home(w); /* before, for the events of its move */
		EXPECT(!sched_set_affinity(w->sim->s, &x->t->task, &all));
		task_group_move(w->sim->s, &x->t->task, NULL);
		x->group = ROOT;
		world_settle(w);
	}
}

static void pass_seconds(struct world *w, unsigned seconds)
{
	for (unsigned n = 0; n < seconds * w->shape.hz; n++) {
		world_tick(w);
		world_settle(w);
	}
}

static unsigned nr_home(const struct world *w)
{
	return (unsigned)w->shape.nr_cpus - w->shape.isolated;
}

/*
 * No CPU idles while another has a task to spare, unless it is a slow one: two tasks may be better
 * off on a fast CPU than one of them there.
 */
static void check_work_conservation(struct world *w)
{
	bool idle = false, crowded = false;

	for (unsigned cpu = 0; cpu < nr_home(w); cpu++) {
		struct sched_cpu_stat stat;

		sched_cpu_stat(w->sim->s, cpu, &stat);
		idle |= !world_running(w, cpu);
		crowded |= stat.nr_running > 1;
	}
	EXPECT(!(idle && crowded) || w->shape.opp == WORLD_TWO_TYPES);
}

static bool wants_cpu(const struct subject *x)
{
	return x->t && x->state != ASLEEP;
}

/*
 * A task may be ahead of its equals by a request, and by the tick that ended it late. Becoming
 * SCHED_IDLE, at 1/341 of the weight, stretches that lead in virtual time, and becoming an equal
 * again does not shrink it under CFS: each equal has to run that long first. Two ticks are 6.8 s
 * at 100 Hz, and the equals have had their 2 s before. Once the task runs again the debt is paid,
 * and a minute more is enough for all.
 */
static void await_turns(struct world *w, const u64 *ran_before, unsigned nr_awake)
{
	bool all;

	for (unsigned n = 0; n < 60 + 6 * nr_awake; n++) {
		pass_seconds(w, 1);
		all = true;
		for (unsigned i = 0; i < w->nr_tasks; i++)
			if (wants_cpu(&w->subject[i]) && w->subject[i].ran_ns == ran_before[i])
				all = false;
		if (all)
			return;
	}
	host_bug(__FILE__, __LINE__, "a task starves among equals");
}

/*
 * Nobody starves. Equal tasks get equal shares where the policy claims it: on one CPU to three
 * ticks in 8 s if their lag is bounded, on several at least half of it (balancing between nodes
 * tolerates a difference of one task). Fast CPUs take more tasks than slow ones.
 */
static void check_fairness(struct world *w)
{
	const unsigned seconds = 8;
	bool exact = w->shape.nr_cpus == 1 && sched_fair_has(w->sim->s, TRAIT_BOUNDED_LAG);
	bool even = sched_fair_has(w->sim->s, TRAIT_EVEN) && w->shape.opp != WORLD_TWO_TYPES;
	u64 before[WORLD_TASKS], share_ns;
	unsigned nr_awake = 0;

	for (unsigned i = 0; i < w->nr_tasks; i++) {
		before[i] = w->subject[i].ran_ns;
		nr_awake += wants_cpu(&w->subject[i]);
	}
	await_turns(w, before, nr_awake);
	for (unsigned i = 0; i < w->nr_tasks; i++)
		before[i] = w->subject[i].ran_ns;
	pass_seconds(w, seconds);
	share_ns = seconds * NS_PER_SEC * nr_home(w) / max(nr_awake, nr_home(w));
	for (unsigned i = 0; i < w->nr_tasks; i++) {
		u64 got_ns = w->subject[i].ran_ns - before[i];

		if (!wants_cpu(&w->subject[i]))
			continue;
		EXPECT(!even || got_ns >= share_ns / 2);
		EXPECT(!exact || got_ns + 3 * w->sim->tick_ns >= share_ns);
	}
}

void world_calm(struct world *w)
{
	/* The time of its tasks is not the groups'. */
	if (!w->was_ext)
		check_groups(w);
	ext_unload(w);
	make_equal(w);
	pass_seconds(w, 2);
	check_work_conservation(w);
	world_check(w);
	if (!w->debts)
		check_fairness(w);
}

/* --- events --- */

/* Switches chain on each CPU, and nobody is moved where it may not run. */
static void check_event(struct sim_listener *listener, struct sim *sim,
			const struct sched_event *event)
{
	struct world *w = container_of(listener, struct world, listener);

	judge_event(sim->s, event);
	if (event->type == EVENT_ID_sched_switch) {
		const struct event_sched_switch *ev = (const void *)event;

		EXPECT(ev->prev_pid == w->current_pid[event->cpu] && ev->next_pid != ev->prev_pid);
		w->current_pid[event->cpu] = ev->next_pid;
	} else if (event->type == EVENT_ID_sched_migrate_task) {
		const struct event_sched_migrate_task *ev = (const void *)event;

		EXPECT(ev->pid > 0 && ev->pid <= (int)w->nr_tasks && ev->orig_cpu != ev->dest_cpu);
		u64 usable = w->subject[ev->pid - 1].allowed & w->online;

		EXPECT((usable ?: w->online) & BIT(ev->dest_cpu));
		/* Only an affinity, or a loaded scheduler, leads to isolated CPUs or from there. */
		u64 home = world_home(w), orig = BIT(ev->orig_cpu);

		EXPECT(!(home & orig) == !(home & BIT(ev->dest_cpu)) || !(usable & orig) ||
		       sched_ext_name(sim->s));
	}
}

/* --- speeds ----------------------------------------------------------------------------------- */

static const char fast_type[] = "type fast\nopp 500 512 30 10\nopp 800 800 60 15\n"
				"opp 1000 1024 100 20\nidle 5 5 0\nidle 1 1 1000\n";
static const char slow_type[] = "type slow\nopp 300 150 10 5\nopp 600 300 20 8\nidle 2 3 0\n";

/* The table of a machine of this shape. */
static void describe_speeds(const struct shape *shape, struct opp_table *table)
{
	char text[4096];
	size_t at = (size_t)snprintf(text, sizeof(text), "%s%s", fast_type, slow_type);
	struct cpu_place places[WORLD_CPUS];

	for (unsigned cpu = 0; cpu < shape->nr_cpus; cpu += shape->llc) {
		bool slow = shape->opp == WORLD_TWO_TYPES && cpu / shape->llc % 2;
		unsigned last = min(cpu + shape->llc, shape->nr_cpus + 0u) - 1;

		at += (size_t)snprintf(text + at, sizeof(text) - at, "domain %u-%u %s\n", cpu, last,
				       slow ? "slow" : "fast");
	}
	for (unsigned cpu = 0; cpu < shape->nr_cpus; cpu++)
		places[cpu] = (struct cpu_place){ cpu / shape->smt, cpu / shape->llc, 0,
						  cpu / shape->node };
	if (!opp_read(table, text, places, shape->nr_cpus)) {
		fprintf(stderr, "%s", table->error);
		abort();
	}
}

/* --- machines --------------------------------------------------------------------------------- */

bool world_init(struct world *w, const struct shape *shape, unsigned nr_tasks, const char *policy)
{
	struct sched_cpu_desc desc[WORLD_CPUS];
	static struct opp_table table;
	struct cpumask isolated;

	if (!shape->nr_cpus || shape->nr_cpus > WORLD_CPUS || !shape->smt || !shape->llc ||
	    !shape->node || nr_tasks > WORLD_TASKS || shape->opp >= NR_WORLD_OPPS ||
	    shape->isolated >= shape->nr_cpus)
		return false;
	for (unsigned cpu = 0; cpu < shape->nr_cpus; cpu++)
		desc[cpu] = (struct sched_cpu_desc){ cpu / shape->smt, cpu / shape->llc, 0,
						     cpu / shape->node };
	*w = (struct world){ .shape = *shape, .nr_tasks = nr_tasks };
	w->online = world_cpus(w);
	isolated = world_mask(world_cpus(w) & ~world_home(w));
	if (shape->opp)
		describe_speeds(shape, &table);
	w->sim = sim_new(&(struct sim_config){
		.nr_cpus = shape->nr_cpus,
		.hz = shape->hz,
		.topology = desc,
		.opp = shape->opp ? &table : NULL,
		.fair_policy = policy,
		.isolated = &isolated,
		.seed = 1,
	});
	if (!w->sim)
		return false;
	for (unsigned i = 0; shape->opp && i < ARRAY_SIZE(w->tune); i++)
		w->tune[i] = (unsigned)sched_tune_new(w->sim->s);
	judge_attach(w->sim->s);
	w->listener.event = check_event;
	sim_listen(w->sim, &w->listener);
	sim_trace(w->sim,
		  BIT(EVENT_sched_switch) | BIT(EVENT_sched_migrate_task) | QUOTA_DECISION_EVENTS);
	sched_tunable_write(w->sim->s, "sched_schedstats", "1", 1);
	return true;
}

void world_free(struct world *w)
{
	for (unsigned i = 0; i < WORLD_GROUPS; i++)
		free(w->group[i].tg);
	sim_free(w->sim);
}
