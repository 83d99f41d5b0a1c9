/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The habits with which a new task begins under BORE, by the definition of those of its family:
 *
 *	2.2.8  its parent's past, or the average of its grandparent's children, if that is worse
 *	5.9.6  its parent's past as if the parent's burst had ended now, or what is usual, if that
 *	       is worse: for a thread the average of its process, for a process that of the
 *	       children below the next ancestor where the family branches
 *
 * An average is at least the burst of the one below whom it was taken, and is kept for a while. The
 * policy walks with a stack of levels; the oracle recurs.
 */
#include "sched/fair/bore/burst.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/urgent.h"

#define MOST_LOOKS 128

/* How to average: whose tasks count, at what time, until how many have, in what unit. */
struct rule {
	const struct fair_policy *policy;
	u64 now, lifetime, unit;
	u32 stop, looks;  /* looks: tasks that may still be looked at */
	bool skips_lines; /* an only child says nothing: its children do */
};

struct total {
	u64 sum;
	u32 nr;
};

static bool counts(const struct rule *r, const struct task *t)
{
	return t->fair.policy == r->policy && t->class->rank == CLASS_fair;
}

static u64 worst(const struct rule *r, const struct task *t)
{
	return counts(r, t) ? burst_entity(&t->fair)->worst : 0;
}

static void add(const struct rule *r, struct total *total, const struct task *t)
{
	total->sum += worst(r, t) / r->unit;
	total->nr += counts(r, t);
}

static bool is_over(const struct rule *r, const struct total *total)
{
	return !r->looks || (total->nr && total->nr >= r->stop);
}

static bool is_known(const struct rule *r, const struct burst_cache *c)
{
	return c->policy == r->policy && c->stamp && ahead(r->now, c->stamp + r->lifetime) <= 0;
}

/* All that are looked at below @t, down to @depth further branchings. */
static struct total below(struct rule *r, struct task *t, unsigned depth)
{
	struct total total = { 0 }, more;
	struct task *child;

	list_for_each(child, &t->family.children, family.sibling) {
		const struct burst_cache *known;
		struct task *at = child;

		if (is_over(r, &total))
			break;
		r->looks--;
		for (; r->skips_lines && at->family.nr_children == 1 && r->looks; r->looks--)
			at = list_first(&at->family.children, struct task, family.sibling);
		known = &burst_family(at)->children;
		if (!at->family.nr_children || !depth) {
			add(r, &total, at);
			continue;
		}
		if (is_known(r, known))
			more = (struct total){ known->value / r->unit * known->count,
					       known->count };
		else
			more = below(r, at, depth - 1);
		total.sum += more.sum;
		total.nr += more.nr;
	}
	return total;
}

static struct total within(struct rule *r, struct task *leader)
{
	struct total total = { 0 };
	struct task *t;

	if (!leader->family.ended)
		add(r, &total, leader);
	list_for_each(t, &leader->family.threads, family.thread_link) {
		if (is_over(r, &total))
			break;
		r->looks--;
		add(r, &total, t);
	}
	return total;
}

static u64 average(const struct rule *r, const struct task *of, struct total total)
{
	return max(total.nr ? total.sum / total.nr * r->unit : 0, worst(r, of));
}

static u64 of_children(struct rule *r, struct task *t, unsigned depth)
{
	const struct burst_cache *known = &burst_family(t)->children;

	return is_known(r, known) ? known->value : average(r, t, below(r, t, depth));
}

static u64 of_threads(struct rule *r, struct task *leader)
{
	const struct burst_cache *known = &burst_family(leader)->threads;

	return is_known(r, known) ? known->value : average(r, leader, within(r, leader));
}

/* Up from @t, which gets @nr_new children, to where another child is. */
static struct task *branching(struct task *t, u32 nr_new)
{
	for (u32 left = MOST_LOOKS; t->family.parent && t->family.nr_children <= nr_new && left;
	     left--, nr_new = 1)
		t = t->family.parent;
	return t;
}

static u64 begins_with_2(const struct sched *s, const struct task *parent, u64 now)
{
	struct rule r = {
		&bore_cfs_policy, now,	s->tunable.bore_cfs_cache_lifetime, 512, MOST_LOOKS,
		MOST_LOOKS,	  false
	};
	struct task *grandparent = parent->family.leader->family.parent;
	u64 past = parent->fair.policy == r.policy ? burst_entity(&parent->fair)->past : 0;

	return grandparent ? max(past, of_children(&r, grandparent, 0)) : past;
}

static u64 begins_with_5(const struct sched *s, const struct task *parent, unsigned flags, u64 now)
{
	const struct tunables *tn = &s->tunable;
	struct rule r = { &bore_policy,
			  now,
			  tn->bore_cache_lifetime,
			  1,
			  tn->bore_cache_stop_count,
			  MOST_LOOKS,
			  tn->bore_fork_atavistic };
	struct task *leader = parent->family.leader, *from = leader;
	u64 past = counts(&r, parent) ? past_after_5(s->rq_of[parent->cpu], parent) : 0;

	if (flags & FORK_THREAD)
		return max(past, of_threads(&r, leader));
	if ((flags & FORK_SIBLING) && leader->family.parent)
		from = leader->family.parent;
	if (!tn->bore_fork_atavistic)
		return max(past, of_children(&r, from, 0));
	from = branching(from, from == leader ? 0 : 1);
	return max(past, of_children(&r, from, tn->bore_fork_atavistic - 1));
}

void judge_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags)
{
	const struct fair_policy *policy = s->fair_policy;
	const struct burst *b = burst_entity(&child->fair);
	u64 now = host_clock(parent->cpu), past = 0;
	/* In the middle of a swap the parent's CPU may go by another policy's tunables. */
	bool judged = s->rq_of[parent->cpu]->fair.policy == policy;

	if (judged && policy == &bore_cfs_policy)
		past = begins_with_2(s, parent, now);
	else if (judged && policy == &bore_policy)
		past = begins_with_5(s, parent, flags, now);
	else
		judged = false;
	s->class_own[CLASS_fair]->params.fork(s, parent, child, flags);
	JUDGE_URGENT(!judged || (b->past == past && b->worst == past && !b->time),
		     "what a new task takes over from its family");
}
