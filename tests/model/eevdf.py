# SPDX-License-Identifier: GPL-2.0-only
"""The rules of EEVDF of Linux 6.12, and of BORE 5.9.6 where it differs: who is next, lag, places, requests."""

import bore
from arithmetic import Load, quotient, virtual
from fair_rows import (ABSENT, ASLEEP, DELAYED, ELIGIBLE, INITIAL, LASTS, LEAVES_CLASS, LOADS, NEW, NEXT, QUEUED,
                       RELATIVE, SLEEP, SPECIAL, SWAPPED, USED, Choice, Queue, Row, Tunables, ahead, firsts,
                       is_virtual, name, reason, virtual_range, with_flag)
from judging import NOT_JUDGED, RIGHT, Verdict

# --- who is next ------------------------------------------------------------------------------------------

WHY = {"only_one": "nobody else is queued", "nominated": "it is nominated and eligible",
       "request_lasts": "the running one is eligible and its request lasts",
       "earliest_deadline": "of the eligible it has the earliest deadline"}


def best(q: Queue, lasts: bool) -> list[Choice]:
    """Who comes next if nobody is nominated, and why. @lasts: the running one's request is not to be broken into."""
    if len(q.rows) == 1:
        return [(q.rows[0], "only_one")]
    # BORE does not wait for the end of requests where more than a few are queued.
    protects = q.d["policy"] != "bore" or len(q.rows) <= bore.PARITY
    if q.curr and lasts and protects and q.eligible(q.curr):
        return [(q.curr, "request_lasts")]
    first = firsts([row for row in q.rows if q.eligible(row)], "deadline")
    waiting = [row for row in first if row is not q.curr]  # of two equal ones the one that waits
    return [(row, "earliest_deadline") for row in waiting or first]


def lasts(q: Queue) -> bool:
    return bool(q.curr and q.curr["flags"] & LASTS)


def choices(d: Row, q: Queue, t: Tunables) -> list[Choice]:
    nominated = with_flag(q.rows, NEXT) if len(q.rows) > 1 else None
    return [(nominated, "nominated")] if nominated and q.eligible(nominated) else best(q, lasts(q))


def judge_numbers(d: Row, q: Queue) -> Verdict:
    """V, and who is eligible, as the policy has them."""
    if q.rows and q.now_from(d["v"]) != 0:
        return f"the virtual time is off by {q.now_from(d['v'])} ns"
    for row in q.rows:
        if q.eligible(row) != bool(row["flags"] & ELIGIBLE):
            return f"{name(row)} is {'' if q.eligible(row) else 'not '}eligible"
    return RIGHT


def judge_preempt(d: Row, q: Queue, t: Tunables) -> Verdict:
    curr, woken = q.curr, q.subject
    if not curr or not woken:
        return NOT_JUDGED
    if curr["flags"] & USED:
        return reason(d, "request_used_up") if d["answer"] else "the running one used up its request"
    if d["answer"] and d["rule"] == "eligibility":  # the charge just before ended its turn
        return "the running one is eligible" if q.eligible(curr) else "its request lasts" if lasts(q) else RIGHT
    urgent = (woken["slice"] < curr["slice"] and q.eligible(woken)
              and (ahead(woken["deadline"], curr["deadline"]) < 0 or not q.eligible(curr)))
    first = best(q, lasts(q) and not urgent)
    among = any(woken is row for row, _ in first)
    if among == bool(d["answer"]) or (among and len(first) > 1):
        return reason(d, "request_lasts" if first[0][1] == "request_lasts" else "pick_agrees")
    return f"a pick would choose {name(first[0][0])}: {WHY[first[0][1]]}"


def judge_tick(d: Row, q: Queue, t: Tunables) -> Verdict:
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
    return reason(d, "request_used_up" if used_up or not d["answer"] else "eligibility")


# --- lag --------------------------------------------------------------------------------------------------


def inflated(lag: int, resident: int, weight: int) -> int:
    """How far left of V an entity is placed so that it has @lag once it counts itself; @resident: the others' weight.

    Its arrival moves V towards it by weight / (resident + weight) of the distance.
    """
    return quotient(lag * (resident + weight), resident)


def realised(left: int, resident: int, weight: int) -> int:
    """The lag of an entity placed @left of V, once it is part of the mean."""
    return quotient(left * resident, resident + weight)


def limit_ns(slice_ns: int, tick_ns: int) -> int:
    """The most lag that is kept: two requests, or a tick."""
    return max(2 * slice_ns, tick_ns)


def limit(slice_ns: int, tick_ns: int, load: Load) -> int:
    return virtual(limit_ns(slice_ns, tick_ns), load)


def reweighted(now: int, v: int, deadline: int, most: int, old: int, new: int) -> tuple[int, int]:
    """(v, deadline) after a change of weight that leaves V, which is @now, where it is."""
    lag = max(-most, min(most, now - v))
    return now - quotient(lag * old, new), now + quotient((deadline - now) * old, new)


def limit_of(d: Row, q: Queue, t: Tunables, row: Row) -> tuple[int, int]:
    """The limit of the lag of @row, by the longest request of the queue; the least and the most that it may be."""
    low, high = virtual_range(limit_ns(max(r["slice"] for r in q.rows), t.tick_ns), row)
    return (low // 2, high // 2) if d["policy"] == "bore" else (low, high)


def lag_to_keep(d: Row, q: Queue, t: Tunables, row: Row) -> tuple[int, int]:
    """The lag of @row within its limit; the least and the most."""
    lag = q.now_from(row["vruntime"])
    low, high = limit_of(d, q, t, row)
    if lag < 0:
        return max(lag, -high), max(lag, -low)
    return min(lag, low), min(lag, high)


def lag_after_delay(d: Row, q: Queue, t: Tunables, row: Row) -> tuple[int, int]:
    """A sleeper stayed queued: its debt did not grow since, nor did it become a claim."""
    least, most = lag_to_keep(d, q, t, row)
    if row["group"] and not row["flags"] & ASLEEP:
        return min(0, least), 0  # a group that runs still: its row lacks the lag with which it fell asleep
    return min(0, max(least, row["lag"])), min(0, max(most, row["lag"]))


def judge_leave(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Lag is V less its virtual time, within its limit. Who owes stays queued."""
    row, flags = q.subject, d["flags"]
    if not row:
        return NOT_JUDGED
    if not row["flags"] & QUEUED:
        return RIGHT if d["lag"] == row["lag"] and not d["answer"] else "it travels asleep, with the lag it had"
    low, high = (lag_after_delay if flags & DELAYED else lag_to_keep)(d, q, t, row)
    if flags & DELAYED and d["answer"]:
        return "it has waited long enough, and must leave"
    if not flags & DELAYED:
        owes = d["lag"] < 0
        if d["answer"] != (owes and flags & (SLEEP | SPECIAL) == SLEEP):
            return "it has no debt, and must leave" if d["answer"] else "it has a debt, and must stay"
        if d["weight"] != row["weight"]:  # the end of a burst changed BORE's weight first
            return judge_rescaled(d, q, t, row)
    return RIGHT if low <= d["lag"] <= high else f"its lag is {low} to {high} ns, not {d['lag']}"


def judge_rescaled(d: Row, q: Queue, t: Tunables, row: Row) -> Verdict:
    """With its new weight its lag is the same in real time, but for rounding, and has a new limit."""
    scaled = q.now_from(row["vruntime"]) * row["weight"] // d["weight"]
    low, high = limit_of(d, q, t, row | {"weight": d["weight"]})
    if abs(d["lag"] - scaled) <= 2 or d["lag"] * scaled >= 0 and low <= abs(d["lag"]) <= min(high, abs(scaled)):
        return RIGHT
    return f"its lag is {scaled} ns, not {d['lag']}"


# --- entering ---------------------------------------------------------------------------------------------


def judge_place(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Among the others, itself included, its lag is the one it brought."""
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
    others = Queue(d | {"candidates": [other for other in q.rows if other is not row]})
    left = d["vruntime"] - d["v"]
    if others.rows:
        left, resident = others.now_from(d["vruntime"]), others.weight()
        low, high = (inflated(lag, resident, row["weight"]) for lag in (low, high))
        if not low <= left <= high:
            return f"it belongs {low} to {high} ns left of the others, not {left}"
    return judge_request(d, row)


def judge_request(d: Row, row: Row) -> Verdict:
    """A request lasts a slice; half of it for a new entity, and under BORE as its tunable says."""
    rest = ahead(d["deadline"], d["vruntime"])
    if row["flags"] & RELATIVE:
        return RIGHT if rest == ahead(row["deadline"], 0) else "the rest of its request is not what it brought"
    halves = not d["flags"] & DELAYED and (d["flags"] & INITIAL or d["policy"] == "bore")
    whole = {rest} | ({2 * rest, 2 * rest + 1} if halves else set())
    if any(is_virtual(v, d["slice"], row) for v in whole):
        return RIGHT
    return f"its request of {d['slice']} ns is {rest} ns of virtual time"


# --- running ----------------------------------------------------------------------------------------------


def begin_turn(row: Row) -> None:
    """A pick brings @row onto the CPU: nobody may break into its request."""
    row["flags"] |= LASTS


def renew(row: Row) -> None:
    """@row used up its request. Others may break into the next one."""
    row["deadline"] = row["vruntime"] + virtual(row["slice"], LOADS[row["weight"]])
    row["flags"] &= ~LASTS


def turn_ends(used_up: bool, lasts: bool, eligible: bool) -> bool:
    """Does a charge end the turn, if others wait? @lasts: the request is not to be broken into."""
    return used_up or not (lasts or eligible)


def judge_charge(d: Row, q: Queue, t: Tunables) -> Verdict:
    """Virtual time advances by the time that it ran, over its weight; past the deadline a new request begins."""
    row = q.subject
    if not row:
        return "there is no subject"
    used_up = ahead(d["vruntime"], row["deadline"]) >= 0
    if d["slice"] != row["slice"] and not (used_up and d["slice"] in {t.base_slice_ns, *t.boot_slices_ns}):
        return f"its slice was {row['slice']} and is {d['slice']}"
    if d["weight"] != row["weight"]:
        return NOT_JUDGED  # a new score of BORE gave it another weight
    if not row["flags"] & QUEUED:
        return RIGHT if d["vruntime"] == row["vruntime"] else "it is not queued, but its virtual time changed"
    gone = ahead(d["vruntime"], row["vruntime"])
    if not is_virtual(gone, d["delta"], row):
        return f"{d['delta']} ns at weight {row['weight']} are not {gone} ns of virtual time"
    # Whether it is eligible the record of a charge does not tell.
    request_lasts, others = bool(row["flags"] & LASTS), d["nr_queued"] > 1
    if d["answer"] and not (others and turn_ends(used_up, request_lasts, eligible=False)):
        return "its turn ended within a request that is not to be broken into"
    if not d["answer"] and others and turn_ends(used_up, request_lasts, eligible=True):
        return "it used up its request, but nobody asked for a switch"
    if not used_up and d["deadline"] != row["deadline"]:
        return "its deadline changed before it was reached"
    if used_up and not is_virtual(ahead(d["deadline"], d["vruntime"]), d["slice"], row):
        return "the new request does not last a slice"
    return reason(d, "request_used_up" if used_up else "eligibility") if d["answer"] else RIGHT
