# SPDX-License-Identifier: GPL-2.0-only
# Scenario cards (tests/scenarios, docs/scenarios.md): HOSTS=kernel, IDS="F-01 F-29", SCHEDS=cfs,eevdf.

HOSTS ?= simulator

scenarios: sim $(if $(filter kernel,$(HOSTS)),image) ## run old scheduler bugs as workloads: IDS= HOSTS= SCHEDS=
	$(Q)$(FAIRGROUND) scenarios --host '$(HOSTS)' --scheds '$(SCHEDS)' $(IDS)

.PHONY: scenarios
