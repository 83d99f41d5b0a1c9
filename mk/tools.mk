# SPDX-License-Identifier: GPL-2.0-only
# A missing or outdated tool is named here in one sentence, before a command fails because of it.

need = $(if $(shell command -v $(1)),,$(error $(1) is missing: run "sh tools/setup.sh", or install the package $(2)))
ifneq ($(filter-out clean help,$(or $(MAKECMDGOALS),kernel)),)
$(call need,$(firstword $(KCC)),$(if $(findstring clang,$(CC)),clang,gcc))
$(if $(filter-out sim plugin,$(or $(MAKECMDGOALS),kernel)),$(call need,$(firstword $(MUSL_CC)),musl-tools))
$(call need,$(CROSS_COMPILE)ld,binutils)
$(call need,$(PYTHON),python3)
CC_MAJOR := $(firstword $(subst ., ,$(shell $(CC) -dumpversion)))
ifneq ($(filter 1 2 3 4 5 6 7 8 9,$(CC_MAJOR)),)
$(error $(CC) $(CC_MAJOR) is too old: the package gcc or clang in version 10 or newer is needed)
endif
endif

# The uses (tools/setup.sh) that a target has beyond that. In a word of fairground it is what its Python needs.
USES_image := run
USES_run := run
USES_trace := run
USES_iso := run,iso
USES_sim := sim
USES_unit := unit
USES_prop := unit
USES_prop-programs := unit
USES_unit-programs := unit
USES_plugin := sim
USES_traits := sim,test
USES_wasm := sim,page
USES_page := sim,page
USES_book := pictures,traces,book
USES_slides := page,book
USES_questions := sim
USES_site := run,iso,sim,page,book
USES_picture := pictures
USES_types := types
USES_format := format
USES_gdb := run,gdb
USES_docs := run,sim,pictures,traces
USES_test := run,sim,unit,pictures,page,traces,book,iso,types,format,gdb,test
USES_check := run,sim,unit,types,test
USES_test-rest := $(USES_test),bench,mutate,spin,window
USES_test-all := $(USES_test-rest)
lacks = $(if $(2),$(shell sh tools/setup.sh --lacks $(2)))
refuse = $(if $(2),$(error make $(1): $(2)))
$(foreach goal,$(MAKECMDGOALS),$(call refuse,$(goal),$(call lacks,$(goal),$(USES_$(goal)))))

# SRC= is one source, of the kind that the target takes. Its name is one that no shell takes for more.
SRC_OF_plugin := .c
SRC_OF_scx := .bpf.c
SRC_OF_scx-programs := .bpf.c
SRC_OF_scx-linux := .bpf.c
SRC_OF_traits := .c .policy
SRC_NOT := ; & | < > ( ) [ ] { } ? * ! ~ ` ' " \ $$ \#
src_odd = $(strip $(filter-out 1,$(words $(SRC))) $(filter -%,$(SRC)) \
	$(foreach mark,$(SRC_NOT),$(findstring $(mark),$(SRC))))
src_taken = $(filter $(addprefix %,$(1)),$(SRC))
SRC_ODD := rename the file: a name that begins with - or has a blank or another character of the shell is not taken
SRC_OTHER := a source in C is wanted, whose name ends in
src_wrong = $(if $(strip $(SRC)),$(if $(src_odd),$(SRC_ODD),$(if $(src_taken),$(if $(wildcard $(SRC)),,there is no \
	such file),$(SRC_OTHER) $(firstword $(1)))),a file is to be named)
$(foreach goal,$(MAKECMDGOALS),$(if $(SRC_OF_$(goal)),\
	$(call refuse,$(goal) SRC=$(SRC),$(call src_wrong,$(SRC_OF_$(goal))))))
