# SPDX-License-Identifier: GPL-2.0-only
"""All kinds of decisions in one table: how each is read, told and compared. A new kind is an entry of FAMILIES.

    for decision in read("run.json"):
        print(decision.time, decision.cpu, decision.kind, decision.rule)
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from . import balancing, class_decisions, fair_decisions, fair_text, placements, quota_decisions
from .balancing import Pass
from .class_decisions import ClassDecision
from .decision_file import DecisionFile, Shape, open_file
from .fair_decisions import Decision, tree_names
from .placements import Placement
from .quota_decisions import PoolDecision, QueueDecision, QuotaDecision


class Record(Protocol):
    """What a decision of any kind has."""

    @property
    def time(self) -> int: ...

    @property
    def kind(self) -> str: ...

    @property
    def cpu(self) -> int: ...

    @property
    def group(self) -> int:
        """Of whose queue it is about; 0: the root's, or none."""

    @property
    def policy(self) -> str:
        """That decided; "" if no policy did."""

    @property
    def rule(self) -> str: ...

    @property
    def answer(self) -> int: ...

    @property
    def comm(self) -> str: ...

    @property
    def pid(self) -> int: ...

    @property
    def subject_group(self) -> int:
        """For which the subject stands; 0: it is a task, or there is none."""

    @property
    def subject(self) -> str:
        """The subject as people read it."""

    @property
    def candidates(self) -> tuple[Any, ...]:
        """Rows that are about tasks or groups: they have `comm` and `pid`."""


class OwnForm(NamedTuple):
    """How decisions of a kind look where there are no others."""

    line: Callable[[Any], str]
    counted: Callable[[Any], Iterable[tuple[str, str, str]]]  # for --stats: of what, which field, its value in words


class Family(NamedTuple):
    """Kinds of decisions that have one class."""

    shapes: tuple[Shape, ...]
    kinds: tuple[str, ...]
    rules: str                                     # the list of rule.def
    answer: Callable[[Any], str]                   # in words
    because: Callable[[Any], str]                  # the sentence of the rule; "" if this tree does not know it
    table: Callable[[Any], Iterable[str]]          # the rows, as lines
    conclusion: Callable[[Any], str]               # answer and rule as a sentence
    verdict: Callable[[Any], tuple[Any, ...]]      # what two runs must agree on, beside kind, queue, subject and rule
    whole: Callable[[Any], bool]                   # are all rows there that were recorded?
    own: OwnForm | None = None
    cpu: Callable[[Any], int] = lambda d: d.cpu    # that it is for; it may be made on another


def _of_class(d: ClassDecision) -> tuple[Any, ...]:
    return d.policy, bool(d.answer), d.to if d.kind in ("select", "push", "pull") else -1


def _of_quota(d: QuotaDecision) -> tuple[Any, ...]:
    return bool(d.answer), d.nr_waiting


_QUOTA = Family(
    quota_decisions.SHAPES, quota_decisions.KINDS, "GRANT", quota_decisions.answer,
    lambda d: quota_decisions.sentence(d.rule), quota_decisions.table, quota_decisions.conclusion, _of_quota,
    lambda d: True)
FAMILIES: dict[type, Family] = {
    Decision: Family(
        fair_decisions.SHAPES, fair_decisions.KINDS, "RULE", fair_text.answer,
        lambda d: fair_decisions.sentence(d.rule), fair_text.table, fair_text.conclusion, lambda d: (bool(d.answer),),
        lambda d: d.complete),
    ClassDecision: Family(
        class_decisions.SHAPES, class_decisions.KINDS, "REASON", class_decisions.answer,
        lambda d: class_decisions.sentence(d.rule), class_decisions.table, class_decisions.conclusion, _of_class,
        lambda d: d.complete),
    Placement: Family(
        placements.SHAPES, ("select",), "CPU", placements.answer, placements.because, placements.table,
        placements.conclusion, lambda p: (p.why, p.chosen, p.aim), lambda p: len(p.cpus) == p.nr_rows,
        OwnForm(placements.line, placements.counted), lambda p: p.chosen),
    Pass: Family(
        balancing.SHAPES, ("balance",), "BALANCE", balancing.answer, balancing.because, balancing.table,
        balancing.conclusion, lambda p: (p.level, p.idleness, p.outcome, p.source, p.nr_moved), lambda p: p.complete,
        OwnForm(balancing.line, balancing.counted)),
    QueueDecision: _QUOTA,
    PoolDecision: _QUOTA,
}
SHAPES = tuple(dict.fromkeys(shape for family in FAMILIES.values() for shape in family.shapes))
KINDS = tuple(dict.fromkeys(kind for family in FAMILIES.values() for kind in family.kinds))


def order(kind: str) -> tuple[int, str]:
    """Where @kind stands among all, to sort; kinds that this tool does not know come last."""
    return KINDS.index(kind) if kind in KINDS else len(KINDS), kind


def family(d: Record) -> Family:
    return FAMILIES[type(d)]


def has_own_form(kinds: Collection[str] | None) -> bool:
    """Is it one kind, and one with a form of its own?"""
    return kinds is not None and len(kinds) == 1 and any(of.own and set(of.kinds) >= set(kinds)
                                                         for of in FAMILIES.values())


def read(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Every decision of the file @path. Raises DecisionError if it is no good file of decisions."""
    yield from open_file(path).records(SHAPES)


def rules(file: DecisionFile) -> set[str]:
    """The rules that @file may name."""
    return file.names("rule").union(*(tree_names(of.rules) for of in FAMILIES.values()))


def policies(file: DecisionFile) -> set[str]:
    """The policies that @file may name."""
    return file.names("policy") | set(tree_names("POLICY")) | {QuotaDecision.policy}
