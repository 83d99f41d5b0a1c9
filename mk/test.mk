# SPDX-License-Identifier: GPL-2.0-only
# Testing. `make test` runs everything; LAYERS="unit e2e" only these (tools/scripts/test.py says what they are).

# Not $(MAKE) in the recipes: `make -n test` would test.
TESTING = PYTHONPATH=tools MAKE='$(MAKE)' CC=$(CC) B=$(B) $(PYTHON)

test: ## every layer of tests; LAYERS="unit e2e": these only
	$(Q)$(TESTING) tools/scripts/test.py $(LAYERS) </dev/null

mutants: ## every seeded bug must be noticed by the tests; MUTANTS="name ..." or "--sample 8 --seed 3"
	$(Q)$(TESTING) tools/scripts/mutate.py $(MUTANTS)

.PHONY: test mutants
