# SPDX-License-Identifier: GPL-2.0-only
"""Does the rule that a decision of a fair policy names hold, and do the numbers after it follow from those before?

A rule says why. More than one may hold, so each is judged by itself: what it claims must be so in the candidates.
"""

from typing import Any

import bore

Row = dict[str, Any]
Verdict = str | None

RUNS, LASTS, USED, NEXT, LAST, SKIP, DUE, QUEUED = 0x1, 0x10, 0x20, 0x40, 0x80, 0x100, 0x200, 0x800
# queue_flags and place_flags of the calls
ASLEEP = WAKEUP = 0x1
INITIAL, DELAYED = 0x80, 0x200
NEW, LEAVES_CLASS, ABSENT, SWAPPED = 0x1000, 0x2000, 0x4000, 0x8000
RIGHT = ""
WORD = 1 << 64
ROWS_MAX = 62  # a record with fewer rows than that has all there were
REQUESTS = ("eevdf", "bore")  # policies with requests


def subject_of(d: Row) -> Row | None:
    return next((r for r in d["candidates"] if (r["pid"], r["group"]) == (d["pid"], d["subject_group"])), None)


def of_pick(d: Row, rows: list[Row], eligible: list[Row]) -> set[str]:
    """The rules that may be named for a pick."""
    if not d["answer"]:
        return {"nobody"}
    if len(rows) == 1:
        return {"only_one"}
    picked = subject_of(d)
    if not picked:
        return set()
    if d["policy"] in REQUESTS:
        lasts = picked["flags"] & RUNS and picked["flags"] & LASTS and protects(d)
        return {"nominated"} & ({"nominated"} if picked["flags"] & NEXT else set()) | (
            {"request_lasts"} if lasts else set()) | (
            {"earliest_deadline"} if picked in firsts(eligible, "deadline") else set())
    if picked["flags"] & DUE:
        return {"group_deadline"}
    due = any(row["flags"] & DUE for row in rows)
    first = firsts([row for row in rows if not row["flags"] & DUE], "vruntime")
    may = {"container_turn"} if due else set()
    may |= {"least_vruntime"} if picked in first else set()
    may |= {"next_buddy"} if picked["flags"] & NEXT else set()
    may |= {"last_buddy"} if picked["flags"] & LAST else set()
    return may | ({"passed_over"} if any(r["flags"] & SKIP for r in first if r is not picked) else set())


def ahead(a: int, b: int) -> int:
    """@a - @b, of virtual times that may have wrapped but are near each other."""
    return (a - b + WORD // 2) % WORD - WORD // 2


def protects(d: Row) -> bool:
    """Does a request that lasts keep others out? BORE does not wait for its end where more than a few are queued."""
    return d["policy"] != "bore" or d["nr_queued"] <= bore.PARITY


def firsts(rows: list[Row], by: str) -> list[Row]:
    """The rows with the least @by, which may have wrapped."""
    if not rows:
        return []
    leads = [ahead(row[by], rows[0][by]) for row in rows]
    return [row for row, lead in zip(rows, leads, strict=True) if lead == min(leads)]


def of_preempt(d: Row, curr: Row | None, eligible: list[Row]) -> set[str]:
    if d["policy"] not in REQUESTS:
        return {"vruntime_lead", "deadlines_compared", "container_order"}  # which of them, the judge of FDL knows
    if not curr:
        return {"request_used_up", "request_lasts", "pick_agrees", "eligibility"}
    if curr["flags"] & USED:
        return {"request_used_up"}
    may = {"pick_agrees"} | ({"request_lasts"} if curr["flags"] & LASTS and protects(d) else set())
    # The charge just before may have ended its turn.
    ended = not curr["flags"] & LASTS and all(row is not curr for row in eligible)
    return may | ({"eligibility"} if ended else set())


def of_place(flags: int) -> str:
    if flags & (NEW | LEAVES_CLASS | ABSENT):
        return "arrives_absent"
    if flags & INITIAL:
        return "arrives_new"
    if not flags & WAKEUP:
        return "arrives_moved"
    return "arrives_delayed" if flags & DELAYED else "arrives_woken"


def of(d: Row, rows: list[Row], eligible: list[Row]) -> set[str] | None:
    """The rules that @d may name, of those @rows that are queued; None: another judge knows."""
    kind = d["kind"]
    if kind == "pick":
        return of_pick(d, rows, eligible)
    if kind == "preempt":
        return of_preempt(d, next((row for row in rows if row["flags"] & RUNS), None), eligible)
    if kind == "place":
        return {of_place(d["flags"])}
    if kind == "leave":
        return {"sleeps" if d["flags"] & ASLEEP else "departs"}
    if kind == "charge":
        return {"request_used_up", "eligibility"} if d["answer"] else {"ran"}
    return None


def judge_reason(d: Row, rows: list[Row], eligible: list[Row]) -> Verdict:
    may = of(d, rows, eligible)
    if may is None or d["rule"] in may:
        return RIGHT
    return f"the reason given is {d['rule']}, where {' or '.join(sorted(may)) or 'none'} is right"


def judge_rest(d: Row) -> Verdict:
    """What a decision cannot have, it has not; what it does not change is what it was."""
    timed, kind = d["policy"] in REQUESTS, d["kind"]
    if d["answer"] not in ((0, 1) if kind != "place" else (0,)):
        return f"{d['answer']} is no answer"
    absent = {"delta": kind not in ("charge", "tick"), "container": d["policy"] != "fdl",
              "flags": kind in ("pick", "tick", "charge"), "lag": not timed or kind in ("pick", "preempt", "tick"),
              "deadline": not timed and d["policy"] != "fdl"}
    for what, must in absent.items():
        if must and d[what]:
            return f"its {what} is {d[what]}, of which a {kind} under {d['policy']} has none"
    if bool(d["level"]) != bool(d["group"]):
        return f"the queue of group {d['group']} is at level {d['level']}"
    row = subject_of(d)
    if not row:
        return RIGHT
    return next((f"its {what} was {row[what]} and is {d[what]}, and it does not change here"
                 for what in kept(d, row) if d[what] != row[what]), RIGHT)


def kept(d: Row, row: Row) -> list[str]:
    """The numbers of the subject that the decision does not change."""
    timed, kind = d["policy"] in REQUESTS, d["kind"]
    rescored = d["policy"] == "bore" and d["weight"] != row["weight"]  # with a new weight it has a new place
    same = ["slice"] if timed and kind not in ("place", "charge") else []
    if kind in ("pick", "preempt", "tick"):
        return [*same, "vruntime", "deadline", "weight"]
    if timed and kind == "place" and d["flags"] & (NEW | LEAVES_CLASS | ABSENT):
        same += ["deadline", "slice", "lag"]
    if timed and kind == "leave" and not rescored:
        same += ["vruntime"]
    return same if d["policy"] == "bore" else [*same, "weight"]
