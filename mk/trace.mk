# A run with everything recorded: `make trace CMD="hack -g 2" OUT=hack.dat`, then `trace-cmd report hack.dat`.

OUT ?= trace.dat

trace: image ## run CMD="..." and save its trace: OUT=trace.dat EVENTS=sched:*
	$(Q)$(FAIRGROUND) trace --out '$(OUT)' $(if $(EVENTS),--events '$(EVENTS)')

.PHONY: trace
