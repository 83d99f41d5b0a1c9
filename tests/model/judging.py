# SPDX-License-Identifier: GPL-2.0-only
"""The frame of all judges: it reads a file of decisions, lets judges look at each, and counts and prints verdicts.

A file that cannot be judged is refused with one sentence and status 2: damaged, of another version, with a policy that
has no name, or without a decision for the judge. Where events were lost, a judge that goes by what the file told before
says nothing: its verdicts count as not judged, and the end is a message and status 2.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from fairground.decisions import decision_kinds  # noqa: E402  how a file is read is all that is shared
from fairground.decisions.decision_file import DecisionError, DecisionFile, open_file  # noqa: E402

Key = tuple[str, str]  # a policy or a family of decisions, and what was decided
Verdict = str | None   # why a decision is wrong; "" if it is right; None if it is not judged
Finding = tuple[Key, str, Verdict]  # the decision in words

RIGHT, NOT_JUDGED = "", None
MS = 1_000_000
PRINTED = 5  # wrong decisions of each key
USUAL_HZ = 250
WRONG, REFUSED = 1, 2


@dataclass(frozen=True)
class Run:
    """What a file is of."""

    cpus: int
    hz: int
    header: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    lost: int = 0  # events that the file lacks


class Judge:
    """A judge of one file. The records of its @kinds go through judge(), in their order; end() comes last."""

    kinds: tuple[type, ...] = ()
    remembers = True  # it goes by what the file told before, so it knows nothing where events were lost
    numbers: dict[str, int] = {}  # options that are numbers, and their defaults
    changes = False  # is there an option --set?

    def __init__(self, run: Run) -> None:
        self.run = run

    def judge(self, d: Any) -> Iterable[Finding]:
        """What there is to say of @d."""
        raise NotImplementedError

    def end(self) -> Iterable[Finding]:
        """What could be said only at the end."""
        return ()


@dataclass
class Findings:
    """{key: [right, not judged, wrong]} of a file, the first wrong decisions of each, and the number of lost events."""

    counts: dict[Key, list[int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    lost: int = 0

    def add(self, key: Key, words: str, verdict: Verdict) -> None:
        count = self.counts.setdefault(key, [0, 0, 0])
        count[2 if verdict else 1 if verdict is None else 0] += 1
        if verdict and count[2] <= PRINTED:
            self.wrong.append(f"{words}: {verdict}")

    def sums(self) -> tuple[int, int, int]:
        """(right, not judged, wrong) of all."""
        right, unjudged, wrong = (sum(count[i] for count in self.counts.values()) for i in range(3))
        return right, unjudged, wrong

    def nr(self) -> int:
        return sum(self.sums())


def words_of(d: Any) -> str:
    """A decision as a complaint names it."""
    return f"{d.time / MS:.6f} ms, CPU {d.cpu}: {d.policy} {d.kind} {d.subject} {d.rule}".replace(":  ", ": ")


def records_of(file: DecisionFile, kinds: tuple[type, ...]) -> Iterator[Any]:
    """The records of @kinds. Raises DecisionError at a policy that nobody knows."""
    shapes = dict.fromkeys(shape for kind in kinds for shape in decision_kinds.FAMILIES[kind].shapes)
    policies = {"", *decision_kinds.policies(file)}
    for d in file.records(list(shapes)):
        if d.policy not in policies:
            raise DecisionError(f"no policy is called {d.policy!r}, which decides at {d.time} ns")
        yield d


def hz_of(header: dict[str, Any], given: int | None) -> int:
    """Ticks a second: what the file says, or what was @given if it does not say it."""
    told = header.get("hz")
    if isinstance(told, int) and told > 0:
        if given not in (None, told):
            raise DecisionError(f"the run had {told} ticks a second: leave out --hz {given}")
        return told
    return given or USUAL_HZ


def examine(path: str, kinds: Sequence[type[Judge]], hz: int | None = None,
            options: dict[str, Any] | None = None) -> Findings:
    """What the judges @kinds find in the file @path. Raises DecisionError if it cannot be judged."""
    file = open_file(path)
    about = file.provenance
    run = Run(about.cpus, hz_of(about.header, hz), about.header, options or {}, file.lost)
    judges = [kind(run) for kind in kinds]
    found = Findings(lost=file.lost)

    def note(judge: Judge, findings: Iterable[Finding]) -> None:
        for key, words, verdict in findings:
            found.add(key, words, NOT_JUDGED if file.lost and judge.remembers else verdict)

    for d in records_of(file, tuple(dict.fromkeys(of for judge in judges for of in judge.kinds))):
        for judge in judges:
            if isinstance(d, judge.kinds):
                note(judge, judge.judge(d))
    for judge in judges:
        note(judge, judge.end())
    return found


def table(path: str, found: Findings) -> Iterator[str]:
    yield f"{path}: {'policy':12} {'decision':12} {'right':>10} {'not judged':>11} {'wrong':>7}"
    for (policy, what), (right, unjudged, wrong) in sorted(found.counts.items()):
        yield f"{path}: {policy:12} {what:12} {right:10} {unjudged:11} {wrong:7}"


def shortcoming(found: Findings) -> str:
    """Why there is no verdict about the whole file; "" if there is one."""
    if found.lost:
        return (f"{found.lost} events were lost, so not all could be judged: record it again with a larger buffer, or "
                "for a shorter time")
    right, unjudged, wrong = found.sums()
    if not found.counts:
        return "it has no decision for this judge"
    if not right + wrong:
        return f"none of its {unjudged} decisions could be judged"
    return ""


def judge_path(path: str, kind: type[Judge], hz: int | None, options: dict[str, Any]) -> int:
    """Judge and print. Returns the exit status."""
    try:
        found = examine(path, [kind], hz, options)
    except DecisionError as problem:
        print(f"{path}: {problem}", file=sys.stderr)
        return REFUSED
    for text in found.wrong:
        print(f"{path}: {text}")
    if found.counts:
        print("\n".join(table(path, found)))
    lacks = shortcoming(found)
    if lacks:
        print(f"{path}: {lacks}", file=sys.stderr)
    return WRONG if found.sums()[2] else REFUSED if lacks else 0


def change(text: str) -> tuple[str, int]:
    """NAME=VALUE."""
    name, _, value = text.partition("=")
    return name, int(value)


def main(doc: str | None, kind: type[Judge]) -> int:
    """The command FILE... [--hz N]. Status 1: a decision is wrong; 2: not all could be judged."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--hz", type=int, help=f"of a run whose file does not say it (default {USUAL_HZ})")
    for name, default in kind.numbers.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    if kind.changes:
        parser.add_argument("--set", action="append", default=[], type=change, metavar="NAME=VALUE",
                            help="a tunable that was changed")
    given = vars(parser.parse_args())
    files, hz = given.pop("files"), given.pop("hz")
    return max(judge_path(path, kind, hz, given) for path in files)
