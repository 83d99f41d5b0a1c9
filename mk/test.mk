# SPDX-License-Identifier: GPL-2.0-only
# Testing. `make test` runs everything, LAYERS="unit e2e" some layers (tools/scripts/test.py describes them).

# $(MAKE) does not stand in the recipes themselves: `make -n test` would run the tests.
TESTING = PYTHONPATH=tools:tools/scripts MAKE='$(MAKE)' CC=$(CC) B=$(B) $(PYTHON)

test: ## run every layer of the tests, or LAYERS="unit e2e"
	$(Q)$(TESTING) tools/scripts/test.py $(LAYERS) </dev/null

# Seeded bugs are written by people, and each names the test that must notice it; mutations are generated, and what
# counts is how many of them are noticed (docs/mutation.md).
mutants: ## plant every seeded bug; its test must notice it: MUTANTS="name ..." or "--sample 8 --seed 3"
	$(Q)$(TESTING) tools/scripts/mutants.py $(MUTANTS)

mutate: ## generate N=100 mutations of sched/ by SEED=1 and count how many the fast tests notice (docs/mutation.md)
	$(Q)$(TESTING) -m mutation $(N) $(if $(SEED),--seed $(SEED)) \
		$(if $(JOBS),--jobs $(JOBS)) $(MUTATE)

explore: sim ## random operations from many seeds, in parallel, with progress: SEEDS= OPS= SEED= SCHEDS=
	$(Q)$(TESTING) tools/scripts/explore.py $(if $(SEEDS),--seeds '$(SEEDS)') $(if $(OPS),--ops '$(OPS)') \
		$(if $(SEED),--seed '$(SEED)') $(if $(SCHEDS),--scheds '$(SCHEDS)')

.PHONY: test mutants mutate explore
