# SPDX-License-Identifier: GPL-2.0-only
"""Does the rule that a decision of an urgent class names hold, and is what such a decision leaves alone what it was?"""

import re
from typing import Any

from judging import RIGHT, Verdict

from fairground.decisions.class_decisions import ClassDecision, Level, Task

RUNS, SUBJECT, ALLOWED, WAKER, LAST = 0x1, 0x400, 0x4, 0x8, 0x10
WAKEUP, SAVE, MOVE, INITIAL = 0x1, 0x2, 0x4, 0x80  # queue_flags of the calls
NUMBERS = ("prio", "position", "slice", "deadline", "budget", "replenish_at")
KEPT = {**dict.fromkeys(("pick", "preempt", "select", "push", "pull"), NUMBERS),
        "leave": ("prio", "slice", "deadline", "budget", "replenish_at"),
        "tick": ("prio", "deadline", "budget", "replenish_at"), "enter": ("prio",)}
MOVES = ("select", "push", "pull")
SERVER = {"pick": {"fair_server"}, "enter": {"fair_came"}, "leave": {"fair_went"},
          "throttle": {"budget_used", "fair_ran"}, "replenish": {"zero_laxity", "period_begins", "fair_ran"}}


def is_flat(header: dict[str, Any], cpus: int) -> bool:
    """Do all CPUs share one cache, and no core has threads? Then each is as near as any other."""
    topology = str(header.get("topology", ""))
    return bool(re.search(rf"\b1 llc, {cpus} cores$", topology)
                or re.match(rf"1 threads, cores to {cpus}, caches to {cpus}$", topology))


class Turns:
    """Of several CPUs that are as good for a task, the one that is right."""

    def __init__(self, flat: bool) -> None:
        """@flat: each CPU is as near as any other."""
        self.flat = flat
        self.last: dict[int, int] = {}  # CPU that looked for another -> which it took in turn

    def nearest(self, d: ClassDecision, may: list[int]) -> list[int]:
        """Of the CPUs that the subject @may go to: its own, else that which looks, else the next in turn. All if they
        are not as near, or if nothing is known of the turns: a recording begins at any time."""
        if d.cpu in may:
            return [d.cpu]
        if not self.flat or not may:
            return may
        waker = next((cpu.of_cpu for cpu in d.cpus if cpu.flags & WAKER), d.cpu)
        if waker in may:
            return [waker]
        last = self.last.get(waker)
        self.last[waker] = d.to
        if last is None:
            return may
        return [min((cpu for cpu in may if cpu > last), default=min(may))]

    def forget(self) -> None:
        """Some choice was not seen."""
        self.last.clear()


def row_of(d: ClassDecision) -> Task | None:
    """The subject before the decision."""
    return next((task for task in d.candidates if task.flags & SUBJECT or (task.pid == d.pid and d.kind == "pick")),
                None)


def last_of(d: ClassDecision) -> Level | None:
    return next((cpu for cpu in d.cpus if cpu.flags & LAST), None)


def of_enter(d: ClassDecision) -> set[str]:
    if d.call & INITIAL:
        return {"arrives_new"}
    if d.call & SAVE:
        return {"arrives_changed" if d.call & MOVE else "arrives_back"}
    return {"arrives_woken" if d.call & WAKEUP else "arrives_moved"}


def of_tick(d: ClassDecision) -> set[str]:
    row = row_of(d)
    if not row or row.slice > 1:
        return {"slice_lasts"}
    return {"slice_over" if d.answer else "slice_alone"}


def of_preempt(d: ClassDecision) -> set[str]:
    curr = next((task for task in d.candidates if task.flags & RUNS), None)
    if not d.answer or not curr:
        return {"urgency", "pushed_next", "makes_room"}
    if d.policy == "deadline":
        return {"urgency", "pushed_next"}
    return {"urgency"} if d.prio < curr.prio else {"pushed_next", "makes_room"}


def of_select(d: ClassDecision) -> set[str]:
    if all(cpu.of_cpu != d.cpu for cpu in d.cpus):
        return {"cpu_leaves"}
    last = last_of(d)
    if last and not last.flags & ALLOWED:
        return {"only_allowed"}
    return {"stays", "displaces", "least_urgent_there", "none_less_urgent"}


def of(d: ClassDecision, limit_ns: int | None) -> set[str]:
    """The rules that @d may name. @limit_ns: of real-time tasks in a period, if there is one."""
    if d.policy == "fair_server":
        return SERVER.get(d.kind, set())
    if d.kind == "pick":
        return {"nobody"} if not d.pid else {"earliest_deadline" if d.policy == "deadline" else "most_urgent"}
    if d.kind == "leave":
        return {"changes" if d.call & SAVE else "sleeps" if d.call & WAKEUP else "departs"}
    if d.kind == "throttle":
        return {"budget_used" if d.policy == "deadline" else "share_used"}
    if d.kind == "replenish":  # a CPU that leaves lets its tasks go before the period is over
        early = d.policy != "deadline" and limit_ns is not None and d.used >= limit_ns
        return {"cpu_leaves"} if early else {"period_begins"}
    for kind, rules in (("enter", of_enter), ("tick", of_tick), ("preempt", of_preempt), ("select", of_select)):
        if d.kind == kind:
            return rules(d)
    return {"yield": {"yields"}, "push": {"waits"}, "pull": {"waits_there"}}.get(d.kind, set())


def judge_rest(d: ClassDecision, limit_ns: int | None) -> Verdict:
    """Its reason, and what it leaves alone."""
    may = of(d, limit_ns)
    if d.rule not in may:
        return f"the reason given is {d.rule}, where {' or '.join(sorted(may)) or 'none'} is right"
    if d.answer not in (0, 1) or not d.answer and d.kind not in ("pick", "preempt", "tick"):
        return f"{d.answer} is no answer"
    if d.kind not in MOVES and d.to != d.cpu:
        return f"nobody goes elsewhere, and it says to CPU {d.to}"
    row = row_of(d) if d.policy != "fair_server" else None
    if not row:
        return RIGHT
    kept = [what for what in KEPT.get(d.kind, ()) if (what, d.rule) != ("position", "makes_room")]
    return next((f"its {what} was {getattr(row, what)} and is {getattr(d, what)}, and it does not change here"
                 for what in kept if getattr(d, what) != getattr(row, what)), RIGHT)


def judge_stay(d: ClassDecision) -> Verdict:
    """A choice of a CPU by any rule but the least urgent work: the subject stays, unless it may not."""
    last = last_of(d)
    if d.rule in ("stays", "displaces", "none_less_urgent") and last and d.to != last.of_cpu:
        return f"it stays on CPU {last.of_cpu}, and does not go to CPU {d.to}"
    return RIGHT
