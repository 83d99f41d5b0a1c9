# SPDX-License-Identifier: GPL-2.0-only
"""Each task of a trace as a program: how long it ran, why it slept, which tasks it woke and forked (docs/replay.md).

A trace says when a task had a CPU; a program says how much work lies between two sleeps, whatever the CPU. So the runs
between two sleeps are one step, preempted or not. A sleep ends by another task, or by an interrupt, as of a timer.
"""

import itertools
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..base.errors import damage
from ..machine.image import DAMAGED, Event, TraceError, text_of
from .records import decoder
from .timeline import SLEEPS, SWITCH, SWITCHED, WAKEUPS, WAKING
from .tracefile import TraceFile, lost_number

IN_INTERRUPT = 0x18  # bits of an event's flags: a hardware interrupt, a soft one
PARTS_OF_A_TICK, SURE = 100, 0.1  # the least part of all preemptions
FEW, REGULAR = 4, 0.05  # so many sleeps at least, and how far they may spread
Row = tuple[Event, tuple[Any, ...]]  # and its fields: those of a switch, or the pid alone
SIMULATOR = "schedsim "
BY_TASK, BY_INTERRUPT, BY_UNKNOWN = "a task", "an interrupt", "nothing that is recorded"


class Step(NamedTuple):
    """A part of a program."""

    kind: str    # run, sleep: @value ns; take: wait for a post; post, fork: the task @value; priority: it is @value now
    value: int
    at: int = 0  # sleep: the time at which it ended


@dataclass
class Task:
    """A task of a trace. A pid that is used again is another task."""

    number: int
    pid: int
    comm: str = "?"
    priority: int | None = None  # the first that is told, the kernel's: 120 is nice 0, below 100 is real time
    begin: int | None = None     # when it first wants a CPU; None: another task forks it
    runs_on: bool = False        # at the end it has a CPU, or waits for one
    steps: list[Step] = field(default_factory=list)


class _Take(NamedTuple):
    """A sleep that a task ended, if its wakeup was no interrupt's."""

    place: int  # in the steps of the sleeper
    ns: int
    at: int
    waker: "_Follower"
    post: int   # its place in the steps of the waker


class _Follower(Task):
    """A task while the trace is read."""

    asleep: int | None = None  # since when
    since: int | None = None   # when it got its CPU, or was last charged
    ran: int = 0               # ns since the last step
    early: bool = False        # it was woken before it slept
    place: int = 0             # here in its steps
    now: int | None = None     # its priority
    waker: "_Follower | None" = None  # by this task, if it was one, whose post stands

    def add(self, kind: str, value: int = 0, at: int = 0) -> None:
        """A step, after the work done until now."""
        if self.ran:
            self.steps.append(Step("run", self.ran))
            self.ran = 0
        self.steps.append(Step(kind, value, at))

    def charge(self, time: int) -> None:
        """It has run until @time."""
        if self.since is not None:
            self.ran += time - self.since
            self.since = time

    def forget_early(self) -> None:
        """It did not sleep after all: the wakeup that came while it ran was for nothing."""
        if self.early and self.waker:
            self.waker.steps[self.place] = Step("run", 0)
        self.early, self.waker = False, None


@dataclass
class Behaviour:
    """All tasks of a trace, from @begin to @end in ns. A task's number is its place among them."""

    begin: int
    end: int
    cpus: int
    about: str
    tasks: list[Task]
    ends: "Counter[str]"  # sleeps by what ended them
    preempted: list[int]  # times at which a task lost its CPU to another while it wanted it
    tells_interrupts: bool  # False: a perf.data, whose sleeps by timers are a guess

    def tick_phase(self, tick_ns: int) -> int:
        """The time after multiples of @tick_ns at which ticks come: when most preemptions do, to a hundredth of it. 0
        if they come at any time, and in the simulator."""
        parts = Counter(time % tick_ns * PARTS_OF_A_TICK // tick_ns for time in self.preempted)
        most, nr = max(parts.items(), key=lambda item: item[1], default=(0, 0))
        if self.about.startswith(SIMULATOR) or nr < FEW or nr < SURE * len(self.preempted):
            return 0
        return min(time % tick_ns for time in self.preempted if time % tick_ns * PARTS_OF_A_TICK // tick_ns == most)


class _Reader:
    """Follows the events of a trace that begins at @begin."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.tasks: list[_Follower] = []
        self.by_pid: dict[int, _Follower] = {}
        self.on: dict[int, int] = {}  # cpu -> pid
        self.ends: Counter[str] = Counter()
        self.preempted: list[int] = []
        self.takes: dict[int, list[_Take]] = {}  # by the sleeper's number

    def new(self, pid: int, begin: int | None) -> _Follower:
        task = self.by_pid[pid] = _Follower(len(self.tasks), pid, begin=begin)
        self.tasks.append(task)
        return task

    def running(self, cpu: int, pid: int, time: int) -> _Follower | None:
        """The task @pid, which runs on @cpu, charged until @time. None: that CPU idles, or another task runs there."""
        if not pid or self.on.setdefault(cpu, pid) != pid:
            return None
        task = self.by_pid.get(pid)
        if not task:
            task = self.new(pid, self.begin)
            task.since = self.begin
        task.charge(time)
        return task

    def switch(self, time: int, cpu: int, prev: int, state: int, following: int) -> None:
        if leaves := self.running(cpu, prev, time):
            leaves.since = None
            if state & SLEEPS:
                leaves.asleep = time
            else:
                leaves.forget_early()
                if following:
                    self.preempted.append(time)
        self.on[cpu] = following
        if following:
            comes = self.by_pid.get(following) or self.new(following, self.begin)
            if comes.asleep is not None:
                self.end_sleep(comes, time, comes.early, comes.waker, comes.place)
            comes.forget_early()
            comes.since = time

    def end_sleep(self, task: _Follower, time: int, told: bool, waker: _Follower | None, post: int) -> None:
        """@task was woken at @time; @told: that is recorded. By @waker, whose step @post that is, or by no task."""
        assert task.asleep is not None
        self.ends[BY_TASK if waker else BY_INTERRUPT if told else BY_UNKNOWN] += 1
        slept = time - task.asleep
        if waker:
            task.add("take")
            self.takes.setdefault(task.number, []).append(_Take(len(task.steps) - 1, slept, time, waker, post))
        else:
            task.add("sleep", slept, time)
        task.asleep, task.early, task.waker = None, False, None

    def wake(self, event: Event, pid: int) -> None:
        """@pid is woken, by the task that runs where @event is recorded or by an interrupt there."""
        waker = None if event.flags & IN_INTERRUPT else self.running(event.cpu, event.pid, event.time)
        task = self.by_pid.get(pid)
        if not task:  # it had slept since before the trace
            task = self.new(pid, self.begin if waker else event.time)
            task.asleep = self.begin if waker else None
        place = 0
        if waker:
            waker.add("post", task.number)
            place = len(waker.steps) - 1
        if task.asleep is not None:
            self.end_sleep(task, event.time, True, waker, place)
        elif task.since is not None:
            task.early, task.waker, task.place = True, waker, place

    def born(self, event: Event, pid: int) -> None:
        parent = None if event.flags & IN_INTERRUPT else self.running(event.cpu, event.pid, event.time)
        child = self.new(pid, None if parent else event.time)
        if parent:
            parent.add("fork", child.number)

    def name(self, pid: int, comm: bytes, priority: int) -> None:
        """What a switch tells of the task @pid, which has been seen."""
        if not pid:
            return
        task = self.by_pid[pid]
        task.comm = text_of(comm)
        if task.priority is None:
            task.priority = task.now = priority
        elif priority != task.now:
            task.add("priority", priority)
            task.now = priority

    def guess_timers(self) -> None:
        """Of a trace that does not tell interrupts: a task whose sleeps are all alike has a timer, unless it wakes
        those as often in whose time it was woken."""
        for number, takes in self.takes.items():
            wakers = {take.waker.number for take in takes}
            answers = sum(step.kind == "post" and step.value in wakers for step in self.tasks[number].steps)
            if len(takes) < FEW or 2 * answers > len(takes) or spread([take.ns for take in takes]) > REGULAR:
                continue
            for take in takes:
                self.tasks[number].steps[take.place] = Step("sleep", take.ns, take.at)
                take.waker.steps[take.post] = Step("run", 0)
            self.ends.update({BY_TASK: -len(takes), BY_INTERRUPT: len(takes)})

    def finish(self, end: int) -> None:
        for task in self.tasks:
            task.charge(end)
            task.runs_on = task.asleep is None
            if task.ran:
                task.steps.append(Step("run", task.ran))


def spread(values: Sequence[int]) -> float:
    """The mean distance of @values from their median, as a part of it."""
    middle = statistics.median(values)
    return float(statistics.fmean(abs(value - middle) for value in values) / middle) if middle else 0.0


def _events(trace: TraceFile) -> Iterator[Row]:
    """Each event that counts, with its fields. The waker is told by sched_waking, which is recorded where the waker
    runs; sched_wakeup may come from another CPU."""
    names = {f.name for f in trace.formats.values()}
    wakeup = WAKING if WAKING in names else WAKEUPS[0]
    if missing := {SWITCH, wakeup} - names:
        raise TraceError(f"the trace knows no event {' or '.join(sorted(missing))}")
    wanted = (SWITCH, wakeup, WAKEUPS[1])
    decode = {of.id: decoder(of, SWITCHED, ("prev_comm", "next_comm")) if of.name == SWITCH else decoder(of, ("pid",))
              for of in trace.formats.values() if of.name in wanted}
    for event in trace.events(wanted):
        yield event, decode[event.format.id](event.data)


def _by_cause(rows: Sequence[Row]) -> Iterator[Row]:
    """@rows of one moment, in the order of CPUs: a task is woken or born before it gets a CPU, and each CPU keeps its
    order."""
    left: dict[int, list[Row]] = {}
    for row in rows:
        left.setdefault(row[0].cpu, []).append(row)
    while left:
        woken = {queued[1][0]: cpu for cpu, queue in left.items() for queued in queue if len(queued[1]) == 1}
        ready = next((cpu for cpu, queue in left.items()
                      if len(queue[0][1]) == 1 or woken.get(queue[0][1][4], cpu) == cpu), min(left))
        yield left[ready].pop(0)
        if not left[ready]:
            del left[ready]


def _in_order(rows: Iterator[Row]) -> Iterator[Row]:
    """@rows, in order of time: causes before their effects also where the clock does not tell them apart."""
    for _, moment in itertools.groupby(rows, key=lambda row: row[0].time):
        of_moment = list(moment)
        yield from of_moment if len(of_moment) == 1 else _by_cause(of_moment)


def behaviour(trace: TraceFile) -> Behaviour:
    """The tasks of @trace as programs. TraceError if it does not tell enough for that."""
    if lost := trace.lost():
        raise TraceError(f"{lost_number(lost)}: record it with larger rings, or fewer events; sched_switch, "
                         "sched_waking and sched_wakeup_new are enough")
    spans = trace.spans().values()
    reader = _Reader(min((first for first, _ in spans), default=0))
    flags = 0
    with damage(TraceError, DAMAGED):
        for event, values in _in_order(_events(trace)):
            flags |= event.flags
            if event.format.name == SWITCH:
                prev, prev_comm, prev_prio, state, following, comm, prio = values
                reader.switch(event.time, event.cpu, prev, state, following)
                reader.name(prev, prev_comm, prev_prio)
                reader.name(following, comm, prio)
            elif event.format.name == WAKEUPS[1]:
                reader.born(event, values[0])
            elif values[0]:
                reader.wake(event, values[0])
    end = max((last for _, last in spans), default=0)
    reader.finish(end)
    if not flags:
        reader.guess_timers()
    if not reader.tasks:
        raise TraceError("no task runs in the trace")
    if not reader.ends[BY_TASK] + reader.ends[BY_INTERRUPT] and reader.ends[BY_UNKNOWN]:
        raise TraceError(f"none of its {reader.ends[BY_UNKNOWN]} sleeps ends by a wakeup that is recorded: record "
                         "sched_waking or sched_wakeup, too")
    return Behaviour(reader.begin, end, trace.cpus, trace.about, list(reader.tasks), reader.ends,
                     reader.preempted, bool(flags))
