# SPDX-License-Identifier: GPL-2.0-only
"""EEVDF of Linux 6.12 on one CPU: lag and what becomes of it, and hogs that take turns by deadlines."""

from collections.abc import Iterator
from dataclasses import dataclass

from arithmetic import MS, Load, down, of_nice, quotient, virtual


def inflated(lag: int, resident: int, weight: int) -> int:
    """How far left of V an entity is placed so that it has @lag once it counts itself; @resident: the others' weight.

    Its arrival moves V towards it by weight / (resident + weight) of the distance.
    """
    return quotient(lag * (resident + weight), resident)


def realised(left: int, resident: int, weight: int) -> int:
    """The lag of an entity placed @left of V, once it is part of the mean."""
    return quotient(left * resident, resident + weight)


def limit(slice_ns: int, tick_ns: int, load: Load) -> int:
    """The most lag that is kept: two requests, or a tick."""
    return virtual(max(2 * slice_ns, tick_ns), load)


def reweighted(now: int, v: int, deadline: int, most: int, old: int, new: int) -> tuple[int, int]:
    """(v, deadline) after a change of weight that leaves V, which is @now, where it is."""
    lag = max(-most, min(most, now - v))
    return now - quotient(lag * old, new), now + quotient((deadline - now) * old, new)


@dataclass
class Hog:
    """A task that never sleeps."""

    name: str
    load: Load
    slice_ns: int
    v: int = 0
    deadline: int = 0

    @property
    def weight(self) -> int:
        return down(self.load.stored)


@dataclass
class Step:
    """The state after a tick. `eligible` has the names of the eligible tasks, `following` the task that runs next."""

    asked: bool
    now: int
    v: dict[str, int]
    deadline: dict[str, int]
    eligible: str
    following: str


class Queue:
    """The waiting tasks in order of deadlines, equal ones in the order in which they came, and the running one.

    Nothing breaks into the request with which a task comes to run. In a later one it is replaced when it has had more
    than its share.
    """

    def __init__(self, tick_ns: int, hogs: list[Hog]) -> None:
        self.tick_ns = tick_ns
        self.all = hogs
        self.waiting: list[Hog] = []
        for hog in hogs:  # new tasks ask for half a slice first
            hog.deadline = hog.v + virtual(hog.slice_ns, hog.load) // 2
            self.insert(hog)
        self.running = self.waiting.pop(0)
        self.protected = True

    def insert(self, hog: Hog) -> None:
        at = sum(other.deadline <= hog.deadline for other in self.waiting)
        self.waiting.insert(at, hog)

    def now(self) -> int:
        """V: the weighted mean of all, rounded down."""
        return sum(hog.v * hog.weight for hog in self.all) // sum(hog.weight for hog in self.all)

    def eligible(self, hog: Hog) -> bool:
        """Is it owed something? By the exact sum, not by the rounded mean."""
        return sum((other.v - hog.v) * other.weight for other in self.all) >= 0

    def pick(self) -> Hog:
        """The earliest deadline of those eligible; the running one only if its own is strictly earlier."""
        best = next((hog for hog in self.waiting if self.eligible(hog)), None)
        mine = self.running if self.eligible(self.running) else None
        if best and (not mine or best.deadline <= mine.deadline):
            return best
        return mine or self.waiting[0]

    def step(self) -> Step:
        hog = self.running
        hog.v += virtual(self.tick_ns, hog.load)
        asked = hog.v >= hog.deadline or not (self.protected or self.eligible(hog))
        if hog.v >= hog.deadline:  # the request is done; the next one begins here
            hog.deadline = hog.v + virtual(hog.slice_ns, hog.load)
            self.protected = False
        if asked:
            chosen = self.pick()
            if chosen is not hog:
                self.waiting.remove(chosen)
                self.insert(hog)
                self.running = chosen
                self.protected = True
        return Step(asked, self.now(), {each.name: each.v for each in self.all},
                    {each.name: each.deadline for each in self.all},
                    "".join(each.name for each in self.all if self.eligible(each)), self.running.name)


def hogs(hz: int, tasks: list[tuple[str, int, int]]) -> Iterator[Step]:
    """Hogs (name, nice value, slice in ns) that all start at 0."""
    queue = Queue(1000 * MS // hz, [Hog(name, of_nice(nice), slice_ns) for name, nice, slice_ns in tasks])
    while True:
        yield queue.step()


def first(tasks: list[tuple[str, int, int]]) -> str:
    """The task that is picked first."""
    return Queue(MS, [Hog(name, of_nice(nice), slice_ns) for name, nice, slice_ns in tasks]).running.name
