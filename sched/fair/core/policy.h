/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A policy of the fair class: one file with one table of hooks, struct fair_policy. The class moves
 * entities in and out of queues, charges them and asks the policy what to do; it never asks which
 * policy is active. Where two policies must differ, that place is a hook.
 */
#pragma once

#include "sched/core/core.h"
#include "sched/observe/decision.h"

struct run;

enum place_flags {
	PLACE_NEW =
		0x1000, /* a fork's child, on the queue of its parent, before its CPU is chosen */
	PLACE_SLEEPER =
		0x2000,	       /* it leaves the class while asleep: grant now what a wakeup would */
	PLACE_ASLEEP = 0x4000, /* it joins @q asleep; also if it slept through a swap */
	PLACE_SWAPPED = 0x8000, /* begun anew, vruntime is its lead over the one furthest behind */
};

/* Where the u64 @field of an entity is, seen from its node in the timeline. */
#define TIMELINE_KEY(field) (offsetof(struct entity, field) - offsetof(struct entity, node))
/* The same for a field of a policy's own state of an entity, a struct @type. */
#define TIMELINE_KEY_IN(type, field) (TIMELINE_KEY(policy_state) + offsetof(type, field))

/*
 * struct name_entity is a policy's own state of an entity, and name_entity(e) finds it. Zero when
 * the entity begins anew under the policy. Valid while e->policy is that policy.
 */
#define POLICY_ENTITY_STATE(name)                                                                  \
	_Static_assert(sizeof(struct name##_entity) <= sizeof(((struct entity *)0)->policy_state), \
		       "ENTITY_STATE_WORDS are too few");                                          \
	static inline struct name##_entity *name##_entity(const struct entity *e)                  \
	{                                                                                          \
		return (struct name##_entity *)e->policy_state;                                    \
	}

/* The same of a task group, and of the machine as the root of all groups: name_root(s). */
#define POLICY_GROUP_STATE(name)                                                                   \
	_Static_assert(sizeof(struct name##_group) <= sizeof(((struct group_state *)0)->name),     \
		       "see policies.def");                                                        \
	static inline struct name##_group *name##_group(const struct task_group *tg)               \
	{                                                                                          \
		return (struct name##_group *)tg->policy_state.name;                               \
	}                                                                                          \
	static inline struct name##_group *name##_root(const struct sched *s)                      \
	{                                                                                          \
		return (struct name##_group *)s->policy_state.name;                                \
	}

/*
 * struct name_queue is what a policy keeps of a queue, and name_queue(q) finds it. Zero when the
 * queue is made; a swap to another policy and back leaves it as it was.
 */
#define POLICY_QUEUE_STATE(name)                                                                   \
	_Static_assert(sizeof(struct name##_queue) <=                                              \
			       sizeof(((struct fair_queue *)0)->policy_state.name),                \
		       "see policies.def");                                                        \
	static inline struct name##_queue *name##_queue(const struct fair_queue *q)                \
	{                                                                                          \
		return (struct name##_queue *)q->policy_state.name;                                \
	}

/*
 * The hooks that decide, called through queue->hooks and in no other way. They are a structure of
 * their own so that a policy may have a queue go by those of another for a while: FDL lends a queue
 * CFS's hooks while none of its groups has a deadline.
 */
struct fair_hooks {
	/*
	 * Give @e, not queued, its virtual position on @q, whose totals do not count it. @flags:
	 * queue_flags of the enqueue that follows, or place_flags. With ENQUEUE_DELAYED @e was kept
	 * by leave() and wakes up: it is out of the timeline but in the totals.
	 */
	void (*place)(struct fair_queue *q, struct entity *e, unsigned flags);

	/* @e, running, used @delta ns: advance its virtual time and that of the queue. */
	void (*charge)(struct fair_queue *q, struct entity *e, u64 delta);

	/*
	 * The entity to run next: a queued one, which may be the running one (q->curr). NULL only
	 * if nothing is queued.
	 */
	struct entity *(*pick)(struct fair_queue *q);

	/* True if the running @e has had its turn. Asked at a tick while others wait. */
	bool (*tick_expired)(struct fair_queue *q, struct entity *e);

	/*
	 * True if @woken takes over from @curr, which was charged. The tasks' scheduling policies
	 * (SCHED_BATCH, SCHED_IDLE) were compared already. SELECT_FORK in @flags: @woken is new.
	 */
	bool (*preempts)(struct fair_queue *q, struct entity *curr, struct entity *woken,
			 unsigned flags);

	/*
	 * @e, out of the timeline but still in the totals, leaves @q: asleep with DEQUEUE_SLEEP,
	 * else travelling. Also called to make a sleeper, not queued, travel. Forgets what the
	 * queue has nominated of @e. Returns true to keep one that goes to sleep queued (never with
	 * DEQUEUE_SPECIAL): it is no longer runnable but competes until it is picked, or must leave
	 * for another reason, with DEQUEUE_DELAYED.
	 */
	bool (*leave)(struct fair_queue *q, struct entity *e, unsigned flags);

	/* @e, running and charged, yields; perhaps it is alone. */
	void (*yield)(struct fair_queue *q, struct entity *e);

	/*
	 * The weight of @e is about to become @weight. With moved_by_weight @e is not in the
	 * timeline: running, asleep or travelling, or taken out to be put back at once.
	 */
	void (*reweight)(struct fair_queue *q, struct entity *e, u64 weight);

	/*
	 * The rule (enum decision_rule) by which these three usually decide. A hook that decides
	 * by another says because() before it returns.
	 */
	u8 pick_rule, tick_expired_rule, preempts_rule;
};

/* A hook of @q's policy decided by @rule, which is not its usual one. Only recording reads it. */
static inline void because(struct fair_queue *q, enum decision_rule rule)
{
	q->rule = (u8)rule;
}

/* @e, for a pick that decides by @rule. */
static inline struct entity *picked_by(struct fair_queue *q, struct entity *e,
				       enum decision_rule rule)
{
	because(q, rule);
	return e;
}

/*
 * A policy. No hook is NULL: fair_no_*() below are the defaults. The hooks outside of
 * struct fair_hooks are called through queue->policy. Lock of the runqueue held, unless a hook says
 * otherwise.
 */
struct fair_policy {
	const char *name; /* as `fair_class` and the boot parameter `sched=` have it */

	/*
	 * Features (BIT(FEATURE_x)) on whose defaults the policy has a say, and those of them that
	 * are on. A swap to the policy sets them so, whatever they were.
	 */
	u64 features_mask, features_on;

	/* Promises of the policy: BIT(TRAIT_x) of fair/trait.def. */
	u32 traits;

	/*
	 * The place of an entity in the timeline, or what augment() tells of it, has to do with its
	 * weight.
	 */
	bool moved_by_weight;
	/* Of two tasks in different groups, the groups are compared first (fair_preempts). */
	bool groups_first;
	/* A new task's utilisation is guessed in the units of the queue's load (pelt_init_util). */
	bool guess_in_load_units;
	/* The time from one report of a queue's load to its group until the next, at least. */
	u32 load_pause_ns;
	/* A deadline task whose budget is new may go to another CPU at once (dl/dl_smp.c). */
	bool moves_new_budgets;

	/* Order of the timeline: TIMELINE_KEY() of a virtual time, smallest first. */
	size_t key;

	/* For the policy that this one is built on: how it is varied. NULL if nothing reads it. */
	const void *rules;

	/* Renew what a node of the timeline knows of its subtree (lib/rbtree.h). NULL: nothing. */
	bool (*augment)(struct rb_node *node);

	struct fair_hooks hooks;

	/* The hooks for @q, which is the policy's: its own, unless it lends another's. */
	const struct fair_hooks *(*choose_hooks)(const struct fair_queue *q);

	/*
	 * A queue was made: set what must not be zero of the policy's part. Called for every
	 * policy, whichever is in use.
	 */
	void (*init_queue)(struct fair_queue *q);

	/*
	 * @e, queued on @q, had better run next (fair_nominate()): the policy may remember to pick
	 * it first.
	 */
	void (*nominate)(struct fair_queue *q, struct entity *e);

	/*
	 * With NEXT_BUDDY, is a task that wakes up nominated, whether or not it preempts? @q: the
	 * queue of the running task.
	 */
	bool (*nominates_woken)(const struct fair_queue *q);

	/* Is @e, waiting on @q, to be picked soon, so that it had better not change CPU? */
	bool (*nominated)(const struct fair_queue *q, const struct entity *e);

	/*
	 * How far @e has come, which a swap just took off @q by leave(QUEUE_SAVE): ns of virtual
	 * time from a point that is the same for all on @q. The next policy is told by how much
	 * each entity is ahead of the one that is furthest behind.
	 */
	u64 (*progress)(const struct fair_queue *q, const struct entity *e);

	/* The weight of @t by its nice value and policy. */
	struct load_weight (*weight)(const struct task *t);

	/* ns that @e may run in its turn, whether it is queued on @q or not yet. */
	u64 (*slice)(struct fair_queue *q, struct entity *e);

	/* A member came to or left the group of @e, which stays queued. */
	void (*pass)(struct fair_queue *q, struct entity *e);

	/* The shares of @tg, as a weight: those that were set, unless the policy varies them. */
	u64 (*shares)(const struct task_group *tg);

	/*
	 * ns from now to when a timer is to end the turn of the task @e, which begins on @rq. 0: no
	 * timer is needed. Asked while HRTICK is on or the root's queue says timed_turns.
	 */
	u64 (*turn)(struct rq *rq, struct entity *e);

	/*
	 * The CPU where @t, a member of a group, should wake up, or -1 if the policy does not care.
	 * Neither @target, a CPU that suits it, nor @prev, where it ran last, idles.
	 */
	int (*select_cpu)(struct sched *s, const struct task *t, unsigned prev, unsigned target);

	/*
	 * @e begins anew: it is foreign, or enters the class. What the policy keeps of an entity's
	 * past is forgotten.
	 */
	void (*reset)(struct entity *e);

	/*
	 * @child, not started yet and not a relative yet, is made by @parent: give it what it takes
	 * over from its family. @flags: sched_fork_flags. family_lock held, but no runqueue lock:
	 * what is read of other tasks is a hint.
	 */
	void (*fork)(struct sched *s, struct task *parent, struct task *child, unsigned flags);

	/*
	 * @rq goes by this policy from now on, or a tunable changed: compute anew what is derived
	 * from tunables. Entities queued there may still have the numbers of another policy.
	 */
	void (*tuned)(struct rq *rq);

	/*
	 * The number of tasks that want to run in the group of @e is about to matter, or has
	 * changed: e->own_queue->tasks.
	 */
	void (*demand)(struct entity *e);

	/* Add to @out what the policy was told of @tg. Called for every policy. */
	void (*params)(const struct task_group *tg, struct task_group_params *out);

	/*
	 * @tg ends, empty: what the policy was told of it is forgotten. Called for every policy,
	 * because parameters of a group outlive a swap. No lock held.
	 */
	void (*forget_group)(struct sched *s, struct task_group *tg);

	/*
	 * For the record of a decision (observe/decision.h): the numbers by which the policy knows
	 * @e, which is queued on @q, or asleep or travelling and about to enter or just gone.
	 * Filled in before: vruntime; the rest is 0. @where: those of DECISION_QUEUED, _RUNS and
	 * _DUE that hold of @e; or AFTER_DECISION: the decision was made, and flags do not matter.
	 */
	void (*numbers)(struct fair_queue *q, struct entity *e, unsigned where,
			struct decision_numbers *n);
	/*
	 * Put a row into @run for each entity of @q that is queued. The default calls numbers();
	 * see POLICY_CANDIDATES in candidates.h.
	 */
	void (*candidates)(struct run *run, struct fair_queue *q);
	/* Numbers of @q itself. */
	void (*queue_numbers)(struct fair_queue *q, struct queue_numbers *n);

	/* Print the policy's lines of /proc/PID/sched. */
	void (*dump)(struct entity *e, struct text *out);

	/*
	 * Debugfs `debug`: print the queue's virtual time, as lines; and the numbers that order
	 * entities, as columns of the table of tasks, which have key_columns for their heads.
	 */
	void (*dump_queue)(struct fair_queue *q, struct text *out);
	const char *key_columns;
	void (*dump_key)(struct entity *e, struct text *out);

	/*
	 * host_bug() if an invariant of the policy does not hold on @q, beyond those of check.c.
	 * Slow.
	 */
	void (*check)(struct fair_queue *q);
};

/*
 * Where virtual time starts: near the wrap, so that a comparison without care for it fails at boot
 * and not in a year.
 */
#define FIRST_VRUNTIME ((u64) - (1ll << 20))

/* --- defaults of hooks (hooks.c) -------------------------------------------- */

/* The policy's own hooks, always. */
const struct fair_hooks *fair_own_hooks(const struct fair_queue *q);
/* The position of an entity does not depend on its weight, or on the members of its group. */
void fair_no_reweight(struct fair_queue *q, struct entity *e, u64 weight);
void fair_no_pass(struct fair_queue *q, struct entity *e);
/* With HRTICK the turn ends with the slice; else at a tick. */
u64 fair_turn_of_slice(struct rq *rq, struct entity *e);
/* Nobody is nominated, though NEXT_BUDDY would nominate any task that wakes up. */
void fair_no_nominate(struct fair_queue *q, struct entity *e);
bool fair_none_nominated(const struct fair_queue *q, const struct entity *e);
bool fair_nominates_woken(const struct fair_queue *q);
/* Progress is vruntime; nobody is ahead. */
u64 fair_progress_of_vruntime(const struct fair_queue *q, const struct entity *e);
u64 fair_no_progress(const struct fair_queue *q, const struct entity *e);
/* The shares that were set. */
u64 fair_shares(const struct task_group *tg);
/* Placement by load and idleness alone. */
int fair_no_select_cpu(struct sched *s, const struct task *t, unsigned prev, unsigned target);
/*
 * Hooks that do nothing: of a policy that keeps no state, or one that place() sets completely, and
 * that derives nothing from tunables or parents.
 */
void fair_no_reset(struct entity *e);
void fair_no_fork(struct sched *s, struct task *parent, struct task *child, unsigned flags);
void fair_no_tuned(struct rq *rq);
void fair_no_init_queue(struct fair_queue *q);
void fair_no_demand(struct entity *e);
void fair_no_params(const struct task_group *tg, struct task_group_params *out);
void fair_no_forget_group(struct sched *s, struct task_group *tg);
/* The queue has no numbers to show; an entity has its vruntime. */
#define FAIR_KEY_COLUMNS "         tree-key"
void fair_dump_nothing(struct entity *e, struct text *out);
void fair_dump_no_queue(struct fair_queue *q, struct text *out);
void fair_dump_vruntime(struct entity *e, struct text *out);
/* check.c's invariants are all. */
void fair_check_nothing(struct fair_queue *q);
/* The key of the timeline is all there is to an entity; the queue has no virtual time. */
void fair_numbers_of_key(struct fair_queue *q, struct entity *e, unsigned where,
			 struct decision_numbers *n);
void fair_candidates(struct run *run, struct fair_queue *q);
void fair_no_queue_numbers(struct fair_queue *q, struct queue_numbers *n);
/* A yield does nothing; leave() keeps nobody; nobody preempts; charging changes nothing. */
void fair_no_yield(struct fair_queue *q, struct entity *e);
bool fair_just_leave(struct fair_queue *q, struct entity *e, unsigned flags);
bool fair_no_preempts(struct fair_queue *q, struct entity *curr, struct entity *woken,
		      unsigned flags);
void fair_no_charge(struct fair_queue *q, struct entity *e, u64 delta);
/* The first in the order of the timeline, among which the running entity counts. */
struct entity *fair_pick_first(struct fair_queue *q);
/* The running entity has run for its slice since it was picked. */
bool fair_slice_expired(struct fair_queue *q, struct entity *e);

/*
 * A policy's table begins with the defaults and then says what differs. There is none for name,
 * key, place and slice.
 */
#pragma GCC diagnostic ignored "-Woverride-init"
#define FAIR_DEFAULTS                                                                              \
	.hooks.charge = fair_no_charge, .hooks.pick = fair_pick_first,                             \
	.hooks.tick_expired = fair_slice_expired, .hooks.preempts = fair_no_preempts,              \
	.hooks.leave = fair_just_leave, .hooks.yield = fair_no_yield,                              \
	.hooks.reweight = fair_no_reweight, .choose_hooks = fair_own_hooks,                        \
	.init_queue = fair_no_init_queue, .demand = fair_no_demand, .params = fair_no_params,      \
	.nominate = fair_no_nominate, .nominated = fair_none_nominated,                            \
	.nominates_woken = fair_nominates_woken, .progress = fair_progress_of_vruntime,            \
	.weight = weight_of_task, .pass = fair_no_pass, .shares = fair_shares,                     \
	.turn = fair_turn_of_slice, .select_cpu = fair_no_select_cpu, .reset = fair_no_reset,      \
	.fork = fair_no_fork, .tuned = fair_no_tuned, .forget_group = fair_no_forget_group,        \
	.numbers = fair_numbers_of_key, .candidates = fair_candidates,                             \
	.queue_numbers = fair_no_queue_numbers, .hooks.pick_rule = RULE_policy_order,              \
	.hooks.tick_expired_rule = RULE_slice, .hooks.preempts_rule = RULE_policy_preempts,        \
	.dump = fair_dump_nothing, .dump_queue = fair_dump_no_queue,                               \
	.key_columns = FAIR_KEY_COLUMNS, .dump_key = fair_dump_vruntime,                           \
	.check = fair_check_nothing

/* The promises of a policy that orders tasks by a virtual time: fair/trait.def. */
#define TRAITS_OF_VIRTUAL_TIME                                                                     \
	(BIT(TRAIT_EVEN) | BIT(TRAIT_DETERMINISTIC) | BIT(TRAIT_WEIGHTED) |                        \
	 BIT(TRAIT_EVEN_ON_CPUS) | BIT(TRAIT_CARRIES_ORDER) | BIT(TRAIT_IDLE_YIELDS))

#define POLICY(name, queue_bytes, group_bytes) extern const struct fair_policy name##_policy;
#define GUEST(name, queue_bytes)
#include "sched/fair/policies.def"
#undef GUEST
#undef POLICY

/* List the policies of @s, @guest the last of them if it is not NULL. */
void fair_init_policies(struct sched *s, const struct fair_policy *guest);

#define for_each_policy(p, s)                                                                      \
	for (const struct fair_policy *const *at_ = (s)->policy; (p = *at_); at_++)

/* The policy of @s called @name, NULL if there is none; a NULL name means the default. */
const struct fair_policy *fair_policy_find(const struct sched *s, const char *name);

static inline bool policy_has(const struct fair_policy *policy, enum sched_trait trait)
{
	return policy->traits & BIT(trait);
}
