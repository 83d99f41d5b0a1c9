# SPDX-License-Identifier: GPL-2.0-only
# A CD image that boots through GRUB; APPEND= is its kernel command line.

$(B)/fairground.iso: $(B)/fairground.elf $(B)/initramfs.cpio tools/scripts/mkiso.sh
	@echo "  ISO     $@"
	$(Q)sh tools/scripts/mkiso.sh $@ $(B)/fairground.elf $(B)/initramfs.cpio $(APPEND)

iso: $(B)/fairground.iso ## make a CD image that boots through GRUB: build/fairground.iso
