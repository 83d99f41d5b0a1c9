# SPDX-License-Identifier: GPL-2.0-only
"""The first decision that differs between two runs: of kernel and simulator, two policies, or two builds.

The decisions about each CPU are compared in their order: kind, queue, subject, answer, and the rule, which of fair
policies counts only if both runs have the same. decision_kinds.py says what the answer of each kind is. Pids and times
differ between hosts. A subject is therefore its name and its place among the pids with this name (hog#2 is the second
hog), and times do not count, except to say which difference is the first. A decision after the end of the other run is
no difference.
"""

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .decision_file import DecisionError, DecisionFile
from .decision_filter import Filter, Seen
from .decision_kinds import SHAPES, Record, family, order
from .decision_text import line, side_by_side
from .fair_decisions import Candidate, Decision
from .fair_text import ms

Entity = tuple[str, int, int]  # comm, pid, number of the group that it stands for


class Key(NamedTuple):
    """What is compared of a decision. The queue and the subject have the numbers of one host."""

    of: str       # the name of its class
    kind: str
    group: int
    subject: Entity
    answer: tuple[Any, ...]
    rule: str


class Meaning(NamedTuple):
    """A Key in words that mean the same on every host."""

    of: str
    kind: str
    queue: str
    subject: str
    answer: tuple[Any, ...]
    rule: str


@dataclass
class Sequence:
    """The compared decisions about one CPU: their keys as numbers, and their times."""

    keys: "array[int]" = field(default_factory=lambda: array("L"))
    times: "array[int]" = field(default_factory=lambda: array("Q"))

    def only(self, kept: set[int]) -> "Sequence":
        """The decisions of it whose keys are in @kept."""
        places = [i for i, key in enumerate(self.keys) if key in kept]
        return Sequence(array("L", (self.keys[i] for i in places)), array("Q", (self.times[i] for i in places)))


class Run:
    """One of the two runs."""

    def __init__(self, path: str, file: DecisionFile) -> None:
        self.path, self.file = path, file
        self.cpus: dict[int, Sequence] = {}
        self.policies: set[str] = set()  # of its fair decisions
        self.kinds: set[str] = set()     # that were compared
        self.start = 0  # time of the first compared decision
        self.end = 0    # time of the last decision of any kind
        self.nr = self.total = 0
        self._numbers: dict[Key, int] = {}
        self._entities: set[Entity] = set()
        self._wanted: Callable[[Record], bool] = lambda d: True

    def _records(self) -> Iterator[Record]:
        try:
            yield from self.file.records(SHAPES)
        except DecisionError as error:
            raise DecisionError(f"{self.path}: {error}") from error

    def load(self, wanted: Filter) -> None:
        """Read the file. Raises DecisionError if it does not allow a verdict."""
        seen = Seen()
        self._wanted = lambda d: wanted.accepts(d, candidates=False)
        for d in self._records():
            seen.add(d)
            self.end = max(self.end, d.time)
            self._entities.add((d.comm, d.pid, d.subject_group))
            self._entities.update((c.comm, c.pid, c.group if isinstance(c, Candidate) else 0) for c in d.candidates)
            if self._wanted(d):
                self._add(d)
        self.total = seen.nr
        if missing := seen.missing(self.file):
            raise DecisionError(f"{self.path}: {missing}; two runs can be compared only if all is recorded")
        if not self.total:
            raise DecisionError(f"{self.path}: {NOTHING}")
        if not self.nr:
            raise DecisionError(f"{self.path}: no decision matches; there are {self.total} {seen.text}")

    def keep(self, kinds: set[str]) -> None:
        """Forget the decisions of other kinds."""
        kept = {number for key, number in self._numbers.items() if key.kind in kinds}
        self.cpus = {cpu: sequence.only(kept) for cpu, sequence in self.cpus.items()}
        times = [sequence.times[0] for sequence in self.cpus.values() if sequence.times]
        self.kinds, self.start = self.kinds & kinds, min(times, default=0)
        self.nr = sum(len(sequence.keys) for sequence in self.cpus.values())

    def _add(self, d: Record) -> None:
        key = Key(type(d).__name__, d.kind, d.group, (d.comm, d.pid, d.subject_group), family(d).verdict(d), d.rule)
        sequence = self.cpus.setdefault(d.cpu, Sequence())
        sequence.keys.append(self._numbers.setdefault(key, len(self._numbers)))
        sequence.times.append(d.time)
        self.start = min(self.start, d.time) if self.nr else d.time
        self.kinds.add(d.kind)
        if isinstance(d, Decision):
            self.policies.add(d.policy)
        self.nr += 1

    def meanings(self, with_rule: bool) -> list[Meaning]:
        """The meaning of each number that stands for a key. @with_rule: the rules of fair policies count."""
        order: dict[tuple[str, bool], list[int]] = {}
        for comm, pid, group in sorted(self._entities):
            order.setdefault((comm, bool(group)), []).append(group or pid)

        def name(entity: Entity) -> str:
            comm, pid, group = entity
            if not comm and not pid and not group:
                return "nobody"
            place = order[comm, bool(group)].index(group or pid) + 1
            return f"{'group ' * bool(group)}{comm}#{place}"

        groups = {group: name((comm, pid, group)) for comm, pid, group in self._entities if group}
        return [Meaning(k.of, k.kind, groups.get(k.group, f"group {k.group}") if k.group else "", name(k.subject),
                        k.answer, k.rule if with_rule or k.of != Decision.__name__ else "") for k in self._numbers]

    def time(self, cpu: int, index: int) -> int | None:
        """When, after the first compared decision, the @index-th about @cpu was made."""
        times = self.cpus[cpu].times if cpu in self.cpus else array("Q")
        return times[index] - self.start if index < len(times) else None

    def decision(self, cpu: int, index: int) -> Record | None:
        """The @index-th compared decision about @cpu, read again; None if there is none."""
        for d in self._records():
            if d.cpu == cpu and d.kind in self.kinds and self._wanted(d):
                if not index:
                    return d
                index -= 1
        return None


NOTHING = "no decision was recorded; record with schedsim --decisions FILE or make trace EVENTS='decision:*'"


class Difference(NamedTuple):
    """The first difference about one CPU: @agreed decisions there are equal before it."""

    time: int
    cpu: int
    agreed: int


class Comparison:
    """Two runs, decision by decision."""

    def __init__(self, a: Run, b: Run) -> None:
        for key, text in (("cpus", "{} CPUs"), ("topology", "{}"), ("hz", "HZ={}")):
            one, two = ({**run.file.provenance.header, "cpus": run.file.provenance.cpus}.get(key) for run in (a, b))
            if one and two and one != two:
                raise DecisionError(f"the runs had different machines: {a.path} {text.format(one)}, {b.path} "
                                    f"{text.format(two)}")
        self.a, self.b = a, b
        self.with_rule = False
        self.left_out: list[str] = []              # kinds that one run has only
        self.agreed: dict[int, int] = {}           # by CPU, before its first difference
        self.differences: list[Difference] = []    # at most one for each CPU

    def compare(self, wanted: Filter) -> None:
        for run in (self.a, self.b):
            run.load(wanted)
        if wanted.kinds is None:
            both = self.a.kinds & self.b.kinds
            self.left_out = sorted((self.a.kinds | self.b.kinds) - both, key=order)
            for run in (self.a, self.b):
                run.keep(both)
        self.with_rule = self.a.policies == self.b.policies
        in_a, in_b = (run.meanings(self.with_rule) for run in (self.a, self.b))
        for cpu in sorted(self.a.cpus.keys() | self.b.cpus.keys()):
            one, two = (run.cpus.get(cpu, Sequence()).keys for run in (self.a, self.b))
            same = next((i for i, (x, y) in enumerate(zip(one, two)) if in_a[x] != in_b[y]), min(len(one), len(two)))
            self.agreed[cpu] = same
            times = [time for run in (self.a, self.b) if (time := run.time(cpu, same)) is not None]
            # At the end of one run the other may go on.
            if len(times) == 2 or times and times[0] < min(run.end - run.start for run in (self.a, self.b)):
                self.differences.append(Difference(min(times), cpu, same))

    def report(self) -> list[str]:
        """The comparison as lines."""
        lines = [f"{letter}: {run.path}: {', '.join(sorted(run.policies))}; {run.file.provenance.text}; {run.nr} of "
                 f"{run.total} decisions are compared" for letter, run in (("A", self.a), ("B", self.b))]
        kinds = sorted(self.a.kinds | self.b.kinds, key=order)
        lines.append(f"compared of {', '.join(kinds)}: queue, subject and answer" + (
            ", and the rule" if self.with_rule else "; not the rules of fair policies, because the policies differ"))
        if self.left_out:
            lines.append(f"not compared, because only one of the runs has them: {', '.join(self.left_out)}")
        total = sum(self.agreed.values())
        if not self.differences:
            rest = [f"{run.nr - total} more of {letter} come after the end of the other run"
                    for letter, run in (("A", self.a), ("B", self.b)) if run.nr > total]
            return [*lines, "", f"no difference: {total} decisions agree" + "".join(f"; {text}" for text in rest)]
        first = min(self.differences)
        before = sum(self._before(cpu, first.time) for cpu in self.agreed)
        lines += ["", f"first difference: on CPU {first.cpu}, after {first.agreed} equal decisions there and {before} "
                  "on all CPUs", ""]
        one, two = (run.decision(first.cpu, first.agreed) for run in (self.a, self.b))
        return lines + side_by_side(side("A", one), side("B", two)) + [""] + [
            f"{letter}: {line(d).strip()}" for letter, d in (("A", one), ("B", two)) if d]

    def _before(self, cpu: int, time: int) -> int:
        """How many decisions about @cpu agree and were made before @time."""
        times = (self.a if cpu in self.a.cpus else self.b).cpus[cpu].times
        start = (self.a if cpu in self.a.cpus else self.b).start
        nr = self.agreed[cpu]
        while nr and times[nr - 1] - start > time:
            nr -= 1
        return nr


def side(letter: str, d: Record | None) -> list[str]:
    """What stands on one side: who decided, when, the rows and the conclusion."""
    if d is None:
        return [f"{letter}: makes no further decision about this CPU"]
    of = f" of {d.policy}" if d.policy else ""
    return [f"{letter}: {ms(d.time)} ms, {d.kind}{of}", "", *family(d).table(d), "", family(d).conclusion(d)]
