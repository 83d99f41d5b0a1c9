/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of sched_ext and of BPF, by the names under which programs know them
 * (include/scx/common.bpf.h). Each acts for the operation that is being called.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "lib/errno.h"
#include "sim/engine/util.h"
#include "sim/scx/binding.h"
#include "sim/scx/include/scx/functions.h"

/* A fault of the program, in its own words. */
static void fault(const char *what)
{
	ext_report(scx.call, EXT_EXIT_ERROR, 0, what);
}

/* The task that @p means; NULL and a fault if it is none of the program's. */
static struct task *task_of(const struct task_struct *p)
{
	struct task *t = scx_task(p);

	if (!t)
		fault("the idle task or NULL is given for a task");
	return t;
}

/* --- dispatch queues ------------------------------------------------------ */

s32 scx_bpf_create_dsq(u64 dsq, s32 node)
{
	(void)node;
	return ext_create_dsq(scx.call, dsq);
}

void scx_bpf_destroy_dsq(u64 dsq)
{
	ext_destroy_dsq(scx.call, dsq);
}

s32 scx_bpf_dsq_nr_queued(u64 dsq)
{
	return ext_dsq_nr(scx.call, dsq);
}

void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq, u64 slice, u64 enq_flags)
{
	struct task *t = task_of(p);

	if (t)
		ext_insert(scx.call, t, dsq, slice, enq_flags);
}

void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 enq_flags)
{
	struct task *t = task_of(p);

	if (t)
		ext_insert_vtime(scx.call, t, dsq, slice, vtime, enq_flags);
}

u32 scx_bpf_dispatch_nr_slots(void)
{
	return ext_slots(scx.call);
}

void scx_bpf_dispatch_cancel(void)
{
	ext_cancel(scx.call);
}

bool scx_to_local(u64 dsq)
{
	return ext_move_to_local(scx.call, dsq);
}

u32 scx_bpf_reenqueue_local(void)
{
	return ext_reenqueue_local(scx.call);
}

/* --- walks ---------------------------------------------------------------- */

struct walk {
	struct ext_iter it;
	bool there, sets_slice, sets_vtime;
	u64 slice, vtime;
};

struct bpf_iter_scx_dsq scx_iter_begin_scx_dsq(u64 dsq, u64 flags)
{
	struct walk *w = allocate(1, sizeof(*w));

	w->there = !ext_iter_begin(scx.call, &w->it, dsq, flags);
	return (struct bpf_iter_scx_dsq){ w };
}

struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it)
{
	struct walk *w = it->walk;
	struct task *t = w->there ? ext_iter_next(scx.call, &w->it) : NULL;

	return t ? scx_see(t) : NULL;
}

void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it)
{
	struct walk *w = it->walk;

	if (w->there)
		ext_iter_end(scx.call, &w->it);
	free(w);
}

void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice)
{
	struct walk *w = it->walk;

	w->slice = slice;
	w->sets_slice = true;
}

void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime)
{
	struct walk *w = it->walk;

	w->vtime = vtime;
	w->sets_vtime = true;
}

static bool move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 flags)
{
	struct walk *w = it->walk;
	struct task *t = task_of(p);
	struct ext_moved how = { w->sets_slice ? &w->slice : NULL,
				 w->sets_vtime ? &w->vtime : NULL };

	w->sets_slice = w->sets_vtime = false;
	return t && w->there && ext_move(scx.call, &w->it, t, dsq, flags, &how);
}

bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq, u64 enq_flags)
{
	return move(it, p, dsq, enq_flags);
}

bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq,
			    u64 enq_flags)
{
	return move(it, p, dsq, enq_flags | EXT_ENQ_PRIQ);
}

/* --- CPUs ----------------------------------------------------------------- */

s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 wake_flags, bool *is_idle)
{
	struct task *t = task_of(p);

	*is_idle = false;
	return t ? ext_select_default(scx.call, t, prev, wake_flags, is_idle) : prev;
}

void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	if (flags & 4)
		fault("SCX_KICK_WAIT is not there yet");
	else
		ext_kick(scx.call, cpu, flags);
}

bool scx_bpf_test_and_clear_cpu_idle(s32 cpu)
{
	return ext_take_idle(scx.call, cpu);
}

s32 scx_bpf_pick_idle_cpu(const struct cpumask *mask, u64 flags)
{
	return ext_pick_idle(scx.call, mask, flags);
}

s32 scx_bpf_pick_any_cpu(const struct cpumask *mask, u64 flags)
{
	return ext_pick_any(scx.call, mask, flags);
}

const struct cpumask *scx_bpf_get_idle_cpumask(void)
{
	return ext_idle_mask(scx.call, false);
}

const struct cpumask *scx_bpf_get_idle_smtmask(void)
{
	return ext_idle_mask(scx.call, true);
}

const struct cpumask *scx_bpf_get_possible_cpumask(void)
{
	static struct cpumask possible;

	possible = cpumask_first_n(scx.sim->config.nr_cpus);
	return &possible;
}

const struct cpumask *scx_bpf_get_online_cpumask(void)
{
	static struct cpumask online;

	online = cpumask_first_n(scx.sim->config.nr_cpus);
	for (u32 cpu = 0; cpu < scx.sim->config.nr_cpus; cpu++)
		if (scx.sim->cpus[cpu].offline)
			cpumask_clear(&online, cpu);
	return &online;
}

u32 scx_bpf_nr_cpu_ids(void)
{
	return scx.sim->config.nr_cpus;
}

struct task_struct *scx_bpf_cpu_curr(s32 cpu)
{
	if (cpu < 0 || (u32)cpu >= scx.sim->config.nr_cpus)
		return NULL;
	return scx_see(ext_running(scx.call, (u32)cpu));
}

struct rq *scx_bpf_cpu_rq(s32 cpu)
{
	static struct rq rq;

	rq = (struct rq){ .curr = scx_bpf_cpu_curr(cpu), .cpu = (u32)cpu, .clock = scx_bpf_now() };
	return rq.curr ? &rq : NULL;
}

bool scx_bpf_task_running(const struct task_struct *p)
{
	const struct task *t = task_of(p);

	return t && ext_running(scx.call, t->cpu) == t;
}

s32 scx_bpf_task_cpu(const struct task_struct *p)
{
	const struct task *t = task_of(p);

	return t ? (s32)t->cpu : -1;
}

u64 scx_bpf_now(void)
{
	return ext_now(scx.call, scx.sim->this_cpu);
}

/* Frequencies are the governors' here: every CPU has its whole capacity, and keeps it. */
u32 scx_bpf_cpuperf_cap(s32 cpu)
{
	(void)cpu;
	return 1024;
}

u32 scx_bpf_cpuperf_cur(s32 cpu)
{
	(void)cpu;
	return 1024;
}

void scx_bpf_cpuperf_set(s32 cpu, u32 perf)
{
	(void)cpu, (void)perf;
}

/* --- masks ---------------------------------------------------------------- */

bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return cpu < CPU_MAX && cpumask_test(mask, cpu);
}

u32 bpf_cpumask_first(const struct cpumask *mask)
{
	return cpumask_first(mask);
}

u32 bpf_cpumask_weight(const struct cpumask *mask)
{
	return cpumask_weight(mask);
}

bool bpf_cpumask_empty(const struct cpumask *mask)
{
	return cpumask_empty(mask);
}

bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	return cpumask_intersects(a, b);
}

bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
	return cpumask_subset(a, b);
}

/* --- tasks, time and chance ----------------------------------------------- */

struct task_struct *bpf_task_from_pid(s32 pid)
{
	struct task_struct *p = pid > 0 && (u32)pid < scx.nr_tasks ? scx.task[pid] : NULL;

	return p ? scx_see(scx_task(p)) : NULL;
}

u64 bpf_ktime_get_ns(void)
{
	return scx.sim->now;
}

u32 bpf_get_smp_processor_id(void)
{
	return scx.sim->this_cpu;
}

u32 bpf_get_prandom_u32(void)
{
	return (u32)prng_u64(&scx.rng);
}

void scx_bpf_error(const char *format, ...)
{
	char text[EXT_MESSAGE_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ext_report(scx.call, EXT_EXIT_ERROR_BPF, 0, text);
}

void scx_bpf_exit(s64 code, const char *format, ...)
{
	char text[EXT_MESSAGE_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ext_report(scx.call, EXT_EXIT_UNREG_BPF, code, text);
}

/* --- timers --------------------------------------------------------------- */

typedef int (*timer_function)(void *map, int *key, struct bpf_timer *timer);

struct timer {
	struct sim_call call;
	struct bpf_timer *owner;
	void *map;
	timer_function function;
};
static struct timer timers[64];
static u32 nr_timers;

static struct timer *timer_of(struct bpf_timer *timer)
{
	bool known = timer->id && timer->id <= nr_timers && timers[timer->id - 1].owner == timer;

	return known ? &timers[timer->id - 1] : NULL;
}

static void call_back(struct ext_call *c, void *argument)
{
	struct timer *t = argument;
	int key = 0;

	scx.call = c;
	t->function(t->map, &key, t->owner);
	scx.call = NULL;
}

static void expire(struct sim *sim, struct sim_call *call)
{
	sched_ext_outside(sim->s, call_back, container_of(call, struct timer, call));
}

long bpf_timer_init(struct bpf_timer *timer, void *map, u64 flags)
{
	(void)flags;
	if (timer_of(timer))
		return -EBUSY;
	if (nr_timers == ARRAY_SIZE(timers))
		return -ENOMEM;
	timers[nr_timers] = (struct timer){ .owner = timer, .map = map };
	timer->id = ++nr_timers;
	return 0;
}

long bpf_timer_set_callback(struct bpf_timer *timer, void *callback)
{
	struct timer *t = timer_of(timer);

	if (!t)
		return -EINVAL;
	t->function = (timer_function)callback;
	return 0;
}

long bpf_timer_start(struct bpf_timer *timer, u64 ns, u64 flags)
{
	struct timer *t = timer_of(timer);
	u64 now = scx.sim->now;

	if (!t || !t->function)
		return -EINVAL;
	sim_call_at(scx.sim, &t->call, flags & 1 ? max(ns, now) : now + max(ns, (u64)1), expire);
	return 0;
}

long bpf_timer_cancel(struct bpf_timer *timer)
{
	struct timer *t = timer_of(timer);

	return t ? sim_call_cancel(scx.sim, &t->call) : -EINVAL;
}
