# SPDX-License-Identifier: GPL-2.0-only
# Published experiments, repeated in the kernel and in the simulator (docs/experiments.md).
# Without NAME= they are listed. SCHEDS=cfs,eevdf chooses schedulers, HOSTS=kernel one of the hosts, SECS=2 a
# shorter workload.

experiment_option = $(if $(filter command,$(firstword $(origin $(1)))),--$(2) '$($(1))')

experiment: image sim ## repeat a published experiment: NAME=x11-perf-sched-latency; without NAME list them
	$(Q)$(FAIRGROUND) experiment $(if $(filter command,$(firstword $(origin NAME))),'$(NAME)') \
		$(call experiment_option,SCHEDS,scheds) $(call experiment_option,HOSTS,hosts) \
		$(call experiment_option,SECS,seconds)

agreement: image sim ## compare the kernel's decisions with the simulator's, one by one: SCHEDS=cfs,eevdf
	$(Q)$(FAIRGROUND) agreement $(call experiment_option,SCHEDS,scheds)

.PHONY: experiment agreement
