# SPDX-License-Identifier: GPL-2.0-only
# Fairground: one entry point. `make help` explains the targets.
#
# `make WORD` of another word is `fairground WORD` (mk/commands.mk). `make settings` explains NAME=value.

B ?= build
ifeq ($(origin CC),default)
CC := gcc
endif
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
# The kernel and the programs are built with the cross tools if there are any, the rest with $(CC).
CROSS_COMPILE ?=
export CROSS_COMPILE
ifeq ($(CROSS_COMPILE),)
KCC := $(CC)
MUSL_CC ?= musl-gcc
else
KCC := $(if $(findstring clang,$(CC)),$(CC) --target=$(CROSS_COMPILE:-=),$(CROSS_COMPILE)$(CC))
MUSL_CC ?= $(CROSS_COMPILE)gcc -specs /usr/lib/x86_64-linux-musl/musl-gcc.specs
endif
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
VERSION := $(shell cat VERSION)
COMMIT := $(or $(FAIRGROUND_COMMIT),$(shell git describe --always --dirty 2>/dev/null || cat VERSION))
# The kernel prints it in 24 characters, whatever it is: with ICOUNT=1 the instructions that print are counted.
KERNEL_COMMIT := $(shell printf '%-24.24s' '$(COMMIT)')
PYTHON_TOOL = PYTHONPATH=tools $(PYTHON)
FAIRGROUND = $(PYTHON_TOOL) -m fairground --build $(B)

# A place that cannot be written is told at once, and not by the first program that fails there.
PLACE := $(or $(wildcard $(B)),$(wildcard $(dir $(B))))
ifneq ($(and $(PLACE),$(filter-out help settings,$(or $(MAKECMDGOALS),kernel))),)
ifneq ($(shell test -w '$(PLACE)' || echo no),)
$(error make: $(PLACE) cannot be written; build elsewhere: make B=DIRECTORY $(MAKECMDGOALS))
endif
endif

.DEFAULT_GOAL := kernel
TARGETS := kernel image iso sim wasm page plugin scx scx-linux traits unit prop test check test-rest test-all tidy \
	types generated docs format hooks clean help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# "[12/340] " for the recipe of an object, if some of those that the variable $(1) lists were missing when the first was
# made: the number of this one, and of those. Others are out of date, and nobody knows how many.
space := $(subst ,, )
missing_of = $(words $(filter-out $(wildcard $($(1))),$($(1))))
nth_of = $(if $($(1)_MISSING),,$(eval $(1)_MISSING := $(call missing_of,$(1))))$(if $(or $(filter 0,$($(1)_MISSING)),$\
	$(word $($(1)_MISSING),$($(1)_DONE))),,$(eval $(1)_DONE += x)[$(words $($(1)_DONE))/$($(1)_MISSING)]$(space))

# --- layering -------------------------------------------------------------------
# Each layer is compiled with one include root. It holds links to what the layer may include and to nothing else
# (docs/adr/001-hosted-core.md), so an illegal include does not compile.
INC := $(B)/inc
SCHED_PUBLIC := sched/sched.h sched/ext.h sched/task.h sched/group.h sched/freq.h sched/host.h sched/observe/event.h \
	sched/observe/decision.h sched/balance/shared_link.h $(wildcard sched/observe/*.def) sched/fair/trait.def
# The links are relative: a copy of the tree with its build directory is a tree of its own
# (tools/scripts/mutants.py).
inc_links = $(foreach l,$(2),mkdir -p $(1)/$(dir $(l)) && ln -sfnr $(l) $(1)/$(l) &&) true

$(INC)/.made: Makefile $(wildcard sched/observe/*.def)
	$(Q)rm -rf $(INC) && mkdir -p $(INC)
	$(Q)$(call inc_links,$(INC)/lib,lib)
	$(Q)$(call inc_links,$(INC)/sched,lib sched)
	$(Q)$(call inc_links,$(INC)/kernel,lib kernel sim/scx $(SCHED_PUBLIC))
	$(Q)$(call inc_links,$(INC)/scx,sched/observe/ext_event.def)
	$(Q)ln -sfnr arch/x86/machine.h $(INC)/kernel/machine.h
	$(Q)ln -sfnr arch/x86/machine_inline.h $(INC)/kernel/machine_inline.h
	$(Q)$(call inc_links,$(INC)/arch,lib arch $(SCHED_PUBLIC) \
		$(addprefix kernel/,arch.h percpu.h sync.h kernel.h contract.h base/inject.h mm/mm.h mm/kasan.h \
			task/cred.h task/siginfo.h task/thread.h tty/vt.h))
	$(Q)ln -sfnr arch/x86/machine.h $(INC)/arch/machine.h
	$(Q)ln -sfnr arch/x86/machine_inline.h $(INC)/arch/machine_inline.h
	$(Q)touch $@

# The list of policies, with a line for each file of POLICIES="examples/policies/mine.c ...", which are built in. Each
# make writes a file of its own first: several may be at work, and none is to see half a list.
names_of = $(basename $(notdir $(1)))
POLICIES_DEF := $(B)/policies/sched/fair/policies.def
$(POLICIES_DEF): FORCE
	$(Q)mkdir -p $(@D)
	$(Q)new=$@.$$$$; cp sched/fair/policies.def $$new && \
	$(if $(POLICIES),printf 'POLICY(%s, 256, 0)\n' $(call names_of,$(POLICIES)) >>$$new &&) \
	{ cmp -s $$new $@ || cp $$new $@; } && rm $$new
sched_roots := -I$(B)/policies -I$(INC)/sched
roots_of = $(if $(filter sched,$(1)),$(sched_roots),-I$(INC)/$(1))

# --- flags ------------------------------------------------------------------------
WARN := -Wall -Wextra -Werror -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wundef -Wpointer-arith -Wwrite-strings -Wimplicit-fallthrough
OPTIMIZE ?= 2
# No file that is built has the name of the directory in it.
NAMELESS := '-fdebug-prefix-map=$(CURDIR)=.' '-ffile-prefix-map=$(CURDIR)/='
# Ubuntu's compilers watch stacks and copies unasked, by calls that no lab allows (tools/fairground/lab/workshop.py).
UNWATCHED := -fno-stack-protector -U_FORTIFY_SOURCE
CSTD := -std=gnu11 -g -O$(OPTIMIZE) -fno-strict-aliasing -fno-common $(UNWATCHED) $(NAMELESS)
# Every local variable of the kernel has a value, so that a program sees no byte of an old stack: zero, or in debug
# builds a pattern that tests/guest/leakcheck.c looks for. Clang before 16 wants a second option for zero.
IS_DEBUG := $(filter-out 0,$(DEBUG))
AUTO_INIT_IS := -ftrivial-auto-var-init=$(if $(IS_DEBUG),pattern,zero)
kcc_option = $(shell $(KCC) -Werror $(1) -fsyntax-only -x c /dev/null 2>/dev/null && echo '$(1)')
AUTO_INIT := $(or $(call kcc_option,$(AUTO_INIT_IS)),$(call kcc_option,$(AUTO_INIT_IS) \
	-enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang))
# Canaries, too, are for debug builds (kernel/base/canary.c, whose own functions have none).
CANARY := -f$(if $(IS_DEBUG),stack-protector-strong -mstack-protector-guard=global,no-stack-protector)
# A kernel that panics and says where: SAN=undefined at undefined behaviour (kernel/base/ubsan.c), SAN=address at an
# access beyond its object, variable or page, or after that was freed (kernel/mm/kasan.c). The allocators are unchecked:
# they touch memory that nobody else may.
SANS := undefined address thread
$(if $(filter-out $(SANS),$(SAN)),$(error SAN=$(SAN): only these are known: $(SANS)))
$(if $(and $(filter address thread,$(SAN)),$(findstring clang,$(CC))),$(error SAN=$(SAN) needs gcc))
SAN_undefined := -fsanitize=undefined -fno-sanitize=object-size -fno-sanitize=pointer-overflow
SAN_address := -fsanitize=kernel-address -fasan-shadow-offset=0xdffffc0000000000 \
	$(addprefix --param=asan-,instrumentation-with-call-threshold=0 globals=1 stack=1 memintrin=0)
# Without -fno-ipa-sra a load of a __racy function could become its caller's.
SAN_thread := -fsanitize=thread $(addprefix --param=tsan-,distinguish-volatile=1 instrument-func-entry-exit=0) \
	-Wno-tsan -fno-ipa-sra
SAN_FLAGS := $(SAN_$(SAN))
SAN_undefined_C := kernel/base/ubsan.c
SAN_address_C := kernel/mm/kasan.c kernel/mm/kasan_test.c kernel/mm/poison.c
SAN_thread_C := kernel/base/tsan.c kernel/base/tsan_test.c
# With both it notes which locks were held when a field was accessed.
IS_GUARDS := $(and $(IS_DEBUG),$(filter thread,$(SAN)))
GUARDS_C := kernel/base/guards.c kernel/base/guards_test.c
DEBUG_C := kernel/base/canary.c kernel/base/inject.c kernel/mm/poison.c
# COVER=1: the kernel says which of its places a fuzzer's scripts reach (make fuzz). It needs debug builds, where
# make-it-fail marks the threads that count.
IS_COVER := $(filter-out 0,$(COVER))
$(if $(IS_COVER),$(if $(IS_DEBUG),,$(error COVER=1 needs DEBUG=1)))
COVER_C := kernel/base/cover.c
# Left out of it: files whose loops look at every word of an object, or at every lock, and would be most of the time.
UNCOVERED_C := $(COVER_C) $(DEBUG_C) kernel/task/lock.c kernel/task/lockdep.c
OTHER_C := $(filter-out $(SAN_$(SAN)_C) $(if $(IS_DEBUG),$(DEBUG_C)) $(if $(IS_COVER),$(COVER_C)),\
	$(foreach san,$(SANS),$(SAN_$(san)_C)) $(DEBUG_C) $(COVER_C)) $(if $(IS_GUARDS),,$(GUARDS_C))
# So are files whose constants are in the part of the image for screens, which has no shadow.
UNCHECKED_address := $(addprefix kernel/mm/,kasan.c poison.c slab.c page.c) \
	$(addprefix kernel/tty/,vt.c font.c screen.c) arch/x86/screen.c arch/x86/keyboard.c
UNCHECKED_thread := $(addprefix kernel/base/,tsan.c guards.c console.c panic.c symbol.c) kernel/task/lock.c \
	kernel/task/lockdep.c arch/x86/cpu.c arch/x86/smp.c
KFLAGS := $(CSTD) $(WARN) -ffreestanding -fno-pie -fno-pic -mcmodel=kernel -mno-red-zone -mgeneral-regs-only \
	-fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-delete-null-pointer-checks $(CANARY) \
	-fcf-protection=none -fno-asynchronous-unwind-tables $(AUTO_INIT) $(SAN_FLAGS) \
	-DCOMMIT='"$(KERNEL_COMMIT)"' -DDEBUG=$(if $(DEBUG),$(DEBUG),0) \
	-DSAN_ADDRESS=$(if $(filter address,$(SAN)),1,0) $(if $(IS_GUARDS),-DCHECK_GUARDS=1)
DEPS = -MMD -MP

# --- kernel -------------------------------------------------------------------------
LIB_C := $(wildcard lib/*.c)
SCHED_C := $(wildcard sched/*/*.c sched/fair/*/*.c) $(POLICIES)
# What simulator and kernel share as hosts of programs written for sched_ext.
SCX_C := $(addprefix sim/scx/,arena.c divide.c op.c group.c kfunc.c map.c mask.c object.c tree.c half.c)
KERNEL_C := $(filter-out $(OTHER_C),$(wildcard kernel/*/*.c tests/kernel/*.c)) $(SCX_C)
ARCH_C := $(wildcard arch/x86/*.c)
ARCH_S := $(wildcard arch/x86/*.S)
KOBJ = $(patsubst %,$(B)/kernel/%.o,$(1))
KERNEL_OBJ := $(call KOBJ,$(ARCH_S) $(ARCH_C) $(KERNEL_C) $(SCHED_C) $(LIB_C))

LAYER_lib := lib
LAYER_sched := sched
LAYER_examples := sched
LAYER_labs := sched
LAYER_kernel := kernel
LAYER_tests := kernel
LAYER_sim := kernel
LAYER_arch := arch
layer_of = $(LAYER_$(firstword $(subst /, ,$(1))))

# A stamp is a file that changes when its text does. Its dependants are built again for another compiler or commit.
stamp = @mkdir -p $(@D) && echo '$(1)' | cmp -s - $@ || echo '$(1)' > $@
$(B)/.flags: FORCE
	$(call stamp,$(KCC) $(DEBUG) -O$(OPTIMIZE) $(SAN) $(COVER))
$(B)/.commit: FORCE
	$(call stamp,$(VERSION) $(COMMIT))
$(KERNEL_OBJ): $(B)/.flags | $(POLICIES_DEF)
$(call KOBJ,$(UNCHECKED_$(SAN))): KFLAGS := $(filter-out $(SAN_FLAGS),$(KFLAGS))
$(if $(IS_COVER),$(call KOBJ,$(filter-out $(UNCOVERED_C),$(filter kernel/%,$(KERNEL_C))))): \
	KFLAGS += -fsanitize-coverage=trace-pc -include kernel/base/place.h
$(call KOBJ,kernel/base/canary.c): KFLAGS += -fno-stack-protector
$(call KOBJ,kernel/base/main.c): KFLAGS += -DVERSION='"$(VERSION)"'
$(call KOBJ,$(shell grep -lwE 'COMMIT|OS_VERSION' $(KERNEL_C))): $(B)/.commit

# The font of the screen, as initializers.
$(B)/font/font.inc: kernel/tty/font.hex
	$(Q)mkdir -p $(@D) && sed -E '/^#/d; s/[0-9A-F]{2}/0x&,/g; s/^0x(..),0x(..),:(.*)$$/{ 0x\1\2, { \3 } },/' $< >$@
$(call KOBJ,kernel/tty/font.c): $(B)/font/font.inc
$(call KOBJ,kernel/tty/font.c): KFLAGS += -I$(B)/font

# The functions that programs written for sched_ext may call, as EXPORT(name).
$(B)/scx/exports/scx_exports.inc: sim/scx/include/scx/functions.h
	$(Q)mkdir -p $(@D) && sed -nE 's/^[a-z].*[ *]((scx|bpf|half|cpu)_[a-z0-9_]+)\(.*/EXPORT(\1)/p' $< >$@
$(call KOBJ,kernel/scx/object.c): $(B)/scx/exports/scx_exports.inc
$(call KOBJ,kernel/scx/object.c): KFLAGS += -I$(B)/scx/exports

$(B)/kernel/%.c.o: %.c $(INC)/.made
	@mkdir -p $(@D)
	@echo "  CC      $(call nth_of,KERNEL_OBJ)$<"
	$(Q)$(KCC) $(KFLAGS) $(DEPS) $(call roots_of,$(call layer_of,$<)) -c $< -o $@

$(B)/kernel/%.S.o: %.S $(INC)/.made
	@mkdir -p $(@D)
	@echo "  AS      $(call nth_of,KERNEL_OBJ)$<"
	$(Q)$(KCC) $(KFLAGS) $(DEPS) -D__ASSEMBLY__ -I$(INC)/arch -c $< -o $@

# With OPTIMIZE="2 -flto" the compiler optimises the whole kernel at the link.
LINK := $(if $(findstring -flto,$(OPTIMIZE)),$(KCC) $(KFLAGS) -no-pie -Xlinker,$(CROSS_COMPILE)ld)
$(B)/fairground.elf: $(KERNEL_OBJ) linker.ld tools/scripts/symbols.py
	@echo "  LD      $@"
	$(Q)$(LINK) --build-id=none -nostdlib -static -z max-page-size=4096 -z noexecstack -T linker.ld \
		$(if $(filter address,$(SAN)),$(addprefix --wrap=,memcpy memmove memset)) -o $@.tmp $(KERNEL_OBJ)
	$(Q)$(PYTHON_TOOL) tools/scripts/symbols.py $@.tmp $@

kernel: $(B)/fairground.elf ## build the kernel: build/fairground.elf

# --- user programs and the initramfs ---------------------------------------------------
# NAME.c, with NAME/*.c beside it if there are any, is the program NAME. user/lib is linked into each program.
USER_ROOMS := user/bin user/bench tests/guest
USER_C := $(wildcard $(addsuffix /*.c,$(USER_ROOMS)))
USER_LIB_C := $(wildcard user/lib/*.c)
USER_BIN := $(patsubst %.c,$(B)/user/%,$(notdir $(USER_C)))
USER_OBJ = $(patsubst %.c,$(B)/user/obj/%.o,$(1))
USER_ALL_OBJ = $(call USER_OBJ,$(USER_C) $(USER_LIB_C) $(wildcard $(addsuffix /*/*.c,$(USER_ROOMS))))
USER_FLAGS := -std=gnu11 -O2 -g $(WARN) -Wno-missing-field-initializers \
	$(NAMELESS) -Iuser -Itests/guest -pthread
.SECONDARY: $(call USER_OBJ,$(USER_C) $(wildcard $(addsuffix /*/*.c,$(USER_ROOMS))))

$(B)/user/obj/%.o: %.c
	@mkdir -p $(@D)
	@echo "  USER    $(call nth_of,USER_ALL_OBJ)$<"
	$(Q)$(MUSL_CC) $(USER_FLAGS) $(DEPS) -c -o $@ $<

$(B)/user/obj/lib.a: $(call USER_OBJ,$(USER_LIB_C))
	$(Q)rm -f $@ && $(CROSS_COMPILE)ar rcsD $@ $^

user_parts = $(call USER_OBJ,$(wildcard $(addsuffix /$(1).c,$(USER_ROOMS)) $(addsuffix /$(1)/*.c,$(USER_ROOMS))))
.SECONDEXPANSION:
# Both make the calls of one table.
$(B)/user/failcheck $(B)/user/fuzz: $(call USER_OBJ,$(wildcard tests/guest/calls/*.c))
$(USER_BIN): $(B)/user/%: $$(call user_parts,$$*) $(B)/user/obj/lib.a
	$(Q)$(MUSL_CC) -static -pthread -o $@ $^

$(B)/initramfs.cpio: $(USER_BIN) tools/scripts/mkinitramfs.sh
	@echo "  CPIO    $@"
	$(Q)sh tools/scripts/mkinitramfs.sh $@ $(USER_BIN)

image: $(B)/fairground.elf $(B)/initramfs.cpio ## build the kernel and its initial RAM file system

clean: ## remove the build directory
	rm -rf $(B)

# In a hand-out of a lab, a choice of all.
STUDENT := $(if $(wildcard labs/handout.json),kernel|image|sim|unit|plugin|traits|clean|help)
help: ## print this list, the words of fairground, and the settings
	@grep -hE '^($(or $(STUDENT),[a-z-]+)):.*## ' Makefile mk/*.mk | sed -E 's/:.*## /\t/' \
		| expand -t 16 | $(PYTHON_TOOL) -m fairground.base.folded
	@$(PYTHON_TOOL) -m fairground settings --brief $(if $(STUDENT),--student)

.PHONY: $(TARGETS) FORCE
-include $(wildcard mk/*.mk)
-include $(shell find $(B) -name '*.d' 2>/dev/null)
