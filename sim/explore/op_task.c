/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on tasks, and by them; see op.def. */
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "sim/explore/op.h"

/* --- what an operation's numbers mean --- */

struct subject *find_subject(struct world *w, unsigned from, bool (*fits)(const struct subject *))
{
	for (unsigned i = 0; i < w->nr_tasks; i++) {
		struct subject *x = &w->subject[(from + i) % w->nr_tasks];

		if (fits(x))
			return x;
	}
	return NULL;
}

static bool is_free(const struct subject *x)
{
	return !x->t;
}

/* Nobody finds a task before sched_task_fork() is done with it. */
bool is_alive(const struct subject *x)
{
	return x->t && x->state != UNBORN;
}

static bool is_wakeable(const struct subject *x)
{
	return x->t && (x->state == ANNOUNCED || x->state == ASLEEP);
}

/* Any subset, the empty one included; mostly not. */
static u64 subset(const struct world *w, u32 arg)
{
	struct prng rng;

	if (arg % 8 == 0)
		return world_cpus(w);
	if (arg % 4 == 0)
		return BIT(arg / 8 % w->shape.nr_cpus);
	prng_seed(&rng, arg);
	return prng_u64(&rng) & world_cpus(w);
}

/* --- operations on tasks ---------------------------------------------------------------------- */

/* reset_on_fork: real time and a nice value below 0 are privileges that end with the parent. */
static struct sched_attr_req inherited(const struct sched_attr_req *parent)
{
	struct sched_attr_req attr = *parent;

	attr.reset_on_fork = false;
	if (!parent->reset_on_fork)
		return attr;
	attr.nice = sched_policy_info(parent->policy).nice ? max(parent->nice, 0) : 0;
	if (!sched_policy_info(parent->policy).nice)
		attr.policy = SCHED_NORMAL;
	attr.rt_priority = 0;
	attr.slice_ns = 0;
	return attr;
}

static void do_fork(struct world *w, const struct op *op, unsigned cpu)
{
	struct subject *parent = world_running(w, cpu), *x = find_subject(w, op->task, is_free);
	int pid = x ? (int)(x - w->subject) + 1 : 0;
	u64 allowed = subset(w, op->arg / 16);
	struct task *t;

	if (!x)
		return;
	if (parent && !sched_task_forks(&parent->t->task)) {
		EXPECT(parent == w->undecided ||
		       (parent->attr.policy == SCHED_DEADLINE && !parent->attr.reset_on_fork));
		return;
	}
	*x = (struct subject){
		.t = sim_task_new(w->sim, "task"),
		.state = UNBORN,
		.attr = parent ? inherited(&parent->attr) : (struct sched_attr_req){ .nice = 0 },
		.group = parent ? parent->group : ROOT,
		.allowed = parent ? parent->allowed : world_home(w),
	};
	EXPECT(x->t);
	t = &x->t->task;
	if (parent)
		sched_task_fork(w->sim->s, &parent->t->task, t, pid, op->arg / 4 % 4);
	else
		sched_task_init(w->sim->s, t, pid, "first");
	x->state = AWAKE;
	if (parent && parent == w->undecided)
		sched_get_attr(t, &x->attr);
	if (op->arg % 4 == 1 && allowed & w->online) {
		/* Before it starts, as clone() followed by an attribute call might. */
		struct cpumask mask = world_mask(allowed);
		u64 before = x->allowed;
		int err;

		x->allowed = allowed; /* before, for questions inside the call */
		err = sched_set_affinity(w->sim->s, t, &mask);
		/* A change inside this fork may have given it a deadline. */
		EXPECT(!err || (err == -EBUSY && t->policy == SCHED_DEADLINE));
		if (err)
			x->allowed = before;
	}
	sim_enter(w->sim, cpu);
	sim_start(w->sim, x->t);
}

static void do_exit(struct world *w, unsigned cpu)
{
	struct subject *x = world_running(w, cpu);
	struct sim_task *t;

	if (!x)
		return;
	/* It is awake, to do it. */
	sched_unblock(&x->t->task);
	t = x->t;
	x->state = DYING;
	sched_task_ends(w->sim->s, cpu);
	sched_task_exit(w->sim->s, cpu);
	world_switch(w, cpu, false);
	EXPECT(sched_current(w->sim->s, cpu) != &t->task);
	x->t = NULL;
	/* Poison the task, to expose stale pointers to it; its threads may still use it. */
	if (!t->task.family.nr_threads)
		memset(&t->task, 0x5a, sizeof(t->task));
}

static void announce(struct world *w, unsigned cpu, bool uninterruptible)
{
	struct subject *x = world_running(w, cpu);

	if (!x)
		return;
	sched_block(&x->t->task, uninterruptible ? TASK_UNINTERRUPTIBLE : TASK_INTERRUPTIBLE);
	x->state = ANNOUNCED;
}

static void cancel(struct world *w, unsigned cpu)
{
	struct subject *x = world_running(w, cpu);

	if (!x || x->state != ANNOUNCED)
		return;
	sched_unblock(&x->t->task);
	x->state = AWAKE;
}

static void exec(struct world *w, unsigned cpu)
{
	struct subject *x = world_running(w, cpu);
	struct task *leader;

	if (!x)
		return;
	leader = x->t->task.family.leader;
	if (leader != &x->t->task && leader->family.ended && leader->family.nr_threads == 1)
		sched_task_lead(w->sim->s, &x->t->task);
	sim_enter(w->sim, cpu);
	sched_task_exec(w->sim->s, cpu);
}

static bool descends(const struct task *t, const struct task *from)
{
	while (t && t != from)
		t = t->family.leader ? t->family.leader->family.parent : NULL;
	return t;
}

/* A process must not become its own ancestor. */
static void reparent(struct world *w, struct subject *x, u32 arg)
{
	struct subject *parent = arg % 4 ? find_subject(w, arg / 4 % w->nr_tasks, is_alive) : NULL;
	struct task *to = parent ? parent->t->task.family.leader : NULL;

	if (x && !(to && descends(to, &x->t->task)))
		sched_task_reparent(w->sim->s, &x->t->task, to);
}

static void query(struct world *w, struct subject *x, unsigned cpu)
{
	static char text[1 << 16];
	struct sched *s = w->sim->s;
	struct cpumask mask;
	u64 allowed;

	EXPECT(sched_dump_cpu(s, cpu, text, sizeof(text)) < sizeof(text));
	EXPECT(sched_dump_schedstat(s, text, sizeof(text)));
	if (!x)
		return;
	EXPECT(sched_dump_task(s, &x->t->task, text, sizeof(text)) < sizeof(text));
	world_learn_allowed(w, x);
	allowed = x->allowed;
	sched_get_affinity(s, &x->t->task, &mask);
	EXPECT(mask.bits[0] == (allowed & w->online));
	EXPECT(sched_rr_interval(s, &x->t->task) % w->sim->tick_ns == 0);
	EXPECT(sched_task_runtime(s, &x->t->task) == x->ran_ns);
}

static void yield(struct world *w, unsigned cpu)
{
	struct subject *x = world_running(w, cpu);

	if (x && x->state == ANNOUNCED)
		return;
	sched_yield(w->sim->s, cpu);
	world_switch(w, cpu, false);
}

static void wake(struct world *w, struct subject *x, unsigned cpu, unsigned flags)
{
	bool expected = x && is_wakeable(x);

	if (!x)
		return;
	if (expected)
		x->state = AWAKE;
	sim_enter(w->sim, cpu);
	EXPECT(sim_wake(w->sim, x->t, flags) == expected);
}

/* One of the policies without deadlines, drawn by @number; not SCHED_EXT. */
static int policy_without_deadline(u32 number)
{
	int found[POLICY_LIMIT];
	u32 nr = 0;

	for (int policy = 0; policy < POLICY_LIMIT; policy++) {
		struct sched_policy_info info = sched_policy_info(policy);

		if (info.name && !info.deadline && policy != SCHED_EXT)
			found[nr++] = policy;
	}
	return found[number % nr];
}

static void set_attr(struct world *w, struct subject *x, u32 arg, bool nice_only)
{
	static const u64 slices[] = { 0, 1, 100000, 1000000, 3000000, 100 * NS_PER_MS, ~0ull };
	struct sched_policy_info info;
	struct sched_attr_req req;

	if (!x || (nice_only && sched_policy_info(x->attr.policy).deadline))
		return;
	req = x->attr;
	if (!nice_only)
		req.policy = policy_without_deadline(arg / 40);
	/* The fair class takes it for SCHED_NORMAL, and may not have it. */
	if (!nice_only && req.policy == SCHED_NORMAL && arg / 280000 % 2)
		req.policy = SCHED_EXT;
	info = sched_policy_info(req.policy);
	if (!nice_only) {
		req.rt_priority = info.priority ? 1 + (int)(arg / 200 % 99) : 0;
		req.reset_on_fork = arg / 20000 % 2;
	}
	/* Real time keeps nice value and slice for when it is fair again. */
	if (info.nice) {
		req.nice = (int)(arg % 40) - 20;
		if (!nice_only)
			req.slice_ns = slices[arg / 40000 % ARRAY_SIZE(slices)];
	}
	x->attr = req;
	if (req.slice_ns)
		x->attr.slice_ns = max(min(req.slice_ns, 100 * NS_PER_MS), NS_PER_MS / 10);
	EXPECT(sched_set_attr(w->sim->s, &x->t->task, &req) == 0);
}

static u64 bandwidth(const struct sched_attr_req *attr)
{
	return attr->policy == SCHED_DEADLINE ? (attr->runtime_ns << 20) / attr->period_ns : 0;
}

static s64 tunable(struct world *w, const char *name)
{
	char text[32];

	EXPECT(sched_tunable_read(w->sim->s, name, text, sizeof(text)) > 0);
	return strtoll(text, NULL, 10);
}

/* The CPUs may give what all tasks together are promised. One that ends gives its part back. */
static void check_promises(struct world *w)
{
	s64 runtime = tunable(w, "sched_rt_runtime_us"), period = tunable(w, "sched_rt_period_us");
	u64 promised = 0;

	for (unsigned i = 0; i < w->nr_tasks; i++)
		promised += w->subject[i].t && w->subject[i].state != DYING
				    ? bandwidth(&w->subject[i].attr)
				    : 0;
	EXPECT(runtime < 0 ||
	       promised <= ((u64)runtime << 20) / (u64)period *
				   (u64)__builtin_popcountll(w->online & world_home(w)));
}

static void set_deadline(struct world *w, struct subject *x, u32 arg)
{
	static const u32 periods_us[] = { 50, 200, 1000, 4000, 10000, 33333, 100000, 5000000 };
	static const u8 percents[] = { 1, 5, 10, 20, 40, 70, 100, 101 };
	struct subject *outer = w->undecided;
	bool not_alone = w->nr_inner;
	struct sched_attr_req req;
	int err;

	if (!x)
		return;
	req = x->attr;
	req.policy = SCHED_DEADLINE;
	req.rt_priority = 0;
	req.reset_on_fork = arg / 4096 % 2;
	req.period_ns = periods_us[arg % 8] * NS_PER_US;
	req.deadline_ns = req.period_ns / 4 * (arg / 64 % 8 < 5 ? 4 : arg / 64 % 4 + 1);
	req.runtime_ns = req.deadline_ns * percents[arg / 8 % 8] / 100;
	w->deadlines = true;
	w->undecided = x;
	err = sched_set_attr(w->sim->s, &x->t->task, &req);
	w->undecided = outer;
	/* If another change was done inside this one, which of them came last? */
	if (not_alone)
		sched_get_attr(&x->t->task, &x->attr);
	else if (!err)
		x->attr = req;
	EXPECT(!err || err == -EINVAL || err == -EPERM || err == -EBUSY);
	EXPECT(err == -EINVAL || (req.runtime_ns >= 1024 && req.runtime_ns <= req.deadline_ns));
	/* The sum of all promises is known when no change is under way. */
	if (!err && !outer)
		check_promises(w);
}

static void set_affinity(struct world *w, struct subject *x, u64 bits)
{
	struct cpumask mask = world_mask(bits);

	if (!x)
		return;
	if (bits & w->online && x->t->task.policy == SCHED_DEADLINE &&
	    w->online & world_home(w) & ~bits && tunable(w, "sched_rt_runtime_us") >= 0) {
		EXPECT(sched_set_affinity(w->sim->s, &x->t->task, &mask) == -EBUSY);
		return;
	}
	if (bits & w->online)
		x->allowed = bits; /* before, for the events of its move */
	EXPECT(sched_set_affinity(w->sim->s, &x->t->task, &mask) ==
	       (bits & w->online ? 0 : -EINVAL));
}

/* Performs an operation of @cpu's current task. */
void do_current(struct world *w, const struct op *op, unsigned cpu)
{
	switch ((enum op_kind)op->kind) {
	case OP_fork:
		do_fork(w, op, cpu);
		break;
	case OP_exit:
		do_exit(w, cpu);
		break;
	case OP_block:
		announce(w, cpu, op->arg % 2);
		if (world_running(w, cpu))
			world_switch(w, cpu, false);
		break;
	case OP_announce:
		announce(w, cpu, op->arg % 2);
		break;
	case OP_cancel:
		cancel(w, cpu);
		break;
	case OP_yield:
		yield(w, cpu);
		break;
	case OP_exec:
		exec(w, cpu);
		break;
	default:
		break;
	}
}

/* Performs an operation on a task. */
void do_task(struct world *w, const struct op *op, unsigned cpu)
{
	struct subject *x = find_subject(w, op->task, is_alive);

	switch ((enum op_kind)op->kind) {
	case OP_wake:
		wake(w, find_subject(w, op->task, is_wakeable), cpu, 0);
		break;
	case OP_wake_sync:
		wake(w, find_subject(w, op->task, is_wakeable), cpu, WAKE_SYNC);
		break;
	case OP_wake_any:
		wake(w, x, cpu, 0);
		break;
	case OP_nice:
		set_attr(w, x, op->arg, true);
		break;
	case OP_attr:
		set_attr(w, x, op->arg, false);
		break;
	case OP_deadline:
		set_deadline(w, x, op->arg);
		break;
	case OP_reparent:
		reparent(w, x, op->arg);
		break;
	case OP_query:
		query(w, x, cpu);
		break;
	case OP_affinity:
		set_affinity(w, x, subset(w, op->arg));
		break;
	default:
		break;
	}
}
