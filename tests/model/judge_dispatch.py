# SPDX-License-Identifier: GPL-2.0-only
"""Judge a scheduler of sched_ext from outside: by switches and wakeups, does it keep the rules of lab 13?

A scheduler records nothing of its own. So the vtimes and the times of the queues are computed here again, from when
each task ran and with which nice value; then each switch is right or wrong. Two CPUs may act at the same moment, and
their order is not in the record: what began within `near` ns of a switch is not held against it, and a vtime has a
`slack`, by which it would be another if such a pair had another order.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from arithmetic import WEIGHTS
from judging import NOT_JUDGED, RIGHT, Verdict

SLICE = 5_000_000  # ns
MS = 1_000_000
IDLE = 0           # the pid of every idle task
EXACT = 1_000      # ns; what counts as near in a run whose ticks are never late
URGENT = 100       # a prio below it is of a class that comes before sched_ext
SHARE = 0.02       # a share may differ from that by weight by so much of all


@dataclass(frozen=True)
class Switch:
    """@cpu goes from one task to another; @stays: the first could go on; @ends: it is no more."""

    time: int
    cpu: int
    prev: int
    stays: bool
    following: int
    prio: int       # of @following
    ends: bool = False


@dataclass(frozen=True)
class Wakeup:
    """A task wants a CPU, and is with @cpu."""

    time: int
    cpu: int
    pid: int
    prio: int
    new: bool
    waker: int = -1  # the CPU that wakes it; -1: not told


Event = Switch | Wakeup


@dataclass
class Task:
    """A task, in the numbers of the rules."""

    name: str
    weight: int = 100
    known: bool = False  # its whole life is in the record, and with it its vtime
    vtime: int = 0
    slack: int = 0
    llc: int = 0
    cpu: int = -1        # where it runs, or ran last
    only: int = -1       # the one CPU that it may use; -1: it may use all
    since: int = -1      # since when it waits; -1: it does not
    direct: bool = False  # it waits for one CPU, and in the queue of no cache
    ran: int = 0         # ns


@dataclass
class Queue:
    """The queue of a cache: its time, and which tasks took their vtime from that just now."""

    time: int = 0
    slack: int = 0
    takers: list[tuple[int, Task]] = field(default_factory=list)


def weight_of(prio: int) -> int:
    """The weight of sched_ext, in which nice 0 has 100."""
    nice = min(max(prio - 120, -20), 19)
    return max(1, (WEIGHTS[nice + 20] * 100 + 512) // 1024)


def _on(event: Event) -> int:
    """The CPU that does @event."""
    return event.waker if isinstance(event, Wakeup) else event.cpu


def _stands_too_early(other: Event, event: Event) -> bool:
    """Does @other, of the same moment, stand before @event, though it is the switch to a task that @event wakes, or
    takes from another CPU?
    """
    if not isinstance(other, Switch):
        return False
    if isinstance(event, Wakeup):
        return other.following == event.pid and not other.prev
    return other.following == event.prev != IDLE and event.stays and other.cpu != event.cpu


def _in_order(events: list[Event]) -> list[Event]:
    """@events, in which a switch to a task stands behind its wakeup, and behind the switch in which another CPU lost
    it with all that this CPU did before, of the same moment.
    """
    found: list[Event] = []
    for event in events:
        at = len(found)
        for place in range(len(found) - 1, -1, -1):
            if found[place].time != event.time:
                break
            if _stands_too_early(found[place], event):
                at = place
        later = found[at:]
        before = [other for other in later if isinstance(event, Switch) and _on(other) == event.cpu]
        found[at:] = [*before, event, *(other for other in later if other not in before)]
    return found


class Court:
    """Hears the events of a run in order."""

    def __init__(self, cpus_per_llc: int, hz: int, near: int, names: dict[int, str], first: int = 1,
                 pinned: dict[str, int] | None = None) -> None:
        """@first is the pid of the first task that is judged: those before it began under another scheduler. @pinned
        has the one CPU that all tasks of a name may use.
        """
        self._pinned = pinned or {}
        self._first, self._cpus_per_llc, self._tick, self._near = first, cpus_per_llc, 1_000_000_000 // hz, near
        self._names = names
        self.tasks: dict[int, Task] = {}
        self._queues: dict[int, Queue] = {}
        self._running: dict[int, tuple[int, int]] = {}  # by CPU: (pid, since)
        self._starts: dict[int, list[int]] = {}         # of each task: when it begins to run
        self._ends: dict[int, int] = {}                 # of each task that ends: when
        self._early: dict[int, Wakeup] = {}             # of tasks that run
        self._cut: dict[int, tuple[int, int]] = {}      # by CPU: whose turn a more urgent class cut, after how many ns
        self._before: dict[int, int] = {}               # by CPU: ns of the turn before it was cut, if it goes on
        self._last = 0

    def hear(self, events: list[Event], end: int = 0) -> Iterator[tuple[Event, Verdict]]:
        """Each switch with its verdict, and the end of the run, which is at @end or at the last event."""
        events = _in_order(events)
        for event in events:
            if isinstance(event, Switch) and event.following:
                self._starts.setdefault(event.following, []).append(event.time)
            if isinstance(event, Switch) and event.ends:
                self._ends[event.prev] = event.time
        for event in events:
            self._last = event.time
            if isinstance(event, Wakeup):
                self._wake(event)
            else:
                yield event, self._switch(event)
        for cpu, (pid, since) in sorted(self._running.items()):
            last = Switch(max(self._last, end), cpu, pid, True, pid, 0)
            yield last, self._goes_on_too_long(last, since) if pid else self._idles(last)
            if pid:
                self._task(pid).ran += last.time - since

    # --- the rules' numbers ------------------------------------------------------------------------------

    def _task(self, pid: int) -> Task:
        if pid not in self.tasks:
            name = self._names.get(pid, "a task")
            self.tasks[pid] = Task(f"{name}-{pid}", only=self._pinned.get(name, -1))
        return self.tasks[pid]

    def _queue(self, llc: int) -> Queue:
        return self._queues.setdefault(llc, Queue())

    def _take(self, t: Task, llc: int, at: int) -> None:
        """The vtime of @t was set by the time of queue @llc, at @at."""
        q = self._queue(llc)
        t.slack = max(t.slack, q.slack)
        q.takers = [(then, taker) for then, taker in q.takers if at - then <= self._near] + [(at, t)]

    def _move(self, t: Task, llc: int, at: int) -> None:
        if t.llc != llc:
            t.vtime += self._queue(llc).time - self._queue(t.llc).time
            t.llc = llc
            self._take(t, llc, at)

    def _wake(self, w: Wakeup) -> None:
        t, llc = self._task(w.pid), w.cpu // self._cpus_per_llc
        if t.since >= 0:
            return
        if self._running.get(t.cpu, (IDLE, 0))[0] == w.pid:  # on its way to sleep
            self._early[w.pid] = w
            return
        t.weight = weight_of(w.prio)
        if w.new and w.pid >= self._first:
            t.known, t.llc, t.vtime, t.slack = True, llc, self._queue(llc).time, 0
            self._take(t, llc, w.time)
        self._move(t, llc, w.time)
        floor = self._queue(llc).time - SLICE
        if t.vtime < floor:
            t.vtime, t.slack = floor, 0
            self._take(t, llc, w.time)
        t.direct = self._is_sent(w)
        t.since, t.cpu = w.time, w.cpu

    def _is_sent(self, w: Wakeup) -> bool:
        """Is the task of @w put on a CPU at once? That CPU idled; or the task there is about to sleep, as a writer to a
        pipe says it is, and gives way to what it wakes, for another CPU idles: only then is a busy one chosen.
        """
        taken = {t.cpu for t in self.tasks.values() if t.direct}
        if self._running.get(w.cpu, (IDLE, 0))[0] == IDLE:
            return w.cpu not in taken
        return w.waker == w.cpu and not w.new and any(
            pid == IDLE and cpu not in taken for cpu, (pid, _) in self._running.items())

    def _begin(self, t: Task, s: Switch) -> None:
        llc = s.cpu // self._cpus_per_llc
        self._move(t, llc, s.time)
        t.since, t.direct, t.cpu = -1, False, s.cpu
        self._advance(t, llc, s.time)

    def _advance(self, t: Task, llc: int, at: int) -> None:
        """The time of queue @llc is at least the vtime of @t, which begins to run."""
        q = self._queue(llc)
        if t.known and t.vtime > q.time:
            for then, taker in q.takers:
                if at - then <= self._near and taker is not t:
                    taker.slack += t.vtime - q.time
            q.time, q.slack = t.vtime, t.slack

    def _end(self, t: Task, s: Switch, ran: int) -> None:
        t.vtime += ran * 100 // t.weight
        t.ran += ran
        if s.ends:  # a task that ends is taken out and put back: it begins to run once more
            self._advance(t, s.cpu // self._cpus_per_llc, s.time)
        early = self._early.pop(s.prev, None)
        if s.stays:
            t.since, t.direct, t.llc = s.time, False, s.cpu // self._cpus_per_llc
        elif early and s.time - early.time <= self._near:
            t.cpu = -1
            self._wake(early)

    # --- the rules ------------------------------------------------------------------------------------------

    def _switch(self, s: Switch) -> Verdict:
        prev, since = self._running.get(s.cpu, (IDLE, s.time))
        before = self._before.pop(s.cpu, 0)
        ran = s.time - since + before
        verdict: Verdict = NOT_JUDGED
        if prev == s.prev and prev:
            verdict = self._goes_on_too_long(s, since)
            self._end(self._task(prev), s, s.time - since)
        t = self._task(s.following) if s.following else None
        if t and s.prio < URGENT:
            t = None
            if s.stays:
                self._cut.setdefault(s.cpu, (s.prev, ran))
        elif self._goes_on(s):
            pass
        elif t and not verdict:
            verdict = self._begins(s, t, ran, before > 0)
        elif not s.following and not verdict:
            verdict = self._idles(s)
        if t:
            self._begin(t, s)
        self._running[s.cpu] = s.following, s.time
        return verdict

    def _goes_on(self, s: Switch) -> bool:
        """Does a task go on that a more urgent class has interrupted? It does so without its scheduler, as on Linux."""
        pid, ran = self._cut.pop(s.cpu, (IDLE, 0))
        goes_on = pid == s.following != IDLE
        if goes_on:
            self._before[s.cpu] = ran
        return goes_on

    def _waiting(self, llc: int | None, s: Switch) -> list[Task]:
        """Those of the queue @llc, or of any, that may run where @s is, waited before it and wait after it, whoever was
        first.
        """
        return [t for pid, t in self.tasks.items()
                if t.known and 0 <= t.since < s.time - self._near and not t.direct and pid not in (s.prev, s.following)
                and (llc is None or t.llc == llc) and t.only in (-1, s.cpu) and not self._starts_near(pid, s.time)]

    def _starts_near(self, pid: int, at: int) -> bool:
        starts = self._starts.get(pid, [])
        first = bisect_left(starts, at - self._near)
        return first < len(starts) and starts[first] <= at + self._near

    def _margin(self, *tasks: Task) -> int:
        """By how much a comparison may be wrong: what is not known, and what rounding and reading a clock cost."""
        return sum(t.slack for t in tasks) + 10 * self._near

    def _begins(self, s: Switch, t: Task, ran: int, cut: bool) -> Verdict:
        """@t begins, after an idle task, or one that ran for @ran ns, which a more urgent class may have @cut."""
        idled = self._idled_beside(s, t)
        if idled or not s.prev or not t.known or t.direct or s.prev not in self.tasks or self._is_ending(s):
            return idled or NOT_JUDGED
        prev, llc = self.tasks[s.prev], s.cpu // self._cpus_per_llc
        queue = self._waiting(llc, s)
        if t.llc != llc:
            if s.stays:
                return f"{t.name} was taken from another cache, though {prev.name} could go on"
            if queue:
                return (f"{t.name} was taken from another cache, though {queue[0].name} waited in the queue of "
                        "this one")
            queue = self._waiting(t.llc, s)
        elif s.stays and prev.known and t.vtime - prev.vtime > self._margin(t, prev):
            return (f"{t.name} took over from {prev.name}, whose vtime is {_ms(t.vtime - prev.vtime)} ms less: that "
                    "one goes on")
        for w in queue:
            if t.vtime - w.vtime > self._margin(t, w):
                return (f"{t.name} was taken from the queue, though the vtime of {w.name}, which waited there, is "
                        f"{_ms(t.vtime - w.vtime)} ms less")
        return self._lasted(prev, ran, cut) if s.stays else RIGHT

    def _is_ending(self, s: Switch) -> bool:
        """Does the task that could go on end soon? It was put back, then, as after a sleep, and its slice is over."""
        return s.stays and self._ends.get(s.prev, s.time + 3 * self._near) <= s.time + 2 * self._near

    def _lasted(self, t: Task, ran: int, cut: bool) -> Verdict:
        """@t, which could go on, had a turn of @ran ns: does that end with a slice? Each slice ends at a tick, where
        the next begins, unless a more urgent class @cut the turn.
        """
        whole = -(-SLICE // self._tick) * self._tick  # from tick to tick
        exact = self._near <= EXACT and not cut
        least, most = (whole, whole) if exact else (SLICE, SLICE + self._tick)
        left = ran - SLICE
        further = max(0, left + 2 * self._near) // least
        if -2 * self._near <= left <= further * most + self._tick + 2 * self._near:
            return RIGHT
        return (f"the turn of {t.name} ended after {_ms(ran)} ms: a slice is {_ms(SLICE)} ms, and ends at the next of "
                f"the ticks, which come every {_ms(self._tick)} ms")

    def _goes_on_too_long(self, s: Switch, since: int) -> Verdict:
        """Does one wait that should have had the CPU at the end of a slice of the one that ran since @since?"""
        t = self.tasks.get(s.prev)
        if not t or not t.known:
            return NOT_JUDGED
        for w in self._waiting(s.cpu // self._cpus_per_llc, s):
            begin = max(since, w.since)
            behind = w.vtime - t.vtime - (begin - since) * 100 // t.weight + self._margin(t, w)
            due = begin + max(0, behind) * t.weight // 100 + SLICE + 2 * self._tick
            if s.time > due:
                return (f"{t.name} ran on for {_ms(s.time - due)} ms, though {w.name} waited with a lesser vtime when "
                        "its slice ended")
        return NOT_JUDGED

    def _idles(self, s: Switch) -> Verdict:
        """Does somebody wait, who may run here?"""
        for w in self._waiting(None, s):
            return f"it idles, though {w.name} has waited for {_ms(s.time - w.since)} ms"
        return NOT_JUDGED

    def _idled_beside(self, s: Switch, t: Task) -> str:
        """A sentence if a CPU idled all the while that @t waited; "" if none did."""
        waited = s.time - t.since
        if t.direct and s.prev:
            return ""
        if t.since >= 0 and t.known and waited > 10 * self._near:
            for cpu, (pid, since) in self._running.items():
                if not pid and since < t.since and t.only in (-1, cpu) and (cpu != s.cpu or not s.prev):
                    return f"{t.name} waited for {_ms(waited)} ms, and CPU {cpu} idled all the while: nobody told it"
        return ""

    # --- shares ---------------------------------------------------------------------------------------------

    def shares(self, name: str) -> str:
        """A sentence if the tasks called @name, which never sleep, have not got their shares; "" if they have."""
        tasks = [t for t in self.tasks.values() if t.known and t.name.rpartition("-")[0] == name]
        ran, weights = sum(t.ran for t in tasks), sum(t.weight for t in tasks)
        for t in tasks:
            got, right = t.ran / max(1, ran), t.weight / weights
            if abs(got - right) > SHARE:
                return (f"{t.name} got {100 * got:.1f} % of the time of all {name}s: by weight it is "
                        f"{100 * right:.1f} %")
        return ""


def _ms(ns: int) -> str:
    """In ms: to the us, and what is less than ten of them to the ns."""
    return f"{ns / MS:.{3 if abs(ns) >= 10_000 else 6}f}".rstrip("0").rstrip(".")
