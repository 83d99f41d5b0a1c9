# SPDX-License-Identifier: GPL-2.0-only
"""Why a task waited: who had its CPU meanwhile, and the decision that said so, in the policy's own numbers.

The runs and waits are those of a Timeline, and the decisions those of the same trace, if it has some.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ..base import policies
from ..trace.timeline import Timeline
from .class_decisions import SHAPES as CLASS_SHAPES, ClassDecision, Task, sentence as class_sentence
from .fair_decisions import SHAPES as FAIR_SHAPES, Candidate, Decision, Flag, difference, sentence
from .fair_text import ms
from .policy_numbers import due, lags

SHAPES = (*FAIR_SHAPES, *CLASS_SHAPES)
REAL_TIME, DEADLINE = 100, 0  # priorities: below the first they are real-time tasks, below the second have deadlines
NEAR = 200_000                # ns: a kernel decides so shortly before it switches, and looks at the clock in between

Reason = Decision | ClassDecision


class Wait(NamedTuple):
    """A wait of @pid, ns of the trace's clock. It began with a wakeup or with a preemption."""

    pid: int
    start: int
    end: int
    woken: bool
    ended: bool  # False: the trace ends earlier

    @property
    def length(self) -> int:
        return self.end - self.start


class Stretch(NamedTuple):
    """From @start to @end the task @pid, or nobody if that is 0, had the CPU on which another waited."""

    start: int
    end: int
    cpu: int
    pid: int
    reason: Reason | None
    went_on: int  # ticks that let it go on

    @property
    def length(self) -> int:
        return self.end - self.start


class Lateness(NamedTuple):
    """A wait, and what happened meanwhile."""

    wait: Wait
    stretches: list[Stretch]
    rivals: set[tuple[int, int]]  # (pid, group) of the entities that competed for the task: itself and its groups
    lost: Reason | None = None    # the decision by which it lost the CPU, if it did


def waits_of(line: Timeline, pids: Collection[int]) -> list[Wait]:
    """The waits of @pids, the longest first, of equal ones the earliest."""
    columns, ended = line.waits, len(line.waits.pid) - line.unfinished
    found = [Wait(pid, start, end, woken == 1, nr < ended)
             for nr, (pid, start, end, woken) in enumerate(zip(*columns)) if pid in pids]
    return sorted(found, key=lambda wait: (-wait.length, wait.start))


# --- where it waited, and who ran there -----------------------------------------------------------------------------


def _overlapping(line: Timeline, waits: Sequence[Wait]) -> list[tuple[int, int, int, int]]:
    """(start, end, CPU, pid) of the runs that touch one of @waits, in order of time."""
    return sorted((start, end, cpu, pid) for cpu, pid, start, end in zip(*line.runs)
                  if any(start <= wait.end and end >= wait.start for wait in waits))


def _homes(wait: Wait, runs: Sequence[tuple[int, int, int, int]], decisions: Iterable[Reason]) -> list[tuple[int, int]]:
    """(since, CPU): on whose queue the task of @wait was."""
    before = [cpu for _, end, cpu, pid in runs if pid == wait.pid and end == wait.start]
    after = [cpu for start, _, cpu, pid in runs if pid == wait.pid and start == wait.end]
    found = [] if wait.woken else [(wait.start, cpu) for cpu in before[:1]]
    for d in decisions:
        if d.kind in ("place", "enter") and d.pid == wait.pid and d.answer and wait.start - NEAR <= d.time < wait.end:
            found.append((max(wait.start, d.time), d.cpu))
    if not found:
        found = [(wait.start, cpu) for cpu in after[:1]]
    return [(wait.start if not nr else since, cpu) for nr, (since, cpu) in enumerate(found)
            if not nr or cpu != found[nr - 1][1]]


def _ran_there(wait: Wait, homes: Sequence[tuple[int, int]],
               runs: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int, int]]:
    """(start, end, CPU, pid or 0, when its run began): the wait, cut where another had the CPU."""
    found = []
    for (since, home), (until, _) in zip(homes, [*homes[1:], (wait.end, 0)]):
        at = since
        for start, end, cpu, pid in runs:
            if cpu != home or end <= at or start >= until:
                continue
            if start > at:
                found.append((at, start, home, 0, at))
            at = min(end, until)
            found.append((max(start, since), at, home, pid, start))
        if at < until:
            found.append((at, until, home, 0, at))
    return found


# --- which decision it was ------------------------------------------------------------------------------------------


def entity(d: Reason, competing: set[tuple[int, int]]) -> Candidate | Task | None:
    """The row of @d that is one of @competing."""
    for row in d.candidates:
        if (row.pid if not getattr(row, "group", 0) else 0, getattr(row, "group", 0)) in competing:
            return row
    return None


def _is_about(d: Reason, competing: set[tuple[int, int]]) -> bool:
    return (d.pid if not d.subject_group else 0, d.subject_group) in competing


def _reason(stretch: tuple[int, int, int, int, int], decisions: Sequence[Reason],
            competing: set[tuple[int, int]]) -> tuple[Reason | None, int]:
    """(the decision after which another had the CPU in @stretch, how many ticks let it go on)."""
    start, end, cpu, pid, began = stretch
    here = [d for d in decisions if d.cpu == cpu and d.time < end and entity(d, competing)]
    ticks = [d for d in here if d.kind == "tick" and not d.answer and start < d.time]
    lost = [d for d in here if d.kind == "pick" and d.answer and not _is_about(d, competing)
            and began - NEAR <= d.time <= began]
    if began >= start and lost and pid:
        latest = [d for d in lost if d.time == lost[-1].time]  # of a tree of groups one on each level
        return latest[0], len(ticks)
    asked = [d for d in here if d.kind == "preempt" and not d.answer and _is_about(d, competing)
             and start - NEAR <= d.time]
    lasts = [d for d in here if d.kind == "tick" and not d.answer and start - NEAR <= d.time]
    return next(iter(asked or lasts), None), len(ticks)


def _loss(wait: Wait, decisions: Sequence[Reason], competing: set[tuple[int, int]]) -> Reason | None:
    """The decision by which the task of @wait lost the CPU: a tick, or another that took over."""
    near = [d for d in decisions if d.answer and wait.start - NEAR <= d.time <= wait.start and (
        d.kind == "tick" and _is_about(d, competing)
        or d.kind == "preempt" and not _is_about(d, competing) and entity(d, competing))]
    return near[-1] if near and not wait.woken else None


def explain(line: Timeline, waits: Sequence[Wait], decisions: Iterable[Reason]) -> list[Lateness]:
    """Each of @waits with its stretches. Of @decisions, in order of time, only those near a wait are kept."""
    near: dict[Wait, list[Reason]] = {wait: [] for wait in waits}
    above: dict[tuple[int, int], int] = {}  # (pid, group): the group in whose queue this entity competes
    for d in decisions:
        for row in d.candidates if isinstance(d, Decision) else ():
            above[row.pid if not row.group else 0, row.group] = d.group
        for wait, kept in near.items():
            if wait.start - NEAR <= d.time <= wait.end:
                kept.append(d)
    runs, found = _overlapping(line, waits), []
    for wait, kept in near.items():
        competing, at = {(wait.pid, 0)}, (wait.pid, 0)
        while above.get(at) and len(competing) < 100:
            at = 0, above[at]
            competing.add(at)
        cut = _ran_there(wait, _homes(wait, runs, kept), runs)
        found.append(Lateness(wait, [Stretch(*each[:4], *_reason(each, kept, competing)) for each in cut], competing,
                              _loss(wait, kept, competing)))
    return found


# --- in words -------------------------------------------------------------------------------------------------------


def _farther(ns: int, what: str, late: Candidate | Task, other: Candidate | Task) -> str:
    """Where @what of @late is, which is @ns later than that of @other."""
    where = f"is {ms(abs(ns))} ms {'after' if ns > 0 else 'before'}" if ns else "equals"
    return f"the {what} of {late.name} {where} that of {other.name}"


def _fair_numbers(d: Decision, late: Candidate, other: Candidate) -> str:
    """How @late stands beside @other."""
    parts = []
    owed = dict(lags(d)).get(late.name)
    if policies.claim(d.policy, "eligible"):
        if owed is not None and late.has(Flag.QUEUED) and not late.has(Flag.ELIGIBLE):
            parts.append(f"{late.name} is not eligible, ahead by {ms(round(-owed))} ms of CPU time")
        parts.append(_farther(difference(due(late), due(other)), "virtual deadline", late, other))
    elif late.has(Flag.DUE) and other.has(Flag.DUE):
        parts.append(_farther(difference(late.deadline, other.deadline), "deadline", late, other))
    else:
        parts.append(_farther(difference(late.vruntime, other.vruntime), "vruntime", late, other))
    if policies.claim(d.policy, "scores"):
        parts.append(f"the score of {late.name} is {late.score}, that of {other.name} {other.score}")
    return "; ".join(parts)


def _class_numbers(late: Task, other: Task) -> str:
    if late.deadline or other.deadline:
        return _farther(late.deadline - other.deadline, "deadline", late, other)
    return f"the priority of {late.name} is {late.prio}, that of {other.name} {other.prio}"


def numbers(d: Reason, competing: set[tuple[int, int]]) -> str:
    """The task that waits, or its group, beside the one that has the CPU; "" if the record has not both."""
    late = entity(d, competing)
    other = next((row for row in d.candidates if row is not late and (
        row.has(Flag.RUNS) if d.kind == "preempt"
        else (row.pid, getattr(row, "group", 0)) == (d.pid, d.subject_group))), None)
    if isinstance(d, Decision) and isinstance(late, Candidate) and isinstance(other, Candidate):
        return _fair_numbers(d, late, other)
    return _class_numbers(late, other) if isinstance(late, Task) and isinstance(other, Task) else ""


def rule_of(d: Reason) -> str:
    """The rule of @d as a sentence, or its name if this tree does not know it."""
    return (sentence(d.rule) if isinstance(d, Decision) else class_sentence(d.rule)) or d.rule


def beginning(late: Lateness) -> str:
    """How the wait began."""
    if late.wait.woken:
        return "after a wakeup"
    if late.lost is None:
        return "after it lost the CPU"
    return "after a tick ended its turn" if late.lost.kind == "tick" else f"after {late.lost.subject} took the CPU"


def because(stretch: Stretch, line: Timeline, late: Lateness, recorded: bool) -> str:
    """The rule of the decision and its numbers. If no decision is there, what else is known."""
    d, prio = stretch.reason, line.priorities.get(stretch.pid, 120)
    if not stretch.pid:
        return "nobody ran: the CPU idled"
    if d is not None:
        asked = {"pick": f"{d.policy} picked {d.subject}", "tick": f"{d.policy} let {d.subject} go on",
                 "preempt": f"{d.policy} did not let {d.subject} take over"}[d.kind]
        more = numbers(d, late.rivals)
        return f"{asked}: {rule_of(d)}" + (f"; {more}" if more else "")
    if prio < REAL_TIME <= line.priorities.get(late.wait.pid, 120):
        return "a real-time task comes before all fair ones" if prio >= DEADLINE else \
            "a task with a deadline comes before all others"
    return "unknown: no decision about it is recorded" if recorded else "unknown: no decisions are recorded"


def is_known(stretch: Stretch, line: Timeline, late: Lateness) -> bool:
    """Can because() tell a reason?"""
    return not because(stretch, line, late, True).startswith("unknown")


def conclusion(late: Lateness, line: Timeline, recorded: bool) -> str:
    """One sentence: how long, where, who ran, and the reason of the longest stretch."""
    wait, name = late.wait, line.label(late.wait.pid)
    ran: dict[int, int] = {}
    for stretch in late.stretches:
        ran[stretch.pid] = ran.get(stretch.pid, 0) + stretch.length
    order = sorted(ran, key=lambda pid: -ran[pid])
    who = [f"{line.label(pid)} ({ms(ran[pid])})" if pid else f"nobody ({ms(ran[pid])})" for pid in order[:3]]
    who += [f"{len(order) - 3} other{'s' * (len(order) > 4)}"] * (len(order) > 3)
    if not late.stretches:
        return f"{name} waited {ms(wait.length)} ms, and the trace does not say where."
    longest = max(late.stretches, key=lambda each: each.length)
    cpus = list(dict.fromkeys(str(each.cpu) for each in late.stretches))
    listed = " and ".join(filter(None, (", ".join(who[:-1]), who[-1])))
    chief = "chiefly " if len(late.stretches) > 1 else ""
    why = f", {chief}because {because(longest, line, late, recorded)}" if is_known(longest, line, late) else \
        "; why is not recorded"
    return (f"{name} waited {ms(wait.length)} ms for CPU {' and '.join(cpus)} {beginning(late)}, while {listed} had "
            f"it{why}.")


