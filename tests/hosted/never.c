/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of the kernel's sources that nothing here calls: most use the timer's interrupt. */
#include "lib/types.h"

void panic(const char *format, ...);

#define NEVER_CALLED(name)                                                                         \
	void name(void);                                                                           \
	void name(void)                                                                            \
	{                                                                                          \
		panic(#name " is called");                                                         \
	}

NEVER_CALLED(arch_boot_epoch)
NEVER_CALLED(arch_send_reschedule)
NEVER_CALLED(arch_user_regs)
NEVER_CALLED(cmdline_get_u64)
NEVER_CALLED(cred_exec)
NEVER_CALLED(cred_in_group)
NEVER_CALLED(emit_local_timer_entry)
NEVER_CALLED(emit_local_timer_exit)
NEVER_CALLED(host_trace)
NEVER_CALLED(hotplug_tick)
NEVER_CALLED(kernel_shutdown)
NEVER_CALLED(kthread_create)
NEVER_CALLED(limits_check)
NEVER_CALLED(limits_tick)
NEVER_CALLED(mm_unmap_behind)
NEVER_CALLED(pipe_of)
NEVER_CALLED(pipe_open)
NEVER_CALLED(vector_get)
NEVER_CALLED(vector_put)
NEVER_CALLED(sched_affinity_losses)
NEVER_CALLED(sched_check)
NEVER_CALLED(sched_tick)
NEVER_CALLED(sched_tick_can_stop)
NEVER_CALLED(sched_timer)
NEVER_CALLED(trace_event_format)
NEVER_CALLED(trace_events_matching)
NEVER_CALLED(trace_route_init)
NEVER_CALLED(tracing_mark_write)
NEVER_CALLED(vdso_publish)
NEVER_CALLED(watchdog_sample)
NEVER_CALLED(watchdog_start)
NEVER_CALLED(watchdog_stop)
