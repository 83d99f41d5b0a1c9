# SPDX-License-Identifier: GPL-2.0-only
"""What a record of a fair policy says of each of its candidates, as a number to draw."""

from collections.abc import Iterator

from .decisions import Decision, Flag, difference

NICE_0 = 1024
AFTER_CHARGE = ("pick", "tick", "preempt")  # the running entity was charged before such a decision

Points = Iterator[tuple[str, float]]


def lags(d: Decision) -> Points:
    """The service that each queued entity is owed, in ns of CPU time: weight x (V - vruntime), V the weighted mean."""
    queued = [c for c in d.candidates if c.has(Flag.QUEUED)]
    weights = sum(c.weight for c in queued)
    if not weights or not d.complete:
        return
    away = [difference(c.vruntime, d.v) for c in queued]
    mean = sum(c.weight * a for c, a in zip(queued, away)) / weights
    for c, a in zip(queued, away):
        yield c.name, (mean - a) * c.weight / NICE_0


def deadlines(d: Decision) -> Points:
    """How far each queued entity's virtual deadline is from the queue's virtual time, in virtual ns."""
    for c in d.candidates if d.policy != "fdl" else ():
        if c.deadline and c.has(Flag.QUEUED):
            deadline = c.deadline + (c.vruntime if c.has(Flag.RELATIVE) else 0)
            yield c.name, difference(deadline, d.v)


def scores(d: Decision) -> Points:
    """BORE's score of each task."""
    for c in d.candidates if d.policy in ("bore", "bore_cfs") else ():
        if not c.group:
            yield c.name, c.score


def levels(d: Decision) -> Points:
    """How long each bucket needs to be full, in ns. FDL's deadlines count from the queue's present."""
    if d.policy != "fdl":
        return
    for c in d.candidates:
        if c.has(Flag.DUE) and c.has(Flag.QUEUED):
            yield c.name, difference(c.deadline, 0)
    if d.container:
        yield "all without deadline", difference(d.container, 0)
