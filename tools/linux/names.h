/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For `make scx-linux`, before a scheduler's first line. Its constants are those of vmlinux.h,
 * which is of the kernel that loads it. Functions of Linux 6.12 get their names of today.
 */
#pragma once

#define __SCX_ENUMS_BPF_H /* no constants that a loader would have to set */
#include <scx/common.bpf.h>

/* Clang 14 describes no function whose name begins with an underscore: the older forms. */
void scx_bpf_dsq_insert_vtime___five(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				     u64 enq_flags) __ksym;
#define scx_bpf_dsq_insert_vtime scx_bpf_dsq_insert_vtime___five
s32 scx_bpf_select_cpu_and___five(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
				  const struct cpumask *allowed, u64 flags) __ksym;
#define scx_bpf_select_cpu_and scx_bpf_select_cpu_and___five

/* It says how many tasks it took, as in 6.12. */
u32 scx_bpf_reenqueue_local___counts(void) __ksym;
#undef scx_bpf_reenqueue_local
#define scx_bpf_reenqueue_local scx_bpf_reenqueue_local___counts

#define scx_bpf_dispatch			     scx_bpf_dsq_insert
#define scx_bpf_dispatch_vtime			     scx_bpf_dsq_insert_vtime
#define scx_bpf_consume(dsq)			     scx_bpf_dsq_move_to_local(dsq, 0)
#define __COMPAT_scx_bpf_dispatch_from_dsq	     scx_bpf_dsq_move
#define __COMPAT_scx_bpf_dispatch_vtime_from_dsq     scx_bpf_dsq_move_vtime
#define __COMPAT_scx_bpf_dispatch_from_dsq_set_slice scx_bpf_dsq_move_set_slice
#define __COMPAT_scx_bpf_dispatch_from_dsq_set_vtime scx_bpf_dsq_move_set_vtime
#define __COMPAT_scx_bpf_task_cgroup		     scx_bpf_task_cgroup
#define SCX_OPS_HAS_CGROUP_WEIGHT		     0ULL
#undef div_round_up /* a function of scx_flatcg */
