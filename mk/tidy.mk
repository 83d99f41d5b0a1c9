# SPDX-License-Identifier: GPL-2.0-only
# The shape of the source: rules, sizes, the scheduler's seam, formatting, generated pages.

C_FILES = $(shell git ls-files -co --exclude-standard '*.c' '*.h')

tidy: seam ## rules of the source that no compiler checks, the seam, pages in step with the .def files
	$(Q)$(PYTHON_TOOL) tools/scripts/tidy.py

seam: $(call KOBJ,$(SCHED_C) $(LIB_C)) ## what the scheduler's objects leave undefined is sched/host.h
	$(Q)$(PYTHON_TOOL) tools/scripts/nm_gate.py $^
	$(Q)ld -r -o $(B)/sched.o $^ && nm -u $(B)/sched.o

size: kernel ## lines and bytes by directory, against the budgets
	$(Q)$(PYTHON_TOOL) tools/scripts/size.py $(B)

docs: ## rewrite the pages that are made from the .def files
	$(Q)$(PYTHON_TOOL) tools/scripts/gendocs.py

format: ## clang-format every C file
	$(Q)clang-format -i $(C_FILES)

.PHONY: tidy seam size docs format
