# SPDX-License-Identifier: GPL-2.0-only
# For those who work on the project: an editor that knows every file, and hooks that check each commit.

# $(MAKE) does not stand in the recipe itself: `make -n compdb` would run it.
COMPDB = MAKE='$(MAKE)' B=$(B) $(PYTHON_TOOL) tools/scripts/compdb.py

compdb: $(INC)/.made $(INC)/sim/.made ## write compile_commands.json for clangd; CHECK=1 tries it in every room
	$(Q)$(COMPDB) $(if $(CHECK),--check)

hooks: ## let git check each commit and its message before it is made
	$(Q)git config core.hooksPath tools/hooks
	$(Q)echo "git runs tools/hooks/ from now on; git config --unset core.hooksPath ends that"

.PHONY: compdb hooks
