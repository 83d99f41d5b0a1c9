# SPDX-License-Identifier: GPL-2.0-only
# The simulator as WebAssembly: the same source for a machine of 32 bits, by another compiler and another libc.
# docs/simulator.md says what it is good for.

WASM := $(B)/wasm
WASM_CC := clang
WASM_CFLAGS := --target=wasm32-wasi -std=gnu11 -O2 -fno-strict-aliasing -fno-common $(WARN) \
	$(NAMELESS) -DCPU_MAX=$(SIM_CPUS)u -DCOMMIT=\"$(COMMIT)\" -DDEBUG=0
# Formats say %lu for a u64, which is a long long here. lib/fmt.c takes both for 64 bits.
WASM_QUIET := -Wno-format
WASM_SIM_C := $(wildcard sim/*.c sim/engine/*.c sim/report/*.c sim/workload/*.c sim/policy/*.c) \
	sim/explore/explore_wasi.c
WASM_C := $(SCHED_C) $(filter-out lib/string.c,$(LIB_C)) $(filter-out %_posix.c,$(WASM_SIM_C))
WASM_OBJ := $(patsubst %,$(WASM)/%.o,$(WASM_C))

$(WASM)/.flags: FORCE
	$(call stamp,$(WASM_CC) $(WASM_CFLAGS))

$(WASM)/%.c.o: %.c $(INC)/sim/.made $(WASM)/.flags | $(POLICIES_DEF)
	@mkdir -p $(@D)
	@echo "  CC      $< (WebAssembly)"
	$(Q)$(WASM_CC) $(WASM_CFLAGS) $(DEPS) \
		$(if $(filter sched/% examples/% labs/% lib/% tests/% %/event_text.c $(SIM_INSIDE),$<),$(WASM_QUIET)) \
		$(if $(filter sched/% examples/% labs/% tests/% $(SIM_INSIDE),$<),$(sched_roots),-I$(INC)/sim) \
		$(if $(filter tests/% $(SIM_INSIDE),$<),-I.) -c $< -o $@

$(patsubst %,$(WASM)/%.o,$(shell grep -lw COMMIT $(WASM_SIM_C) sim/explore/explore.c)): $(B)/.commit

$(B)/schedsim.wasm: $(WASM_OBJ)
	@echo "  LD      $@"
	$(Q)$(WASM_CC) --target=wasm32-wasi -Wl,--strip-all -o $@ $^

# The same as a library: one run in steps, for a page (sim/session.h), and exploration with its judge.
SESSION_CALLS := room open run now length set policy nice rules policies ideal export close explore attempt operations
SESSION_C := $(filter-out sim/main.c sim/explore/explore_wasi.c sim/engine/scx_wasi.c,$(WASM_C)) \
	$(wildcard tests/oracle/*.c) $(filter-out %_posix.c %/divide.c,$(wildcard sim/scx/*.c)) \
	$(filter-out %/explore_wasi.c %/explore_main.c %/exhaustive.c,$(wildcard sim/explore/*.c))
SESSION_OBJ := $(patsubst %,$(WASM)/%.o,$(SESSION_C))
# Programs written for sched_ext are modules beside it. They have its memory, table and stack, and call its functions.
SESSION_FOR_PROGRAMS := __stack_pointer scx_alloc memcpy memset
SESSION_LD := $(WASM_CC) --target=wasm32-wasi -mexec-model=reactor -Wl,--strip-all,--no-check-features,--stack-first \
	$(SESSION_CALLS:%=-Wl,--export=session_%) $(SESSION_FOR_PROGRAMS:%=-Wl,--export=%) \
	-Wl,--export-table,--growable-table,@$(WASM)/exports
$(WASM)/exports: $(B)/scx/exports/scx_exports.inc
	$(Q)mkdir -p $(@D) && sed 's/EXPORT(\(.*\))/--export=\1/' $< >$@
$(B)/session.wasm: $(SESSION_OBJ) $(WASM)/exports
	@echo "  LD      $@"
	$(Q)$(SESSION_LD) -o $@ $(SESSION_OBJ)

wasm: $(B)/schedsim.wasm $(B)/session.wasm ## the simulator as WebAssembly: build/schedsim.wasm, session.wasm
