# SPDX-License-Identifier: GPL-2.0-only
"""What a record of a fair policy says of each of its candidates, as a number to draw."""

from collections.abc import Iterator

from ..base import policies
from .fair_decisions import Candidate, Decision, Flag, difference

NICE_0 = 1024
AFTER_CHARGE = ("pick", "tick", "preempt")  # the running entity was charged before such a decision

Points = Iterator[tuple[str, float]]


def mean(d: Decision) -> float:
    """V less @d.v: the weighted mean of the virtual times of what is queued. Something must be."""
    queued = [c for c in d.candidates if c.has(Flag.QUEUED)]
    return sum(c.weight * difference(c.vruntime, d.v) for c in queued) / sum(c.weight for c in queued)


def due(c: Candidate) -> int:
    """The virtual deadline of @c; it may be kept relative to its virtual time."""
    return c.deadline + (c.vruntime if c.has(Flag.RELATIVE) else 0)


def lags(d: Decision) -> Points:
    """The service that each queued entity is owed, in ns of CPU time: weight x (V - vruntime), V the weighted mean."""
    queued = [c for c in d.candidates if c.has(Flag.QUEUED)]
    if not any(c.weight for c in queued) or not d.complete:
        return
    middle = mean(d)
    for c in queued:
        yield c.name, (middle - difference(c.vruntime, d.v)) * c.weight / NICE_0


def deadlines(d: Decision) -> Points:
    """How far each queued entity's virtual deadline is from the queue's virtual time, in virtual ns."""
    for c in d.candidates if not policies.claim(d.policy, "deadlines") else ():
        if c.deadline and c.has(Flag.QUEUED):
            yield c.name, difference(due(c), d.v)


def scores(d: Decision) -> Points:
    """BORE's score of each task."""
    for c in d.candidates if policies.claim(d.policy, "scores") else ():
        if not c.group:
            yield c.name, c.score


def levels(d: Decision) -> Points:
    """How long each bucket needs to be full, in ns. FDL's deadlines count from the queue's present."""
    if not policies.claim(d.policy, "deadlines"):
        return
    for c in d.candidates:
        if c.has(Flag.DUE) and c.has(Flag.QUEUED):
            yield c.name, difference(c.deadline, 0)
    if d.container:
        yield "all without deadline", difference(d.container, 0)
