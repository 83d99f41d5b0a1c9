# SPDX-License-Identifier: GPL-2.0-only
"""Do the intervals hold what they say, and does the test cry wolf? Measured on many runs of every metric of `compare`
(docs/measuring.md). `pytest --tier all -s tests/sim/test_coverage.py` prints the tables of that page."""

import random
import statistics
from collections import defaultdict

import pytest

from tests.sim.conftest import BUILD
from fairground.base import stats
from fairground.base.settings import Settings
from fairground.study import compare, side

POLICIES, SEEDS, TIME = ("cfs", "eevdf"), range(1, 301), "200ms"
SIZES, DRAWS, LEAST = (5, 10, 20), 300, 0.93
SETS, PAIRS, FALSE_ALARMS = 200, 20, (0.03, 0.06)


@pytest.fixture(scope="module")
def runs():
    """Each metric of each policy in each workload that varies: 300 runs, in the order of their seeds."""
    of = compare.Comparison(Settings(build=BUILD), [side.Side(name, side.parts_of(name)) for name in POLICIES],
                            [compare.known_workloads()[name] for name in compare.WORKLOADS], SEEDS, TIME)
    found = defaultdict(list)
    for one in of.collect().values():
        for policy, workloads in one["simulator"].items():
            for workload, metrics in workloads.items():
                for metric, value in metrics.items():
                    found[policy, workload, metric].append(float(value))
    return {key: values for key, values in found.items() if len(set(values)) > 1}


def coverage(populations, interval, true):
    """by_metric[metric, nr]: of each workload the part of draws whose interval holds the truth."""
    draw, found = random.Random(1), defaultdict(list)
    for (metric, values) in populations:
        aim = true(values)
        for nr in SIZES:
            held = [low <= aim <= high for low, high in (
                interval(draw.choices(values, k=nr)) for _ in range(DRAWS))]
            found[metric, nr].append(statistics.fmean(held))
    return found


def judge(title, found):
    print(f"\n{title}\n")
    for metric in dict.fromkeys(metric for metric, _ in found):
        parts = [(100 * statistics.fmean(found[metric, nr]), 100 * min(found[metric, nr])) for nr in SIZES]
        print(f"| {compare.METRICS[metric]} |", " | ".join(f"{held:.1f} ({least:.0f})" for held, least in parts), "|")
    assert LEAST <= min(map(statistics.fmean, found.values()))
    assert max(map(statistics.fmean, found.values())) <= 1 and min(map(min, found.values())) > 0.89


def of_median(values):
    found = stats.median(values)
    return found.low - 1e-9, found.high + 1e-9


def of_difference(values):
    low, high = stats.bounds(values)
    return low - 1e-9, high + 1e-9


@pytest.mark.nightly("an interval that holds less than it says")
def test_intervals_hold_the_median(runs):
    judge("medians", coverage([(key[2], values) for key, values in runs.items()], of_median, statistics.median))


@pytest.mark.nightly("an interval of a difference that holds less than it says")
def test_intervals_hold_the_difference(runs):
    pairs = [(metric, [y - x for x, y in zip(values, runs[POLICIES[1], workload, metric])])
             for (policy, workload, metric), values in runs.items()
             if policy == POLICIES[0] and (POLICIES[1], workload, metric) in runs]
    judge("differences", coverage([(metric, moved) for metric, moved in pairs if len(set(moved)) > 1], of_difference,
                                  lambda values: statistics.median(stats.walsh(values))))


@pytest.mark.nightly("a test that sees differences where there are none")
def test_a_policy_is_no_other_than_itself(runs):
    """200 sets of 20 runs of a policy, against 20 other runs of it, in every metric."""
    draw, alarms, family = random.Random(2), defaultdict(list), []
    for _ in range(SETS):
        order = draw.sample(range(len(SEEDS)), 2 * PAIRS)
        raw = {}
        for key, values in runs.items():
            if len(set(values)) > len(values) / 4:  # of a few different numbers most pairs are alike: no test
                raw[key] = stats.signed_rank([values[b] - values[a] for a, b in zip(order[:PAIRS], order[PAIRS:])])
                alarms[key[2]].append(raw[key] < stats.LEVEL)
        family.append(min(stats.holm(list(raw.values()))) < stats.LEVEL)
    told = {metric: statistics.fmean(each) for metric, each in alarms.items()}
    together = statistics.fmean(each for of_metric in alarms.values() for each in of_metric)
    print("\nfalse alarms:", {name: f"{100 * part:.1f} %" for name, part in told.items()},
          f"{sum(map(len, alarms.values()))} tests, together {100 * together:.2f} %, "
          f"a table with any after the correction: {100 * statistics.fmean(family):.1f} %")
    assert FALSE_ALARMS[0] <= together <= FALSE_ALARMS[1] and statistics.fmean(family) <= 0.07
