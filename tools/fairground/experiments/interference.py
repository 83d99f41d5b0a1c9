# SPDX-License-Identifier: GPL-2.0-only
"""x4-interference: jobs of random lengths, how often the bystander is late, and the picture."""

import math
import random
from typing import Any

from ..machine.image import event_values
from ..study.claims import Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run
from ..trace.timeline import SLEEPS, SWITCH


def jobs(x: Experiment, groups: int, use: int, burst: str, seconds: int,
         seed: int) -> dict[str, Any]:
    """The demands are the same with and without bursts. A group with a quota of 1/n has demands in proportion."""
    period_us = x.v.period_us
    quota_us = period_us // groups
    rng = random.Random(f"{groups}-{use}" if seed == 1 else f"{groups}-{use}-{seed}")
    timer = {"ref": "unique", "period": period_us, "mode": "absolute"}
    tasks = {"bystander": {"policy": "SCHED_IDLE", "run": x.v.bystander_us, "timer": timer}}
    limits = {}
    for nr in range(groups):
        limits[f"/g{nr}"] = {"quota": quota_us, "period": period_us, "burst": quota_us if burst == "saved" else 0}
        lengths = (rng.expovariate(1 / (quota_us * use / 100)) for _ in range(seconds * 1_000_000 // period_us))
        tasks[f"worker{nr}"] = {"taskgroup": f"/g{nr}", "loop": 1,
                                "phases": {f"job{i}": {"run": int(us), "timer": timer} for i, us in enumerate(lengths)}}
    return {"global": {"duration": seconds}, "taskgroups": limits, "tasks": tasks}


def measure(x: Experiment, run: Run) -> Figures:
    """The part of the periods at whose end the bystander's job is not done."""
    asleep_since, late, nr, end = None, 0, 0, None
    for event in run.events((SWITCH, "sched_wakeup", "sched_wakeup_new")):
        values = event_values(event)
        boundary = event.time - event.time % (x.v.period_us * 1000)
        end = boundary if end is None else end
        while end < boundary:
            end += x.v.period_us * 1000
            nr += 1
            late += asleep_since is None
        if event.format.name != SWITCH:
            if values["comm"].startswith("bystander"):
                asleep_since = None
        elif values["prev_comm"].startswith("bystander") and values["prev_state"] & SLEEPS:
            asleep_since = event.time
    return {"periods": nr, "late": late / nr}


def late(results: Results, groups: int, use: int, burst: str = "saved") -> float:
    return results["cfs"][f"{groups}-{use}-{burst}"]["late"]


def part(some: float, whole: float) -> float:
    """In a short run nothing may be late: then no part is small."""
    return some / whole if whole else math.inf


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    axes = figure.subplots()
    for host, of_host in results.items():
        for nr, use in enumerate(x.v.uses):
            for burst, style in zip(("saved", "none"), ("o-", "x:")):
                axes.plot(x.v.numbers, [late(of_host, groups, use, burst) for groups in x.v.numbers], style,
                          color=f"C{nr}", label=f"use {use} %, burst {burst}, {host}")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("groups")
    axes.set_ylabel("part of the periods in which the bystander is late")
    axes.legend(fontsize=8)
