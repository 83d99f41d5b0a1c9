# SPDX-License-Identifier: GPL-2.0-only
"""x4-overruns: jobs that overrun their quota now and then, when each ends, and the picture."""

import random
from typing import Any

from ..machine.image import event_values
from ..study.claims import SIMULATOR, Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run
from ..trace.timeline import SWITCH

TASKS = 2
US = 1000  # ns
NEAR = US  # a trace begins a ns late


def demands(x: Experiment, seconds: int, seed: int) -> list[list[int]]:
    """For each task the CPU time of its jobs, us: with the stated chance at most the quota, else the worst case."""
    rng = random.Random(seed)
    periods = seconds * 1_000_000 // x.v.period_us - 1
    return [[rng.randint(x.v.least_us, x.v.usual_us) if rng.random() < x.v.likely else x.v.worst_us
             for _ in range(periods)] for _ in range(TASKS)]


def jobs(x: Experiment, quota_us: int, burst_us: int, seconds: int, seed: int) -> dict[str, Any]:
    timer = {"ref": "unique", "period": x.v.period_us, "mode": "absolute"}
    limit = {"quota": quota_us, "period": x.v.period_us, "burst": burst_us}
    tasks = {f"task{nr}": {"taskgroup": f"/g{nr}", "loop": 1,
                           "phases": {f"job{i}": {"run": us, "timer": timer} for i, us in enumerate(of_task)}}
             for nr, of_task in enumerate(demands(x, seconds, seed))}
    return {"global": {"duration": seconds}, "taskgroups": {f"/g{nr}": limit for nr in range(TASKS)}, "tasks": tasks}


def ends(run: Run, of_tasks: list[list[int]]) -> list[list[float]]:
    """For each task the times, us after the first job began, at which it had run for as long as its first jobs want."""
    found: list[list[float]] = [[] for _ in of_tasks]
    wanted = [US * of_task[0] for of_task in of_tasks]  # and got: whole ns
    got, since, first = [0] * len(of_tasks), 0, None
    for event in run.events((SWITCH,)):
        values = event_values(event)
        first = event.time if first is None else first
        name = values["prev_comm"]
        if name.startswith("task"):
            nr = int(name.removeprefix("task").partition("-")[0])
            got[nr] += event.time - since
            while len(found[nr]) < len(of_tasks[nr]) and got[nr] + NEAR >= wanted[nr]:
                found[nr].append((event.time - first - got[nr] + wanted[nr]) / US)
                if len(found[nr]) < len(of_tasks[nr]):
                    wanted[nr] += US * of_tasks[nr][len(found[nr])]
        since = event.time
    return found


def measure(x: Experiment, run: Run) -> Figures:
    """By the number of tasks that overrun in a period: how many periods, and in how many of them a job was late."""
    of_tasks = demands(x, run.seconds, x.v.draw)
    late_us = [[end - (i + 1) * x.v.period_us for i, end in enumerate(of_task)] for of_task in ends(run, of_tasks)]
    periods, late = [0] * (TASKS + 1), [0] * (TASKS + 1)
    worst = []
    for i, (wants, over) in enumerate(zip(zip(*of_tasks), zip(*late_us))):
        nr = sum(us > x.v.usual_us for us in wants)
        periods[nr] += 1
        late[nr] += max(over) > x.v.slack_us
        worst.append(max(over) / 1000)
    return {"both_within": periods[0] / sum(periods), "both_over": periods[TASKS] / sum(periods),
            "late_within": late[0] / periods[0], "late_one": late[1] / periods[1],
            "late_both": late[TASKS] / max(periods[TASKS], 1), "late": sum(late) / sum(periods),
            "worst_ms": max(worst), "tail": sorted(worst)[-len(worst) // 10:]}


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    axes = figure.subplots()
    for case in x.cases:
        tail = results[SIMULATOR]["cfs"][case]["tail"]
        axes.plot([10 * (1 - i / len(tail)) for i in range(len(tail))], [max(ms, 0) for ms in tail], label=case)
    axes.set_xlabel("periods, %, in which the later job ends at least so late")
    axes.set_ylabel("lateness, ms")
    axes.set_yscale("symlog")
    axes.set_xscale("log")
    axes.legend(fontsize=8)
