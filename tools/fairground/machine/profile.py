# SPDX-License-Identifier: GPL-2.0-only
"""In which functions of the kernel a command's instructions are: counted one by one, so nothing is sampled.

A plugin of QEMU counts (tools/qemu/count.c). What a machine does to boot and to end is in every run. So the command is
compared with another one, which by default does nothing: what is printed is the difference.
"""

import argparse
import bisect
import dataclasses
import os
import re
import shlex
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import result
from ..base.expect import Missing
from ..base.settings import Settings, UsageError
from ..base.tree import ROOT
from ..trace.record import RecordError, ended_well
from ..words import Command
from .machine import Machine, at_once
from .qemu import Qemu, QemuError, choose

COMMAND = Command("profile", machine=True, built="image", tree="tools/qemu", examples=(
    ("--smp 1 --cmd 'hack -g 2'", "one command: which functions it is in"),
    ("--smp 1 --cmd 'pingpong -l 8000 futex' --less 'pingpong -l 4000 futex' --per 4000", "a round trip"),
))

PLUGIN = ROOT / "tools/qemu/count.c"
NOTHING = "true"
KERNEL = 1 << 63    # addresses from here on are the kernel's
PROGRAMS = "[programs]"
REST = "[others]"
UNKNOWN = "[unknown]"
LAYER = re.compile(r"^.*/inc/\w+/")  # make gives each layer headers of its own
GROUPS = ("function", "file", "directory")
OLD_API, NEW_API = 1, 2
NEW_API_SINCE = (9,)
LEAST_SHARE = 1e-3  # of what is printed by itself


@dataclass(frozen=True)
class Line:
    """A function, a file or a directory, as --by says, or all programs: instructions and calls, in all or for each of
    --per operations."""

    place: str
    instructions: float
    calls: float | None  # of a function only


def compile_plugin(qemu: Qemu, directory: str) -> str:
    """Compile the plugin for @qemu; returns its path."""
    path = os.path.join(directory, "count.so")
    api = NEW_API if qemu.version >= NEW_API_SINCE else OLD_API
    words = [os.environ.get("CC") or "cc", "-O2", "-shared", "-fPIC", f"-DAPI={api}", "-o", path, str(PLUGIN)]
    try:
        done = subprocess.run(shlex.split(words[0]) + words[1:], capture_output=True, text=True, check=False)
    except OSError as error:
        raise QemuError(f"profile: {words[0]} does not start ({error.strerror}); sh tools/setup.sh") from error
    if done.returncode:
        raise QemuError(f"profile: {PLUGIN} cannot be compiled:\n{done.stderr}")
    return path


def place(where: Sequence[str], by: str) -> str:
    """The file or directory of a function in the tree, from FILE:LINE as nm says it."""
    if not where:
        return UNKNOWN
    path = LAYER.sub("", os.path.normpath(where[0].rpartition(":")[0]).removeprefix(f"{ROOT}/"))
    return path if by == "file" else os.path.dirname(path)


class Symbols:
    """The kernel's functions by address; @by says what of them counts together."""

    def __init__(self, kernel: str, by: str) -> None:
        try:
            text = subprocess.run(["nm", "-n", "-l", kernel], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise QemuError(f"profile: the names in {kernel} cannot be read: {error}; sh tools/setup.sh") from error
        words = (line.split() for line in text.splitlines())
        found = [(int(address, 16), name, where) for address, kind, name, *where in words if kind in "tT"]
        self._starts = [start for start, _, _ in found]
        self._names = [name if by == "function" else place(where, by) for _, name, where in found]

    def of(self, address: int) -> tuple[str, bool]:
        """The place of @address, and whether a function begins there."""
        if address < KERNEL:
            return PROGRAMS, False
        nr = bisect.bisect_right(self._starts, address) - 1
        return self._names[nr], self._starts[nr] == address


def count(settings: Settings, plugin: str, out: str) -> None:
    """Run @settings with the plugin, which writes the file @out. Raises RecordError if the command fails."""
    with Machine(settings, ("-plugin", f"{plugin},out={out}")) as machine:
        ended_well(machine.run(), settings.cmd)


def read_counts(path: str, symbols: Symbols) -> tuple[Counter[str], Counter[str]]:
    """Instructions and calls by function, from what the plugin wrote."""
    instructions: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    with open(path, encoding="ascii") as file:
        for address, times in map(str.split, file):
            name, begins = symbols.of(int(address, 16))
            instructions[name] += int(times)
            calls[name] += int(times) * begins
    return instructions, calls


def difference(settings: Settings, less: str, per: int, by: str) -> list[Line]:
    """Instructions of settings.cmd without those of the command @less, divided by @per: most first."""
    symbols = Symbols(settings.kernel, by)
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory, at_once(2) as pool:
        plugin = compile_plugin(choose(settings)[0], directory)
        outs = [os.path.join(directory, name) for name in ("less", "more")]
        jobs = [pool.submit(count, dataclasses.replace(settings, cmd=cmd), plugin, out)
                for cmd, out in zip((less, settings.cmd), outs)]
        for job in jobs:
            job.result()
        (fewer, fewer_calls), (more, more_calls) = (read_counts(out, symbols) for out in outs)
    names = sorted(fewer.keys() | more.keys(), key=lambda name: (fewer[name] - more[name], name))
    counted = {} if by != "function" else {name: (more_calls[name] - fewer_calls[name]) / per
                                           for name in names if name != PROGRAMS}
    return [Line(name, (more[name] - fewer[name]) / per, counted.get(name)) for name in names]


def shorten(lines: list[Line]) -> list[Line]:
    """@lines without those that matter little, which are one line together."""
    least = LEAST_SHARE * sum(line.instructions for line in lines)
    shown = [line for line in lines if line.instructions >= least]
    rest = sum(line.instructions for line in lines if line.instructions < least)
    return [*shown, Line(REST, rest, None)]


def table(lines: list[Line], by: str) -> Iterator[str]:
    total = sum(line.instructions for line in lines)
    yield f"{'instructions':>14} {'share':>7} {'calls':>10}  {by}"
    for line in lines:
        calls = "" if line.calls is None else f"{line.calls:,.2f}"
        yield f"{line.instructions:>14,.1f} {line.instructions / total:>7.1%} {calls:>10}  {line.place}"
    yield f"{total:>14,.1f} {1:>7.1%}"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--less", metavar="CMD", default=NOTHING,
                        help="the command whose instructions are taken off, default: one that does nothing")
    parser.add_argument("--by", choices=GROUPS, default=GROUPS[0], help="what counts together")
    parser.add_argument("--per", metavar="N", type=int, default=1, help="divide by N, the operations CMD does more")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """count the instructions of CMD in each function of the kernel, under ICOUNT=1"""
    if not settings.cmd:
        raise UsageError("profile needs a command: CMD='pingpong futex'")
    if arguments.per < 1:
        raise UsageError(f"--per {arguments.per}: a positive number is expected")
    settings = dataclasses.replace(settings, icount=True)
    try:
        lines = difference(settings, arguments.less, arguments.per, arguments.by)
    except RecordError as error:
        raise Missing(str(error)) from error
    if sum(line.instructions for line in lines) <= 0:
        raise UsageError(f"CMD={settings.cmd}: has no more instructions than {arguments.less}")
    lines = shorten(lines)
    per = f", each of {arguments.per:,}" if arguments.per > 1 else ""
    head = result.of_settings(settings)
    about = ", ".join(f"{name} {value}" for name, value in head.items())
    result.tell([f"{settings.cmd}, less {arguments.less}{per}: {about}", *table(lines, arguments.by)], head,
                map(dataclasses.asdict, lines), less=arguments.less, per=arguments.per, by=arguments.by)
    return 0
