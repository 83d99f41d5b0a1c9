# SPDX-License-Identifier: GPL-2.0-only
"""Runs of many seeds: medians with intervals, and differences of pairs of runs (docs/measuring.md).

The interval of a median is between two of the samples in order, whatever shape they have. Two sides run the same
seeds, so run by run they are pairs. The test is F. Wilcoxon's of signed ranks (1945), by scipy; the size of a
difference is the estimate of J. Hodges and E. Lehmann (1963) with the interval that belongs to that test.
Equality within a margin is shown by two tests of one side each (D. Schuirmann, 1987). Many tests at once are corrected
as S. Holm does (1979). G. Noether's formula (1987) says how many pairs a difference needs. All of it is a function of
the samples.
"""

import functools
import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .option_values import as_number, shortened
from .packages import load
from .settings import UsageError

LEVEL = 0.05         # of tests, and 1 - LEVEL of intervals
WITHIN = 0.01        # of a's median: differences up to that count as equal
POWER = 0.8
EXACT = 12           # differences of which every combination of signs is tried
FEW = 5              # samples whose ranks alone give no interval of 1 - LEVEL
MOST_PAIRS = 1000
LAST_SEED, MOST_SEEDS = (1 << 31) - 1, 100_000


@dataclass(frozen=True)
class Median:
    """A median and the interval in which that of all runs lies with 95 % confidence."""

    median: float
    low: float
    high: float
    nr: int

    def text(self, form: str = "") -> str:
        return with_interval(self.median, self.low, self.high, self.nr, form)


def number(value: float, sign: str = "") -> str:
    """The @value with four digits, or all before the point if it has more; with a sign if @sign is +."""
    return f"{value:{sign}.0f}" if abs(value) >= 1e4 else f"{value:{sign}.4g}"


def with_interval(value: float, low: float, high: float, nr: int, form: str = "", sign: str = "") -> str:
    """The @value of @nr samples with its interval, as 3 [2, 4]; of one sample alone. @form: how a number is written."""
    said = [form.format(each) if form else number(each, sign) for each in (value, low, high)]
    return said[0] + (f" [{said[1]}, {said[2]}]" if nr > 1 else "")


@dataclass(frozen=True)
class Difference:
    """How the samples of b differ from those of a, pair by pair."""

    a: Median
    b: Median
    shift: float    # Hodges and Lehmann's estimate: the median of all means of two differences
    low: float      # its interval
    high: float
    p: float        # of the test that neither side is the larger
    margin: float   # what counts as equal
    equal_p: float  # of the test that the sides differ by @margin or more
    more: float     # the part of all means of two differences that is positive: how clear the direction is

    @property
    def nr(self) -> int:
        return self.a.nr

    @property
    def part(self) -> float | None:
        """The difference as a part of a's median; None of 0."""
        return self.shift / abs(self.a.median) if self.a.median else None

    def text(self) -> str:
        return with_interval(self.shift, self.low, self.high, self.nr, sign="+")


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


def median(samples: Sequence[float]) -> Median:
    """The median of @samples and its interval."""
    values, nr = sorted(samples), len(samples)
    cut = max(1, below_median(nr))
    return Median(statistics.median(values), *widened(values, values[cut - 1], values[-cut]), nr)


@functools.cache
def below_median(nr: int) -> int:
    """So many of @nr samples are below the median, or fewer, with a probability of LEVEL / 2 or just above."""
    return int(load("scipy.stats", "an interval").binom.ppf(LEVEL / 2, nr, 0.5))


@functools.cache
def students(nr: int) -> float:
    """How many standard errors Student's interval of @nr samples reaches to each side."""
    return float(load("scipy.stats", "an interval").t.ppf(1 - LEVEL / 2, nr - 1))


def widened(samples: Sequence[float], low: float, high: float) -> tuple[float, float]:
    """The interval from @low to @high, which up to FEW @samples are not sure of, made to hold Student's as well."""
    if not 1 < len(samples) <= FEW:
        return low, high
    centre, reach = statistics.fmean(samples), students(len(samples)) * standard_error(samples)
    return min(low, centre - reach), max(high, centre + reach)


def standard_error(samples: Sequence[float]) -> float:
    """The standard error of the mean of @samples, in their unit; 0 of one."""
    return statistics.stdev(samples) / math.sqrt(len(samples)) if len(samples) > 1 else 0.0


def walsh(differences: Sequence[float]) -> list[float]:
    """The means of every two of @differences, and of each with itself, in order."""
    return sorted((x + y) / 2 for nr, x in enumerate(differences) for y in differences[nr:])


def signed_rank(differences: Sequence[float], alternative: str = "two-sided") -> float:
    """The p of Wilcoxon's test that @differences lie around 0; those that are 0 do not count. It is exact for up to
    EXACT of them, whatever ties there are, and wherever scipy's is."""
    moved = [each for each in differences if each]
    if len(moved) < 2:  # scipy takes no single one
        return 0.5 if moved and alternative == ("greater" if moved[0] > 0 else "less") else 1.0
    scipy = load("scipy.stats", "a test")
    if len(moved) > EXACT:
        return float(scipy.wilcoxon(moved, alternative=alternative).pvalue)
    ranks = scipy.rankdata([abs(each) for each in moved])
    signs = load("numpy", "a test").sign(moved)

    def statistic(signed: Any, axis: int = -1) -> Any:
        return signed.sum(axis=axis)

    return float(scipy.permutation_test((ranks * signs,), statistic, permutation_type="samples", vectorized=True,
                                        n_resamples=2**EXACT, alternative=alternative).pvalue)


def bounds(differences: Sequence[float]) -> tuple[float, float]:
    """The interval of the estimate of Hodges and Lehmann: where the test of signed ranks sees no difference."""
    means, cut = walsh(differences), max(1, cut_of(len(differences)))
    return widened(differences, means[cut - 1], means[-cut])


@functools.cache
def cut_of(nr: int) -> int:
    """Of @nr pairs, how many of the lowest sums of ranks are together less likely than LEVEL / 2."""
    numpy = load("numpy", "an interval")
    likely = numpy.ones(1)
    for rank in range(1, nr + 1):
        likely = (numpy.pad(likely, (0, rank)) + numpy.pad(likely, (rank, 0))) / 2
    return int(numpy.searchsorted(numpy.cumsum(likely), LEVEL / 2, side="right"))


def check_pairs(nr: int) -> None:
    """Refuse more pairs than can be compared two by two, and a host that cannot, before anything runs."""
    load("scipy.stats", "a comparison")
    if nr > MOST_PAIRS:
        raise UsageError(f"{nr} seeds: at most {MOST_PAIRS} are expected where runs are compared in pairs")


def difference(a: Sequence[float], b: Sequence[float], within: float = WITHIN) -> Difference:
    """Compare the samples @b with the samples @a, which are pairs. What differs by less than the part @within of a's
    median counts as equal."""
    check_pairs(len(a))
    moved = [y - x for x, y in zip(a, b, strict=True)]
    of_a, means = median(a), walsh(moved)
    margin = within * abs(of_a.median)
    equal_p = max(signed_rank([each + margin for each in moved], "greater"),
                  signed_rank([each - margin for each in moved], "less"))
    more = sum((mean > 0) + (mean == 0) / 2 for mean in means) / len(means)
    return Difference(of_a, median(b), statistics.median(means), *bounds(moved), signed_rank(moved), margin, equal_p,
                      more)


def pairs_needed(found: Difference, tests: int = 1) -> float:
    """How many pairs show a difference like @found in POWER of all cases, as one of @tests tests; inf if none do."""
    if found.more == 0.5:
        return math.inf
    normal = load("scipy.stats", "a test").norm
    sure = float(normal.ppf(1 - LEVEL / 2 / max(tests, 1)) + normal.ppf(POWER))
    return max(fewest(tests), math.ceil(sure**2 / (3 * (found.more - 0.5) ** 2)))


def holm(ps: Sequence[float]) -> list[float]:
    """Each p of several tests, corrected for their number."""
    corrected, highest = [0.0] * len(ps), 0.0
    for rank, at in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, ps[at] * (len(ps) - rank)))
        corrected[at] = highest
    return corrected


def fewest(tests: int) -> int:
    """The pairs with which one of @tests can show a difference: the least p is that of pairs that all go one way."""
    return next(nr for nr in itertools.count(1) if 2**(1 - nr) * max(tests, 1) < LEVEL)


def verdict(found: Difference, p: float, equal_p: float, tests: int = 1) -> str:
    """What may be said of b, with @p and @equal_p corrected for @tests: higher, lower, equal within the margin, or
    that nothing was shown."""
    if p < LEVEL:
        return "higher" if found.shift > 0 else "lower"
    if equal_p < LEVEL:
        return "equal"
    return "too few seeds" if found.nr < fewest(tests) else "no difference shown"
