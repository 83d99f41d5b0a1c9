# SPDX-License-Identifier: GPL-2.0-only
# Testing (tools/scripts/test.py, tests/conftest.py; CONTRIBUTING.md says what to run when).

# $(MAKE) does not stand in the recipes themselves: `make -n test` would run the tests.
TESTING = PYTHONPATH=tools:tools/scripts MAKE='$(MAKE)' CC=$(CC) B=$(B) $(PYTHON)

test: ## run every test that is worth its time each day, or LAYERS="unit e2e": ten minutes on two cores
	$(Q)$(TESTING) tools/scripts/test.py $(LAYERS) </dev/null

check: ## run what follows from the changes in the tree, or else from the last commit's
	$(Q)$(TESTING) tools/scripts/test.py --changed </dev/null

test-rest: ## run a fifth of the nightly tests, drawn by the number of commits
	$(Q)$(TESTING) tools/scripts/test.py --tier fifth $(LAYERS) </dev/null

test-all: ## run every test and plant every seeded bug: hours
	$(Q)$(TESTING) tools/scripts/test.py --tier all $(LAYERS) </dev/null
	$(Q)$(TESTING) tools/scripts/mutants.py

nightly: ## print the tests that make test leaves out, with what only they notice
	$(Q)$(TESTING) -m pytest -q --collect-only --nightly tests

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

.PHONY: test check test-rest test-all nightly mutants mutate explore
