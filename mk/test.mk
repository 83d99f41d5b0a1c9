# SPDX-License-Identifier: GPL-2.0-only
# Testing (tools/scripts/test.py, tests/conftest.py; CONTRIBUTING.md says what to run when).

# $(MAKE) does not stand in the recipes themselves: `make -n test` would run the tests.
TESTING = MAKEFLAGS= PYTHONPATH=tools:tools/scripts MAKE='$(MAKE)' CC=$(CC) B=$(B) $(PYTHON)

test: ## run every test that is worth its time each day, or ARGS="unit e2e": ten minutes on two cores
	$(Q)$(TESTING) tools/scripts/test.py $(ARGS) </dev/null

check: ## run what follows from the changes in the tree, or else from the last commit's
	$(Q)$(TESTING) tools/scripts/test.py --changed </dev/null

test-rest: ## run a fifth of the nightly tests, drawn by the number of commits
	$(Q)$(TESTING) tools/scripts/test.py --tier fifth $(ARGS) </dev/null

test-all: ## run every test and plant every seeded bug: hours
	$(Q)$(TESTING) tools/scripts/test.py --tier all $(ARGS) </dev/null
	$(Q)$(TESTING) tools/scripts/mutants.py
