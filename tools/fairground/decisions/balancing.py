# SPDX-License-Identifier: GPL-2.0-only
"""Balancing: what each balancing pass compared, what it moved and passed over, and why.

The records are sched_decision_balance, and sched_decision_runqueue, _part and _movable of
sched/observe/decision.def. `fairground decisions --kind balance` prints them (docs/decisions.md).
"""

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .decision_file import Row, Shape, open_file
from .fair_decisions import tree_names


class RunqueueFlag(enum.IntFlag):
    """Flags of a runqueue: enum decision_runqueue_flags of sched/observe/decision.h."""

    IDLE = 0x1


class PartFlag(enum.IntFlag):
    """Flags of a part: enum decision_part_flags."""

    LOCAL = 0x1
    HINDERED = 0x2


class TaskFlag(enum.IntFlag):
    """Flags of a task: enum decision_movable_flags."""

    ALLOWED = 0x1
    RUNS = 0x2
    IDLE = 0x4
    NOMINATED = 0x8
    THROTTLED = 0x10
    COMPANY = 0x20
    PUSHABLE = 0x40
    FITS = 0x80


class BalanceFlag(enum.IntFlag):
    """Flags of a pass: enum decision_balance_flags."""

    LB_MIN = 0x1
    HOT_BUDDY = 0x2
    HINDERED = 0x4
    FREE = 0x8


class Domain(enum.IntFlag):
    """Flags of a domain: enum domain_flags of sched/balance/domain.h. Those that the rules of a pass ask for."""

    ASYM_CPUCAPACITY = 0x40
    SHARE_CPUCAPACITY = 0x80
    SHARE_LLC = 0x200
    NUMA = 0x4000


class Runqueue(NamedTuple):
    """A runqueue that a pass read."""

    of_cpu: int
    part: int
    cache: int
    look: str
    flags: int
    nr_running: int
    nr_fair: int
    load: int
    util: int
    runnable: int
    capacity: int
    full: int
    misfit: int

    @property
    def idle(self) -> bool:
        return bool(self.flags & RunqueueFlag.IDLE)


class Part(NamedTuple):
    """A part of the domain, as it was compared."""

    part: int
    state: str
    flags: int
    size: int
    weight: int
    nr_running: int
    nr_fair: int
    idle_cpus: int
    load: int
    util: int
    runnable: int
    capacity: int
    avg_load: int
    misfit: int

    def has(self, flag: PartFlag) -> bool:
        return bool(self.flags & flag)


class Task(NamedTuple):
    """A task that a pass looked at."""

    comm: str
    pid: int
    to: int
    fate: str
    flags: int
    nr_running: int
    group: int
    load: int
    util: int
    since_ran: int
    left: int

    def has(self, flag: TaskFlag) -> bool:
        return bool(self.flags & flag)


@dataclass(slots=True)
class Pass:
    """A balancing pass, or a round of it. decision.def explains the numbers."""

    time: int
    runqueues: tuple[Runqueue, ...]
    parts: tuple[Part, ...]
    tasks: tuple[Task, ...]
    cpu: int
    idleness: str
    rule: str
    outcome: str
    amount: str
    round: int
    flags: int
    nr_runqueues: int
    nr_parts: int
    nr_tasks: int
    searched_from: int
    domain: int
    local: int
    busiest: int
    source: int
    source_running: int
    imbalance: int
    left: int
    nr_moved: int
    failed: int
    failed_now: int
    interval_ms: int
    interval_now_ms: int
    min_interval_ms: int
    max_interval_ms: int
    imbalance_pct: int
    cache_nice_tries: int
    imb_numa_nr: int
    nr_migrate: int
    hot_ns: int

    kind, policy, comm = "balance", "", ""
    group = subject_group = pid = 0

    @property
    def answer(self) -> int:
        """Did tasks move?"""
        return int(self.outcome == "moved")

    @property
    def candidates(self) -> tuple[Task, ...]:
        return self.tasks

    @property
    def subject(self) -> str:
        return f"{self.level}, {IDLENESS.get(self.idleness, self.idleness)}"

    @property
    def level(self) -> str:
        """The name of the domain's level, as in /sys/kernel/debug/sched/domains."""
        if self.domain & Domain.NUMA:
            return "NUMA"
        if self.domain & Domain.SHARE_CPUCAPACITY:
            return "SMT"
        return "MC" if self.domain & Domain.SHARE_LLC else "DIE"

    @property
    def complete(self) -> bool:
        """False if rows are missing: events were lost, or not recorded."""
        return (len(self.runqueues), len(self.parts), len(self.tasks)) == (self.nr_runqueues, self.nr_parts,
                                                                           self.nr_tasks)


FIELDS = tuple(Pass.__dataclass_fields__)[4:]
SHAPES = (Shape("balance", FIELDS, ("idleness", "rule", "outcome", "amount"),
                {"runqueues": Row("runqueue", Runqueue), "parts": Row("part", Part), "tasks": Row("movable", Task)},
                lambda time, _, rows, values: Pass(time, rows[0], rows[1], rows[2], *values)),)
IDLENESS = {"idle": "idle", "busy": "busy", "newly_idle": "newly idle"}


def read(path: str) -> Iterator[Pass]:
    """Every Pass of the file @path. Raises DecisionError if it is no good file of decisions."""
    yield from open_file(path).records(SHAPES)


# --- text -------------------------------------------------------------------------------------------


def answer(p: Pass) -> str:
    """The answer in words: the outcome, and what was to be moved."""
    text = tree_names("OUTCOME").get(p.outcome, p.outcome)
    if p.imbalance:
        unit = "task" if p.amount == "tasks" and p.imbalance == 1 else p.amount
        text += f" ({p.imbalance} {unit} from CPU {p.source if p.source >= 0 else '-'})"
    return text


def because(p: Pass) -> str:
    """Why tasks should move, or should not."""
    return tree_names("BALANCE").get(p.rule, p.rule)


def conclusion(p: Pass) -> str:
    return f"for CPU {p.cpu}: {answer(p)}, because {because(p)}."


def line(p: Pass) -> str:
    where = f"CPU {p.cpu} ({IDLENESS.get(p.idleness, p.idleness)}, {p.level})"
    return f"{p.time / 1e6:14.6f}  {where:<24} {answer(p)} because {because(p)}"


def _rows(header: str, rows: Iterable[str]) -> Iterator[str]:
    found = list(rows)
    if found:
        yield "    " + header
        yield from (("    " + row).rstrip() for row in found)


def _parts(p: Pass) -> Iterator[str]:
    for part in p.parts:
        mark = "here" if part.has(PartFlag.LOCAL) else "busiest" if part.part == p.busiest else ""
        yield (f"{part.part:>5}{part.weight:>6}  {part.state:<11}{part.nr_running:>8}{part.nr_fair:>6}"
               f"{part.idle_cpus:>6}{part.load:>9}{part.util:>7}{part.runnable:>10}  {mark}")


def _runqueues(p: Pass) -> Iterator[str]:
    for rq in p.runqueues:
        numbers = ""
        if rq.look == "measured":
            numbers = f"{rq.nr_running:>8}{rq.nr_fair:>6}{rq.load:>9}{rq.util:>7}{rq.runnable:>10}"
        elif rq.look == "searched":
            numbers = f"{'':8}{rq.nr_fair:>6}{rq.load or '':>9}{rq.util or '':>7}"
        yield f"{rq.of_cpu:>5}{rq.part:>6}  {rq.look:<11}{numbers}{'  idle' if rq.idle else ''}"


def _tasks(p: Pass) -> Iterator[str]:
    for t in p.tasks:
        yield (f"{t.comm + '-' + str(t.pid):<22} to CPU {t.to:<4}{t.fate:<13}{t.load:>6}{t.util:>6}"
               f"{t.since_ran / 1e6:>14.6f}{t.left:>7}")


def table(p: Pass) -> Iterator[str]:
    yield from _rows(" part  CPUs  state       running  fair  idle     load   util  runnable", _parts(p))
    yield from _rows("  CPU  part  look        running  fair     load   util  runnable", _runqueues(p))
    yield from _rows(f"{'task':<34} fate           load  util   ran ms ago   left", _tasks(p))
    if not p.complete:
        yield "    not all rows were recorded"


def counted(p: Pass) -> Iterator[tuple[str, str, str]]:
    """What --stats counts: of what, which of its fields, and the value in words."""
    yield "rounds", "outcome", tree_names("OUTCOME").get(p.outcome, p.outcome)
    yield "rounds", "rule", because(p)
    yield from (("tasks", "fate", tree_names("FATE").get(t.fate, t.fate)) for t in p.tasks)
