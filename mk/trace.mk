# SPDX-License-Identifier: GPL-2.0-only
# A run that records everything: `make trace CMD="hack -g 2" OUT=hack.dat`, then `trace-cmd report hack.dat`.

trace: image ## run CMD="..." and save its trace: OUT=trace.dat EVENTS=sched:*
	$(Q)$(FAIRGROUND) trace

latency: ## print run time, switches and delays of each task in OUT=trace.dat, as perf sched latency does
	$(Q)$(FAIRGROUND) latency

.PHONY: trace latency
