# SPDX-License-Identifier: GPL-2.0-only
"""The servers of x1-fdl without the antagonist: deadlines must not matter where nobody competes.

On 96 CPUs the servers' 102 threads did not meet, since they were awake a third of the time. On 4 CPUs they would: with
two workers and a messenger each they want 72 % of the machine. So each server has one worker here, which wakes when its
messenger sleeps.

As published, the mean of three runs counts. Each server is the first to start in one of them. The order of starting
decides which server finds its last CPU taken by another one, and how many CPUs take their part of the one stream of
instructions while it wakes.
"""

from collections.abc import Callable
from typing import Any

from ..experiment import Claim, Results, rule, shown
from . import x1_fdl
from .x1_fdl import EVENTS, GROUPS, HOSTS, SCHEDULERS, SETTINGS, TIMEOUT, measure  # noqa: F401 (parts of an experiment)

TITLE = "Servers with and without deadlines and nobody else: wakeup latency"
SOURCE = "the message that proposed FDL, without antagonist: 99th percentiles of 118 to 129 us, means within 2 %"
SECONDS = 10
ORDERS = {f"{GROUPS[n]}-first": GROUPS[n:] + GROUPS[:n] for n in range(len(GROUPS))}
CASES = tuple(ORDERS)
TWICE = CASES[:1]
SIZE = (13, 4.5)

PUBLISHED = {"cfs": ((38, 85, 69), (123, 129, 124)), "fdl-loose": ((85, 54, 84), (128, 129, 124)),
             "fdl": ((53, 52, 63), (129, 118, 128))}
PUBLISHED_MEAN = sum(sum(p99) for _, p99 in PUBLISHED.values()) / 9


def kernel(case: str, seconds: int) -> str:
    return x1_fdl.script(seconds, antagonist=False, workers=1, order=ORDERS[case])


def mean(name: str, percentile: str) -> Callable[[Results], Any]:
    """A function of the results: the mean of the group's percentile over the runs."""
    return lambda r: sum(r["fdl"][case][name][percentile] for case in ORDERS) / len(ORDERS)


def p99_of_all(r: Results) -> list[float]:
    return [mean(group, "99.0")(r) for group in GROUPS]


def from_mean(name: str) -> Callable[[Results], Any]:
    """A function of the results: how far the group's p99 is from the mean of all three groups."""
    return lambda r: abs(mean(name, "99.0")(r) * len(GROUPS) / sum(p99_of_all(r)) - 1)


def claims() -> list[Claim]:
    found = [rule(f"{name}: p99 off the mean of all", "<= 10 %", SCHEDULERS, lambda v: v <= 0.1, from_mean(name),
                  "{:.1%}", f"{abs(sum(PUBLISHED[name][1]) / 3 / PUBLISHED_MEAN - 1):.1%}") for name in GROUPS]
    found.append(rule("p99: the largest less the least, us", "<= 11", SCHEDULERS, lambda v: v <= 11,
                      lambda r: max(p99_of_all(r)) - min(p99_of_all(r)), "{:.1f}", "11"))
    for index, p in enumerate(("50.0", "99.0")):
        found += [shown(f"{name}: p{p[:2]}, us", SCHEDULERS, mean(name, p), "{:.1f}",
                        f"{sum(PUBLISHED[name][index]) / 3:.0f}") for name in GROUPS]
    return found


def draw(figure: Any, results: dict[str, Results]) -> None:
    x1_fdl.draw(figure, results, PUBLISHED)
