# SPDX-License-Identifier: GPL-2.0-only
"""CFS of Linux 6.1 on one CPU: slices, granularity, and hogs that take turns."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from arithmetic import MS, Load, calc_delta, of_nice, of_sum, virtual


@dataclass
class Tunables:
    latency: int = 6 * MS
    min_granularity: int = 750_000
    base_slice: bool = True  # the feature BASE_SLICE: a slice is at least the granularity


def slice_of(load: Load, queue: list[Load], tunables: Tunables) -> int:
    """The slice of an entity that is one of @queue."""
    stretch = -(-tunables.latency // tunables.min_granularity)
    period = len(queue) * tunables.min_granularity if len(queue) > stretch else tunables.latency
    share = calc_delta(period, load.stored, of_sum(sum(each.stored for each in queue)))
    return max(share, tunables.min_granularity) if tunables.base_slice else share


def granularity(woken: Load, wakeup_granularity: int = MS) -> int:
    """How far to the left a woken task must be to preempt, in its own virtual time."""
    return virtual(wakeup_granularity, woken)


@dataclass
class Hog:
    """A task that never sleeps."""

    name: str
    load: Load
    v: int = 0
    ran: int = 0  # since it was last picked


@dataclass
class Step:
    """The state after a tick. `following` is the task that runs next."""

    ran: str
    v: dict[str, int]
    min_v: int
    following: str


@dataclass
class Queue:
    """One CPU. `waiting` is in order of virtual time, equal tasks in the order in which they came."""

    tick: int
    running: Hog
    waiting: list[Hog]
    tunables: Tunables = field(default_factory=Tunables)
    min_v: int = 0

    def insert(self, hog: Hog) -> None:
        at = sum(other.v <= hog.v for other in self.waiting)
        self.waiting.insert(at, hog)

    def is_over(self) -> bool:
        """Does the running task's turn end with this tick?"""
        ideal = slice_of(self.running.load, [hog.load for hog in (self.running, *self.waiting)], self.tunables)
        if self.running.ran > ideal:
            return True
        return self.running.ran >= self.tunables.min_granularity and self.running.v - self.waiting[0].v > ideal

    def step(self) -> Step:
        hog = self.running
        hog.v += virtual(self.tick, hog.load)
        hog.ran += self.tick
        self.min_v = max(self.min_v, min(hog.v, self.waiting[0].v))
        if self.is_over() and self.waiting[0].v <= hog.v:
            self.running = self.waiting.pop(0)
            self.insert(hog)
            self.running.ran = 0
        all_of_them = sorted((self.running, *self.waiting), key=lambda each: each.name)
        return Step(hog.name, {each.name: each.v for each in all_of_them}, self.min_v, self.running.name)


def hogs(hz: int, nices: dict[str, int]) -> Iterator[Step]:
    """Hogs that are queued in this order, all at 0; the first runs."""
    first, *others = (Hog(name, of_nice(nice)) for name, nice in nices.items())
    queue = Queue(1000 * MS // hz, first, others)
    while True:
        yield queue.step()
