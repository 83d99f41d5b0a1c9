/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which order are the operations called for a task? A scheduler that notes which operation
 * followed which, for tasks that a `mix` forked, and ends itself after @limit operations. Its last
 * message has the pairs that occurred and how often each operation was called. Here and on Linux.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define QUEUE 0

enum { FIFO, VTIME, LOCAL };
const volatile u32 kind = FIFO;
const volatile u64 limit = 100000;

/* Operations, as far as their arguments make a difference. */
enum {
	OP_ENABLE,
	OP_SELECT,
	OP_RUNNABLE_WOKEN,
	OP_RUNNABLE,
	OP_ENQUEUE_WOKEN,
	OP_ENQUEUE,
	OP_RUNNING,
	OP_TICK,
	OP_STOPPING_RUNNABLE,
	OP_STOPPING,
	OP_DISPATCH_RUNNABLE, /* the task is the one that ran before */
	OP_DISPATCH,	      /* the same, and it has gone to sleep */
	OP_QUIESCENT_SLEEP,
	OP_QUIESCENT,
	OP_DISABLE,
	NR_OPS = 16,
};

static u64 now, total, count[NR_OPS];
static u64 followed[NR_OPS / 4]; /* bit a * 16 + b: b came after a */

/* The last operation about each task. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} last SEC(".maps");

static __always_inline void end(void)
{
	scx_bpf_error("%llx %llx %llx %llx %llx %llx %llx %llx %llx %llx", followed[0], followed[1],
		      followed[2], followed[3], count[OP_SELECT],
		      count[OP_RUNNABLE] + count[OP_RUNNABLE_WOKEN],
		      count[OP_ENQUEUE] + count[OP_ENQUEUE_WOKEN], count[OP_RUNNING],
		      count[OP_TICK], count[OP_STOPPING_RUNNABLE] << 32 | count[OP_STOPPING]);
}

static __always_inline void note(struct task_struct *p, u32 op)
{
	u32 *before = bpf_task_storage_get(&last, p, 0, 0), pair;

	if (!before)
		return;
	pair = (*before % NR_OPS) * NR_OPS + op;
	*before = op;
	__sync_fetch_and_or(&followed[pair / 64 % 4], 1ull << pair % 64);
	__sync_fetch_and_add(&count[op], 1);
	if (__sync_fetch_and_add(&total, 1) + 1 == limit)
		end();
}

static bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

s32 BPF_STRUCT_OPS(order_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);

	note(p, OP_SELECT);
	if (kind == LOCAL && idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return cpu;
}

void BPF_STRUCT_OPS(order_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 vtime = p->scx.dsq_vtime, floor = now - SCX_SLICE_DFL;

	note(p, enq_flags & SCX_ENQ_WAKEUP ? OP_ENQUEUE_WOKEN : OP_ENQUEUE);
	if (kind == VTIME)
		scx_bpf_dsq_insert_vtime(p, QUEUE, SCX_SLICE_DFL,
					 before(vtime, floor) ? floor : vtime, enq_flags);
	else if (kind == LOCAL)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
	else
		scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_DFL, enq_flags);
}

void BPF_STRUCT_OPS(order_dispatch, s32 cpu, struct task_struct *prev)
{
	if (prev)
		note(prev, prev->scx.flags & SCX_TASK_QUEUED ? OP_DISPATCH_RUNNABLE : OP_DISPATCH);
	scx_bpf_dsq_move_to_local(QUEUE, 0);
}

void BPF_STRUCT_OPS(order_runnable, struct task_struct *p, u64 enq_flags)
{
	note(p, enq_flags & SCX_ENQ_WAKEUP ? OP_RUNNABLE_WOKEN : OP_RUNNABLE);
}

void BPF_STRUCT_OPS(order_running, struct task_struct *p)
{
	if (before(now, p->scx.dsq_vtime))
		now = p->scx.dsq_vtime;
	note(p, OP_RUNNING);
}

void BPF_STRUCT_OPS(order_tick, struct task_struct *p)
{
	note(p, OP_TICK);
}

void BPF_STRUCT_OPS(order_stopping, struct task_struct *p, bool runnable)
{
	p->scx.dsq_vtime += (SCX_SLICE_DFL - p->scx.slice) * 100 / p->scx.weight;
	note(p, runnable ? OP_STOPPING_RUNNABLE : OP_STOPPING);
}

void BPF_STRUCT_OPS(order_quiescent, struct task_struct *p, u64 deq_flags)
{
	note(p, deq_flags & SCX_DEQ_SLEEP ? OP_QUIESCENT_SLEEP : OP_QUIESCENT);
}

/* Only whom a mix forked is followed: all operations about it come after this one. */
void BPF_STRUCT_OPS(order_enable, struct task_struct *p)
{
	u32 *op;

	p->scx.dsq_vtime = now;
	if (p->comm[0] != 'm' || p->comm[1] != 'i' || p->comm[2] != 'x' || p->comm[3])
		return;
	op = bpf_task_storage_get(&last, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (op)
		*op = OP_ENABLE;
}

void BPF_STRUCT_OPS(order_disable, struct task_struct *p)
{
	note(p, OP_DISABLE);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(order_init)
{
	return scx_bpf_create_dsq(QUEUE, -1);
}

SCX_OPS_DEFINE(order_ops, .select_cpu = (void *)order_select_cpu, .enqueue = (void *)order_enqueue,
	       .dispatch = (void *)order_dispatch, .runnable = (void *)order_runnable,
	       .running = (void *)order_running, .tick = (void *)order_tick,
	       .stopping = (void *)order_stopping, .quiescent = (void *)order_quiescent,
	       .enable = (void *)order_enable, .disable = (void *)order_disable,
	       .init = (void *)order_init, .name = "order");
