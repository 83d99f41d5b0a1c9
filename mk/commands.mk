# SPDX-License-Identifier: GPL-2.0-only
# A word that is no target is one of the command `fairground`: `make WORD ARGS="..."` builds what the word needs, and
# then it is `fairground WORD ...` (docs/command.md, tools/fairground/words.py).

# Without this check `make run SMPP=2` would silently run on four CPUs.
GIVEN_ON_COMMAND_LINE := $(foreach v,$(.VARIABLES),$(if $(findstring command line,$(origin $(v))),$(v)))
UNKNOWN := $(if $(strip $(GIVEN_ON_COMMAND_LINE)),$(shell $(PYTHON_TOOL) -m fairground.base.names --check \
	$(GIVEN_ON_COMMAND_LINE) 2>/dev/null))
$(if $(UNKNOWN),$(error $(UNKNOWN)))
# The settings of a machine go on through the environment.
SETTINGS := SCHED HZ SMP NUMA MEM CPU ICOUNT SHIFT SEED BOOT KVM APPEND CMD FILES ROOT TIMEOUT OUT EVENTS TASK
# $(value) keeps the text as typed: CMD='echo $HOME' reaches the guest with its dollar sign.
GIVEN := $(foreach s,$(SETTINGS) ARGS,$(if $(filter command environment,$(firstword $(origin $(s)))),$(s)))
$(foreach s,$(GIVEN),$(eval override $(s) := $$(value $(s))))
export $(SETTINGS) B V
# ARGS is for the word alone: a make that it starts has words of its own.
unexport ARGS

WORDS := $(filter-out $(TARGETS) %-programs seam,$(foreach goal,$(MAKECMDGOALS),$(if $(findstring /,$(goal)),,$(goal))))

# What is built first. Of lab only `check` needs more than it finds.
$(WORDS): $(if $(WORDS),$(shell $(PYTHON_TOOL) -m fairground.words $(WORDS)))
$(if $(filter check,$(ARGS)),$(filter lab,$(WORDS))): image sim unit-programs
$(filter compdb,$(WORDS)): $(INC)/.made $(INC)/sim/.made

# Reports hold the viewer where it can be built; without it they say so.
CAN_BUILD_VIEWER = $(and $(shell command -v npm),$(shell command -v wasm-ld))
try-viewer:
	$(if $(CAN_BUILD_VIEWER),-$(Q)$(MAKE) --no-print-directory $(B)/viewer.html)

# A student types `make lab`.
DEFAULT_OF_lab := grade

# $(MAKE) does not stand in the recipe itself: `make -n WORD` would run it.
HANDED_ON = MAKEFLAGS= MAKE='$(MAKE)' CC=$(CC) $(FAIRGROUND)
$(WORDS):
	$(Q)$(HANDED_ON) $@ $(or $(ARGS),$(DEFAULT_OF_$@))

.PHONY: $(WORDS) try-viewer
