/* The operations of op.def on a machine under test (world.h), and their text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "world.h"

const char *const op_name[NR_OPS] = {
#define OP(name, text) [OP_##name] = #name,
#include "op.def"
#undef OP
};

/* --- what an operation's numbers mean --- */

/* The first from the @from-th on that fits, round the end; NULL if none does. */
static struct subject *find(struct world *w, unsigned from, bool (*fits)(const struct subject *))
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

static bool is_alive(const struct subject *x)
{
	return x->t;
}

static bool is_wakeable(const struct subject *x)
{
	return x->t && x->state != AWAKE;
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
	attr.nice = task_is_fair_policy(parent->policy) ? max(parent->nice, 0) : 0;
	if (!task_is_fair_policy(parent->policy))
		attr.policy = SCHED_NORMAL;
	attr.rt_priority = 0;
	return attr;
}

static void do_fork(struct world *w, const struct op *op, unsigned cpu)
{
	struct subject *parent = world_running(w, cpu), *x = find(w, op->task, is_free);
	int pid = x ? (int)(x - w->subject) + 1 : 0;
	u64 allowed = subset(w, op->arg / 16);
	struct task *t;

	if (!x)
		return;
	*x = (struct subject){
		.t = sim_task_new(w->sim, "task"),
		.group = parent ? parent->group : ROOT,
		.allowed = world_cpus(w),
	};
	EXPECT(x->t);
	t = &x->t->task;
	if (parent) {
		sched_task_fork(w->sim->s, &parent->t->task, t, pid, op->arg / 4 % 4);
		x->allowed = parent->allowed;
	} else {
		sched_task_init(w->sim->s, t, pid, "first");
	}
	if (op->arg % 4 == 1 && allowed) {
		/* Before it starts, as clone() followed by an attribute call might. */
		struct cpumask mask = world_mask(allowed);

		EXPECT(!sched_set_affinity(w->sim->s, t, &mask));
		x->allowed = allowed;
	}
	x->attr = parent ? inherited(&parent->attr) : (struct sched_attr_req){ .nice = 0 };
	sim_enter(w->sim, cpu);
	sim_start(w->sim, x->t);
}

static void do_exit(struct world *w, unsigned cpu)
{
	struct subject *x = world_running(w, cpu);
	struct sim_task *t;

	if (!x)
		return;
	t = x->t;
	sched_task_exit(w->sim->s, cpu);
	world_switch(w, cpu, false);
	EXPECT(sched_current(w->sim->s, cpu) != &t->task);
	x->t = NULL;
	/* Whoever still has a pointer to it is to find out, except for the threads it led. */
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
	bool expected = x && x->state != AWAKE;

	if (!x)
		return;
	x->state = AWAKE;
	sim_enter(w->sim, cpu);
	EXPECT(sim_wake(w->sim, x->t, flags) == expected);
}

static void set_attr(struct world *w, struct subject *x, u32 arg, bool nice_only)
{
	static const int policies[] = { SCHED_NORMAL, SCHED_FIFO, SCHED_RR, SCHED_BATCH,
					SCHED_IDLE };
	struct sched_attr_req req;

	if (!x)
		return;
	req = x->attr;
	req.nice = (int)(arg % 40) - 20;
	if (!nice_only) {
		req.policy = policies[arg / 40 % ARRAY_SIZE(policies)];
		req.rt_priority = task_is_fair_policy(req.policy) ? 0 : 1 + (int)(arg / 200 % 99);
		req.reset_on_fork = arg / 20000 % 2;
	}
	EXPECT(sched_set_attr(w->sim->s, &x->t->task, &req) == 0);
	if (!task_is_fair_policy(req.policy))
		req.nice = x->attr.nice; /* kept for when it is fair again */
	x->attr = req;
}

static void set_affinity(struct world *w, struct subject *x, u64 bits)
{
	struct cpumask mask = world_mask(bits);

	if (!x)
		return;
	if (bits)
		x->allowed = bits; /* before, for the events of its move */
	EXPECT(sched_set_affinity(w->sim->s, &x->t->task, &mask) == (bits ? 0 : -EINVAL));
}

/* --- operations on the machine ---------------------------------------------------------------- */

static void set_feature(struct world *w, u32 arg)
{
	char text[1024], *word, *rest = text;
	unsigned nr = 0, chosen;

	EXPECT(sched_features_read(w->sim->s, text, sizeof(text)) < (int)sizeof(text));
	for (const char *c = text; *c; c++)
		nr += *c == ' ';
	chosen = arg % nr;
	do
		word = strsep(&rest, " ");
	while (chosen--);
	if (strncmp(word, "NO_", 3)) {
		char negated[80];

		snprintf(negated, sizeof(negated), "NO_%s", word);
		EXPECT(!sched_features_write(w->sim->s, negated, strlen(negated)));
	} else {
		EXPECT(!sched_features_write(w->sim->s, word + 3, strlen(word + 3)));
	}
}

/* A refused value changes nothing. */
static void set_tunable(struct world *w, u32 arg)
{
	static const char *const values[] = { "0",	 "1",	     "2",	   "3",	 "12",
					      "100",	 "10000",    "750000",	   "",	 "3000000",
					      "8000000", "24000000", "4000000000", "-1", "5x" };
	const char *value = values[arg / 256 % ARRAY_SIZE(values)];
	char before[64], after[64];
	unsigned nr = 0;
	int status;

	while (sched_tunable(nr))
		nr++;
	const char *name = sched_tunable(arg % 256 % nr)->name;

	EXPECT(sched_tunable_read(w->sim->s, name, before, sizeof(before)) > 0);
	status = sched_tunable_write(w->sim->s, name, value, strlen(value));
	EXPECT(sched_tunable_read(w->sim->s, name, after, sizeof(after)) > 0);
	w->debts = true;
	EXPECT(status == 0 || (status == -EINVAL && !strcmp(before, after)));
}

static void swap(struct world *w, u32 arg, unsigned cpu)
{
	unsigned nr = 0;

	while (sched_fair_name(nr))
		nr++;
	sim_enter(w->sim, cpu);
	EXPECT(sched_fair_swap(w->sim->s, sched_fair_name(arg % nr), cpu) == 0);
	EXPECT(!strcmp(sched_fair_current(w->sim->s), sched_fair_name(arg % nr)));
}

static void skew(struct world *w, unsigned cpu, u64 ns)
{
	w->sim->cpus[cpu].skew_ns += ns;
	world_account(w, cpu, ns);
}

/*
 * Time passes for the sleepers until their vruntime is nearly 2^63 behind, beside a light runner. A
 * running task has ticks in between, so no single charge is longer than a few weeks.
 */
static void far_sleep(struct world *w, u32 arg)
{
	/* There a task's virtual time may run 68 times as fast as under the others. */
	bool fast = !strcmp(sched_fair_current(w->sim->s), "bore-cfs");

	w->debts = true;
	world_pass(w, (u64)(1 + arg % 40) * (fast ? 1200 : 86400) * NS_PER_SEC);
	world_tick(w);
}

/* --- operations on groups ------------------------------------------------- */

static s32 find_group(const struct world *w, unsigned from, bool used)
{
	for (unsigned i = 0; i < WORLD_GROUPS; i++) {
		unsigned place = (from + i) % WORLD_GROUPS;

		if (!w->group[place].tg == !used)
			return (s32)place;
	}
	return ROOT;
}

static void group_new(struct world *w, const struct op *op)
{
	s32 place = find_group(w, op->task, false);
	s32 parent = op->arg % 3 ? ROOT : find_group(w, op->arg / 3 % WORLD_GROUPS, true);
	size_t bytes = ALIGN_UP(sched_group_size(w->sim->s), 64ul);
	struct task_group *tg;

	if (place == ROOT)
		return;
	tg = aligned_alloc(64, bytes);
	EXPECT(tg);
	memset(tg, 0, bytes);
	sched_group_init(w->sim->s, tg, parent == ROOT ? NULL : w->group[parent].tg);
	w->group[place] = (struct group_subject){ .tg = tg, .parent = parent };
	sched_group_params(tg, &w->group[place].params);
	EXPECT(w->group[place].params.shares == SCHED_SHARES_DEFAULT);
}

static void group_exit(struct world *w, const struct op *op)
{
	s32 place = find_group(w, op->task, true);

	if (place == ROOT)
		return;
	for (unsigned i = 0; i < w->nr_tasks; i++)
		if (w->subject[i].t && w->subject[i].group == place)
			return;
	for (unsigned i = 0; i < WORLD_GROUPS; i++)
		if (w->group[i].tg && w->group[i].parent == place)
			return;
	sched_group_exit(w->sim->s, w->group[place].tg);
	memset(w->group[place].tg, 0x5a, sched_group_size(w->sim->s));
	free(w->group[place].tg);
	w->group[place].tg = NULL;
}

static void group_move(struct world *w, struct subject *x, u32 arg)
{
	s32 to = arg % 4 ? find_group(w, arg / 4 % WORLD_GROUPS, true) : ROOT;

	if (!x)
		return;
	x->group = to;
	sched_group_move(w->sim->s, &x->t->task, to == ROOT ? NULL : w->group[to].tg);
}

static void set_shares(struct world *w, struct group_subject *g, u32 arg)
{
	static const u64 shares[] = { 1024, 2, 3, 100, 512, 2048, 10000, 262144, 0, 1ull << 40 };
	u64 wanted = shares[arg % ARRAY_SIZE(shares)];

	EXPECT(sched_group_set_shares(w->sim->s, g->tg, wanted) == (g->params.idle ? -EINVAL : 0));
	if (!g->params.idle)
		g->params.shares =
			min(max(wanted, SCHED_SHARES_MIN + 0ull), SCHED_SHARES_MAX + 0ull);
}

static void set_idle(struct world *w, struct group_subject *g, bool idle)
{
	EXPECT(!sched_group_set_idle(w->sim->s, g->tg, idle));
	if (g->params.idle != idle)
		g->params.shares = idle ? 3 : SCHED_SHARES_DEFAULT;
	g->params.idle = idle;
}

/* What is refused changes nothing. */
static void set_quota(struct world *w, struct group_subject *g, u32 arg)
{
	static const u64 quotas[] = { 10 * NS_PER_MS, SCHED_QUOTA_NONE, NS_PER_MS,
				      50 * NS_PER_MS, 300 * NS_PER_MS,	1000 };
	static const u64 periods[] = { 100 * NS_PER_MS, NS_PER_MS, 10 * NS_PER_MS, NS_PER_SEC, 0 };
	u64 quota_ns = quotas[arg % ARRAY_SIZE(quotas)];
	u64 period_ns = periods[arg / 8 % ARRAY_SIZE(periods)];
	u64 burst_ns = arg / 64 % 2 && quota_ns != SCHED_QUOTA_NONE ? quota_ns / 2 : 0;
	int status = sched_group_set_bandwidth(w->sim->s, g->tg, quota_ns, period_ns, burst_ns,
					       arg / 128 % 2);

	EXPECT(status == 0 || status == -EINVAL);
	if (status)
		return;
	g->params.quota_ns = quota_ns;
	g->params.period_ns = period_ns;
	g->params.burst_ns = burst_ns;
}

static void group_set(struct world *w, const struct op *op)
{
	s32 place = find_group(w, op->task, true);
	struct sched_group_params now;
	struct group_subject *g;

	if (place == ROOT)
		return;
	g = &w->group[place];
	if (op->kind == OP_group_shares)
		set_shares(w, g, op->arg);
	else if (op->kind == OP_group_idle)
		set_idle(w, g, op->arg % 2);
	else
		set_quota(w, g, op->arg);
	sched_group_params(g->tg, &now);
	EXPECT(now.shares == g->params.shares && now.idle == g->params.idle);
	EXPECT(now.quota_ns == g->params.quota_ns && now.period_ns == g->params.period_ns);
	EXPECT(now.burst_ns == g->params.burst_ns);
}

static void do_group(struct world *w, const struct op *op)
{
	switch ((enum op_kind)op->kind) {
	case OP_group_new:
		group_new(w, op);
		break;
	case OP_group_exit:
		group_exit(w, op);
		break;
	case OP_group_move:
		group_move(w, find(w, op->task, is_alive), op->arg);
		break;
	case OP_group_shares:
	case OP_group_idle:
	case OP_group_quota:
		group_set(w, op);
		break;
	default:
		break;
	}
}

/* --- performing ------------------------------------------------------------------------------- */

/* What the current task of @cpu does. */
static void do_current(struct world *w, const struct op *op, unsigned cpu)
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
		if (world_running(w, cpu)) {
			sim_enter(w->sim, cpu);
			sched_task_exec(w->sim->s, cpu);
		}
		break;
	default:
		break;
	}
}

/* What is done to a task. */
static void do_task(struct world *w, const struct op *op, unsigned cpu)
{
	struct subject *x = find(w, op->task, is_alive);

	switch ((enum op_kind)op->kind) {
	case OP_wake:
		wake(w, find(w, op->task, is_wakeable), cpu, 0);
		break;
	case OP_wake_sync:
		wake(w, find(w, op->task, is_wakeable), cpu, WAKE_SYNC);
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
	case OP_affinity:
		set_affinity(w, x, subset(w, op->arg));
		break;
	default:
		break;
	}
}

/* What happens to the machine. */
static void do_machine(struct world *w, const struct op *op, unsigned cpu)
{
	switch ((enum op_kind)op->kind) {
	case OP_tick:
		world_tick(w);
		break;
	case OP_tick_one:
		world_tick_cpu(w, cpu);
		break;
	case OP_time:
		world_pass(w, 1 + op->arg % 3000000);
		break;
	case OP_kick:
		world_switch(w, cpu, true);
		break;
	case OP_skew:
		skew(w, cpu, op->arg % 20000);
		break;
	case OP_far_sleep:
		far_sleep(w, op->arg);
		break;
	case OP_feature:
		set_feature(w, op->arg);
		break;
	case OP_tunable:
		set_tunable(w, op->arg);
		break;
	case OP_swap:
		swap(w, op->arg, cpu);
		break;
	default:
		break;
	}
}

void world_do(struct world *w, const struct op *op)
{
	unsigned cpu = op->cpu % w->shape.nr_cpus;

	sim_enter(w->sim, cpu);
	do_current(w, op, cpu);
	do_task(w, op, cpu);
	do_group(w, op);
	do_machine(w, op, cpu);
	if (!op->late)
		world_settle(w);
	world_check(w);
}

/* --- text ------------------------------------------------------------------------------------- */

void op_print(const struct op *op, char text[static OP_TEXT])
{
	char numbers[40] = "";

	if (op->arg)
		snprintf(numbers, sizeof(numbers), ".%u.%u.%u", op->cpu, op->task, op->arg);
	else if (op->task)
		snprintf(numbers, sizeof(numbers), ".%u.%u", op->cpu, op->task);
	else if (op->cpu)
		snprintf(numbers, sizeof(numbers), ".%u", op->cpu);
	snprintf(text, OP_TEXT, "%s%s%s", op_name[op->kind], numbers, op->late ? "~" : "");
}

bool op_parse(struct op *op, const char *word)
{
	size_t length = strcspn(word, ".~");
	const char *at = word + length;
	unsigned long number[3] = { 0 };
	char *end;

	for (unsigned i = 0; *at == '.' && i < 3; i++) {
		number[i] = strtoul(at + 1, &end, 10);
		if (end == at + 1 || number[i] > UINT32_MAX || (i < 2 && number[i] > UINT8_MAX))
			return false;
		at = end;
	}
	if (strcmp(at, "") && strcmp(at, "~"))
		return false;
	for (unsigned kind = 0; kind < NR_OPS; kind++) {
		if (strlen(op_name[kind]) != length || strncmp(op_name[kind], word, length))
			continue;
		*op = (struct op){ (u8)kind, (u8)number[0], (u8)number[1], *at == '~',
				   (u32)number[2] };
		return true;
	}
	return false;
}
