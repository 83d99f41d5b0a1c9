# Scenario cards (tests/scenarios, docs/scenarios.md): HOST=kernel, IDS="F-01 F-29", SCHEDS=cfs,eevdf.

HOST ?= simulator

scenarios: sim $(if $(filter kernel,$(HOST)),image) ## old bugs of schedulers as workloads with bounds: IDS= HOST=kernel SCHEDS=
	$(Q)$(FAIRGROUND) scenarios --host '$(HOST)' --scheds '$(SCHEDS)' $(IDS)

.PHONY: scenarios
