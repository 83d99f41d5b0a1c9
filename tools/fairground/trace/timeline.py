# SPDX-License-Identifier: GPL-2.0-only
"""Who ran where and who waited, and when, from a trace: what latency.py adds up, and pictures show.

TaskStates follows each task through sched_switch and sched_wakeup. A Timeline is all runs and waits of a trace.dat, as
columns of numbers: a million events fit into 100 MB.
"""

import os
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..base.errors import damage
from ..machine.image import DAMAGED, Format, TraceError, text_of
from .records import Decoder, decoder
from .tracefile import TraceFile, lost_text, no_wakeups

SWITCH, WAKING, WAKEUPS = "sched_switch", "sched_waking", ("sched_wakeup", "sched_wakeup_new")
EVENTS = (SWITCH, *WAKEUPS)
SWITCHED = ("prev_pid", "prev_comm", "prev_prio", "prev_state", "next_pid", "next_comm", "next_prio")
SLEEPS = 0xff  # bits of prev_state; with any of them set the task does not want a CPU


class TaskStates:
    """Which task runs on each CPU, which wait for one, and since when."""

    def __init__(self) -> None:
        self.running: dict[int, tuple[int, int]] = {}   # cpu -> (pid, since)
        self._waiting: dict[int, tuple[int, bool]] = {}  # pid -> (since, was woken)
        self._asleep: set[int] = set()
        self.unknown = 0  # turns after a sleep whose wakeup is not recorded: how long the task waited is not known

    def switch(self, time: int, cpu: int, prev: int, state: int,
               following: int) -> tuple[int | None, tuple[int, bool] | None]:
        """@following takes @cpu over from @prev. Returns since when @prev had run, or None if that is not known; and
        since when @following had waited and whether a wakeup began that, or None if no wait of it is known. A turn ends
        here: that of @prev."""
        running, since = self.running.get(cpu, (None, 0))
        if prev:
            if state & SLEEPS:
                # A wakeup of the same moment, on another CPU, came after this: otherwise prev would not sleep.
                if self._waiting.get(prev, (None, False))[0] != time:
                    self._waiting.pop(prev, None)
                    self._asleep.add(prev)
            else:
                self._waiting[prev] = time, False
        self.running[cpu] = following, time
        if following in self._asleep:
            self._asleep.discard(following)
            self.unknown += 1
        return since if running == prev else None, self._waiting.pop(following, None) if following else None

    def wakeup(self, time: int, pid: int) -> None:
        """@pid is made runnable. A task that waits already goes on waiting. If the task runs, its next switch says
        what becomes of it."""
        if pid:
            self._asleep.discard(pid)
            self._waiting.setdefault(pid, (time, True))

    def waiting(self) -> dict[int, tuple[int, bool]]:
        """The tasks that wait now: pid -> (since, was woken)."""
        busy = {pid for pid, _ in self.running.values()}
        return {pid: wait for pid, wait in self._waiting.items() if pid not in busy}


class Runs(NamedTuple):
    """Columns, one row for each time that a task had a CPU; sorted by the end. Times are in ns of the trace's clock."""

    cpu: "array[int]"
    pid: "array[int]"
    start: "array[int]"
    end: "array[int]"


class Waits(NamedTuple):
    """Columns, one row for each wait for a CPU. Those that do not end have the end of the trace, and stand last."""

    pid: "array[int]"
    start: "array[int]"
    end: "array[int]"
    woken: "array[int]"  # 1: a wakeup began it


def _needed(names: set[str]) -> tuple[str, str]:
    """The events that tell runs and waits, in a trace that knows the events @names. `perf sched record` has
    sched_waking, the decision to wake a task, and no sched_wakeup; then a wait begins with that."""
    wakeup = WAKEUPS[0]
    return SWITCH, WAKING if wakeup not in names and WAKING in names else wakeup


def missing_events(trace: TraceFile) -> set[str]:
    """The events that @trace lacks for a Timeline."""
    names = {f.name for f in trace.formats.values()}
    return set(_needed(names)) - names


def events_of(trace: TraceFile) -> tuple[str, ...]:
    """The events of @trace that say who runs and who waits. TraceError if one is missing, or a field of it."""
    if missing := missing_events(trace):
        raise TraceError(f"the trace knows no event {' or '.join(sorted(missing))}")
    names = *_needed({f.name for f in trace.formats.values()}), WAKEUPS[1]
    for event in trace.formats.values():
        if event.name in names:
            decoder_of(event)
    return names


def decoder_of(event: Format) -> Decoder:
    """A function that decodes the record of a switch, to the fields SWITCHED, or of a wakeup, to the pid."""
    return decoder(event, SWITCHED, ("prev_comm", "next_comm")) if event.name == SWITCH else decoder(event, ("pid",))


def edges(starts: Iterable[int], ends: Iterable[int]) -> Iterator[tuple[int, int]]:
    """How many of the intervals from @starts to @ends there are: (time, number) of each time at which it changes."""
    changes = Counter(starts)
    changes.subtract(ends)
    level = 0
    for time, change in sorted(changes.items()):
        if change:
            level += change
            yield time, level


class Timeline:
    """All runs and waits of @source, a trace of Fairground or of Linux, or its path."""

    def __init__(self, source: str | os.PathLike[str] | TraceFile) -> None:
        self.runs = Runs(array("q"), array("q"), array("q"), array("q"))
        self.waits = Waits(array("q"), array("q"), array("q"), array("b"))
        self.comms: dict[int, str] = {}
        self.priorities: dict[int, int] = {}  # of the last switch: 120 is nice 0, below 100 are real-time tasks
        self.begin = self.end = 0
        self.unfinished = 0                   # waits that do not end in the trace
        self.wakeups = 0
        self.unknown = 0                      # waits after a sleep that the trace does not tell
        with damage(TraceError, DAMAGED):
            trace = source if isinstance(source, TraceFile) else TraceFile(source)
            self.cpus, self.about, self.lost = trace.cpus, trace.about, trace.lost()
            self._read(trace)

    def _read(self, trace: TraceFile) -> None:
        names_of_events = events_of(trace)
        formats = {f.name: f for f in trace.formats.values() if f.name in names_of_events}
        states, spans = TaskStates(), trace.spans()
        self.begin = min((first for first, _ in spans.values()), default=0)
        self.end = max((last for _, last in spans.values()), default=0)
        # The task that a CPU's first switch replaces had run since the begin, unless older events of the CPU are lost.
        begins = {cpu: first if self.lost else self.begin for cpu, (first, _) in spans.items()}
        names: dict[int, bytes] = {}
        for time, cpu, values in self._events(trace, formats):
            if len(values) == 1:
                states.wakeup(time, values[0])
                self.wakeups += 1
                continue
            prev, prev_comm, prev_prio, state, following, comm, prio = values
            since, wait = states.switch(time, cpu, prev, state, following)
            since = begins.pop(cpu, since)
            if prev:
                names[prev], self.priorities[prev] = prev_comm, prev_prio
                if since is not None:
                    self._ran(cpu, prev, since, time)
            if following:
                names[following], self.priorities[following] = comm, prio
                if wait:
                    self._waited(following, wait[0], time, wait[1])
        self.comms = trace.comms() | {pid: text_of(raw) for pid, raw in names.items()}
        self.unknown = states.unknown
        self._finish(states)

    def _events(self, trace: TraceFile, formats: dict[str, Format]) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
        """(time, CPU, fields) of all switches and wakeups."""
        decode = {of.id: decoder_of(of) for of in formats.values()}
        for event in trace.events(formats):
            yield event.time, event.cpu, decode[event.format.id](event.data)

    def _ran(self, *row: int) -> None:
        for column, value in zip(self.runs, row):
            column.append(value)

    def _waited(self, *row: int) -> None:
        for column, value in zip(self.waits, row):
            column.append(value)

    def _finish(self, states: TaskStates) -> None:
        """At the end of the trace some tasks run and others wait."""
        for cpu, (pid, since) in states.running.items():
            if pid:
                self._ran(cpu, pid, since, self.end)
        for pid, (since, woken) in states.waiting().items():
            self._waited(pid, since, self.end, woken)
            self.unfinished += 1

    def untold(self) -> list[str]:
        """What the trace does not tell of who ran and waited, a sentence each."""
        return [text for text in (lost_text(self.lost), no_wakeups(self.wakeups, self.unknown)) if text]

    def label(self, pid: int) -> str:
        return f"{self.comms.get(pid, '?')}-{pid}"
