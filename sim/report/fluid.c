/* SPDX-License-Identifier: GPL-2.0-only */
/* The fluid server, and a machine that has nothing else; see fluid.h. */
#include <assert.h>
#include <string.h>

#include "sim/report/fluid.h"
#include "sim/engine/util.h"

#define ONE_CPU (1ull << 32)
#define HALF_NS (1ull << (SERVICE_SHIFT - 1))
static const u64 idle_weight = 3; /* of SCHED_IDLE, as in sched/fair/core/weight.c */
#define FAIR (BIT(WEIGHT_RT) - 1) /* the fair tasks in a group's present */

/* --- shares ----------------------------------------------------------------------------------- */

/* Sets what all of each group could use, in 2^-32 CPUs, from the leaves up. */
static void set_demands(struct fluid_server *f)
{
	for (u32 i = 0; i < f->nr_groups; i++)
		f->groups[i]->demand = 0;
	for (u32 i = f->nr_groups; i-- > 0;) {
		struct fluid_group *g = f->groups[i];

		for (u64 left = g->present & FAIR; left; left &= left - 1)
			g->demand += ONE_CPU * g->nr[__builtin_ctzll(left)];
		g->demand = min(g->demand, g->limit);
		if (g->parent)
			g->parent->demand += g->demand;
	}
}

/* The CPUs that are not yet divided, and the total weight of those that share them. */
struct remainder {
	u64 cpus, weight;
};

/* Would a member of @weight that can use @demand get at least that? */
static bool takes_all(const struct remainder *left, u64 weight, u64 demand)
{
	return (unsigned __int128)weight * left->cpus >= (unsigned __int128)left->weight * demand;
}

static u64 part(const struct remainder *left, u64 weight)
{
	return (u64)((unsigned __int128)left->cpus * weight / left->weight);
}

/*
 * Gives every member that would get more than it can use just what it can use. Returns whether
 * there was one: then others gain.
 */
static bool settle(const struct fluid *fluid, struct fluid_group *g, u64 *unsettled,
		   struct remainder *left)
{
	bool any = false;

	for (u64 rest = *unsettled; rest; rest &= rest - 1) {
		u32 w = (u32)__builtin_ctzll(rest);

		if (!takes_all(left, fluid->weight[w], ONE_CPU))
			continue;
		g->rate[w] = ONE_CPU;
		*unsettled &= ~BIT(w);
		left->cpus -= min(left->cpus, g->nr[w] * ONE_CPU);
		left->weight -= g->nr[w] * fluid->weight[w];
		any = true;
	}
	for (struct fluid_group *c = g->first_child; c; c = c->sibling) {
		if (c->settled || !takes_all(left, c->weight, c->demand))
			continue;
		c->settled = any = true;
		c->granted = c->demand;
		left->cpus -= min(left->cpus, c->demand);
		left->weight -= c->weight;
	}
	return any;
}

/* Divides what @g was granted among its tasks and the groups below it. */
static void divide(const struct fluid *fluid, struct fluid_group *g)
{
	struct remainder left = { .cpus = g->granted };
	u64 unsettled = g->present & FAIR;

	for (u64 rest = unsettled; rest; rest &= rest - 1) {
		u32 w = (u32)__builtin_ctzll(rest);

		left.weight += g->nr[w] * fluid->weight[w];
	}
	for (struct fluid_group *c = g->first_child; c; c = c->sibling) {
		c->settled = !c->demand;
		c->granted = 0;
		left.weight += c->settled ? 0 : c->weight;
	}
	while (settle(fluid, g, &unsettled, &left))
		;
	for (; unsettled; unsettled &= unsettled - 1) {
		u32 w = (u32)__builtin_ctzll(unsettled);

		g->rate[w] = part(&left, fluid->weight[w]);
	}
	for (struct fluid_group *c = g->first_child; c; c = c->sibling)
		if (!c->settled)
			c->granted = part(&left, c->weight);
}

/* Gives each task of weight @w at most @rate. Returns what is left of @cpus, in 2^-32 CPUs. */
static u64 serve_first(struct fluid_group *root, u32 w, u64 rate, u64 cpus)
{
	if (!root->nr[w])
		return cpus;
	root->rate[w] = min(rate, cpus / root->nr[w]);
	return cpus - root->nr[w] * root->rate[w];
}

static void set_rates(const struct fluid *fluid, struct fluid_server *f)
{
	struct fluid_group *root = f->groups[0];
	u64 left = f->nr_cpus * ONE_CPU;

	for (u32 w = WEIGHT_DL; w < NR_WEIGHTS; w++)
		left = serve_first(root, w, fluid->weight[w], left);
	root->granted = serve_first(root, WEIGHT_RT, ONE_CPU, left);
	set_demands(f);
	f->stale = false;
	for (u32 i = 0; i < f->nr_groups; i++)
		divide(fluid, f->groups[i]);
}

static void catch_up(const struct fluid *fluid, struct fluid_server *f, u64 now)
{
	u64 elapsed = now - f->updated;

	if (!elapsed)
		return;
	if (f->stale)
		set_rates(fluid, f);
	f->updated = now;
	for (u32 i = 0; i < f->nr_groups; i++) {
		struct fluid_group *g = f->groups[i];

		for (u64 left = g->present; left; left &= left - 1) {
			u32 w = (u32)__builtin_ctzll(left);

			g->service[w] += (u64)(((unsigned __int128)elapsed * g->rate[w]) >>
					       (32 - SERVICE_SHIFT));
		}
	}
}

/* --- who is served ---------------------------------------------------------------------------- */

/* The number of the bandwidth of @t, or WEIGHT_RT if too many others have occurred. */
static u32 bandwidth_of(struct fluid *fluid, const struct task *t)
{
	struct sched_attr_req attr;
	u64 bandwidth, w = WEIGHT_DL;

	sched_get_attr(t, &attr);
	bandwidth = (u64)((unsigned __int128)attr.runtime_ns * ONE_CPU / attr.period_ns) | 1;
	while (w < NR_WEIGHTS && fluid->weight[w] && fluid->weight[w] != bandwidth)
		w++;
	if (w == NR_WEIGHTS)
		return WEIGHT_RT;
	fluid->weight[w] = bandwidth;
	return (u32)w;
}

static u32 weight_of(struct fluid *fluid, const struct task *t)
{
	if (t->policy == SCHED_DEADLINE && fluid->workload)
		return bandwidth_of(fluid, t);
	if (!task_is_fair_policy(t->policy))
		return WEIGHT_RT;
	return t->policy == SCHED_IDLE ? WEIGHT_IDLE : (u32)(t->static_prio - 100);
}

static void note_change(struct fluid *fluid, struct fluid_server *f)
{
	f->stale = true;
	if (f->changed)
		return;
	f->changed = true;
	list_add_tail(&fluid->changed, &f->changed_link);
}

static struct fluid_group *find_group(const struct fluid_server *f, u32 number)
{
	for (u32 i = 0; i < f->nr_groups; i++)
		if (f->groups[i]->number == number)
			return f->groups[i];
	return NULL;
}

static u64 limit_of(const struct task_group_params *p)
{
	return p->quota_ns == SCHED_QUOTA_NONE || p->quota_ns / CPU_MAX >= p->period_ns
		       ? UINT64_MAX
		       : (u64)((unsigned __int128)p->quota_ns * ONE_CPU / p->period_ns);
}

static struct fluid_group *add_group(struct sim *sim, struct fluid_server *f, u32 number,
				     struct fluid_group *parent)
{
	const struct task_group_params *p = &sim->groups[number].params;
	struct fluid_group *g = allocate(1, sizeof(*g));

	*g = (struct fluid_group){ .number = number,
				   .weight = p->idle ? idle_weight : p->shares,
				   .limit = number ? limit_of(p) : UINT64_MAX,
				   .parent = parent };
	if (parent) {
		g->sibling = parent->first_child;
		parent->first_child = g;
	}
	f->groups = grow(f->groups, f->nr_groups, &f->groups_size, sizeof(struct fluid_group *));
	f->groups[f->nr_groups++] = g;
	return g;
}

/* The group with this number on @f. It and the groups above it are added if they are missing. */
static struct fluid_group *group_on(struct sim *sim, struct fluid_server *f, u32 number)
{
	struct fluid_group *g = NULL;
	u32 missing;

	while (!(g = find_group(f, number))) {
		struct fluid_group *parent = NULL;

		missing = number;
		while (missing && !(parent = find_group(f, sim->groups[missing].parent)))
			missing = sim->groups[missing].parent;
		add_group(sim, f, missing, parent);
	}
	return g;
}

void fluid_join(struct fluid *fluid, struct sim_task *t)
{
	struct sim *sim = fluid->sim;
	struct fluid_server *f;
	struct fluid_group *g;

	t->server = fluid->server_of_cpu[cpumask_first(&t->task.allowed)];
	t->weight = (u8)weight_of(fluid, &t->task);
	f = &fluid->servers[t->server];
	catch_up(fluid, f, sim->now);
	g = t->member_of = group_on(sim, f, t->weight >= WEIGHT_RT ? 0 : t->group);
	g->nr[t->weight]++;
	g->present |= BIT(t->weight);
	t->service_start = g->service[t->weight];
	note_change(fluid, f);
}

void fluid_leave(struct fluid *fluid, struct sim_task *t)
{
	struct fluid_server *f = &fluid->servers[t->server];
	struct fluid_group *g = t->member_of;

	assert(g->nr[t->weight]);
	catch_up(fluid, f, fluid->sim->now);
	if (!--g->nr[t->weight])
		g->present &= ~BIT(t->weight);
	note_change(fluid, f);
}

u64 fluid_service(struct fluid *fluid, struct sim_task *t)
{
	catch_up(fluid, &fluid->servers[t->server], fluid->sim->now);
	return (t->member_of->service[t->weight] - t->service_start + HALF_NS) >> SERVICE_SHIFT;
}

/* --- a machine of fluid servers --------------------------------------------------------------- */

static bool done_before(const struct rb_node *a, const struct rb_node *b)
{
	const struct sim_task *ta = container_of(a, struct sim_task, node);
	const struct sim_task *tb = container_of(b, struct sim_task, node);

	return ta->service_end < tb->service_end;
}

static struct sim_task *first_done(const struct fluid_group *g, u32 weight)
{
	struct rb_node *node = rb_first(&g->working[weight]);

	return node ? container_of(node, struct sim_task, node) : NULL;
}

/* @t starts to work for left_ns. */
static void begin_work(struct fluid *fluid, struct sim_task *t)
{
	struct fluid_server *f = &fluid->servers[t->server];
	struct fluid_group *g = t->member_of;

	t->working = t->left_ns != SIM_FOREVER;
	if (!t->working)
		return;
	catch_up(fluid, f, fluid->sim->now);
	t->service_end = g->service[t->weight] + (t->left_ns << SERVICE_SHIFT);
	rb_insert(&g->working[t->weight], &t->node, done_before);
	note_change(fluid, f);
}

static void end_work(struct sim_task *t)
{
	struct fluid_group *g = t->member_of;

	if (!t->working)
		return;
	rb_erase(&g->working[t->weight], &t->node);
	t->working = false;
	t->left_ns = g->service[t->weight] >= t->service_end
			     ? 0
			     : (t->service_end - g->service[t->weight]) >> SERVICE_SHIFT;
}

/* Adds what @t got since it joined to its row and to the groups that contain it. */
static void account(struct fluid *fluid, struct sim_task *t)
{
	struct workload *w = fluid->workload;
	u64 got = fluid_service(fluid, t);

	w->row_ideal_ns[t->row] += got;
	for (u32 i = t->member_of->number; i; i = w->groups[i].parent)
		w->groups[i].ideal_ns += got;
}

static void stop(struct fluid *fluid, struct sim_task *t)
{
	account(fluid, t);
	fluid_leave(fluid, t);
	t->asleep = true;
}

/* Lets @t, which is served and has no work, go on with its program. */
static void go_on(struct fluid *fluid, struct sim_task *t)
{
	struct sim *sim = fluid->sim;

	while (!sim->failure && !sim_is_stuck(sim, t)) {
		enum sim_next what = sim->config.next(sim, t);

		if (what == SIM_WORK || what == SIM_YIELD) {
			if (!t->left_ns)
				continue;
			begin_work(fluid, t);
			return;
		}
		stop(fluid, t);
		if (what == SIM_EXIT)
			sim_task_free(sim, t);
		return;
	}
}

static void fluid_wake(struct sim_server *server, struct sim *sim, struct sim_task *t)
{
	struct fluid *fluid = container_of(server, struct fluid, server);

	if (!t->asleep)
		return;
	queue_cancel(&sim->queue, &t->wakeup);
	t->asleep = false;
	t->left_ns = 0;
	fluid_join(fluid, t);
	/* The task goes on when the waker's step is over: as an event of this moment. */
	queue_set(&sim->queue, &t->wakeup, sim->now);
}

static void fluid_change(struct sim_server *server, struct sim *sim, struct sim_task *t, bool begin)
{
	struct fluid *fluid = container_of(server, struct fluid, server);

	(void)sim;
	if (t->asleep)
		return;
	if (begin) {
		account(fluid, t);
		t->interrupted = t->working;
		end_work(t);
		fluid_leave(fluid, t);
	} else {
		fluid_join(fluid, t);
		if (t->interrupted)
			begin_work(fluid, t);
	}
}

/* ns until the first of @g's tasks will have done its work at the present rates. */
static u64 until_done(const struct fluid_group *g)
{
	u64 soonest = UINT64_MAX;

	for (u64 left = g->present; left; left &= left - 1) {
		u32 w = (u32)__builtin_ctzll(left);
		const struct sim_task *t = first_done(g, w);
		u64 rest;

		if (!t || !g->rate[w])
			continue;
		rest = t->service_end > g->service[w] ? t->service_end - g->service[w] : 0;
		soonest = min(soonest, (u64)((((unsigned __int128)rest << (32 - SERVICE_SHIFT)) +
					      g->rate[w] - 1) /
					     g->rate[w]));
	}
	return soonest;
}

static void set_done(struct fluid *fluid, struct fluid_server *f)
{
	u64 soonest = UINT64_MAX;

	if (f->stale)
		set_rates(fluid, f);
	for (u32 i = 0; i < f->nr_groups; i++)
		soonest = min(soonest, until_done(f->groups[i]));
	if (soonest == UINT64_MAX)
		queue_cancel(&fluid->sim->queue, &f->done);
	else
		queue_set(&fluid->sim->queue, &f->done, fluid->sim->now + soonest);
}

static void group_done(struct fluid *fluid, struct fluid_group *g)
{
	for (u64 left = g->present; left; left &= left - 1) {
		u32 w = (u32)__builtin_ctzll(left);
		struct sim_task *t;

		while ((t = first_done(g, w)) && t->service_end <= g->service[w]) {
			end_work(t);
			go_on(fluid, t);
		}
	}
}

static void work_done(struct fluid *fluid, struct fluid_server *f)
{
	catch_up(fluid, f, fluid->sim->now);
	note_change(fluid, f);
	for (u32 i = 0; i < f->nr_groups; i++)
		group_done(fluid, f->groups[i]);
}

/* The sleep of @t is over, or a task that was woken before gets to go on. */
static void wakeup(struct fluid *fluid, struct sim_task *t)
{
	if (t->asleep) {
		t->asleep = false;
		fluid_join(fluid, t);
	}
	go_on(fluid, t);
}

bool fluid_run(struct fluid *fluid, u64 until)
{
	struct sim *sim = fluid->sim;
	struct event *ev;
	struct sim_task *t;

	sim_select(sim);
	while (!sim->failure) {
		while (!list_empty(&fluid->changed)) {
			struct fluid_server *f =
				list_first(&fluid->changed, struct fluid_server, changed_link);

			list_del(&f->changed_link);
			f->changed = false;
			set_done(fluid, f);
		}
		ev = queue_pop(&sim->queue, until - 1);
		if (!ev)
			break;
		sim->now = sim->queue.time;
		if (ev->kind == EVENT_WAKEUP)
			wakeup(fluid, container_of(ev, struct sim_task, wakeup));
		else
			work_done(fluid, container_of(ev, struct fluid_server, done));
	}
	if (sim->failure)
		return false;
	sim->now = until;
	list_for_each(t, &sim->tasks, link)
		if (!t->asleep)
			stop(fluid, t);
	return true;
}

/* --- setting up ------------------------------------------------------------------------------- */

static u32 root_of(const u32 *parent, u32 cpu)
{
	return parent[cpu] == cpu ? cpu : root_of(parent, parent[cpu]);
}

/* Joins all CPUs of @mask. */
static void unite(u32 *parent, const struct cpumask *mask)
{
	u32 first = cpumask_first(mask), cpu;

	for_each_cpu(cpu, mask) {
		u32 a = root_of(parent, first), b = root_of(parent, cpu);

		parent[max(a, b)] = min(a, b);
	}
}

/* A task with @attr chooses among @allowed. Together, so do the tasks of its topmost group. */
static void take_choice(const struct workload *w, const struct attributes *attr,
			const struct cpumask *allowed, u32 *parent, struct cpumask *of_group)
{
	u32 top = attr->group;

	unite(parent, allowed);
	if (!top)
		return;
	while (w->groups[top].parent)
		top = w->groups[top].parent;
	of_group[top] = cpumask_or(&of_group[top], allowed);
}

static void make_servers(struct sim *sim, struct fluid *fluid, const struct workload *w)
{
	u32 nr_cpus = sim->config.nr_cpus, *parent = allocate(nr_cpus, sizeof(u32));
	struct cpumask possible = cpumask_first_n(nr_cpus);
	struct cpumask all = cpumask_andnot(&possible, sched_isolated(sim->s));
	struct cpumask *of_group = allocate(w->nr_groups + 1, sizeof(*of_group));

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		parent[cpu] = cpu;
	for (u32 i = 0; i < w->nr_programs; i++) {
		const struct attributes *attr = &w->programs[i].attr;

		take_choice(w, attr, attr->set_affinity ? &attr->allowed : &all, parent, of_group);
	}
	for (u32 i = 0; i < w->nr_attrs; i++) {
		const struct attributes *attr = &w->attrs[i];
		const struct cpumask *allowed =
			cpumask_empty(&attr->allowed) ? &all : &attr->allowed;

		if (attr->set_affinity || attr->set_group)
			take_choice(w, attr, allowed, parent, of_group);
	}
	for (u32 i = 1; i < w->nr_groups; i++)
		if (!cpumask_empty(&of_group[i]))
			unite(parent, &of_group[i]);
	free(of_group);
	fluid->servers = allocate(nr_cpus, sizeof(*fluid->servers));
	fluid->server_of_cpu = allocate(nr_cpus, sizeof(u32));
	for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
		u32 root = root_of(parent, cpu);
		struct fluid_server *f;

		fluid->server_of_cpu[cpu] =
			root == cpu ? fluid->nr_servers++ : fluid->server_of_cpu[root];
		f = &fluid->servers[fluid->server_of_cpu[cpu]];
		f->nr_cpus++;
		f->updated = sim->now;
		f->done.kind = EVENT_DONE;
		list_init(&f->changed_link);
	}
	free(parent);
}

struct fluid *fluid_new(struct sim *sim, const struct workload *w)
{
	struct fluid *fluid = allocate(1, sizeof(*fluid));

	fluid->sim = sim;
	list_init(&fluid->changed);
	for (u32 i = 0; i < WEIGHT_IDLE; i++)
		fluid->weight[i] = sched_nice_weight((int)i - 20);
	fluid->weight[WEIGHT_IDLE] = idle_weight;
	make_servers(sim, fluid, w);
	return fluid;
}

struct fluid *fluid_serve(struct sim *sim, struct workload *w)
{
	struct fluid *fluid = fluid_new(sim, w);

	fluid->workload = w;
	fluid->server = (struct sim_server){ .wake = fluid_wake, .change = fluid_change };
	sim_serve(sim, &fluid->server);
	return fluid;
}

void fluid_free(struct fluid *fluid)
{
	if (!fluid)
		return;
	for (u32 i = 0; i < fluid->nr_servers; i++) {
		for (u32 n = 0; n < fluid->servers[i].nr_groups; n++)
			free(fluid->servers[i].groups[n]);
		free(fluid->servers[i].groups);
	}
	free(fluid->servers);
	free(fluid->server_of_cpu);
	free(fluid);
}
