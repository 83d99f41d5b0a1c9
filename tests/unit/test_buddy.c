/* SPDX-License-Identifier: GPL-2.0-only */
/* Nominations in a tree of groups: they go up from a task, and so does their end. */
#include "group.h"
#include "sched/fair/eevdf/eevdf.h"

/* Two members of a group, and a task beside the group. */
struct scene {
	struct machine *m;
	struct task_group *x;
	struct task *member[2], *other;
	struct fair_queue *root;
	struct entity *group; /* of @x */
};

static struct scene two_and_one(const char *policy)
{
	struct sched_cpu_desc desc = { 0 };
	struct scene c = { .m = machine_new_on(1, 1000, &desc, policy) };
	struct task *rt = spawn(c.m, "rt", SCHED_FIFO, 1);

	c.root = &c.m->s->rq[0].fair;
	c.x = new_group(c.m, NULL);
	for (unsigned i = 0; i < 2; i++)
		c.member[i] = spawn_in(c.m, c.x, 0);
	c.other = spawn_nice(c.m, "other", 0);
	c.group = c.member[0]->fair.queue->owner;
	assert_ptr_equal(running(c.m, 0), rt);
	block(c.m, 0, TASK_UNINTERRUPTIBLE);
	while (running(c.m, 0) == c.other)
		tick(c.m);
	return c;
}

static bool is_member(const struct scene *c, const struct task *t)
{
	return t == c->member[0] || t == c->member[1];
}

/* A member falls asleep: the group goes on, also if the other task is a little further left. */
static void under_cfs_a_sleeper_nominates_its_group(void **state)
{
	struct scene c = two_and_one("cfs");

	(void)state;
	advance(c.m, MS / 10);
	c.other->fair.vruntime = c.group->vruntime - MS / 2;
	block(c.m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(cfs_queue(c.root)->next, c.group);
	assert_true(is_member(&c, running(c.m, 0)));
	sched_check(c.m->s);
	machine_free(c.m);
}

/* The nomination lasts while the group has the CPU, to the end of its turn. */
static void the_end_of_a_turn_ends_the_nomination_of_the_group(void **state)
{
	struct scene c = two_and_one("cfs");

	(void)state;
	block(c.m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(cfs_queue(c.root)->next, c.group);
	switch_cpu(c.m, 0, true);
	assert_ptr_equal(cfs_queue(c.root)->next, c.group);
	while (is_member(&c, running(c.m, 0)))
		tick(c.m);
	assert_null(cfs_queue(c.root)->next);
	machine_free(c.m);
}

/* Nobody is left, so nobody is nominated; nor is a group that is idle, or throttled. */
static void some_groups_are_not_nominated(void **state)
{
	struct scene c = two_and_one("cfs");

	(void)state;
	assert_int_equal(task_group_set_idle(c.m->s, c.x, true), 0);
	block(c.m, 0, TASK_INTERRUPTIBLE);
	assert_null(cfs_queue(c.root)->next);
	assert_int_equal(task_group_set_idle(c.m->s, c.x, false), 0);
	while (!is_member(&c, running(c.m, 0)))
		tick(c.m);
	block(c.m, 0, TASK_INTERRUPTIBLE);
	assert_null(cfs_queue(c.root)->next);
	machine_free(c.m);
}

/* A group that is the next buddy because of a task is none any more when the task is none. */
static void a_nomination_ends_at_every_level(void **state)
{
	struct scene c = two_and_one("cfs");
	struct entity *t;

	(void)state;
	while (running(c.m, 0) != c.other)
		tick(c.m);
	t = &c.member[1]->fair;
	fair_nominate(t);
	assert_ptr_equal(cfs_queue(t->queue)->next, t);
	assert_ptr_equal(cfs_queue(c.root)->next, c.group);
	forget_buddy(t->queue, t);
	assert_null(cfs_queue(t->queue)->next);
	assert_null(cfs_queue(c.root)->next);
	/* But a nomination of the group for another reason is its own. */
	fair_nominate(c.group);
	forget_buddy(t->queue, t);
	assert_ptr_equal(cfs_queue(c.root)->next, c.group);
	machine_free(c.m);
}

/* The preempted task is the last buddy at each level; a group that stands for it is none alone. */
static void a_preempted_member_is_the_last_buddy_of_every_level(void **state)
{
	struct scene c = two_and_one("cfs");
	struct task *sleeper, *runs;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		spawn_in(c.m, c.x, 0);
	while (!is_member(&c, running(c.m, 0)))
		tick(c.m);
	sleeper = running(c.m, 0);
	block(c.m, 0, TASK_INTERRUPTIBLE);
	while (!(runs = running(c.m, 0))->fair.queue->owner)
		tick(c.m);
	sleeper->fair.vruntime = runs->fair.vruntime - 20 * MS;
	assert_true(sched_wake(c.m->s, sleeper, TASK_NORMAL, 0, 0));
	assert_ptr_equal(cfs_queue(runs->fair.queue)->last, &runs->fair);
	assert_ptr_equal(cfs_queue(c.root)->last, c.group);
	machine_free(c.m);
}

/* A task that yields is no buddy of any kind afterwards, and is passed over, at every level. */
static void who_yields_is_no_buddy(void **state)
{
	(void)state;
	for (unsigned last = 0; last < 2; last++) {
		struct scene c = two_and_one("cfs");
		struct task *t = running(c.m, 0);
		struct fair_queue *q = t->fair.queue;

		assert_true(is_member(&c, t));
		if (last)
			cfs_remember_last(&t->fair);
		else
			fair_nominate(&t->fair);
		assert_true(cfs_nominated(q, &t->fair) && cfs_nominated(c.root, c.group));
		rq_lock(&c.m->s->rq[0]);
		t->class->yield(&c.m->s->rq[0]);
		rq_unlock(&c.m->s->rq[0]);
		assert_false(cfs_nominated(q, &t->fair) || cfs_nominated(c.root, c.group));
		assert_ptr_equal(cfs_queue(q)->skip, &t->fair);
		assert_ptr_equal(cfs_queue(c.root)->skip, c.group);
		sched_check(c.m->s);
		machine_free(c.m);
	}
}

/* EEVDF: the group goes on while it is eligible, though another is due first. */
static void under_eevdf_the_group_goes_on_while_it_is_eligible(void **state)
{
	struct scene c = two_and_one("eevdf");

	(void)state;
	set_feature(c.m, "NO_RUN_TO_PARITY");
	set_feature(c.m, "NO_DELAY_DEQUEUE");
	eevdf_entity(&c.other->fair)->deadline = eevdf_entity(c.group)->deadline - MS;
	block(c.m, 0, TASK_INTERRUPTIBLE);
	assert_ptr_equal(eevdf_queue(c.root)->next, c.group);
	assert_true(is_member(&c, running(c.m, 0)));
	/* When it has had more than its share it is not, and its turn ends with the request. */
	tick(c.m);
	assert_ptr_equal(switch_cpu(c.m, 0, true), c.other);
	machine_free(c.m);
}

/* A debtor that stays queued has not left yet. It does when it is picked, and nominates then. */
static void a_delayed_sleeper_nominates_when_it_leaves(void **state)
{
	struct scene c = two_and_one("eevdf");
	struct task *sleeper = running(c.m, 0);

	(void)state;
	advance(c.m, MS / 2);
	block(c.m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(sleeper->on_rq, TASK_DELAYED);
	assert_null(eevdf_queue(c.root)->next);
	while (sleeper->on_rq == TASK_DELAYED && !eevdf_queue(c.root)->next)
		tick(c.m);
	assert_int_equal(sleeper->on_rq, TASK_OFF_RQ);
	assert_true(is_member(&c, running(c.m, 0)));
	machine_free(c.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(under_cfs_a_sleeper_nominates_its_group),
		cmocka_unit_test(the_end_of_a_turn_ends_the_nomination_of_the_group),
		cmocka_unit_test(some_groups_are_not_nominated),
		cmocka_unit_test(a_nomination_ends_at_every_level),
		cmocka_unit_test(a_preempted_member_is_the_last_buddy_of_every_level),
		cmocka_unit_test(under_eevdf_the_group_goes_on_while_it_is_eligible),
		cmocka_unit_test(a_delayed_sleeper_nominates_when_it_leaves),
		cmocka_unit_test(who_yields_is_no_buddy),
	};

	return cmocka_run_group_tests_name("buddy", tests, NULL, NULL);
}
