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

/* A CPU of both masks, each in its turn; CPU_MAX if there is none. */
static u32 distribute(struct ext *x, const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both = cpumask_and(a, b);
	u32 cpu = CPU_MAX;

	if (!cpumask_empty(&both)) {
		cpu = cpumask_next_wrap(&both, READ_ONCE(x->distribute));
		WRITE_ONCE(x->distribute, cpu);
	}
	return cpu;
}

/* An idle CPU of @mask, taken; CPU_MAX if there is none. CPUs of idle cores come first. */
static u32 take_any(struct ext *x, const struct cpumask *mask, u64 flags)
{
	for (;;) {
		u32 cpu = distribute(x, &x->cores, mask);

		if (cpu == CPU_MAX && !(flags & EXT_PICK_IDLE_CORE))
			cpu = distribute(x, &x->idle, mask);
		if (cpu == CPU_MAX || take(x, cpu))
			return cpu;
	}
}

/* --- the default choice --------------------------------------------------- */

/* A waker that is about to sleep gives its CPU, if others idle and nobody waits there. */
static bool gives_way(struct ext *x, const struct task *t, u32 cpu, u64 wake_flags)
{
	return (wake_flags & WAKE_SYNC) && !cpumask_empty(&x->idle) &&
	       !READ_ONCE(x->cpu[cpu].local.nr) && task_allowed(t, cpu);
}

static u32 select_default(struct ext *x, struct task *t, u32 prev, u32 waker, u64 wake_flags,
			  bool *idle)
{
	u32 cpu;

	*idle = true;
	if (t->nr_allowed > 1 && gives_way(x, t, waker, wake_flags))
		return waker;
	if (t->nr_allowed > 1) {
		if (cpumask_test(&x->cores, prev) && task_allowed(t, prev) && take(x, prev))
			return prev;
		cpu = take_any(x, &t->allowed, EXT_PICK_IDLE_CORE);
		if (cpu != CPU_MAX)
			return cpu;
	}
	if (task_allowed(t, prev) && take(x, prev))
		return prev;
	cpu = t->nr_allowed > 1 ? take_any(x, &t->allowed, 0) : CPU_MAX;
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
	if (x->ops->select_cpu && !x->bypass) {
		e->at.selected = true;
		to = x->ops->select_cpu(&(struct ext_call){ x, er, EXT_SELECT, t, cpu }, t,
					(s32)t->cpu, wake_flags);
		if (to >= 0 && (u32)to < x->s->nr_cpus)
			return (u32)to;
		ext_fault(x, er, "select_cpu returned the invalid CPU %d", to);
		return t->cpu;
	}
	to = (s32)select_default(x, t, t->cpu, cpu, wake_flags, &idle);
	if (idle) {
		e->seen->slice = EXT_SLICE_DEFAULT;
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
		if (t->nr_allowed > 1)
			to = choose(er, t, cpu, reason & (SELECT_WAKE | SELECT_FORK | SELECT_SYNC));
	}
	return task_may_be_on(t, cpu_rq(rq->s, to)) ? to : any_allowed_cpu(rq->s, t);
}

/* --- what an operation may do --------------------------------------------- */

static bool cpu_is_valid(struct ext_call *c, s32 cpu)
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
	if (!cpu_is_valid(c, prev) || !idle_is_known(c))
		return prev;
	return (s32)select_default(c->x, t, (u32)prev, waker, wake_flags, idle);
}

bool ext_take_idle(struct ext_call *c, s32 cpu)
{
	return cpu_is_valid(c, cpu) && idle_is_known(c) && take(c->x, (u32)cpu);
}

s32 ext_pick_idle(struct ext_call *c, const struct cpumask *mask, u64 flags)
{
	u32 cpu = idle_is_known(c) ? take_any(c->x, mask, flags) : CPU_MAX;

	return cpu == CPU_MAX ? -EBUSY : (s32)cpu;
}

s32 ext_pick_any(struct ext_call *c, const struct cpumask *mask, u64 flags)
{
	u32 cpu = c->x->builtin_idle ? take_any(c->x, mask, flags) : CPU_MAX;

	if (cpu == CPU_MAX)
		cpu = distribute(c->x, mask, &c->x->s->online);
	return cpu == CPU_MAX ? -EBUSY : (s32)cpu;
}

const struct cpumask *ext_idle_mask(struct ext_call *c, bool cores)
{
	idle_is_known(c);
	return cores ? &c->x->cores : &c->x->idle;
}

void ext_kick(struct ext_call *c, s32 cpu, u64 flags)
{
	struct rq *rq;

	if (!cpu_is_valid(c, cpu))
		return;
	rq = cpu_rq(c->x->s, (u32)cpu);
	if (!READ_ONCE(rq->online))
		return;
	if ((flags & EXT_KICK_IDLE) && !is_idle_task(READ_ONCE(rq->curr)))
		return;
	__atomic_fetch_or(&c->x->cpu[cpu].kick,
			  flags & EXT_KICK_PREEMPT ? KICKED | KICKED_PREEMPT : KICKED,
			  __ATOMIC_RELEASE);
	poke(rq);
}
