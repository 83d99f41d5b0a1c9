# SPDX-License-Identifier: GPL-2.0-only
# A missing or outdated tool is named here in one sentence, before a command fails because of it.

need = $(if $(shell command -v $(1)),,$(error $(1) is missing: run "sh tools/setup.sh", or install the package $(2)))
ifneq ($(filter-out clean help,$(or $(MAKECMDGOALS),kernel)),)
$(call need,$(firstword $(KCC)),$(if $(findstring clang,$(CC)),clang,gcc))
$(call need,$(firstword $(MUSL_CC)),musl-tools)
$(call need,$(CROSS_COMPILE)ld,binutils)
$(call need,$(PYTHON),python3)
ifneq ($(filter format,$(MAKECMDGOALS)),)
$(call need,clang-format,clang-format)
endif
CC_MAJOR := $(firstword $(subst ., ,$(shell $(CC) -dumpversion)))
ifneq ($(filter 1 2 3 4 5 6 7 8 9,$(CC_MAJOR)),)
$(error $(CC) $(CC_MAJOR) is too old: the package gcc or clang in version 10 or newer is needed)
endif
endif
