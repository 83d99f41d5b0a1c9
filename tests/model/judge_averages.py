#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge load averages in a file of decisions, by their definition: in 32 periods they go half of the way.

When each task was runnable is in the records `place` and `leave`. From that alone its load at any time follows, in real
numbers: weight times the part of the time in which it was runnable, a moment counting half as much as one that is 32
periods of 2^20 ns later. A sleeper that EEVDF leaves queued is runnable until it leaves. A placement tells the load of
the wakee, and of each CPU: the sum over all tasks whose load is there. An average is computed when a period ends, so
what is told held at some time since; a busy CPU's since its last tick. The margin is a period's change, 2.2 %, for sums
in whole periods, and 2 for each task for rounding. A task that changes its CPU takes along the average of the last end
of a period, and begins another one there. So each move may lose the time since, a period at most, or since the move
before; what was lost so far is added to the margin, and fades as a load does. The load of a task that may have lost a
quarter is not judged.

No record tells that a task ended, and with it its load goes. So a sleeper of which the file tells no more may have any
part of its load: the file is heard to its end first.

Judged are wakeups in runs without groups. A CPU that idles is not: nobody brings its load up to date. Nor are CPUs of a
run that began before the file: tasks that the file does not name may have a load there. A weight that changes while a
task sleeps is in no record, so explorations, which do that, are not for this judge. Where clocks of CPUs differ
(`--skew`), the age of a load that moves is not known; where CPUs have operating points (`--opp`), loads grow with
their speed. Of such runs nothing is judged.

Usage: judge_averages.py FILE... [--hz N]    status 1: a load is wrong; 2: not all could be judged
"""

import bisect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from judging import NOT_JUDGED, RIGHT, Finding, Judge, Run, Verdict, main, words_of

from fairground.decisions.class_decisions import ClassDecision
from fairground.decisions.fair_decisions import Decision  # how a file is read is all that is shared
from fairground.decisions.placements import WAKES, Flag, Placement

PERIOD_NS = 1 << 20
HALF_LIFE_NS = 32 * PERIOD_NS
MARGIN, ROUNDING = 1 / 45, 2.0
FEW = 16  # changes that are looked at one by one
NOWHERE = -1  # the load of a task of another class is on no CPU


def kept_after(ns: int) -> float:
    """What is left after @ns."""
    return 2.0 ** (-max(ns, 0) / HALF_LIFE_NS)


class Change(NamedTuple):
    """From @time on."""

    time: int
    part: float  # of the time in which it was runnable, until then
    runnable: bool
    weight: int
    cpu: int
    lost: float  # by how much the average that moved may differ from @part

    def load(self, now: int) -> float:
        return self.weight * self.part_at(now)

    def part_at(self, now: int) -> float:
        kept = kept_after(now - self.time)
        return self.part * kept + (1 - kept) * self.runnable


class Load(NamedTuple):
    """What a task may have contributed: the least and the most."""

    low: float
    high: float
    margin: float


NONE = Load(0, 0, 0)


@dataclass
class Task:
    """What a task did."""

    known: bool  # from its start on
    changes: list[Change] = field(default_factory=list)
    moves: list[tuple[int, int]] = field(default_factory=list)  # from when on it is on which CPU

    def becomes(self, now: int, runnable: bool, weight: int, cpu: int) -> None:
        last = self.changes[-1] if self.changes else None
        if last and last[2:5] == (runnable, weight, cpu):
            return
        part = last.part_at(now) if last else 1.0  # a new task counts as if it had always been runnable
        lost = last.lost * kept_after(now - last.time) if last else 0.0
        if not last or last.cpu != cpu:
            if last:
                lost += 1 - kept_after(min(now - self.moves[-1][0], PERIOD_NS))
            self.moves.append((now, cpu))
        self.changes.append(Change(now, part, runnable, weight, cpu, lost))

    def ended_by(self, time: int) -> bool:
        """May it have ended by then, for all that the file tells?"""
        return not self.changes[-1].runnable and self.changes[-1].time <= time

    def load(self, since: int, now: int) -> Load:
        """From @since to @now."""
        first, end = (bisect.bisect_right(self.changes, time, key=lambda change: change.time) for time in (since, now))
        then = self.changes[max(first - 1, 0):end]
        if not then:
            return NONE
        most = max(change.weight for change in then)
        margin = ROUNDING + most * (MARGIN + max(change.lost for change in then))
        if not self.known:
            return Load(0, most, margin)
        if len(then) <= FEW:  # between changes a load only rises or only falls
            loads = [change.load(time) for change, end in zip(then, [*(c.time for c in then[1:]), now], strict=True)
                     for time in (max(change.time, since), end)]
            return Load(min(loads), max(loads), margin)
        part, kept = then[-1].part_at(now), kept_after(now - since)  # what it was decayed, and no more
        least = min(change.weight for change in then)                               # than the time since was added
        return Load(least * max(0.0, part - (1 - kept)), most * min(1.0, part / kept), margin)

    def load_on(self, cpu: int, since: int, now: int) -> Load:
        """What of it was on @cpu."""
        first, end = (bisect.bisect_right(self.moves, time, key=lambda move: move[0]) for time in (since, now))
        moves = self.moves[max(first - 1, 0):end]
        if all(where != cpu for _, where in moves):
            return NONE
        load = self.load(since, now)
        always = len(moves) == 1 and moves[0][0] < since and not self.ended_by(now)
        return load if always else load._replace(low=0)


@dataclass
class Ended:
    """The loads of tasks that ended on a CPU, for all that is known, together: they fall alike."""

    load: float = 0
    rounding: float = 0
    time: int = 0

    def fall(self, now: int) -> None:
        kept = kept_after(now - self.time)
        self.load, self.rounding, self.time = self.load * kept, self.rounding * kept, max(now, self.time)


class Court:
    """The tasks of a run. It hears all records first; then verdict() is asked about its placements, in their order."""

    def __init__(self, hz: int, all_told: bool = True) -> None:
        """@all_told: the loads of CPUs are judged if each task is known from its start on."""
        self.all_told = all_told
        self.tick_ns = 1_000_000_000 // hz
        self.tasks: dict[int, Task] = {}
        self.groups = False
        self.placements: list[Placement] = []
        self.wakees: list[tuple[Task | None, int]] = []  # of each placement, and the number of its changes then
        self.everybody: list[Task] = []  # by the time of their beginnings
        self.asked = self.begun = 0
        self.active: list[Task] = []
        self.ended: dict[int, Ended] = {}

    # --- hearing ------------------------------------------------------------------------------------------------------

    def hear(self, d: object) -> None:
        if isinstance(d, Decision):
            self.note(d)
        elif isinstance(d, ClassDecision) and d.kind == "enter":
            self.leaves_class(d)
        elif isinstance(d, Placement):
            task = self.tasks.get(d.pid)
            self.all_told &= task is not None
            self.placements.append(d)
            self.wakees.append((task, len(task.changes) if task else 0))

    def note(self, d: Decision) -> None:
        """A task enters a queue, leaves one, or has another weight."""
        if d.subject_group or d.group:
            self.groups = True
        if self.groups or not d.pid:
            return
        if d.rule in ("arrives_new", "arrives_absent"):
            self.begin(d)
            return
        if d.pid not in self.tasks:
            self.all_told = False
        task = self.tasks.setdefault(d.pid, Task(False))
        last = task.changes[-1] if task.changes else None
        if d.kind in ("place", "leave"):
            task.known &= not last or last.cpu != NOWHERE
            self.change(task, d.time, d.kind == "place" or bool(d.answer), d.weight, d.cpu)
        elif last and last.cpu != NOWHERE:
            self.change(task, d.time, last.runnable, d.weight, last.cpu)

    def begin(self, d: Decision) -> None:
        """A task is new; before it starts it may be placed without being queued."""
        task = self.tasks.get(d.pid)
        if not task or task.changes and d.rule == "arrives_new":  # the pid has a new owner
            task = self.tasks[d.pid] = Task(True)
        if d.rule == "arrives_new":
            self.change(task, d.time, True, d.weight, d.cpu)

    def change(self, task: Task, now: int, runnable: bool, weight: int, cpu: int) -> None:
        if not task.changes:
            self.everybody.append(task)
        task.becomes(now, runnable, weight, cpu)

    def leaves_class(self, d: ClassDecision) -> None:
        """A task of another class has no fair load, and with what it comes back no record tells."""
        task = self.tasks.get(d.pid)
        if task and task.changes:
            task.becomes(d.time, False, task.changes[-1].weight, NOWHERE)

    # --- judging ------------------------------------------------------------------------------------------------------

    def verdict(self, d: Placement) -> Verdict:
        """Why the loads of the next placement @d are wrong; "" if they are right; None if no rule covers it."""
        task, nr = self.wakees[self.asked]
        self.asked += 1
        if not d.why & WAKES or self.groups:
            return NOT_JUDGED
        verdict = self.judge_wakee(d, task, nr)
        if self.all_told:
            self.follow(d.time)
            for cpu in d.cpus:
                if verdict == RIGHT and not cpu.has(Flag.IDLE) and cpu.nr_running:
                    verdict = self.judge_cpu(d.time, cpu.of_cpu, cpu.load)
        return verdict

    def follow(self, now: int) -> None:
        """Tasks that began are active; those that ended a while ago are no longer."""
        while self.begun < len(self.everybody) and self.everybody[self.begun].changes[0].time <= now:
            self.active.append(self.everybody[self.begun])
            self.begun += 1
        since = self.since(now)
        for task in [task for task in self.active if task.ended_by(since)]:
            self.active.remove(task)
            last = task.changes[-1]
            ended = self.ended.setdefault(last.cpu, Ended())
            ended.fall(since)
            ended.load += last.load(since) if task.known else last.weight
            ended.rounding += ROUNDING

    def since(self, now: int) -> int:
        """A busy CPU's load was brought up to date since then."""
        return now - self.tick_ns - PERIOD_NS

    def judge_wakee(self, d: Placement, task: Task | None, nr: int) -> Verdict:
        last = task.changes[nr - 1] if task and nr else None
        if not task or not task.known or not last or last.runnable or last.cpu == NOWHERE:
            return NOT_JUDGED
        if last.lost > 1 / 4:
            return NOT_JUDGED
        # Its load is brought up to date when it enters a queue, which is after this.
        load = Task(True, task.changes[max(nr - FEW, 0):nr]).load(last.time - PERIOD_NS, last.time)
        return self.compare(f"the load of {d.comm}-{d.pid} is", d.load, load)

    def judge_cpu(self, now: int, cpu: int, told: int) -> Verdict:
        since = self.since(now)
        loads = [task.load_on(cpu, since, now) for task in self.active]
        ended = self.ended.get(cpu, Ended())
        ended.fall(since)
        low, high, margin = (sum(load[i] for load in loads) for i in range(3))
        return self.compare(f"the load of CPU {cpu} is", told, Load(
            low, high + ended.load, margin + ended.load * MARGIN + ended.rounding))

    @staticmethod
    def compare(what: str, told: int, load: Load) -> Verdict:
        if load.low - load.margin <= told <= load.high + load.margin:
            return RIGHT
        return f"{what} {told}; by definition it is from {load.low:.0f} to {load.high:.0f}"


class AveragesJudge(Judge):
    """Judges the loads that wakeups tell."""

    kinds = (Decision, Placement, ClassDecision)

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.court = Court(run.hz)
        self.unknown = not {"--skew", "--opp"}.isdisjoint(str(run.header.get("command", "")).split())

    def judge(self, d: Decision | Placement | ClassDecision) -> Iterator[Finding]:
        self.court.hear(d)
        return iter(())

    def end(self) -> Iterator[Finding]:
        for d in self.court.placements:
            verdict = self.court.verdict(d)
            yield ("load", "wakeup" if d.why & WAKES else "start"), words_of(d), NOT_JUDGED if self.unknown else verdict


if __name__ == "__main__":
    sys.exit(main(__doc__, AveragesJudge))
