/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Idle CPUs as loaded schedulers see them: the masks, taking one, and the default choice of a CPU.
 *
 * Lock: none; bits of the masks change atomically. Source: Linux 6.12 (docs/sources.md).
 */
#include "sched/balance/domain.h"
#include "sched/ext/ext.h"
#include "lib/errno.h"

/* --- masks ---------------------------------------------------------------- */

static void core_is_busy(struct ext *x, const struct cpumask *core)
{
	u32 sibling;

	for_each_cpu(sibling, core)
		cpumask_clear_atomic(&x->cores, sibling);
}

void ext_idles(struct ext_rq *er, bool idle, bool change)
{
	struct ext *x = er->x;
	const struct cpumask *core = &er->rq->core->cpus;
	u32 cpu = er->rq->cpu, sibling;

	debug_assert_locked(er->rq);
	idle = idle && er->rq->online;
	if (change)
		EXT_OP(er, EXT_OTHER, NULL, update_idle, (s32)cpu, idle);
	if (!x->builtin_idle)
		return;
	if (!idle) {
		cpumask_clear_atomic(&x->idle, cpu);
		core_is_busy(x, core);
		return;
	}
	cpumask_set_atomic(&x->idle, cpu);
	if (cpumask_subset(core, &x->idle))
		for_each_cpu(sibling, core)
			cpumask_set_atomic(&x->cores, sibling);
}

static bool take(struct ext *x, u32 cpu)
{
	const struct cpumask *core = &cpu_rq(x->s, cpu)->core->cpus;
	u64 bit = BIT(cpu % 64);

	if (cpumask_intersects(core, &x->cores))
		core_is_busy(x, core);
	return __atomic_fetch_and(&x->idle.bits[cpu / 64], ~bit, __ATOMIC_ACQ_REL) & bit;
}

/* CPUs in both of two masks; one may stand in twice. */
struct within {
	const struct cpumask *a, *b;
};

/*
 * A CPU of @mask and @w, each in its turn; CPU_MAX if there is none. No mask of them all is made:
 * masks of large machines are long, and few words of them are read here.
 */
static u32 distribute(struct ext *x, const struct cpumask *mask, struct within w)
{
	u32 nr = (x->s->nr_cpus + 63) / 64, from = READ_ONCE(x->distribute) + 1;
	u64 early = BIT(from % 64) - 1; /* their turn is past, so they come last */

	for (u32 i = 0; i <= nr; i++) {
		u32 at = (from / 64 + i) % nr;
		u64 word = mask->bits[at] & w.a->bits[at] & w.b->bits[at];

		if (!i)
			word &= ~early;
		if (word) {
			u32 cpu = at * 64 + (u32)__builtin_ctzll(word);

			WRITE_ONCE(x->distribute, cpu);
			return cpu;
		}
	}
	return CPU_MAX;
}

/* An idle CPU of @w, taken; CPU_MAX if there is none. CPUs of idle cores come first. */
static u32 take_any(struct ext *x, struct within w, u64 flags)
{
	for (;;) {
		u32 cpu = distribute(x, &x->cores, w);

		if (cpu == CPU_MAX && !(flags & EXT_PICK_IDLE_CORE))
			cpu = distribute(x, &x->idle, w);
		if (cpu == CPU_MAX || take(x, cpu))
			return cpu;
	}
}

/* --- the default choice --------------------------------------------------- */

/* A search for an idle CPU among those that a task may use. */
struct search {
	struct task *t;
	const struct cpumask *mask; /* its CPUs are those of this one, too */
	u32 prev, waker;
	u64 wake_flags;
	bool cores; /* only idle cores will do */
};

static bool may_use(const struct search *q, u32 cpu)
{
	return task_allowed(q->t, cpu) && cpumask_test(q->mask, cpu);
}

/* A waker that is about to sleep gives its CPU, if others idle and nobody waits there. */
static bool gives_way(struct ext *x, const struct search *q)
{
	return (q->wake_flags & WAKE_SYNC) && !cpumask_empty(&x->idle) &&
	       !READ_ONCE(x->cpu[q->waker].local.nr) && may_use(q, q->waker);
}

/* The CPU that was found, and taken if it idled; CPU_MAX if there is none. */
static u32 select_idle(struct ext *x, const struct search *q)
{
	bool many = q->t->nr_allowed > 1, prev_may = may_use(q, q->prev);
	struct within w = { q->mask, &q->t->allowed };
	u32 cpu;

	if (many && gives_way(x, q))
		return q->waker;
	if (many) {
		if (prev_may && cpumask_test(&x->cores, q->prev) && take(x, q->prev))
			return q->prev;
		cpu = take_any(x, w, EXT_PICK_IDLE_CORE);
		if (cpu != CPU_MAX || q->cores)
			return cpu;
	}
	if (prev_may && take(x, q->prev))
		return q->prev;
	return many ? take_any(x, w, 0) : CPU_MAX;
}

static u32 select_default(struct ext *x, struct task *t, u32 prev, u32 waker, u64 wake_flags,
			  bool *idle)
{
	u32 cpu =
		select_idle(x, &(struct search){ t, &t->allowed, prev, waker, wake_flags, false });

	*idle = cpu != CPU_MAX;
	return *idle ? cpu : prev;
}

/* The scheduler's choice, or the default, which takes an idle CPU's local queue at once. */
static u32 choose(struct ext_rq *er, struct task *t, u32 cpu, u64 wake_flags)
{
	struct ext *x = er->x;
	struct ext_task *e = ext_part(t);
	bool idle;
	s32 to;

	debug_assert_locked(er->rq);
	class_because(er->rq, REASON_chosen);
	if (x->ops->select_cpu && !x->bypass) {
		struct ext_call call = { .x = x, .er = er, .kind = EXT_SELECT, .t = t, .cpu = cpu };

		e->at.selected = true;
		to = x->ops->select_cpu(&call, t, (s32)t->cpu, wake_flags);
		if (to >= 0 && (u32)to < x->s->nr_cpus)
			return (u32)to;
		ext_fault(x, er, "select_cpu returned the invalid CPU %d", to);
		return t->cpu;
	}
	to = (s32)select_default(x, t, t->cpu, cpu, wake_flags, &idle);
	class_because(er->rq, idle ? REASON_default_idle : REASON_default_busy);
	if (x->bypass)
		ext_count(er, EXT_EV_BYPASS_DISPATCH);
	if (idle) {
		ext_refill(er, t);
		e->at.direct = true;
		e->direct_dsq = EXT_DSQ_LOCAL;
	}
	return (u32)to;
}

unsigned ext_select_cpu(struct rq *rq, struct task *t, unsigned cpu, unsigned reason)
{
	struct ext_rq *er = ext_of(rq);
	u32 to = t->cpu;

	debug_assert_locked(rq);
	if (!(reason & SELECT_EXEC)) {
		ext_part(t)->at.direct = false;
		ext_part(t)->direct_flags = 0;
		class_because(rq, REASON_only_cpu);
		if (t->nr_allowed > 1)
			to = choose(er, t, cpu, reason & (SELECT_WAKE | SELECT_FORK | SELECT_SYNC));
	}
	if (task_may_be_on(t, cpu_rq(rq->s, to)))
		return to;
	if (t->nr_allowed > 1 && !(reason & SELECT_EXEC))
		ext_count(er, EXT_EV_SELECT_CPU_FALLBACK);
	class_because(rq, REASON_only_allowed);
	return any_allowed_cpu(rq->s, t);
}

/* --- what an operation may do --------------------------------------------- */

bool ext_cpu_is_valid(struct ext_call *c, s32 cpu)
{
	if (cpu >= 0 && (u32)cpu < c->x->s->nr_cpus)
		return true;
	ext_fault(c->x, c->er, "invalid CPU %d", cpu);
	return false;
}

static bool idle_is_known(struct ext_call *c)
{
	if (!c->x->builtin_idle)
		ext_fault(c->x, c->er, "built-in idle tracking is disabled");
	return c->x->builtin_idle;
}

s32 ext_select_default(struct ext_call *c, struct task *t, s32 prev, u64 wake_flags, bool *idle)
{
	u32 waker = c->kind == EXT_SELECT ? c->cpu : t->cpu;

	*idle = false;
	if (!ext_cpu_is_valid(c, prev) || !idle_is_known(c))
		return prev;
	return (s32)select_default(c->x, t, (u32)prev, waker, wake_flags, idle);
}

s32 ext_select_within(struct ext_call *c, struct task *t, s32 prev, u64 wake_flags,
		      const struct cpumask *mask, u64 flags)
{
	struct search q = { t,		mask,
			    (u32)prev,	c->kind == EXT_SELECT ? c->cpu : t->cpu,
			    wake_flags, flags & EXT_PICK_IDLE_CORE };
	u32 cpu;

	if (!ext_cpu_is_valid(c, prev) || !idle_is_known(c))
		return -EBUSY;
	cpu = select_idle(c->x, &q);
	return cpu == CPU_MAX ? -EBUSY : (s32)cpu;
}

bool ext_take_idle(struct ext_call *c, s32 cpu)
{
	return ext_cpu_is_valid(c, cpu) && idle_is_known(c) && take(c->x, (u32)cpu);
}

s32 ext_pick_idle(struct ext_call *c, const struct cpumask *mask, u64 flags)
{
	u32 cpu = idle_is_known(c) ? take_any(c->x, (struct within){ mask, mask }, flags) : CPU_MAX;

	return cpu == CPU_MAX ? -EBUSY : (s32)cpu;
}

s32 ext_pick_any(struct ext_call *c, const struct cpumask *mask, u64 flags)
{
	u32 cpu =
		c->x->builtin_idle ? take_any(c->x, (struct within){ mask, mask }, flags) : CPU_MAX;

	if (cpu == CPU_MAX)
		cpu = distribute(c->x, &c->x->s->online, (struct within){ mask, mask });
	return cpu == CPU_MAX ? -EBUSY : (s32)cpu;
}

const struct cpumask *ext_idle_mask(struct ext_call *c, bool cores)
{
	idle_is_known(c);
	return cores ? &c->x->cores : &c->x->idle;
}
