# SPDX-License-Identifier: GPL-2.0-only
# Coursework (labs/README.md): `make lab` grades this tree, in a hand-out; `make labs` tries the labs themselves.

# What `make help` names in a hand-out: a choice, for it is long.
STUDENT_TARGETS := $(if $(wildcard labs/handout.json),lab|sim|unit|image|run|trace|decisions|$\
	convert|plugin|traits|gdb|clean|help)

# In a hand-out NN need not be given. TIERS="unit,simulator" leaves out the kernel.
lab: ## grade the lab of this tree, or NN=5: TIERS=unit,simulator GRADE_SEED=2
	$(Q)$(FAIRGROUND) lab grade . $(if $(NN),--lab $(NN)) $(if $(TIERS),--tiers $(TIERS)) \
		$(if $(GRADE_SEED),--seed $(GRADE_SEED))

labs: image sim unit-programs ## try every lab: the hand-out, the reference and each wrong solution
	$(Q)$(FAIRGROUND) lab check --full

.PHONY: lab labs
