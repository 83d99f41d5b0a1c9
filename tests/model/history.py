# SPDX-License-Identifier: GPL-2.0-only
"""What earlier and later records of a file say about a decision of a fair policy.

Some numbers of a record follow from other records of the same queue or task:

    v of CFS            min_vruntime never goes back; each charge raises it to the least of those queued, and so does
                        each leave, unless the entity comes back to its place at once
    delta of a tick     the sum of what the entity was charged since it came onto the CPU
    weight of BORE      after a charge or a placement, the weight in the next record that has the task

The records of a queue are in the order in which they were made. Records of different queues with one time may be in
any order, so nothing here rests on their order.
"""

from typing import Any

import bore
from arithmetic import WEIGHTS
from cfs import advanced
from fair_rows import ABSENT, DUE, LEAVES_CLASS, MOVE, NEW, QUEUED, RUNS, SAVE, SLEEP, SWAPPED, Row, subject_of
from judging import RIGHT, Verdict

Entity = tuple[int, int]  # the pid of a task, or 0 and the number of a group
Where = tuple[int, int]   # a CPU and the number of a group: a queue

OF_CFS = ("cfs", "bore_cfs", "fdl")
TELLING = {"charge", "leave", "place"}  # a file without one of these kinds does not tell how v moves


def who(row: Row) -> Entity:
    return row["pid"], row.get("subject_group", row["group"])


class Clock:
    """The min_vruntime of a queue of CFS, and the virtual times of those that are queued."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.v: int | None = None
        self.queued: dict[Entity, int] | None = None

    def judge(self, d: Row) -> Verdict:
        """Is @d's v the one that the records before it give?"""
        if self.v is None:
            self.v = d["v"]
        if self.v == d["v"]:
            return RIGHT
        return f"min_vruntime is {d['v']}, where the records before make it {self.v}"

    def note(self, d: Row, complete: bool) -> None:
        """What @d changes."""
        kind, subject = d["kind"], subject_of(d)
        if d["flags"] & SWAPPED or any(row["flags"] & DUE for row in d["candidates"]):
            self.v = self.queued = None
            return
        if kind != "charge":
            self.queued = ({(row["pid"], row["group"]): row["vruntime"] for row in d["candidates"]
                            if row["flags"] & QUEUED} if complete else None)
        if self.queued is None or not subject:
            self.v = self.v if kind in ("pick", "preempt", "tick", "place") else None
            return
        was_queued = subject["flags"] & QUEUED
        if kind == "place" and not d["flags"] & (NEW | LEAVES_CLASS | ABSENT) or kind == "charge" and was_queued:
            self.queued[who(d)] = d["vruntime"]
        if kind == "leave" and not d["answer"]:
            self.queued.pop(who(d), None)
        leaves = kind == "leave" and was_queued and d["flags"] & (SAVE | MOVE) != SAVE
        if (kind == "charge" or leaves) and self.queued:
            if self.v is not None:
                self.v = advanced(self.v, list(self.queued.values()))


class Past:
    """What a file has told so far of queues and their entities."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.clocks: dict[Where, Clock] = {}
        self.turns: dict[Where, dict[Entity, list[int]]] = {}  # the charges since it came onto the CPU
        self.bursts: dict[int, int] = {}  # by pid: ns since a task fell asleep; longer than any burst since then

    def forget(self, d: Row) -> None:
        """@d is wrong, so what would follow from it is not known."""
        self.clocks.pop((d["cpu"], d["group"]), None)
        self.turns.pop((d["cpu"], d["group"]), None)
        self.bursts.pop(d["pid"], None)

    def judge(self, d: Row) -> Verdict:
        """Why @d contradicts what came before it; and note it."""
        return self.clock(d) or self.turn(d) or self.burst(d)

    def clock(self, d: Row) -> Verdict:
        where = d["cpu"], d["group"]
        clock = self.clocks.get(where)
        if not clock or clock.policy != d["policy"]:
            clock = self.clocks[where] = Clock(d["policy"])
        told = self.kinds >= TELLING
        self.kinds.add(d["kind"])
        if d["policy"] not in OF_CFS:
            return RIGHT
        if not told:
            clock.v = None
        verdict = clock.judge(d)
        nr = sum(1 for row in d["candidates"] if row["flags"] & QUEUED)
        clock.note(d, len(d["candidates"]) == d["nr_rows"] and nr == d["nr_queued"])
        return verdict

    def turn(self, d: Row) -> Verdict:
        """A turn begins when an entity is picked that does not run, or when the running one got other parameters."""
        kind, entity = d["kind"], who(d)
        turns = self.turns.setdefault((d["cpu"], d["group"]), {})
        if kind in ("leave", "place") and d["flags"] & (SAVE | SWAPPED):
            for (cpu, _), others in self.turns.items():  # those above it may run, and begin anew too
                if cpu == d["cpu"]:
                    others.clear()
        elif kind == "pick" and d["answer"]:
            row = subject_of(d)
            if not row:
                turns.pop(entity, None)
            elif not row["flags"] & RUNS:
                turns[entity] = []
        elif kind == "charge" and entity in turns:
            turns[entity] = [sum(turns[entity]) + d["delta"]]
        elif kind == "tick" and turns.get(entity):
            right = sum(turns[entity])
            if right != d["delta"]:
                return f"it was charged {right} ns since it was picked, not {d['delta']}"
        return RIGHT

    def burst(self, d: Row) -> Verdict:
        """Of BORE on EEVDF: the weight is one of the nice table, and no burst is longer than the time since a sleep."""
        if d["policy"] != "bore" or not d["pid"]:
            return RIGHT
        pid, kind = d["pid"], d["kind"]
        if kind == "leave":
            self.bursts.pop(pid, None)
            if d["flags"] & SLEEP:
                self.bursts[pid] = 0
        row = subject_of(d)
        if kind != "charge" or not row:
            return RIGHT
        most = bore.MOST
        if pid in self.bursts and row["flags"] & QUEUED:
            self.bursts[pid] += d["delta"]
            most = max(row["score"], bore.score_5(self.bursts[pid]))
        if d["weight"] == row["weight"]:
            return RIGHT
        if row["weight"] not in WEIGHTS or d["weight"] not in WEIGHTS:
            return f"its weight was {row['weight']} and is {d['weight']}, which is that of no score"
        grown = WEIGHTS.index(d["weight"]) - WEIGHTS.index(row["weight"])
        if 0 < grown <= most - row["score"]:
            return RIGHT
        return f"its score was {row['score']} and is {most} at most, but its weight changed by {grown} levels"


class Told:
    """The weight that a record of BORE says a task has now, which the next record that has the task must agree with.

    A yield ends a burst and is not recorded; it only makes a task heavier, and one that ran. What changes parameters of
    a queued task begins with a record of a leave. Those of a task that is not queued may change without a record.
    """

    def __init__(self, d: Row) -> None:
        self.time, self.where, self.kind, self.weight = d["time"], (d["cpu"], d["group"]), d["kind"], d["weight"]

    def judge(self, d: Row, row: Row) -> Verdict:
        """The candidate @row of @d is the same task."""
        if self.where != (d["cpu"], d["group"]) and self.time >= d["time"]:
            return RIGHT  # the order of the two is not known
        ran = self.kind == "charge" or row["flags"] & RUNS or d["kind"] == "pick"
        yielded = ran and row["weight"] > self.weight
        if row["weight"] == self.weight or yielded:
            return RIGHT
        return f"its weight is {self.weight}, but the next record has {row['weight']}"


def tells_weight(d: Row) -> bool:
    queued = d["kind"] == "charge" or d["kind"] == "place" and not d["flags"] & (NEW | LEAVES_CLASS | ABSENT)
    return bool(d["policy"] == "bore" and d["pid"] and queued)


class Weights:
    """Findings about charges and placements of BORE wait here until another record has the task."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[Told, Any]] = {}  # by pid

    def agree(self, d: Row) -> list[tuple[Any, Verdict]]:
        """The findings that @d settles, each with what @d says of it."""
        settled = []
        for row in d["candidates"] if self.waiting else ():
            if row["pid"] in self.waiting:
                told, finding = self.waiting.pop(row["pid"])
                settled.append((finding, told.judge(d, row) if d["policy"] == "bore" else RIGHT))
        return settled

    def wait(self, d: Row, finding: Any) -> None:
        self.waiting[d["pid"]] = Told(d), finding

    def rest(self) -> list[Any]:
        return [finding for _, finding in self.waiting.values()]
