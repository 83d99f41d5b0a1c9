# SPDX-License-Identifier: GPL-2.0-only
# Published experiments, repeated in the kernel and in the simulator: experiments/*.toml (docs/experiments.md).
# Without NAME= they are listed. SCHEDS=cfs,eevdf chooses schedulers, HOSTS=kernel one of the hosts, SECS=2 a
# shorter workload.

experiment_option = $(if $(filter command,$(firstword $(origin $(1)))),--$(2) '$($(1))')

experiment: image sim ## repeat a published experiment: NAME=x11-perf-sched-latency; without NAME list them
	$(Q)$(FAIRGROUND) experiment $(if $(filter command,$(firstword $(origin NAME))),'$(NAME)') \
		$(call experiment_option,SCHEDS,scheds) $(call experiment_option,HOSTS,hosts) \
		$(call experiment_option,SECS,seconds) $(call experiment_option,SEEDS,seeds)

experiments: image sim ## repeat all experiments, or NAMES="x3-burst ...": one table, and one page; HOSTS= SECS=
	$(Q)$(FAIRGROUND) experiments $(NAMES) $(call experiment_option,HOSTS,hosts) \
		$(call experiment_option,SECS,seconds) $(call experiment_option,SEEDS,seeds)

compare: sim ## compare policies by runs of many seeds: SCHEDS=cfs,eevdf SEEDS=1..20 SHOW="pipes --time 2s"
	$(Q)$(FAIRGROUND) compare $(or $(SCHEDS),cfs,eevdf) $(SHOW) $(call experiment_option,SEEDS,seeds)

sweep: image sim ## run the grid in FILE=examples/sweep.toml on many workers (docs/sweeps.md): SEEDS= SHOW="--workers 2"
	$(Q)$(FAIRGROUND) sweep $(FILE) $(SHOW) $(call experiment_option,SEEDS,seeds)

agreement: image sim ## compare the kernel's decisions with the simulator's, one by one: SCHEDS=cfs,eevdf
	$(Q)$(FAIRGROUND) agreement $(call experiment_option,SCHEDS,scheds)

.PHONY: compare sweep experiment experiments agreement
