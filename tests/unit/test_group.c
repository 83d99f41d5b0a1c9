/* SPDX-License-Identifier: GPL-2.0-only */
/* Task groups: the tree of queues, shares of groups, moves, averages. */
#include "group.h"
#include "lib/errno.h"
#include "sched/balance/domain.h"

/* The part of @all that @t ran since @before, per mille. */
static u64 share(struct machine *m, struct task *t, u64 before, u64 all)
{
	return (sched_task_runtime(m->s, t) - before) * 1000 / all;
}

/* Two groups of equal shares, one task against three: 50 %, and three times 16.67 %. */
static void a_group_is_worth_its_shares_however_many_it_has(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL), *y = new_group(m, NULL);
	struct task *tx, *ty[3];

	(void)state;
	tx = spawn_in(m, x, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(ty); i++)
		ty[i] = spawn_in(m, y, 0);
	run_ticks(m, 12000);
	assert_in_range(share(m, tx, 0, 12000 * MS), 499, 501);
	for (unsigned i = 0; i < ARRAY_SIZE(ty); i++)
		assert_in_range(share(m, ty[i], 0, 12000 * MS), 165, 168);
	machine_free(m);
}

/* Each level halves: A against a group of B against a group of C... */
static void nested_groups_get_products_of_their_shares(void **state)
{
	enum { DEPTH = 5 };
	struct machine *m = machine_new(1, 1000);
	struct task_group *tg = NULL;
	struct task *t[DEPTH + 1];

	(void)state;
	for (unsigned d = 0; d <= DEPTH; d++) {
		t[d] = spawn_in(m, tg, 0);
		tg = new_group(m, tg);
	}
	run_ticks(m, 64000);
	for (unsigned d = 0; d <= DEPTH; d++) {
		u64 ideal = 1000u >> min(d + 1, (unsigned)DEPTH);
		u64 got = share(m, t[d], 0, 64000 * MS);

		assert_in_range(got, ideal - 3, ideal + 5);
	}
	machine_free(m);
}

static void shares_take_effect_at_once(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL), *y = new_group(m, NULL);
	struct task *tx = spawn_in(m, x, 0), *ty = spawn_in(m, y, 0);
	u64 before;

	(void)state;
	run_ticks(m, 100);
	assert_int_equal(task_group_set_shares(m->s, x, 3072), 0);
	before = sched_task_runtime(m->s, tx);
	run_ticks(m, 8000);
	assert_in_range(share(m, tx, before, 8000 * MS), 745, 755);
	(void)ty;
	machine_free(m);
}

static void bad_parameters_change_nothing(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL);
	struct task_group_params p;

	(void)state;
	assert_int_equal(task_group_set_shares(m->s, NULL, 1024), -EINVAL);
	assert_int_equal(task_group_set_shares(m->s, x, 0), 0);
	task_group_params(x, &p);
	assert_int_equal(p.shares, SCHED_SHARES_MIN);
	assert_int_equal(task_group_set_shares(m->s, x, ~0ull), 0);
	task_group_params(x, &p);
	assert_int_equal(p.shares, SCHED_SHARES_MAX);
	assert_int_equal(task_group_set_idle(m->s, x, true), 0);
	assert_int_equal(task_group_set_shares(m->s, x, 1024), -EINVAL);
	task_group_params(x, &p);
	assert_int_equal(p.shares, 3);
	assert_int_equal(task_group_set_idle(m->s, x, false), 0);
	task_group_params(x, &p);
	assert_int_equal(p.shares, SCHED_SHARES_DEFAULT);
	end_group(m, x);
	machine_free(m);
}

/* An idle group's task does not preempt a normal one, and gives way to it at once. */
static void an_idle_group_gives_way(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL);
	struct task *idle = spawn_in(m, x, 0), *t;

	(void)state;
	settle(m);
	assert_int_equal(task_group_set_idle(m->s, x, true), 0);
	sched_check(m->s);
	assert_int_equal(m->s->rq[0].fair.tasks.nr_idle, 1);
	assert_ptr_equal(running(m, 0), idle);
	t = spawn_nice(m, "normal", 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	settle(m);
	if (running(m, 0) == idle)
		wake(m, t, 0);
	assert_ptr_equal(running(m, 0), t);
	run_ticks(m, 1000);
	assert_true(sched_task_runtime(m->s, idle) < 20 * MS);
	machine_free(m);
}

/* A task that moves, in whatever state, counts where it is, and gains no virtual time. */
static void a_task_moves_in_every_state(void **state)
{
	struct machine *m = machine_new(2, 1000);
	struct task_group *x = new_group(m, NULL), *y = new_group(m, x);
	struct task *runs = spawn_nice(m, "runs", 0), *waits = spawn_nice(m, "waits", 0);
	struct task *rt = spawn(m, "rt", SCHED_FIFO, 10), *sleeps = spawn_nice(m, "sleeps", 0);
	struct task_group *const groups[] = { x, y, NULL, y, NULL, x, NULL };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(groups); i++) {
		task_group_move(m->s, runs, groups[i]);
		task_group_move(m->s, waits, groups[i]);
		task_group_move(m->s, rt, groups[i]);
		task_group_move(m->s, sleeps, groups[i]);
		assert_ptr_equal(task_group_of(rt), groups[i]);
		settle(m);
		run_ticks(m, 5);
		if (sleeps->on_rq == TASK_OFF_RQ)
			wake(m, sleeps, 0);
		else if (running(m, sleeps->cpu) == sleeps)
			block(m, sleeps->cpu, TASK_INTERRUPTIBLE);
		sched_check(m->s);
	}
	end_group(m, y);
	end_group(m, x);
	machine_free(m);
}

/* The running task has another share now, so its CPU decides anew. */
static void a_runner_that_moves_asks_for_a_switch(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL);
	struct task *runs = spawn_nice(m, "runs", 0);

	(void)state;
	spawn_nice(m, "waits", 0);
	runs = running(m, 0);
	m->kicked[0] = false;
	task_group_move(m->s, runs, x);
	assert_true(m->kicked[0]);
	settle(m);
	task_group_move(m->s, running(m, 0), NULL);
	settle(m);
	task_group_move(m->s, runs, NULL);
	settle(m);
	end_group(m, x);
	machine_free(m);
}

/* The averages of a task that leaves go with it; those of the others stay as they were. */
static void load_moves_with_the_task(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL);
	struct fair_queue *root = &m->s->rq[0].fair, *q = group_queue(m->s, x, 0);
	struct task *t = spawn_in(m, x, 0);

	(void)state;
	run_ticks(m, 400);
	assert_in_range(q->avg.load_avg, 1015, 1024);
	assert_in_range(root->avg.load_avg, 1010, 1026);
	assert_in_range(root->avg.util_avg, 1010, 1025);
	task_group_move(m->s, t, NULL);
	assert_in_range(q->avg.load_avg, 0, 1);
	assert_in_range(q->avg.util_avg, 0, 1);
	assert_in_range(root->avg.load_avg, 1000, 1040);
	assert_in_range(root->avg.util_avg, 1000, 1040);
	assert_in_range(x->load_avg, 0, 16);
	machine_free(m);
}

/* Two saturated CPUs: the weights that result from shares (docs/sources.md: group shares). */
static void shares_divide_by_load(void **state)
{
	static const struct {
		unsigned here, there;
		u64 weight_here, weight_there;
	} golden[] = {
		{ 1, 1, 524288, 524288 },
		{ 3, 1, 786432, 262144 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = machine_new(2, 1000);
		struct task_group *x = new_group(m, NULL);
		struct cpumask cpu[2] = { cpumask_of(0), cpumask_of(1) };

		for (unsigned k = 0; k < golden[i].here + golden[i].there; k++)
			sched_set_affinity(m->s, spawn_in(m, x, 0), &cpu[k >= golden[i].here]);
		settle(m);
		run_ticks(m, 1000);
		assert_in_range(x->cpu[0].entity.load.weight, golden[i].weight_here * 98 / 100,
				golden[i].weight_here * 102 / 100);
		assert_in_range(x->cpu[1].entity.load.weight, golden[i].weight_there * 98 / 100,
				golden[i].weight_there * 102 / 100);
		machine_free(m);
	}
}

static void update_locked(struct fair_queue *q)
{
	host_lock(&q->rq->lock);
	group_update_entity(q->owner);
	host_unlock(&q->rq->lock);
}

/* The same from given averages: of the queue here, and of all queues of the group. */
static void shares_follow_from_averages(void **state)
{
	static const struct {
		u64 shares, load_avg_here, load_avg, weight;
	} golden[] = {
		{ 1024, 0, 0, 1048576 },		   /* a new group, with nothing elsewhere */
		{ 15 * 1024, 1024, 8 * 1024, 1920 << 10 }, /* one of eight busy CPUs */
		{ 1024, 512, 1536, 524288 },		   /* its average here has not caught up, */
		{ 1024, 1024, 1536, 699050 }, /* so the other CPU's part is too large */
		{ 1024, 0, 1ull << 40, 2 },   /* at least 2 */
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct machine *m = machine_new(1, 1000);
		struct task_group *x = new_group(m, NULL);
		struct fair_queue *q = group_queue(m->s, x, 0);

		spawn_in(m, x, 0);
		assert_int_equal(task_group_set_shares(m->s, x, golden[i].shares), 0);
		q->avg.load_avg = q->load_contrib = golden[i].load_avg_here;
		x->load_avg = golden[i].load_avg;
		update_locked(q);
		assert_int_equal(q->owner->load.weight, golden[i].weight);
		machine_free(m);
	}
}

/*
 * Four tasks have slices within 6 ms: half of it for the single task of one group, a sixth for each
 * of the others.
 */
static void slices_divide_level_by_level(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL), *y = new_group(m, NULL);
	struct task *t[] = { spawn_in(m, x, 0), spawn_in(m, y, 0), spawn_in(m, y, 0),
			     spawn_in(m, y, 0) };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++) {
		struct entity *e = &t[i]->fair;

		assert_int_equal(e->queue->policy->slice(e->queue, e), i ? 999999 : 2999997);
	}
	machine_free(m);
}

/* root load 1536, the group's entity 512, its queue 2048, the task 1024: 255 of the CPU's load. */
static void load_of_a_member_as_its_cpu_feels_it(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL);
	struct task *t = spawn_in(m, x, 0);

	(void)state;
	x->cpu[0].entity.avg.load_avg = 512;
	x->cpu[0].queue.avg.load_avg = 2048;
	t->fair.avg.load_avg = 1024;
	assert_int_equal(task_load(t), 255);
	machine_free(m);
}

static void usage_is_what_members_used(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL), *y = new_group(m, x);
	struct task_group_stat sx, sy;
	struct task *ty = spawn_in(m, y, 0);

	(void)state;
	spawn_in(m, x, 0);
	run_ticks(m, 1000);
	task_group_stat(m->s, x, &sx);
	task_group_stat(m->s, y, &sy);
	assert_in_range(sx.usage_ns, 998 * MS, 1000 * MS);
	assert_int_equal(sy.usage_ns, sched_task_runtime(m->s, ty));
	/* Up to now, not to the last tick. */
	advance(m, MS / 2);
	task_group_stat(m->s, x, &sy);
	assert_int_equal(sy.usage_ns - sx.usage_ns, MS / 2);
	task_group_stat(m->s, NULL, &sx);
	advance(m, MS / 4);
	task_group_stat(m->s, NULL, &sy);
	assert_int_equal(sy.usage_ns - sx.usage_ns, MS / 4);
	machine_free(m);
}

/*
 * Two groups share a CPU. Each waits while the other runs; a sleeping or throttled group does not
 * wait.
 */
static void a_group_that_left_has_waited_what_it_waited(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL);
	struct task_group_stat before, after;
	struct task *t = spawn_in(m, x, 0);

	(void)state;
	spawn_nice(m, "other", 0);
	run_ticks(m, 1000);
	while (running(m, 0) != t)
		tick(m);
	task_group_stat(m->s, x, &before);
	assert_in_range(before.wait_sum_ns, 490 * MS, 520 * MS);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 100 * MS);
	task_group_stat(m->s, x, &after);
	assert_int_equal(after.wait_sum_ns, before.wait_sum_ns);
	machine_free(m);
}

static void wait_sum_is_time_queued_and_not_running(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL), *y = new_group(m, NULL);
	struct task_group_stat sx, sy;

	(void)state;
	spawn_in(m, x, 0);
	spawn_in(m, y, 0);
	run_ticks(m, 1000);
	task_group_stat(m->s, x, &sx);
	task_group_stat(m->s, y, &sy);
	assert_in_range(sx.wait_sum_ns, sy.usage_ns - MS, sy.usage_ns);
	assert_in_range(sy.wait_sum_ns, sx.usage_ns - MS, sx.usage_ns);
	assert_false(sx.schedstats);
	assert_int_equal(task_group_set_bandwidth(m->s, x, MS, 1000 * MS, 0, true), 0);
	settle(m);
	run_ticks(m, 100);
	task_group_stat(m->s, x, &sx);
	run_ticks(m, 100);
	task_group_stat(m->s, x, &sy);
	assert_int_equal(sx.wait_sum_ns, sy.wait_sum_ns);
	set_tunable(m, "sched_schedstats", "1");
	task_group_stat(m->s, x, &sx);
	assert_true(sx.schedstats);
	machine_free(m);
}

/* One level further down: when the task leaves both groups, the load of neither stays behind. */
static void load_leaves_all_levels(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *outer = new_group(m, NULL), *inner = new_group(m, outer);
	struct fair_queue *root = &m->s->rq[0].fair, *q = group_queue(m->s, outer, 0);
	struct task *t = spawn_in(m, inner, 0);

	(void)state;
	run_ticks(m, 400);
	assert_in_range(root->avg.load_avg, 1010, 1026);
	task_group_move(m->s, t, NULL);
	assert_in_range(q->avg.load_avg, 0, 1);
	assert_in_range(q->avg.util_avg, 0, 1);
	assert_in_range(root->avg.load_avg, 1000, 1040);
	assert_in_range(root->avg.util_avg, 1000, 1040);
	assert_in_range(root->avg.runnable_avg, 1000, 1040);
	/* And back: at once it is as busy as before. */
	task_group_move(m->s, t, inner);
	assert_in_range(q->avg.load_avg, 1000, 1040);
	assert_in_range(q->avg.util_avg, 1000, 1040);
	assert_in_range(root->avg.load_avg, 1000, 1040);
	assert_in_range(root->avg.util_avg, 1000, 1040);
	machine_free(m);
}

/* To the group's sum, which all CPUs write: only what changed by more than a 64th. */
static void small_changes_of_load_are_not_passed_on(void **state)
{
	static const struct {
		u64 before, now;
		bool passed;
	} cases[] = {
		{ 6400, 6500, false }, { 6400, 6501, true }, { 6400, 6300, false },
		{ 6400, 6299, true },  { 0, 0, false },	     { 0, 1, true },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine *m = machine_new(1, 1000);
		struct task_group *x = new_group(m, NULL);
		struct fair_queue *q = group_queue(m->s, x, 0);

		spawn_in(m, x, 0);
		q->load_contrib = cases[i].before;
		q->avg.load_avg = cases[i].now;
		x->load_avg = 10000;
		update_locked(q);
		assert_int_equal(x->load_avg - 10000,
				 cases[i].passed ? cases[i].now - cases[i].before : 0);
		assert_int_equal(q->load_contrib, cases[i].passed ? cases[i].now : cases[i].before);
		machine_free(m);
	}
}

/* @load is that of @q at @ns; is it told to the group? Averages stand still meanwhile. */
static bool is_told(struct fair_queue *q, u64 ns, u64 load)
{
	q->rq->clock = q->avg.last_update = q->owner->avg.last_update = ns;
	q->avg.load_avg = load;
	update_locked(q);
	return q->load_contrib == load;
}

/* As often as it changes by Linux 6.1's rule, once in a millisecond by 6.12's. */
static void load_is_passed_on_as_often_as_its_kernel_does(void **state)
{
	static const struct {
		const char *policy;
		bool limited;
	} cases[] = {
		{ "cfs", false },  { "bore-cfs", false }, { "fdl", false },
		{ "eevdf", true }, { "bore", true },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sched_cpu_desc desc = { 0 };
		struct machine *m = machine_new_on(1, 1000, &desc, cases[i].policy);
		struct task_group *x = new_group(m, NULL);
		struct fair_queue *q = group_queue(m->s, x, 0);
		u64 start = m->now + 10 * MS;
		bool at_once = !cases[i].limited;

		spawn_in(m, x, 0);
		assert_true(is_told(q, start, 3000));
		assert_int_equal(is_told(q, start + 1, 6000), at_once);
		assert_int_equal(is_told(q, start + MS - 1, 9000), at_once);
		assert_true(is_told(q, start + MS, 12000));
		/* A change that is too small does not begin the wait anew. */
		assert_false(is_told(q, start + 2 * MS, 12001));
		assert_true(is_told(q, start + 2 * MS + 1, 15000));
		assert_int_equal(x->load_avg, 15000);
		machine_free(m);
	}
}

static void a_groups_weight_is_that_of_its_shares_at_once(void **state)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL);

	(void)state;
	spawn_in(m, x, 0);
	assert_int_equal(task_group_set_shares(m->s, x, 4096), 0);
	assert_int_equal(x->cpu[0].entity.load.weight >> WEIGHT_SHIFT, 4096);
	machine_free(m);
}

/* How far a group's virtual time goes when @shares are set 5 ms after it was last charged. */
static u64 charged_by_new_shares(u64 shares)
{
	struct machine *m = machine_new(1, 1000);
	struct task_group *x = new_group(m, NULL);
	struct entity *e = &x->cpu[0].entity;
	u64 before, charged;

	spawn_in(m, x, 0);
	tick(m);
	before = e->vruntime;
	advance(m, 5 * MS);
	assert_int_equal(task_group_set_shares(m->s, x, shares), 0);
	charged = e->vruntime - before;
	machine_free(m);
	return charged;
}

/* Time before the change counts by the old shares. */
static void new_shares_count_from_now_on(void **state)
{
	(void)state;
	assert_int_equal(charged_by_new_shares(10240), 5 * MS);
}

/* Nobody is even charged, however often they are set. */
static void the_same_shares_change_nothing(void **state)
{
	(void)state;
	assert_int_equal(charged_by_new_shares(SCHED_SHARES_DEFAULT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_moves_in_every_state),
		cmocka_unit_test(a_group_is_worth_its_shares_however_many_it_has),
		cmocka_unit_test(nested_groups_get_products_of_their_shares),
		cmocka_unit_test(shares_take_effect_at_once),
		cmocka_unit_test(bad_parameters_change_nothing),
		cmocka_unit_test(an_idle_group_gives_way),
		cmocka_unit_test(a_runner_that_moves_asks_for_a_switch),
		cmocka_unit_test(load_moves_with_the_task),
		cmocka_unit_test(shares_divide_by_load),
		cmocka_unit_test(shares_follow_from_averages),
		cmocka_unit_test(slices_divide_level_by_level),
		cmocka_unit_test(load_of_a_member_as_its_cpu_feels_it),
		cmocka_unit_test(usage_is_what_members_used),
		cmocka_unit_test(a_group_that_left_has_waited_what_it_waited),
		cmocka_unit_test(wait_sum_is_time_queued_and_not_running),
		cmocka_unit_test(load_leaves_all_levels),
		cmocka_unit_test(small_changes_of_load_are_not_passed_on),
		cmocka_unit_test(load_is_passed_on_as_often_as_its_kernel_does),
		cmocka_unit_test(a_groups_weight_is_that_of_its_shares_at_once),
		cmocka_unit_test(new_shares_count_from_now_on),
		cmocka_unit_test(the_same_shares_change_nothing),
	};

	return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
