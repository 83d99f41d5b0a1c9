# SPDX-License-Identifier: GPL-2.0-only
# Published experiments, made again in the kernel and in the simulator (docs/experiments.md).
# Without NAME= they are listed. SCHEDS=cfs,eevdf runs some of the schedulers, HOSTS=kernel one of the hosts,
# SECS=2 a shorter workload.

experiment_option = $(if $(filter command,$(firstword $(origin $(1)))),--$(2) '$($(1))')

experiment: image sim ## a published experiment in kernel and simulator: NAME=x11-perf-sched-latency; none: list them
	$(Q)$(FAIRGROUND) experiment $(if $(filter command,$(firstword $(origin NAME))),'$(NAME)') \
		$(call experiment_option,SCHEDS,scheds) $(call experiment_option,HOSTS,hosts) \
		$(call experiment_option,SECS,seconds)

agreement: image sim ## compare the kernel's decisions with the simulator's: SCHEDS=cfs,eevdf
	$(Q)$(FAIRGROUND) agreement $(call experiment_option,SCHEDS,scheds)

.PHONY: experiment agreement
