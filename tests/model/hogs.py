# SPDX-License-Identifier: GPL-2.0-only
"""Hogs that take turns on one CPU, tick by tick, by the rules of cfs.py and eevdf.py: the golden traces."""

from collections.abc import Iterator
from dataclasses import dataclass

import cfs
import eevdf
from arithmetic import SCALE_BITS, of_nice, virtual
from fair_rows import LASTS, LOADS, QUEUED, RUNS, Queue, Row, Tunables, ahead

Hog = tuple[str, int, int]  # name, nice value, slice in ns


@dataclass
class Step:
    """The state after a tick; the first one is that before all ticks."""

    ran: str
    asked: bool               # for a switch
    now: int                  # min_vruntime of CFS, V of EEVDF
    v: dict[str, int]
    deadline: dict[str, int]
    eligible: str
    following: str            # who runs next


class Cpu:
    """The hogs, all from virtual time 0 on. They wait in the order in which they came; the running one is the last."""

    def __init__(self, hz: int, hogs: list[Hog]) -> None:
        self.tunables = Tunables(1, hz)
        self.rows: list[Row] = [
            {"comm": name, "pid": pid, "group": 0, "flags": QUEUED, "vruntime": 0, "slice": slice_ns,
             "weight": of_nice(nice).stored >> SCALE_BITS}
            for pid, (name, nice, slice_ns) in enumerate(hogs)]
        self.of_name = sorted(self.rows, key=lambda row: str(row["comm"]))

    def queue(self) -> Queue:
        return Queue({"policy": "", "candidates": self.rows, "pid": -1, "subject_group": 0})

    def run(self, row: Row) -> None:
        """@row is picked. Who ran before waits behind all others."""
        for other in self.rows:
            other["flags"] &= ~(RUNS | LASTS)
        self.rows.remove(row)
        self.rows.append(row)
        row["flags"] |= RUNS

    def charge(self) -> Row:
        row = self.rows[-1]
        row["vruntime"] += virtual(self.tunables.tick_ns, LOADS[row["weight"]])
        return row

    def step(self, ran: Row, asked: bool, now: int) -> Step:
        q = self.queue()
        return Step(ran["comm"], asked, now, {row["comm"]: row["vruntime"] for row in self.of_name},
                    {row["comm"]: row.get("deadline", 0) for row in self.of_name},
                    "".join(row["comm"] for row in self.of_name if q.eligible(row)), self.rows[-1]["comm"])


def under_cfs(hz: int, nices: dict[str, int]) -> Iterator[Step]:
    cpu = Cpu(hz, [(name, nice, 0) for name, nice in nices.items()])
    t, now, ran = cpu.tunables, 0, 0
    cpu.run(cpu.rows[0])
    yield cpu.step(cpu.rows[-1], True, now)
    while True:
        row = cpu.charge()
        ran += t.tick_ns
        now = cfs.advanced(now, [other["vruntime"] for other in cpu.rows])
        weights = [each["weight"] for each in cpu.rows]
        slice_ns = cfs.slice_of(row["weight"], weights, t.latency_ns, t.min_granularity_ns)
        lead = max(ahead(row["vruntime"], other["vruntime"]) for other in cpu.rows)
        asked, _ = cfs.turn_ends(ran, slice_ns, lead, t.min_granularity_ns)
        chosen = cfs.choices({"policy": "cfs"}, cpu.queue(), t)[0][0] if asked else row
        if chosen is not row:
            cpu.run(chosen)
            ran = 0
        yield cpu.step(row, asked, now)


def under_eevdf(hz: int, hogs: list[Hog]) -> Iterator[Step]:
    cpu = Cpu(hz, hogs)
    for row in cpu.rows:  # new tasks ask for half a slice first
        row["deadline"] = virtual(row["slice"], LOADS[row["weight"]]) // 2
    row, asked = cpu.rows[0], True
    while True:
        if asked:
            chosen = eevdf.best(cpu.queue(), bool(row["flags"] & LASTS))[0][0]
            if not chosen["flags"] & RUNS:
                cpu.run(chosen)
                eevdf.begin_turn(chosen)
        yield cpu.step(row, asked, cpu.queue().now_from(0))
        row = cpu.charge()
        used_up = row["vruntime"] >= row["deadline"]
        asked = eevdf.turn_ends(used_up, bool(row["flags"] & LASTS), cpu.queue().eligible(row))
        if used_up:
            eevdf.renew(row)
