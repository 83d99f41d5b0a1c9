# SPDX-License-Identifier: GPL-2.0-only
# Scenario cards (tests/scenarios, docs/scenarios.md): HOST=kernel, IDS="F-01 F-29", SCHEDS=cfs,eevdf.

HOST ?= simulator

scenarios: sim $(if $(filter kernel,$(HOST)),image) ## run old scheduler bugs as workloads: IDS= HOST= SCHEDS=
	$(Q)$(FAIRGROUND) scenarios --host '$(HOST)' --scheds '$(SCHEDS)' $(IDS)

.PHONY: scenarios
