# SPDX-License-Identifier: GPL-2.0-only
# An image that a PC starts from, through GRUB. APPEND= are more words of its kernel command line.

$(B)/fairground.iso: $(B)/fairground.elf $(B)/initramfs.cpio tools/scripts/mkiso.sh user/iso-start.sh
	@echo "  ISO     $@"
	$(Q)sh tools/scripts/mkiso.sh --alone $@ $(B)/fairground.elf $(B)/initramfs.cpio \
		interactive $(APPEND)

iso: $(B)/fairground.iso ## make an image for a CD or USB stick, BIOS or UEFI: build/fairground.iso
