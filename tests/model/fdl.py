# SPDX-License-Identifier: GPL-2.0-only
"""The rules of FDL, where a group of the queue has a deadline: the earliest goes first. All else is CFS's."""

import cfs
from fair_rows import DUE, Choice, Queue, Row, Tunables, ahead, firsts, reason
from judging import NOT_JUDGED, RIGHT, Verdict


def due_of(q: Queue) -> list[Row]:
    return [row for row in q.rows if row["flags"] & DUE]


def choices(d: Row, q: Queue, t: Tunables) -> list[Choice]:
    """The earliest deadline, or if the deadline of all others together is earlier, what CFS picks of them."""
    due = due_of(q)
    if not due:
        return cfs.choices(d, q, t)
    earliest = min(ahead(row["deadline"], 0) for row in due)
    others = [row for row in q.rows if not row["flags"] & DUE]
    # Entities without a deadline get one together when the first of them waits.
    if others and (ahead(d["container"], 0) if d["container"] else t.default_fair_dl) < earliest:
        may = [choice for left in firsts(others, "vruntime") for choice in cfs.choices_from(d, t, others, left)]
        return [(row, "container_turn") for row, _ in may]
    return [(row, "group_deadline") for row in due if ahead(row["deadline"], 0) == earliest]


def judge_preempt(d: Row, q: Queue, t: Tunables) -> Verdict:
    """The earlier deadline; an entity without one has that of all others without one."""
    curr, woken = q.curr, q.subject
    if not curr or not woken:
        return NOT_JUDGED
    if not (curr["flags"] | woken["flags"]) & DUE:
        return cfs.judge_preempt(d, q, t)
    both = curr["flags"] & woken["flags"] & DUE
    if not d["container"] and not both:
        right = bool(woken["flags"] & DUE)
    else:
        deadlines = [ahead(row["deadline"] if row["flags"] & DUE else d["container"], 0) for row in (curr, woken)]
        right = deadlines[1] < deadlines[0]
    if right != bool(d["answer"]):
        return "the earlier deadline goes first"
    return reason(d, "deadlines_compared" if both else "container_order")


def judge_tick(d: Row, q: Queue, t: Tunables) -> Verdict:
    """A timer ends turns of the root's queue; below it ticks see to deadlines too."""
    row, due = q.subject, due_of(q)
    if not row or not due:
        return cfs.judge_tick(d, q, t)
    first = min(ahead(other["deadline"], 0) for other in due)
    container = bool(d["container"]) and ahead(d["container"], 0) < first
    if d["level"] and container == bool(row["flags"] & DUE):
        return reason(d, "container_order") if d["answer"] else "the other kind has the earlier deadline"
    if row["flags"] & DUE:
        right = bool(d["level"]) and ahead(row["deadline"], 0) != first
        return reason(d, "deadlines_compared") if right == bool(d["answer"]) else "the earliest deadline goes first"
    if all(other is row or other["flags"] & DUE for other in q.rows):
        return reason(d, "slice") if not d["answer"] else "nobody else without a deadline waits"
    return cfs.judge_tick(d, q, t)


def judge_leave(d: Row, q: Queue, t: Tunables) -> Verdict:
    row = q.subject
    if row and row["flags"] & DUE and d["deadline"] != row["deadline"]:
        return "its deadline is no longer what it owes"
    return cfs.judge_leave(d, q, t)
