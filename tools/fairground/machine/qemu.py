# SPDX-License-Identifier: GPL-2.0-only
"""Which QEMU runs the machine, and with which options.

The reasons for the options, and the measurements behind them, are in docs/adr/003-deterministic-smp.md.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from ..base.settings import Settings

MINIMUM = (7, 0)
# From 8.1 on, CPUs under -icount share the time to the next timer. In older versions one CPU could get all of it.
FAIR_ICOUNT = (8, 1)
BINARY = "qemu-system-x86_64"
BESIDE = ("/opt/qemu10", os.path.expanduser("~/.local/share/fairground/qemu10"))

REMOTE_DISTANCE = 20  # of another NUMA node, in units of the SLIT, where a node is 10 from itself
EXIT_PORT = 0xF4
EXIT_ORDERLY = 33  # the guest wrote 0x10 to the exit port
EXIT_FAILURE = 35  # the guest wrote 0x11: it panicked, or a selftest failed


class QemuError(Exception):
    """QEMU is missing, too old or does not start. The text is one sentence for the user."""


@dataclass(frozen=True)
class Qemu:
    """An installed QEMU."""

    path: str
    version: tuple[int, ...]

    @property
    def name(self) -> str:
        return "QEMU " + ".".join(map(str, self.version))

    @property
    def prefix(self) -> str:
        """The directory that has bin/, share/ and lib/."""
        return os.path.dirname(os.path.dirname(os.path.realpath(self.path)))

    def data_dirs(self) -> list[str]:
        found = (os.path.join(self.prefix, "share", name) for name in ("qemu", "seabios"))
        return [path for path in found if os.path.isdir(path)]

    def qboot(self) -> str | None:
        """The small firmware: under -icount it starts the kernel in 0.3 ms, SeaBIOS in 16 to 200."""
        paths = (os.path.join(path, "qboot.rom") for path in self.data_dirs())
        return next((path for path in paths if os.path.exists(path)), None)

    def environment(self) -> Mapping[str, str]:
        """The environment for this QEMU. One outside of /usr must be told where its modules are."""
        modules = os.path.join(self.prefix, "lib", "x86_64-linux-gnu", "qemu")
        if self.prefix == "/usr" or not os.path.isdir(modules):
            return os.environ
        return {**os.environ, "QEMU_MODULE_DIR": modules}


def probe(path: str) -> Qemu | None:
    """The QEMU at @path, or None if it does not run."""
    try:
        out = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return None
    match = re.match(r"QEMU emulator version (\d+)\.(\d+)\.(\d+)", out)
    return Qemu(path, tuple(map(int, match.groups()))) if match else None


def candidates() -> list[Qemu]:
    """The QEMUs found: only the user's choice if FAIRGROUND_QEMU names one, otherwise all, the system's first."""
    chosen = os.environ.get("FAIRGROUND_QEMU")
    if chosen:
        paths = [shutil.which(chosen)]
        if not paths[0]:
            raise QemuError(f"FAIRGROUND_QEMU={chosen}: there is no such program")
    else:
        paths = [shutil.which(BINARY)] + [os.path.join(p, "usr", "bin", BINARY) for p in BESIDE]
    return [q for q in (probe(p) for p in paths if p and os.path.exists(p)) if q]


def choose(settings: Settings) -> tuple[Qemu, str]:
    """The QEMU for a run, and a short phrase that says why this one."""
    found = [q for q in candidates() if q.version >= MINIMUM]
    if not found:
        wanted = ".".join(map(str, MINIMUM))
        chosen = os.environ.get("FAIRGROUND_QEMU")
        if chosen:
            raise QemuError(f"FAIRGROUND_QEMU={chosen}: this is not a {BINARY} of version {wanted} or newer")
        raise QemuError(f"{BINARY} {wanted} or newer is missing: sh tools/setup.sh, or install the package "
                        "qemu-system-x86")
    if not settings.icount or settings.cpus == 1:
        return found[0], "the first found"
    fair = [q for q in found if q.version >= FAIR_ICOUNT]
    if fair:
        return fair[0], "new enough for SMP under icount"
    return found[0], "too old for SMP under icount, which needs 8.1: CPUs may starve; sh tools/setup.sh"


def kvm_works(qemu: Qemu) -> bool:
    """Whether the hardware can run the guest: QEMU starts with KVM, stopped, and quits when told to.

    Some sandboxes offer a /dev/kvm without the hardware behind it, and such a one cannot run every instruction.
    """
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        hardware = re.search(r"^flags\s*:.* (vmx|svm)\b", f.read(), re.MULTILINE)
    if not hardware or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    trial = [qemu.path, "-accel", "kvm", "-cpu", KVM_MODEL, "-machine", "q35", "-nodefaults", "-display",
             "none", "-S", "-monitor", "stdio"]
    for path in qemu.data_dirs():
        trial += ["-L", path]
    try:
        return not subprocess.run(trial, input="quit\n", text=True, capture_output=True, timeout=10,
                                  env=qemu.environment(), check=False).returncode
    except subprocess.TimeoutExpired:
        return False


# QEMU's "max" model tells neither topology nor an Intel-like vendor unless asked.
CPU_MODELS = {
    "max": "max,vendor=GenuineIntel,level=0x20",
    "intel": "max,vendor=GenuineIntel,level=0x20",
    "amd": "max,vendor=AuthenticAMD,xlevel=0x8000001e",
}
# Nested hosts may refuse the capability register, and the guest has no use for it.
KVM_MODEL = "max,vendor=GenuineIntel,level=0x20,-arch-capabilities"


def accelerator(settings: Settings, qemu: Qemu) -> str:
    """How instructions are executed: "icount", "kvm" or "tcg"."""
    if settings.icount:
        return "icount"
    if settings.kvm == "1" and not kvm_works(qemu):
        raise QemuError("KVM=1: /dev/kvm is missing, not accessible, or has no hardware behind it")
    return "kvm" if settings.kvm != "0" and kvm_works(qemu) else "tcg"


def _cpu_options(settings: Settings, mode: str) -> list[str]:
    model = CPU_MODELS.get(settings.cpu, settings.cpu)
    if mode == "kvm":
        return ["-accel", "kvm", "-cpu", KVM_MODEL if settings.cpu == "max" else model]
    if mode == "tcg":
        return ["-accel", "tcg,thread=multi", "-cpu", model]
    # Apart from random numbers, a CPU model brings nothing of the host into the machine.
    quiet = ",-rdrand,-rdseed" if settings.cpu in CPU_MODELS else ""
    # At a prompt, time that nobody uses passes as it does outside; in a batch run it is skipped.
    sleep = "on" if settings.interactive else "off"
    return ["-accel", "tcg,thread=single", "-icount", f"shift={settings.shift},sleep={sleep}", "-cpu", model + quiet]


def _boot_options(settings: Settings, qemu: Qemu, kernel: str, initramfs: str, iso: str | None) -> list[str]:
    if iso:
        return ["-cdrom", iso, "-boot", "d"]
    qboot = qemu.qboot()
    return (["-bios", qboot] if qboot else []) + \
        ["-kernel", kernel, "-initrd", initramfs, "-append", settings.command_line()]


def _memory_options(settings: Settings) -> list[str]:
    """Size and place of the memory. Each NUMA node has an equal part of it and of the CPUs."""
    words = ["-m", f"{settings.mem}M"]
    if settings.ram_file:
        return words + ["-object", f"memory-backend-file,id=ram,size={settings.mem}M,mem-path={settings.ram_file},"
                        "share=on", "-machine", "memory-backend=ram"]
    if settings.numa == 1:
        return words
    cpus = settings.cpus // settings.numa
    for node in range(settings.numa):
        words += ["-object", f"memory-backend-ram,id=m{node},size={settings.mem // settings.numa}M", "-numa",
                  f"node,nodeid={node},memdev=m{node},cpus={node * cpus}-{(node + 1) * cpus - 1}"]
    for src in range(settings.numa):
        for dst in range(settings.numa):
            if src != dst:
                words += ["-numa", f"dist,src={src},dst={dst},val={REMOTE_DISTANCE}"]
    return words


def command(settings: Settings, qemu: Qemu, mode: str, initramfs: str, iso: str | None = None) -> list[str]:
    """QEMU's command line without the console."""
    words = [qemu.path, "-machine", "q35"]
    for path in qemu.data_dirs():
        words += ["-L", path]
    return words + _cpu_options(settings, mode) + _memory_options(settings) + [
        "-smp", settings.smp,
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-rtc", "base=2020-01-01T00:00:00,clock=vm", "-seed", str(settings.seed),
        "-action", "panic=exit-failure", "-device", "pvpanic",
        "-device", f"isa-debug-exit,iobase={EXIT_PORT:#x},iosize=4",
    ] + _boot_options(settings, qemu, settings.kernel, initramfs, iso)
