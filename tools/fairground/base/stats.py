# SPDX-License-Identifier: GPL-2.0-only
"""Many samples: means with intervals, sizes of differences, and tests of two groups of runs (docs/measuring.md).

The interval is the bootstrap's (B. Efron, 1979; percentiles of the means of 2,000 resamples), the size of a difference
Cliff's delta (N. Cliff, 1993), the test that of Mann and Whitney (1947), by scipy. Many tests at once are corrected as
S. Holm does (1979). All of it is a function of the samples.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from .option_values import as_number, shortened
from .packages import load
from .settings import UsageError

LEVEL = 0.05
RESAMPLES = 2000
LAST_SEED, MOST_SEEDS = (1 << 31) - 1, 100_000
SIZES = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (1.0, "large"))  # of |delta|; J. Romano, 2006


@dataclass(frozen=True)
class Mean:
    """A mean and the interval in which it lies with 95 % confidence."""

    mean: float
    low: float
    high: float
    nr: int

    def text(self, form: str = "{:.4g}") -> str:
        if self.nr == 1:
            return form.format(self.mean)
        return f"{form.format(self.mean)} [{form.format(self.low)}, {form.format(self.high)}]"


@dataclass(frozen=True)
class Difference:
    """How the samples of b differ from those of a."""

    a: Mean
    b: Mean
    delta: float  # Cliff's: the part of pairs in which b is larger less the part in which a is
    p: float      # of the test that both are samples of the same

    @property
    def size(self) -> str:
        return next(name for limit, name in SIZES if abs(self.delta) <= limit)


def parse_seeds(text: str) -> list[int]:
    """The seeds of `1..20`, of `1,5,9` or of both."""
    found: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        low = as_number(first, 1, LAST_SEED)
        high = as_number(last, 1, LAST_SEED) if dots else low
        if low is None or high is None or high < low:
            raise UsageError(f"--seeds {shortened(text)}: numbers and ranges are expected, as 1..20 or 1,5,9, of "
                             f"numbers from 1 to {LAST_SEED}")
        if len(found) + high - low >= MOST_SEEDS:
            raise UsageError(f"--seeds {shortened(text)}: at most {MOST_SEEDS} seeds are expected")
        found += range(low, high + 1)
    if not found or len(set(found)) != len(found):
        raise UsageError(f"--seeds {shortened(text)}: different numbers are expected, at least one")
    return found


def mean(samples: Sequence[float]) -> Mean:
    """The mean of @samples and its interval."""
    numpy = load("numpy", "an interval")
    values = numpy.asarray(samples, dtype=float)
    centre = float(values.mean())
    if len(values) == 1 or (values == values[0]).all():
        return Mean(centre, centre, centre, len(values))
    found = load("scipy.stats", "an interval").bootstrap(
        (values,), numpy.mean, n_resamples=RESAMPLES, method="percentile", random_state=1).confidence_interval
    return Mean(centre, float(found.low), float(found.high), len(values))


def standard_error(samples: Sequence[float]) -> float:
    """The standard error of the mean of @samples, in their unit; 0 of one."""
    return statistics.stdev(samples) / math.sqrt(len(samples)) if len(samples) > 1 else 0.0


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float:
    """From -1, each of @b is less than each of @a, to 1."""
    return sum((y > x) - (y < x) for x in a for y in b) / (len(a) * len(b))


def difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    """Compare the samples @b with the samples @a."""
    if set(a) | set(b) == set(a) & set(b) and len(set(a)) == 1:
        p = 1.0
    else:
        p = float(load("scipy.stats", "a test").mannwhitneyu(a, b, alternative="two-sided").pvalue)
    return Difference(mean(a), mean(b), cliffs_delta(a, b), p)


def holm(ps: Sequence[float]) -> list[float]:
    """Each p of several tests, corrected for their number."""
    corrected, highest = [0.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, ps[at] * (len(ps) - rank)))
        corrected[at] = highest
    return corrected


def can_show(a: int, b: int, tests: int) -> bool:
    """Could one of @tests show a difference between @a and @b samples? The p of two groups without overlap is the
    least."""
    return 2 / math.comb(a + b, a) * tests < LEVEL


def fewest(tests: int) -> int:
    """The samples that each of two groups needs at least, so that one of @tests can show a difference."""
    return next(nr for nr in itertools.count(1) if can_show(nr, nr, tests))


def verdict(found: Difference, p: float, tests: int = 1) -> str:
    """What may be said of b, with @p corrected for @tests: higher, lower, or that nothing was shown."""
    if not can_show(found.a.nr, found.b.nr, tests):
        return "too few seeds"
    if p >= LEVEL:
        return "no difference shown"
    return "higher" if found.delta > 0 else "lower"
