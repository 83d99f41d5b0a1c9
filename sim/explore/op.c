/* SPDX-License-Identifier: GPL-2.0-only */
/* The operations of op.def on a machine under test (world.h), and their text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"
#include "sim/engine/plugin.h"
#include "sim/explore/judge.h"
#include "sim/explore/op.h"

const char *const op_name[NR_OPS] = {
#define OP(name, text) [OP_##name] = #name,
#include "sim/explore/op.def"
#undef OP
};

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

/* The name of tunable @i, modulo their number. The last are those of clamps: set_clamp(). */
static const char *tunable_name(u32 i)
{
	static const char *names[256]; /* looked up once: a walk is not quick */
	static unsigned nr;
	const struct sched_tunable_info *info;

	if (!nr)
		for_each_tunable(info)
		{
			if (!strncmp(info->name, "sched_util_clamp", 16))
				break;
			names[nr++] = info->name;
		}
	return names[i % nr];
}

/* A refused value changes nothing. */
static void set_tunable(struct world *w, u32 arg)
{
	static const char *const values[] = { "0",	 "1",	     "2",	   "3",	 "12",
					      "100",	 "10000",    "750000",	   "",	 "3000000",
					      "8000000", "24000000", "4000000000", "-1", "5x" };
	const char *value = values[arg / 256 % ARRAY_SIZE(values)];
	const char *name = tunable_name(arg % 256);
	char before[64], after[64];
	int status;

	EXPECT(sched_tunable_read(w->sim->s, name, before, sizeof(before)) > 0);
	status = sched_tunable_write(w->sim->s, name, value, strlen(value));
	EXPECT(sched_tunable_read(w->sim->s, name, after, sizeof(after)) > 0);
	w->debts = true;
	/* Less for real time than is admitted. */
	if (status == -EBUSY && (w->deadlines || sched_fair_has(w->sim->s, TRAIT_FAIR_SERVER)) &&
	    !strncmp(name, "sched_rt_", 9))
		status = -EINVAL;
	EXPECT(status == 0 || (status == -EINVAL && !strcmp(before, after)));
}

/* The same for the fair server of a CPU. */
static void set_server(struct world *w, u32 arg)
{
	static const char *const values[] = { "0",	   "1000",	 "100000",     "20000000",
					      "50000000",  "300000000",	 "1000000000", "3000000000",
					      "200000000", "5000000000", "-1",	       "5x" };
	const char *value = values[arg / 256 % ARRAY_SIZE(values)];
	unsigned cpu = arg % w->shape.nr_cpus, file = arg / 64 % 2;
	char before[64], after[64];
	int err;

	EXPECT(sched_fair_server_read(w->sim->s, cpu, file, before, sizeof(before)) > 0);
	err = sched_fair_server_write(w->sim->s, cpu, file, value, strlen(value));
	EXPECT(sched_fair_server_read(w->sim->s, cpu, file, after, sizeof(after)) > 0);
	EXPECT(!err || ((err == -EINVAL || err == -EBUSY) && !strcmp(before, after)));
}

static void swap(struct world *w, u32 arg, unsigned cpu)
{
	unsigned nr = 0;
	int err;

	while (policy_name(nr))
		nr++;
	sim_enter(w->sim, cpu);
	err = sched_fair_swap(w->sim->s, policy_name(arg % nr), cpu);
	if (err == -EBUSY && w->deadlines && !sched_fair_has(w->sim->s, TRAIT_FAIR_SERVER))
		return; /* its servers find no room beside what is admitted */
	EXPECT(!err);
	EXPECT(!strcmp(sched_fair_current(w->sim->s), policy_name(arg % nr)));
}

static void skew(struct world *w, unsigned cpu, u64 ns)
{
	w->sim->cpus[cpu].skew_ns += ns;
	world_account(w, cpu, ns);
}

/*
 * Time passes for the sleepers until their vruntime is nearly 2^63 behind, beside a light runner. A
 * running task has ticks in between, so no single charge is longer than a few weeks. Where
 * deadlines decide, the one that ran may run again, and its charges add up: there they are hours.
 */
static void far_sleep(struct world *w, u32 arg)
{
	bool hours = sched_fair_has(w->sim->s, TRAIT_FAST_VTIME) ||
		     sched_fair_has(w->sim->s, TRAIT_DEADLINES);

	w->debts = true;
	world_pass(w, (u64)(1 + arg % 40) * (hours ? 1200 : 86400) * NS_PER_SEC);
	world_tick(w);
}

/* Energy decides where CPUs differ and all are under `schedutil`: by chance that would be rare. */
static void place_by_energy(struct world *w, bool yes)
{
	for (unsigned cpu = 0; cpu < w->shape.nr_cpus; cpu++)
		EXPECT(!sched_freq_govern(w->sim->s, cpu, "schedutil"));
	EXPECT(!sched_tunable_write(w->sim->s, "sched_energy_aware", yes ? "1" : "0", 1));
}

/* A governor by its number; at other times, a frequency that may be none. */
static void set_speed(struct world *w, u32 arg, unsigned cpu)
{
	static const u32 mhz[] = { 300, 500, 600, 800, 1000, 900 };
	struct sched_freq_stat before, after;
	unsigned nr = 0;
	int err;

	if (!w->shape.opp)
		return;
	if (w->shape.opp == WORLD_TWO_TYPES && arg >> 30 == SPEED_BY_ENERGY >> 30) {
		place_by_energy(w, arg % 4);
		return;
	}
	while (sched_governor_name(nr))
		nr++;
	sched_freq_stat(w->sim->s, cpu, &before);
	if (arg % 2)
		err = sched_freq_govern(w->sim->s, cpu, sched_governor_name(arg / 2 % nr));
	else
		err = sched_freq_set(w->sim->s, cpu, mhz[arg / 2 % ARRAY_SIZE(mhz)]);
	sched_freq_stat(w->sim->s, cpu, &after);
	EXPECT(err == 0 || (err == -EINVAL && !(arg % 2)));
	EXPECT(after.energy >= before.energy);
}

/* A boost, perhaps over 100; at other times, a task's group. */
static void set_boost(struct world *w, struct subject *x, u32 arg)
{
	unsigned group = w->tune[arg / 2 % ARRAY_SIZE(w->tune)];
	u64 boost = arg / 8 % 120;

	if (!w->shape.opp)
		return;
	if (arg % 2)
		EXPECT(sched_tune_boost(w->sim->s, group, boost) == (boost > 100 ? -EINVAL : 0));
	else if (x)
		EXPECT(!sched_tune_move(w->sim->s, &x->t->task, arg / 4 % 2 ? group : 0));
}

/* A task asks for clamps, perhaps for such as are refused; not one whose bandwidth is admitted. */
static void clamp_task(struct world *w, struct subject *x, u32 least, u32 most, u32 which)
{
	bool alone = !w->nr_inner; /* else an operation in between may ask for others */
	struct sched_attr_req req, after;
	int err;

	if (!x || x->attr.policy == SCHED_DEADLINE)
		return;
	sched_get_attr(&x->t->task, &req);
	const u32 asked[] = { which & 1 ? least : req.util[0], which & 2 ? most : req.util[1] };

	req.clamps = which;
	memcpy(req.util, (u32[]){ least, most }, sizeof(req.util));
	err = sched_set_attr(w->sim->s, &x->t->task, &req);
	sched_get_attr(&x->t->task, &after);
	EXPECT(err == 0 || err == -EINVAL);
	for (u32 i = 0; i < 2; i++)
		EXPECT(err || !alone || asked[i] == SCHED_CLAMP_RESET || after.util[i] == asked[i]);
	if (alone && asked[0] <= asked[1] && asked[1] <= 1024)
		EXPECT(!err);
}

/* The clamps of a task, a group or all. */
static void set_clamp(struct world *w, const struct op *op)
{
	static const u32 values[] = { 0,   1,	50,  51,   101,	 102,  300,
				      512, 800, 999, 1023, 1024, 1025, SCHED_CLAMP_RESET };
	static const char *const names[] = { "sched_util_clamp_min", "sched_util_clamp_max",
					     "sched_util_clamp_min_rt_default" };
	u32 arg = op->arg / 4, value = values[arg / 4 % ARRAY_SIZE(values)];
	struct task_group *tg = w->group[arg / 1024 % ARRAY_SIZE(w->group)].tg;
	char text[16];
	int err;

	switch (op->arg % 4) {
	case 0:
		if (!tg)
			break;
		err = task_group_set_clamp(w->sim->s, tg, (enum sched_clamp)(arg % 2), value);
		EXPECT(err == (value > 1024 ? -EINVAL : 0));
		break;
	case 1:
		snprintf(text, sizeof(text), "%d", (int)value);
		err = sched_tunable_write(w->sim->s, names[arg % 3], text, strlen(text));
		EXPECT(err == 0 || err == -EINVAL);
		EXPECT(err || value <= 1024);
		break;
	default:
		clamp_task(w, find_subject(w, op->task, is_alive), value,
			   values[arg / 64 % ARRAY_SIZE(values)], arg % 4);
	}
}

/* --- performing ------------------------------------------------------------------------------- */

/* Performs an operation on the machine. */
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
		if ((op->arg >> 16) % 8 == 7)
			set_server(w, op->arg);
		else
			set_tunable(w, op->arg);
		break;
	case OP_swap:
		swap(w, op->arg, cpu);
		break;
	case OP_control:
		world_tick(w);
		sched_fdl_control(w->sim->s);
		break;
	case OP_speed:
		if (op->arg >> 31)
			set_speed(w, op->arg, cpu);
		else if (op->arg >> 30 && w->shape.opp)
			set_clamp(w, op);
		else
			set_boost(w, find_subject(w, op->task, is_alive), op->arg);
		break;
	case OP_ext:
		do_ext(w, op->arg);
		break;
	case OP_cpu_off:
		world_cpu_off(w, op->arg % w->shape.nr_cpus);
		break;
	case OP_cpu_on:
		world_cpu_on(w, op->arg % w->shape.nr_cpus);
		break;
	default:
		break;
	}
}

static void perform(struct world *w, const struct op *op, unsigned cpu)
{
	sim_enter(w->sim, cpu);
	do_current(w, op, cpu);
	do_task(w, op, cpu);
	do_group(w, op);
	do_machine(w, op, cpu);
}

/*
 * May another CPU do @op during @w->outer? The host serialises what changes the tree of groups and
 * the settings, and keeps a task's memory while somebody works on it. Time would pass for a task
 * that has stopped running without being charged for it.
 */
static bool may_be_inside(const struct world *w, const struct op *op)
{
	if (w->outer->kind == OP_cpu_off || w->outer->kind == OP_cpu_on)
		return false;
	switch ((enum op_kind)op->kind) {
	case OP_exit:
	case OP_tick:
	case OP_time:
	case OP_skew:
	case OP_far_sleep:
	case OP_control:
	case OP_cpu_off:
	case OP_cpu_on:
		return false;
	case OP_feature:
	case OP_tunable:
	case OP_swap:
	case OP_group_new:
	case OP_group_exit:
	case OP_group_move:
	case OP_group_shares:
	case OP_group_idle:
	case OP_group_quota:
	case OP_group_deadline:
	case OP_group_guaranteed:
	case OP_speed:
	case OP_ext:
		return w->outer->kind < OP_feature;
	default:
		return w->online & (w->online - 1);
	}
}

static bool is_in_between(const struct world *w, const struct task *t)
{
	return t == ext_moving() || t->on_rq == TASK_MIGRATING || t->state == TASK_WAKING ||
	       (t->on_rq == TASK_OFF_RQ && sched_current(w->sim->s, t->cpu) == t);
}

/* A task between runqueues, or asleep but still on its stack: that is where surprises are. */
static u8 prefer_in_between(const struct world *w, u8 place)
{
	for (unsigned i = 0; i < w->nr_tasks; i++)
		if (w->subject[i].t && is_in_between(w, &w->subject[i].t->task))
			return (u8)i;
	return place;
}

static void be_inside(struct sim_listener *listener, struct sim *sim);

/* Start waiting for the moment of w->inner, @passed of its unlocks being over. */
static void await_inner(struct world *w, unsigned passed)
{
	bool wait = w->nr_inner && may_be_inside(w, w->inner);

	w->unlocks_left = wait ? w->inner->inside - passed : 0;
	w->listener.unlocked = wait ? be_inside : NULL;
}

/* Called where no lock is held. */
static void be_inside(struct sim_listener *listener, struct sim *sim)
{
	struct world *w = container_of(listener, struct world, listener);
	unsigned outer_cpu = sim->this_cpu;

	if (w->unlocks_left && --w->unlocks_left)
		return;
	while (listener->unlocked && !w->unlocks_left) {
		unsigned cpu = world_online_cpu(w, w->inner->cpu);
		struct op op = *w->inner++;

		w->nr_inner--;
		listener->unlocked = NULL;
		op.task = prefer_in_between(w, op.task);
		judge_queues(sim->s);
		w->is_inside = true;
		perform(w, &op, cpu == outer_cpu ? world_online_cpu(w, cpu + 1) : cpu);
		w->is_inside = false;
		sim->this_cpu = outer_cpu;
		await_inner(w, 1);
	}
}

void world_do(struct world *w, const struct op *op, unsigned nr_inner)
{
	w->outer = op;
	w->inner = op + 1;
	w->nr_inner = nr_inner;
	await_inner(w, 0);
	perform(w, op, world_online_cpu(w, op->cpu));
	w->listener.unlocked = NULL;
	for (; w->nr_inner; w->nr_inner--, w->inner++) {
		judge_queues(w->sim->s);
		perform(w, w->inner, world_online_cpu(w, w->inner->cpu));
	}
	ext_after_op(w);
	if (!op->late)
		world_settle(w);
	ext_after_op(w);
	world_check(w);
}

/* --- text ------------------------------------------------------------------------------------- */

void op_print(const struct op *op, char text[static OP_TEXT])
{
	char numbers[32] = "", inside[8] = "";

	if (op->arg)
		snprintf(numbers, sizeof(numbers), ".%u.%u.%u", op->cpu, op->task, op->arg);
	else if (op->task)
		snprintf(numbers, sizeof(numbers), ".%u.%u", op->cpu, op->task);
	else if (op->cpu)
		snprintf(numbers, sizeof(numbers), ".%u", op->cpu);
	if (op->inside)
		snprintf(inside, sizeof(inside), "^%u", op->inside);
	snprintf(text, OP_TEXT, "%s%s%s%s", op_name[op->kind], numbers, inside,
		 op->late ? "~" : "");
}

/* A decimal number up to @most at *@at, which moves behind it. */
static bool parse_number(const char **at, unsigned long most, unsigned long *number)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*number = strtoul(*at, &end, 10);
	*at = end;
	return *number <= most;
}

bool op_parse(struct op *op, const char *word)
{
	size_t length = strcspn(word, ".^~");
	unsigned long number[3] = { 0 }, inside = 0;
	const char *at = word + length;
	bool late;

	for (unsigned i = 0; *at == '.' && i < 3; i++) {
		at++;
		if (!parse_number(&at, i < 2 ? UINT8_MAX : UINT32_MAX, &number[i]))
			return false;
	}
	if (*at == '^') {
		at++;
		if (!parse_number(&at, UINT8_MAX, &inside))
			return false;
	}
	late = *at == '~';
	if (at[late])
		return false;
	for (unsigned kind = 0; kind < NR_OPS; kind++) {
		if (strlen(op_name[kind]) != length || strncmp(op_name[kind], word, length))
			continue;
		*op = (struct op){
			.kind = (u8)kind,
			.cpu = (u8)number[0],
			.task = (u8)number[1],
			.arg = (u32)number[2],
			.inside = (u8)inside,
			.late = late,
		};
		return true;
	}
	return false;
}
