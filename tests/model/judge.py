#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge the decisions of a run: was each the right one, by the definition of its policy?

The decisions come from the simulator (`schedsim --decisions FILE`) or from the kernel (`make trace
EVENTS='decision:*'`). Each has the numbers of all that was compared, so nothing of the run is needed but the file and
the tunables that differ from the defaults. The rules are those of docs/oracles.md, in whole numbers of any size;
nothing of sched/ is used.

history.py knows what follows from other records of the file. A decision is right, wrong, or not judged: the record
lacks candidates (a queue of more than 64), or no rule here covers the case. Where the policy rounds, what rounding can
do is allowed, with the derivation beside it.

Usage: judge.py FILE... [--set NAME=VALUE]...    status 1: a decision is wrong; 2: not all could be judged
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import bore
import history
import reasons
from arithmetic import IDLE as IDLE_WEIGHT
from arithmetic import WEIGHTS, of_idle, of_nice, virtual
from judging import NOT_JUDGED, RIGHT, Finding, Judge, Run, Verdict, main, words_of
from reasons import (ABSENT, DELAYED, DUE, INITIAL, LAST, LASTS, LEAVES_CLASS, NEW, NEXT, QUEUED, RUNS, SKIP, SWAPPED,
                     USED, WAKEUP, WORD, ahead)

from fairground.decisions.decision_file import DecisionError
from fairground.decisions.fair_decisions import FIELDS, Decision  # how a file is read is all that is shared

Row = dict[str, Any]

# flags of entities and of the calls, beside those of reasons.py
ASLEEP, IDLE, ELIGIBLE, RELATIVE = 0x2, 0x4, 0x8, 0x1000
SLEEP, SPECIAL, MIGRATED = 0x1, 0x10, 0x40

MS = 1_000_000


class Tunables:
    """The tunables that decide, at their defaults for a number of CPUs, as Linux scales them: 1 + log2 of at most 8."""

    def __init__(self, cpus: int, hz: int, **changed: int) -> None:
        scale = min(cpus, 8).bit_length()
        self.latency_ns = 6 * MS * scale
        self.min_granularity_ns = 3 * MS // 4 * scale
        self.idle_min_granularity_ns = 3 * MS // 4
        self.wakeup_granularity_ns = MS * scale
        self.base_slice_ns = 7 * MS // 10 * scale
        self.boot_slices_ns = {7 * MS // 10 * fewer for fewer in range(1, scale)}  # while CPUs come into service
        self.default_fair_dl = 5 * MS
        self.tick_ns = 1_000_000_000 // hz
        for name, value in changed.items():
            if not hasattr(self, name):
                raise ValueError(f"--set {name}: no rule knows it; they know {', '.join(sorted(vars(self)))}")
            setattr(self, name, value)


# --- rounding ---------------------------------------------------------------------------------------------


def virtual_slack(ns: int, weight: int) -> int:
    """By how much v * weight may differ from ns * 1024, where v is @ns at @weight as a product with an inverse.

    The exact value is ns * 1024 / weight. An inverse is off by less than a unit of 2^-32, so the product by
    ns * 1024 / 2^32 at most; bits that are dropped below 2^-30 and the final rounding add the rest.
    """
    exact = ns * 1024
    return (exact >> 30) + (exact * weight >> 32) + 2 * weight


# A task's weight is one of the table, and then rounding is known to the unit: golden numbers hold arithmetic.py to it.
LOADS = {weight: of_nice(nice) for nice, weight in enumerate(WEIGHTS, -20)} | {IDLE_WEIGHT: of_idle()}


def is_virtual(v: int, ns: int, weight: int, of_task: bool = False) -> bool:
    """Is @ns of CPU time at @weight worth @v of virtual time, but for rounding where it is not @of_task?"""
    if of_task and weight in LOADS:
        return v == virtual(ns, LOADS[weight])
    return abs(v * weight - ns * 1024) <= virtual_slack(ns, weight)


def exceeds(v: int, ns: int, weight: int) -> bool | None:
    """Is @v more than @ns at @weight? None: rounding decides."""
    if is_virtual(v, ns, weight) or is_virtual(v - 1, ns, weight):
        return None
    return v * weight > ns * 1024


# --- a queue ----------------------------------------------------------------------------------------------


class Queue:
    """The candidates of a decision that are queued, and the subject."""

    def __init__(self, d: Row) -> None:
        self.d = d
        self.subject: Row | None = None
        self.rows: list[Row] = []
        for row in d["candidates"]:
            if (row["pid"], row["group"]) == (d["pid"], d["subject_group"]):
                self.subject = row
            if row["flags"] & QUEUED:
                self.rows.append(row)
        self.curr = next((row for row in self.rows if row["flags"] & RUNS), None)

    def complete(self) -> bool:
        return len(self.rows) == self.d["nr_queued"]

    def find(self, pid: int, group: int) -> Row | None:
        return next((r for r in self.rows if r["pid"] == pid and r["group"] == group), None)

    def sum_ahead(self, at: int) -> int:
        """The sum of weight * (v_i - @at): not negative if an entity at @at has had no more than its share."""
        return sum(row["weight"] * ahead(row["vruntime"], at) for row in self.rows)

    def weight(self) -> int:
        return sum(row["weight"] for row in self.rows)

    def eligible(self, row: Row) -> bool:
        return self.sum_ahead(row["vruntime"]) >= 0

    def now_from(self, at: int) -> int:
        """The weighted mean of virtual times less @at, rounded down."""
        return self.sum_ahead(at) // self.weight()


# --- CFS --------------------------------------------------------------------------------------------------


Granularity = Callable[[Row, Row], int]


def cfs_granularity(t: Tunables) -> Granularity:
    return lambda row, left: t.wakeup_granularity_ns


def bore_granularity(t: Tunables) -> Granularity:
    """It grows with half of the levels by which the score of the other is higher."""
    return lambda row, left: bore.granularity_2(t.wakeup_granularity_ns, row["score"], left["score"])


def close(row: Row, left: Row, granularity: Granularity) -> bool | None:
    """Is @row at most a wakeup granularity, in the virtual time of @left, to the right of it?"""
    lead = ahead(row["vruntime"], left["vruntime"])
    if lead <= 0:
        return True
    # A granularity that is stretched by a score is rounded down before it is divided by the weight, or after.
    beyond = {exceeds(lead + off, granularity(row, left), left["weight"]) for off in (-2, 2)}
    return not beyond.pop() if len(beyond) == 1 and None not in beyond else None


def picks_from(rows: list[Row], left: Row, granularity: Granularity) -> list[Row]:
    """The entities that CFS may pick if @left counts as the leftmost of @rows."""
    may = []
    for flag in (NEXT, LAST):
        buddy = next((row for row in rows if row["flags"] & flag), None)
        near = buddy and close(buddy, left, granularity)
        if buddy and near is not False:
            may.append(buddy)
        if near:
            return may
    if not left["flags"] & SKIP:
        return [*may, left]
    others = [row for row in rows if row is not left]
    least = min((ahead(row["vruntime"], left["vruntime"]) for row in others), default=None)
    for second in others:
        if ahead(second["vruntime"], left["vruntime"]) == least:
            near = close(second, left, granularity)
            if near is not False:
                may.append(second)
            if not near:
                may.append(left)
    return may or [left]


def cfs_pick(rows: list[Row], picked: Row, granularity: Granularity) -> Verdict:
    base = rows[0]["vruntime"]
    least = min(ahead(row["vruntime"], base) for row in rows)
    firsts = [row for row in rows if ahead(row["vruntime"], base) == least]
    if any(picked is row for first in firsts for row in picks_from(rows, first, granularity)):
        return RIGHT
    return f"the least virtual runtime has {name(firsts[0])}"


def judge_cfs_pick(d: Row, q: Queue, t: Tunables) -> Verdict:
    picked = q.find(d["pid"], d["subject_group"])
    if not picked:
        return "the entity that was picked is not queued"
    return cfs_pick(q.rows, picked, bore_granularity(t) if d["policy"] == "bore_cfs" else cfs_granularity(t))


def judge_fdl_pick(d: Row, q: Queue, t: Tunables) -> Verdict:
    """The earliest deadline, or if the deadline of all others together is earlier, what CFS picks of them."""
    due = [row for row in q.rows if row["flags"] & DUE]
    if not due:
        return judge_cfs_pick(d, q, t)
    picked = q.find(d["pid"], d["subject_group"])
    if not picked:
        return "the entity that was picked is not queued"
    earliest = min(ahead(row["deadline"], 0) for row in due)
    others = [row for row in q.rows if not row["flags"] & DUE]
    # Entities without a deadline get one together when the first of them waits.
    if others and (ahead(d["container"], 0) if d["container"] else t.default_fair_dl) < earliest:
        if picked["flags"] & DUE:
            return "the deadline of the entities without one is earlier"
        return cfs_pick(others, picked, cfs_granularity(t))
    if ahead(picked["deadline"], 0) != earliest or not picked["flags"] & DUE:
        return f"the earliest deadline is {earliest} ns from now"
    return RIGHT


def judge_cfs_preempt(d: Row, q: Queue, t: Tunables) -> Verdict:
    curr, woken = q.curr, q.subject
    if not curr or not woken or curr["flags"] & DUE or woken["flags"] & DUE:
        return judge_fdl_preempt(d, curr, woken)
    stays = close(curr, woken, bore_granularity(t) if d["policy"] == "bore_cfs" else cfs_granularity(t))
    if stays is None or stays != bool(d["answer"]):
        return RIGHT
    return f"its lead is {ahead(curr['vruntime'], woken['vruntime'])} ns of virtual time"


def judge_fdl_preempt(d: Row, curr: Row | None, woken: Row | None) -> Verdict:
    """The earlier deadline; an entity without one has that of all others without one."""
    if not curr or not woken:
        return NOT_JUDGED
    if not d["container"] and not (curr["flags"] & woken["flags"] & DUE):
        right = bool(woken["flags"] & DUE)
    else:
        deadlines = [ahead(row["deadline"] if row["flags"] & DUE else d["container"], 0) for row in (curr, woken)]
        right = deadlines[1] < deadlines[0]
    if right != bool(d["answer"]):
        return "the earlier deadline goes first"
    reason = "deadlines_compared" if curr["flags"] & woken["flags"] & DUE else "container_order"
    return RIGHT if d["rule"] == reason else f"the reason is {d['rule']}, and should be {reason}"


def judge_cfs_tick(d: Row, q: Queue, t: Tunables) -> Verdict:
    """The turn is over after the slice; or after min_granularity, if another is a slice behind."""
    row = q.subject
    if not row:
        return NOT_JUDGED
    others = [other for other in q.rows if other is not row and not other["flags"] & DUE]
    due = [other["deadline"] for other in q.rows if other["flags"] & DUE]
    if due:
        # A timer ends turns of the root's queue; below it ticks see to deadlines too.
        first = min(ahead(deadline, 0) for deadline in due)
        container = bool(d["container"]) and ahead(d["container"], 0) < first
        if row["flags"] & DUE:
            right = bool(d["level"]) and (container or ahead(row["deadline"], 0) != first)
            return RIGHT if right == bool(d["answer"]) else "the earliest deadline goes first"
        if d["level"] and not container:
            return RIGHT if d["answer"] else "the deadline of another group is earlier than the container's"
        if not others:
            return RIGHT if not d["answer"] else "nobody else without a deadline waits"
    lead = max(ahead(row["vruntime"], other["vruntime"]) for other in others)
    right = d["delta"] > d["slice"] or (d["delta"] >= t.min_granularity_ns and lead > d["slice"])
    if right == bool(d["answer"]):
        return judge_cfs_rule(d, t, bool(due)) or judge_cfs_slice(d, q, t, row)
    return f"it ran {d['delta']} ns of {d['slice']}, and is {lead} ns ahead"


def judge_cfs_rule(d: Row, t: Tunables, beside_deadlines: bool) -> Verdict:
    """The reason that is given for the end of a turn, or for going on, is the first that applies."""
    if beside_deadlines:
        return RIGHT
    right = ("slice" if d["delta"] > d["slice"] else
             "ran_too_little" if d["delta"] < t.min_granularity_ns else "slice_ahead")
    return RIGHT if d["rule"] == right else f"the reason given is {d['rule']}, where {right} is right"


def has_all_weights(d: Row, q: Queue) -> bool:
    """Does the record have all that a slice depends on? Only on a CPU without groups."""
    return not d["level"] and not any(r["group"] or r["flags"] & IDLE for r in q.rows)


def cfs_slice(t: Tunables, weight: int, total: int, nr: int) -> tuple[int, int]:
    """The slice of one of @nr entities, its part of the period by weight; by how much rounding may change it."""
    fits = -(-t.latency_ns // t.min_granularity_ns)
    period = nr * t.min_granularity_ns if nr > fits else t.latency_ns
    # The product with an inverse of the total weight: a unit of 2^-32, and a ns.
    return max(period * weight // total, t.min_granularity_ns), 2 + (period * weight >> 32)


def judge_cfs_slice(d: Row, q: Queue, t: Tunables, row: Row) -> Verdict:
    if not has_all_weights(d, q) or not d["slice"] and d["kind"] != "tick":
        return RIGHT  # nobody asked
    right, slack = cfs_slice(t, row["weight"], q.weight(), len(q.rows))
    return RIGHT if abs(right - d["slice"]) <= slack else f"its slice should be {right} ns, not {d['slice']}"


def judge_charge(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Virtual time advances by the time that it ran, over its weight."""
    row = q.subject
    if not row:
        return "there is no subject"
    if d["policy"] == "bore_cfs":
        return judge_stretched_charge(d, row)
    timed = d["policy"] in ("eevdf", "bore")
    used_up = timed and ahead(d["vruntime"], row["deadline"]) >= 0
    if timed and d["slice"] != row["slice"] and not (used_up and d["slice"] in {t.base_slice_ns, *t.boot_slices_ns}):
        return f"its slice was {row['slice']} and is {d['slice']}"
    if d["weight"] != row["weight"]:
        return NOT_JUDGED  # a new score of BORE gave it another weight
    if timed and not row["flags"] & QUEUED:
        return RIGHT if d["vruntime"] == row["vruntime"] else "it is not queued, but its virtual time changed"
    gone = ahead(d["vruntime"], row["vruntime"])
    if not is_virtual(gone, d["delta"], row["weight"], not row["group"]):
        return f"{d['delta']} ns at weight {row['weight']} are not {gone} ns of virtual time"
    if not timed:
        return RIGHT
    if d["answer"] and not used_up and row["flags"] & LASTS:
        return "its turn ended within a request that is not to be broken into"
    if used_up and d["nr_queued"] > 1 and not d["answer"]:
        return "it used up its request, but nobody asked for a switch"
    if d["answer"] and d["rule"] != ("request_used_up" if used_up else "eligibility"):
        return f"the reason given is {d['rule']}, and its request is {'' if used_up else 'not '}used up"
    if not used_up:
        return RIGHT if d["deadline"] == row["deadline"] else "its deadline changed before it was reached"
    if not is_virtual(ahead(d["deadline"], d["vruntime"]), d["slice"], row["weight"], not row["group"]):
        return "the new request does not last a slice"
    return RIGHT


def judge_stretched_charge(d: Row, row: Row) -> Verdict:
    """The score, which only grows while a task runs, stretches virtual time."""
    gone = ahead(d["vruntime"], row["vruntime"])
    plain = d["delta"] * 1024 // row["weight"]
    slack = virtual_slack(d["delta"], row["weight"]) // row["weight"] + 1
    if not row["group"] and row["weight"] in LOADS:
        plain, slack = virtual(d["delta"], LOADS[row["weight"]]), 0
    for score in range(row["score"], bore.MOST + 1):
        if bore.stretched_2(max(0, plain - slack), score) <= gone <= bore.stretched_2(plain + slack, score):
            return RIGHT
    return f"{d['delta']} ns at weight {row['weight']} and score {row['score']} are not {gone} ns of virtual time"


def judge_cfs_place(d: Row, q: Queue, t: Tunables) -> Verdict:
    """A sleeper may claim half a latency, under BORE a whole one; a traveller keeps its distance to min_vruntime."""
    row, flags = q.subject, d["flags"]
    if not row:
        return NOT_JUDGED
    if flags & NEW:
        return judge_cfs_new(d, q, t, row)
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


def judge_cfs_new(d: Row, q: Queue, t: Tunables, row: Row) -> Verdict:
    """One virtual slice from min_vruntime, and not before its parent. So far it has only the distance."""
    if not q.curr or not has_all_weights(d, q) or row["flags"] & IDLE:
        return NOT_JUDGED
    weight = row["weight"]
    debit, slack = cfs_slice(t, weight, q.weight() + weight, len(q.rows) + 1)
    low, high = ((debit + off) * 1024 // weight + sign * virtual_slack(debit, weight) // weight
                 for off, sign in ((-slack, -1), (slack, 1)))
    parent = ahead(q.curr["vruntime"], d["v"])
    bounds = [(low, high)]
    if d["policy"] == "bore_cfs":  # the score that it inherited is in effect from now on
        bounds = [(bore.stretched_2(max(0, low), score) - 1, bore.stretched_2(high, score) + 1)
                  for score in range(row["score"], bore.MOST + 1)]
    if any(max(least, parent) <= ahead(d["vruntime"], 0) <= max(most, parent) for least, most in bounds):
        return RIGHT
    return (f"it was placed {ahead(d['vruntime'], 0)} ns from min_vruntime; its debit, a slice in its virtual time, is "
            f"{low} to {high}, and its parent is at {parent}: the later of both is right")


def judge_cfs_leave(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Asleep it keeps its virtual time; a traveller takes along how far it is from min_vruntime."""
    row = q.subject
    if not row:
        return NOT_JUDGED
    right = row["vruntime"] if d["flags"] & SLEEP else (row["vruntime"] - d["v"]) % WORD
    if d["answer"]:
        return "nobody stays when it leaves"
    if d["policy"] == "fdl" and row["flags"] & DUE and d["deadline"] != row["deadline"]:
        return "its deadline is no longer what it owes"
    return RIGHT if d["vruntime"] == right else f"it should take {right} along, not {d['vruntime']}"


# --- EEVDF ------------------------------------------------------------------------------------------------


def eevdf_best(q: Queue, policy: str, lasts: bool) -> tuple[list[Row], str]:
    """The entities that come next if nobody is nominated; why. @lasts: the running one's request is not to be broken
    into."""
    if len(q.rows) == 1:
        return q.rows, "nobody else is queued"
    if q.curr and lasts and q.eligible(q.curr):
        if policy != "bore":
            return [q.curr], "the running one is eligible and its request lasts"
        # BORE has a threshold of tasks beyond which it does not wait for the end of requests.
    able = [row for row in q.rows if q.eligible(row)]
    base = able[0]["deadline"]
    least = min(ahead(row["deadline"], base) for row in able)
    best = [row for row in able if ahead(row["deadline"], base) == least]
    if policy == "bore" and q.curr and lasts and q.eligible(q.curr):
        best.append(q.curr)
    return best, "of the eligible it has the earliest deadline"


def judge_eevdf_pick(d: Row, q: Queue, t: Tunables) -> Verdict:
    picked = q.find(d["pid"], d["subject_group"])
    if not picked:
        return "the entity that was picked is not queued"
    nominated = next((r for r in q.rows if r["flags"] & NEXT), None) if len(q.rows) > 1 else None
    if nominated and q.eligible(nominated):
        return RIGHT if picked is nominated else f"right is {name(nominated)}: it is nominated and eligible"
    best, why = eevdf_best(q, d["policy"], bool(q.curr and q.curr["flags"] & LASTS))
    return RIGHT if any(picked is row for row in best) else f"right is {name(best[0])}: {why}"


def judge_eevdf_numbers(d: Row, q: Queue) -> Verdict:
    """V, and who is eligible, as the policy has them."""
    if q.rows and q.now_from(d["v"]) != 0:
        return f"the virtual time is off by {q.now_from(d['v'])} ns"
    for row in q.rows:
        if q.eligible(row) != bool(row["flags"] & ELIGIBLE):
            return f"{name(row)} is {'' if q.eligible(row) else 'not '}eligible"
    return RIGHT


def judge_eevdf_preempt(d: Row, q: Queue, t: Tunables) -> Verdict:
    curr, woken = q.curr, q.subject
    if not curr or not woken:
        return NOT_JUDGED
    if curr["flags"] & USED:
        return RIGHT if d["answer"] else "the running one used up its request"
    if d["answer"] and d["rule"] == "eligibility":  # the charge just before ended its turn
        return "the running one is eligible" if q.eligible(curr) else RIGHT
    urgent = (woken["slice"] < curr["slice"] and q.eligible(woken)
              and (ahead(woken["deadline"], curr["deadline"]) < 0 or not q.eligible(curr)))
    best, why = eevdf_best(q, d["policy"], bool(curr["flags"] & LASTS) and not urgent)
    among = any(woken is row for row in best)
    if among == bool(d["answer"]) or (among and len(best) > 1):
        return RIGHT
    return f"a pick would choose {name(best[0])}: {why}"


def judge_eevdf_tick(d: Row, q: Queue, t: Tunables) -> Verdict:
    """The charge just before ended the turn, or did not; what weights of groups changed since then does not count.

    If it did, the rule is that charge's, which the row tells; if not, the policy's usual one.
    """
    row = q.subject
    if not row:
        return NOT_JUDGED
    used_up = bool(row["flags"] & USED)
    if d["answer"] and not used_up and row["flags"] & LASTS:
        return "its request lasts"
    if not d["answer"] and used_up:
        return "its request is used up"
    right = "request_used_up" if used_up or not d["answer"] else "eligibility"
    return RIGHT if d["rule"] == right else f"the reason given is {d['rule']}, where {right} is right"


def judge_eevdf_place(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Among the others, itself included, its lag is the one it brought, to less than 2 ns of virtual time."""
    row, flags = q.subject, d["flags"]
    if not row or flags & SWAPPED:
        return NOT_JUDGED  # a swap gives all a common point
    if flags & (NEW | LEAVES_CLASS | ABSENT):
        return RIGHT if d["vruntime"] == row["vruntime"] else "off the queue an entity is its lag, and has no place"
    if d["weight"] != row["weight"]:
        return NOT_JUDGED  # a new score of BORE gave it another weight, and its lag with that
    low = high = row["lag"]
    if flags & DELAYED:
        low, high = lag_after_delay(d, q, t, row)
        kept = lag_to_keep(d, q, t, row)
        if d["vruntime"] == row["vruntime"] and kept[0] <= high and low <= kept[1]:
            return RIGHT if d["deadline"] == row["deadline"] else "its lag need not change, nor does its deadline"
    weight, rows = d["weight"], [other for other in q.rows if other is not row]
    others = sum(other["weight"] for other in rows)
    if others:
        left = sum(other["weight"] * ahead(other["vruntime"], d["vruntime"]) for other in rows)
        if not (low - 2) * (others + weight) < left < (high + 2) * (others + weight):
            return f"its lag is {left // (others + weight)} ns, not {low} to {high}"
    rest = ahead(d["deadline"], d["vruntime"])
    if row["flags"] & RELATIVE:
        return RIGHT if rest == ahead(row["deadline"], 0) else "the rest of its request is not what it brought"
    halves = not flags & DELAYED and (flags & INITIAL or d["policy"] == "bore")
    whole = {rest} | ({2 * rest, 2 * rest + 1} if halves else set())
    if any(is_virtual(v, d["slice"], weight, not row["group"]) for v in whole):
        return RIGHT
    return f"its request of {d['slice']} ns is {rest} ns of virtual time"


def lag_to_keep(d: Row, q: Queue, t: Tunables, row: Row) -> tuple[int, int]:
    """The lag of @row, limited to two of the longest requests of the queue, or a tick; the least and the most."""
    lag, weight = q.now_from(row["vruntime"]), row["weight"]
    ns = max(2 * max(r["slice"] for r in q.rows), t.tick_ns)
    low, high = ((ns * 1024 + sign * virtual_slack(ns, weight)) // weight for sign in (-1, 1))
    if not row["group"] and weight in LOADS:
        low = high = virtual(ns, LOADS[weight])
    if d["policy"] == "bore":
        low, high = low // 2, high // 2
    if lag < 0:
        return max(lag, -high), max(lag, -low)
    return min(lag, low), min(lag, high)


def lag_after_delay(d: Row, q: Queue, t: Tunables, row: Row) -> tuple[int, int]:
    """A sleeper stayed queued: its debt did not grow since, nor did it become a claim."""
    least, most = lag_to_keep(d, q, t, row)
    if row["group"] and not row["flags"] & ASLEEP:
        return min(0, least), 0  # a group that runs still: its row lacks the lag with which it fell asleep
    return min(0, max(least, row["lag"])), min(0, max(most, row["lag"]))


def judge_eevdf_leave(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Lag is V less its virtual time, of at most two of the longest requests of the queue, or a tick."""
    row, flags = q.subject, d["flags"]
    if not row:
        return NOT_JUDGED
    if not row["flags"] & QUEUED:
        return RIGHT if d["lag"] == row["lag"] and not d["answer"] else "it travels asleep, with the lag it had"
    if flags & DELAYED:
        low, high = lag_after_delay(d, q, t, row)
        if d["answer"]:
            return "it has waited long enough, and must leave"
        return RIGHT if low <= d["lag"] <= high else f"its lag is {low} to {high} ns, not {d['lag']}"
    lag, kept = q.now_from(row["vruntime"]), d["lag"]
    if d["weight"] != row["weight"]:
        # The end of a burst changed BORE's weight first: the lag is the same in real time, but for rounding.
        scaled = lag * row["weight"] // d["weight"]
        lag = kept if abs(kept - scaled) <= 2 else scaled
    if d["answer"]:
        return RIGHT if lag < 0 and flags & SLEEP and not flags & SPECIAL else "it has no debt, and must leave"
    if lag < 0 and flags & (SLEEP | SPECIAL) == SLEEP:
        return "it has a debt, and must stay"
    longest = max(2 * max(r["slice"] for r in q.rows), t.tick_ns)
    halved = {2 * abs(kept), 2 * abs(kept) + 1} if d["policy"] == "bore" else {abs(kept), abs(kept) + 1}
    limited = any(is_virtual(limit, longest, d["weight"], not row["group"]) for limit in halved)
    if kept != lag and not (kept * lag >= 0 and abs(kept) < abs(lag) and limited):
        return f"its lag is {lag} ns, not {kept}"
    return RIGHT


# --- all --------------------------------------------------------------------------------------------------

Rule = Callable[[Row, Queue, Tunables], Verdict]

CFS: dict[str, Rule] = {"pick": judge_cfs_pick, "preempt": judge_cfs_preempt, "tick": judge_cfs_tick,
                        "charge": judge_charge, "place": judge_cfs_place, "leave": judge_cfs_leave}
EEVDF: dict[str, Rule] = {"pick": judge_eevdf_pick, "preempt": judge_eevdf_preempt, "tick": judge_eevdf_tick,
                          "charge": judge_charge, "place": judge_eevdf_place, "leave": judge_eevdf_leave}
JUDGES: dict[str, dict[str, Rule]] = {"cfs": CFS, "bore_cfs": CFS, "eevdf": EEVDF, "bore": EEVDF,
                                      "fdl": {**CFS, "pick": judge_fdl_pick}}


def name(row: Row) -> str:
    return f"group {row['group']}" if row["group"] else f"{row['comm']}-{row['pid']}"


def judge(d: Row, t: Tunables) -> Verdict:
    """Why the decision @d is wrong; "" if it is right; None if no rule covers it."""
    rule = JUDGES.get(d["policy"], {}).get(d["kind"])
    q = Queue(d)
    # The first candidates of a decision may have been overwritten in the kernel's ring, with all that is older.
    if not rule or len(d["candidates"]) != d["nr_rows"]:
        return NOT_JUDGED
    if d["kind"] != "charge" and not q.complete():
        if 0 < d["nr_rows"] < reasons.ROWS_MAX:
            return f"{len(q.rows)} of its candidates are queued, and it says {d['nr_queued']}"
        return NOT_JUDGED
    if not q.subject and (d["answer"] or d["kind"] != "pick"):
        return "its subject is not among the candidates"
    if d["kind"] == "pick" and not d["answer"]:
        verdict: Verdict = RIGHT if not q.rows else "nobody was picked, though some are queued"
    else:
        verdict = rule(d, q, t)
    if d["policy"] in reasons.REQUESTS and d["kind"] != "charge":
        verdict = verdict or judge_eevdf_numbers(d, q) or verdict
    elif d["kind"] in ("pick", "preempt", "leave") and q.subject and q.subject["flags"] & QUEUED:
        verdict = verdict or judge_cfs_slice(d, q, t, q.subject) or verdict
    eligible = [row for row in q.rows if q.eligible(row)] if d["policy"] in reasons.REQUESTS else []
    return verdict or reasons.judge_reason(d, q.rows, eligible) or reasons.judge_rest(d) or verdict


def row_of(d: Decision) -> Row:
    """@d as a line of JSON has it."""
    row = {name: getattr(d, name) for name in ("time", "kind", *FIELDS)}
    return {**row, "candidates": [c._asdict() for c in d.candidates]}


class FairJudge(Judge):
    """Judges what fair policies decided."""

    kinds = (Decision,)
    remembers = False
    changes = True

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        try:
            self.tunables = Tunables(run.cpus, run.hz, **dict(run.options.get("set", ())))
        except ValueError as problem:
            raise DecisionError(str(problem)) from problem
        self.past = history.Past()
        self.weights = history.Weights()

    def judge(self, d: Decision) -> Iterator[Finding]:
        row = row_of(d)
        verdict = judge(row, self.tunables)
        if self.run.lost or d.policy not in JUDGES:
            yield (d.policy, d.kind), words_of(d), verdict
            return
        for (key, words, before), after in self.weights.agree(row):
            yield key, words, before or after or before
        if not verdict:
            verdict = self.past.judge(row) or verdict
        if verdict:
            self.past.forget(row)
        finding = (d.policy, d.kind), words_of(d), verdict
        if history.tells_weight(row) and not verdict:
            self.weights.wait(row, finding)
        else:
            yield finding

    def end(self) -> Iterator[Finding]:
        yield from self.weights.rest()


if __name__ == "__main__":
    sys.exit(main(__doc__, FairJudge))
