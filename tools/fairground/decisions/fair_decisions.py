# SPDX-License-Identifier: GPL-2.0-only
"""Decisions of fair policies (sched/observe/decision.def): what a policy was asked, what it answered, and why.

    for decision in read("run.json"):
        print(decision.time, decision.kind, decision.subject, decision.rule)

decision_file.py reads the files; docs/decisions.md describes them.
"""

import enum
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

from ..base.tree import ROOT
from .decision_file import SCHEMA, Row, Shape, open_file

KINDS = ("pick", "preempt", "tick", "place", "charge", "leave")
LISTS = ROOT / "sched" / "observe" / "rule.def"
HALF, WHOLE = 1 << 63, 1 << 64


class Flag(enum.IntFlag):
    """Flags of a candidate: enum decision_flags of sched/observe/decision.h."""

    RUNS = 0x1
    ASLEEP = 0x2
    IDLE = 0x4
    ELIGIBLE = 0x8
    REQUEST_LASTS = 0x10
    REQUEST_USED = 0x20
    NEXT = 0x40
    LAST = 0x80
    SKIP = 0x100
    DUE = 0x200
    SUBJECT = 0x400
    QUEUED = 0x800
    RELATIVE = 0x1000
    THROTTLED = 0x2000
    SERVER = 0x4000


def difference(a: int, b: int) -> int:
    """@a - @b of two virtual times. They are u64 and wrap, so this is the signed difference modulo 2^64."""
    return (a - b + HALF) % WHOLE - HALF


def label(comm: str, pid: int, group: int) -> str:
    """An entity as people read it."""
    if group:
        return f"group {group} {comm}".rstrip()
    return f"{comm}-{pid}" if comm or pid else "nobody"


class Candidate(NamedTuple):
    """An entity that the policy compared, with its numbers before the decision. decision.def explains them."""

    comm: str
    pid: int
    group: int
    vruntime: int
    deadline: int
    slice: int
    lag: int
    weight: int
    flags: int
    score: int
    depth: int

    @property
    def name(self) -> str:
        return label(self.comm, self.pid, self.group)

    def has(self, flag: Flag) -> bool:
        return bool(self.flags & flag)


@dataclass(slots=True)
class Decision:
    """One decision: its record, whose numbers are those of the subject afterwards, and what the policy compared."""

    time: int                           # ns
    kind: str                           # one of KINDS
    candidates: tuple[Candidate, ...]
    group: int
    policy: str
    rule: str
    answer: int
    level: int
    nr_queued: int
    nr_rows: int
    cpu: int
    comm: str
    pid: int
    subject_group: int
    v: int
    container: int
    flags: int
    weight: int
    delta: int
    vruntime: int
    deadline: int
    slice: int
    lag: int

    @property
    def subject(self) -> str:
        return label(self.comm, self.pid, self.subject_group)

    @property
    def complete(self) -> bool:
        """False if candidates are missing: events were lost, or not recorded."""
        return len(self.candidates) == self.nr_rows

    def is_about(self, candidate: Candidate) -> bool:
        return candidate.pid == self.pid and candidate.group == self.subject_group


FIELDS = tuple(f.name for f in fields(Decision))[3:]
SHAPES = tuple(Shape(kind, FIELDS, ("comm", "policy", "rule"), {"candidates": Row("candidate", Candidate)},
                     lambda time, kind, rows, values: Decision(time, kind, rows[0], *values)) for kind in KINDS)


@lru_cache
def tree_names(what: str) -> dict[str, str]:
    """{name: sentence} of the tree's RULEs or POLICYs."""
    text = LISTS.read_text(encoding="utf-8")
    return dict(re.findall(rf'\b{what}\(\d+, (\w+),[\s\\]*"(.*?)"\)', text))


def sentence(rule: str) -> str:
    """The sentence of @rule, which continues "because"; "" if this tree does not know the rule."""
    return tree_names("RULE").get(rule, "")


# --- what follows from records ------------------------------------------------------------------------------------


class Links(NamedTuple):
    """Neighbours of a candidate in the tree of those that wait, as places among the candidates; -1: there is none."""

    parent: int
    left: int
    right: int


def _parent(depths: list[int], at: int) -> tuple[int, bool]:
    """(the place of the parent or -1, is it the left child?) of the node @at of a tree that lies in its order."""
    before = next((i for i in range(at - 1, -1, -1) if depths[i] < depths[at]), -1)
    after = next((i for i in range(at + 1, len(depths)) if depths[i] < depths[at]), -1)
    for place, is_left in ((before, False), (after, True)):
        if place >= 0 and depths[place] == depths[at] - 1:
            return place, is_left
    return -1, False


def links(d: Decision) -> list[Links]:
    """The links of each candidate. The order of a tree and the depths of its nodes leave one form that it can have.

    FDL's entities with a deadline have a tree of their own. Of a tree with more nodes than a record holds the first
    ones are there, and some of these lack their parent or a child.
    """
    found = [[-1, -1, -1] for _ in d.candidates]
    for due in (False, True):
        nodes = [i for i, c in enumerate(d.candidates) if c.depth and c.has(Flag.DUE) == due]
        depths = [d.candidates[i].depth for i in nodes]
        for at, node in enumerate(nodes):
            place, is_left = _parent(depths, at)
            if place >= 0:
                found[node][0] = nodes[place]
                found[nodes[place]][1 if is_left else 2] = node
    return [Links(*row) for row in found]


class Groups:
    """The tree of groups, from the decisions about the queues in which they compete."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[int, str]] = {}  # by number: that of the group above it, and its own name

    def add(self, d: Decision) -> None:
        for group, comm in ((d.subject_group, d.comm), *((c.group, c.comm) for c in d.candidates)):
            if group:
                self._of[group] = d.group, comm

    def path(self, group: int) -> str:
        """From the root on: "/" for group 0. A group that has not yet competed in a queue goes by its number."""
        names: list[str] = []
        while group and len(names) <= len(self._of):
            group, name = self._of.get(group, (0, f"group {group}"))
            names.append(name)
        return "/" + "/".join(reversed(names))


def read(path: str | os.PathLike[str]) -> Iterator[Decision]:
    """Every Decision of the file @path. Raises DecisionError if it is no good file of decisions."""
    yield from open_file(path).records(SHAPES)


def as_rows(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The file @path as JSON has it, but for its end: first what run it is, then each Decision with its candidates."""
    file = open_file(path)
    of_run = file.provenance
    yield {"schema": SCHEMA, "sched": of_run.sched, "cpus": of_run.cpus, **of_run.header}
    for d in file.records(SHAPES):
        row = {name: getattr(d, name) for name in ("time", "kind", *FIELDS)}
        yield {**row, "candidates": [{"nr": nr, **c._asdict()} for nr, c in enumerate(d.candidates)]}
