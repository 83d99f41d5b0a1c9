# SPDX-License-Identifier: GPL-2.0-only
"""Who had which CPU, a line for each switch: what `perf sched map` prints.

Each CPU has a column with the name of its task, two letters that the line explains where it comes first; `.` is the
idle task, `*` marks the CPU that switched.
"""

import argparse
import itertools
import string
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from .image import Event, event_values
from .latency import follow, options_of_source, seconds
from .option_values import parse_cpus, parse_pids
from .timeline import SWITCH

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


def rows(events: Iterable[Event], columns: Collection[int], pids: Collection[int] | None) -> Iterator[str]:
    """A line for each switch on a CPU of @columns. With @pids only these have letters, and other switches no line."""
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
        cells = "".join(f"{'*' if cpu == event.cpu else ' '}{name:<2} " for cpu, name in now.items())
        yield f"  {cells}  {seconds(event.time):>12} secs {said}".rstrip()


def options(parser: argparse.ArgumentParser) -> None:
    options_of_source(parser)
    parser.add_argument("-p", "--pid", help="only these threads have names, for example 7,9; others are -")


def show(events: Iterable[Event], columns: Collection[int], pids: Collection[int] | None) -> bool:
    for row in rows(events, columns, pids):
        print(row)
    return True


def main(_: Any, arguments: argparse.Namespace) -> int:
    """print who had which CPU after each switch of a trace, as perf sched map does"""
    cpus, pids = parse_cpus(arguments.cpus), parse_pids(arguments.pid)
    return 0 if follow(arguments.file, lambda trace, events: show(
        events, [cpu for cpu in range(trace.cpus) if cpus is None or cpu in cpus], pids), "the map") else 1
