# SPDX-License-Identifier: GPL-2.0-only
"""Decisions of all kinds as text: a line for each, its rows and its conclusion, and the table of counts."""

import textwrap
from collections import Counter
from collections.abc import Iterable

from .decision_kinds import Record, family
from .fair_text import ms

WIDTH = 82  # of the first of two tables side by side
NARROW, AFTER_CPU = 80, 25  # a line that is folded goes on below the kind of its decision


def line(d: Record) -> str:
    """The decision as one line: time in ms, CPU, kind, policy, queue, subject, answer, rule and its sentence."""
    because = family(d).because(d)
    queue = f"g{d.group}" if d.group else ""
    return (f"{ms(d.time):>14} [{d.cpu:03}] {d.kind:7} {d.policy:8} {queue:4} {d.subject:18} "
            f"{family(d).answer(d):14} {d.rule}" + (f": {because}" if because else ""))


def folded(text: str) -> list[str]:
    """The line @text as lines of at most 80 columns."""
    return textwrap.wrap(text, NARROW, subsequent_indent=" " * AFTER_CPU, break_long_words=False,
                         break_on_hyphens=False)


def full(d: Record, path: str = "") -> list[str]:
    """The decision with its rows, as lines. @path is that of the group whose queue it is about."""
    queue = [f"queue of the group {path}"] if d.group and path else []
    return [line(d), *queue, "", *family(d).table(d), "", family(d).conclusion(d), ""]


def side_by_side(left: Iterable[str], right: Iterable[str]) -> list[str]:
    """Two texts beside each other."""
    a, b = list(left), list(right)
    rows = max(len(a), len(b))
    padded = zip(a + [""] * (rows - len(a)), b + [""] * (rows - len(b)))
    return [f"{one:<{WIDTH}} | {two}".rstrip() for one, two in padded]


def own(d: Record, whole: bool) -> list[str]:
    """The decision in its own form, with its rows if @whole, as lines."""
    form = family(d).own
    return [form.line(d) if form else line(d), *(family(d).table(d) if whole else ())]


# --- counts -----------------------------------------------------------------------------------------------------


class Shares:
    """How often each answer and each rule came, of decisions of a kind that has a form of its own."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], Counter[str]] = {}

    def add(self, d: Record) -> None:
        form = family(d).own
        for what, field, value in form.counted(d) if form else [(d.policy, "rule", family(d).because(d) or d.rule)]:
            self._counts.setdefault((what, field), Counter())[value] += 1

    def table(self) -> list[str]:
        """A table for each field, the most frequent value first."""
        lines = []
        for (what, field), counts in self._counts.items():
            lines.append(f"{what:>10}  {'share':>6}  {field}")
            lines += [f"{nr:>10}  {100 * nr / counts.total():5.1f}%  {value}" for value, nr in counts.most_common()]
        return lines


class Statistics:
    """How often each rule decided, by policy and kind."""

    HEAD = f"{'policy':9} {'kind':8} {'rule':20} {'decisions':>10} {'yes':>10} {'candidates':>11}"

    def __init__(self) -> None:
        self.decisions: Counter[tuple[str, str, str]] = Counter()
        self.yes: Counter[tuple[str, str, str]] = Counter()
        self.candidates: Counter[tuple[str, str, str]] = Counter()

    def add(self, d: Record) -> None:
        key = d.policy or "-", d.kind, d.rule
        self.decisions[key] += 1
        self.yes[key] += bool(d.answer)
        self.candidates[key] += len(d.candidates)

    @staticmethod
    def _line(key: tuple[str, str, str], nr: int, yes: int, candidates: int) -> str:
        return f"{key[0]:9} {key[1]:8} {key[2]:20} {nr:10} {yes:10} {candidates / nr:11.2f}"

    def table(self) -> list[str]:
        """A line for each rule, and one for all. `yes` counts answers; `candidates` is their mean number."""
        lines = [self._line(key, self.decisions[key], self.yes[key], self.candidates[key])
                 for key in sorted(self.decisions)]
        total = self._line(("all", "", ""), self.decisions.total(), self.yes.total(), self.candidates.total())
        return [self.HEAD, *lines, total]
