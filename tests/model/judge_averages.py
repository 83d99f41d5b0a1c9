#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge load averages in a file of decisions, by their definition: in 32 periods they go half of the way.

When each task was runnable is in the records `place` and `leave`. From that alone its load at any time follows, in real
numbers: weight times the part of the time in which it was runnable, a moment counting half as much as one that is 32
periods of 2^20 ns later. A placement tells the load of the wakee, and of each CPU: the sum over all tasks whose load is
there. An average is computed when a period ends, so what is told held at some time since; a busy CPU's since its last
tick. The margin is a period's change, 2.2 %, for sums in whole periods, and 2 for each task for rounding.

Judged are wakeups in runs without groups. A CPU that idles is not: nobody brings its load up to date.

Usage: judge_averages.py FILE... [--hz N]    exits 1 if a load is wrong
"""

import bisect
import pathlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

import judging
from judging import Key, Verdict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from fairground.decision_kinds import read  # noqa: E402
from fairground.decisions import Decision  # noqa: E402
from fairground.placements import WAKES, Flag, Placement  # noqa: E402

PERIOD_NS = 1 << 20
HALF_LIFE_NS = 32 * PERIOD_NS
MARGIN, ROUNDING = 1 / 45, 2.0
RIGHT, NOT_JUDGED = "", None


@dataclass
class Task:
    """What a task did: from each time on it was runnable or not, and the part that its load had then."""

    weight: int
    cpu: int
    known: bool  # from its start on
    times: list[int] = field(default_factory=list)
    parts: list[tuple[float, bool]] = field(default_factory=list)

    def part(self, now: int) -> float:
        """The average part of the time that it was runnable, at @now."""
        at = max(bisect.bisect_right(self.times, now) - 1, 0)
        part, runnable = self.parts[at]
        kept = 2.0 ** (-max(now - self.times[at], 0) / HALF_LIFE_NS)
        return part * kept + (1 - kept) * runnable

    def becomes(self, now: int, runnable: bool) -> None:
        part = self.part(now) if self.times else 1.0  # a new task counts as if it had always been runnable
        self.times.append(now)
        self.parts.append((part, runnable))

    def range(self, since: int, now: int) -> tuple[float, float]:
        """The least and the greatest load from @since to @now. Between changes it only rises or only falls."""
        changes = self.times[bisect.bisect_left(self.times, since):bisect.bisect_right(self.times, now)]
        loads = [self.weight * self.part(time) for time in (since, *changes, now)]
        return min(loads), max(loads)


class Court:
    """The tasks of a run. Loads of CPUs are judged if @all_told: no task ended, or began before the file."""

    def __init__(self, hz: int, all_told: bool = True) -> None:
        self.all_told = all_told
        self.tick_ns = 1_000_000_000 // hz
        self.tasks: dict[int, Task] = {}
        self.groups = False

    def note(self, d: Decision) -> None:
        """A task enters a queue, or leaves one."""
        if d.subject_group or d.group:
            self.groups = True
            return
        if d.kind == "place":
            new = d.pid not in self.tasks
            task = self.tasks.setdefault(d.pid, Task(d.weight, d.cpu, d.rule == "arrives_new" or not new))
            if d.rule == "arrives_absent":  # placed before it starts
                return
            task.known |= d.rule == "arrives_new"
            task.weight, task.cpu = d.weight, d.cpu
            task.becomes(d.time, True)
        elif d.pid in self.tasks:
            self.tasks[d.pid].becomes(d.time, False)

    def judge(self, d: object) -> Verdict:
        """Why the loads of the placement @d are wrong; "" if they are right; None if no rule covers it."""
        if isinstance(d, Decision):
            if d.kind in ("place", "leave"):
                self.note(d)
            return NOT_JUDGED
        if not isinstance(d, Placement) or not d.why & WAKES or self.groups:
            return NOT_JUDGED
        task = self.tasks.get(d.pid)
        if not task or not task.known:
            return NOT_JUDGED
        slept = task.times[-1]  # its load is brought up to date when it enters a queue, which is after this
        verdict = self.compare(f"the load of {d.comm}-{d.pid} is", d.load, [task], slept - PERIOD_NS, slept)
        for cpu in d.cpus if self.all_told else ():
            if not verdict and not cpu.has(Flag.IDLE) and cpu.nr_running:
                there = [t for t in self.tasks.values() if t.cpu == cpu.of_cpu]
                since = d.time - self.tick_ns - PERIOD_NS
                verdict = self.compare(f"the load of CPU {cpu.of_cpu} is", cpu.load, there, since, d.time)
        return verdict

    def compare(self, what: str, told: int, tasks: list[Task], since: int, now: int) -> Verdict:
        ranges = [task.range(since, now) for task in tasks]
        margin = sum(ROUNDING + task.weight * MARGIN for task in tasks)
        low, high = sum(low for low, _ in ranges), sum(high for _, high in ranges)
        if low - margin <= told <= high + margin:
            return RIGHT
        return f"{what} {told}; by definition it is from {low:.0f} to {high:.0f}"


def judged(path: str, court: Court) -> Iterator[tuple[Key, str, Verdict]]:
    """(what is judged, when, verdict) of each placement."""
    for d in read(path):
        verdict = court.judge(d)
        if isinstance(d, Placement):
            yield ("load",), f"{d.time / 1e6:.6f} ms", verdict


def main() -> int:
    return judging.main(__doc__, {"of": 10}, lambda path, a: judging.count(path, judged(path, Court(a.hz))))


if __name__ == "__main__":
    sys.exit(main())
