# SPDX-License-Identifier: GPL-2.0-only
"""Runs of many seeds: the mean of each metric with its interval, policies compared by a test, and the picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import stats
from .stats import Difference, Mean

TABLE = "{:<44} {:<10} {:>27} {:>27} {:>6} {:<10} {:>7}  {}"
MEANS = "{:<44} {:<10} {:>27}"
MOST_PANELS = 12


@dataclass(frozen=True)
class Series:
    """What one metric was in each run: of a host, in a case, under a policy."""

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
    """A metric under two policies."""

    a: Series
    b: Series
    difference: Difference
    p: float  # corrected for the number of all @tests
    tests: int

    @property
    def verdict(self) -> str:
        return stats.verdict(self.difference, self.p, self.tests)

    def as_json(self) -> dict[str, Any]:
        return {"host": self.a.host, "case": self.a.case, "metric": self.a.metric, "policies": [self.a.policy,
                self.b.policy], **asdict(self.difference), "size": self.difference.size, "p_corrected": self.p,
                "verdict": self.verdict}


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


def compare(found: Sequence[Series]) -> list[Compared]:
    """Each series with that of the first policy. All tests are corrected for their number; where no sample differs from
    another there is nothing to test."""
    base: dict[tuple[str, str, str], Series] = {}
    pairs = [(base[each.what], each) for each in found if base.setdefault(each.what, each) is not each]
    differences = [stats.difference(a.samples, b.samples) for a, b in pairs]
    tested = [nr for nr, (a, b) in enumerate(pairs) if len({*a.samples, *b.samples}) > 1]
    ps = dict(zip(tested, stats.holm([differences[nr].p for nr in tested])))
    return [Compared(a, b, each, ps.get(nr, 1.0), len(tested))
            for nr, ((a, b), each) in enumerate(zip(pairs, differences))]


def label(of: Series) -> str:
    return f"{of.case}: {of.metric}"


def comparisons(compared: Sequence[Compared]) -> str:
    """A line for each: both means, the size of the difference, and what the test says."""
    lines = [TABLE.format("metric", "host", "first policy", "second policy", "delta", "size", "p", "second is")]
    for one in compared:
        d = one.difference
        lines.append(TABLE.format(f"{one.a.policy}, {one.b.policy}, {label(one.a)}", one.a.host, d.a.text(), d.b.text(),
                                  f"{d.delta:+.2f}", d.size, f"{one.p:.3f}", one.verdict))
    return "\n".join(lines)


def table(found: Sequence[Series], compared: Sequence[Compared]) -> str:
    """Means; then, for metrics under two policies, the difference and what the test says."""
    lines = [MEANS.format("metric", "host", "mean [95 % interval]"), *(
        MEANS.format(f"{each.policy}, {label(each)}", each.host, stats.mean(each.samples).text()) for each in found)]
    return "\n".join(lines) + ("\n\n" + comparisons(compared) if compared else "")


def draw(figure: Any, found: Sequence[Series]) -> None:
    """A panel for each metric: means of each case and policy, with intervals as error bars, and every sample."""
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
        means: list[Mean] = [stats.mean(each.samples) for each in of_metric]
        for at, (each, mean) in enumerate(zip(of_metric, means)):
            axes.plot(each.samples, [at] * mean.nr, "|", color="0.6", markersize=7)
            axes.errorbar(mean.mean, at, xerr=[[mean.mean - mean.low], [mean.high - mean.mean]], fmt="o", color="black",
                          markersize=4, capsize=3)
        axes.set_yticks(range(len(of_metric)), [f"{each.policy}, {each.case}" for each in of_metric], fontsize=7)
        axes.set_ylim(len(of_metric) - 0.5, -0.5)
        axes.set_title(f"{metric}, {host}", fontsize=9)
    for axes in panels[len(chosen):]:
        axes.set_axis_off()
