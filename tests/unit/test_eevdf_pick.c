/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * EEVDF's choice: against brute force on random trees, and when the running task may go on, which
 * concerns protection, wakeups, shorter slices and yield. Golden numbers: docs/sources.md.
 */
#include <sanitizer/asan_interface.h>
#include <string.h>

#include "eevdf.h"
#include "group.h"
#include "lib/prng.h"

/* --- trees made by hand ------------------------------------------------------ */

#define MOST 9

struct bare {
	u64 v, d, weight;
};

/* A queue of bare entities. The first of them runs if @with_curr. */
struct forest {
	struct machine *m;
	struct fair_queue *q;
	struct entity entities[MOST];
	unsigned nr;
};

static void clear(struct fair_queue *q, unsigned nr, u64 v0)
{
	q->timeline = (struct rb_tree){ .augment = q->policy->augment };
	q->curr = NULL;
	q->nr_running = nr;
	*eevdf_queue(q) = (struct eevdf_queue){ .v0 = v0 };
}

static void plant_one(struct fair_queue *q, struct entity *e, const struct bare *bare, bool runs)
{
	e->queue = q;
	e->policy = q->policy;
	e->queued = true;
	e->load.weight = bare->weight << WEIGHT_SHIFT;
	e->vruntime = bare->v;
	eevdf_entity(e)->deadline = bare->d;
	eevdf_sums_add(q, e);
	if (runs)
		q->curr = e;
	else
		queue_insert(q, e);
}

static void plant(struct forest *f, const struct bare *bare, unsigned nr, bool with_curr)
{
	f->nr = nr;
	memset(f->entities, 0, sizeof(f->entities));
	clear(f->q, nr, bare[0].v);
	for (unsigned i = 0; i < nr; i++)
		plant_one(f->q, &f->entities[i], &bare[i], with_curr && i == 0);
}

/* By the definition: sum of w * (v_i - v) >= 0, with as many bits as needed. */
static bool is_eligible(const struct bare *bare, unsigned nr, u64 v)
{
	s128 sum = 0;

	for (unsigned i = 0; i < nr; i++)
		sum += (s128)(s64)(bare[i].v - v) * (s64)bare[i].weight;
	return sum >= 0;
}

/*
 * The earliest deadline of all eligible entities. Of equals the first planted wins; the running one
 * comes last.
 */
static unsigned choose_slowly(const struct bare *bare, unsigned nr, bool with_curr)
{
	unsigned best = nr;

	for (unsigned i = with_curr; i < nr; i++)
		if (is_eligible(bare, nr, bare[i].v) && (best == nr || bare[i].d < bare[best].d))
			best = i;
	if (with_curr && is_eligible(bare, nr, bare[0].v) &&
	    (best == nr || bare[0].d < bare[best].d))
		best = 0;
	return best;
}

static unsigned chosen(struct forest *f)
{
	return (unsigned)(eevdf_best(f->q) - f->entities);
}

/*
 * A search that goes right at an eligible node without looking back finds the deadline of 30 here.
 * Linux did so before 6.6 was released.
 */
static void the_known_counter_example(void **state)
{
	static const struct bare bare[] = { { 110, 130, 30 }, { 103, 129, 10 }, { 117, 110, 20 } };
	struct forest f = { .m = eevdf_machine(1000) };

	(void)state;
	f.q = queue(f.m);
	plant(&f, bare, 3, false);
	assert_int_equal(chosen(&f), 1);
	assert_int_equal(choose_slowly(bare, 3, false), 1);
	machine_free(f.m);
}

#define CROWD 10000u

/* Lets @node, its children and the way from there to @to be looked at. */
static void show_way(const struct rb_node *node, const struct entity *to)
{
	__asan_unpoison_memory_region(entity_of(node), sizeof(*to));
	for (int i = 0; i < 2; i++)
		if (node->child[i])
			__asan_unpoison_memory_region(entity_of(node->child[i]), sizeof(*to));
	if (entity_of(node) != to)
		show_way(to < entity_of(node) ? node->left : node->right, to);
}

/*
 * One of a crowd is eligible. Only who is on the way from the root to it, and the children of
 * these, may be looked at: the sanitizer knows all others as memory that nobody may touch.
 */
static void the_search_is_one_way_down(void **state)
{
	struct machine *m = eevdf_machine(1000);
	struct entity *crowd = calloc(CROWD, sizeof(*crowd));
	struct fair_queue *q = queue(m);

	(void)state;
	for (unsigned right = CROWD / 7; right < CROWD; right += CROWD / 7) {
		memset(crowd, 0, CROWD * sizeof(*crowd));
		clear(q, CROWD, 1000);
		for (unsigned i = 0; i < CROWD; i++) {
			struct bare bare = { i == right ? 1000 : 2000, 5000 + i, 1024 };

			plant_one(q, &crowd[i], &bare, false);
		}
		__asan_poison_memory_region(crowd, CROWD * sizeof(*crowd));
		show_way(rb_first(&q->timeline), entity_of(rb_first(&q->timeline)));
		show_way(q->timeline.root, &crowd[right]);
		assert_ptr_equal(eevdf_best(q), &crowd[right]);
		__asan_unpoison_memory_region(crowd, CROWD * sizeof(*crowd));
	}
	free(crowd);
	machine_free(m);
}

static void draw(struct prng *random, struct bare *bare, unsigned nr)
{
	static const u64 weights[] = { 3, 15, 110, 335, 1024, 3121, 88761 };
	u64 base = prng_u64(random); /* anywhere, also near the wrap */
	u64 spread = 1 + prng_below(random, 1u << (1 + prng_below(random, 24)));

	for (unsigned i = 0; i < nr; i++) {
		bare[i].weight = weights[prng_below(random, ARRAY_SIZE(weights))];
		bare[i].v = base + prng_below(random, (u32)spread);
		bare[i].d = bare[i].v + 1 + prng_below(random, (u32)spread);
	}
}

/* Deadlines of different trees are compared as numbers here, so they must be far from the wrap. */
static void unwrap(struct bare *bare, unsigned nr)
{
	for (unsigned i = nr; i--;) {
		bare[i].d = bare[i].d - bare[0].v + (1ull << 40);
		bare[i].v = bare[i].v - bare[0].v + (1ull << 40);
	}
}

static void the_choice_is_that_of_brute_force(void **state)
{
	struct forest f = { .m = eevdf_machine(1000) };
	struct prng random;
	unsigned not_first = 0;

	(void)state;
	f.q = queue(f.m);
	prng_seed(&random, host_seed(1));
	for (unsigned i = 0; i < 60000; i++) {
		unsigned nr = 2 + prng_below(&random, MOST - 1);
		bool with_curr = prng_below(&random, 2);
		struct bare bare[MOST];
		unsigned right;

		draw(&random, bare, nr);
		plant(&f, bare, nr, with_curr);
		unwrap(bare, nr);
		right = choose_slowly(bare, nr, with_curr);
		if (chosen(&f) != right)
			fail_msg("tree %u: %u chosen of %u, %u is right", i, chosen(&f), nr, right);
		not_first += queue_first(f.q) != &f.entities[right];
		/* One entity leaves; what nodes know of their subtrees must follow. */
		if (nr == 2)
			continue;
		eevdf_sums_sub(f.q, &f.entities[nr - 1]);
		queue_erase(f.q, &f.entities[nr - 1]);
		f.q->nr_running--;
		right = choose_slowly(bare, nr - 1, with_curr);
		if (chosen(&f) != right)
			fail_msg("tree %u without its last: %u is right", i, right);
	}
	/* Otherwise the trees would prove little. */
	assert_in_range(not_first, 10000, 60000);
	machine_free(f.m);
}

/* --- going on ------------------------------------------------------------------- */

/* Of two equal tasks the first runs, with a request of 1.5 ms. Neither is ahead. */
static void protection_lasts_to_the_end_of_the_request(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);
	struct fair_queue *q = queue(m);

	(void)state;
	assert_true(eevdf_entity(&t[0]->fair)->protected);
	run_on(m, MS);
	assert_false(eevdf_eligible(q, &t[0]->fair));
	assert_false(eevdf_tick_expired(q, &t[0]->fair));
	run_on(m, MS);
	assert_false(eevdf_entity(&t[0]->fair)->protected);
	assert_true(eevdf_tick_expired(q, &t[0]->fair));
	machine_free(m);
}

/*
 * Any charge, here for a reader of the CPU time, finds that the request is used up and asks for a
 * switch. Linux 6.12 does so in update_curr().
 */
static void any_charge_ends_a_used_up_request(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);

	(void)state;
	advance(m, MS);
	sched_task_runtime(m->s, t[0]);
	assert_false(m->kicked[0]);
	advance(m, MS);
	sched_task_runtime(m->s, t[0]);
	assert_true(m->kicked[0]);
	settle(m);
	assert_task(running(m, 0), t[1]);
	machine_free(m);
}

/* The switch under way is the answer: it leaves no request for another one behind. */
static void a_charge_within_a_switch_asks_for_none(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);
	unsigned before = m->nr_kicks;

	(void)state;
	advance(m, 2 * MS);
	assert_ptr_equal(switch_now(m), t[1]);
	assert_int_equal(m->nr_kicks, before);
	assert_false(m->s->rq[0].need_resched);
	machine_free(m);
}

/* As in the second golden trace, S is picked at 5 ms and, ahead of no one, once more at 6 ms. */
static struct machine *picked_twice(struct task **t)
{
	static const struct hog hogs[] = { { "A", 0, 0 }, { "B", 0, 0 }, { "S", 0, MS } };
	struct machine *m = eevdf_machine(1000);

	start_hogs(m, t, hogs, 3);
	run_ticks(m, 5);
	assert_task(running(m, 0), t[2]);
	assert_true(eevdf_entity(&t[2]->fair)->protected);
	run_ticks(m, 1);
	assert_task(running(m, 0), t[2]);
	return m;
}

static void the_second_request_in_a_row_is_not_protected(void **state)
{
	struct task *t[3];
	struct machine *m = picked_twice(t);

	(void)state;
	assert_false(eevdf_entity(&t[2]->fair)->protected);
	set_feature(m, "NO_PREEMPT_SHORT");
	run_on(m, 100000);
	assert_false(m->kicked[0]);
	set_feature(m, "PREEMPT_SHORT");
	run_on(m, 1);
	assert_false(eevdf_eligible(queue(m), &t[2]->fair));
	assert_true(m->kicked[0]);
	settle(m);
	assert_task(running(m, 0), t[0]);
	machine_free(m);
}

/* Linux puts a task that is changed while it runs on its CPU anew, as after a pick. */
static void a_renice_protects_again_new_shares_do_not(void **state)
{
	struct task *t[3];
	struct machine *m = picked_twice(t);
	struct sched_attr_req req = { .nice = 1, .slice_ns = MS };
	struct entity *e = &t[2]->fair;

	(void)state;
	assert_int_equal(sched_set_attr(m->s, t[2], &req), 0);
	assert_true(eevdf_entity(e)->protected);
	/* A change in place, as of a group's weight, makes another request of it. */
	rq_lock(&m->s->rq[0]);
	fair_reweight(e, weight_of_nice(2));
	rq_unlock(&m->s->rq[0]);
	assert_false(eevdf_entity(e)->protected);
	machine_free(m);
}

/* The running task is eligible, and another is due earlier: which one is next? */
static struct task *next_beside_an_earlier_one(const char *features)
{
	static const struct hog hogs[] = { { "A", 0, 0 }, { "B", 0, 0 }, { "C", 0, 0 } };
	struct machine *m = eevdf_machine(1000);
	struct task *t[3], *next;
	struct fair_queue *q = queue(m);

	if (features)
		set_feature(m, features);
	start_hogs(m, t, hogs, 3);
	for (unsigned i = 0; i < 2; i++) {
		queue_erase(q, &t[1 + i]->fair);
		eevdf_sums_sub(q, &t[1 + i]->fair);
		t[1 + i]->fair.vruntime += 100000 * (1 + i);
		eevdf_entity(&t[1 + i]->fair)->deadline -= 100000 * (2 - i);
		eevdf_sums_add(q, &t[1 + i]->fair);
		queue_insert(q, &t[1 + i]->fair);
	}
	assert_true(eevdf_eligible(q, &t[0]->fair));
	assert_true(eevdf_eligible(q, &t[1]->fair));
	assert_true(queue_before(q, &t[1]->fair, &t[0]->fair));
	next = task_of(eevdf_best(q));
	machine_free(m);
	return next->comm[0] == 'A' ? NULL : next;
}

static void run_to_parity_decides_who_is_next(void **state)
{
	(void)state;
	assert_null(next_beside_an_earlier_one(NULL));
	assert_non_null(next_beside_an_earlier_one("NO_RUN_TO_PARITY"));
}

/* A has run 0.4 ms when a task that asks for @slice wakes up. Returns whether that one preempts. */
static bool wakes_into_the_turn(u64 slice, const char *features, s64 *deadline)
{
	struct task *t[2], *sleeper;
	struct machine *m = eevdf_machine(1000);
	static const struct hog hogs[] = { { "A", 0, 0 }, { "B", 0, 0 } };
	bool preempted;

	if (features)
		set_feature(m, features);
	sleeper = spawn_slice(m, "S", 0, slice);
	block(m, 0, TASK_INTERRUPTIBLE);
	/* While the task is off the queue V stands still: the others start where it left. */
	start_hogs(m, t, hogs, 2);
	run_on(m, 400000);
	assert_int_equal(v_now(m), 200000);
	assert_true(eevdf_entity(&t[0]->fair)->protected);
	assert_false(eevdf_eligible(queue(m), &t[0]->fair));
	assert_int_equal(eevdf_entity(&sleeper->fair)->vlag, 0);
	wake(m, sleeper, 0);
	assert_int_equal(v_of(sleeper), 200000);
	*deadline = d_of(sleeper);
	preempted = running(m, 0) == sleeper;
	sched_check(m->s);
	machine_free(m);
	return preempted;
}

static void a_short_slice_breaks_into_a_turn_as_golden(void **state)
{
	s64 deadline;

	(void)state;
	assert_true(wakes_into_the_turn(MS, NULL, &deadline));
	assert_int_equal(deadline, 1200000);
	/* A is due after B. B would be next, but no switch was asked for. */
	assert_false(wakes_into_the_turn(0, NULL, &deadline));
	assert_int_equal(deadline, 3200000);
	assert_false(wakes_into_the_turn(0, "NO_PREEMPT_SHORT", &deadline));
}

/* While an eligible task runs, only PREEMPT_SHORT ends the protection. */
static void protection_yields_to_shorter_slices_only(void **state)
{
	static const struct hog hogs[] = { { "A", 0, 0 }, { "S", 0, MS }, { "L", 0, 20 * MS } };
	struct machine *m = eevdf_machine(1000);
	struct fair_queue *q = queue(m);
	struct task *t[3];

	(void)state;
	start_hogs(m, t, hogs, 3);
	eevdf_entity(&t[1]->fair)->protected = false;
	if (running(m, 0) != t[0]) {
		/* S is due first, so put A in its place. */
		rq_lock(q->rq);
		fair_class.exchange(q->rq, t[1], t[0]);
		q->rq->curr = t[0];
		rq_unlock(q->rq);
	}
	eevdf_entity(&t[0]->fair)->protected = true;
	assert_true(eevdf_eligible(q, &t[0]->fair));
	set_feature(m, "NO_PREEMPT_SHORT");
	assert_false(eevdf_preempts(q, &t[0]->fair, &t[1]->fair, 0));
	assert_true(eevdf_entity(&t[0]->fair)->protected);
	set_feature(m, "PREEMPT_SHORT");
	assert_false(eevdf_preempts(q, &t[0]->fair, &t[2]->fair, 0));
	assert_true(eevdf_entity(&t[0]->fair)->protected);
	assert_true(eevdf_preempts(q, &t[0]->fair, &t[1]->fair, 0));
	assert_false(eevdf_entity(&t[0]->fair)->protected);
	machine_free(m);
}

/* --- yield ----------------------------------------------------------------------- */

static void yield_now(struct machine *m)
{
	if (sched_yield(m->s, 0)) {
		switch_cpu(m, 0, false);
		settle(m);
	}
	sched_check(m->s);
}

static void a_yielder_forgoes_the_rest_of_its_request(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);

	(void)state;
	yield_now(m);
	assert_int_equal(v_of(t[0]), 3 * MS / 2);
	assert_int_equal(d_of(t[0]), 3 * MS / 2 + 3 * MS);
	assert_task(running(m, 0), t[1]);
	machine_free(m);
}

/* Otherwise its vruntime or its deadline would run away. */
static void one_that_is_not_eligible_forgoes_nothing(void **state)
{
	struct task *t[2];
	struct machine *m = equal_hogs(t, 2);

	(void)state;
	run_on(m, MS);
	assert_false(eevdf_eligible(queue(m), &t[0]->fair));
	yield_now(m);
	assert_int_equal(v_of(t[0]), MS);
	assert_int_equal(d_of(t[0]), 3 * MS / 2);
	assert_task(running(m, 0), t[1]);
	machine_free(m);
}

static void alone_a_yield_changes_nothing(void **state)
{
	struct task *t[1];
	struct machine *m = equal_hogs(t, 1);

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		yield_now(m);
	assert_int_equal(v_of(t[0]), 0);
	assert_int_equal(d_of(t[0]), 3 * MS / 2);
	machine_free(m);
}

/* --- nominations --------------------------------------------------------------------- */

/* A distance of 2^62 at a weight of 2^17 is a product of 2^79: 64 bits of it would be 0. */
static void the_longest_distance_fits_the_comparison(void **state)
{
	struct machine *m = eevdf_machine(1000);
	struct eevdf_queue *eq = eevdf_queue(queue(m));
	struct eevdf_queue saved = *eq;

	(void)state;
	eq->v0 = 1000;
	eq->sum_weight = 1 << 17;
	for (int sign = -1; sign <= 1; sign += 2) {
		u64 at = eq->v0 + (u64)sign * (1ull << 62);

		eq->sum_key = sign * ((__int128)1 << 79);
		if (!eevdf_is_past(queue(m), at - 1) || !eevdf_is_past(queue(m), at))
			fail_msg("V is a distance of %d * 2^62 away, and a place there is not past",
				 sign);
		if (eevdf_is_past(queue(m), at + 1))
			fail_msg("V is a distance of %d * 2^62 away, and a place beyond is past",
				 sign);
	}
	*eq = saved;
	machine_free(m);
}

/* NEXT_BUDDY: the task woken last is next if it is eligible, whatever its deadline. */
static void a_buddy_goes_before_deadlines(void **state)
{
	struct task *t[3];
	struct machine *m = equal_hogs(t, 3);
	struct fair_queue *q = queue(m);

	(void)state;
	eevdf_entity(&t[0]->fair)->protected = false;
	eevdf_queue(q)->next = &t[2]->fair;
	q->rule = RULE_earliest_deadline;
	assert_ptr_equal(eevdf_best(q), &t[2]->fair);
	if (q->rule != RULE_nominated)
		fail_msg("the nominated one is picked, but the rule told is another");
	set_feature(m, "NO_PICK_BUDDY");
	assert_ptr_equal(eevdf_best(q), &t[1]->fair);
	set_feature(m, "PICK_BUDDY");
	assert_ptr_equal(eevdf_pick(q), &t[2]->fair);
	assert_null(eevdf_queue(q)->next);
	machine_free(m);
}

/* The end of a request is the end of a turn if somebody else is there to have one. */
static void alone_a_turn_does_not_end(void **state)
{
	(void)state;
	for (unsigned nr = 1; nr <= 2; nr++) {
		struct task *t[2];
		struct machine *m = equal_hogs(t, nr);
		const struct eevdf_entity *e = eevdf_entity(&t[0]->fair);
		u64 deadline = e->deadline;

		run_on(m, 1400 * NS_PER_US); /* a first request is of half a slice */
		assert_int_equal(e->turn_over, 0);
		assert_false(m->s->rq[0].need_resched);
		m->now += 200 * NS_PER_US;
		rq_lock(&m->s->rq[0]);
		m->s->rq[0].curr->class->charge(&m->s->rq[0]);
		rq_unlock(&m->s->rq[0]);
		assert_true(time_before(deadline, e->deadline));
		assert_int_equal(e->turn_over, nr > 1 ? RULE_request_used_up : 0);
		assert_int_equal(m->s->rq[0].need_resched != RESCHED_NONE, nr > 1);
		machine_free(m);
	}
}

/* A task whose turn is over gives way to every task that comes, the best one or not. */
static void who_had_its_turn_gives_way(void **state)
{
	(void)state;
	for (unsigned over = 0; over < 2; over++) {
		struct task *t[3];
		struct machine *m = equal_hogs(t, 3);
		struct fair_queue *q = queue(m);

		eevdf_entity(&t[2]->fair)->deadline += MS; /* B is before C */
		eevdf_entity(&t[0]->fair)->turn_over = over ? RULE_request_used_up : 0;
		q->rule = RULE_policy_order;
		assert_int_equal(q->hooks->preempts(q, &t[0]->fair, &t[2]->fair, 0), over);
		if (over)
			assert_int_equal(q->rule, RULE_request_used_up);
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_search_is_one_way_down),
		cmocka_unit_test(the_known_counter_example),
		cmocka_unit_test(the_choice_is_that_of_brute_force),
		cmocka_unit_test(protection_lasts_to_the_end_of_the_request),
		cmocka_unit_test(any_charge_ends_a_used_up_request),
		cmocka_unit_test(a_charge_within_a_switch_asks_for_none),
		cmocka_unit_test(the_second_request_in_a_row_is_not_protected),
		cmocka_unit_test(a_renice_protects_again_new_shares_do_not),
		cmocka_unit_test(run_to_parity_decides_who_is_next),
		cmocka_unit_test(a_short_slice_breaks_into_a_turn_as_golden),
		cmocka_unit_test(protection_yields_to_shorter_slices_only),
		cmocka_unit_test(a_yielder_forgoes_the_rest_of_its_request),
		cmocka_unit_test(one_that_is_not_eligible_forgoes_nothing),
		cmocka_unit_test(alone_a_yield_changes_nothing),
		cmocka_unit_test(the_longest_distance_fits_the_comparison),
		cmocka_unit_test(a_buddy_goes_before_deadlines),
		cmocka_unit_test(alone_a_turn_does_not_end),
		cmocka_unit_test(who_had_its_turn_gives_way),
	};

	return cmocka_run_group_tests_name("eevdf_pick", tests, NULL, NULL);
}
