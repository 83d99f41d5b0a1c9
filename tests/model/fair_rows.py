# SPDX-License-Identifier: GPL-2.0-only
"""What a record of a fair decision holds: rows of candidates, flags, and virtual times that are rounded.

The rules of the policies are in cfs.py, fdl.py and eevdf.py, each once: judge.py asks them about records, hogs.py about
the tasks of the golden traces.
"""

from typing import Any

import bore
from arithmetic import IDLE as IDLE_WEIGHT
from arithmetic import MS, WEIGHTS, Load, of_idle, of_nice, virtual
from judging import RIGHT, Verdict

Row = dict[str, Any]
Choice = tuple[Row, str]  # who may be picked, by which rule

# flags of entities
RUNS, ASLEEP, IDLE, ELIGIBLE, LASTS, USED = 0x1, 0x2, 0x4, 0x8, 0x10, 0x20
NEXT, LAST, SKIP, DUE, QUEUED, RELATIVE = 0x40, 0x80, 0x100, 0x200, 0x800, 0x1000
# queue_flags and place_flags of the calls
SLEEP = WAKEUP = 0x1
SAVE, MOVE, SPECIAL, MIGRATED, INITIAL, DELAYED = 0x2, 0x4, 0x10, 0x40, 0x80, 0x200
NEW, LEAVES_CLASS, ABSENT, SWAPPED = 0x1000, 0x2000, 0x4000, 0x8000

WORD = 1 << 64
ROWS_MAX = 62  # a record with fewer rows than that has all there were
REQUESTS = ("eevdf", "bore")  # policies with requests


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


def ahead(a: int, b: int) -> int:
    """@a - @b, of virtual times that may have wrapped but are near each other."""
    return (a - b + WORD // 2) % WORD - WORD // 2


def name(row: Row) -> str:
    return f"group {row['group']}" if row["group"] else f"{row['comm']}-{row['pid']}"


def firsts(rows: list[Row], by: str) -> list[Row]:
    """The rows with the least @by, which may have wrapped."""
    if not rows:
        return []
    leads = [ahead(row[by], rows[0][by]) for row in rows]
    return [row for row, lead in zip(rows, leads, strict=True) if lead == min(leads)]


def subject_of(d: Row) -> Row | None:
    return next((r for r in d["candidates"] if (r["pid"], r["group"]) == (d["pid"], d["subject_group"])), None)


def with_flag(rows: list[Row], flag: int) -> Row | None:
    return next((row for row in rows if row["flags"] & flag), None)


class Queue:
    """The candidates of a decision that are queued, and the subject."""

    def __init__(self, d: Row) -> None:
        self.d = d
        self.subject = subject_of(d)
        self.rows = [row for row in d["candidates"] if row["flags"] & QUEUED]
        self.curr = with_flag(self.rows, RUNS)

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


def reason(d: Row, *may: str) -> Verdict:
    """Does the decision name one of the rules that @may have decided?"""
    if d["rule"] in may:
        return RIGHT
    return f"the reason given is {d['rule']}, where {' or '.join(sorted(may)) or 'none'} is right"


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


def load_of(row: Row) -> Load | None:
    """The weight of a task with its inverse; None for a group, whose weight is in no table."""
    return None if row["group"] else LOADS.get(row["weight"])


def virtual_range(ns: int, row: Row) -> tuple[int, int]:
    """The least and the most that @ns may be in the virtual time of @row."""
    load, weight = load_of(row), row["weight"]
    if load:
        return virtual(ns, load), virtual(ns, load)
    exact, slack = ns * 1024, virtual_slack(ns, weight)
    return -((slack - exact) // weight), (exact + slack) // weight


def is_virtual(v: int, ns: int, row: Row) -> bool:
    """Is @ns of CPU time of @row worth @v of virtual time, but for rounding where it is a group's?"""
    low, high = virtual_range(ns, row)
    return low <= v <= high


def stretched_range(ns: int, row: Row) -> list[tuple[int, int]]:
    """The same under BORE 2.2.8 for each score that @row may have reached: a score only grows while a task runs."""
    low, high = virtual_range(ns, row)
    return [(bore.stretched_2(max(0, low), score), bore.stretched_2(high, score))
            for score in range(row["score"], bore.MOST + 1)]
