# SPDX-License-Identifier: GPL-2.0-only
"""One group saves runtime for a burst, and another loses it: how often does that make a bystander late?

Groups share a CPU. Each may use an equal part of every period and wants exponentially distributed amounts, less than
that on average. A bystander without any limit has a small job in each period and takes what is left. If groups may save
unused runtime, several bursts can meet in one period, and the bystander is late. This happens less often with more
groups, and with groups that use less on average.
"""

import math
import random
from typing import Any

from ..experiment import Claim, Figures, Results, Run, rule
from ..image import event_values
from ..timeline import SLEEPS, SWITCH

TITLE = "Groups whose bursts meet: periods in which a bystander is late, by number of groups, their use, and burst"
SOURCE = "the burst feature's description, without figures: interference falls with more groups and with lower use"
SETTINGS = {"smp": "1", "hz": "1000"}
SECONDS = 60
SCHEDULERS = ("cfs",)
HOSTS = ("simulator",)  # the length of every job is drawn before the run
GROUPS, USES, BURSTS = (2, 4, 8, 16), (60, 80), ("saved", "none")
CASES = tuple(f"{groups}-{use}-{burst}" for groups in GROUPS for use in USES for burst in BURSTS)
SIZE = (9, 4)

PERIOD_US, BYSTANDER_US = 100_000, 5000


def workload(case: str, seconds: int) -> dict[str, Any]:
    """The demands are the same with and without bursts. A group with a quota of 1/n has demands in proportion."""
    groups, use, burst = case.split("-")
    quota_us = PERIOD_US // int(groups)
    rng = random.Random(f"{groups}-{use}")
    timer = {"ref": "unique", "period": PERIOD_US, "mode": "absolute"}
    tasks = {"bystander": {"policy": "SCHED_IDLE", "run": BYSTANDER_US, "timer": timer}}
    limits = {}
    for nr in range(int(groups)):
        limits[f"/g{nr}"] = {"quota": quota_us, "period": PERIOD_US, "burst": quota_us if burst == "saved" else 0}
        jobs = (rng.expovariate(1 / (quota_us * int(use) / 100)) for _ in range(seconds * 1_000_000 // PERIOD_US))
        tasks[f"worker{nr}"] = {"taskgroup": f"/g{nr}", "loop": 1,
                                "phases": {f"job{i}": {"run": int(us), "timer": timer} for i, us in enumerate(jobs)}}
    return {"global": {"duration": seconds}, "taskgroups": limits, "tasks": tasks}


def measure(run: Run) -> Figures:
    """The part of the periods at whose end the bystander's job is not done."""
    asleep_since, late, nr, end = None, 0, 0, None
    for event in run.events((SWITCH, "sched_wakeup", "sched_wakeup_new")):
        values = event_values(event)
        boundary = event.time - event.time % (PERIOD_US * 1000)
        end = boundary if end is None else end
        while end < boundary:
            end += PERIOD_US * 1000
            nr += 1
            late += asleep_since is None
        if event.format.name != SWITCH:
            if values["comm"].startswith("bystander"):
                asleep_since = None
        elif values["prev_comm"].startswith("bystander") and values["prev_state"] & SLEEPS:
            asleep_since = event.time
    return {"periods": nr, "late": late / nr}


def late(results: Results, groups: int, use: int, burst: str) -> float:
    return results["cfs"][f"{groups}-{use}-{burst}"]["late"]


def interference(results: Results, groups: int, use: int) -> float:
    return late(results, groups, use, "saved") - late(results, groups, use, "none")


def ratio(part: float, whole: float) -> float:
    """In a short run nothing may be late: then no part is small."""
    return part / whole if whole else math.inf


def claims() -> list[Claim]:
    found = []
    for use in USES:
        for fewer, groups in zip(GROUPS, GROUPS[1:]):
            found.append(rule(f"use {use} %: late, {groups} groups by {fewer}", "< 0.8", ["cfs"], lambda v: v < 0.8,
                              lambda r, f=fewer, g=groups, u=use: ratio(late(r, g, u, "saved"),
                                                                        late(r, f, u, "saved"))))
    for groups in GROUPS:
        found.append(rule(f"{groups} groups, use 60 %: late, part of that at 80 %", "< 0.6", ["cfs"], lambda v: v < 0.6,
                          lambda r, g=groups: ratio(late(r, g, 60, "saved"), late(r, g, 80, "saved"))))
    for use in USES:
        for groups in GROUPS:
            found.append(rule(f"use {use} %, {groups} groups: more than without", ">= 0", ["cfs"], lambda v: v >= 0,
                              lambda r, g=groups, u=use: interference(r, g, u)))
    return found


def draw(figure: Any, results: dict[str, Results]) -> None:
    axes = figure.subplots()
    for host, of_host in results.items():
        for nr, use in enumerate(USES):
            for burst, style in zip(BURSTS, ("o-", "x:")):
                axes.plot(GROUPS, [late(of_host, groups, use, burst) for groups in GROUPS], style, color=f"C{nr}",
                          label=f"use {use} %, burst {burst}, {host}")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("groups")
    axes.set_ylabel("part of the periods in which the bystander is late")
    axes.legend(fontsize=8)
