/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters of hardware events: simulated CPUs have none, as many virtual machines. */
#pragma once

#include <scx/common.bpf.h>

#define scx_pmu_install(event)		      (-EOPNOTSUPP)
#define scx_pmu_uninstall(event)	      (-EOPNOTSUPP)
#define scx_pmu_task_init(p)		      ((void)(p), 0)
#define scx_pmu_task_fini(p)		      ((void)(p), 0)
#define scx_pmu_event_start(p, update)	      ((void)(p), 0)
#define scx_pmu_event_stop(p)		      ((void)(p), 0)
#define scx_pmu_read(p, event, value, clears) (*(value) = 0, -ENOENT)
