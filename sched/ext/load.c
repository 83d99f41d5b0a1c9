/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler comes and goes. While it is loaded the class has policies of the fair class, and the
 * machine's copy of the idle class tells it which CPUs idle: so nobody pays for it before.
 */
#include "sched/core/observers.h"
#include "sched/core/task.h"
#include "sched/ext/ext.h"
#include "lib/errno.h"
#include "lib/fmt.h"

#define ERROR_MAX	4095 /* the largest number of an error */
#define SCX_ACT_RESTART (1ll << 48)
#define SCX_RSN_HOTPLUG (1ll << 32)

/* The loaded scheduler, or NULL. */
static struct ext *loaded(const struct sched *s)
{
	const struct ext_rq *er = ext_of(s->rq_of[0]);

	return er ? er->x : NULL;
}

/* --- tasks ---------------------------------------------------------------- */

static u32 weight_of(const struct task *t)
{
	u32 weight = t->policy == SCHED_IDLE ? 3 : sched_nice_weight(PRIO_TO_NICE(t->static_prio));

	return max((weight * 100 + 512) / 1024, 1u);
}

void ext_set_attr(struct task *t, const struct sched_attr_req *req)
{
	struct ext_seen *seen = ext_part(t)->seen;

	(void)req;
	if (!seen)
		return;
	seen->weight = weight_of(t);
	EXT_OP(ext_of(t->fair.queue->rq), EXT_OTHER, t, set_weight, t, seen->weight);
}

void ext_join(struct rq *rq, struct task *t, bool runnable)
{
	struct ext_rq *er = ext_of(rq);
	struct ext_task *e = ext_part(t);
	const struct ext_ops *ops = er->x->ops;
	struct ext_call call = { .x = er->x, .er = er, .kind = EXT_OTHER, .t = t };
	bool fork = t->state == TASK_NEW;
	s32 err = 0;

	(void)runnable;
	debug_assert_locked(rq);
	e->at.moves = false;
	list_init(&e->queued);
	list_init(&e->at.list);
	e->seen = ops->attach(&call, t);
	e->seen->slice = EXT_SLICE_DEFAULT;
	e->seen->weight = weight_of(t);
	if (ops->init_task)
		err = ops->init_task(&call, t, fork);
	if (err)
		ext_fault(er->x, er, "init_task of %s[%d] failed (%d)", t->comm, t->pid, err);
	if (ops->enable)
		ops->enable(&call, t);
	EXT_OP(er, EXT_OTHER, t, set_weight, t, e->seen->weight);
	/* As on Linux a new task has the CPUs of its parent, and nobody tells them. */
	if (!fork)
		EXT_OP(er, EXT_OTHER, t, set_cpumask, t, &t->allowed);
}

void ext_quit(struct rq *rq, struct task *t, bool runnable)
{
	struct ext_rq *er = ext_of(rq);
	struct ext_task *e = ext_part(t);
	const struct ext_ops *ops;
	struct ext_call call;

	(void)runnable;
	debug_assert_locked(rq);
	if (!e->seen)
		return;
	ops = er->x->ops;
	call = (struct ext_call){ .x = er->x, .er = er, .kind = EXT_OTHER, .t = t };
	if (ops->disable)
		ops->disable(&call, t);
	if (ops->exit_task)
		ops->exit_task(&call, t);
	e->seen = NULL;
	ops->detach(&call, t);
}

/* --- groups --------------------------------------------------------------- */

s32 sched_ext_regroup(struct sched *s, struct task *t, struct task_group *to,
		      enum ext_regroup_step step)
{
	struct rq *rq = task_rq_lock(s, t);
	struct ext_rq *er = ext_of(rq);
	struct ext_call call = { .x = er ? er->x : NULL, .er = er, .kind = EXT_OTHER, .t = t };
	bool goes = step == EXT_REGROUP_PREPARE;
	s32 err = 0;

	if (er && !er->x->bypass && t->class->rank == CLASS_ext && ext_part(t)->seen &&
	    t->group != to && ext_part(t)->at.moves != goes) {
		if (er->x->ops->regroup)
			err = er->x->ops->regroup(&call, t, t->group, to, step);
		ext_part(t)->at.moves = goes && !err;
	}
	rq_unlock(rq);
	return err;
}

void ext_regroup(struct rq *rq, struct task *t, struct task_group *tg, bool runnable)
{
	struct task_group *from = t->group;

	(void)runnable;
	task_set_group(rq->s, t, tg);
	if (ext_part(t)->seen && ext_part(t)->at.moves)
		EXT_OP(ext_of(rq), EXT_OTHER, t, regroup, t, from, tg, EXT_REGROUP_DONE);
	ext_part(t)->at.moves = false;
}

int ext_admit(struct sched *s, const struct admission_request *request)
{
	struct task *t = request->t;

	(void)s;
	if (request->what == ADMIT_AFFINITY && ext_part(t)->seen)
		EXT_OP(ext_of(request->rq), EXT_OTHER, t, set_cpumask, t, request->allowed);
	return 0;
}

void sched_ext_settle(struct sched *s, struct task *t)
{
	struct rq *rq = task_rq_lock(s, t);
	const struct sched_class *class = class_of_policy(s, t->policy);
	struct sched_attr_req req;
	struct change c;

	if (t->class->fixture || t->class == class ||
	    (t->state == TASK_DEAD && t->on_rq == TASK_OFF_RQ)) {
		rq_unlock(rq);
		return;
	}
	sched_get_attr(t, &req);
	req.clamps = 0;
	c = change_begin(rq, t, QUEUE_MOVE);
	if (t->class->params.quit)
		t->class->params.quit(rq, t, task_is_runnable(t));
	task_set_params(t, class, &req);
	if (t->state != TASK_NEW && class->params.join)
		class->params.join(rq, t, task_is_runnable(t));
	change_end(rq, t, c, QUEUE_MOVE);
	observe_change(rq, t);
	if (c.queued && c.running)
		resched(rq);
	else if (c.queued)
		check_preempt(rq, t, 0);
	rq_unlock(rq);
}

/* --- news about a CPU ----------------------------------------------------- */

/* A scheduler that does not know what to do about it is to be loaded anew. */
static void hotplugs(struct ext_rq *er, bool comes)
{
	const struct ext_ops *ops = er->x->ops;
	s32 cpu = (s32)er->rq->cpu;

	debug_assert_locked(er->rq);
	if (comes && ops->cpu_online)
		EXT_OP(er, EXT_OTHER, NULL, cpu_online, cpu);
	else if (!comes && ops->cpu_offline)
		EXT_OP(er, EXT_OTHER, NULL, cpu_offline, cpu);
	else
		ext_end(er->x, er, EXT_EXIT_UNREG_KERN, SCX_ACT_RESTART | SCX_RSN_HOTPLUG,
			"cpu %d going %s, exiting scheduler", cpu, comes ? "online" : "offline");
}

static void ext_notice(struct rq *rq, enum class_notice notice)
{
	struct ext_rq *er = ext_of(rq);

	switch (notice) {
	case NOTICE_TIMER:
		ext_watch(er);
		break;
	case NOTICE_POKE:
		ext_hear(er);
		break;
	case NOTICE_ONLINE:
		hotplugs(er, true);
		break;
	case NOTICE_OFFLINE:
		ext_idles(er, false, true);
		hotplugs(er, false);
		break;
	case NOTICE_EMPTY:
		er->watch_at = 0;
		break;
	default:
		break;
	}
}

static u64 ext_next_timer(struct rq *rq)
{
	return ext_of(rq)->watch_at;
}

static void idle_begins(struct rq *rq, struct task *t)
{
	rq->s->class_own[CLASS_idle]->set_next(rq, t);
	if (ext_of(rq))
		ext_idles(ext_of(rq), true, true);
}

/* Once it has run something the CPU looks for more. */
static void idle_ends(struct rq *rq, struct task *t)
{
	rq->s->class_own[CLASS_idle]->put_prev(rq, t);
	if (!ext_of(rq))
		return;
	class_set_active(rq, CLASS_ext, rq->online);
	ext_idles(ext_of(rq), false, true);
}

/* --- loading -------------------------------------------------------------- */

size_t sched_ext_size(unsigned nr_cpus, unsigned nr_dsqs)
{
	return sizeof(struct ext) + nr_cpus * sizeof(struct ext_rq) +
	       nr_dsqs * sizeof(struct ext_dsq) +
	       (size_t)nr_cpus * nr_cpus * (sizeof(u32) + sizeof(u8));
}

static void init_memory(struct ext *x, struct sched *s, unsigned nr_dsqs, const struct ext_ops *ops)
{
	u32 *numbers;

	x->s = s;
	x->ops = ops;
	x->batch = ops->dispatch_max_batch ?: EXT_BATCH;
	x->timeout_ns = (ops->timeout_ms ?: EXT_TIMEOUT_MS) * NS_PER_MS;
	x->builtin_idle = !ops->update_idle || (ops->flags & EXT_OPS_KEEP_BUILTIN_IDLE);
	x->lock.rank = HOST_RANK_LEAF;
	x->dsq = (struct ext_dsq *)&x->cpu[s->nr_cpus];
	x->nr_dsqs = nr_dsqs;
	ext_dsq_init(&x->global, EXT_DSQ_GLOBAL);
	for (u32 i = 0; i < nr_dsqs; i++)
		ext_dsq_init(&x->dsq[i], EXT_DSQ_INVALID);
	numbers = (u32 *)&x->dsq[nr_dsqs];
	for (u32 cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct ext_rq *er = &x->cpu[cpu];

		er->rq = cpu_rq(s, cpu);
		er->x = x;
		er->number = numbers + cpu * s->nr_cpus;
		er->how = (u8 *)(numbers + s->nr_cpus * s->nr_cpus) + cpu * s->nr_cpus;
		ext_dsq_init(&er->local, EXT_DSQ_LOCAL);
		list_init(&er->queued);
		list_init(&er->deferred);
	}
}

static void set_part(struct rq *rq, struct ext_rq *er)
{
	debug_assert_locked(rq);
	*(struct ext_rq **)rq->class_state.ext = er;
}

/* The policies of which tasks are the scheduler's. */
static void take_policies(struct sched *s, u32 mine)
{
	u32 all = s->class_own[CLASS_fair]->policies;

	WRITE_ONCE(s->class_copy[CLASS_ext].policies, mine & all);
	WRITE_ONCE(s->class_copy[CLASS_fair].policies, all & ~mine);
}

/* The class has its part of each runqueue, and hears of all CPUs. */
static void open(struct ext *x)
{
	struct sched *s = x->s;
	u32 cpu;

	s->class_copy[CLASS_idle].set_next = idle_begins;
	s->class_copy[CLASS_idle].put_prev = idle_ends;
	for_each_cpu(cpu, &s->possible) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		set_part(rq, &x->cpu[cpu]);
		rq->seeking = BIT(CLASS_ext);
		if (rq->online && is_idle_task(rq->curr))
			ext_idles(&x->cpu[cpu], true, true);
		else
			class_set_active(rq, CLASS_ext, rq->online);
		rq_unlock(rq);
	}
	s->class_copy[CLASS_ext].next_timer = ext_next_timer;
	s->class_copy[CLASS_ext].notice = ext_notice;
	take_policies(s, ext_is_partial(x) ? BIT(SCHED_EXT) : ~0u);
}

/* Names of the errors that functions of the interface return; "" of others. */
static const char *name_of_error(s32 err)
{
	static const char *const names[] = {
		[EPERM] = "EPERM",   [ENOENT] = "ENOENT", [E2BIG] = "E2BIG",
		[ENOMEM] = "ENOMEM", [EBUSY] = "EBUSY",	  [EEXIST] = "EEXIST",
		[ENODEV] = "ENODEV", [EINVAL] = "EINVAL", [ENOSPC] = "ENOSPC",
	};
	s64 number = -(s64)err;

	return number > 0 && number < (s64)ARRAY_SIZE(names) ? names[number] ?: "" : "";
}

/* Its init returned @err, not 0. Returns an error in any case. */
static int init_failed(struct ext *x, s32 err)
{
	const char *name = name_of_error(err);

	if (err > 0 || err < -ERROR_MAX) {
		ext_fault(x, NULL, "its init failed: %d, which is no error", err);
		return -EPROTO;
	}
	ext_fault(x, NULL, "its init failed: %d%s%s%s", err, *name ? " (" : "", name,
		  *name ? ")" : "");
	return err;
}

int sched_ext_load(struct sched *s, void *mem, unsigned nr_dsqs, const struct ext_ops *ops)
{
	struct ext *x = mem;
	struct ext_call call = { .x = x, .kind = EXT_OUTSIDE };
	s32 err;

	if (loaded(s))
		return -EBUSY;
	if (!ops->name || !*ops->name || ops->dispatch_max_batch > EXT_BATCH_MAX)
		return -EINVAL;
	init_memory(x, s, nr_dsqs, ops);
	err = ops->init ? ops->init(&call) : 0;
	if (err)
		return init_failed(x, err);
	if (x->ended)
		return -EINVAL;
	open(x);
	return 0;
}

const struct ext_exit *sched_ext_refusal(const void *mem)
{
	return &((const struct ext *)mem)->exit;
}

/* --- unloading ------------------------------------------------------------ */

/* Tasks that the scheduler has, or its queues, go to the global queue. */
static void requeue_all(struct ext_rq *er)
{
	debug_assert_locked(er->rq);
	for (u32 nr = er->nr_queued; nr; nr--) {
		struct ext_task *e = list_first(&er->queued, struct ext_task, queued);
		struct change c = change_begin(er->rq, ext_task_of(e), QUEUE_MOVE);

		change_end(er->rq, ext_task_of(e), c, QUEUE_MOVE);
	}
	if (er->rq->online) {
		class_set_active(er->rq, CLASS_ext, true);
		resched(er->rq);
	}
}

void sched_ext_bypass(struct sched *s)
{
	struct ext *x = loaded(s);
	u32 cpu;

	ext_end(x, NULL, EXT_EXIT_UNREG, 0, "unloaded by its host");
	for_each_cpu(cpu, &s->possible) {
		rq_lock(cpu_rq(s, cpu));
		requeue_all(&x->cpu[cpu]);
		rq_unlock(cpu_rq(s, cpu));
	}
}

void sched_ext_leave(struct sched *s)
{
	take_policies(s, 0);
}

bool sched_ext_is_empty(struct sched *s)
{
	const struct ext *x = loaded(s);
	bool empty = true;
	u32 cpu;

	for_each_cpu(cpu, &s->possible)
		empty &= !READ_ONCE(x->cpu[cpu].nr_queued);
	return empty;
}

const struct ext_exit *sched_ext_unload(struct sched *s)
{
	struct ext *x = loaded(s);
	struct ext_call call = { .x = x, .kind = EXT_OUTSIDE };
	u32 cpu;

	s->class_copy[CLASS_ext].next_timer = s->class_own[CLASS_ext]->next_timer;
	s->class_copy[CLASS_ext].notice = s->class_own[CLASS_ext]->notice;
	for_each_cpu(cpu, &s->possible) {
		struct rq *rq = cpu_rq(s, cpu);

		rq_lock(rq);
		SCHED_ASSERT(!x->cpu[cpu].nr_queued || !"every task was settled before");
		class_set_active(rq, CLASS_ext, false);
		rq->seeking = 0;
		set_part(rq, NULL);
		rq_unlock(rq);
	}
	s->class_copy[CLASS_idle].set_next = s->class_own[CLASS_idle]->set_next;
	s->class_copy[CLASS_idle].put_prev = s->class_own[CLASS_idle]->put_prev;
	if (x->ops->exit)
		x->ops->exit(&call, &x->exit);
	return &x->exit;
}

bool sched_ext_ended(const struct sched *s)
{
	const struct ext *x = loaded(s);

	return x && READ_ONCE(x->ended);
}

const char *sched_ext_name(const struct sched *s)
{
	const struct ext *x = loaded(s);

	return x ? x->ops->name : NULL;
}

void sched_ext_outside(struct sched *s, void (*what)(struct ext_call *, void *), void *argument)
{
	struct ext_call call = { .x = loaded(s), .kind = EXT_OUTSIDE };

	if (call.x && !READ_ONCE(call.x->bypass))
		what(&call, argument);
}
