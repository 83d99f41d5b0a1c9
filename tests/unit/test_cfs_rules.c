/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rules of CFS one at a time, each hook called alone: what a run seldom shows, because in most
 * runs two rules agree. test_cfs.c has the golden numbers and whole traces.
 */
#include "cfs.h"
#include "group.h"
#include "sched/group.h"
#include "sched/observe/decision.h"

/* A runs beside B, and both are level. C sleeps: a test may place it as if it were new. */
struct pair {
	struct machine *m;
	struct fair_queue *q;
	struct entity *a, *b, *c;
	u64 slice;
};

static struct pair pair_new(int nice)
{
	struct machine *m = flat_machine(1000);
	struct task *a, *b, *c = spawn_nice(m, "C", 0);
	struct pair p = { .m = m, .q = queue(m), .c = &c->fair };

	block(m, 0, TASK_INTERRUPTIBLE);
	a = spawn_nice(m, "A", nice);
	b = spawn_nice(m, "B", 0);
	p.a = &a->fair;
	p.b = &b->fair;
	assert_task(running(m, 0), a);
	p.slice = m->s->fair_policy->slice(p.q, p.a);
	return p;
}

/* Does the turn of A end at a tick after @ran ns, with A @lead ns to the right of B? */
static bool ends_after(struct pair *p, u64 ran, u64 lead)
{
	p->a->sum_exec = p->a->prev_sum_exec + ran;
	p->a->vruntime = p->b->vruntime + lead;
	p->q->rule = RULE_slice;
	return p->q->hooks->tick_expired(p->q, p->a);
}

#define ASSERT_ENDS(p, ran, lead)                                                                  \
	do {                                                                                       \
		if (!ends_after(p, ran, lead))                                                     \
			fail_msg("the turn goes on, where it should end: it ran %lu ns of %lu, "   \
				 "and is %lu ns ahead",                                            \
				 (u64)(ran), (p)->slice, (u64)(lead));                             \
	} while (0)
#define ASSERT_GOES_ON(p, ran, lead)                                                               \
	do {                                                                                       \
		if (ends_after(p, ran, lead))                                                      \
			fail_msg("the turn ended, where it should go on: it ran %lu ns of %lu, "   \
				 "and is %lu ns ahead",                                            \
				 (u64)(ran), (p)->slice, (u64)(lead));                             \
	} while (0)

/* --- the end of a turn ---------------------------------------------------- */

static void a_turn_ends_with_its_slice_or_far_ahead_after_a_granularity(void **state)
{
	struct pair p = pair_new(0);

	(void)state;
	ASSERT_GOES_ON(&p, p.slice, 0);
	ASSERT_ENDS(&p, p.slice + 1, 0);
	ASSERT_GOES_ON(&p, 749999, p.slice + 1);
	ASSERT_ENDS(&p, 750000, p.slice + 1);
	ASSERT_GOES_ON(&p, 750000, p.slice);
	machine_free(p.m);
}

static u64 five_ms(struct fair_queue *q, struct entity *e)
{
	(void)q;
	(void)e;
	return 5 * MS;
}

static void a_slice_is_that_of_the_queues_policy(void **state)
{
	struct pair p = pair_new(0);
	const struct fair_policy *cfs = p.q->policy;
	struct fair_policy other = *cfs;

	(void)state;
	other.slice = five_ms;
	p.q->policy = &other;
	p.slice = 5 * MS;
	ASSERT_GOES_ON(&p, p.slice, p.slice);
	ASSERT_ENDS(&p, p.slice + 1, 0);
	ASSERT_ENDS(&p, MS, p.slice + 1);
	p.q->policy = cfs;
	machine_free(p.m);
}

static const char *name_of(u8 rule)
{
	static const char *const names[] = {
#define RULE(number, name, text) [number] = #name,
		DECISION_RULES(RULE)
#undef RULE
	};

	return rule < ARRAY_SIZE(names) ? names[rule] : "?";
}

static void assert_rule(struct pair *p, u64 ran, u64 lead, u8 right)
{
	bool ended = ends_after(p, ran, lead);

	if (p->q->rule != right)
		fail_msg("the turn %s after %lu ns of %lu, %lu ns ahead, and the reason given "
			 "is RULE_%s, where RULE_%s is right",
			 ended ? "ended" : "went on", ran, p->slice, lead, name_of(p->q->rule),
			 name_of(right));
}

static void a_tick_says_by_which_rule_it_decided(void **state)
{
	struct pair p = pair_new(0);

	(void)state;
	assert_rule(&p, p.slice + 1, 0, RULE_slice);
	assert_rule(&p, 749999, p.slice + 1, RULE_ran_too_little);
	assert_rule(&p, 750000, p.slice + 1, RULE_slice_ahead);
	assert_rule(&p, 750000, 0, RULE_slice_ahead);
	machine_free(p.m);
}

static void who_used_up_its_slice_is_no_longer_nominated(void **state)
{
	struct pair p = pair_new(0);

	(void)state;
	cfs_queue(p.q)->next = p.a;
	ASSERT_ENDS(&p, p.slice, p.slice + 1);
	if (cfs_queue(p.q)->next != p.a)
		fail_msg("the turn ended for a lead, not with its slice, and A is not "
			 "nominated any more");
	ASSERT_ENDS(&p, p.slice + 1, 0);
	if (cfs_queue(p.q)->next)
		fail_msg("the turn ended with its slice, and A is still nominated: "
			 "forget_buddy()");
	machine_free(p.m);
}

/* At nice 5 a slice of 1.479 ms is 4.521 ms of virtual time. */
static void a_lead_is_compared_with_the_slice_in_real_time(void **state)
{
	struct pair p = pair_new(5);

	(void)state;
	assert_int_equal(p.slice, 1479028);
	ASSERT_ENDS(&p, MS, p.slice + 1);
	ASSERT_GOES_ON(&p, MS, p.slice);
	machine_free(p.m);
}

static void a_slice_shorter_than_the_granularity_ends_a_turn(void **state)
{
	struct pair p = pair_new(0);

	(void)state;
	set_feature(p.m, "NO_BASE_SLICE");
	set_tunable(p.m, "latency_ns", "1000000");
	p.slice = p.m->s->fair_policy->slice(p.q, p.a);
	assert_true(p.slice < 500000);
	ASSERT_ENDS(&p, p.slice + 1, 0);
	ASSERT_GOES_ON(&p, p.slice, p.slice + 1);
	machine_free(p.m);
}

/* --- placement ------------------------------------------------------------ */

/* Where the policy places a new task whose parent is at @parent; both ns from min_vruntime. */
static s64 place_new(struct pair *p, u64 parent)
{
	p->c->vruntime = 0;
	p->a->vruntime = cfs_queue(p->q)->min_vruntime + parent;
	p->m->s->rq[0].need_resched = RESCHED_NONE;
	p->q->hooks->place(p->q, p->c, PLACE_NEW);
	return (s64)p->c->vruntime;
}

static void assert_child_at(struct pair *p, u64 parent, s64 right)
{
	struct rq *rq = &p->m->s->rq[0];
	s64 at;

	host_lock(&rq->lock);
	at = place_new(p, parent);
	host_unlock(&rq->lock);
	if (at != right)
		fail_msg("the child of a parent at %lu was placed at %ld, where %ld is right "
			 "(ns from min_vruntime)",
			 parent, at, right);
}

static void a_child_waits_for_its_debit_or_its_parent(void **state)
{
	struct pair p = pair_new(0);

	(void)state;
	assert_child_at(&p, 0, 0);
	assert_child_at(&p, 5 * MS, 5 * MS);
	set_feature(p.m, "START_DEBIT");
	assert_child_at(&p, 0, 1999999);
	assert_child_at(&p, MS, 1999999);
	assert_child_at(&p, 5 * MS, 5 * MS); /* not in addition to the debit */
	machine_free(p.m);
}

static void a_child_that_runs_first_asks_for_a_switch(void **state)
{
	struct pair p = pair_new(0);

	(void)state;
	set_tunable(p.m, "sched_child_runs_first", "1");
	set_feature(p.m, "START_DEBIT");
	assert_child_at(&p, MS, MS);
	if (v_of(container_of(p.a, struct task, fair)) - QUEUE_START < 0)
		fail_msg("the parent was not moved");
	if (!p.m->s->rq[0].need_resched)
		fail_msg("the child has the parent's place, and nobody asked for a switch: "
			 "resched()");
	assert_child_at(&p, 5 * MS, 5 * MS);
	if (p.m->s->rq[0].need_resched)
		fail_msg("the parent is not left of the child, and a switch was asked for");
	p.q->curr = NULL; /* no parent runs here, so no place can be exchanged */
	cfs_place_new(p.q, p.c, 2 * MS);
	p.q->curr = p.a;
	if (p.c->vruntime != 2 * MS)
		fail_msg("no parent runs, and the child does not have the place of its debit");
	machine_free(p.m);
}

static void who_never_ran_here_is_no_long_sleeper(void **state)
{
	struct pair p = pair_new(0);
	u64 right = cfs_queue(p.q)->min_vruntime + 20 * MS;

	(void)state;
	p.q->rq->clock += 365ull * 86400 * NS_PER_SEC;
	p.c->exec_start = 0;
	p.c->vruntime = right;
	p.q->hooks->place(p.q, p.c, ENQUEUE_WAKEUP);
	if (p.c->vruntime != right)
		fail_msg("exec_start is 0, and still it was placed as after a sleep of a year");
	machine_free(p.m);
}

/* Where @e is placed that slept since @asleep, by the clock of its CPU, and was at @own. */
static u64 wakes_at(struct pair *p, struct entity *e, u64 asleep, u64 own)
{
	e->exec_start = asleep;
	e->vruntime = own;
	p->q->hooks->place(p->q, e, ENQUEUE_WAKEUP);
	return e->vruntime;
}

/* The clock of the CPU is not that of the machine here: it was read before, and is what counts. */
static void a_sleep_is_too_long_if_longer_than_the_longest(void **state)
{
	const u64 longest = (1ull << 62) / 512;
	struct pair p = pair_new(0);
	u64 v = cfs_queue(p.q)->min_vruntime, now = p.q->rq->clock += 2 * longest;

	(void)state;
	set_feature(p.m, "NO_GENTLE_FAIR_SLEEPERS");
	if (wakes_at(&p, p.c, now - longest, v + 20 * MS) != v + 20 * MS)
		fail_msg("it slept for longest_sleep_ns, not longer, and lost its own vruntime");
	if (wakes_at(&p, p.c, now - longest - 1, v + 20 * MS) != v - 6 * MS)
		fail_msg("it slept longer than longest_sleep_ns, and was not placed at its credit");
	machine_free(p.m);
}

static void an_idle_group_has_the_credit_of_an_idle_task(void **state)
{
	struct pair p = pair_new(0);
	struct task_group *tg = new_group(p.m, NULL);
	u64 v = cfs_queue(p.q)->min_vruntime;
	s64 credit;

	(void)state;
	set_feature(p.m, "NO_GENTLE_FAIR_SLEEPERS");
	set_tunable(p.m, "idle_min_granularity_ns", "100000");
	assert_int_equal(task_group_set_idle(p.m->s, tg, true), 0);
	credit = (s64)(v - wakes_at(&p, &tg->cpu[0].entity, 1, v - 20 * MS));
	if (credit != 750000)
		fail_msg("a group of SCHED_IDLE has a credit of %ld ns, where "
			 "min_granularity_ns is right: 750000",
			 credit);
	machine_free(p.m);
}

/* --- the queue's time ------------------------------------------------------ */

static void who_runs_but_is_not_queued_holds_no_time_back(void **state)
{
	struct pair p = pair_new(0);

	(void)state;
	p.b->vruntime += 5 * MS;
	p.a->queued = false; /* it falls asleep, and has not left the CPU */
	p.q->hooks->charge(p.q, p.a, MS);
	if (cfs_queue(p.q)->min_vruntime != p.b->vruntime)
		fail_msg("A is not queued, and still min_vruntime is %ld ns left of B, the first",
			 (s64)(p.b->vruntime - cfs_queue(p.q)->min_vruntime));
	p.a->queued = true;
	machine_free(p.m);
}

static void who_runs_left_of_all_leads_the_time(void **state)
{
	struct pair p = pair_new(0);

	(void)state;
	p.b->vruntime += 5 * MS;
	for (unsigned charge = 1; charge <= 3; charge++) {
		p.q->hooks->charge(p.q, p.a, MS);
		if (cfs_queue(p.q)->min_vruntime != p.a->vruntime)
			fail_msg("A runs left of B, and min_vruntime is %ld ns right of A",
				 (s64)(cfs_queue(p.q)->min_vruntime - p.a->vruntime));
	}
	machine_free(p.m);
}

/* More than the granularity, in the virtual time of the woken one; and more than nothing. */
static void who_leads_by_more_than_the_granularity_preempts(void **state)
{
	static const struct {
		int nice; /* of the woken one; 88761 is the weight of -20, 15 that of 19 */
		u32 granularity;
		u64 enough; /* 1 + granularity * 1024 / weight */
	} golden[] = {
		{ 0, 0, 1 },	 { 0, 1, 2 },	{ 0, 2, 3 },	{ 0, 1000000, 1000001 },
		{ -20, 0, 1 },	 { -20, 1, 1 }, { -20, 86, 1 }, { -20, 87, 2 },
		{ -20, 174, 3 }, { 19, 0, 1 },	{ 19, 3, 205 },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++)
		for (s64 off = -1; off <= 1; off++) {
			struct pair p = pair_new(golden[i].nice);
			s64 lead = (s64)golden[i].enough + off;
			bool preempts;

			p.m->s->tunable.wakeup_granularity_ns = golden[i].granularity;
			p.a->vruntime = p.b->vruntime - (u64)lead;
			preempts = p.q->hooks->preempts(p.q, p.b, p.a, 0);
			assert_int_equal(preempts, off >= 0);
			assert_ptr_equal(cfs_queue(p.q)->next, preempts ? p.a : NULL);
			machine_free(p.m);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_ends_with_its_slice_or_far_ahead_after_a_granularity),
		cmocka_unit_test(a_slice_is_that_of_the_queues_policy),
		cmocka_unit_test(a_tick_says_by_which_rule_it_decided),
		cmocka_unit_test(who_used_up_its_slice_is_no_longer_nominated),
		cmocka_unit_test(a_lead_is_compared_with_the_slice_in_real_time),
		cmocka_unit_test(a_slice_shorter_than_the_granularity_ends_a_turn),
		cmocka_unit_test(a_child_waits_for_its_debit_or_its_parent),
		cmocka_unit_test(a_child_that_runs_first_asks_for_a_switch),
		cmocka_unit_test(who_never_ran_here_is_no_long_sleeper),
		cmocka_unit_test(a_sleep_is_too_long_if_longer_than_the_longest),
		cmocka_unit_test(an_idle_group_has_the_credit_of_an_idle_task),
		cmocka_unit_test(who_runs_left_of_all_leads_the_time),
		cmocka_unit_test(who_runs_but_is_not_queued_holds_no_time_back),
		cmocka_unit_test(who_leads_by_more_than_the_granularity_preempts),
	};

	return cmocka_run_group_tests_name("cfs_rules", tests, NULL, NULL);
}
