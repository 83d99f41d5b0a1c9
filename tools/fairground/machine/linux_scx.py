# SPDX-License-Identifier: GPL-2.0-only
"""A program for sched_ext as the scheduler of a script: here, and on Debian's 7.2, the same file (docs/scx.md).

Linux is never alone. Tasks that shall be among themselves run on the second CPU of two, and QUIET keeps Linux's own
work off that CPU, but for some hundred microseconds each second or two. Linux loads no scheduler with isolcpus.
"""

import dataclasses
from pathlib import Path

from ..base.expect import Missing
from ..base.settings import Settings
from .linux import LinuxSettings
from .qemu import QemuError
from .simulator import EXAMPLES, SCX, make_program

RELEASE = "7.2"
QUIET = "rcu_nocbs=1 irqaffinity=0 nowatchdog"
SCRIPT = "/root/script"
LOADER = "attach"
LIBRARIES = ("ld-linux-x86-64.so.2", "libc.so.6", "libbpf.so.1", "libelf.so.1", "libz.so.1", "libzstd.so.1")
# The statistics of memory are brought up to date by a worker on each CPU.
ON_LINUX = f"""\
echo 3600 >/proc/sys/vm/stat_interval
cd /root && chmod 755 {LOADER} /trixie/*
./{LOADER} %s -- sh {SCRIPT}
dmesg | grep 'sched_ext:'
sleep 0.2
"""
HERE = f"""\
echo scx:%s > /sys/kernel/debug/sched/fair_class
sh {SCRIPT}
cat /sys/kernel/sched_ext/state
"""


def is_program(sched: str) -> bool:
    return sched.startswith(SCX)


def source_of(sched: str, build: str) -> Path:
    """The file of scx:NAME: an example, one that comes with Linux, or a crate's. Missing if there is none."""
    name = sched.removeprefix(SCX)
    for path in (EXAMPLES / f"{name}.bpf.c", Path(build, f"scx/linux/scx_{name}.bpf.c"),
                 Path(build, f"scx/crates/scx_{name}/main.bpf.c")):
        if path.exists():
            return path
    raise Missing(f"{sched}: neither examples/scx/{name}.bpf.c nor {build}/scx/linux/scx_{name}.bpf.c is there; "
                  "sh tools/setup.sh --scx fetches those that come with Linux")


def make(target: str, source: Path, build: str, suffix: str) -> Path:
    """The object that `make @target` makes of @source. Missing with the first complaint."""
    try:
        return make_program(target, source, build).with_suffix(suffix)
    except QemuError as error:
        raise Missing(str(error)) from error


def under(settings: Settings, source: Path, script: str, *constants: str) -> Settings:
    """The machine @settings, on which the program @source, with NAME=VALUE of its constants, is the scheduler while the
    shell runs @script."""
    build = settings.build
    if not isinstance(settings, LinuxSettings):
        program, command = make("scx", source, build, ".o"), HERE % ",".join(["%s", *constants])
        files = {}
    else:
        program, command = make("scx-linux", source, build, ".bpf.o"), ON_LINUX % " ".join(["%s", *constants])
        files = {f"/trixie/{name}": Path(build, "trixie", name).read_bytes() for name in LIBRARIES}
        files[f"/root/{LOADER}"] = Path(build, "scx", LOADER).read_bytes()
        if source.name == "main.bpf.c":  # libbpf looks up what a crate asks of the kernel's configuration
            config = Path(settings.kernel.replace("/vmlinuz-", "/config-"))
            files[f"/boot/{config.name}"] = config.read_bytes()
    files |= {f"/root/{program.name}": program.read_bytes(), SCRIPT: script.encode()}
    return dataclasses.replace(settings, cmd=command % program.name, files=settings.files | files,
                               append=f"{settings.append} {QUIET}".strip())
