# SPDX-License-Identifier: GPL-2.0-only
"""Runs of many seeds: the median of each metric with its interval, sides compared by a test, and the picture."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import stats
from .stats import Difference, Median

TABLE = "{:<34} {:>27} {:>27} {:>29} {:>8} {:>6}  {}"
MEDIANS = "{:<44} {:<10} {:>27}"
MOST_PANELS = 12


@dataclass(frozen=True)
class Series:
    """What one metric was in each run: of a host, in a case, of a side. A side is a policy or another variant."""

    host: str
    case: str
    policy: str
    metric: str  # what it is, in words
    samples: tuple[float, ...]

    @property
    def what(self) -> tuple[str, str, str]:
        return self.host, self.case, self.metric


@dataclass(frozen=True)
class Compared:
    """A metric of two sides."""

    a: Series
    b: Series
    difference: Difference
    p: float        # corrected for the number of all @tests
    equal_p: float  # so is the p of equality
    tests: int

    @property
    def verdict(self) -> str:
        return stats.verdict(self.difference, self.p, self.equal_p, self.tests)

    @property
    def more_seeds(self) -> int | None:
        """How many more seeds would show a difference as large as it seems; 0 if it is shown, None if none would."""
        needed = stats.pairs_needed(self.difference, self.tests)
        if self.p < stats.LEVEL:
            return 0
        return int(max(1, needed - self.difference.nr)) if needed <= stats.MOST_PAIRS else None

    @property
    def said(self) -> str:
        """The verdict, and what would change it."""
        if self.a.samples == self.b.samples:
            return "the same in every pair"
        if self.equal_p < stats.LEVEL:
            return f"{self.verdict}{', but' * (self.verdict != 'equal')} within {100 * self.margin_part:.3g} %"
        if self.p >= stats.LEVEL and self.more_seeds:
            return f"{self.verdict}: {self.more_seeds} more for this one"
        return self.verdict

    @property
    def margin_part(self) -> float:
        """What counts as equal, as a part of the first side's median."""
        return self.difference.margin / abs(self.difference.a.median)

    def as_json(self) -> dict[str, Any]:
        return {"host": self.a.host, "case": self.a.case, "metric": self.a.metric, "policies": [self.a.policy,
                self.b.policy], **asdict(self.difference), "p_corrected": self.p, "equal_p_corrected": self.equal_p,
                "verdict": self.verdict, "more_seeds": self.more_seeds}


def series(by_seed: Mapping[int, Mapping[str, Any]], metrics: Mapping[str, str]) -> Iterator[Series]:
    """Each metric that is a number in every run. by_seed[seed][host][policy][case][metric]."""
    first = next(iter(by_seed.values()))
    for host, of_host in first.items():
        for policy, cases in of_host.items():
            for case, figures in cases.items():
                for name, text in metrics.items():
                    values = [found[host][policy][case].get(name) for found in by_seed.values()]
                    if name in figures and all(isinstance(value, int | float) for value in values):
                        yield Series(host, case, policy, text, tuple(map(float, values)))


def compare(found: Sequence[Series], within: float = stats.WITHIN) -> list[Compared]:
    """Each series with that of the first side, run by run. All tests are corrected for their number; where no pair
    differs there is nothing to test. Up to the part @within of the first side's median counts as equal."""
    base: dict[tuple[str, str, str], Series] = {}
    pairs = [(base[each.what], each) for each in found if base.setdefault(each.what, each) is not each]
    differences = [stats.difference(a.samples, b.samples, within) for a, b in pairs]
    tested = [nr for nr, (a, b) in enumerate(pairs) if a.samples != b.samples]
    ps = dict(zip(tested, stats.holm([differences[nr].p for nr in tested])))
    equal = dict(zip(tested, stats.holm([differences[nr].equal_p for nr in tested])))
    return [Compared(a, b, each, ps.get(nr, 1.0), equal.get(nr, 0.0), len(tested))
            for nr, ((a, b), each) in enumerate(zip(pairs, differences))]


def label(of: Series) -> str:
    return f"{of.case}: {of.metric}"


def comparisons(compared: Sequence[Compared], names: Mapping[str, str] | None = None) -> str:
    """A table for each case, host and pair of sides: a line for each metric with both medians, the difference, and what
    the test says. @names has what sides are called there."""
    lines: list[str] = []
    names = names or {}
    for (case, host, a, b), of_pair in itertools.groupby(compared, lambda one: (
            one.a.case, one.a.host, one.a.policy, one.b.policy)):
        a, b = names.get(a, a), names.get(b, b)
        lines += ["", TABLE.format(f"{case}, {host}", a, b, "difference of pairs", "change", "p", f"{b} is")]
        for one in of_pair:
            d = one.difference
            lines.append(TABLE.format(one.a.metric, d.a.text(), d.b.text(), d.text(), changed(d), f"{one.p:.3f}",
                                      one.said).rstrip())
    return "\n".join(lines[1:])


def changed(found: Difference) -> str:
    """The difference as a part of the first side."""
    return "-" if found.part is None else f"{100 * found.part:+.1f} %"


def table(found: Sequence[Series], compared: Sequence[Compared]) -> str:
    """Medians; then, for metrics of two sides, the difference and what the test says."""
    lines = [MEDIANS.format("metric", "host", "median [95 % interval]"), *(
        MEDIANS.format(f"{each.policy}, {label(each)}", each.host, stats.median(each.samples).text())
        for each in found)]
    return "\n".join(lines) + ("\n\n" + comparisons(compared) if compared else "")


def draw(figure: Any, found: Sequence[Series]) -> None:
    """A panel for each metric: medians of each case and policy, with intervals as error bars, and every sample."""
    by_metric: dict[tuple[str, str], list[Series]] = {}
    for each in found:
        by_metric.setdefault((each.host, each.metric), []).append(each)
    chosen = {what: sorted(of_metric, key=lambda each: [other.case for other in found].index(each.case))
              for what, of_metric in list(by_metric.items())[:MOST_PANELS]}
    columns = min(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    figure.set_size_inches(5.5 * columns, rows * (1.2 + 0.2 * max(map(len, chosen.values()))))
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, ((host, metric), of_metric) in zip(panels, chosen.items()):
        medians: list[Median] = [stats.median(each.samples) for each in of_metric]
        for at, (each, m) in enumerate(zip(of_metric, medians)):
            axes.plot(each.samples, [at] * m.nr, "|", color="0.6", markersize=7)
            axes.errorbar(m.median, at, xerr=[[m.median - m.low], [m.high - m.median]], fmt="o", color="black",
                          markersize=4, capsize=3)
        axes.set_yticks(range(len(of_metric)), [f"{each.policy}, {each.case}" for each in of_metric], fontsize=7)
        axes.set_ylim(len(of_metric) - 0.5, -0.5)
        axes.set_title(f"{metric}, {host}", fontsize=9)
    for axes in panels[len(chosen):]:
        axes.set_axis_off()
