"""The servers of x1-fdl without the antagonist: deadlines must not matter where nobody competes.

There is room for all of them on average, but servers also meet each other; so each has one worker here, which its
messenger does not compete with.
"""

from ..experiment import rule
from . import x1_fdl
from .x1_fdl import GROUPS, HOSTS, EVENTS, SCHEDULERS, SETTINGS, measure  # noqa: F401 (parts of an experiment)

TITLE = "Servers with and without deadlines and nobody else: wakeup latency"
SOURCE = "the message that proposed FDL, without antagonist: 99th percentiles of 118 to 129 us, means within 2 %"
SECONDS = 10
CASES = ("alone", "again")
SIZE = (6, 4.5)

PUBLISHED = {"cfs": ((38, 85, 69), (123, 129, 124)), "fdl-loose": ((85, 54, 84), (128, 129, 124)),
             "fdl": ((53, 52, 63), (129, 118, 128))}
PUBLISHED_MEAN = sum(sum(p99) for _, p99 in PUBLISHED.values()) / 9


def kernel(_, seconds):
    return x1_fdl.script(seconds, antagonist=False)


def from_mean(name):
    """How far the group's p99 is from the mean of all three, us; up to 1 us is schbench's resolution."""
    def value(r):
        p99 = {group: r["fdl"]["alone"][group]["99.0"] for group in GROUPS}
        mean = sum(p99.values()) / len(p99)
        return abs(p99[name] - mean) / max(mean, 10)
    return value


def claims():
    found = [rule(f"{name}: p99 off the mean of all", "<= 10 %, 1 us", SCHEDULERS, lambda v: v <= 0.1, from_mean(name),
                  "{:.1%}", f"{abs(sum(PUBLISHED[name][1]) / 3 / PUBLISHED_MEAN - 1):.1%}") for name in GROUPS]
    for index, p in enumerate(("50.0", "99.0")):
        found += [x1_fdl.latency(f"{name}: p{p[:2]}, us", "alone", name, p,
                                 f"{sorted(PUBLISHED[name][index])[1]}") for name in GROUPS]
    return found + [x1_fdl.same_twice("alone", "again")]


def draw(figure, results):
    x1_fdl.draw(figure, results, PUBLISHED)
