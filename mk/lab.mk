# SPDX-License-Identifier: GPL-2.0-only
# Coursework (labs/README.md): `make lab` grades this tree, in a hand-out; `make labs` tries the labs themselves.

# In a hand-out NN need not be given. TIERS="unit,simulator" leaves out the kernel.
lab: ## grade lab NN=5 in this tree, as a student does: TIERS=unit,simulator GRADE_SEED=2
	$(Q)$(FAIRGROUND) lab grade . $(if $(NN),--lab $(NN)) $(if $(TIERS),--tiers $(TIERS)) \
		$(if $(GRADE_SEED),--seed $(GRADE_SEED))

labs: image sim unit-programs ## try every lab: the hand-out, the reference and each wrong solution
	$(Q)$(FAIRGROUND) lab check --full

.PHONY: lab labs
