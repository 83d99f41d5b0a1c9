# SPDX-License-Identifier: GPL-2.0-only
"""Decisions about quotas of groups: sched_decision_quota and sched_decision_pool (sched/observe/decision.def).

`fairground decisions` prints them among those of fair policies. They are in the same files: lines of JSON from
schedsim --decisions, or a trace.dat (docs/decisions.md).

    for decision in read("run.json"):
        print(decision.time, decision.kind, decision.subject, decision.rule)
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from .class_decisions import Task
from .decision_file import Shape, open_file
from .fair_decisions import label, tree_names

MS = 1_000_000
NO_QUOTA = (1 << 64) - 1


@dataclass(slots=True)
class QuotaDecision:
    """What both records have. The numbers are those after the decision."""

    time: int
    kind: str          # the record's act
    rule: str
    cpu: int
    group: int
    comm: str
    nr_waiting: int
    clock: int

    policy: ClassVar[str] = "quota"
    pid: ClassVar[int] = 0
    candidates: ClassVar[tuple[Task, ...]] = ()  # there are none
    complete: ClassVar[bool] = True

    @property
    def subject_group(self) -> int:
        return self.group

    @property
    def subject(self) -> str:
        return label(self.comm, 0, self.group)

    @property
    def answer(self) -> int:
        """0 or 1, for statistics."""
        raise NotImplementedError


@dataclass(slots=True)
class QueueDecision(QuotaDecision):
    """About the queue of a CPU."""

    asked: int
    got: int
    pool: int
    remaining: int
    debt: int
    owed: int
    slice: int
    slack_at: int

    @property
    def answer(self) -> int:
        """Did it get all that it asked for?"""
        return int(self.got >= self.asked)


@dataclass(slots=True)
class PoolDecision(QuotaDecision):
    """About the pool of the group."""

    quota: int
    burst: int
    before: int
    kept: int
    owed: int
    burst_time: int
    period: int
    periods: int
    nr_periods: int
    nr_throttled: int
    nr_bursts: int

    @property
    def answer(self) -> int:
        """Does the timer go on; is there something to share out; is there a quota?"""
        return int(self.rule not in ("nothing_used", "unlimited", "refill_near", "too_little")
                   and self.quota != NO_QUOTA)


CLASSES: dict[str, type[QueueDecision] | type[PoolDecision]] = {"quota": QueueDecision, "pool": PoolDecision}
FIELDS = {kind: ("act", *(f.name for f in fields(of)[2:])) for kind, of in CLASSES.items()}
SHAPES = tuple(Shape(kind, FIELDS[kind], ("act", "rule", "comm"), {},
                     lambda time, kind, _, values: CLASSES[kind](time, *values)) for kind in CLASSES)
KINDS = tuple(tree_names("STEP"))


def read(path: str | os.PathLike[str]) -> Iterator[QuotaDecision]:
    """Every decision about a quota of the file @path. Raises DecisionError if it is no good file of decisions."""
    yield from open_file(path).records(SHAPES)


# --- text ---------------------------------------------------------------------------------------------------------


def _ms(ns: int) -> str:
    return f"{'-' if ns < 0 else ''}{abs(ns) // MS}.{abs(ns) % MS:06}"


def answer(d: QuotaDecision) -> str:
    """The answer in words; times in ms."""
    if isinstance(d, PoolDecision):
        limit = "no limit" if d.quota == NO_QUOTA else f"{_ms(d.quota)} of {_ms(d.period)}"
        return {"refill": f"{_ms(d.before)} to {_ms(d.kept)}", "limit": limit}.get(d.kind, f"has {_ms(d.before)}")
    assert isinstance(d, QueueDecision)
    if d.kind in ("fetch", "pay", "give_back", "settle", "restart"):
        return f"{_ms(d.got)} of {_ms(d.asked)}"
    return f"after {_ms(d.got)}" if d.kind == "unthrottle" else "throttled"


def sentence(rule: str) -> str:
    """The sentence of @rule, which continues "because"; "" if this tree does not know the rule."""
    return tree_names("GRANT").get(rule, "")


def table(d: QuotaDecision) -> list[str]:
    """The numbers of the decision, as lines; times in ms."""
    lines: list[str] = []
    if isinstance(d, PoolDecision):
        lines = [f"quota {'none' if d.quota == NO_QUOTA else _ms(d.quota)}, period {_ms(d.period)}, "
                 f"burst {_ms(d.burst)}; the pool had {_ms(d.before)} and has {_ms(d.kept)}",
                 f"periods {d.nr_periods}, throttled {d.nr_throttled}, bursts {d.nr_bursts}, burst time "
                 f"{_ms(d.burst_time)}"]
    if isinstance(d, QueueDecision):
        lines = [f"the queue has {_ms(d.remaining)}" + (f", owes {_ms(d.debt)}" if d.debt else "")
                 + f"; the pool has {_ms(d.pool)}; a slice is {_ms(d.slice)}"]
        if d.slack_at:
            lines.append(f"throttled queues get what came back in {_ms(d.slack_at - d.clock)}")
    if d.nr_waiting:
        lines.append(f"throttled queues that owe something: {d.nr_waiting}")
    if isinstance(d, QueueDecision | PoolDecision) and d.owed:
        lines.append(f"queues of CPUs that left owe {_ms(d.owed)}")
    return [f"   {line}" for line in lines]


def conclusion(d: QuotaDecision) -> str:
    """The answer and the rule as a sentence."""
    return f"{d.subject}: {d.kind}, {answer(d)}, because {sentence(d.rule) or 'of the rule ' + d.rule}."
