# SPDX-License-Identifier: GPL-2.0-only
# A run that records everything: `make trace CMD="hack -g 2" OUT=hack.dat`, then `trace-cmd report hack.dat`.

trace: image ## run CMD="..." and save its trace: OUT=trace.dat EVENTS=sched:*
	$(Q)$(FAIRGROUND) trace

latency: ## print run time, switches and delays of each task in OUT=trace.dat, as perf sched latency does: SHOW=
	$(Q)$(FAIRGROUND) latency $(SHOW)

timehist: ## print each time that a task had a CPU in OUT=trace.dat, as perf sched timehist does: SHOW="--summary"
	$(Q)$(FAIRGROUND) timehist $(SHOW)

map: ## print which task each CPU has after each switch in OUT=trace.dat, as perf sched map does: SHOW=
	$(Q)$(FAIRGROUND) map $(SHOW)

decisions: ## print the decisions in FILE=run.json or trace.dat, and why each went as it did: SHOW="--stats"
	$(Q)$(FAIRGROUND) decisions $(FILE) $(SHOW)

graph: ## draw what is in FILE=trace.dat: KIND=dat2graph2 or another of docs/pictures.md; SHOW="--max 2 -o x.pdf"
	$(Q)$(FAIRGROUND) graph $(or $(KIND),dat2graph2) $(FILE) $(SHOW)

# Reports hold the viewer where it can be built; without it they say so.
CAN_BUILD_VIEWER = $(and $(shell command -v npm),$(shell command -v wasm-ld))
report: ## write one page about the runs in FILE="a.dat b.json": OUT=report.html SHOW="--range 0.5-1"
	$(if $(CAN_BUILD_VIEWER),-$(Q)$(MAKE) --no-print-directory $(B)/viewer.html)
	$(Q)$(FAIRGROUND) report $(or $(filter %.html,$(OUT)),report.html) $(FILE) $(SHOW)

convert: ## write FILE=trace.dat for another tool: SHOW="-o run.pftrace", or .json, .csv, .parquet, .txt
	$(Q)$(FAIRGROUND) convert $(FILE) $(SHOW)

.PHONY: convert graph report trace latency timehist map decisions
