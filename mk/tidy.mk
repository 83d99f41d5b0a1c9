# SPDX-License-Identifier: GPL-2.0-only
# The shape of the source: rules, sizes, types, the scheduler's seam, formatting, generated pages.

C_FILES = $(shell git ls-files -co --exclude-standard '*.c' '*.h')

tidy: seam ## check the rules of the source that no compiler checks, sizes, generated pages, the seam
	$(Q)$(PYTHON_TOOL) tools/scripts/tidy.py

seam: $(call KOBJ,$(SCHED_C) $(LIB_C)) # check that the scheduler asks its host only for what sched/host.h declares
	$(Q)$(PYTHON_TOOL) tools/scripts/nm_gate.py $^
	$(Q)$(CROSS_COMPILE)ld -r -o $(B)/sched.o $^ && $(CROSS_COMPILE)nm -u $(B)/sched.o

types: ## type-check the Python of tools/ and tests/model/ (mypy)
	$(Q)$(PYTHON) -m mypy

generated: ## rewrite the pages that are made from the .def files: a second, and nothing is built
	$(Q)$(PYTHON_TOOL) tools/scripts/gendocs.py

docs: image sim $(B)/unit/hosted generated ## rewrite these, and what the sessions in all pages print: six minutes
	$(Q)B=$(B) $(PYTHON_TOOL) tools/scripts/docblocks.py
	$(Q)$(PYTHON_TOOL) tools/scripts/claims.py

hooks: ## let git check each commit and its message before it is made
	$(Q)git config core.hooksPath tools/hooks
	$(Q)echo "git runs tools/hooks/ from now on; git config --unset core.hooksPath ends that"

format: ## run clang-format on every C file
	$(Q)clang-format -i $(C_FILES)

.PHONY: seam
