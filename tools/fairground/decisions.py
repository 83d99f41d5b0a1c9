# SPDX-License-Identifier: GPL-2.0-only
"""Read decisions of the scheduler (sched/observe/decision.def): what a policy was asked, what it answered, and why.

Two forms hold the same records: lines of JSON from `schedsim --decisions FILE`, and events of the system `decision` in
a trace.dat of the kernel or the simulator. docs/decisions.md describes both. A trace.dat describes itself: fields, and
the names of rules and policies, come from its formats.

    for decision in read("run.json"):
        print(decision.time, decision.kind, decision.subject, decision.rule)
"""

import enum
import json
import os
import pathlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from .expect import Missing
from .image import Format, TraceError
from .records import decoder, text_of
from .tracefile import MAGIC, TraceFile

SCHEMA = "fairground-decisions/2"
SYSTEM, PREFIX, CANDIDATE = "decision", "sched_decision_", "sched_decision_candidate"
TASK, LEVEL, CLASS = (PREFIX + name for name in ("task", "level", "class"))  # class_decisions.py
QUOTA, POOL = PREFIX + "quota", PREFIX + "pool"  # quota_decisions.py
OTHERS = {TASK, LEVEL, CLASS, QUOTA, POOL} | {
    PREFIX + name for name in ("select", "cpu", "balance", "runqueue", "part", "movable")}
KINDS = ("pick", "preempt", "tick", "place", "charge", "leave")
LISTS = pathlib.Path(__file__).resolve().parents[2] / "sched" / "observe" / "rule.def"
HALF, WHOLE = 1 << 63, 1 << 64


class DecisionError(Exception):
    """The file holds no decisions that this tool can read. The text is one sentence for the user."""


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
DAMAGE = (Missing, struct.error, ValueError)  # what reading a trace raises if its bytes make no sense
TEXTS, CHOICES = ("comm",), ("policy", "rule")


@lru_cache
def tree_names(what: str) -> dict[str, str]:
    """{name: sentence} of the tree's RULEs or POLICYs."""
    text = LISTS.read_text(encoding="utf-8")
    return dict(re.findall(rf'\b{what}\(\d+, (\w+),[\s\\]*"(.*?)"\)', text))


def sentence(rule: str) -> str:
    """The sentence of @rule, which continues "because"; "" if this tree does not know the rule."""
    return tree_names("RULE").get(rule, "")


def _other_rules() -> set[str]:
    """The rules of the classes above, and of quotas."""
    return set(tree_names("REASON")) | set(tree_names("GRANT"))


@dataclass(frozen=True)
class Provenance:
    """What run a file tells about."""

    cpus: int
    sched: str                 # the policy, if the file says it once for all
    header: dict[str, Any]     # the first line of JSON; {} for a trace.dat

    @property
    def text(self) -> str:
        parts = [self.sched, f"{self.cpus} CPU{'s' * (self.cpus != 1)}", str(self.header.get("command", ""))]
        return ", ".join(part for part in parts if part)


class DecisionFile:
    """A file of decisions. Iterating yields each Decision, and counts what is not whole."""

    provenance: Provenance
    lost = 0          # events that are known to be missing
    total = 0         # decisions that were read by the last iteration,
    incomplete = 0    # of these without some of their candidates
    trace: TraceFile | None = None  # what the file is, if it is not JSON
    unknown = 0       # decisions of a kind that this tool does not know; they are not yielded

    def rules(self) -> set[str]:
        """The rules that the file may name."""
        return set(tree_names("RULE")) | _other_rules()

    def policies(self) -> set[str]:
        """The policies that the file may name."""
        return set(tree_names("POLICY")) | {"quota"}

    def _decisions(self) -> Iterator[Decision | None]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Decision]:
        self.total = self.incomplete = self.unknown = 0
        for decision in self._decisions():
            if decision is None:
                self.unknown += 1
                continue
            self.total += 1
            self.incomplete += not decision.complete
            yield decision


# --- lines of JSON ------------------------------------------------------------------------------------------------

_record = itemgetter(*FIELDS)
_row = itemgetter(*Candidate._fields)
_numbers = itemgetter(*(name for name in ("time", *FIELDS) if name not in TEXTS + CHOICES))
_texts = itemgetter("kind", *TEXTS, *CHOICES)
_row_numbers = itemgetter(*(name for name in Candidate._fields if name not in TEXTS))
ONLY_NUMBERS, ONLY_TEXTS = {int}, {str}


class _JsonFile(DecisionFile):
    """The form of schedsim --decisions."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        with open(path, "rb") as f:
            header = self._header(f.readline())
            f.seek(-1, os.SEEK_END)
            if f.read() != b"\n":
                raise DecisionError("the file is cut off in the middle of a line")
        cpus, sched = header.get("cpus"), header.get("sched")
        if not isinstance(cpus, int) or not isinstance(sched, str):
            raise DecisionError("its first line does not say how many CPUs, or what policy, the run had")
        self.provenance = Provenance(cpus, sched, header)

    @staticmethod
    def _header(line: bytes) -> dict[str, Any]:
        try:
            header = json.loads(line)
        except ValueError:
            header = None
        schema = header.get("schema") if isinstance(header, dict) else None
        if not isinstance(schema, str) or not schema.startswith(SCHEMA.partition("/")[0] + "/"):
            raise DecisionError("this is not a file of decisions: lines of JSON, or a trace.dat, are expected")
        if schema != SCHEMA:
            raise DecisionError(f"the file has schema {schema}, this tool reads {SCHEMA}: take both from one commit")
        return dict(header)

    def _decisions(self) -> Iterator[Decision | None]:
        with open(self._path, "rb") as f:
            f.readline()
            for number, line in enumerate(f, 2):
                try:
                    row = json.loads(line)
                    if PREFIX + row["kind"] not in OTHERS:
                        yield self._decision(row)
                except KeyError as error:
                    raise DecisionError(f"line {number} has no field {error.args[0]}") from error
                except (ValueError, TypeError) as error:
                    raise DecisionError(f"line {number} is not a decision") from error

    @staticmethod
    def _decision(d: dict[str, Any]) -> Decision | None:
        kind = d["kind"]
        if kind not in KINDS:
            return None
        rows = d["candidates"]
        if {*map(type, _numbers(d))} != ONLY_NUMBERS or {*map(type, _texts(d))} != ONLY_TEXTS:
            raise TypeError
        for row in rows:
            if {*map(type, _row_numbers(row))} != ONLY_NUMBERS or not isinstance(row["comm"], str):
                raise TypeError
        return Decision(d["time"], kind, tuple(Candidate._make(_row(row)) for row in rows), *_record(d))


# --- trace.dat ----------------------------------------------------------------------------------------------------


def symbols(event: Format, field: str) -> dict[int, str]:
    """{number: name} of the field, from the print format of @event."""
    found = re.search(rf"__print_symbolic\(REC->{field},(.*?)\)", event.source, re.DOTALL)
    pairs = re.findall(r'\{ *(\d+|0x[0-9a-f]+), *"([^"]*)" *\}', found[1] if found else "")
    return {int(number, 16 if number.startswith("0x") else 10): name for number, name in pairs}


class _Kind:
    """How the records of one kind of decision are read."""

    comm, policy, rule = (FIELDS.index(name) for name in ("comm", "policy", "rule"))

    def __init__(self, event: Format) -> None:
        self.name = event.name.removeprefix(PREFIX)
        self.rules, self.policies = symbols(event, "rule"), symbols(event, "policy")
        self._decode = decoder(event, FIELDS)

    def decision(self, time: int, data: bytes, candidates: tuple[Candidate, ...]) -> Decision:
        values = list(self._decode(data))
        values[self.comm] = text_of(values[self.comm])
        values[self.policy] = self.policies.get(values[self.policy], str(values[self.policy]))
        values[self.rule] = self.rules.get(values[self.rule], str(values[self.rule]))
        return Decision(time, self.name, candidates, *values)


class _TraceDecisions(DecisionFile):
    """The form of make trace EVENTS='decision:*', and of schedsim --decisions FILE.dat."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.trace = trace = TraceFile(path)
            self.lost = trace.lost()
        except DAMAGE as error:
            raise DecisionError("the trace is damaged") from error
        formats = {f.name: f for f in trace.formats.values() if f.system == SYSTEM}
        self._names = set(formats) - OTHERS
        self._kinds = {PREFIX + kind: _Kind(formats[PREFIX + kind]) for kind in KINDS if PREFIX + kind in formats}
        if not self._kinds or CANDIDATE not in formats:
            raise DecisionError("the trace has no decisions: record it with EVENTS='decision:*'")
        self._candidate = decoder(formats[CANDIDATE], Candidate._fields)
        self.provenance = Provenance(trace.cpus, "", {})

    def rules(self) -> set[str]:
        return ({name for kind in self._kinds.values() for number, name in kind.rules.items() if number != 255}
                | _other_rules())

    def policies(self) -> set[str]:
        return ({name for kind in self._kinds.values() for number, name in kind.policies.items() if number != 255}
                | set(tree_names("POLICY")) | {"quota"})

    def _decisions(self) -> Iterator[Decision | None]:
        assert self.trace
        pending: dict[int, list[Candidate]] = {}  # by the CPU that recorded them
        try:
            for event in self.trace.events(self._names):
                name = event.format.name
                if name == CANDIDATE:
                    comm, *numbers = self._candidate(event.data)
                    pending.setdefault(event.cpu, []).append(Candidate(text_of(comm), *numbers))
                    continue
                kind, rows = self._kinds.get(name), pending.pop(event.cpu, [])
                yield kind.decision(event.time, event.data, tuple(rows)) if kind else None
        except DAMAGE as error:
            raise DecisionError("the trace is damaged") from error


# --- either -------------------------------------------------------------------------------------------------------


def open_decisions(path: str | os.PathLike[str]) -> DecisionFile:
    """The file @path, in either form. Raises DecisionError if it holds no decisions, or is cut off."""
    try:
        with open(path, "rb") as f:
            start = f.read(len(MAGIC))
        if not start:
            raise DecisionError("the file is empty")
        return _TraceDecisions(path) if start == MAGIC else _JsonFile(path)
    except TraceError as error:
        raise DecisionError(str(error)) from error
    except OSError as error:
        raise DecisionError(error.strerror or str(error)) from error


def as_rows(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """The file @path as JSON has it: first what run it is, then each decision with its candidates."""
    file = open_decisions(path)
    yield file.provenance.header or {"schema": SCHEMA, "sched": file.provenance.sched, "cpus": file.provenance.cpus}
    for d in file:
        row = {name: getattr(d, name) for name in ("time", "kind", *FIELDS)}
        yield {**row, "candidates": [{"nr": nr, **c._asdict()} for nr, c in enumerate(d.candidates)]}


def read(path: str | os.PathLike[str]) -> Iterator[Decision]:
    """Every Decision of the file @path: in order of time, or as the simulator made them."""
    yield from open_decisions(path)
