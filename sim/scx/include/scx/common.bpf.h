/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For `make scx`: what a program written for sched_ext includes, in place of the kernel's types,
 * libbpf and the headers of the scx repository. Written from their documentation. A program is
 * compiled for the simulator's own machine; each function here is one of the simulator's
 * (sim/scx/), under the name of Linux 7.x. Older names are macros at the end.
 */
#pragma once

#define __VMLINUX_H__ /* the types below are there */

typedef unsigned char u8, __u8;
typedef unsigned short u16, __u16;
typedef unsigned int u32, __u32;
typedef unsigned long long u64, __u64;
typedef signed char s8, __s8;
typedef short s16, __s16;
typedef int s32, __s32, pid_t;
typedef long long s64, __s64;
typedef unsigned long size_t;
typedef u64 uint64_t;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

typedef u64 __attribute__((may_alias)) __u64_alias_t;

#define NR_CPUS	      4096
#define TASK_COMM_LEN 16

/* No more CPUs than the machine has are to be read or written. */
typedef struct cpumask {
	unsigned long bits[NR_CPUS / 8 / sizeof(unsigned long)];
} cpumask_t;

/* A mask of a program's own: programs cast the one to the other. */
struct bpf_cpumask {
	struct cpumask cpumask;
};

#include "functions.h"

/* Each task has its mask in one place, wherever it may run now. */
#define cpus_mask cpus_ptr[0]

#define SEC(name)	__attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))
#define __noinline	__attribute__((noinline))
#define __maybe_unused	__attribute__((unused))
#define __weak		/* of two definitions the linker takes the first (make scx) */
#define __hidden
#define __ksym __attribute__((weak)) /* an object of the kernel: at NULL if it is not here */
#define __kconfig
#define __free(how) __attribute__((cleanup(how)))
#define __arena
#define __kptr
#define __contains(type, member)
#define __arg_trusted
#define __arg_nullable
#define __arg_arena
#define __arg_ctx
#define private(name)
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define barrier()		__asm__ volatile("" ::: "memory")
#define barrier_var(x)		__asm__ volatile("" : "+r"(x))
#define cmpxchg(p, old, new)	__sync_val_compare_and_swap(p, old, new)
#define ARRAY_SIZE(x)		((int)(sizeof(x) / sizeof((x)[0])))
#define offsetof(t, m)		__builtin_offsetof(t, m)
#define container_of(p, t, m)	((t *)((char *)(p)-offsetof(t, m)))
#define memset			__builtin_memset
#define memcpy			__builtin_memcpy
#define __builtin_memcpy_inline memcpy

/* A map's description is in the types of its members; maps.py reads it. */
#define __uint(name, val)  int(*name)[val]
#define __type(name, val)  __typeof__(val) *name
#define __ulong(name, val) u64 *name
#define __array(name, val) __typeof__(val) *name[]

enum { BPF_ANY, BPF_NOEXIST, BPF_EXIST };
enum { BPF_F_MMAPABLE = 1024, BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_F_TIMER_ABS = 1, BPF_F_TIMER_CPU_PIN = 2, CLOCK_MONOTONIC = 1 };
#define NUMA_NO_NODE  (-1)
#define BPF_MAX_LOOPS (8 * 1024 * 1024)

#define EPERM	   1
#define ENOENT	   2
#define ESRCH	   3
#define E2BIG	   7
#define EAGAIN	   11
#define ENOMEM	   12
#define EFAULT	   14
#define EBUSY	   16
#define EEXIST	   17
#define ENODEV	   19
#define EINVAL	   22
#define ENOSPC	   28
#define ENOSYS	   38
#define EOPNOTSUPP 95
#define ETIMEDOUT  110
#define EALREADY   114
#define ECANCELED  125

/* --- numbers of sched_ext -------------------------------------------------- */

#define SCX_OPS_NAME_LEN	       128
#define SCX_DSQ_FLAG_BUILTIN	       (1ULL << 63)
#define SCX_DSQ_INVALID		       (SCX_DSQ_FLAG_BUILTIN | 0)
#define SCX_DSQ_GLOBAL		       (SCX_DSQ_FLAG_BUILTIN | 1)
#define SCX_DSQ_LOCAL		       (SCX_DSQ_FLAG_BUILTIN | 2)
#define SCX_DSQ_LOCAL_ON	       (SCX_DSQ_FLAG_BUILTIN | 1ULL << 62)
#define SCX_DSQ_LOCAL_CPU_MASK	       0xffffffffULL
#define SCX_DSQ_ITER_REV	       (1ULL << 16)
#define SCX_SLICE_DFL		       20000000ULL
#define SCX_SLICE_INF		       (~0ULL)
#define SCX_ENQ_WAKEUP		       0x1ULL
#define SCX_ENQ_HEAD		       0x10ULL
#define SCX_ENQ_CPU_SELECTED	       0x400ULL
#define SCX_ENQ_PREEMPT		       (1ULL << 32)
#define SCX_ENQ_REENQ		       (1ULL << 40)
#define SCX_ENQ_LAST		       (1ULL << 41)
#define SCX_ENQ_IMMED		       0ULL /* of 7.x: no effect */
#define SCX_DEQ_SLEEP		       0x1ULL
#define SCX_DEQ_CORE_SCHED_EXEC	       (1ULL << 32)
#define SCX_WAKE_FORK		       0x4ULL
#define SCX_WAKE_TTWU		       0x8ULL
#define SCX_WAKE_SYNC		       0x10ULL
#define SCX_OPS_KEEP_BUILTIN_IDLE      0x1ULL
#define SCX_OPS_ENQ_LAST	       0x2ULL
#define SCX_OPS_ENQ_EXITING	       0x4ULL
#define SCX_OPS_SWITCH_PARTIAL	       0x8ULL
#define SCX_OPS_ENQ_MIGRATION_DISABLED 0x10ULL
#define SCX_OPS_ALLOW_QUEUED_WAKEUP    0x20ULL
#define SCX_OPS_BUILTIN_IDLE_PER_NODE  0x40ULL
#define SCX_OPS_HAS_CGROUP_WEIGHT      0x10000ULL /* of 6.12: no effect */
#define SCX_PICK_IDLE_CORE	       0x1ULL
#define SCX_ECODE_ACT_RESTART	       (1LL << 48)
#define SCX_KICK_IDLE		       0x1ULL
#define SCX_KICK_PREEMPT	       0x2ULL
#define SCX_KICK_WAIT		       0x4ULL
#define SCX_CPUPERF_ONE		       1024U
#define SCX_TASK_QUEUED		       0x1U

/* --- programs ---------------------------------------------------------------- */

#define BPF_STRUCT_OPS(name, args...)		name(args)
#define BPF_STRUCT_OPS_SLEEPABLE(name, args...) name(args)
#define SCX_OPS_DEFINE(name, ops...)		struct sched_ext_ops name = { ops }

/* Programs at places of the kernel, as system calls: nobody calls them here. */
#define BPF_PROG(name, args...)	  name(u64 *ctx, ##args)
#define bpf_get_func_ret(ctx, to) ((void)(ctx), *(to) = 0, -EOPNOTSUPP)
struct trace_entry {
	u16 type;
	u8 flags, preempt_count;
	int pid;
};

struct user_exit_info {
	int kind;
	s64 exit_code;
};
#define UEI_DEFINE(name)      struct user_exit_info name
#define UEI_RECORD(name, ei_) ((name).kind = (ei_)->kind, (name).exit_code = (ei_)->exit_code)

/* An array whose length a user half would set; here it has room for every CPU. */
#define RESIZABLE_ARRAY(section, name) name[4096]
#define ARRAY_ELEM_PTR(array, i, n)    ((u64)(i) < (u64)(n) ? &(array)[i] : NULL)
#define MEMBER_VPTR(base, member)      (&((base)member))

#define bpf_for(i, from, to)                                                                       \
	for (int scx_at = (from), scx_to = (to); scx_at < scx_to && ((i) = scx_at, 1); scx_at++)
#define bpf_repeat(n)	  for (int scx_left = (n); scx_left-- > 0;)
#define can_loop	  true
#define BPF_FOR_EACH_ITER (&scx_it)
#define bpf_for_each(type, cur, args...)                                                           \
	for (struct bpf_iter_##type scx_it                                                         \
	     __attribute__((cleanup(bpf_iter_##type##_destroy))) = scx_iter_begin_##type(args);    \
	     ((cur) = bpf_iter_##type##_next(&scx_it));)

/* Fields are read as they are: p->a->b. */
#define SCX_READ_1(p, a)		 ((p)->a)
#define SCX_READ_2(p, a, b)		 ((p)->a->b)
#define SCX_READ_3(p, a, b, c)		 ((p)->a->b->c)
#define SCX_READ_OF(_1, _2, _3, of, ...) of
#define BPF_CORE_READ(p, fields...)                                                                \
	SCX_READ_OF(fields, SCX_READ_3, SCX_READ_2, SCX_READ_1)(p, fields)
#define bpf_core_read(to, size, from) (memcpy(to, from, size), 0)
#define bpf_probe_read_kernel	      bpf_core_read
static inline int bpf_probe_read_kernel_str(char *to, u32 size, const char *from)
{
	u32 n = 0;

	if (!from || !size)
		return -EFAULT;
	while (n < size - 1 && (to[n] = from[n]))
		n++;
	to[n] = 0;
	return (int)n + 1;
}

/* Limits of a CPU's speed: no governor and no heat sets any here. */
struct cpufreq_policy {
	u32 max;
	struct {
		u32 max_freq;
	} cpuinfo;
};
#define bpf_per_cpu_ptr(variable, cpu) ((__typeof__(variable))((void)(cpu), NULL))

#define bpf_core_type_exists(t)		    1
#define bpf_core_field_exists(...)	    1
#define bpf_core_enum_value_exists(t, v)    1
#define bpf_ksym_exists(f)		    1
#define __COMPAT_SCX_OPS_SWITCH_PARTIAL	    SCX_OPS_SWITCH_PARTIAL
#define __COMPAT_HAS_scx_bpf_select_cpu_and 1
#define __COMPAT_HAS_CPUMASKS		    1
#define __COMPAT_is_enq_cpu_selected(f)	    (((f)&SCX_ENQ_CPU_SELECTED) != 0)
#define __COMPAT_scx_bpf_cpu_curr	    scx_bpf_cpu_curr
#define __COMPAT_scx_bpf_dsq_peek	    scx_bpf_dsq_peek
#define __COMPAT_scx_bpf_events		    scx_bpf_events
#define scx_read_event(events, name)	    ((events)->name)

/* Idle CPUs are kept for the machine as a whole: it looks like one node. */
#define __COMPAT_scx_bpf_nr_node_ids()			       1
#define __COMPAT_scx_bpf_cpu_node(cpu)			       ((void)(cpu), 0)
#define __COMPAT_scx_bpf_get_idle_cpumask_node(node)	       scx_bpf_get_idle_cpumask()
#define __COMPAT_scx_bpf_get_idle_smtmask_node(node)	       scx_bpf_get_idle_smtmask()
#define __COMPAT_scx_bpf_pick_idle_cpu_node(mask, node, flags) scx_bpf_pick_idle_cpu(mask, flags)
#define __COMPAT_scx_bpf_pick_any_cpu_node(mask, node, flags)  scx_bpf_pick_any_cpu(mask, flags)

#define bpf_obj_new(type) ((__typeof__(type) *)scx_obj_new(sizeof(type)))

/* --- time, weights, masks ----------------------------------------------------- */

static inline s64 time_delta(u64 after, u64 before)
{
	return (s64)(after - before) > 0 ? (s64)(after - before) : 0;
}
static inline bool time_after(u64 a, u64 b)
{
	return (s64)(b - a) < 0;
}
#define time_before(a, b)    time_after(b, a)
#define time_after_eq(a, b)  (!time_after(b, a))
#define time_before_eq(a, b) time_after_eq(b, a)

/* The number of the highest bit, and one more; of 0 as of 1. */
#define log2_u32(v) (31 - (u32)__builtin_clz((u32)(v) | 1))
#define log2_u64(v) (64 - (u32)__builtin_clzll((u64)(v) | 1))
#define ctzll(v)    __builtin_ctzll(v)

/*
 * The mean of values, where a new one counts for 1 / (1 << decay). Small ones lose too much by that
 * shift: of such pairs each counts for a half, and 1 decays to 0.
 */
static inline u64 scx_mean(u64 old, u64 new, u32 decay)
{
	u32 shift = old >> decay && new >> decay ? decay : 1;

	return old == 1 && !new ? 0 : old - (old >> shift) + (new >> shift);
}
#define __calc_avg(old, new, decay) ((__typeof__(old))scx_mean(old, new, decay))

/* 100 is the weight of nice 0. */
#define scale_by_task_weight(p, v)	   ((u64)(v) * (p)->scx.weight / 100)
#define scale_by_task_weight_inverse(p, v) ((u64)(v)*100 / (p)->scx.weight)
#define is_migration_disabled(p)	   ((p)->migration_disabled != 0)

#define cast_mask(m)		  ((const struct cpumask *)(m))
#define bpf_kptr_xchg(place, new) __atomic_exchange_n(place, new, __ATOMIC_ACQ_REL)

/* --- BPF's and sched_ext's functions that are less here --------------------- */

/* Memory of tasks lasts as long as an operation, and nothing interrupts that. */
#define bpf_rcu_read_lock()	     ((void)0)
#define bpf_rcu_read_unlock()	     ((void)0)
#define bpf_preempt_disable()	     ((void)0)
#define bpf_preempt_enable()	     ((void)0)
#define bpf_local_irq_save(flags)    ((void)(flags))
#define bpf_local_irq_restore(flags) ((void)(flags))
typedef struct {
	void *lock;
} class_rcu_t;
#define bpf_task_acquire(p)		(p)
#define bpf_task_release(p)		((void)(p))
#define bpf_cgroup_acquire(cgrp)	(cgrp)
#define bpf_cgroup_release(cgrp)	((void)(cgrp))
#define __COMPAT_scx_bpf_task_cgroup(p) scx_bpf_task_cgroup(p)
#define bpf_get_current_task_btf()	scx_bpf_cpu_curr((s32)bpf_get_smp_processor_id())
static inline u64 bpf_get_current_pid_tgid(void)
{
	const struct task_struct *p = bpf_get_current_task_btf();

	return p ? (u64)p->tgid << 32 | (u32)p->pid : 0;
}
#define bpf_in_nmi()		 false
#define bpf_in_serving_softirq() false /* there are none */
static inline int bpf_strncmp(const char *a, u32 n, const char *b)
{
	for (u32 i = 0; i < n; i++)
		if (a[i] != b[i] || !a[i])
			return a[i] - b[i];
	return 0;
}
/* Nobody reads ring buffers. */
#define bpf_ringbuf_reserve(map, size, flags) ((void)(map), (void *)0)
#define bpf_ringbuf_submit(record, flags)     ((void)(record))
#define bpf_ringbuf_discard(record, flags)    ((void)(record))
#define bpf_ktime_get_boot_ns		      bpf_ktime_get_ns
#define cpu_priority(cpu)		      ((void)(cpu), -EOPNOTSUPP)
#define cmask_distribute_init(arena)	      0 /* numbers of CPUs by topology, of 7.x */

#define scx_bpf_put_cpumask(mask)	 ((void)(mask))
#define scx_bpf_put_idle_cpumask(mask)	 ((void)(mask))
#define scx_bpf_task_set_slice(p, s)	 ((p)->scx.slice = (s), true)
#define scx_bpf_task_set_dsq_vtime(p, v) ((p)->scx.dsq_vtime = (v), true)
/* The last one's flags are of 7.x, and have no effect. */
#define scx_bpf_dsq_move_to_local(dsq, ...) scx_to_local(dsq)

/* Names of 6.12, and of the headers that bridge versions. */
#define scx_bpf_dispatch			     scx_bpf_dsq_insert
#define scx_bpf_dispatch_vtime			     scx_bpf_dsq_insert_vtime
#define scx_bpf_reenqueue_local_from_anywhere	     scx_bpf_reenqueue_local
#define scx_bpf_consume				     scx_to_local
#define scx_bpf_dispatch_from_dsq		     scx_bpf_dsq_move
#define scx_bpf_dispatch_vtime_from_dsq		     scx_bpf_dsq_move_vtime
#define scx_bpf_dispatch_from_dsq_set_slice	     scx_bpf_dsq_move_set_slice
#define scx_bpf_dispatch_from_dsq_set_vtime	     scx_bpf_dsq_move_set_vtime
#define __COMPAT_scx_bpf_dispatch_from_dsq	     scx_bpf_dsq_move
#define __COMPAT_scx_bpf_dispatch_vtime_from_dsq     scx_bpf_dsq_move_vtime
#define __COMPAT_scx_bpf_dispatch_from_dsq_set_slice scx_bpf_dsq_move_set_slice
#define __COMPAT_scx_bpf_dispatch_from_dsq_set_vtime scx_bpf_dsq_move_set_vtime
#define __COMPAT_scx_bpf_dsq_move		     scx_bpf_dsq_move
#define __COMPAT_scx_bpf_dsq_move_vtime		     scx_bpf_dsq_move_vtime
