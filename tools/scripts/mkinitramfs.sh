#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Pack the initial RAM file system: busybox with a link for each of its applets, our programs, /init and a
# minimal /etc. The archive (cpio "newc") depends only on its content: names sorted, times and owners zero,
# modes the same whatever the umask.
#
# Usage: mkinitramfs.sh OUT PROGRAM...
# BUSYBOX: the busybox to pack. CROSS_COMPILE: prefix of strip.
set -eu
export LC_ALL=C

case ${1-} in --help) sed -n '3,7s/^# \{0,1\}//p' "$0"; exit ;; esac
[ $# -ge 2 ] || { echo "usage: mkinitramfs.sh OUT PROGRAM..." >&2; exit 2; }
out=$1
shift
for busybox in "${BUSYBOX:-}" /bin/busybox /usr/bin/busybox ''; do
	[ -x "$busybox" ] && break
done
if [ -z "$busybox" ] || ! command -v cpio >/dev/null; then
	echo "mkinitramfs.sh: busybox or cpio is missing: sh tools/setup.sh, or apt-get install busybox-static cpio" >&2
	exit 1
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/bin" "$root/etc" "$root/root" "$root/tmp" "$root/run" "$root/proc" "$root/sys" "$root/dev"
ln -s bin "$root/sbin"

cp "$busybox" "$root/bin/busybox"
for applet in $("$busybox" --list); do
	[ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
done
# A program of ours takes the place of an applet with the same name. Debugging information stays outside.
for program in "$@"; do
	target=$root/bin/$(basename "$program")
	[ "$(basename "$program")" = init ] && target=$root/init
	rm -f "$target"
	"${CROSS_COMPILE:-}strip" -o "$target" "$program"
done
ln -s hack "$root/bin/hackbench"

echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
echo 'fairground' >"$root/etc/hostname"
cat >"$root/etc/profile" <<'PROFILE'
export PATH HOME TERM
export PS1='fairground:\w# '
cd
PROFILE

find "$root" -exec touch -h -d @0 {} +
chmod -R u=rwX,go=rX "$root" # whatever the umask is here
chmod 1777 "$root/tmp"
(cd "$root" && find . -mindepth 1 | sort | cpio --quiet -o -H newc -R 0:0 --reproducible) >"$out.tmp"
mv "$out.tmp" "$out"
