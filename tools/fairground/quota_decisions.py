# SPDX-License-Identifier: GPL-2.0-only
"""Decisions about quotas of groups: sched_decision_quota and sched_decision_pool (sched/observe/decision.def).

`fairground decisions` prints them among those of fair policies. They are in the same files: lines of JSON from
schedsim --decisions, or a trace.dat (docs/decisions.md).

    for decision in read("run.json"):
        print(decision.time, decision.kind, decision.subject, decision.rule)
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from .class_decisions import Task
from .decisions import DAMAGE, POOL, PREFIX, QUOTA, SYSTEM, DecisionError, label, open_decisions, symbols, tree_names
from .image import TraceError
from .records import decoder, text_of
from .tracefile import TraceFile

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


CLASSES: dict[str, type[QueueDecision] | type[PoolDecision]] = {QUOTA: QueueDecision, POOL: PoolDecision}
FIELDS = {name: ("act", *(f.name for f in fields(of)[2:])) for name, of in CLASSES.items()}
KINDS = tuple(tree_names("STEP"))


# --- reading ------------------------------------------------------------------------------------------------------


def of_row(row: dict[str, Any]) -> QuotaDecision | None:
    """The decision that a line of JSON has; None: it is about something else. Raises KeyError if a field is missing."""
    name = PREFIX + row.get("kind", "")
    return CLASSES[name](row["time"], *(row[field] for field in FIELDS[name])) if name in CLASSES else None


def _from_json(path: str) -> Iterator[QuotaDecision]:
    with open(path, "rb") as f:
        for number, line in enumerate(f, 1):
            try:
                if decision := of_row(json.loads(line)):
                    yield decision
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DecisionError(f"line {number} is not a decision") from error


def trace_decoder(trace: TraceFile) -> dict[str, Callable[[int, bytes], QuotaDecision]]:
    """{name of an event: the function that makes a decision of its time and its bytes}."""
    formats = {f.name: f for f in trace.formats.values() if f.system == SYSTEM}

    def reader(name: str) -> Callable[[int, bytes], QuotaDecision]:
        record, columns = decoder(formats[name], FIELDS[name]), FIELDS[name]
        comm = columns.index("comm")
        names = {columns.index(field): symbols(formats[name], field) for field in ("act", "rule")}

        def decide(time: int, data: bytes) -> QuotaDecision:
            values = list(record(data))
            values[comm] = text_of(values[comm])
            for place, known in names.items():
                values[place] = known.get(values[place], str(values[place]))
            return CLASSES[name](time, *values)
        return decide

    return {name: reader(name) for name in CLASSES if name in formats}


def _from_trace(trace: TraceFile) -> Iterator[QuotaDecision]:
    readers = trace_decoder(trace)
    for event in trace.events(set(readers)) if readers else ():
        yield readers[event.format.name](event.time, event.data)


def read(path: str) -> Iterator[QuotaDecision]:
    """Every decision about a quota of the file @path. Raises DecisionError if it is no good file of decisions."""
    trace = open_decisions(path).trace
    try:
        yield from _from_trace(trace) if trace else _from_json(path)
    except (TraceError, *DAMAGE) as error:
        raise DecisionError(f"the file is damaged: {error}") from error


# --- text ---------------------------------------------------------------------------------------------------------


def _ms(ns: int) -> str:
    return f"{'-' if ns < 0 else ''}{abs(ns) // MS}.{abs(ns) % MS:06}"


def answer(d: QuotaDecision) -> str:
    """The answer in words; times in ms."""
    if isinstance(d, PoolDecision):
        limit = "no limit" if d.quota == NO_QUOTA else f"{_ms(d.quota)} of {_ms(d.period)}"
        return {"refill": f"{_ms(d.before)} to {_ms(d.kept)}", "limit": limit}.get(d.kind, f"has {_ms(d.before)}")
    assert isinstance(d, QueueDecision)
    if d.kind in ("fetch", "pay", "give_back", "settle"):
        return f"{_ms(d.got)} of {_ms(d.asked)}"
    return f"after {_ms(d.got)}" if d.kind == "unthrottle" else d.kind + ("d" if d.kind == "throttle" else "s")


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
