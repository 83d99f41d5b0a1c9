#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: mkiso.sh [--alone] OUT KERNEL INITRAMFS [COMMAND LINE]
# Make an image that a PC starts from a CD or a USB stick, with a BIOS or with UEFI. --alone: what somebody sees who
# starts a machine from it is the demonstration, then a shell; otherwise the INITRAMFS says.
#
# Two GRUBs are on it, each one file with its few modules and commands inside. So GRUB looks for no menu, font or
# module, and says nothing.
set -eu

case ${1-} in --help) sed -n '3,5s/^# //p' "$0"; exit ;; esac
alone=
[ "${1-}" != --alone ] || { alone=yes; shift; }
[ $# -ge 3 ] || { sed -n '3,5s/^# //p' "$0" >&2; exit 2; }
out=$1 kernel=$2 initramfs=$3
shift 3
bios=/usr/lib/grub/i386-pc efi=/usr/lib/grub/x86_64-efi

for needed in grub-mkimage xorriso mformat $bios/boot_hybrid.img $efi/kernel.img; do
	[ -e "$needed" ] || command -v "$needed" >/dev/null || {
		echo "mkiso.sh: $needed is missing: sh tools/setup.sh --for iso brings it" >&2
		exit 1
	}
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=$work/cd
mkdir -p "$dir/boot"
cp "$kernel" "$dir/boot/fairground.elf"
cp "$initramfs" "$dir/boot/initramfs.cpio"
if [ "$alone" ]; then
	mkdir "$work/run"
	cp "${0%/*}/../../user/iso-start.sh" "$work/run/cmd"
	touch -d @0 "$work/run/cmd"
	(cd "$work" && echo run/cmd | cpio -o -H newc -R 0:0 --reproducible --quiet) >>"$dir/boot/initramfs.cpio"
fi
{
	echo "search.file /boot/fairground.elf root"
	echo "multiboot2 /boot/fairground.elf $*"
	echo "module2 /boot/initramfs.cpio"
	echo "boot"
} >"$work/commands"

modules="multiboot2 iso9660 part_msdos part_gpt search_fs_file boot"
loader() { # OUT FORMAT DIRECTORY MODULES
	grub-mkimage -o "$1" -O "$2" -d "$3" -p /boot -c "$work/commands" $modules $4
}
loader "$dir/boot/bios.img" i386-pc-eltorito $bios "biosdisk vbe"
loader "$work/bootx64.efi" x86_64-efi $efi "efi_gop efi_uga"

# Dates and serial numbers would make two images of one source differ.
export SOURCE_DATE_EPOCH=0
touch -d @0 "$work/bootx64.efi"
{
	mformat -C -f 1440 -N 0 -i "$dir/boot/efi.img" ::
	mmd -i "$dir/boot/efi.img" ::/efi ::/efi/boot
	mcopy -m -i "$dir/boot/efi.img" "$work/bootx64.efi" ::/efi/boot/bootx64.efi
	find "$dir" -exec touch -h -d @0 {} +
	xorriso -as mkisofs -o "$out" -r -V FAIRGROUND \
		-b boot/bios.img -no-emul-boot -boot-load-size 4 -boot-info-table --grub2-boot-info \
		--grub2-mbr $bios/boot_hybrid.img \
		--efi-boot boot/efi.img -efi-boot-part --efi-boot-image --protective-msdos-label "$dir"
} >"$work/log" 2>&1 || {
	cat "$work/log" >&2
	rm -f "$out"
	exit 1
}
