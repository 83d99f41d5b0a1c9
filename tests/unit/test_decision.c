/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of decisions (sched/observe/decision.def): they say what the policy saw, answered, and by
 * which rule; they come only while their events are on; and they change nothing.
 */
#include <string.h>

#include "group.h"
#include "lib/prng.h"
#include "eevdf.h"

#define decision_record event_sched_decision_pick
#define candidate	event_sched_decision_candidate

#define LAST(m, name)                                                                              \
	((const struct decision_record *)last_record(m, EVENT_ID_sched_decision_##name))

/* The @index-th candidate of @d. */
static const struct candidate *row(struct machine *m, const struct decision_record *d,
				   unsigned index)
{
	unsigned at = 0;

	while ((const void *)m->trace[at].bytes != d)
		at++;
	assert_true(index < d->nr_rows);
	return (const void *)m->trace[at - d->nr_rows + index].bytes;
}

static void record(struct machine *m)
{
	sched_trace_set(m->s, DECISION_EVENTS);
	m->nr_trace = 0;
}

/* Three tasks on one CPU; @a runs and has used 3 ms, @b and @c wait, @c has used 1 ms. */
static struct machine *three(const char *policy, struct task **t)
{
	static const struct sched_cpu_desc cpu;
	struct machine *m = machine_new_on(1, 250, &cpu, policy);

	t[0] = spawn_nice(m, "a", 0);
	t[1] = spawn_nice(m, "b", 0);
	t[2] = spawn_nice(m, "c", 5);
	return m;
}

static void off_there_is_no_record(void **state)
{
	struct task *t[3];
	struct machine *m = three("cfs", t);

	(void)state;
	sched_trace_set(m->s, BIT(EVENT_sched_switch));
	assert_ptr_equal(m->s->rq[0].fair.hooks, &cfs_policy.hooks);
	sched_trace_set(m->s, BIT(EVENT_sched_decision_pick));
	assert_ptr_not_equal(m->s->rq[0].fair.hooks, &cfs_policy.hooks);
	advance(m, 5 * MS);
	switch_cpu(m, 0, true);
	assert_int_equal(LAST(m, pick)->nr_rows, 0);
	sched_trace_set(m->s, 0);
	assert_ptr_equal(m->s->rq[0].fair.hooks, &cfs_policy.hooks);
	m->nr_trace = 0;
	advance(m, 5 * MS);
	switch_cpu(m, 0, true);
	assert_int_equal(m->nr_trace, 0);
	machine_free(m);
}

static void a_pick_has_its_candidates_in_order(void **state)
{
	struct task *t[3];
	struct machine *m = three("cfs", t);
	const struct decision_record *d;
	struct task *ran = running(m, 0), *next;

	(void)state;
	record(m);
	advance(m, 20 * MS);
	next = switch_cpu(m, 0, true);
	d = LAST(m, pick);
	assert_int_equal(d->answer, 1);
	assert_int_equal(d->pid, next->pid);
	assert_string_equal(d->comm, next->comm);
	assert_int_equal(d->rule, RULE_least_vruntime);
	assert_int_equal(d->policy, POLICY_cfs);
	assert_int_equal(d->nr_queued, 3);
	assert_int_equal(d->nr_rows, 3);
	assert_int_equal(d->vruntime, next->fair.vruntime);
	assert_int_equal(d->v, cfs_queue(&m->s->rq[0].fair)->min_vruntime);
	/* The tree in its order, then the one that ran. */
	assert_true((s64)(row(m, d, 0)->vruntime - row(m, d, 1)->vruntime) <= 0);
	assert_int_equal(row(m, d, 0)->depth + row(m, d, 1)->depth, 3);
	assert_int_equal(row(m, d, 2)->pid, ran->pid);
	assert_int_equal(row(m, d, 2)->flags & DECISION_RUNS, DECISION_RUNS);
	assert_int_equal(row(m, d, 2)->depth, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(row(m, d, i)->weight, row(m, d, i)->comm[0] == 'c' ? 335 : 1024);
	machine_free(m);
}

/* The parent of row @at of @d in the tree, by order and depths alone; NULL: it is the root. */
static const struct candidate *parent_by_depth(struct machine *m, const struct decision_record *d,
					       unsigned at)
{
	const struct candidate *child = row(m, d, at), *before = NULL, *after = NULL;

	for (unsigned i = at; i-- > 0 && !before;)
		if (row(m, d, i)->depth && row(m, d, i)->depth < child->depth)
			before = row(m, d, i);
	for (unsigned i = at + 1; i < d->nr_rows && !after; i++)
		if (row(m, d, i)->depth && row(m, d, i)->depth < child->depth)
			after = row(m, d, i);
	if (!before || (after && after->depth > before->depth))
		return after;
	return before;
}

static void the_form_of_the_tree_is_in_the_rows(void **state)
{
	struct task *t[40];
	static const struct sched_cpu_desc cpu;
	struct machine *m = machine_new_on(1, 250, &cpu, "cfs");
	const struct decision_record *d;
	unsigned nr = 0;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = spawn_nice(m, "t", (int)(i * 7 % 20));
	record(m);
	advance(m, MS);
	sched_tick(m->s, 0); /* no switch follows, so nothing moves */
	d = LAST(m, tick);
	assert_int_equal(d->nr_rows, ARRAY_SIZE(t));
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++) {
		const struct candidate *parent;
		const struct rb_node *up;
		unsigned at = 0;

		while (row(m, d, at)->pid != t[i]->pid)
			at++;
		if (!row(m, d, at)->depth)
			continue;
		parent = parent_by_depth(m, d, at);
		up = rb_parent(&t[i]->fair.node);
		assert_int_equal(up != NULL, parent != NULL);
		if (parent)
			assert_int_equal(parent->pid, task_of(entity_of(up))->pid);
		nr++;
	}
	assert_int_equal(nr, ARRAY_SIZE(t) - 1);
	machine_free(m);
}

static void the_charge_before_it_says_what_changed(void **state)
{
	struct task *t[3];
	struct machine *m = three("eevdf", t);
	struct task *ran = running(m, 0);
	u64 before = ran->fair.vruntime;
	const struct decision_record *d;

	(void)state;
	record(m);
	advance(m, 1 * MS);
	switch_cpu(m, 0, true);
	d = LAST(m, charge);
	assert_int_equal(d->pid, ran->pid);
	assert_int_equal(d->delta, MS);
	assert_int_equal(row(m, d, 0)->vruntime, before);
	assert_int_equal(row(m, d, 0)->pid, ran->pid);
	assert_int_equal(d->vruntime, ran->fair.vruntime);
	assert_true(d->vruntime != before);
	machine_free(m);
}

static void eevdf_says_which_of_its_rules_decided(void **state)
{
	struct task *t[3];
	struct machine *m = three("eevdf", t);
	const struct decision_record *d;

	(void)state;
	record(m);
	advance(m, 10 * MS);
	tick(m);
	d = LAST(m, tick);
	assert_int_equal(d->rule, RULE_request_used_up);
	assert_int_equal(d->answer, 1);
	/* The charge at the tick found out. */
	d = LAST(m, charge);
	assert_int_equal(d->rule, RULE_request_used_up);
	assert_int_equal(d->answer, 1);
	assert_int_equal(LAST(m, pick)->rule, RULE_earliest_deadline);
	/* Picked and not done with its request, it goes on. */
	advance(m, 1000);
	switch_cpu(m, 0, true);
	assert_int_equal(LAST(m, pick)->rule, RULE_request_lasts);
	machine_free(m);
}

static void a_wakeup_is_placed_and_compared(void **state)
{
	struct task *t[3], *sleeper;
	struct machine *m = three("cfs", t);
	const struct decision_record *d;

	(void)state;
	sleeper = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, 50 * MS);
	record(m);
	wake(m, sleeper, 0);
	d = LAST(m, place);
	assert_int_equal(d->rule, RULE_arrives_woken);
	assert_int_equal(d->answer, 0);
	assert_int_equal(d->pid, sleeper->pid);
	assert_int_equal(row(m, d, 0)->pid, sleeper->pid);
	assert_int_equal(row(m, d, 0)->flags & DECISION_QUEUED, 0);
	d = LAST(m, preempt);
	assert_int_equal(d->rule, RULE_vruntime_lead);
	assert_int_equal(d->answer, 1);
	settle(m);
	d = LAST(m, pick);
	assert_int_equal(d->pid, sleeper->pid);
	machine_free(m);
}

static void a_lone_task_and_a_long_queue(void **state)
{
	struct machine *m = machine_new(1, 250);
	const struct decision_record *d;

	(void)state;
	spawn_nice(m, "lone", 0);
	record(m);
	advance(m, MS);
	switch_cpu(m, 0, true);
	assert_int_equal(LAST(m, pick)->rule, RULE_only_one);
	sched_trace_set(m->s, 0);
	for (unsigned i = 0; i < 100; i++)
		spawn_nice(m, "many", 0);
	record(m);
	switch_cpu(m, 0, true);
	d = LAST(m, pick);
	assert_int_equal(d->nr_queued, 101);
	assert_int_equal(d->nr_rows, DECISION_ROWS_MAX);
	assert_int_equal(row(m, d, DECISION_ROWS_MAX - 1)->flags & DECISION_RUNS, DECISION_RUNS);
	machine_free(m);
}

static void groups_have_numbers_and_names(void **state)
{
	struct machine *m = machine_new(1, 250);
	struct task_group *first = new_group(m, NULL), *second = new_group(m, NULL);
	const struct decision_record *member, *group;

	(void)state;
	task_group_set_name(second, "second");
	record(m); /* groups made later are recorded too */
	spawn_in(m, first, 0);
	spawn_in(m, second, 0);
	advance(m, 20 * MS);
	m->nr_trace = 0;
	switch_cpu(m, 0, true);
	group = record_of(m, EVENT_ID_sched_decision_pick, 0);
	member = last_record(m, EVENT_ID_sched_decision_pick);
	assert_int_equal(group->level, 0);
	assert_int_equal(group->pid, 0);
	assert_int_equal(member->level, 1);
	assert_int_equal(member->group, group->subject_group);
	assert_true(group->subject_group == 1 || group->subject_group == 2);
	assert_string_equal(group->comm, group->subject_group == 2 ? "second" : "");
	machine_free(m);
}

/* Random events on a machine of two CPUs. Returns a digest of who ran where. */
static u64 drive(const char *policy, u64 seed, u64 events)
{
	static const struct sched_cpu_desc cpus[2];
	struct machine *m = machine_new_on(2, 1000, cpus, policy);
	struct task_group *tg = new_group(m, NULL);
	struct task *t[8];
	struct prng prng;
	u64 digest = 0;

	prng_seed(&prng, host_seed(seed));
	sched_trace_set(m->s, events);
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = spawn_in(m, i % 3 ? NULL : tg, (int)i - 4);
	for (unsigned n = 0; n < 3000; n++) {
		u64 r = prng_u64(&prng);
		unsigned cpu = r % 2;

		advance(m, r / 64 % (2 * MS));
		if (r / 2 % 4 == 0)
			tick(m);
		else if (r / 2 % 4 < 3 && running(m, cpu) != &m->idle[cpu])
			block(m, cpu, TASK_INTERRUPTIBLE);
		else
			wake(m, t[r / 8 % ARRAY_SIZE(t)], cpu);
		settle(m);
		digest = digest * 31 + (u64)running(m, 0)->pid * 64 + (u64)running(m, 1)->pid;
		digest += running(m, cpu)->fair.vruntime;
	}
	machine_free(m);
	return digest;
}

static void recording_changes_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; sched_fair_name(i); i++)
		for (u64 seed = 1; seed <= 3; seed++) {
			u64 digest = drive(sched_fair_name(i), seed, 0);

			assert_int_equal(digest, drive(sched_fair_name(i), seed, DECISION_EVENTS));
			assert_int_equal(digest, drive(sched_fair_name(i), seed,
						       BIT(EVENT_sched_decision_pick)));
			assert_true(digest != drive(sched_fair_name(i), seed + 1, 0));
		}
}

/* A candidate under the idle policy, and one that was nominated, are marked. */
static void candidates_say_what_they_are(void **state)
{
	static const char *const policies[] = { "cfs", "eevdf" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(policies); i++) {
		struct task *t[3], *next;
		struct machine *m = three(policies[i], t);
		struct sched_attr_req idle = { .policy = SCHED_IDLE };
		const struct decision_record *d;

		assert_int_equal(sched_set_attr(m->s, t[1], &idle), 0);
		settle(m);
		next = t[running(m, 0) == t[2] ? 0 : 2];
		if (i)
			eevdf_queue(&m->s->rq[0].fair)->next = &next->fair;
		else
			cfs_queue(&m->s->rq[0].fair)->next = &next->fair;
		record(m);
		switch_cpu(m, 0, true);
		d = LAST(m, pick);
		assert_int_equal(d->nr_rows, 3);
		for (unsigned k = 0; k < 3; k++) {
			const struct candidate *c = row(m, d, k);

			assert_int_equal(!!(c->flags & DECISION_IDLE), c->pid == t[1]->pid);
			assert_int_equal(!!(c->flags & DECISION_NEXT), c->pid == next->pid);
			assert_int_equal(c->flags & DECISION_ASLEEP, 0);
			assert_int_equal(c->lag, 0);
		}
		machine_free(m);
	}
}

/* A sleeper that stays in its queue keeps what it owes. */
static void who_stays_queued_asleep_has_its_lag(void **state)
{
	struct task *t[3], *sleeper;
	struct machine *m = three("eevdf", t);
	const struct decision_record *d;
	unsigned asleep = 0;

	(void)state;
	advance(m, 8 * MS);
	sleeper = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	assert_int_equal(sleeper->on_rq, TASK_DELAYED);
	record(m);
	switch_cpu(m, 0, true);
	d = LAST(m, pick);
	for (unsigned k = 0; k < d->nr_rows; k++) {
		const struct candidate *c = row(m, d, k);

		asleep += !!(c->flags & DECISION_ASLEEP);
		assert_int_equal(!!(c->flags & DECISION_ASLEEP), c->pid == sleeper->pid);
		assert_false(c->pid == sleeper->pid && c->flags & DECISION_RUNS);
		assert_int_equal(c->lag,
				 c->pid == sleeper->pid ? eevdf_entity(&sleeper->fair)->vlag : 0);
	}
	assert_int_equal(asleep, 1);
	assert_true(eevdf_entity(&sleeper->fair)->vlag < 0);
	machine_free(m);
}

/* Under eevdf: whether the request that runs is protected, or used up. */
static void who_runs_says_what_became_of_its_request(void **state)
{
	struct task *t[3];
	struct machine *m = three("eevdf", t);
	const struct decision_record *d;

	(void)state;
	while (running(m, 0) != t[1])
		tick(m);
	record(m);
	advance(m, 1000);
	switch_cpu(m, 0, true);
	d = LAST(m, pick);
	assert_int_equal(d->policy, POLICY_eevdf);
	assert_int_equal(row(m, d, d->nr_rows - 1)->flags &
				 (DECISION_RUNS | DECISION_REQUEST_LASTS | DECISION_REQUEST_USED),
			 DECISION_RUNS | DECISION_REQUEST_LASTS);
	m->nr_trace = 0;
	advance(m, 10 * MS);
	switch_cpu(m, 0, true);
	d = LAST(m, pick);
	assert_int_equal(row(m, d, d->nr_rows - 1)->flags &
				 (DECISION_RUNS | DECISION_REQUEST_LASTS | DECISION_REQUEST_USED),
			 DECISION_RUNS | DECISION_REQUEST_USED);
	machine_free(m);
}

/* The answer has the weight of who is picked; one that is queued has no lag, whatever it had. */
static void the_answer_has_the_numbers_of_its_subject(void **state)
{
	struct task *t[3], *next;
	struct machine *m = three("eevdf", t);
	const struct decision_record *d;
	bool light = false;

	(void)state;
	record(m);
	for (unsigned n = 0; n < 20; n++) {
		for (unsigned i = 0; i < 3; i++)
			eevdf_entity(&t[i]->fair)->vlag = 12345;
		advance(m, 4 * MS);
		m->nr_trace = 0;
		next = switch_cpu(m, 0, true);
		d = LAST(m, pick);
		assert_int_equal(d->pid, next->pid);
		assert_int_equal(d->weight, next == t[2] ? 335 : 1024);
		assert_int_equal(d->lag, 0);
		light |= next == t[2];
	}
	assert_true(light);
	machine_free(m);
}

/* By definition: eligible is who is not ahead of the average of all, each by its weight. */
static void eligible_is_who_is_not_ahead_of_the_average(void **state)
{
	struct task *t[3];
	struct machine *m = three("eevdf", t);
	unsigned nr[2] = { 0 };

	(void)state;
	record(m);
	for (unsigned n = 0; n < 60; n++) {
		const struct decision_record *d;
		s64 sum = 0;

		advance(m, (1 + n % 5) * MS);
		m->nr_trace = 0;
		switch_cpu(m, 0, true);
		d = LAST(m, pick);
		for (unsigned k = 0; k < 3; k++) {
			const struct candidate *c = row(m, d, k);

			sum = 0;
			for (unsigned i = 0; i < 3; i++)
				sum += (s64)(row(m, d, i)->vruntime - c->vruntime) *
				       (s64)row(m, d, i)->weight;
			assert_int_equal(!!(c->flags & DECISION_ELIGIBLE), sum >= 0);
			nr[sum >= 0]++;
		}
	}
	assert_true(nr[0] > 20 && nr[1] > 20);
	machine_free(m);
}

/* A task that is out of the tree when it is placed is not called eligible. */
static void who_is_not_queued_is_not_eligible(void **state)
{
	struct task *t[3], *sleeper;
	struct machine *m = three("eevdf", t);
	const struct decision_record *d;

	(void)state;
	set_feature(m, "NO_DELAY_DEQUEUE");
	advance(m, 2 * MS);
	sleeper = running(m, 0);
	block(m, 0, TASK_INTERRUPTIBLE);
	advance(m, MS);
	record(m);
	wake(m, sleeper, 0);
	d = LAST(m, place);
	for (unsigned k = 0; k < d->nr_rows; k++)
		if (row(m, d, k)->pid == sleeper->pid) {
			assert_int_equal(row(m, d, k)->flags & DECISION_QUEUED, 0);
			assert_int_equal(row(m, d, k)->flags & DECISION_ELIGIBLE, 0);
		}
	machine_free(m);
}

/* Each of CFS's buddies is marked, and nobody else. */
static void buddies_are_marked(void **state)
{
	struct task *t[3];
	struct machine *m = three("cfs", t);
	struct cfs_queue *q = cfs_queue(&m->s->rq[0].fair);
	struct entity **buddy[] = { &q->next, &q->last, &q->skip };
	static const u16 flag[] = { DECISION_NEXT, DECISION_LAST, DECISION_SKIP };

	(void)state;
	for (unsigned of = 0; of < 3; of++)
		for (unsigned i = 0; i < 4; i++) {
			q->next = q->last = q->skip = NULL;
			*buddy[of] = i < 3 ? &t[i]->fair : NULL;
			for (unsigned k = 0; k < 3; k++)
				assert_int_equal(cfs_buddy_flags(&m->s->rq[0].fair, &t[k]->fair),
						 k == i ? flag[of] : 0);
		}
	q->next = q->last = q->skip = NULL;
	machine_free(m);
}

/* The last buddy is the one that was preempted in a crowd, unless the feature is off. */
static void a_preempted_task_is_remembered_if_asked(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 2; on++)
		for (unsigned crowd = 0; crowd < 2; crowd++) {
			struct task *t[3], *ran;
			struct machine *m = three("cfs", t);
			struct fair_queue *q = &m->s->rq[0].fair;
			struct entity *woken;

			set_feature(m, on ? "LAST_BUDDY" : "NO_LAST_BUDDY");
			m->s->nr_latency = crowd ? 3 : 4;
			ran = running(m, 0);
			woken = &t[ran == t[0]]->fair;
			woken->vruntime = ran->fair.vruntime - 50 * MS;
			cfs_queue(q)->last = NULL;
			assert_true(q->policy->hooks.preempts(q, &ran->fair, woken, 0));
			assert_ptr_equal(cfs_queue(q)->last, on && crowd ? &ran->fair : NULL);
			machine_free(m);
		}
}

/* A task that yields is not to be picked next, though it was nominated. */
static void a_yield_ends_a_nomination(void **state)
{
	struct task *t[3];
	struct machine *m = three("eevdf", t);
	struct fair_queue *q = &m->s->rq[0].fair;
	struct task *ran = running(m, 0), *other = t[ran == t[0]];

	(void)state;
	eevdf_queue(q)->next = &other->fair;
	q->policy->hooks.yield(q, &ran->fair);
	assert_ptr_equal(eevdf_queue(q)->next, &other->fair);
	eevdf_queue(q)->next = &ran->fair;
	q->policy->hooks.yield(q, &ran->fair);
	assert_null(eevdf_queue(q)->next);
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_there_is_no_record),
		cmocka_unit_test(a_pick_has_its_candidates_in_order),
		cmocka_unit_test(the_form_of_the_tree_is_in_the_rows),
		cmocka_unit_test(the_charge_before_it_says_what_changed),
		cmocka_unit_test(eevdf_says_which_of_its_rules_decided),
		cmocka_unit_test(a_wakeup_is_placed_and_compared),
		cmocka_unit_test(a_lone_task_and_a_long_queue),
		cmocka_unit_test(groups_have_numbers_and_names),
		cmocka_unit_test(recording_changes_nothing),
		cmocka_unit_test(candidates_say_what_they_are),
		cmocka_unit_test(who_stays_queued_asleep_has_its_lag),
		cmocka_unit_test(who_runs_says_what_became_of_its_request),
		cmocka_unit_test(the_answer_has_the_numbers_of_its_subject),
		cmocka_unit_test(eligible_is_who_is_not_ahead_of_the_average),
		cmocka_unit_test(who_is_not_queued_is_not_eligible),
		cmocka_unit_test(buddies_are_marked),
		cmocka_unit_test(a_preempted_task_is_remembered_if_asked),
		cmocka_unit_test(a_yield_ends_a_nomination),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
