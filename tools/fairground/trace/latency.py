# SPDX-License-Identifier: GPL-2.0-only
"""How long tasks ran and how long they waited for a CPU, from a trace: what `perf sched latency` prints.

A wait begins when a task is woken (sched_wakeup, sched_wakeup_new), or is switched out although it could go on. It ends
when the task is switched in. `Switches` counts the waits that the trace tells, as perf's column of this name does. A
turn lasts from switching in to switching out; `turns` of --json and timehist count those that end in the trace. Run
time is the time between switching in and switching out.
perf adds up sched_stat_runtime instead: the same time in other pieces, and many more events.
"""

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import result
from ..base.errors import reading
from ..base.option_values import parse_cpus
from ..base.settings import trace_file
from ..machine.image import DAMAGED, Event, TraceError, text_of
from ..words import Command
from .records import Decoder
from .timeline import SWITCH, TaskStates, decoder_of, events_of
from .tracefile import TraceFile, lost_text, no_wakeups

COMMAND = Command("latency", examples=(
    ("hack.dat --sort max", "the longest waits first"),
))

MS = 1e6
SORTS: dict[str, Callable[["TaskLatency"], float]] = {
    "avg": lambda t: t.average, "max": lambda t: t.longest, "switch": lambda t: t.switches,
    "runtime": lambda t: t.run_ns, "pid": lambda t: -t.pid,
}

RULE = " " + "-" * 157
HEAD = ("  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    "
        "| Max delay start           | Max delay end          |")


class Wait(NamedTuple):
    """One wait for a CPU, in ns. It began with a wakeup (woken) or with a preemption."""

    pid: int
    start: int
    end: int
    woken: bool


@dataclass
class TaskLatency:
    """One thread, or several threads of one name. Times are in ns. @turns ended, @switches waits are known, @unknown
    ones after a sleep are not."""

    pid: int
    comm: str
    run_ns: int = 0
    turns: int = 0
    switches: int = 0
    unknown: int = 0
    delay_ns: int = 0
    longest: int = 0
    longest_start: int = 0
    longest_end: int = 0
    threads: int = 1

    @property
    def average(self) -> float:
        return self.delay_ns / self.switches if self.switches else 0

    @property
    def label(self) -> str:
        return f"{self.comm}:{self.pid}" if self.threads == 1 else f"{self.comm}:({self.threads})"

    def waited(self, start: int, end: int) -> None:
        self.switches += 1
        self.delay_ns += end - start
        if not self.longest_end or end - start > self.longest:
            self.longest, self.longest_start, self.longest_end = end - start, start, end

    def merge(self, other: "TaskLatency") -> None:
        """Add @other, which has the same name."""
        self.threads += 1
        self.run_ns += other.run_ns
        self.turns += other.turns
        self.switches += other.switches
        self.unknown += other.unknown
        self.delay_ns += other.delay_ns
        if other.switches and (not self.longest_end or other.longest > self.longest):
            self.longest, self.longest_start, self.longest_end = (
                other.longest, other.longest_start, other.longest_end)


class Latencies:
    """Adds up events as they come: those on @cpus, or all if that is None. Each wait is kept, too, unless it is not
    @kept: millions of them need much memory."""

    def __init__(self, cpus: Collection[int] | None = None, kept: bool = True) -> None:
        self.tasks: dict[int, TaskLatency] = {}               # by pid
        self.waits: list[Wait] = []                           # in order of their ends
        self.wakeups = 0
        self._cpus, self._kept = cpus, kept
        self._states = TaskStates()
        self._decoders: dict[int, Decoder] = {}               # by the event's number

    def add(self, event: Event) -> None:
        form = event.format
        decode = self._decoders.get(form.id)
        if decode is None:
            decode = self._decoders[form.id] = decoder_of(form)
        if form.name == SWITCH:
            self._switch(event.time, event.cpu, decode(event.data))
        else:
            self.wakeups += 1
            self._states.wakeup(event.time, decode(event.data)[0])

    def _task(self, pid: int, comm: bytes) -> TaskLatency:
        task = self.tasks.get(pid)
        if task is None:
            task = self.tasks[pid] = TaskLatency(pid, "")
        task.comm = text_of(comm)
        return task

    def _switch(self, time: int, cpu: int, values: tuple[Any, ...]) -> None:
        prev, prev_comm, _, state, following, comm, _ = values
        here, unknown = self._cpus is None or cpu in self._cpus, self._states.unknown
        since, wait = self._states.switch(time, cpu, prev, state, following)
        if prev:
            task = self._task(prev, prev_comm)
            task.turns += here
            if here and since is not None:
                task.run_ns += time - since
        if following:
            task = self._task(following, comm)
            task.unknown += here and self._states.unknown > unknown
            if here and wait:
                task.waited(wait[0], time)
                if self._kept:
                    self.waits.append(Wait(following, wait[0], time, wait[1]))

    def finish(self, end: int) -> None:
        """The trace ends at @end. A task that runs then has run until then."""
        for cpu, (pid, since) in self._states.running.items():
            if pid and (self._cpus is None or cpu in self._cpus):
                self.tasks[pid].run_ns += end - since


def latencies(events: Iterable[Event], cpus: Collection[int] | None = None, kept: bool = True) -> Latencies:
    """Latencies of a stream of Events."""
    found, end = Latencies(cpus, kept), 0
    for event in events:
        found.add(event)
        end = event.time
    found.finish(end)
    return found


def merged(tasks: Iterable[TaskLatency]) -> list[TaskLatency]:
    """One TaskLatency for each name."""
    by_name: dict[str, TaskLatency] = {}
    for task in tasks:
        if task.comm in by_name:
            by_name[task.comm].merge(task)
        else:
            by_name[task.comm] = TaskLatency(**vars(task))
    return list(by_name.values())


def ordered(tasks: Iterable[TaskLatency], sort: str) -> list[TaskLatency]:
    """@tasks without those that were never seen to be switched in, in the order of the table."""
    return sorted((t for t in tasks if t.switches or t.unknown), key=SORTS[sort], reverse=True)


def table(tasks: Sequence[TaskLatency]) -> str:
    """perf's table as text."""
    lines = [RULE, HEAD, RULE]
    for t in tasks:
        known = (f"{t.average / MS:.3f}", f"{t.longest / MS:.3f}", f"{t.longest_start / 1e9:.6f}",
                 f"{t.longest_end / 1e9:.6f}")
        average, longest, start, end = known if t.switches else "----"
        lines.append(f"  {t.label:<21} |{t.run_ns / MS:11.3f} ms |{t.switches:9} | avg:{average:>8} ms "
                     f"| max:{longest:>8} ms | max start:{start:>13} s | max end:{end:>13} s")
    total_ns, switches = sum(t.run_ns for t in tasks), sum(t.switches for t in tasks)
    return "\n".join(lines + [RULE, f"  {'TOTAL:':<21} |{total_ns / MS:11.3f} ms |{switches:9} |", RULE])


def options_of_source(parser: argparse.ArgumentParser) -> None:
    """Which trace is read, and which of its CPUs."""
    parser.add_argument("file", nargs="?", default=trace_file(),
                        help="a trace.dat or a perf.data; default: $OUT or trace.dat")
    parser.add_argument("-C", "--cpus", help="only these CPUs, for example 2,3")


def options(parser: argparse.ArgumentParser) -> None:
    options_of_source(parser)
    parser.add_argument("-p", "--pids", action="store_true", help="one line for each thread instead of each name")
    parser.add_argument("-s", "--sort", choices=SORTS, default="avg", help="sort by this, largest first; default: avg")


def seconds(ns: int) -> str:
    """A moment as perf prints it: in s, to the microsecond that has begun."""
    return f"{ns // 10**9}.{ns // 1000 % 10**6:06}"


def follow(path: str, show: Callable[[TraceFile, Iterator[Event]], object], what: str) -> int:
    """Let @show print what it makes of a trace and its events that say who runs and who waits. TraceError if they
    cannot be read. @what is printed of them; lost events are told. Returns the status."""
    with reading(path, TraceError, DAMAGED):
        trace = TraceFile(path)
        show(trace, trace.events(events_of(trace)))
        lost = trace.lost()
    if lost:
        print(f"fairground: {path}: {lost_text(lost, what)}", file=sys.stderr)
    return 0


def rows(tasks: Iterable[TaskLatency]) -> Iterator[dict[str, Any]]:
    """The table for programs, times in ns. Of a task without a known wait they are None."""
    for t in tasks:
        waits = (t.average, t.longest, t.longest_start, t.longest_end) if t.switches else (None,) * 4
        yield {"task": t.comm, "pid": t.pid if t.threads == 1 else None, "threads": t.threads, "run_ns": t.run_ns,
               "turns": t.turns, "switches": t.switches,
               **dict(zip(("average_ns", "longest_ns", "longest_start_ns", "longest_end_ns"), waits))}


def main(_: Any, arguments: argparse.Namespace) -> int:
    """print run time, switches and delays of the tasks in a trace, as perf sched latency does"""
    cpus = parse_cpus(arguments.cpus)

    def show(trace: TraceFile, events: Iterator[Event]) -> None:
        all_found = latencies(events, cpus, kept=False)
        found = list(all_found.tasks.values())
        if text := no_wakeups(all_found.wakeups, sum(task.unknown for task in found)):
            print(f"fairground: {arguments.file}: {text}", file=sys.stderr)
        tasks = ordered(found if arguments.pids else merged(found), arguments.sort)
        result.tell([*trace.run_lines(), table(tasks)], result.of_trace(trace.about), rows(tasks))

    return follow(arguments.file, show, "the table")
