# SPDX-License-Identifier: GPL-2.0-only
"""The settings of `make run`, on which a run depends, checked before anything starts.

Each setting is an option of the command line and an environment variable of the same name in capitals, through which
make passes it. Kernel, initramfs and these settings together determine a run under ICOUNT=1 to the bit.
"""

import math
import os
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import names
from .errors import InputError
from .tree import ROOT


class UsageError(InputError):
    """A setting has a value that makes no sense. The text is one sentence for the user."""


def _schedulers() -> tuple[str, ...]:
    """The names of the fair policies that are built in: those of sched/fair/policies.def, and of make's POLICIES=."""
    built = ROOT / os.environ.get("B", "build") / "policies/sched/fair/policies.def"
    text = (built if built.exists() else ROOT / "sched/fair/policies.def").read_text()
    return tuple(name.replace("_", "-") for name in re.findall(r"^POLICY\((\w+),", text, re.MULTILINE))


SCHEDULERS = _schedulers()
TICK_RATES = (100, 250, 1000)
MAX_CPUS = 255
MAX_NODES = 8
TOPOLOGY_LEVELS = ("sockets", "dies", "modules", "clusters", "cores", "threads")


def _integer(name: str, text: str, low: int, high: int) -> int:
    if not re.fullmatch("[0-9]{1,15}", text) or not low <= int(text) <= high:
        raise UsageError(f"{name}={text[:60]}: an integer from {low} to {high} is expected")
    return int(text)


def _choice(name: str, text: str, choices: Collection[str]) -> str:
    if text not in choices:
        raise UsageError(f"{name}={text}: one of {', '.join(choices)} is expected")
    return text


def _switch(name: str, text: str) -> bool:
    return _choice(name, text, ("0", "1")) == "1"


def parse_sched(text: str) -> dict[str, str]:
    """A fair policy, or scx:FILE[,NAME=VALUE...]: a program of make scx, which the guest then has in /root."""
    if not text.startswith("scx:"):
        return {"sched": _choice("SCHED", text, SCHEDULERS)}
    path, *constants = text.removeprefix("scx:").split(",")
    if not path.endswith(".o") or not os.path.isfile(path) or " " in text:
        raise UsageError(f"SCHED={text}: a file NAME.o of make scx is expected, such as scx:build/scx/vtime.o")
    return {"sched": ",".join([f"scx:/root/{os.path.basename(path)}", *constants]), "program": path}


def parse_smp(text: str) -> tuple[int, str]:
    """Number of CPUs and QEMU's -smp argument, from "4" or "8,sockets=2,cores=2,threads=2"."""
    count, _, rest = text.partition(",")
    cpus = _integer("SMP", count.removeprefix("cpus="), 1, MAX_CPUS)
    product = 1
    for part in filter(None, rest.split(",")):
        level, _, value = part.partition("=")
        product *= _integer(f"SMP={text}: {_choice('SMP', level, TOPOLOGY_LEVELS)}", value, 1, MAX_CPUS)
    if product > cpus or cpus % product:
        raise UsageError(f"SMP={text}: {rest} describes {product} CPUs, not {cpus}")
    return cpus, text


def parse_memory(text: str) -> int:
    """MiB from "256", "256M" or "1G"."""
    match = re.fullmatch("([0-9]{1,15})([MG]?)", text)
    if not match:
        raise UsageError(f"MEM={text[:60]}: a size in MiB is expected, such as 256 or 1G")
    return _integer("MEM", str(int(match[1]) * (1024 if match[2] == "G" else 1)), 32, 1 << 20)


def _one_line(name: str, text: str) -> str:
    if "\n" in text:
        raise UsageError(f"{name}: a line break cannot be part of a kernel command line")
    return text


def _cpus_of_shape(text: str) -> int:
    """The number of CPUs of topology=@text in its short form, 2x4x2; 0 for levels by name."""
    return math.prod(map(int, text.split("x"))) if re.fullmatch("[0-9]{1,9}(x[0-9]{1,9}){0,9}", text) else 0


def check_parameters(settings: "Settings") -> None:
    """Refuse boot parameters in APPEND= that look mistyped or do not fit the machine."""
    known = names.parameters()
    for word in settings.append.split():
        name, _, value = word.partition("=")
        meant = "" if name in known or name.isupper() else names.nearest(name, known, 0.65)
        if meant:
            raise UsageError(f"APPEND={word}: no boot parameter is called {name}; is {meant} meant? "
                             "(docs/parameters.md)")
        if name == "sched":
            _choice("APPEND=sched", value, SCHEDULERS)
        if name == "topology" and _cpus_of_shape(value) not in (0, settings.cpus):
            raise UsageError(f"APPEND={word}: a shape of {_cpus_of_shape(value)} CPUs needs "
                             f"SMP={_cpus_of_shape(value)}")


@dataclass
class Settings:
    """One run. Times are in seconds, memory in MiB. The user's texts are kept for the line that repeats it."""

    build: str = "build"
    sched: str = "cfs"
    hz: int = 250
    smp: str = "4"
    cpus: int = 4
    mem: int = 256
    numa: int = 1
    cpu: str = "max"
    icount: bool = False
    shift: int = 0                             # under icount an instruction takes 1 << shift ns
    seed: int = 1
    boot: str = "pvh"
    kvm: str = "auto"
    append: str = ""
    cmd: str = ""
    timeout: int = 600
    interactive: bool = False
    given: dict[str, str] = field(default_factory=dict)  # setting -> text, as the user gave it
    own_files: str = ""                        # FILES=, and
    root: str = ""                             # ROOT=: see guestfiles.py
    program: str = ""                          # of SCHED=scx:FILE, the file
    files: dict[str, bytes] = field(default_factory=dict)  # guest path -> bytes, added to the initramfs
    ram_file: str = ""                         # back the guest's memory by this file

    @property
    def kernel(self) -> str:
        return os.path.join(self.build, "fairground.elf")

    @property
    def initramfs(self) -> str:
        return os.path.join(self.build, "initramfs.cpio")

    def command_line(self) -> str:
        """The kernel's parameters."""
        words = [f"sched={self.sched}", f"hz={self.hz}", f"seed={self.seed}"]
        if self.interactive:
            words.append("interactive")
        return " ".join(words + ([self.append] if self.append else []))

    def repeat(self, target: str = "run", **more: str | None) -> str:
        """The command that repeats this run, with what make was told to build and @more variables of the target."""
        built = {name: os.environ[name] for name, usual in BUILD_SETTINGS.items()
                 if os.environ.get(name) not in (None, "", usual)}
        texts: dict[str, str | None] = {**built, **self.given, **more}
        words = [f"{name.upper()}={shlex.quote(text)}" for name, text in texts.items() if text]
        return " ".join(["make", target] + words)


# Each makes another image: what it is unless make was told otherwise.
BUILD_SETTINGS = {"POLICIES": "", "DEBUG": "0", "OPTIMIZE": "2", "SAN": "", "COVER": "", "B": "build"}

PARSERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "sched": parse_sched,
    "hz": lambda s: {"hz": int(_choice("HZ", s, [str(hz) for hz in TICK_RATES]))},
    "smp": lambda s: dict(zip(("cpus", "smp"), parse_smp(s))),
    "mem": lambda s: {"mem": parse_memory(s)},
    "numa": lambda s: {"numa": _integer("NUMA", s, 1, MAX_NODES)},
    "cpu": lambda s: {"cpu": s},
    "icount": lambda s: {"icount": _switch("ICOUNT", s)},
    "shift": lambda s: {"shift": _integer("SHIFT", s, 0, 10)},
    "seed": lambda s: {"seed": _integer("SEED", s, 0, (1 << 31) - 1)},
    "boot": lambda s: {"boot": _choice("BOOT", s, ("pvh", "iso"))},
    "kvm": lambda s: {"kvm": _choice("KVM", s, ("auto", "0", "1"))},
    "append": lambda s: {"append": _one_line("APPEND", s)},
    "cmd": lambda s: {"cmd": s},
    "files": lambda s: {"own_files": s},
    "root": lambda s: {"root": s},
    "timeout": lambda s: {"timeout": _integer("TIMEOUT", s, 1, 86400)},
}


TRACE_FILE = "trace.dat"


def trace_file() -> str:
    """OUT=, the file to which a trace is written and from which it is read. It is not a setting of the machine."""
    return os.environ.get("OUT") or TRACE_FILE


def make_settings(given: Mapping[str, str], **fixed: Any) -> Settings:
    """Settings from the texts @given (name -> text; an empty one means the default) and values @fixed by the caller."""
    given = {name: text for name, text in given.items() if text}
    values: dict[str, Any] = {}
    for name, text in given.items():
        values.update(PARSERS[name](text))
    settings = Settings(**{**values, **fixed}, given=given)
    if settings.icount and settings.kvm == "1":
        raise UsageError("KVM=1 and ICOUNT=1 exclude each other: ICOUNT=1 counts emulated instructions")
    if settings.shift and not settings.icount:
        raise UsageError(f"SHIFT={settings.shift} needs ICOUNT=1: it says how long an instruction takes")
    if settings.program:
        with open(settings.program, "rb") as f:
            settings.files = {**settings.files, f"/root/{os.path.basename(settings.program)}": f.read()}
    check_parameters(settings)
    if settings.cpus % settings.numa or settings.mem % settings.numa:
        raise UsageError(f"NUMA={settings.numa}: {settings.cpus} CPUs and {settings.mem} MiB cannot be divided equally")
    return settings


def from_environment(options: Mapping[str, str | None] | None = None, **fixed: Any) -> Settings:
    """Settings from the environment, overridden by @options (name -> text or None)."""
    texts = {name: os.environ.get(name.upper(), "") for name in PARSERS}
    texts.update({name: text for name, text in (options or {}).items() if text is not None})
    return make_settings(texts, **fixed)
