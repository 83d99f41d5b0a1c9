/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Building and running programs; see workload.h.
 *
 * A task is asked for its next step when it runs and has no work left. Steps that take no time are
 * done at once, one at a time, so that a preemption they cause comes between two of them. A waiting
 * task is in the queue of one object; its waker removes it.
 */
#include <assert.h>
#include <string.h>

#include "sim/engine/util.h"
#include "sim/workload/workload.h"

/* --- building --------------------------------------------------------------------------------- */

u32 workload_program(struct workload *w, const char *name)
{
	struct program *p;

	w->programs = grow(w->programs, w->nr_programs, &w->programs_size, sizeof(*p));
	p = &w->programs[w->nr_programs];
	*p = (struct program){ .instances = 1 };
	snprintf(p->name, sizeof(p->name), "%s", name);
	make_printable(p->name);
	return w->nr_programs++;
}

u32 workload_object(struct workload *w, const char *name)
{
	struct object *o;

	w->objects = grow(w->objects, w->nr_objects, &w->objects_size, sizeof(*o));
	o = &w->objects[w->nr_objects];
	*o = (struct object){ .value = 0 };
	snprintf(o->name, sizeof(o->name), "%s", name);
	return w->nr_objects++;
}

u32 workload_attr(struct workload *w, const struct attributes *attr)
{
	w->attrs = grow(w->attrs, w->nr_attrs, &w->attrs_size, sizeof(*attr));
	w->attrs[w->nr_attrs] = *attr;
	return w->nr_attrs++;
}

void workload_step(struct workload *w, u32 program, struct step step)
{
	struct program *p = &w->programs[program];

	assert(program < w->nr_programs);
	p->steps = grow(p->steps, p->nr_steps, &p->size, sizeof(step));
	p->steps[p->nr_steps++] = step;
}

/* Links each loop with its end, and each end with its loop. */
static void link_loops(struct program *p)
{
	u32 open[PROGRAM_DEPTH], depth = 0;

	for (u32 i = 0; i < p->nr_steps; i++) {
		if (p->steps[i].kind == STEP_LOOP) {
			assert(depth < PROGRAM_DEPTH);
			open[depth++] = i;
		} else if (p->steps[i].kind == STEP_END) {
			assert(depth);
			p->steps[i].object = open[--depth];
			p->steps[open[depth]].object = i;
		}
	}
}

static bool same_kind(const struct program *a, const struct program *b)
{
	const struct attributes *x = &a->attr, *y = &b->attr;

	return !strcmp(a->name, b->name) && x->set_policy == y->set_policy &&
	       x->policy == y->policy && x->nice == y->nice && x->rt_priority == y->rt_priority &&
	       x->slice_ns == y->slice_ns && x->runtime_ns == y->runtime_ns &&
	       x->deadline_ns == y->deadline_ns && x->period_ns == y->period_ns &&
	       x->clamps == y->clamps && !memcmp(x->util, y->util, sizeof(x->util)) &&
	       x->group == y->group && x->footprint_kib == y->footprint_kib &&
	       x->set_affinity == y->set_affinity && cpumask_equal(&x->allowed, &y->allowed);
}

void workload_finish(struct workload *w)
{
	for (u32 i = 0; i < w->nr_programs; i++) {
		struct program *p = &w->programs[i];
		u32 first = 0;

		link_loops(p);
		while (first < i && !same_kind(&w->programs[first], p))
			first++;
		p->row = first < i ? w->programs[first].row : w->nr_rows++;
	}
	w->row_ideal_ns = allocate(w->nr_rows, sizeof(u64));
}

const struct program *workload_row(const struct workload *w, u32 row)
{
	u32 i = 0;

	while (w->programs[i].row != row)
		i++;
	return &w->programs[i];
}

void workload_free(struct workload *w)
{
	for (u32 i = 0; i < w->nr_programs; i++)
		free(w->programs[i].steps);
	free(w->programs);
	free(w->objects);
	free(w->attrs);
	for (u32 i = 0; i < w->nr_groups; i++)
		free(w->groups[i].path);
	free(w->groups);
	free(w->row_ideal_ns);
	*w = (struct workload){ .programs = NULL };
}

/* --- starting --------------------------------------------------------------------------------- */

static void set_attributes(struct sim *sim, struct sim_task *t, const struct attributes *attr)
{
	struct sched_attr_req req;

	sched_get_attr(&t->task, &req);
	if (sim->freq)
		req.clamps = attr->clamps;
	memcpy(req.util, attr->util, sizeof(req.util));
	if (attr->set_policy) {
		req.policy = attr->policy;
		req.nice = attr->nice;
		req.rt_priority = attr->rt_priority;
		req.slice_ns = attr->slice_ns;
		req.runtime_ns = attr->runtime_ns;
		req.deadline_ns = attr->deadline_ns;
		req.period_ns = attr->period_ns;
	}
	if ((attr->set_policy || req.clamps) && sim_set_attr(sim, t, &req))
		sim_fail(sim, t, "the scheduler refuses its policy, priority, bandwidth or clamps");
	if (attr->set_affinity && sim_set_affinity(sim, t, &attr->allowed))
		sim_fail(sim, t, "the scheduler refuses its affinity");
	if (attr->set_group)
		sim_set_group(sim, t, attr->group);
}

/* @parent is NULL at the start of the simulation. */
static bool start_task(struct sim *sim, struct workload *w, struct sim_task *parent, u32 number)
{
	const struct program *p = &w->programs[number];
	char comm[TASK_COMM_LEN + 16];
	struct sim_task *t;

	if (p->numbered)
		snprintf(comm, sizeof(comm), "%s-%u", p->name, w->next_number++);
	else
		snprintf(comm, sizeof(comm), "%s", p->name);
	t = parent ? sim_task_fork(sim, parent, comm) : sim_task_new(sim, comm);
	if (!t)
		return false;
	t->row = p->row;
	t->footprint_kib = p->attr.footprint_kib;
	t->cursor.program = p;
	t->cursor.origin = sim->now;
	prng_seed(&t->cursor.rng, sim->config.seed + (u64)t->task.pid);
	set_attributes(sim, t, &p->attr);
	if (parent)
		sim_start(sim, t);
	else
		sim_start_varied(sim, t);
	return true;
}

/* Makes the groups. Their numbers in the machine are those in the workload. */
static void make_groups(struct sim *sim, const struct workload *w)
{
	for (u32 i = 1; i < w->nr_groups; i++) {
		if (!sim_group_new(sim, w->groups[i].parent, &w->groups[i].params))
			sim_fail(sim, NULL, "the scheduler refuses the settings of a group");
		else if (!sim_group_clamp(sim, i, w->groups[i].clamp))
			sim_fail(sim, NULL, "the scheduler refuses the clamps of a group");
		else if (w->groups[i].boost && !sim_group_boost(sim, i, w->groups[i].boost))
			sim_fail(sim, NULL, "more than 15 groups have a boost");
		else if (sim->groups[i].tg)
			task_group_set_name(sim->groups[i].tg, strrchr(w->groups[i].path, '/') + 1);
	}
}

bool workload_start(struct sim *sim, struct workload *w)
{
	bool all = true;

	make_groups(sim, w);
	for (u32 i = 0; i < w->nr_objects; i++) {
		struct object *o = &w->objects[i];

		list_init(&o->waiters);
		o->owner = NULL;
		o->expiry = 0;
		o->value = o->start;
	}
	sim->context = w;
	w->next_number = 0;
	sim_enter(sim, 0);
	for (u32 i = 0; i < w->nr_programs; i++)
		for (u32 n = 0; n < w->programs[i].instances && all; n++)
			all = start_task(sim, w, NULL, i);
	sim_leave(sim);
	return all;
}

/* --- waiting and waking ----------------------------------------------------------------------- */

static enum sim_next wait_at(struct object *o, struct sim_task *t)
{
	list_add_tail(&o->waiters, &t->cursor.waiting);
	return SIM_SLEEP;
}

static bool wake_first(struct sim *sim, struct object *o)
{
	struct cursor *c;

	if (list_empty(&o->waiters))
		return false;
	c = list_first(&o->waiters, struct cursor, waiting);
	list_del(&c->waiting);
	sim_wake(sim, container_of(c, struct sim_task, cursor), 0);
	return true;
}

static enum sim_next finished(struct sim_task *t)
{
	t->cursor.step++;
	t->cursor.stage = 0;
	return SIM_WORK;
}

/* --- steps ------------------------------------------------------------------------------------ */

static u64 between(struct sim_task *t, u64 a, u64 b)
{
	return b > a ? a + prng_u64(&t->cursor.rng) % (b - a + 1) : a;
}

static enum sim_next step_run(struct sim_task *t, const struct step *step)
{
	t->left_ns = between(t, step->a, step->b);
	return finished(t);
}

/* Looks at the clock every now and then, as rt-app does. A task that had to wait stops late. */
#define RUNTIME_CHUNK (32 * NS_PER_US)

static enum sim_next step_runtime(struct sim *sim, struct sim_task *t, const struct step *step)
{
	if (!t->cursor.stage) {
		t->cursor.expiry = sim->now + step->a;
		t->cursor.stage = 1;
	}
	if (sim->now >= t->cursor.expiry)
		return finished(t);
	t->left_ns = min(t->cursor.expiry - sim->now, RUNTIME_CHUNK);
	return SIM_WORK;
}

static enum sim_next sleep_until(struct sim *sim, struct sim_task *t, u64 when)
{
	finished(t);
	if (when <= sim->now)
		return SIM_WORK;
	sim_set_wakeup(sim, t, when);
	return SIM_SLEEP;
}

static enum sim_next step_timer(struct sim *sim, struct sim_task *t, const struct step *step,
				struct object *o)
{
	u64 *expiry = step->b & TIMER_OWN ? &t->cursor.timer : &o->expiry;

	if (!*expiry)
		*expiry = t->cursor.origin;
	*expiry += step->a;
	if (*expiry < sim->now && !(step->b & TIMER_ABSOLUTE))
		*expiry = sim->now;
	return sleep_until(sim, t, *expiry);
}

/* A free mutex goes to the first task that asks. A task woken for it may find it taken again. */
static enum sim_next step_lock(struct sim_task *t, struct object *o)
{
	if (o->owner)
		return wait_at(o, t);
	o->owner = t;
	return finished(t);
}

static void unlock(struct sim *sim, struct object *o)
{
	o->owner = NULL;
	wake_first(sim, o);
}

static enum sim_next step_unlock(struct sim *sim, struct sim_task *t, struct object *o)
{
	if (o->owner == t)
		unlock(sim, o);
	else
		sim_fail(sim, t, "it unlocks a mutex that it does not hold");
	return finished(t);
}

static enum sim_next step_wait(struct sim *sim, struct sim_task *t, struct object *o,
			       struct object *mutex)
{
	enum { ARRIVED, SIGNALLED };

	if (t->cursor.stage == ARRIVED) {
		t->cursor.stage = SIGNALLED;
		if (mutex && mutex->owner == t)
			unlock(sim, mutex);
		return wait_at(o, t);
	}
	return mutex ? step_lock(t, mutex) : finished(t);
}

/* Hands the semaphore's unit to the task that waits longest, whose step is then over. */
static enum sim_next step_post(struct sim *sim, struct sim_task *t, struct object *o)
{
	if (!wake_first(sim, o))
		o->value++;
	return finished(t);
}

static enum sim_next step_take(struct sim_task *t, struct object *o)
{
	finished(t);
	if (o->value) {
		o->value--;
		return SIM_WORK;
	}
	return wait_at(o, t);
}

static enum sim_next step_barrier(struct sim *sim, struct sim_task *t, struct object *o)
{
	assert(o->value > 0);
	finished(t);
	if (--o->value)
		return wait_at(o, t);
	o->value = o->start;
	while (wake_first(sim, o))
		;
	return SIM_WORK;
}

static enum sim_next step_fork(struct sim *sim, struct sim_task *t, u32 program)
{
	finished(t);
	if (!start_task(sim, sim->context, t, program))
		sim_fail(sim, t, "it forks, and there are 1000000 tasks, as many as can be");
	return SIM_WORK;
}

static enum sim_next step_attr(struct sim *sim, struct sim_task *t, const struct step *step)
{
	struct workload *w = sim->context;

	set_attributes(sim, t, &w->attrs[step->a]);
	return finished(t);
}

/* Has no effect under a fluid server, which always has its CPUs. */
static enum sim_next step_hotplug(struct sim *sim, struct sim_task *t, const struct step *step)
{
	unsigned cpu = (unsigned)step->a;

	finished(t);
	if (!sim->server && !(step->b ? sim_cpu_online(sim, cpu) : sim_cpu_offline(sim, cpu)))
		sim_fail(sim, t, "a CPU that it takes out of service, or back, is so or the last");
	return SIM_WORK;
}

static enum sim_next step_loop(struct sim_task *t, const struct step *step)
{
	struct cursor *c = &t->cursor;

	if (step->a)
		c->loops_left[c->depth++] = step->a == LOOP_FOREVER ? -1 : (s64)step->a;
	else
		c->step = step->object;
	return finished(t);
}

static enum sim_next step_end(struct sim_task *t, const struct step *step)
{
	struct cursor *c = &t->cursor;
	s64 *left = &c->loops_left[c->depth - 1];

	if (*left > 0 && !--*left)
		c->depth--;
	else
		c->step = step->object;
	return finished(t);
}

enum sim_next workload_next(struct sim *sim, struct sim_task *t)
{
	struct workload *w = sim->context;
	const struct program *p = t->cursor.program;
	const struct step *step = &p->steps[t->cursor.step];
	struct object *o;

	if (t->cursor.step == p->nr_steps)
		return SIM_EXIT;
	o = &w->objects[step->object];
	switch ((enum step_kind)step->kind) {
	case STEP_RUN:
		return step_run(t, step);
	case STEP_RUNTIME:
		return step_runtime(sim, t, step);
	case STEP_SLEEP:
		return sleep_until(sim, t, sim->now + between(t, step->a, step->b));
	case STEP_DELAY:
		t->cursor.origin = sim->now + step->a;
		return sleep_until(sim, t, t->cursor.origin);
	case STEP_TIMER:
		return step_timer(sim, t, step, o);
	case STEP_YIELD:
		finished(t);
		return SIM_YIELD;
	case STEP_LOCK:
		return step_lock(t, o);
	case STEP_UNLOCK:
		return step_unlock(sim, t, o);
	case STEP_WAIT:
		return step_wait(sim, t, o,
				 step->other == NO_OBJECT ? NULL : &w->objects[step->other]);
	case STEP_SIGNAL:
		wake_first(sim, o);
		return finished(t);
	case STEP_BROADCAST:
		while (wake_first(sim, o))
			;
		return finished(t);
	case STEP_POST:
		return step_post(sim, t, o);
	case STEP_TAKE:
		return step_take(t, o);
	case STEP_BARRIER:
		return step_barrier(sim, t, o);
	case STEP_FORK:
		return step_fork(sim, t, (u32)step->a);
	case STEP_LOOP:
		return step_loop(t, step);
	case STEP_END:
		return step_end(t, step);
	case STEP_ATTR:
		return step_attr(sim, t, step);
	case STEP_HOTPLUG:
		return step_hotplug(sim, t, step);
	case STEP_EXIT:
		break;
	}
	return SIM_EXIT;
}
