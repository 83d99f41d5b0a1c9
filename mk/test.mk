# Testing. `make test` runs everything; LAYERS="unit e2e" only these (tools/test.py says what they are).

test: image $(UNIT_BIN) $(PROP_BIN) sim ## every layer of tests; LAYERS="unit e2e": these only
	$(Q)PYTHONPATH=tools MAKE='$(MAKE)' CC=$(CC) B=$(B) $(PYTHON) tools/test.py $(LAYERS)

mutants: ## every seeded bug must be noticed by the tests; MUTANTS="name ..." or "--sample 8 --seed 3"
	$(Q)PYTHONPATH=tools MAKE='$(MAKE)' CC=$(CC) B=$(B) $(PYTHON) tools/mutate.py $(MUTANTS)

.PHONY: test mutants
