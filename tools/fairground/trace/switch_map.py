# SPDX-License-Identifier: GPL-2.0-only
"""Who had which CPU, a line for each switch: what `perf sched map` prints.

Each CPU has a column with the name of its task, two letters that the line explains where it comes first; `.` is the
idle task, `*` marks the CPU that switched.
"""

import argparse
import itertools
import string
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from .. import result
from ..base.option_values import parse_cpus, parse_pids
from ..machine.image import Event, event_values
from ..words import Command
from .latency import follow, options_of_source, seconds
from .timeline import SWITCH
from .tracefile import TraceFile

COMMAND = Command("map", examples=(
    ("hack.dat --pid 7,9", "where two threads ran"),
))

IDLE, OTHER = ".", "-"


def short_names() -> Iterator[str]:
    """A0 to Z0, A1 to Z1 and so on; after Z9 they come again, as perf's do."""
    return itertools.cycle(letter + digit for digit in string.digits for letter in string.ascii_uppercase)


class Names:
    """The two letters of each thread, which are explained when they are new or the thread has another name."""

    def __init__(self) -> None:
        self._new, self._names = short_names(), dict[int, tuple[str, str]]()

    def of(self, pid: int, comm: str) -> tuple[str, str]:
        """The letters of @pid and what is said of them; "" if that is known."""
        name, before = self._names.get(pid) or (next(self._new), "")
        self._names[pid] = name, comm
        return name, f"{name} => {comm}:{pid}" if comm != before else ""


class Row(NamedTuple):
    """A switch to a task, and what each CPU has then."""

    time: int
    cpu: int
    pid: int
    comm: str
    now: dict[int, str]
    said: str

    def as_row(self) -> dict[str, Any]:
        return {"time_ns": self.time, "cpu": self.cpu, "pid": self.pid, "task": self.comm, "now": self.now}

    def line(self) -> str:
        cells = "".join(f"{'*' if cpu == self.cpu else ' '}{name:<2} " for cpu, name in self.now.items())
        return f"  {cells}  {seconds(self.time):>12} secs {self.said}".rstrip()


def rows(events: Iterable[Event], columns: Collection[int], pids: Collection[int] | None) -> Iterator[Row]:
    """A Row for each switch on a CPU of @columns. With @pids only these have letters, and other switches no row."""
    names, now = Names(), dict.fromkeys(columns, "")
    for event in events:
        if event.format.name != SWITCH or event.cpu not in now:
            continue
        values = event_values(event)
        pid, said, before = values["next_pid"], "", now[event.cpu]
        if pid and (pids is None or pid in pids):
            now[event.cpu], said = names.of(pid, values["next_comm"])
        else:
            now[event.cpu] = OTHER if pid else IDLE
        if pids is not None and {before, now[event.cpu]} <= {"", IDLE, OTHER}:
            continue
        yield Row(event.time, event.cpu, pid, values["next_comm"], dict(now), said)


def options(parser: argparse.ArgumentParser) -> None:
    options_of_source(parser)
    parser.add_argument("-p", "--pid", help="only these threads have names, for example 7,9; others are -")


def main(_: Any, arguments: argparse.Namespace) -> int:
    """print who had which CPU after each switch of a trace, as perf sched map does"""
    cpus, pids = parse_cpus(arguments.cpus), parse_pids(arguments.pid)

    def show(trace: TraceFile, events: Iterable[Event]) -> None:
        found = rows(events, [cpu for cpu in range(trace.cpus) if cpus is None or cpu in cpus], pids)
        result.tell(itertools.chain(trace.run_lines(), map(Row.line, found)), result.of_trace(trace.about),
                    map(Row.as_row, found))

    return follow(arguments.file, show, "the map")
