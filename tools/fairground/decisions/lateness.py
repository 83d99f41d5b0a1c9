# SPDX-License-Identifier: GPL-2.0-only
"""Why a task waited: who had its CPU meanwhile, and the decision that said so, in the policy's own numbers.

The runs and waits are those of a Timeline, and the decisions those of the same trace, if it has some.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from ..base import policies
from ..trace.timeline import Timeline
from .class_decisions import SHAPES as CLASS_SHAPES, ClassDecision, Task, place, sentence as class_sentence
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
    queued = [d for d in here if d.policy == "ext" and d.kind in ("enter", "stop") and _is_about(d, competing)]
    return next(iter(asked or lasts or queued), None), len(ticks)


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

# Names in braces are filled in. The page for browsers has the same table (tools/scripts/page_phrases.py): what it says
# of a run is what is said here (web/page/why.ts).
PHRASES = {
    "pick": "{policy} picked {subject}", "tick": "{policy} let {subject} go on",
    "preempt": "{policy} did not let {subject} take over", "enter": "{policy} queued {subject}",
    "stop": "{policy} stopped {subject}", "place": "{late} waits in {place}",
    "equal": "the {number} of {late} equals that of {other}",
    "after": "the {number} of {late} is {ms} ms after that of {other}",
    "before": "the {number} of {late} is {ms} ms before that of {other}",
    "ahead": "{late} is not eligible, ahead by {ms} ms of CPU time",
    "score": "the score of {late} is {ours}, that of {other} {theirs}",
    "priority": "the priority of {late} is {ours}, that of {other} {theirs}",
    "vruntime": "vruntime", "deadline": "deadline", "virtual_deadline": "virtual deadline",
    "woken": "after a wakeup", "lost": "after it lost the CPU", "ended": "after a tick ended its turn",
    "taken": "after {subject} took the CPU",
    "idle": "nobody ran: the CPU idled", "real_time": "a real-time task comes before all fair ones",
    "deadlines": "a task with a deadline comes before all others",
    "unrecorded": "unknown: no decisions are recorded", "unknown": "unknown: no decision about it is recorded",
    "nobody": "nobody", "part": "{name} ({ms})", "other": "{number} other", "others": "{number} others",
    "nowhere": "{name} waited {ms} ms, and the trace does not say where.",
    "conclusion": "{name} waited {ms} ms for CPU {cpus} {beginning}, while {who} had it{why}.",
    "because": ", because {why}", "chiefly": ", chiefly because {why}", "no_reason": "; why is not recorded",
    "futures": "Under another policy from that moment on: {futures}", "as_long": "{ms} ms",
    "longer": "more than {ms} ms", "no_wait": "no wait",
    "and": " and ", "went_on": "{number} tick let it go on", "went_on_often": "{number} ticks let it go on",
}


def say(phrase: str, **values: object) -> str:
    return PHRASES[phrase].format(**values)


def _farther(ns: int, number: str, late: Candidate | Task, other: Candidate | Task) -> str:
    """Where the @number of @late is, which is @ns later than that of @other."""
    return say("equal" if not ns else "after" if ns > 0 else "before", number=PHRASES[number], late=late.name,
               other=other.name, ms=ms(abs(ns)))


def _fair_numbers(d: Decision, late: Candidate, other: Candidate) -> str:
    """How @late stands beside @other."""
    parts = []
    owed = dict(lags(d)).get(late.name)
    if policies.claim(d.policy, "eligible"):
        if owed is not None and late.has(Flag.QUEUED) and not late.has(Flag.ELIGIBLE):
            parts.append(say("ahead", late=late.name, ms=ms(round(-owed))))
        parts.append(_farther(difference(due(late), due(other)), "virtual_deadline", late, other))
    elif late.has(Flag.DUE) and other.has(Flag.DUE):
        parts.append(_farther(difference(late.deadline, other.deadline), "deadline", late, other))
    else:
        parts.append(_farther(difference(late.vruntime, other.vruntime), "vruntime", late, other))
    if policies.claim(d.policy, "scores"):
        parts.append(say("score", late=late.name, ours=late.score, other=other.name, theirs=other.score))
    return "; ".join(parts)


def _class_numbers(policy: str, late: Task, other: Task) -> str:
    if policy == "ext":
        return say("place", late=late.name, place=place(late.replenish_at))
    if late.deadline or other.deadline:
        return _farther(late.deadline - other.deadline, "deadline", late, other)
    return say("priority", late=late.name, ours=late.prio, other=other.name, theirs=other.prio)


def numbers(d: Reason, competing: set[tuple[int, int]]) -> str:
    """The task that waits, or its group, beside the one that has the CPU; "" if the record has not both."""
    late = entity(d, competing)
    other = next((row for row in d.candidates if row is not late and (
        row.has(Flag.RUNS) if d.kind == "preempt"
        else (row.pid, getattr(row, "group", 0)) == (d.pid, d.subject_group))), None)
    if isinstance(d, Decision) and isinstance(late, Candidate) and isinstance(other, Candidate):
        return _fair_numbers(d, late, other)
    if isinstance(d, ClassDecision) and d.kind in ("enter", "stop"):
        return say("place", late=d.subject, place=place(d.replenish_at))
    return _class_numbers(d.policy, late, other) if isinstance(late, Task) and isinstance(other, Task) else ""


def rule_of(d: Reason) -> str:
    """The rule of @d as a sentence, or its name if this tree does not know it."""
    return (sentence(d.rule) if isinstance(d, Decision) else class_sentence(d.rule)) or d.rule


def beginning(late: Lateness) -> str:
    """How the wait began."""
    if late.wait.woken:
        return PHRASES["woken"]
    if late.lost is None:
        return PHRASES["lost"]
    return PHRASES["ended"] if late.lost.kind == "tick" else say("taken", subject=late.lost.subject)


def because(stretch: Stretch, line: Timeline, late: Lateness, recorded: bool) -> str:
    """The rule of the decision and its numbers. If no decision is there, what else is known."""
    d, prio, own = stretch.reason, line.priorities.get(stretch.pid, 120), line.priorities.get(late.wait.pid, 120)
    if not stretch.pid:
        return PHRASES["idle"]
    if d is not None:
        more = numbers(d, late.rivals)
        return f"{say(d.kind, policy=d.policy, subject=d.subject)}: {rule_of(d)}" + (f"; {more}" if more else "")
    if prio < DEADLINE <= own:
        return PHRASES["deadlines"]
    if prio < REAL_TIME <= own:
        return PHRASES["real_time"]
    return PHRASES["unknown" if recorded else "unrecorded"]


def went_on(stretch: Stretch) -> str:
    """How many ticks let the other go on; "" if none."""
    return say("went_on_often" if stretch.went_on > 1 else "went_on", number=stretch.went_on) if stretch.went_on else ""


def is_known(stretch: Stretch, line: Timeline, late: Lateness) -> bool:
    """Can because() tell a reason?"""
    return because(stretch, line, late, True) != PHRASES["unknown"]


def conclusion(late: Lateness, line: Timeline, recorded: bool) -> str:
    """One sentence: how long, where, who ran, and the reason of the longest stretch."""
    wait, name = late.wait, line.label(late.wait.pid)
    ran: dict[int, int] = {}
    for stretch in late.stretches:
        ran[stretch.pid] = ran.get(stretch.pid, 0) + stretch.length
    if not ran:
        return say("nowhere", name=name, ms=ms(wait.length))
    order = sorted(ran, key=lambda pid: -ran[pid])
    who = [say("part", name=line.label(pid) if pid else PHRASES["nobody"], ms=ms(ran[pid])) for pid in order[:3]]
    who += [say("others" if len(order) > 4 else "other", number=len(order) - 3)] * (len(order) > 3)
    longest = max(late.stretches, key=lambda each: each.length)
    cpus = dict.fromkeys(str(each.cpu) for each in late.stretches)
    listed = PHRASES["and"].join(filter(None, (", ".join(who[:-1]), who[-1])))
    why = say("chiefly" if len(late.stretches) > 1 else "because", why=because(longest, line, late, recorded)) \
        if is_known(longest, line, late) else PHRASES["no_reason"]
    return say("conclusion", name=name, ms=ms(wait.length), cpus=PHRASES["and"].join(cpus), beginning=beginning(late),
               who=listed, why=why)
