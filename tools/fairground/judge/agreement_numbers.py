# SPDX-License-Identifier: GPL-2.0-only
"""The numbers of decisions that kernel and simulator made alike: did the policy see the same there?

agreement.py aligns the decisions; here each aligned pair is compared, field by field. Time passes a little differently
on the two hosts: an operation of the kernel costs now more and now less, the simulator's cost always the same. So a
number that depends on time is not compared by itself, but with what its own host's records say of the time behind it.

    who, weight, slice, state    the tasks that are compared, and of each what does not depend on time: exact
    vruntime    how far a task moved since the aligned decision before, for what it was charged since: its `charge`
                records, each delta * 1024 / weight. The pace is the same, 1 unless a policy adds to it (BORE on CFS),
                but for what each charge loses by rounding: below 1 for whole ns, delta / 2^22 for a reciprocal of the
                weight with 32 bits (1024 delta / 2^32), and 1 by this sum. A task that was placed or got another
                weight or score meanwhile begins anew
    eligible    of tasks whose lag, by the numbers of their own host, has one sign on both: exact
    v           EEVDF's virtual time, counted from the mean of the vruntimes by weight: exact
    request     the virtual deadline less the vruntime, of a request that begins: exact
    lag         what a leaving task keeps, less its distance from v: 0, unless it is limited. The limits are the same
    delta       the ns of a charge, less the time since the charge before on that CPU: within time_bound()
    prio, position, bandwidth    of the tasks of a real-time or deadline class: exact (class Class)
    cpus        which CPUs there were for a placement, and which of them were free: exact

A decision that a task of the machinery around the workload takes part in is not compared: the simulator has none.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ..base import policies
from ..decisions.class_decisions import ClassDecision
from ..decisions.decision_kinds import Record
from ..decisions.fair_decisions import Candidate, Decision, Flag, difference
from ..decisions.placements import Flag as CpuFlag, Placement

STATE = Flag.RUNS | Flag.ASLEEP | Flag.IDLE | Flag.DUE | Flag.QUEUED | Flag.RELATIVE | Flag.THROTTLED
NICE_0 = 1024
Role = Callable[[Any], str]  # of a task with `comm` and `pid`; "" for the machinery around the workload


def time_bound(costs: Mapping[str, int]) -> int:
    """By how many ns decisions of one time may lie apart on the two hosts.

    A decision is made within an operation of the kernel: a tick or a timer, which may end in a switch. In the simulator
    an operation happens at one point of time, and then costs. So a decision, and each end of the time that a task is
    charged for, is off by one operation at most. What is counted from one such point to another is off by two.
    """
    return 2 * (max(costs.get("tick", 0), costs.get("timer", 0)) + costs.get("switch", 0))


class Seen(NamedTuple):
    """A record as a host wrote it."""

    nr: int      # in its file
    record: Any
    token: str   # what must be the same on both hosts
    time: int    # ns from the same moment of both runs
    others: int  # decisions about its CPU so far that are about tasks of the machinery


class Host:
    """What one of the hosts recorded about a CPU: who its tasks are, their charges, and when they were placed."""

    def __init__(self, role_of: Role, charges: Iterable[Seen], places: Iterable[Seen]) -> None:
        self.role_of = role_of
        self._charged: dict[str, tuple[list[int], list[int], list[int]]] = {}
        self._renewed: dict[str, list[int]] = {}
        scores: dict[str, int] = {}
        for nr, d, *_ in charges:
            role, row = role_of(d), d.candidates[0] if d.candidates else None
            nrs, virtual, rounding = self._charged.setdefault(role, ([-1], [0], [0]))
            nrs.append(nr)
            virtual.append(virtual[-1] + d.delta * NICE_0 // (row or d).weight)
            rounding.append(rounding[-1] + 2 + (d.delta >> 22))
            if row and scores.setdefault(role, row.score) != row.score:
                self._renewed.setdefault(role, []).append(nr)
                scores[role] = row.score
        for nr, d, *_ in places:
            self._renewed.setdefault(role_of(d), []).append(nr)
        for renewals in self._renewed.values():
            renewals.sort()

    def charged(self, role: str, nr: int) -> tuple[int, int]:
        """The virtual time charged to @role before record @nr, and by how much rounding may have changed it."""
        nrs, virtual, rounding = self._charged.get(role, ([-1], [0], [0]))
        place = bisect_left(nrs, nr) - 1
        return virtual[place], rounding[place]

    def renewed(self, role: str, nr: int) -> int:
        """How often @role was placed, or charged with another score than before, before record @nr."""
        return bisect_left(self._renewed.get(role, []), nr)

    def rows(self, d: Record) -> dict[str, Any]:
        return {self.role_of(row): row for row in d.candidates}


class Mark(NamedTuple):
    """Where a task was at an aligned decision, on one host."""

    became: tuple[int, int, int]  # its weight, its score, how often it was renewed
    vruntime: int
    charged: int
    rounding: int


def mark(host: Host, role: str, c: Candidate, nr: int) -> Mark:
    return Mark((c.weight, c.score, host.renewed(role, nr)), c.vruntime, *host.charged(role, nr))


def since(then: Mark, now: Mark) -> tuple[int, int, int]:
    """(virtual time charged, how far the task moved, what rounding may have changed) from @then to @now."""
    return now.charged - then.charged, difference(now.vruntime, then.vruntime), now.rounding - then.rounding


def at_one_pace(ours: tuple[Mark, Mark], theirs: tuple[Mark, Mark]) -> bool:
    """Did a task move as far for what it was charged? Each host's marks: before, and now."""
    (charged, moved, loss), (other_charged, other_moved, other_loss) = since(*ours), since(*theirs)
    most, way = (charged, moved) if charged > other_charged else (other_charged, other_moved)
    pace = Fraction(way, most) if most else Fraction(1)
    bound = (loss + other_loss) * max(abs(pace), Fraction(1))
    return abs(moved - other_moved - pace * (charged - other_charged)) <= bound


# --- fair policies ------------------------------------------------------------------------------------------------


def lead(c: Candidate, rows: Iterable[Candidate]) -> int:
    """By how much the others of @rows that are queued are ahead of @c, each times its weight. Its sign is the lag's."""
    return sum(row.weight * difference(row.vruntime, c.vruntime) for row in rows if row.has(Flag.QUEUED))


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


def are_all(d: Decision) -> bool:
    """Are all tasks that are queued among the candidates, and is there one?"""
    return 0 < d.nr_queued == sum(c.has(Flag.QUEUED) for c in d.candidates)


def beyond_mean(d: Decision) -> int:
    """v, counted from the mean of the queued tasks' vruntimes, rounded down."""
    queued = [c for c in d.candidates if c.has(Flag.QUEUED)]
    return difference(d.v, queued[0].vruntime) - lead(queued[0], queued) // sum(c.weight for c in queued)


def one_limit(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Were @a and @b, each (a number, what it is if nothing limits it), made with the same limits?"""
    (number, free), (other, other_free) = a, b
    if abs((number - free) - (other - other_free)) <= 1 or number == other:
        return True
    limited, whole = (number, other) if abs(number - free) > 1 else (other, number)
    return abs(whole) <= abs(limited) + 1


class Fair:
    """Pairs of decisions of fair policies of one kind, about one CPU, in their order."""

    def __init__(self, ours: Host, theirs: Host, bound: int) -> None:
        self._hosts, self._bound = (ours, theirs), bound
        self._marks: dict[str, tuple[Mark, Mark]] = {}

    def fields(self, a: Seen, b: Seen, stretch: int | None) -> Iterator[str]:
        """The names of the fields in which @a and @b disagree.

        @stretch: by how many ns more passed in @a's run since the decision before, if those before were a pair too.
        """
        d, e = a.record, b.record
        rows, others = (host.rows(seen) for host, seen in zip(self._hosts, (d, e)))
        for role, c in rows.items():
            other = others[role]
            if c.score == other.score and c.weight != other.weight:
                yield "weight"
            if c.slice != other.slice:
                yield "slice"
            yield from self._moved(role, mark(self._hosts[0], role, c, a.nr), mark(self._hosts[1], role, other, b.nr))
            if (are_all(d) and are_all(e) and c.has(Flag.ELIGIBLE) != other.has(Flag.ELIGIBLE)
                    and sign(lead(c, rows.values())) == sign(lead(other, others.values()))):
                yield "eligible"
        if policies.claim(d.policy, "eligible") and are_all(d) and are_all(e) and beyond_mean(d) != beyond_mean(e):
            yield "v"
        yield from self._subject(d, e, rows, others, stretch)

    def rest(self) -> Iterator[str]:
        yield from ()

    def _moved(self, role: str, ours: Mark, theirs: Mark) -> Iterator[str]:
        before = self._marks.get(role)
        self._marks[role] = ours, theirs
        steady = before and before[0].became == ours.became and before[1].became == theirs.became
        if before and steady and ours.became[1] == theirs.became[1] and not at_one_pace(
                (before[0], ours), (before[1], theirs)):
            yield "vruntime"

    def _subject(self, d: Decision, e: Decision, rows: Mapping[str, Candidate],
                 others: Mapping[str, Candidate], stretch: int | None) -> Iterator[str]:
        """What became of the subject."""
        c, other = rows.get(self._hosts[0].role_of(d)), others.get(self._hosts[1].role_of(e))
        if not c or not other:
            return
        if d.kind == "charge" and stretch is not None and abs(d.delta - e.delta - stretch) > self._bound:
            yield "delta"
        if (policies.claim(d.policy, "requests") and d.kind == "charge"
                and d.weight == c.weight == e.weight == other.weight and d.deadline != c.deadline
                and e.deadline != other.deadline
                and difference(d.deadline, d.vruntime) != difference(e.deadline, e.vruntime)):
            yield "request"
        if d.kind == "leave" and policies.claim(d.policy, "eligible") and not one_limit(
                (d.lag, difference(d.v, d.vruntime)), (e.lag, difference(e.v, e.vruntime))):
            yield "lag"


# --- other decisions ----------------------------------------------------------------------------------------------


class Class:
    """The same of the classes above the fair one. A timer and a tick at one time may change places, and an RR slice is
    then a tick longer. So slices are compared by the longest of all ticks, and places in a list where all slices are
    the same.
    """

    def __init__(self, ours: Host, theirs: Host, _: int) -> None:
        self._hosts = ours, theirs
        self._longest: tuple[dict[str, int], ...] = ({}, {})

    def fields(self, a: Seen, b: Seen, _: int | None) -> Iterator[str]:
        rows, others = (host.rows(seen.record) for host, seen in zip(self._hosts, (a, b)))
        for of, longest in zip((rows, others), self._longest):
            for role, row in of.items() if a.record.kind == "tick" else ():
                longest[role] = max(longest.get(role, 0), row.slice)
        one_state = all(row.slice == others[role].slice for role, row in rows.items())
        for role, row in rows.items():
            other = others[role]
            for name, ours, theirs in (
                    ("prio", row.prio, other.prio), ("cpus", row.nr_allowed, other.nr_allowed),
                    ("position", row.position * one_state, other.position * one_state),
                    ("bandwidth", (row.bw, row.runtime, row.relative, row.period),
                     (other.bw, other.runtime, other.relative, other.period))):
                if ours != theirs:
                    yield name

    def rest(self) -> Iterator[str]:
        """The fields that disagree over all pairs."""
        if self._longest[0] != self._longest[1]:
            yield "slice"


class Choice:
    """The same of placements."""

    def __init__(self, *_: Any) -> None:
        pass

    def fields(self, a: Seen, b: Seen, _: int | None) -> Iterator[str]:
        looks = [{(cpu.of_cpu, cpu.cache, cpu.flags & ~CpuFlag.CHANGED, cpu.capacity) for cpu in seen.record.cpus}
                 for seen in (a, b)]
        if looks[0] != looks[1]:
            yield "cpus"

    def rest(self) -> Iterator[str]:
        yield from ()


READERS: dict[type, Callable[..., Any]] = {Decision: Fair, ClassDecision: Class, Placement: Choice}


class Compared(NamedTuple):
    """Pairs of which numbers were compared, pairs that disagree, and the fields in which they do, by rule."""

    pairs: int
    wrong: int
    fields: Counter[str]

    def plus(self, other: "Compared") -> "Compared":
        return Compared(self.pairs + other.pairs, self.wrong + other.wrong, self.fields + other.fields)


def state(host: Host, d: Record) -> dict[str, int]:
    """Who takes part in @d, and what each does."""
    return {role: row.flags & STATE for role, row in host.rows(d).items()}


def moments(ours: Sequence[Seen], theirs: Sequence[Seen], bound: int) -> Iterator[tuple[int, int]]:
    """The places in @ours and @theirs of the same decisions, made at one time but for @bound ns."""
    begin = 0
    for i, a in enumerate(ours):
        while begin < len(theirs) and theirs[begin].time < a.time - bound:
            begin += 1
        for j in range(begin, len(theirs)):
            if theirs[j].time > a.time + bound:
                break
            if theirs[j].token == a.token:
                yield i, j
                begin = j + 1
                break


def compare_numbers(ours: Sequence[Seen], theirs: Sequence[Seen], hosts: tuple[Host, Host], bound: int) -> Compared:
    """Compare the numbers of decisions about one CPU, of one kind, in their order."""
    readers: dict[type, Any] = {}
    nr = wrong = 0
    fields: Counter[str] = Counter()
    last, rule = (-2, -2), ""
    for i, j in moments(ours, theirs, bound):
        a, b = ours[i], theirs[j]
        here, there = (state(host, seen.record) for host, seen in zip(hosts, (a, b)))
        if here != there or "" in here or type(a.record) not in READERS:
            continue
        c, d = ours[i - 1], theirs[j - 1]
        undisturbed = last == (i - 1, j - 1) and (c.others, d.others) == (a.others, b.others)
        kind = type(a.record)
        if kind not in readers:
            readers[kind] = READERS[kind](*hosts, bound)
        reader = readers[kind]
        found = set(reader.fields(a, b, (a.time - c.time) - (b.time - d.time) if undisturbed else None))
        last, rule, nr, wrong = (i, j), a.record.rule, nr + 1, wrong + bool(found)
        fields.update(f"{a.record.rule}: {name}" for name in sorted(found))
    rest = [f"{rule}: {name}" for reader in readers.values() for name in reader.rest()]
    return Compared(nr, wrong + len(rest), fields + Counter(rest))
