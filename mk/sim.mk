# SPDX-License-Identifier: GPL-2.0-only
# The simulator: sched/ and lib/ built again for the host, with room for 4096 CPUs, and the code around them that
# simulates a machine (docs/adr/007-simulator.md). It may include lib and the scheduler's public headers.

SIM := $(B)/sim
SIM_CPUS := 4096
# On macOS code is always independent of its position, no page is huge on request, and the compiler takes the formats of
# sched/observe/event.def, which are Linux's and which lib/fmt.c prints, for its own library's.
SIM_SYSTEM ?= $(shell uname -s)
SIM_PLACE := $(if $(filter Darwin,$(SIM_SYSTEM)),-Wno-format -DMADV_HUGEPAGE=MADV_NORMAL,-fno-pie -fno-plt)
SIM_LINK := $(if $(filter Darwin,$(SIM_SYSTEM)),,-no-pie)
# The third level, in place of the default, takes 8 % off the instructions of a tick, and little off the others.
SIM_CFLAGS := $(subst -O2,-O3,$(CSTD)) $(WARN) $(SIM_PLACE) -DCPU_MAX=$(SIM_CPUS)u -DCOMMIT=\"$(COMMIT)\" -DDEBUG=0
# The judge of explorations knows the inside of sched/, as tests do.
SIM_C := $(filter-out %_wasi.c,$(wildcard sim/*.c sim/*/*.c tests/oracle/*.c))
# A policy in expressions is a policy, and does, too.
SIM_INSIDE := sim/policy/hooks.c sim/policy/blame.c
SIM_OBJ := $(patsubst %,$(SIM)/%.o,$(SCHED_C) $(filter-out lib/string.c,$(LIB_C)) $(SIM_C))

$(INC)/sim/.made: Makefile mk/sim.mk $(INC)/.made
	$(Q)$(call inc_links,$(INC)/sim,lib sim $(SCHED_PUBLIC))
	$(Q)touch $@

$(SIM)/.flags: FORCE
	$(call stamp,$(CC) $(SIM_CPUS))

$(SIM)/%.c.o: %.c $(INC)/sim/.made $(SIM)/.flags | $(POLICIES_DEF)
	@mkdir -p $(@D)
	@echo "  CC      $(call nth_of,SIM_OBJ)$< (simulator)"
	$(Q)$(CC) $(SIM_CFLAGS) $(DEPS) \
		$(if $(filter sched/% examples/% labs/% tests/% $(SIM_INSIDE),$<),$(sched_roots),-I$(INC)/sim) \
		$(if $(filter tests/% $(SIM_INSIDE),$<),-I.) -c $< -o $@

$(patsubst %,$(SIM)/%.o,$(shell grep -lw COMMIT $(SIM_C))): $(B)/.commit

$(B)/schedsim: $(SIM_OBJ)
	@echo "  LD      $@"
	$(Q)$(CC) $(SIM_LINK) -rdynamic -o $@ $^ -ldl

# A policy as a shared object, for schedsim --plugin: it finds its own name where the list of policies says "guest".
PLUGIN := $(basename $(notdir $(SRC)))
plugin: $(B)/schedsim $(POLICIES_DEF) ## a policy for schedsim --plugin: SRC=mine.c makes build/plugins/mine.so
	$(Q)! grep -q '^POLICY($(PLUGIN),' $(POLICIES_DEF) || { echo 'the policy $(PLUGIN) is built in' >&2; exit 2; }
	$(Q)mkdir -p $(B)/plugins/$(PLUGIN)/sched/fair
	$(Q)def=$(B)/plugins/$(PLUGIN)/sched/fair/policies.def; \
	sed 's/GUEST(guest,/GUEST($(PLUGIN),/' $(POLICIES_DEF) >$$def.$$$$ && mv $$def.$$$$ $$def
	@echo "  PLUGIN  $(B)/plugins/$(PLUGIN).so"
	$(Q)so=$(B)/plugins/$(PLUGIN).so; $(CC) $(SIM_CFLAGS) -fPIC -shared -I$(B)/plugins/$(PLUGIN) \
		-I$(INC)/sched -o $$so.$$$$ $(SRC) && mv $$so.$$$$ $$so

# A program written for sched_ext as a shared object, for schedsim --scx; the functions it calls are the simulator's.
# A main.bpf.c has the name of its folder, as in build/scx/crates/scx_bpfland. A file `sources` beside it names the
# other sources. The compiler sees a table of it (scx_maps.py) behind the source, which it knows by the name in SRC.
SCX_FILE := $(basename $(basename $(notdir $(SRC))))
SCX := $(if $(filter main,$(SCX_FILE)),$(notdir $(patsubst %/,%,$(dir $(SRC)))),$(SCX_FILE))
SCX_ALSO := $(if $(filter main,$(SCX_FILE)),$(addprefix $(dir $(SRC)),$(file <$(dir $(SRC))sources)))
SCX_HALF := $(wildcard sim/scx/halves/$(SCX).c)
# BPF leaves locks, timers and kept pointers alone where it copies a value: a program need not set them on its stack.
SCX_ZERO := -ftrivial-auto-var-init=zero $(if $(findstring clang,$(CC)),\
	-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang)
SCX_CFLAGS := -std=gnu11 -O2 -g -fPIC -fvisibility=hidden -fno-strict-aliasing -ffreestanding \
	-fno-builtin-printf -D__BPF__ $(SCX_ZERO) $(NAMELESS) -Isim/scx/include -I$(INC)/scx \
	-I$(B)/scx/crates/include -Wall -Wno-unused -Wno-attributes -Wno-discarded-qualifiers \
	-Werror=implicit-function-declaration $(SCX_WARN)
# The same program as an object for the kernel (kernel/scx/object.c): it calls the kernel in each block of its code, and
# its functions need little of the stack. (BPF allows 512 bytes.)
SCX_KERNEL := -g0 -fPIE -mno-red-zone -mgeneral-regs-only -fcf-protection=none \
	-fno-stack-protector -fno-asynchronous-unwind-tables -fno-optimize-sibling-calls -fsanitize-coverage=trace-pc \
	-Werror=frame-larger-than=2048
# And as a module for the page, if there is a clang that can make one (web/program.mjs). LLVM knows modules that share
# their memory under the name of Emscripten's system only.
SCX_WASM = $(WASM_CC) --target=wasm32-unknown-emscripten
SCX_WASM_CFLAGS = $(filter-out -g $(SCX_ZERO),$(SCX_CFLAGS)) -Wno-everything -ftrivial-auto-var-init=zero \
	-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang
# Its divisions are BPF's (sim/scx/divide.ll), exchanged before anything is optimized.
SCX_DIVIDE = s/= \([us]\(div\|rem\)\)\( exact\)\? \(i32\|i64\) \([^,]*\), /= call \4 @\1_\4(\4 \5, \4 /; \
	t put; b; :put; s/$$/)/
SCX_WASM_LD = $(SCX_WASM) -nostdlib -Wl,-shared,--experimental-pic,--strip-all
# The lists of maps and constants of several sources would not lie one after the other in a module.
SCX_NO_WASM = $(if $(SCX_ALSO),echo 'a module is of one source; this program has several',command -v \
	$(firstword $(WASM_CC)) >$$made/no && command -v wasm-ld >$$made/no && \
	{ grep -m 1 error: $$made/log || head -n 1 $$made/log; } || echo install clang and lld)
scx: $(B)/schedsim scx-programs ## a program of sched_ext: SRC=main.bpf.c makes build/scx/main.so, main.o and main.wasm
scx-programs: $(INC)/.made
	$(Q)mkdir -p $(B)/scx
	@echo "  SCX     $(B)/scx/$(SCX).so"
	$(Q)set -e; out=$(B)/scx/$(SCX); made=$$out.$$$$; \
	trap "[ \$$? = 0 ] || rm -f $$out.so $$out.o $$out.wasm; rm -rf $$made" EXIT; mkdir $$made; \
	sim= kernel= wasm= place=$(if $(SCX_ALSO),first,only) left=$(words $(SCX_ALSO)); half=$(SCX_HALF); \
	for source in $(SRC) $(SCX_ALSO); do \
		unit=$$made/$$left; \
		$(CC) $(SCX_CFLAGS) -E -o $$unit.i $$source; \
		$(PYTHON) tools/scripts/scx_maps.py $$source "$$half" $$place <$$unit.i >$$unit.c; \
		from="-ffile-prefix-map=$$made=$(SCX) -I$$(dirname $$source) -include $$source \
			$${half:+-include $$half}"; \
		$(CC) $(SCX_CFLAGS) $$from -c -o $$unit.sim.o $$unit.c; \
		$(KCC) $(SCX_CFLAGS) $(SCX_KERNEL) $$from -c -o $$unit.o $$unit.c; \
		[ $$place != only ] || { $(SCX_WASM) $(SCX_WASM_CFLAGS) $$from -Xclang -disable-llvm-passes \
				-S -emit-llvm -o $$unit.raw $$unit.c && \
			sed '$(SCX_DIVIDE)' $$unit.raw | cat - sim/scx/divide.ll >$$unit.ll && \
			$(SCX_WASM) -O2 -fPIC -fvisibility=hidden -c -o $$unit.wasm.o $$unit.ll; } 2>>$$made/log || :; \
		sim="$$sim $$unit.sim.o"; kernel="$$kernel $$unit.o"; wasm="$$wasm $$unit.wasm.o"; \
		left=$$((left - 1)); half=; place=$$([ $$left = 0 ] && echo last || echo middle); \
	done; \
	$(CC) -shared -Wl,-Bsymbolic,-z,muldefs -o $$made/so $$sim; \
	$(KCC) -r -nostdlib -Wl,-z,muldefs -o $$made/o $$kernel; \
	mv $$made/so $$out.so; mv $$made/o $$out.o; \
	if $(SCX_WASM_LD) -o $$made/wasm $$wasm 2>>$$made/log; then mv $$made/wasm $$out.wasm; else rm -f $$out.wasm; \
		echo "no $$out.wasm for the page: $$($(SCX_NO_WASM))"; fi
.PHONY: scx-programs

# The same program for a Linux with sched_ext, and what loads it there, in the form of Debian 13. libbpf takes what a
# type of the kernel has from the kernel.
SCX_LINUX_CFLAGS := -target bpf -mcpu=v3 -O2 -g $(NAMELESS) -fms-extensions -D__TARGET_ARCH_x86 -Wall -Wno-unused \
	-Wno-microsoft-anon-tag -Wno-compare-distinct-pointer-types -I$(B)/scx/crates/linux \
	-I$(B)/scx/crates/linux/bpf-compat -I$(B)/linux -I$(B)/trixie/include -I/usr/include/x86_64-linux-gnu \
	-include tools/linux/names.h
scx-linux: ## a program of sched_ext for Linux 7.2: SRC=main.bpf.c makes build/scx/main.bpf.o and attach
	$(Q)test -e $(B)/linux/vmlinux.h && test -e $(B)/trixie/libbpf.so.1 && test -d $(B)/scx/crates/linux || { \
		echo 'make scx-linux needs headers of Linux: sh tools/setup.sh --compare --scx fetches them' >&2; \
		exit 2; }
	@echo "  SCX     $(B)/scx/$(SCX).bpf.o"
	$(Q)out=$(B)/scx/$(SCX).bpf.o; \
		for clang in clang-19 clang-16 clang; do command -v $$clang >/dev/null && break; done; \
		$$clang $(SCX_LINUX_CFLAGS) -c -o $$out.$$$$ $(SRC) && \
		mv $$out.$$$$ $$out
	$(Q)out=$(B)/scx/attach; $(CC) $(WARN) -O2 -isystem $(B)/trixie/include -o $$out.$$$$ \
		tools/linux/attach.c $(B)/trixie/libbpf.so.1 -Wl,--allow-shlib-undefined,--disable-new-dtags \
		-Wl,--dynamic-linker=/trixie/ld-linux-x86-64.so.2,-rpath=/trixie && mv $$out.$$$$ $$out
.PHONY: scx-linux

traits: $(B)/schedsim $(POLICIES_DEF) ## does a policy keep the promises of its table? SRC=mine.c or mine.bpf.c
	$(Q)case "$(SRC)" in *.bpf.c) $(MAKE) --no-print-directory scx && PYTHONPATH=tools B=$(B) \
		exec $(PYTHON) tools/scripts/scx_traits.py "$(B)/scx/$(SCX).so$(ARGS:%=,%)"; exit;; esac; \
	case "$(SRC)" in sched/*) grep -q '^POLICY($(PLUGIN),' $(POLICIES_DEF) || \
		{ echo '$(PLUGIN) is no policy of sched/fair/policies.def' >&2; exit 2; };; \
		*.c) $(MAKE) --no-print-directory plugin;; esac && \
	SRC="$(SRC)" B=$(B) $(PYTHON) -m pytest -v --no-header -p no:cacheprovider \
		tests/sim/test_traits.py -k keeps_its_promises

sim: $(B)/schedsim ## build the simulator: build/schedsim (docs/simulator.md)

# The simulator's engine with the scheduler as a library (sim/README.md).
$(B)/libfairsim.a: $(filter $(SIM)/sim/engine/% $(SIM)/sim/policy/% $(SIM)/sched/% $(SIM)/lib/%,$(SIM_OBJ))
	@echo "  AR      $@"
	$(Q)rm -f $@
	$(Q)ar rcs $@ $^
