/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One CPU decides for all, for sched_ext. Tasks wait in a map; CPU 0 hands them to the other CPUs'
 * local queues and to its own. A CPU without work kicks CPU 0, and a timer ends turns, because
 * slices are infinite: so the other CPUs are not disturbed by decisions.
 *
 *	make scx SRC=examples/scx/central.bpf.c
 *	build/schedsim --scx build/scx/central.so --cpus 4 hogs:n=6
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define CENTRAL	    0
#define MAX_CPUS    4096u
#define INTERVAL_NS 1000000ULL

const volatile u64 turn_ns = 20000000;

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 4096);
	__type(value, s32);
} waiting SEC(".maps");

struct alarm_clock {
	struct bpf_timer timer;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct alarm_clock);
} alarms SEC(".maps");

static u64 started[MAX_CPUS]; /* when each CPU's turn began; 0: it idles */
static bool wants[MAX_CPUS];  /* it has asked for work */

void BPF_STRUCT_OPS(central_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 pid = p->pid;

	if (bpf_map_push_elem(&waiting, &pid, 0))
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_INF, enq_flags);
	else if (!scx_bpf_task_running(p)) /* else the kick would end CPU 0's turns for ever */
		scx_bpf_kick_cpu(CENTRAL, SCX_KICK_PREEMPT);
}

/* Gives a task to @cpu; one that may not run there goes to the queue of all CPUs. */
static bool serve(s32 cpu)
{
	struct task_struct *p;
	bool fits;
	s32 pid;

	if (!scx_bpf_dispatch_nr_slots() || bpf_map_pop_elem(&waiting, &pid))
		return false;
	p = bpf_task_from_pid(pid);
	if (!p)
		return true;
	fits = bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
	scx_bpf_dsq_insert(p, fits ? SCX_DSQ_LOCAL_ON | cpu : SCX_DSQ_GLOBAL, SCX_SLICE_INF, 0);
	bpf_task_release(p);
	if (fits)
		wants[(u32)cpu % MAX_CPUS] = false;
	return true;
}

void BPF_STRUCT_OPS(central_dispatch, s32 cpu, struct task_struct *prev)
{
	s32 other;

	wants[(u32)cpu % MAX_CPUS] = true;
	if (cpu != CENTRAL) {
		scx_bpf_kick_cpu(CENTRAL, SCX_KICK_PREEMPT);
		return;
	}
	bpf_for(other, 0, scx_bpf_nr_cpu_ids()) while (wants[(u32)other % MAX_CPUS] &&
						       serve(other) && can_loop);
}

void BPF_STRUCT_OPS(central_running, struct task_struct *p)
{
	started[(u32)scx_bpf_task_cpu(p) % MAX_CPUS] = bpf_ktime_get_ns();
}

void BPF_STRUCT_OPS(central_stopping, struct task_struct *p, bool runnable)
{
	started[(u32)scx_bpf_task_cpu(p) % MAX_CPUS] = 0;
}

static int alarm_rings(void *map, int *key, struct bpf_timer *timer)
{
	u64 now = bpf_ktime_get_ns();
	s32 cpu;

	bpf_for(cpu, 0, scx_bpf_nr_cpu_ids())
	{
		u64 since = started[(u32)cpu % MAX_CPUS];

		if (since && now - since >= turn_ns)
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	bpf_timer_start(timer, INTERVAL_NS, 0);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(central_init)
{
	u32 key = 0;
	struct alarm_clock *a = bpf_map_lookup_elem(&alarms, &key);

	if (!a || bpf_timer_init(&a->timer, &alarms, CLOCK_MONOTONIC))
		return -EINVAL;
	bpf_timer_set_callback(&a->timer, alarm_rings);
	return bpf_timer_start(&a->timer, INTERVAL_NS, 0);
}

SCX_OPS_DEFINE(central_ops, .enqueue = (void *)central_enqueue,
	       .dispatch = (void *)central_dispatch, .running = (void *)central_running,
	       .stopping = (void *)central_stopping, .init = (void *)central_init,
	       .name = "central");
