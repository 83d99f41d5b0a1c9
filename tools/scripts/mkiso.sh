#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: mkiso.sh OUT KERNEL INITRAMFS [COMMAND LINE]
# Make a bootable CD. GRUB on it loads the kernel by multiboot2. Only the needed modules are there: 1 MB instead of 10.
set -eu

case ${1-} in --help) sed -n '3,4s/^# //p' "$0"; exit ;; esac
[ $# -ge 3 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
out=$1 kernel=$2 initramfs=$3
shift 3

for tool in grub-mkrescue xorriso mformat; do
	command -v $tool >/dev/null || {
		echo "mkiso.sh: $tool is missing: sh tools/setup.sh --for iso brings it" >&2
		exit 1
	}
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=$work/cd
mkdir -p "$dir/boot/grub"
cp "$kernel" "$dir/boot/fairground.elf"
cp "$initramfs" "$dir/boot/initramfs.cpio"
cat >"$dir/boot/grub/grub.cfg" <<END
set timeout=0
multiboot2 /boot/fairground.elf $*
module2 /boot/initramfs.cpio
boot
END
# Dates would make two builds of one source differ.
find "$dir" -exec touch -h -d @0 {} +
SOURCE_DATE_EPOCH=0 grub-mkrescue -o "$out" -d /usr/lib/grub/i386-pc --locales="" --fonts="" --themes="" \
	--install-modules="multiboot2 iso9660 part_msdos normal" "$dir" 2>"$work/log" || {
	cat "$work/log" >&2
	exit 1
}
