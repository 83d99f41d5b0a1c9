/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common to a program written for sched_ext and the simulator: a task as the program sees it, the
 * table of operations, maps. Names and numbers are Linux's; the layouts are ours, because the
 * program is compiled against them. Whoever includes this has u32 and so on, and bool.
 */
#pragma once

struct cpumask;
struct mm_struct;

/* slice, dsq_vtime and weight lie as in struct ext_seen of the scheduler. */
struct sched_ext_entity {
	u64 slice, dsq_vtime;
	u32 weight, flags;
	s32 sticky_cpu, holding_cpu;
	bool disallow;
	u64 ddsp_dsq_id, ddsp_enq_flags; /* told in dump_task */
};

struct sched_entity {
	u64 sum_exec_runtime, vruntime;
};

struct thread_info {
	u32 cpu;
};

#define PF_IDLE	     0x00000002
#define PF_EXITING   0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_WQ_WORKER 0x00000020
#define PF_KTHREAD   0x00200000

struct mempolicy {
	u16 mode;
	int home_node;
	struct {
		unsigned long bits[1];
	} nodes;
};
enum { MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE, MPOL_LOCAL, MPOL_PREFERRED_MANY };

/* Filled in before each operation that gets the task; scx.slice and scx.dsq_vtime are read back. */
struct task_struct {
	struct sched_ext_entity scx;
	struct sched_entity se;
	struct thread_info thread_info;
	int pid, tgid;
	char comm[16];
	u32 flags, policy, __state;
	int prio, static_prio, normal_prio;
	int nr_cpus_allowed, recent_used_cpu, wake_cpu, on_cpu;
	const struct cpumask *cpus_ptr;
	u64 start_time, utime, stime, nvcsw, nivcsw;
	u16 migration_disabled;
	struct task_struct *real_parent, *group_leader;
	struct mm_struct *mm;
	struct mempolicy *mempolicy; /* NULL: the default */
};

struct kernfs_node {
	u64 id;
	const char *name; /* NULL: not told */
};

/* A control group; the root has level 0. */
struct cgroup {
	u32 number, level;
	struct kernfs_node *kn;
};

struct rq {
	struct task_struct *curr;
	u32 cpu;
	u64 clock;
};

struct scx_exit_info {
	int kind;
	s64 exit_code;
	const char *reason, *msg;
	char *dump;
};
struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
};
struct scx_exit_task_args {
	bool cancelled;
};
struct scx_cpu_acquire_args {
	u32 reserved;
};
struct scx_cpu_release_args {
	int reason;
	struct task_struct *task;
};
struct scx_dump_ctx {
	int kind;
	s64 exit_code;
	const char *reason;
	u64 at_ns, at_jiffies;
};
struct scx_cgroup_init_args {
	u32 weight;
	u64 bw_period_us, bw_quota_us, bw_burst_us; /* a quota of ~0: none */
};

/* Counters of the scheduler. */
struct scx_event_stats {
#define EXT_EVENT(name) s64 SCX_EV_##name;
#include "sched/observe/ext_event.def"
#undef EXT_EVENT
};

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	bool (*core_sched_before)(struct task_struct *a, struct task_struct *b);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *mask);
	void (*update_idle)(s32 cpu, bool idle);
	void (*cpu_acquire)(s32 cpu, struct scx_cpu_acquire_args *args);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	void (*dump)(struct scx_dump_ctx *ctx);
	void (*dump_cpu)(struct scx_dump_ctx *ctx, s32 cpu, bool idle);
	void (*dump_task)(struct scx_dump_ctx *ctx, struct task_struct *p);
	s32 (*cgroup_init)(struct cgroup *cgrp, struct scx_cgroup_init_args *args);
	void (*cgroup_exit)(struct cgroup *cgrp);
	s32 (*cgroup_prep_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_cancel_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_set_weight)(struct cgroup *cgrp, u32 weight);
	void (*cgroup_set_bandwidth)(struct cgroup *cgrp, u64 period, u64 quota, u64 burst);
	void (*cgroup_set_idle)(struct cgroup *cgrp, bool idle);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *ei);
	u32 dispatch_max_batch;
	u64 flags;
	u32 timeout_ms, exit_dump_len;
	u64 hotplug_seq;
	const char *name;
};

/* --- what maps.py writes beside the program ------------------------------- */

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_MAP_TYPE_CGRP_STORAGE = 32,
	BPF_MAP_TYPE_ARENA = 33,
};

struct scx_map {
	const char *name;
	void *map;
	u32 type, key_size, value_size, max_entries;
	void **values; /* of an array of maps: the maps */
};
struct scx_variable {
	const char *name;
	void *address;
	u32 size;
	u16 is_signed, is_bool;
};
#define SCX_IS_SIGNED(x)                                                                           \
	_Generic((x), char : 1, signed char : 1, short : 1, int : 1, long : 1, long long : 1,      \
		 default : 0)
#define SCX_IS_BOOL(x) _Generic((x), bool : 1, default : 0)
/* The object exports one as `scx_program`. Lists end with a name that is NULL. */
struct scx_program {
	u64 abi; /* SCX_ABI of the time when it was made */
	struct sched_ext_ops *ops;
	const struct scx_map *maps;
	const struct scx_variable *constants; /* const volatile */
	u64 flags;			      /* that the user half adds to those of the table */
	void (*half)(u32 phase);	      /* its user half (halves/half.h), or NULL */
};

/*
 * A number for what this file says and functions.h declares. Sizes change it by themselves; whoever
 * changes anything else counts the 1 up.
 */
#define SCX_ABI                                                                                    \
	((u64)1 << 48 | (u64)sizeof(struct scx_program) << 32 |                                    \
	 (u64)sizeof(struct sched_ext_ops) << 16 | sizeof(struct task_struct))

/* When the user half is called. Constants that the user set by name have the last word. */
enum half_phase {
	HALF_CONSTANTS, /* before anything: set `const volatile` variables by HALF_SET() */
	HALF_LOADED,	/* before init: run programs of SEC("syscall") */
	HALF_ATTACHED,	/* all tasks are the program's */
};

/* A tree of nodes that a program allocates; empty: all zero. */
struct bpf_rb_node {
	struct bpf_rb_node *next;
	struct bpf_rb_root *root; /* NULL: in no tree */
};
struct bpf_rb_root {
	struct bpf_rb_node *first;
};

/* 1: a call holds it. */
struct bpf_spin_lock {
	u32 taken;
};

/* A timer in the value of a map; the rest is the simulator's. */
struct bpf_timer {
	u64 id;
};
