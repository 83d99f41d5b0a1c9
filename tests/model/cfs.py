# SPDX-License-Identifier: GPL-2.0-only
"""The rules of CFS of Linux 6.1, and of BORE 2.2.8 where it differs: who is next, slices, places, virtual time."""

import bore
from arithmetic import SCALE_BITS, calc_delta, of_sum
from fair_rows import (DUE, IDLE, LAST, LEAVES_CLASS, MIGRATED, NEW, NEXT, SKIP, SLEEP, WAKEUP, WORD, Choice, Queue,
                       Row, Tunables, ahead, firsts, is_virtual, reason, stretched_range, virtual_range, with_flag)
from judging import NOT_JUDGED, RIGHT, Verdict

# --- who is next ------------------------------------------------------------------------------------------


def exceeds(v: int, ns: int, row: Row) -> bool | None:
    """Is @v more than @ns of @row? None: rounding decides."""
    low, high = virtual_range(ns, row)
    return True if v > high else False if v <= low else None


def granularity(d: Row, t: Tunables, row: Row, left: Row) -> int:
    """By how much @row may lead @left and go on. Under BORE it grows with half of the levels by which the score of the
    other is higher."""
    if d["policy"] != "bore_cfs":
        return t.wakeup_granularity_ns
    return bore.granularity_2(t.wakeup_granularity_ns, row["score"], left["score"])


def close(d: Row, t: Tunables, row: Row, left: Row) -> bool | None:
    """Is @row at most a wakeup granularity, in the virtual time of @left, to the right of it?"""
    lead = ahead(row["vruntime"], left["vruntime"])
    if lead <= 0:
        return True
    # A granularity that is stretched by a score is rounded down before it is divided by the weight, or after.
    slack = 2 if d["policy"] == "bore_cfs" else 0
    beyond = {exceeds(lead + off, granularity(d, t, row, left), left) for off in (-slack, slack)}
    return not beyond.pop() if len(beyond) == 1 and None not in beyond else None


def choices_from(d: Row, t: Tunables, rows: list[Row], left: Row) -> list[Choice]:
    """Who may be picked, and by which rule, if @left counts as the leftmost of @rows."""
    may = []
    for flag, rule in ((NEXT, "next_buddy"), (LAST, "last_buddy")):
        buddy = with_flag(rows, flag)
        near = buddy and close(d, t, buddy, left)
        if buddy and near is not False:
            may.append((buddy, rule))
        if near:
            return may
    if not left["flags"] & SKIP:
        return [*may, (left, "least_vruntime")]
    for second in firsts([row for row in rows if row is not left], "vruntime"):
        near = close(d, t, second, left)
        if near is not False:
            may.append((second, "passed_over"))
        if not near:
            may.append((left, "least_vruntime"))
    return may or [(left, "least_vruntime")]


def choices(d: Row, q: Queue, t: Tunables) -> list[Choice]:
    """The same; equals are ordered by their arrival, which no record tells."""
    return [choice for left in firsts(q.rows, "vruntime") for choice in choices_from(d, t, q.rows, left)]


def judge_preempt(d: Row, q: Queue, t: Tunables) -> Verdict:
    curr, woken = q.curr, q.subject
    if not curr or not woken:
        return NOT_JUDGED
    stays = close(d, t, curr, woken)
    if stays is None or stays != bool(d["answer"]):
        return reason(d, "vruntime_lead")
    right = "wait" if stays else "preempt"
    return (f"its lead is {ahead(curr['vruntime'], woken['vruntime'])} ns of virtual time, and its granularity "
            f"{virtual_range(granularity(d, t, curr, woken), woken)[1]}: {right} is right")


# --- slices -----------------------------------------------------------------------------------------------


def slice_of(weight: int, queue: list[int], latency: int, granularity_ns: int, floor: bool = True) -> int:
    """The slice of an entity of @weight in a @queue of such weights: its part of the period. @floor: the feature
    BASE_SLICE, a slice is at least the granularity."""
    stretch = -(-latency // granularity_ns)
    period = len(queue) * granularity_ns if len(queue) > stretch else latency
    share = calc_delta(period, weight << SCALE_BITS, of_sum(sum(queue) << SCALE_BITS))
    return max(share, granularity_ns) if floor else share


def known_slice(d: Row, q: Queue, t: Tunables, row: Row) -> int | None:
    """The slice of @row, queued or not. The record has all that it depends on only on a CPU without groups."""
    rows = q.rows if any(row is other for other in q.rows) else [*q.rows, row]
    if d["level"] or any(r["group"] or r["flags"] & IDLE for r in rows):
        return None
    return slice_of(row["weight"], [r["weight"] for r in rows], t.latency_ns, t.min_granularity_ns)


def judge_slice(d: Row, q: Queue, t: Tunables, row: Row) -> Verdict:
    right = known_slice(d, q, t, row)
    if right is None or not d["slice"] and d["kind"] != "tick":
        return RIGHT  # nobody asked
    return RIGHT if d["slice"] == right else f"its slice should be {right} ns, not {d['slice']}"


def turn_ends(ran: int, slice_ns: int, lead: int, granularity_ns: int) -> tuple[bool, str]:
    """Is a turn over, and why? After the slice; or after a granularity, if another is a slice behind."""
    if ran > slice_ns:
        return True, "slice"
    if ran < granularity_ns:
        return False, "ran_too_little"
    return lead > slice_ns, "slice_ahead"


def judge_tick(d: Row, q: Queue, t: Tunables) -> Verdict:
    row = q.subject
    if not row:
        return NOT_JUDGED
    others = [other for other in q.rows if other is not row and not other["flags"] & DUE]
    lead = max(ahead(row["vruntime"], other["vruntime"]) for other in others)
    right, why = turn_ends(d["delta"], d["slice"], lead, t.min_granularity_ns)
    if right == bool(d["answer"]):
        return reason(d, why) or judge_slice(d, q, t, row)
    return f"it ran {d['delta']} ns of {d['slice']}, and is {lead} ns ahead"


# --- virtual time -----------------------------------------------------------------------------------------


def advanced(min_v: int, queued: list[int]) -> int:
    """min_vruntime when the virtual times of those @queued have changed: the least of them, but it never goes back."""
    return (min_v + max(0, min(ahead(v, min_v) for v in queued))) % WORD


def judge_charge(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Virtual time advances by the time that it ran, over its weight; under BORE its score stretches that."""
    row = q.subject
    if not row:
        return "there is no subject"
    gone, score = ahead(d["vruntime"], row["vruntime"]), ""
    if d["policy"] == "bore_cfs":
        right = any(low <= gone <= high for low, high in stretched_range(d["delta"], row))
        score = f" and score {row['score']}"
    else:
        right = is_virtual(gone, d["delta"], row)
    if right:
        return reason(d, "ran")
    return f"{d['delta']} ns at weight {row['weight']}{score} are not {gone} ns of virtual time"


def judge_place(d: Row, q: Queue, t: Tunables) -> Verdict:
    """A sleeper may claim half a latency, under BORE a whole one; a traveller keeps its distance to min_vruntime."""
    row, flags = q.subject, d["flags"]
    if not row:
        return NOT_JUDGED
    if flags & NEW:
        return judge_new(d, q, t, row)
    woken = flags & (WAKEUP | LEAVES_CLASS)
    own = row["vruntime"]
    if not woken or flags & MIGRATED:
        own = (own + d["v"]) % WORD
    if woken:
        credit = t.min_granularity_ns if row["flags"] & IDLE else t.latency_ns
        if d["policy"] != "bore_cfs":
            credit //= 2  # GENTLE_FAIR_SLEEPERS, which BORE 2.2.8 switches off
        earliest = (d["v"] - credit) % WORD
        own = own if ahead(own, earliest) > 0 else earliest
    return RIGHT if d["vruntime"] == own else f"it belongs at {own}, not {d['vruntime']}"


def judge_new(d: Row, q: Queue, t: Tunables, row: Row) -> Verdict:
    """One virtual slice from min_vruntime, and not before its parent. So far it has only the distance."""
    slice_ns = known_slice(d, q, t, row)
    if not q.curr or slice_ns is None:
        return NOT_JUDGED
    # Under BORE the score that it inherited is in effect from now on.
    debits = stretched_range(slice_ns, row) if d["policy"] == "bore_cfs" else [virtual_range(slice_ns, row)]
    parent, placed = ahead(q.curr["vruntime"], d["v"]), ahead(d["vruntime"], 0)
    if any(max(low, parent) <= placed <= max(high, parent) for low, high in debits):
        return RIGHT
    low, high = virtual_range(slice_ns, row)
    return (f"it was placed {placed} ns from min_vruntime; its debit, a slice in its virtual time, is {low} to {high}, "
            f"and its parent is at {parent}: the later of both is right")


def judge_leave(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Asleep it keeps its virtual time; a traveller takes along how far it is from min_vruntime."""
    row = q.subject
    if not row:
        return NOT_JUDGED
    right = row["vruntime"] if d["flags"] & SLEEP else (row["vruntime"] - d["v"]) % WORD
    if d["answer"]:
        return "nobody stays when it leaves"
    return RIGHT if d["vruntime"] == right else f"it should take {right} along, not {d['vruntime']}"
