/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpu.max by the program itself: groups have quotas of the scheduler's own here (docs/cgroups.md),
 * so the library has none. A program whose user asks for it does not begin.
 */
#pragma once

#include <lib/atq.h>

struct scx_cgroup_bw_config {
	int verbose;
};
struct scx_task_cgroup_bw {
	struct scx_task_common common;
};
enum { SCX_CGROUP_BW_CANCEL_UNLINK, SCX_CGROUP_BW_CANCEL_DROP };

#define REGISTER_SCX_CGROUP_BW_ENQUEUE_CB(fn)
#define scx_cgroup_bw_lib_init(config)		      ((void)(config), -EOPNOTSUPP)
#define scx_cgroup_bw_init(cgrp, args)		      (-EOPNOTSUPP)
#define scx_cgroup_bw_exit(cgrp)		      (-EOPNOTSUPP)
#define scx_cgroup_bw_set(cgrp, period, quota, burst) (-EOPNOTSUPP)
#define scx_cgroup_bw_move(p, taskc, from, to)	      (-EOPNOTSUPP)
#define scx_cgroup_bw_throttled(p, taskc)	      0
#define scx_cgroup_bw_consume(p, taskc, ns)	      ((void)(ns))
#define scx_cgroup_bw_put_aside(p, taskc, vtime)      (-EOPNOTSUPP)
#define scx_cgroup_bw_reenqueue()		      0
#define scx_cgroup_bw_cancel(taskc, flags)	      0
#define scx_cgroup_bw_is_task_throttled(taskc)	      false
#define scx_cgroup_bw_is_cgroup_throttled(cgrp)	      false
#define scx_cgroup_bw_dump(...)			      ((void)0)
