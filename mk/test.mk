# SPDX-License-Identifier: GPL-2.0-only
# Testing. `make test` runs everything, LAYERS="unit e2e" some layers (tools/scripts/test.py describes them).

# $(MAKE) does not stand in the recipes themselves: `make -n test` would run the tests.
TESTING = PYTHONPATH=tools MAKE='$(MAKE)' CC=$(CC) B=$(B) $(PYTHON)

test: ## run every layer of the tests, or LAYERS="unit e2e"
	$(Q)$(TESTING) tools/scripts/test.py $(LAYERS) </dev/null

mutants: ## plant every seeded bug; the tests must notice it: MUTANTS="name ..." or "--sample 8 --seed 3"
	$(Q)$(TESTING) tools/scripts/mutate.py $(MUTANTS)

.PHONY: test mutants
