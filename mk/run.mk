# SPDX-License-Identifier: GPL-2.0-only
# Running the machine. tools/fairground does the work; this file passes the settings on.

SETTINGS := SCHED HZ SMP NUMA MEM CPU ICOUNT SHIFT SEED BOOT KVM APPEND CMD FILES ROOT TIMEOUT OUT EVENTS
# Without this check `make run SMPP=2` would silently run on four CPUs.
GIVEN_ON_COMMAND_LINE := $(foreach v,$(.VARIABLES),$(if $(findstring command line,$(origin $(v))),$(v)))
UNKNOWN := $(if $(strip $(GIVEN_ON_COMMAND_LINE)),$(shell $(PYTHON_TOOL) -m fairground.base.names --check \
	$(GIVEN_ON_COMMAND_LINE) 2>/dev/null))
$(if $(UNKNOWN),$(error $(UNKNOWN)))
# $(value) keeps the text as typed: CMD='echo $HOME' reaches the guest with its dollar sign.
GIVEN := $(foreach s,$(SETTINGS),$(if $(filter command environment,$(firstword $(origin $(s)))),$(s)))
$(foreach s,$(GIVEN),$(eval override $(s) := $$(value $(s))))
export $(SETTINGS) MONITOR B V

run: image ## boot and run CMD="...", or the demonstration and then a shell if there is a terminal
	$(Q)$(FAIRGROUND) run

bench: image ## count the instructions of each operation under cfs and eevdf, beside Linux's: SCHED= FRESH=1
	$(Q)$(FAIRGROUND) bench $(if $(filter 1,$(FRESH)),--fresh)

bench-smp: image ## do the same work on more and more CPUs, beside Linux: SIZES="1 2 4 8 16"
	$(Q)$(FAIRGROUND) bench-smp -- $(SIZES)

top: image ## show who runs and who waits while CMD="..." runs: SHOW="--delay 5"
	$(Q)$(FAIRGROUND) top $(SHOW)

stat: image ## count what CMD="..." costs, as perf stat does: SEEDS=1..5 SHOW="--all --no-aggr"
	$(Q)$(FAIRGROUND) stat $(FILE) $(if $(SEEDS),--seeds $(SEEDS)) $(SHOW)

profile: image ## count the instructions of CMD="..." function by function: SHOW="--less '...' --per 1000"
	$(Q)$(FAIRGROUND) profile $(SHOW)

repeat: image ## run CMD="..." RUNS=3 times under ICOUNT=1 and compare the traces
	$(Q)ICOUNT=1 $(FAIRGROUND) repeat $(if $(RUNS),--runs $(RUNS))

gdb: image ## boot stopped, with gdb connected and our commands loaded (rq, tasks, tree, why)
	$(Q)$(FAIRGROUND) gdb $(if $(SCRIPT),--script $(SCRIPT))

.PHONY: run bench bench-smp top stat profile repeat gdb
