/* The fluid server, and the machine that has nothing else; see fluid.h. */
#include <string.h>

#include "fluid.h"
#include "util.h"

#define ONE_CPU (1ull << 32)
#define HALF_NS (1ull << (SERVICE_SHIFT - 1))

/* --- shares ----------------------------------------------------------------------------------- */

/* The heaviest first: who would get more than a CPU gets one, the others share what is left. */
static void set_rates(const struct fluid *fluid, struct fluid_server *f)
{
	u64 cpus = f->nr_cpus, total = 0, fair = f->present & ~BIT(WEIGHT_RT);

	f->stale = false;
	if (f->nr[WEIGHT_RT]) {
		f->rate[WEIGHT_RT] = min(ONE_CPU, cpus * ONE_CPU / f->nr[WEIGHT_RT]);
		cpus -= min(cpus, (u64)f->nr[WEIGHT_RT]);
	}
	for (u64 left = fair; left; left &= left - 1) {
		u32 w = (u32)__builtin_ctzll(left);

		total += f->nr[w] * fluid->weight[w];
	}
	for (u64 left = fair; left; left &= left - 1) {
		u32 w = (u32)__builtin_ctzll(left);

		if (fluid->weight[w] * cpus >= total) {
			f->rate[w] = ONE_CPU;
			cpus -= f->nr[w];
			total -= f->nr[w] * fluid->weight[w];
		} else {
			f->rate[w] = cpus * ONE_CPU * fluid->weight[w] / total;
		}
	}
}

static void update(const struct fluid *fluid, struct fluid_server *f, u64 now)
{
	u64 elapsed = now - f->updated;

	if (!elapsed)
		return;
	if (f->stale)
		set_rates(fluid, f);
	f->updated = now;
	for (u64 left = f->present; left; left &= left - 1) {
		u32 w = (u32)__builtin_ctzll(left);

		f->service[w] +=
			(u64)(((unsigned __int128)elapsed * f->rate[w]) >> (32 - SERVICE_SHIFT));
	}
}

/* --- who is served ---------------------------------------------------------------------------- */

static u32 weight_of(const struct task *t)
{
	if (t->policy == SCHED_FIFO || t->policy == SCHED_RR)
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

void fluid_join(struct sim *sim, struct sim_task *t)
{
	struct fluid *fluid = sim->fluid;
	struct fluid_server *f;

	t->server = fluid->server_of_cpu[cpumask_first(&t->task.allowed)];
	t->weight = (u8)weight_of(&t->task);
	f = &fluid->servers[t->server];
	update(fluid, f, sim->now);
	f->nr[t->weight]++;
	f->present |= BIT(t->weight);
	t->service_start = f->service[t->weight];
	note_change(fluid, f);
}

void fluid_leave(struct sim *sim, struct sim_task *t)
{
	struct fluid_server *f = &sim->fluid->servers[t->server];

	update(sim->fluid, f, sim->now);
	if (!--f->nr[t->weight])
		f->present &= ~BIT(t->weight);
	note_change(sim->fluid, f);
}

u64 fluid_service(struct sim *sim, struct sim_task *t)
{
	struct fluid_server *f = &sim->fluid->servers[t->server];

	update(sim->fluid, f, sim->now);
	return (f->service[t->weight] - t->service_start + HALF_NS) >> SERVICE_SHIFT;
}

/* --- a machine of fluid servers --------------------------------------------------------------- */

static bool done_before(const struct rb_node *a, const struct rb_node *b)
{
	const struct sim_task *ta = container_of(a, struct sim_task, node);
	const struct sim_task *tb = container_of(b, struct sim_task, node);

	return ta->service_end < tb->service_end;
}

static struct sim_task *first_done(const struct fluid_server *f, u32 weight)
{
	struct rb_node *node = rb_first(&f->working[weight]);

	return node ? container_of(node, struct sim_task, node) : NULL;
}

/* @t has left_ns of work from now on. */
static void begin_work(struct sim *sim, struct sim_task *t)
{
	struct fluid_server *f = &sim->fluid->servers[t->server];

	t->working = t->left_ns != SIM_FOREVER;
	if (!t->working)
		return;
	update(sim->fluid, f, sim->now);
	t->service_end = f->service[t->weight] + (t->left_ns << SERVICE_SHIFT);
	rb_insert(&f->working[t->weight], &t->node, done_before);
	note_change(sim->fluid, f);
}

static void end_work(struct sim *sim, struct sim_task *t)
{
	struct fluid_server *f = &sim->fluid->servers[t->server];

	if (!t->working)
		return;
	rb_erase(&f->working[t->weight], &t->node);
	t->working = false;
	t->left_ns = f->service[t->weight] >= t->service_end
			     ? 0
			     : (t->service_end - f->service[t->weight]) >> SERVICE_SHIFT;
}

static void stop(struct sim *sim, struct sim_task *t)
{
	u64 got = fluid_service(sim, t);

	sim->workload->row_ideal_ns[t->row] += got;
	fluid_leave(sim, t);
	t->asleep = true;
}

/* @t, served and without work, goes on with its program. */
static void go_on(struct sim *sim, struct sim_task *t)
{
	while (!sim->failure && !sim_is_stuck(sim)) {
		enum sim_next what = sim->config.next(sim, t);

		if (what == SIM_WORK || what == SIM_YIELD) {
			if (!t->left_ns)
				continue;
			begin_work(sim, t);
			return;
		}
		stop(sim, t);
		if (what == SIM_EXIT)
			sim_task_free(sim, t);
		return;
	}
}

void fluid_wake(struct sim *sim, struct sim_task *t)
{
	if (!t->asleep)
		return;
	queue_cancel(&sim->queue, &t->wakeup);
	t->asleep = false;
	t->left_ns = 0;
	fluid_join(sim, t);
	/* It goes on when the waker's step is over: as an event of this moment. */
	queue_set(&sim->queue, &t->wakeup, sim->now);
}

void fluid_change(struct sim *sim, struct sim_task *t, bool begin)
{
	if (t->asleep)
		return;
	if (begin) {
		sim->workload->row_ideal_ns[t->row] += fluid_service(sim, t);
		t->interrupted = t->working;
		end_work(sim, t);
		fluid_leave(sim, t);
	} else {
		fluid_join(sim, t);
		if (t->interrupted)
			begin_work(sim, t);
	}
}

/* When the first of @f's tasks has done its work, as it goes now. */
static void set_done(struct sim *sim, struct fluid_server *f)
{
	u64 soonest = UINT64_MAX;

	if (f->stale)
		set_rates(sim->fluid, f);
	for (u64 left = f->present; left; left &= left - 1) {
		u32 w = (u32)__builtin_ctzll(left);
		const struct sim_task *t = first_done(f, w);
		u64 rest;

		if (!t || !f->rate[w])
			continue;
		rest = t->service_end > f->service[w] ? t->service_end - f->service[w] : 0;
		soonest = min(soonest, (u64)((((unsigned __int128)rest << (32 - SERVICE_SHIFT)) +
					      f->rate[w] - 1) /
					     f->rate[w]));
	}
	if (soonest == UINT64_MAX)
		queue_cancel(&sim->queue, &f->done);
	else
		queue_set(&sim->queue, &f->done, sim->now + soonest);
}

static void work_done(struct sim *sim, struct fluid_server *f)
{
	update(sim->fluid, f, sim->now);
	note_change(sim->fluid, f);
	for (u64 left = f->present; left; left &= left - 1) {
		u32 w = (u32)__builtin_ctzll(left);
		struct sim_task *t;

		while ((t = first_done(f, w)) && t->service_end <= f->service[w]) {
			end_work(sim, t);
			go_on(sim, t);
		}
	}
}

/* Its sleep is over, or somebody woke it and it gets to act on that. */
static void wakeup(struct sim *sim, struct sim_task *t)
{
	if (t->asleep) {
		t->asleep = false;
		fluid_join(sim, t);
	}
	go_on(sim, t);
}

bool fluid_run(struct sim *sim, u64 until)
{
	struct event *ev;
	struct sim_task *t;

	sim_select(sim);
	while (!sim->failure) {
		while (!list_empty(&sim->fluid->changed)) {
			struct fluid_server *f =
				list_first(&sim->fluid->changed, struct fluid_server, changed_link);

			list_del(&f->changed_link);
			f->changed = false;
			set_done(sim, f);
		}
		ev = queue_pop(&sim->queue, until - 1);
		if (!ev)
			break;
		sim->now = sim->queue.time;
		if (ev->kind == EVENT_WAKEUP)
			wakeup(sim, container_of(ev, struct sim_task, wakeup));
		else
			work_done(sim, container_of(ev, struct fluid_server, done));
	}
	if (sim->failure)
		return false;
	sim->now = until;
	list_for_each(t, &sim->tasks, link)
		if (!t->asleep)
			stop(sim, t);
	return true;
}

/* --- setting up ------------------------------------------------------------------------------- */

static void set_weights(struct fluid *fluid)
{
	const u64 idle_weight = 3; /* of SCHED_IDLE, as in sched/weight.c */

	for (u32 w = 0; w < WEIGHT_IDLE; w++)
		fluid->weight[w] = sched_nice_weight((int)w - 20);
	fluid->weight[WEIGHT_IDLE] = idle_weight;
}

static u32 root_of(const u32 *parent, u32 cpu)
{
	while (parent[cpu] != cpu)
		cpu = parent[cpu];
	return cpu;
}

/* All CPUs of @mask belong together. */
static void unite(u32 *parent, const struct cpumask *mask)
{
	u32 first = cpumask_first(mask), cpu;

	for_each_cpu(cpu, mask) {
		u32 a = root_of(parent, first), b = root_of(parent, cpu);

		parent[max(a, b)] = min(a, b);
	}
}

static void make_servers(struct sim *sim, struct fluid *fluid, const struct workload *w)
{
	u32 nr_cpus = sim->config.nr_cpus, *parent = allocate(nr_cpus, sizeof(u32));
	struct cpumask all = cpumask_first_n(nr_cpus);

	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		parent[cpu] = cpu;
	for (u32 i = 0; i < w->nr_programs; i++) {
		const struct attributes *attr = &w->programs[i].attr;

		unite(parent, attr->set_affinity ? &attr->allowed : &all);
	}
	for (u32 i = 0; i < w->nr_attrs; i++)
		if (w->attrs[i].set_affinity)
			unite(parent, &w->attrs[i].allowed);
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

	list_init(&fluid->changed);
	set_weights(fluid);
	make_servers(sim, fluid, w);
	return fluid;
}

void fluid_free(struct fluid *fluid)
{
	if (!fluid)
		return;
	free(fluid->servers);
	free(fluid->server_of_cpu);
	free(fluid);
}
