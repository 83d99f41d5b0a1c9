/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lab 13: a scheduler for sched_ext. CPU time by weight, and a queue for each last-level cache.
 *
 *	make scx SRC=labs/13-sched-ext/cache.bpf.c
 *	build/schedsim --scx build/scx/cache.so hogs:n=2 hogs:nice=5
 *
 * A task has a vtime, which grows by the CPU time that it used times 100 over its weight; of those
 * that wait in a queue the one with the least runs next, for a slice. A queue has a time, too: the
 * largest vtime with which a task began to run on a CPU of its cache. A vtime means something only
 * beside the time of its queue.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define SLICE	5000000ull /* ns */
#define LLC_MAX 64u

/* The user says how many CPUs share a cache; these have numbers in a row. */
const volatile u32 cpus_per_llc = 4;

/* The time of each queue, and where it begins: the grader's runs pass 2^64. */
const volatile u64 first_time;
static u64 queue_time[LLC_MAX];

/* Of each task. */
struct account {
	u64 charged; /* the CPU time up to which its vtime has grown */
	u32 llc;     /* the queue beside whose time its vtime means something */
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct account);
} accounts SEC(".maps");

/* The account of @p; NULL and the end of this scheduler if there is no memory for it. */
static struct account *account_of(struct task_struct *p)
{
	struct account *a =
		bpf_task_storage_get(&accounts, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!a)
		scx_bpf_error("no account of task %d", p->pid);
	return a;
}

/* Is vtime @a less than @b, though they may have passed 2^64? */
static bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* The number of the cache of @cpu, which is that of its queue. */
static u32 llc_of(s32 cpu)
{
	return ((u32)cpu / cpus_per_llc) % LLC_MAX;
}

static u32 nr_llcs(void)
{
	return (scx_bpf_nr_cpu_ids() + cpus_per_llc - 1) / cpus_per_llc;
}

/*
 * Lab 13, charge: @p's vtime grows by the CPU time, p->se.sum_exec_runtime, that it has used since
 * the last charge, times 100 over its weight, p->scx.weight. The account says up to where that was.
 */
static void charge(struct task_struct *p)
{
	struct account *a = account_of(p);

	if (!a)
		return;
	p->scx.dsq_vtime += (p->se.sum_exec_runtime - a->charged) * 100 / p->scx.weight;
	a->charged = p->se.sum_exec_runtime;
}

/*
 * Lab 13, move: if @p's vtime is beside the time of another queue than @llc's, it gets the same
 * distance from the time of @llc's, and the account says so.
 */
static void move(struct task_struct *p, u32 llc)
{
	struct account *a = account_of(p);

	if (!a || a->llc == llc)
		return;
	p->scx.dsq_vtime += queue_time[llc] - queue_time[a->llc % LLC_MAX];
	a->llc = llc;
}

/* A new task begins at the time of its queue, and its CPU time counts from here. */
void BPF_STRUCT_OPS(cache_enable, struct task_struct *p)
{
	struct account *a = account_of(p);
	u32 llc = llc_of(scx_bpf_task_cpu(p));

	if (!a)
		return;
	a->charged = p->se.sum_exec_runtime;
	a->llc = llc;
	p->scx.dsq_vtime = queue_time[llc];
}

/* An idle CPU is used at once: the task waits in no queue. */
s32 BPF_STRUCT_OPS(cache_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);

	if (idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE, 0);
	return cpu;
}

/*
 * Lab 13, runnable: @p, new or after a sleep, wants a CPU; it is on the CPU that was selected for
 * it. Its vtime is moved to the queue of that CPU. If it is more than a slice less than the time of
 * the queue, it becomes that time less a slice: nobody saves up more by sleeping.
 */
void BPF_STRUCT_OPS(cache_runnable, struct task_struct *p, u64 enq_flags)
{
	u32 llc = llc_of(scx_bpf_task_cpu(p));

	move(p, llc);
	if (before(p->scx.dsq_vtime, queue_time[llc] - SLICE))
		p->scx.dsq_vtime = queue_time[llc] - SLICE;
}

/*
 * Lab 13, enqueue: @p is to wait, in the queue of the cache of its CPU, in order of vtime, and will
 * get a slice. A CPU that idles, if there is one, is told to look for work.
 */
void BPF_STRUCT_OPS(cache_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

	scx_bpf_dsq_insert_vtime(p, llc_of(scx_bpf_task_cpu(p)), SLICE, p->scx.dsq_vtime,
				 enq_flags);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}

/*
 * Lab 13, dispatch: @cpu needs a task. @prev, unless it is NULL, is the task that had it. With
 * SCX_TASK_QUEUED in its flags it has used up its slice and could go on: it does, for another
 * slice, unless a task in the queue of its cache that may use @cpu has a lesser vtime. Else the
 * first such task runs. Only a CPU that would idle takes the first of another queue.
 */
void BPF_STRUCT_OPS(cache_dispatch, s32 cpu, struct task_struct *prev)
{
	bool stays = prev && prev->scx.flags & SCX_TASK_QUEUED, beaten = false;
	u32 own = llc_of(cpu), nr = nr_llcs(), i;
	struct task_struct *p;

	if (stays) {
		charge(prev);
		bpf_for_each(scx_dsq, p, own, 0)
		{
			if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
				continue;
			beaten = before(p->scx.dsq_vtime, prev->scx.dsq_vtime);
			break;
		}
	}
	if ((beaten || !stays) && scx_bpf_dsq_move_to_local(own, 0))
		return;
	if (stays) {
		prev->scx.slice = SLICE;
		return;
	}
	bpf_for(i, 1, nr) if (scx_bpf_dsq_move_to_local((own + i) % nr, 0)) return;
}

/*
 * Lab 13, running: @p begins to run here. Its vtime is moved to the queue of this CPU, if it was
 * taken from another; and the queue's time is now at least its vtime.
 */
void BPF_STRUCT_OPS(cache_running, struct task_struct *p)
{
	u32 llc = llc_of(scx_bpf_task_cpu(p));

	move(p, llc);
	if (before(queue_time[llc], p->scx.dsq_vtime))
		queue_time[llc] = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(cache_stopping, struct task_struct *p, bool runnable)
{
	charge(p);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(cache_init)
{
	u32 nr = nr_llcs(), i;
	s32 err = 0;

	if (!cpus_per_llc || nr > LLC_MAX)
		return -EINVAL;
	bpf_for(i, 0, nr)
	{
		queue_time[i] = first_time;
		if (!err)
			err = scx_bpf_create_dsq(i, -1);
	}
	return err;
}

SCX_OPS_DEFINE(cache_ops, .select_cpu = (void *)cache_select_cpu, .enqueue = (void *)cache_enqueue,
	       .dispatch = (void *)cache_dispatch, .runnable = (void *)cache_runnable,
	       .running = (void *)cache_running, .stopping = (void *)cache_stopping,
	       .enable = (void *)cache_enable, .init = (void *)cache_init, .name = "cache");
