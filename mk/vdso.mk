# SPDX-License-Identifier: GPL-2.0-only
# The vDSO: a shared object for programs, inside the kernel image (arch/x86/vdso).

VDSO_FLAGS := $(CSTD) $(WARN) -ffreestanding -fPIC -mgeneral-regs-only -fcf-protection=none \
	-fasynchronous-unwind-tables -fomit-frame-pointer
VDSO_LINK := -shared -nostdlib -Wl,-soname=linux-vdso.so.1,--hash-style=both,--eh-frame-hdr,--build-id=none \
	-Wl,-Bsymbolic,-z,max-page-size=4096,--no-undefined

$(B)/vdso.so: arch/x86/vdso/vdso.c arch/x86/vdso/vdso.lds $(INC)/.made $(B)/.flags
	@echo "  VDSO    $@"
	$(Q)$(KCC) $(VDSO_FLAGS) $(DEPS) $(VDSO_LINK) -I$(INC)/lib -T arch/x86/vdso/vdso.lds -o $@.debug $<
	$(Q)$(CROSS_COMPILE)objcopy --strip-all $@.debug $@

$(call KOBJ,arch/x86/vdso_image.S): $(B)/vdso.so
$(call KOBJ,arch/x86/vdso_image.S): KFLAGS += -DVDSO_IMAGE='"$(B)/vdso.so"'
