#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Set up a machine for Fairground: find what is missing and install it.
#
# On Debian and Ubuntu, as root, this installs without asking. Elsewhere it prints the command that installs the missing
# packages (tools/other-systems.txt), and exits 1. When nothing is missing it says so in well under a second. It needs
# only a POSIX shell and, to install, apt.
#
#	(none)		what make run, make sim, make unit and the labs need: 290 MB on an empty Debian 12
#	--docs		also pictures, the page for browsers, trace-cmd, the book: 2.1 GB more
#	--test		also what make test needs: 2.3 GB more than (none)
#	--all		also what nightly tests and benchmarks need: 2.7 GB more than (none)
#	--for USE	only what one thing needs, such as iso, page, pictures, gdb; several with commas
#	--compare	also Debian's kernels 6.1, 6.12 and 7.2 in ${B:-build}/linux: make fidelity ARGS=--fresh
#			boots the first two, make bench ARGS=--fresh all three; and in ${B:-build}/trixie the
#			trace-cmd of Debian 13 with its libraries, a second judge of our traces, and its libbpf
#	--scx		also schedulers for sched_ext: in ${B:-build}/scx/linux those that come with Linux 6.12, in
#			${B:-build}/scx/crates those that crates.io has:
#			make scx SRC=build/scx/crates/scx_bpfland/main.bpf.c compiles one. With --compare also
#			what make scx-linux needs, which makes one for Linux itself
#	--lacks USE	install nothing: print a sentence about what is missing for it, if anything is
#
# Usage: sh tools/setup.sh [--docs] [--test] [--all] [--for USE] [--compare] [--scx] | --lacks USE
set -eu

default=run,sim,unit
docs=pictures,page,traces,book
test=iso,types,format,gdb,test
every=bench,fuzz,mutate,spin,window

say() { echo "setup: $*" >&2; }
fail() { say "$@"; exit 1; }
usage() { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 2; }

uses='' compare='' scx='' lacks=''
while [ $# -gt 0 ]; do
	case $1 in
	--docs) uses=$uses,$default,$docs ;;
	--test) uses=$uses,$default,$docs,$test ;;
	--all) uses=$uses,$default,$docs,$test,$every ;;
	--for | --lacks)
		[ $# -gt 1 ] || usage
		uses=$uses,$2
		[ "$1" = --for ] || lacks=$2
		shift
		;;
	--compare) compare=yes ;;
	--scx) scx=yes ;;
	--help) sed -n '3,23s/^# \{0,1\}//p' "$0"; exit ;;
	*) usage ;;
	esac
	shift
done
uses=${uses:-,$default},
for use in $(echo "$uses" | sed 's/,/ /g'); do
	case ,$default,$docs,$test,$every, in *,"$use",*) continue ;; esac
	say "nothing is called $use; known are $default,$docs,$test,$every"
	exit 2
done

# One line for each need: the uses for which it is needed, how to find it, the Debian package, and what it does here.
# "cmd X": a program on PATH; "file X": a file, wildcards allowed; "static X": a program without dynamic linker;
# "qemu -": a QEMU, on PATH or beside it.
needs='
run,sim,unit   cmd gcc             gcc              # compiles the kernel, the tests and the simulator
run,sim,unit   file /usr/include/stdio.h libc6-dev  # the tests and the simulator are hosted programs
run,sim,unit   cmd ld              binutils         # links the kernel
run,sim,unit   cmd make            make             # the one entry point
test,types,format cmd git          git              # which files there are; of a clone every run prints the commit
run,sim        cmd python3         python3          # runner, symbol table, tidy (standard library only)
run            qemu -              qemu-system-x86  # the machine; brings the small firmware, which starts in 0.3 ms
run            cmd musl-gcc        musl-tools       # user programs are static musl binaries
run            static busybox      busybox-static   # the shell inside; unmodified
run            cmd cpio            cpio             # packs the initial RAM file system
sim,unit       file /usr/include/jsmn.h libjsmn-dev # the simulator reads JSON
unit           file /usr/include/cmocka.h libcmocka-dev # unit tests
unit           cmd bwrap           bubblewrap       # labs: what students wrote runs in namespaces of its own
types          cmd mypy            mypy             # make types: checks the Python of tools/
format         cmd clang-format    clang-format     # make format
iso            cmd grub-mkimage    grub-common      # the boot image: the tool,
iso            file /usr/lib/grub/i386-pc/boot_hybrid.img grub-pc-bin # what it puts in for a BIOS
iso            file /usr/lib/grub/x86_64-efi/kernel.img grub-efi-amd64-bin # and for UEFI,
iso            cmd xorriso         xorriso          # and two programs that make the image of them
iso            cmd mformat         mtools
iso,test       cmd qemu-system-x86_64 qemu-system-x86 # the machine with all its firmware: docs/machine.md starts it
test           file /usr/share/ovmf/OVMF.fd ovmf    # UEFI for QEMU: the boot image starts there, too
traces         cmd trace-cmd       trace-cmd        # reads our traces; the tests compare with it
pictures       file /usr/lib/python3*/*-packages/matplotlib/__init__.py python3-matplotlib # pictures of experiments
pictures       file /usr/share/fonts/truetype/wqy/wqy-zenhei.ttc fonts-wqy-zenhei # names in Chinese, Japanese, Korean
pictures       file /usr/share/fonts/truetype/ancient-scripts/Symbola_hint.ttf fonts-symbola # and with emoji
pictures       file /usr/lib/python3*/*-packages/scipy/__init__.py python3-scipy # their intervals and tests
pictures       file /usr/lib/python3*/*-packages/pandas/__init__.py python3-pandas # results.ipynb reads results
page,test      cmd clang           clang            # the second compiler every file must please; WebAssembly
page           cmd wasm-ld         lld              # make wasm: the linker,
page           file /usr/lib/wasm32-wasi/libc.a wasi-libc # the C library,
page           file /usr/lib/llvm-*/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a libclang-rt-dev-wasm32 #
page           cmd node            nodejs           # runs WebAssembly: our simulator, and Perfetto
page           cmd npm             npm              # brings what builds the page for browsers: web/package-lock.json
book           cmd chromium        chromium         # prints the book; opens the page, and reports, in the tests
pictures,book  file /usr/lib/python3*/*-packages/pip/__init__.py python3-pip # brings what Debian lacks: packages.txt
gdb            cmd gdb             gdb              # make gdb
test           file /usr/lib/python3*/*-packages/pytest/__init__.py python3-pytest # end-to-end tests
test           file /usr/lib/python3*/*-packages/xdist/__init__.py python3-pytest-xdist # several of them at a time
pictures       file /usr/lib/python3*/*-packages/distributed/__init__.py python3-distributed # sweeps on many workers
test           file /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.asan-x86_64.a libclang-rt-dev # its sanitizers
test           file /usr/lib/*/libkshark.so.2 libkshark2 # the reader of KernelShark
test           cmd perf            linux-perf       # runs in the guest in the tests: perf sched record
test           cmd sqlite3         sqlite3          # programs of Debian that the guest runs in the tests:
test           cmd numactl         numactl
test           cmd cgexec          cgroup-tools
test           cmd fzf             fzf              # written in Go
test           cmd cyclicdeadline  rt-tests         # SCHED_DEADLINE judged by a program of others
test           file /usr/lib/python3*/*-packages/argcomplete/__init__.py python3-argcomplete # Tab completes words
test           file /usr/lib/python3*/*-packages/wheel/__init__.py python3-wheel # pip install . without network
test           file /usr/lib/python3*/*-packages/nbclient/__init__.py python3-nbclient # runs examples/results.ipynb
test           file /usr/lib/python3*/*-packages/ipykernel/__init__.py python3-ipykernel # in this kernel of Jupyter
window         cmd kernelshark     kernelshark      # draws our traces in a window,
window         cmd Xvfb            xvfb             # on a display without a screen
bench          cmd valgrind        valgrind         # make bench-sim counts instructions
fuzz           cmd afl-fuzz         afl++            # make fuzz: draws system calls by what they reach
spin           cmd spin            spin             # checks the models of wakeups and switches, tests/spin
mutate         file /usr/lib/python3*/*-packages/clang/cindex.py python3-clang # the syntax tree of the source
'

# What Debian 12 installs for the machine: not its own QEMU, which is too old, but the libraries of the newer one. With
# its own it would be 100 MB more. Empty where the packages of the table serve, or the newer one cannot be had.
beside=''
libraries_of_new_qemu='libaio1 libbpf1 libcapstone4 libfdt1 libfuse3-3 libglib2.0-0 libgnutls30 libibverbs1
	libjpeg62-turbo libnuma1 libpixman-1-0 libpmem1 libpng16-16 librdmacm1 libsasl2-2 libseccomp2 libslirp0 libudev1
	liburing2 libvdeplug2 libzstd1'

# SMP under -icount needs a QEMU that shares a turn among CPUs, 8.1 or newer (docs/adr/003-deterministic-smp.md).
new_qemu=8.1
if [ "$(id -u)" = 0 ]; then
	new_qemu_dir=/opt/qemu10
else
	new_qemu_dir=${XDG_DATA_HOME:-${HOME:-/tmp}/.local/share}/fairground/qemu10
fi

# Python packages that Debian does not have (tools/fairground/base/packages.py finds them there).
packages_list=${0%/*}/packages.txt
if [ "$(id -u)" = 0 ]; then
	packages_dir=/opt/fairground/python
else
	packages_dir=${XDG_DATA_HOME:-${HOME:-/tmp}/.local/share}/fairground/python
fi

exists() { # the first name that a wildcard stands for
	[ -e "$1" ]
}

is_static() {
	program=$(command -v "$1") && ! ldd "$program" >/dev/null 2>&1
}

is_used() { # a list of uses, with commas
	for use in $(echo "$1" | sed 's/,/ /g'); do
		case $uses in *,"$use",*) return ;; esac
	done
	return 1
}

list_missing() {
	echo "$needs" | while read -r for kind what package _; do
		[ -n "$for" ] && is_used "$for" || continue
		case $kind in
		cmd) command -v "$what" >/dev/null 2>&1 ;;
		file) exists $what ;;
		static) is_static "$what" ;;
		qemu)
			package=${beside:-$package}
			have_new_qemu || command -v qemu-system-x86_64 >/dev/null
			;;
		esac || echo "$package"
	done
}

# --- QEMU versions --------------------------------------------------------------------

qemu_version() { # prints "10.0" for a binary, or nothing if it does not run
	"$1" --version 2>/dev/null | sed -n 's/^QEMU emulator version \([0-9]*\.[0-9]*\).*/\1/p'
}

at_least() { # version, wanted version; both are "major.minor"
	[ "${1%%.*}" -gt "${2%%.*}" ] || { [ "${1%%.*}" = "${2%%.*}" ] && [ "${1#*.}" -ge "${2#*.}" ]; }
}

have_new_qemu() {
	for qemu in qemu-system-x86_64 "$new_qemu_dir/usr/bin/qemu-system-x86_64" \
		/opt/qemu10/usr/bin/qemu-system-x86_64; do
		version=$(qemu_version "$qemu") && [ -n "$version" ] && at_least "$version" $new_qemu && return
	done
	return 1
}

# Make $work, a private apt state for one suite of Debian: the system's own configuration stays as it is.
use_suite() { # archive, suite
	command -v apt-get >/dev/null && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || return 1
	work=${work:-$(mktemp -d)}
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/root"
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	echo "deb [signed-by=$key] http://deb.debian.org/$1 $2 main" >"$work/sources.list"
	private_apt apt-get -qq update
}

private_apt() { # apt command and its words
	program=$1
	shift
	"$program" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

unpack() { # packages, into $work/root
	(
		cd "$work"
		rm -f ./*.deb
		private_apt apt-get -qq download "$@" && for deb in *.deb; do
			dpkg-deb -x "$deb" root || return
		done
	)
}

# Of QEMU in $work/root only the machine that is run here: 31 MB instead of 86.
leave_out_others() {
	(
		cd "$work/root/usr" && find bin -type f ! -name qemu-system-x86_64 -delete &&
			rm -rf share/doc share/man lib/qemu && cd share/qemu &&
			rm -f skiboot.lid openbios-* slof.bin u-boot* hppa-* palcode-* s390-* ./*.dtb trace-events-all
	)
}

is_bookworm() {
	[ -e /etc/os-release ] && (. /etc/os-release && [ "${VERSION_CODENAME:-}" = bookworm ]) &&
		command -v apt-get >/dev/null
}

# Four packages of Debian's backports, for a directory of their own.
fetch_new_qemu() {
	is_bookworm || return 1
	say "fetching QEMU >= $new_qemu from bookworm-backports into $new_qemu_dir"
	use_suite debian bookworm-backports && unpack qemu-system-x86 qemu-system-common qemu-system-data seabios &&
		leave_out_others || return 1
	mkdir -p "$(dirname "$new_qemu_dir")"
	rm -rf "$new_qemu_dir"
	mv "$work/root" "$new_qemu_dir"
	chmod 755 "$new_qemu_dir"
}

# --- Python packages ------------------------------------------------------------------

have_packages() {
	cmp -s "$packages_list" "$packages_dir/packages.txt"
}

fetch_packages() {
	say "fetching $(sed 's/#.*//; /^ *$/d' "$packages_list" | tr '\n' ' ')into $packages_dir"
	rm -rf "$packages_dir"
	mkdir -p "$packages_dir" &&
		/usr/bin/python3 -m pip install --quiet --no-deps --only-binary :all: --target "$packages_dir" \
			-r "$packages_list" >/dev/null 2>&1 &&
		cp "$packages_list" "$packages_dir/"
}

# The newest kernels 6.1 and 6.12 that Debian 12 has for virtual machines. The packages of these names depend on them.
# They take the place of older ones; a 7.2 stays.
fetch_kernels() {
	into=${B:-build}/linux
	say "fetching Debian's kernels 6.1 and 6.12 from bookworm-security into $into"
	use_suite debian-security bookworm-security || return 1
	kernels=$(private_apt apt-cache depends linux-image-cloud-amd64 linux-image-6.12-cloud-amd64 |
		sed -n 's/^ *Depends: //p')
	[ -n "$kernels" ] && unpack $kernels || return 1
	mkdir -p "$into/boot"
	rm -f "$into"/boot/*-6.*
	mv "$work"/root/boot/* "$into/boot"
}

# Kernel 7.2, from the suites of Debian that may have it. These move on to newer ones. Kernel and configuration are in
# packages of their own there, which do not put them into /boot. Its types are for programs that are loaded into it.
fetch_kernel_72() {
	into=${B:-build}/linux
	for suite in sid forky; do
		use_suite debian $suite || continue
		version=$(private_apt apt-cache depends linux-image-cloud-amd64 |
			sed -n 's/^ *Depends: linux-image-\(7\.2\..*\)/\1/p')
		[ -n "$version" ] || continue
		say "fetching Debian's kernel $version from $suite into $into"
		unpack "linux-binary-$version" "linux-base-$version" linux-bpf-dev || continue
		mkdir -p "$into/boot"
		mv "$work/root/usr/include/x86_64-linux-gnu/linux/bpf/vmlinux.h" "$into" || return 1
		rm -f "$into"/boot/*-7.2.*
		for file in vmlinuz config; do
			mv "$work/root/usr/lib/modules/$version/$file" "$into/boot/$file-$version" || return 1
		done
		return
	done
	return 1
}

fetch_trace_cmd() {
	into=${B:-build}/trixie
	say "fetching trace-cmd, libbpf and their libraries from trixie into $into"
	use_suite debian trixie || return 1
	rm -rf "$work/root" "$into"
	unpack trace-cmd libtracefs1 libtraceevent1 libtraceevent1-plugin libbpf1 libbpf-dev libelf1t64 libzstd1 \
		zlib1g libc6 || return 1
	mkdir -p "$into"
	mv "$work/root/usr/include" "$into"
	mv "$work/root/usr/bin/trace-cmd" "$work"/root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 \
		"$work"/root/usr/lib/x86_64-linux-gnu/lib*.so.* "$work"/root/usr/lib/x86_64-linux-gnu/libelf-*.so \
		"$work/root/usr/lib/x86_64-linux-gnu/traceevent" "$into"
}

fetch_scx() {
	into=${B:-build}/scx/linux
	say "fetching the schedulers for sched_ext of Linux 6.12 into $into"
	use_suite debian trixie || return 1
	rm -rf "$work/root" "$into"
	unpack linux-source-6.12 || return 1
	mkdir -p "$into"
	tar xJf "$work/root/usr/src/linux-source-6.12.tar.xz" -C "$into" --strip-components=3 --wildcards \
		'*/tools/sched_ext/*.bpf.c' '*/tools/sched_ext/*.h' || return 1
	rm -rf "$into/include" "$work/root"
}

# Crates with schedulers, and the versions that docs/scx.md is about. scx_cargo has the headers of their library.
crates='bpfland=1.1.4 flash=1.1.4 cosmos=1.1.7 beerland=1.1.4 tickless=1.1.4 p2dq=1.1.4 rusty=1.1.4 lavd=1.1.4'
library=cargo=1.1.4

fetch_crates() {
	into=${B:-build}/scx/crates
	say "fetching the schedulers for sched_ext of crates.io into $into"
	command -v cargo >/dev/null || return 1
	mkdir -p "$work/crates/src"
	: >"$work/crates/src/lib.rs"
	printf '[package]\nname = "schedulers"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n' \
		>"$work/crates/Cargo.toml"
	for crate in $crates $library; do
		echo "scx_${crate%=*} = \"=${crate#*=}\"" >>"$work/crates/Cargo.toml"
	done
	(cd "$work/crates" && cargo vendor -q vendor >/dev/null) || return 1
	for crate in $crates; do
		rm -rf "$into/scx_${crate%=*}"
		mkdir -p "$into"
		cp -R "$work/crates/vendor/scx_${crate%=*}/src/bpf" "$into/scx_${crate%=*}" || return 1
		# There are no counters of hardware events here, and quotas are the class's (sim/scx/include/lib).
		sed -n '/pmu[.]bpf/d; /cgroup_bw[.]bpf/d; s|.*add_source("src/bpf/\(.*\)").*|\1|p' \
			"$work/crates/vendor/scx_${crate%=*}/build.rs" >"$into/scx_${crate%=*}/sources"
	done
	rm -rf "$into/include" "$into/linux"
	mkdir -p "$into/include"
	cp -R "$work/crates/vendor/scx_${library%%=*}/bpf_h/lib" "$into/include" &&
		cp -R "$work/crates/vendor/scx_${library%%=*}/bpf_h" "$into/linux" || return 1
	rm -rf "$work/crates"
}

# --- the packages ---------------------------------------------------------------------

# The names of Debian's packages on another system, "-" being none of its own; then those for which none is known.
other_names() { # the number of a column of the table, Debian's names
	column=$1 names='' unknown=''
	shift
	while read -r debian row; do
		case " $* " in *" $debian "*) ;; *) continue ;; esac
		name=$(echo "$row" | sed -E "s/^([^ ]+ +){$((column - 1))}([^ ]+).*/\\2/; s/\\+/ /g")
		case $name in
		-) ;;
		'?') unknown="$unknown $debian" ;;
		*) names="$names $name" ;;
		esac
	done <"${0%/*}/other-systems.txt"
	echo "$names${unknown:+   (no package is known for Debian's$unknown)}"
}

elsewhere() { # Debian's names: prints the command that installs them, for each system whose command is not here either
	found=''
	for command in dnf pacman apk nix-shell; do
		command -v $command >/dev/null && found=$command
	done
	say "missing here (Debian's names): $*."
	for command in ${found:-dnf pacman apk nix-shell}; do
		case $command in
		dnf) say "Fedora: sudo dnf install$(other_names 1 "$@")" ;;
		pacman) say "Arch: sudo pacman -S$(other_names 2 "$@")" ;;
		apk) say "Alpine: doas apk add$(other_names 3 "$@")" ;;
		nix-shell) say "Nix: nix-shell -p$(other_names 4 "$@")" ;;
		esac
	done
	exit 1
}

follow() { # a log: its last line, again and again, on a terminal that can write over a line
	while [ -e "$1" ]; do
		printf '\r%-60.60s' "$(tail -n 1 "$1" | tr -d '\r')" >&2
		sleep 1
	done
	printf '\r%-60s\r' '' >&2
}

install() { # packages
	command -v apt-get >/dev/null || elsewhere "$@"
	[ "$(id -u)" = 0 ] || fail "missing: run as root, or: sudo apt-get install --no-install-recommends $*"
	say "installing $*"
	log=$(mktemp)
	export DEBIAN_FRONTEND=noninteractive
	shown=$log.shown
	ln "$log" "$shown"
	trap 'rm -f "$shown"; exit 130' INT TERM
	[ "${TERM:-dumb}" = dumb ] || [ ! -t 2 ] || follow "$shown" &
	if ! { apt-get -q update && apt-get -q -y --no-install-recommends install "$@"; } </dev/null >"$log" 2>&1; then
		rm "$shown"
		wait
		tail -n 5 "$log" >&2
		fail "apt-get could not install: $* (its messages: $log)"
	fi
	rm -f "$log" "$shown"
	wait
}

if [ -n "$lacks" ]; then
	missing=$(list_missing)
	[ -z "$missing" ] || echo "it needs the package" $missing "(Debian's name): sh tools/setup.sh --for $lacks"
	exit
fi

[ "$(uname -sm)" = "Linux x86_64" ] || fail "Fairground is built on x86-64 Linux; this is $(uname -sm)." \
	"Elsewhere: a Linux machine, container or WSL; make page there gives one file for any browser."

! is_bookworm || beside=$libraries_of_new_qemu
missing=$(list_missing)
[ -z "$missing" ] || install $missing
if is_used run && ! have_new_qemu && ! { fetch_new_qemu && have_new_qemu; }; then
	beside=''
	missing=$(list_missing)
	[ -z "$missing" ] || install $missing
	say "no QEMU >= $new_qemu here, which SMP under ICOUNT=1 needs (all else works): install a newer" \
		"qemu-system-x86 and put it first in PATH, or name it in FAIRGROUND_QEMU."
fi
missing=$(list_missing)
[ -z "$missing" ] || fail "still missing after installation: $(echo $missing)"
python=${PYTHON:-$(command -v /usr/bin/python3 || command -v python3)}
if is_used run,sim,unit && ! "$python" -c 'import tomllib' 2>/dev/null; then
	fail "this system is too old: $("$python" --version 2>&1), where 3.11 or newer is needed. Debian 12," \
		"Ubuntu 24.04 and what is newer have all that is needed; docs/building.md has containers."
fi
if is_used pictures,book && ! have_packages && ! fetch_packages; then
	say "some Python packages could not be fetched, which Parquet, the form of Perfetto and the book need (all" \
		"else works): python3 -m pip install --no-deps --target $packages_dir -r $packages_list"
fi
if [ -n "$compare" ]; then
	fetch_kernels && fetch_trace_cmd ||
		fail "could not fetch Debian's kernels and trace-cmd: that needs apt and deb.debian.org."
	fetch_kernel_72 ||
		say "no kernel 7.2: Debian's sid and forky have none any more, or another form of package. All else" \
			"works; make bench ARGS=--fresh keeps the older figures of 7.2."
fi
if [ -n "$scx" ]; then
	fetch_scx || fail "could not fetch Linux 6.12's schedulers: that needs apt and deb.debian.org."
	fetch_crates || fail "could not fetch the schedulers of crates.io: that needs cargo of Rust 1.85 or later" \
		"(https://rustup.rs) and crates.io."
fi
say "everything is there for $(echo "$uses" | sed 's/^,//; s/,$//; s/,/, /g'): $(gcc --version 2>&1 | sed 1q)." \
	"Next: make run."
