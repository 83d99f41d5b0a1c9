/* SPDX-License-Identifier: GPL-2.0-only */
/* Loading a program, its operations as the class calls them, and its end; see scx.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/engine/process.h"
#include "sim/engine/util.h"
#include "sim/scx/binding.h"

#define NR_DSQS 1024u

struct scx scx;

_Static_assert(offsetof(struct sched_ext_entity, slice) == offsetof(struct ext_seen, slice) &&
		       offsetof(struct sched_ext_entity, dsq_vtime) ==
			       offsetof(struct ext_seen, vtime) &&
		       offsetof(struct sched_ext_entity, weight) ==
			       offsetof(struct ext_seen, weight),
	       "the class and the program share these");

/* --- tasks ---------------------------------------------------------------- */

static struct task_struct *seen_of(const struct task *t)
{
	return t->pid > 0 && (u32)t->pid < scx.nr_tasks ? scx.task[t->pid] : NULL;
}

struct task_struct *scx_see(struct task *t)
{
	struct task_struct *p = t ? seen_of(t) : NULL;

	if (!p)
		return &scx.idle;
	p->se.sum_exec_runtime = t->fair.sum_exec;
	p->thread_info.cpu = (u32)t->cpu;
	p->recent_used_cpu = p->wake_cpu = (int)t->cpu;
	p->prio = p->normal_prio = t->prio;
	p->static_prio = t->static_prio;
	p->policy = (u32)t->policy;
	p->__state = t->state;
	p->nr_cpus_allowed = (int)t->nr_allowed;
	p->nvcsw = t->nr_voluntary;
	p->nivcsw = t->nr_involuntary;
	return p;
}

/* A task's view, which lasts for as long as the program has the task. */
struct seen {
	struct task_struct p;
	struct task *t;
};

struct task *scx_task(const struct task_struct *p)
{
	return p && p != &scx.idle ? container_of(p, struct seen, p)->t : NULL;
}

static struct ext_seen *attach(struct ext_call *c, struct task *t)
{
	struct seen *seen = allocate(1, sizeof(*seen));
	u32 pid = (u32)t->pid;

	(void)c;
	if (pid >= scx.nr_tasks) {
		u32 nr = max(2 * scx.nr_tasks, pid + 64);

		scx.task = realloc(scx.task, nr * sizeof(*scx.task));
		if (!scx.task)
			out_of_memory();
		memset(scx.task + scx.nr_tasks, 0, (nr - scx.nr_tasks) * sizeof(*scx.task));
		scx.nr_tasks = nr;
	}
	seen->t = t;
	seen->p.pid = seen->p.tgid = t->pid;
	memcpy(seen->p.comm, t->comm, sizeof(seen->p.comm));
	seen->p.flags = t->kthread ? PF_KTHREAD : 0;
	seen->p.cpus_ptr = &t->allowed;
	seen->p.real_parent = seen->p.group_leader = &seen->p;
	seen->p.start_time = scx.sim->now;
	scx.task[pid] = &seen->p;
	return (struct ext_seen *)&seen->p.scx;
}

static void detach(struct ext_call *c, struct task *t)
{
	struct task_struct *p = seen_of(t);

	(void)c;
	scx_forget_task(p);
	scx.task[t->pid] = NULL;
	free(container_of(p, struct seen, p));
}

/* --- operations ----------------------------------------------------------- */

/* Operations may come inside others, on other CPUs. */
#define CALL(c, what)                                                                              \
	do {                                                                                       \
		struct ext_call *before = scx.call;                                                \
		scx.call = (c);                                                                    \
		what;                                                                              \
		scx.call = before;                                                                 \
	} while (0)
#define OPS (scx.program->ops)

static s32 op_select_cpu(struct ext_call *c, struct task *t, s32 prev, u64 flags)
{
	s32 cpu;

	CALL(c, cpu = OPS->select_cpu(scx_see(t), prev, flags));
	return cpu;
}

static void op_enqueue(struct ext_call *c, struct task *t, u64 flags)
{
	CALL(c, OPS->enqueue(scx_see(t), flags));
}

static void op_dequeue(struct ext_call *c, struct task *t, u64 flags)
{
	CALL(c, OPS->dequeue(scx_see(t), flags));
}

static void op_dispatch(struct ext_call *c, s32 cpu, struct task *prev)
{
	CALL(c, OPS->dispatch(cpu, prev ? scx_see(prev) : NULL));
}

static void op_tick(struct ext_call *c, struct task *t)
{
	CALL(c, OPS->tick(scx_see(t)));
}

static void op_runnable(struct ext_call *c, struct task *t, u64 flags)
{
	CALL(c, OPS->runnable(scx_see(t), flags));
}

static void op_running(struct ext_call *c, struct task *t)
{
	CALL(c, OPS->running(scx_see(t)));
}

static void op_stopping(struct ext_call *c, struct task *t, bool runnable)
{
	CALL(c, OPS->stopping(scx_see(t), runnable));
}

static void op_quiescent(struct ext_call *c, struct task *t, u64 flags)
{
	CALL(c, OPS->quiescent(scx_see(t), flags));
}

static void op_yield(struct ext_call *c, struct task *t)
{
	CALL(c, OPS->yield(scx_see(t), NULL));
}

static void op_set_weight(struct ext_call *c, struct task *t, u32 weight)
{
	CALL(c, OPS->set_weight(scx_see(t), weight));
}

static void op_set_cpumask(struct ext_call *c, struct task *t, const struct cpumask *mask)
{
	CALL(c, OPS->set_cpumask(scx_see(t), mask));
}

static void op_update_idle(struct ext_call *c, s32 cpu, bool idle)
{
	CALL(c, OPS->update_idle(cpu, idle));
}

static void op_cpu_acquire(struct ext_call *c, s32 cpu)
{
	CALL(c, OPS->cpu_acquire(cpu, &(struct scx_cpu_acquire_args){ 0 }));
}

static void op_cpu_release(struct ext_call *c, s32 cpu)
{
	struct scx_cpu_release_args args = { .task = &scx.idle };

	CALL(c, OPS->cpu_release(cpu, &args));
}

static void op_cpu_online(struct ext_call *c, s32 cpu)
{
	CALL(c, OPS->cpu_online(cpu));
}

static void op_cpu_offline(struct ext_call *c, s32 cpu)
{
	CALL(c, OPS->cpu_offline(cpu));
}

static s32 op_init_task(struct ext_call *c, struct task *t, bool fork)
{
	struct scx_init_task_args args = { .fork = fork };
	s32 err;

	CALL(c, err = OPS->init_task(scx_see(t), &args));
	return err;
}

static void op_exit_task(struct ext_call *c, struct task *t)
{
	CALL(c, OPS->exit_task(scx_see(t), &(struct scx_exit_task_args){ 0 }));
}

static void op_enable(struct ext_call *c, struct task *t)
{
	CALL(c, OPS->enable(scx_see(t)));
}

static void op_disable(struct ext_call *c, struct task *t)
{
	CALL(c, OPS->disable(scx_see(t)));
}

static s32 op_init(struct ext_call *c)
{
	s32 err;

	CALL(c, err = OPS->init());
	return err;
}

static void op_exit(struct ext_call *c, const struct ext_exit *end)
{
	char dump[] = "";
	struct scx_exit_info info = { (int)end->kind, end->code, end->reason, end->message, dump };

	CALL(c, OPS->exit(&info));
}

static struct ext_ops operations(void)
{
	struct ext_ops ops = {
		.name = OPS->name,
		.flags = OPS->flags,
		.dispatch_max_batch = OPS->dispatch_max_batch,
		.timeout_ms = OPS->timeout_ms,
		.attach = attach,
		.detach = detach,
	};

#define TAKE(op) ops.op = OPS->op ? op_##op : NULL
	TAKE(select_cpu), TAKE(enqueue), TAKE(dequeue), TAKE(dispatch), TAKE(tick);
	TAKE(runnable), TAKE(running), TAKE(stopping), TAKE(quiescent), TAKE(yield);
	TAKE(set_weight), TAKE(set_cpumask), TAKE(update_idle), TAKE(cpu_acquire);
	TAKE(cpu_release), TAKE(cpu_online), TAKE(cpu_offline), TAKE(init_task);
	TAKE(exit_task), TAKE(enable), TAKE(disable), TAKE(init), TAKE(exit);
#undef TAKE
	return ops;
}

/* --- opening -------------------------------------------------------------- */

/* Sets the constant that @text, NAME=VALUE, names. */
static void set_constant(const char *file, const char *text)
{
	const char *equals = strchr(text, '=');
	const struct scx_variable *v = scx.program->constants;
	unsigned long long value;
	char *end;

	if (!equals)
		usage_error("--scx %s: %s: must be NAME=VALUE", file, text);
	while (v->name && (strlen(v->name) != (size_t)(equals - text) ||
			   strncmp(v->name, text, strlen(v->name))))
		v++;
	if (!v->name)
		usage_error("--scx %s: no constant (const volatile) is called %.*s", file,
			    (int)(equals - text), text);
	value = !strcmp(equals, "=true") ? 1 : strtoull(equals + 1, &end, 0);
	if (strcmp(equals, "=true") && strcmp(equals, "=false") && (!equals[1] || *end))
		usage_error("--scx %s: %s: not a number", file, text);
	if (v->size > sizeof(value) || (v->size < 8 && value >> 8 * v->size && ~value >> 31))
		usage_error("--scx %s: %s: has no room there", file, text);
	process_make_writable(v->address, v->size);
	memcpy(v->address, &value, v->size);
}

/* The operations and flags that the class has not. */
static void refuse(const char *file, const char *what)
{
	usage_error("--scx %s: %s needs %s, which is not there yet (docs/scx.md)", file, OPS->name,
		    what);
}

static void check_program(const char *file)
{
	if (!OPS->name || !*OPS->name)
		usage_error("--scx %s: the scheduler has no name", file);
	if (OPS->cgroup_init || OPS->cgroup_exit || OPS->cgroup_prep_move || OPS->cgroup_move ||
	    OPS->cgroup_cancel_move || OPS->cgroup_set_weight || OPS->cgroup_set_bandwidth)
		refuse(file, "operations for cgroups");
	if (OPS->flags & 0x8)
		refuse(file, "SCX_OPS_SWITCH_PARTIAL");
	if (OPS->flags & 0x40)
		refuse(file, "SCX_OPS_BUILTIN_IDLE_PER_NODE");
	if (OPS->dispatch_max_batch > EXT_BATCH_MAX)
		usage_error("--scx %s: dispatch_max_batch is %u; at most %u", file,
			    OPS->dispatch_max_batch, EXT_BATCH_MAX);
}

void scx_open(const char *spec)
{
	char *words = strdup(spec), *rest = words, *file = strsep(&rest, ","), *word;
	char path[4096];
	const char *error;

	if (scx.program)
		usage_error("--scx %s: there is a scheduler already", spec);
	/* Without a slash dlopen() would search the system's libraries. */
	snprintf(path, sizeof(path), "%s%s", strchr(file, '/') ? "" : "./", file);
	scx.program = process_load(path, "scx_program", &error);
	if (!scx.program)
		usage_error("--scx %s: %s", file, error);
	check_program(file);
	while ((word = strsep(&rest, ",")))
		set_constant(file, word);
	free(words);
}

const char *scx_name(void)
{
	return scx.program ? OPS->name : NULL;
}

/* --- on a machine --------------------------------------------------------- */

static struct ext_ops ops;

/* All tasks are fair ones again. */
static const struct ext_exit *give_back(struct sim *sim)
{
	struct sim_task *t;

	sched_ext_bypass(sim->s);
	sched_ext_leave(sim->s);
	list_for_each(t, &sim->tasks, link)
		sched_ext_settle(sim->s, &t->task);
	return sched_ext_unload(sim->s);
}

/* After each event: a scheduler that has come to its end leaves at once. */
static void watch(struct sim *sim)
{
	const struct ext_exit *end;

	if (!sched_ext_ended(sim->s))
		return;
	sim_enter(sim, 0);
	end = give_back(sim);
	fprintf(stderr,
		"schedsim: at %.3f s sched_ext: BPF scheduler \"%s\" disabled (%s)\n"
		"schedsim: sched_ext: %s: %s; all tasks are fair ones from then on\n",
		(double)(sim->now - SIM_START) / 1e9, OPS->name, end->reason, OPS->name,
		end->message);
	sim->after_event = NULL;
	sim_leave(sim);
}

void scx_load(struct sim *sim)
{
	size_t size = sched_ext_size(sim->config.nr_cpus, NR_DSQS);
	int err;

	scx.sim = sim;
	scx.memory = allocate_lines(size);
	if (!scx.memory)
		out_of_memory();
	scx.idle = (struct task_struct){ .comm = "swapper", .flags = PF_IDLE };
	prng_seed(&scx.rng, sim->config.seed);
	scx_maps_open();
	ops = operations();
	sim_enter(sim, 0);
	err = sched_ext_load(sim->s, scx.memory, NR_DSQS, &ops);
	if (err)
		usage_error("%s refuses the machine: init returned %d. %s", OPS->name, err,
			    sched_ext_refusal(scx.memory)->message);
	sim->after_event = watch;
	sim_leave(sim);
}
