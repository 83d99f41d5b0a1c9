# SPDX-License-Identifier: GPL-2.0-only
# The same programs here and on Debian's kernels (docs/fidelity.md): ROWS="hogs-2 pair" some cases, FAST=1 those that CI
# checks, SCHEDS=eevdf one policy, FRESH=1 boots Linux too; sh tools/setup.sh --compare fetches its kernels.

fidelity: image ## compare switches, shares and latencies with Linux's: ROWS= FAST=1 SCHEDS=eevdf FRESH=1
	$(Q)$(FAIRGROUND) fidelity $(ROWS) $(if $(filter 1,$(FAST)),--fast) $(if $(filter 1,$(FRESH)),--fresh) \
		$(if $(filter command,$(firstword $(origin SCHEDS))),--scheds '$(SCHEDS)')

first-difference: image ## show the first switch that two kernels decide differently: SIDES="cfs linux-6.1" CMD="..."
	$(Q)$(FAIRGROUND) first-difference $(SIDES)

.PHONY: fidelity first-difference
