# SPDX-License-Identifier: GPL-2.0-only
"""Debian's kernels in our machine: where they are, with which parameters they boot, and how to read their consoles.

Scripts for both kernels print a mark before each part, so that its text is found on the console.
"""

import glob
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, fields

from ..base.expect import Missing, expect
from ..base.settings import Settings

KERNELS = {"cfs": "6.1", "eevdf": "6.12"}  # policy -> the release whose fair class it is
RELEASES = (*KERNELS.values(), "7.2")
# The console; no search for a better clock; what makes paths longer or tasks grouped only there is off.
PARAMETERS = "console=ttyS0 quiet tsc=reliable mitigations=off noautogroup"
MARK = "@ "
ABOUT = "about"
END = MARK + "end"
MEMORY_MIB = 512  # with less the initramfs and a tracer do not fit


@dataclass
class LinuxSettings(Settings):
    """A run of Linux: the same machine and the same initramfs, another kernel."""

    linux: str = ""

    @property
    def kernel(self) -> str:
        return self.linux

    def command_line(self) -> str:
        return f"{PARAMETERS} {self.append}".strip()


def find_kernel(build: str, release: str) -> str:
    """The path of Debian's kernel of this release, the newest if there are several."""
    found = glob.glob(os.path.join(build, "linux/boot", f"vmlinuz-{release}.*"))
    if not found:
        raise Missing(f"Debian's kernel {release} is not in {build}/linux: sh tools/setup.sh --compare fetches it")
    return max(found, key=os.path.getmtime)


def on_linux(settings: Settings, release: str, script: str, **other: object) -> LinuxSettings:
    """The machine of @settings with Debian's kernel @release, on which the shell runs @script. Missing without it."""
    values = {field.name: getattr(settings, field.name) for field in fields(Settings)}
    values.update(other, icount=True, mem=max(settings.mem, MEMORY_MIB), kvm="0", cmd=script)
    return LinuxSettings(**values, linux=find_kernel(settings.build, release))


def tick_rate(kernel: str) -> int:
    """HZ of the kernel at this path, from the configuration that Debian puts beside it."""
    config = pathlib.Path(kernel.replace("vmlinuz-", "config-")).read_text(encoding="utf-8")
    return int(expect(r"^CONFIG_HZ=(\d+)$", config)[1])


def digest(build: str, program: str) -> str:
    """Returns the digest of @program as it is in the initramfs. Figures of another digest are of another program."""
    with tempfile.TemporaryDirectory() as directory:
        stripped = pathlib.Path(directory, program)
        subprocess.run([os.environ.get("CROSS_COMPILE", "") + "strip", "-o", stripped,
                        pathlib.Path(build, "user", program)], check=True)
        return hashlib.sha256(stripped.read_bytes()).hexdigest()[:16]


def sections(console: str) -> dict[str, str]:
    """What stands below each mark."""
    found: dict[str, str] = {}
    for part in re.split(rf"^{MARK}", console, flags=re.MULTILINE)[1:]:
        name, _, text = part.partition("\n")
        found[name.strip()] = text
    return found


def qemu_versions(boots: Iterable[str]) -> str:
    """The versions of QEMU in a text, of those of all @boots: with several CPUs a newer one than with one."""
    return ", ".join(sorted(set(boots)))
