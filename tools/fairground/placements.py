# SPDX-License-Identifier: GPL-2.0-only
"""The command `fairground placements`: on which CPU each task woke up or started, why, and which others there were.

The records are sched_decision_select and sched_decision_cpu of sched/observe/decision.def. They are in the files that
`fairground decisions` reads: lines of JSON from schedsim --decisions, or a trace.dat (docs/decisions.md).
"""

import argparse
import enum
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from .decision_filter import known, parse_time
from .decisions import (CPU, DAMAGE, PREFIX, SELECT, SYSTEM, DecisionError, decoder, open_decisions, symbols, text_of,
                        tree_names)
from .image import TraceError
from .settings import UsageError
from .tracefile import TraceFile


class Cpu(NamedTuple):
    """A CPU to which the task could go."""

    of_cpu: int
    flags: int
    nr_running: int
    load: int
    idle_since: int

    def has(self, flag: "Flag") -> bool:
        return bool(self.flags & flag)


class Flag(enum.IntFlag):
    """Flags of a CPU: enum decision_cpu_flags of sched/observe/decision.h."""

    IDLE = 0x1
    FREE = 0x2
    ALLOWED = 0x4
    WAKER = 0x8
    LAST = 0x10
    RECENT = 0x20
    AIMED = 0x40
    SHARES = 0x80
    CHANGED = 0x100


class Placement(NamedTuple):
    """The choice of a CPU. decision.def explains the numbers."""

    time: int
    cpus: tuple[Cpu, ...]
    comm: str
    pid: int
    why: int
    waker: int
    last: int
    recent: int
    aimed: int
    chosen: int
    nr_cpus: int
    nr_rows: int
    aim: str
    rule: str
    scan: int
    bias_pct: int
    load: int

    @property
    def complete(self) -> bool:
        """False if CPUs are missing: the machine has more than a record holds, or events were lost."""
        return len(self.cpus) == self.nr_cpus


FIELDS = Placement._fields[2:]
EXECS, NEW, WAKES, SYNC = 2, 4, 8, 16
REASONS = {EXECS: "execs", NEW: "starts", WAKES: "wakes", WAKES | SYNC: "wakes, sync"}


def _from_json(path: str) -> Iterator[Placement]:
    with open(path, "rb") as f:
        for number, line in enumerate(f, 1):
            row = json.loads(line)
            if row.get("kind") != SELECT.removeprefix(PREFIX):
                continue
            try:
                cpus = tuple(Cpu._make(cpu[name] for name in Cpu._fields) for cpu in row["cpus"])
                yield Placement(row["time"], cpus, *(row[name] for name in FIELDS))
            except (KeyError, TypeError) as error:
                raise DecisionError(f"line {number} is not a placement") from error


def _from_trace(trace: TraceFile) -> Iterator[Placement]:
    formats = {f.name: f for f in trace.formats.values() if f.system == SYSTEM}
    if SELECT not in formats or CPU not in formats:
        return
    record, row = decoder(formats[SELECT], FIELDS), decoder(formats[CPU], Cpu._fields)
    names = {name: symbols(formats[SELECT], name) for name in ("aim", "rule")}
    cpus: dict[int, list[Cpu]] = {}
    for event in trace.events({SELECT, CPU}):
        if event.format.name == CPU:
            cpus.setdefault(event.cpu, []).append(Cpu._make(row(event.data)))
            continue
        p = Placement(event.time, tuple(cpus.pop(event.cpu, ())), *record(event.data))
        named = {name: names[name].get(int(getattr(p, name)), str(getattr(p, name))) for name in names}
        yield p._replace(comm=text_of(p.comm), **named)  # type: ignore[arg-type]


def read(path: str) -> Iterator[Placement]:
    """Every Placement of the file @path. Raises DecisionError if it is no good file of decisions."""
    trace = open_decisions(path).trace
    try:
        yield from _from_trace(trace) if trace else _from_json(path)
    except (TraceError, *DAMAGE) as error:
        raise DecisionError(f"the file is damaged: {error}") from error


# --- text -------------------------------------------------------------------------------------------


def line(p: Placement) -> str:
    moved = f"CPU {p.last} -> {p.chosen}" if p.last != p.chosen else f"CPU {p.chosen}"
    return (f"{p.time / 1e6:14.6f}  {p.comm}-{p.pid:<6} {REASONS.get(p.why, hex(p.why)):<11} {moved:<14} "
            f"because {tree_names('CPU').get(p.rule, p.rule)} (aimed at {p.aimed}: "
            f"{tree_names('AIM').get(p.aim, p.aim)})")


def table(p: Placement) -> Iterator[str]:
    yield "       CPU  free  allowed  shares cache  running      load  "
    for cpu in p.cpus:
        marks = [flag.name.lower() for flag in (Flag.WAKER, Flag.LAST, Flag.RECENT, Flag.AIMED)
                 if cpu.has(flag) and flag.name]
        state = "idle" if cpu.has(Flag.IDLE) else "yes" if cpu.has(Flag.FREE) else "no"
        yield (f"  {'>' if cpu.of_cpu == p.chosen else ' '} {cpu.of_cpu:>6}  {state:<4}  "
               f"{'yes' if cpu.has(Flag.ALLOWED) else 'no':<7}  {'yes' if cpu.has(Flag.SHARES) else 'no':<12}  "
               f"{cpu.nr_running:>7}  {cpu.load:>8}  {', '.join(marks)}").rstrip()
    if not p.complete:
        yield f"    and {p.nr_cpus - len(p.cpus)} more"


def statistics(rules: Counter[str]) -> Iterator[str]:
    yield f"{'placements':>10}  {'share':>6}  rule"
    for rule, number in rules.most_common():
        yield f"{number:>10}  {100 * number / rules.total():5.1f}%  {tree_names('CPU').get(rule, rule)}"


# --- the command ------------------------------------------------------------------------------------


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default=os.environ.get("FILE") or None,
                        help="JSON lines or a trace.dat; default: $FILE")
    parser.add_argument("--task", metavar="NAME|PID", help="of this task only")
    parser.add_argument("--cpu", dest="on", metavar="CPU", help="only what went to this CPU")
    parser.add_argument("--rule", metavar="NAME", help=f"only by this rule: {', '.join(tree_names('CPU'))}")
    parser.add_argument("--from", dest="start", metavar="TIME", help="not before, for example 500ms")
    parser.add_argument("--to", dest="end", metavar="TIME", help="not after, for example 1.5s")
    parser.add_argument("--limit", metavar="N", help="only the first N that match")
    parser.add_argument("--full", action="store_true", help="all CPUs that there were, too")
    parser.add_argument("--stats", action="store_true", help="how often each rule decided")


def _wanted(arguments: argparse.Namespace) -> Iterator[Placement]:
    """The placements that the options ask for. Raises UsageError for bad ones, before the first."""
    start, end = parse_time("--from", arguments.start), parse_time("--to", arguments.end)
    for option, text in (("--cpu", arguments.on), ("--limit", arguments.limit)):
        if text is not None and not text.isdecimal():
            raise UsageError(f"{option} {text}: a number is expected")
    known("--rule", arguments.rule and [arguments.rule], tree_names("CPU"))
    left = int(arguments.limit) if arguments.limit else -1
    for p in read(arguments.file):
        if (arguments.task not in (None, p.comm, str(p.pid)) or arguments.on not in (None, str(p.chosen))
                or arguments.rule not in (None, p.rule) or start is not None and p.time < start
                or end is not None and p.time > end):
            continue
        if not left:
            return
        left -= 1
        yield p


def main(_: Any, arguments: argparse.Namespace) -> int:
    """print and count on which CPUs tasks were placed, and why"""
    if not arguments.file:
        raise UsageError("a file of decisions is expected: fairground placements FILE (docs/decisions.md)")
    try:
        rules: Counter[str] = Counter(map(attrgetter("rule"), found := list(_wanted(arguments))))
    except DecisionError as error:
        print(f"fairground: {arguments.file}: {error}", file=sys.stderr)
        return 2
    if not found:
        print(f"fairground: {arguments.file}: no placement matches", file=sys.stderr)
        return 2
    for text in statistics(rules) if arguments.stats else ():
        print(text)
    for p in () if arguments.stats else found:
        print(line(p))
        for text in table(p) if arguments.full else ():
            print(text)
    return 0
