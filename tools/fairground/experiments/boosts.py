# SPDX-License-Identifier: GPL-2.0-only
"""x10-boost-groups: when the short task could run, when its CPU was boosted, and the picture of both."""

from typing import Any

from ..machine.image import event_values
from ..study.claims import Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run

US, MS = 1e3, 1e6
ASLEEP = 3  # bits of prev_state: the task waits for something. One that ends leaves its group before the CPU

Intervals = list[tuple[int, int]]


def intervals(changes: list[tuple[int, bool]], warm_up: int) -> Intervals:
    """Of (time, whether something holds from then on): when it holds, but for what begins in the warm-up."""
    found: Intervals = []
    since: int | None = None
    for time, holds in changes:
        if holds and since is None:
            since = time
        elif not holds and since is not None:
            found.append((since, time))
            since = None
    return [(begin, end) for begin, end in found if begin >= changes[0][0] + warm_up]


def is_short(comm: str) -> bool:
    """The simulator numbers the instances of a task: burst-1."""
    return comm.split("-")[0] == "burst"


def measure(x: Experiment, run: Run) -> Figures:
    """The short task by its wakeups and switches alone, the CPU by its boost or its frequency."""
    runnable: list[tuple[int, bool]] = []
    boosted: list[tuple[int, bool]] = []
    for event in run.events(["sched_wakeup", "sched_switch", "sched_tune_boost", "cpu_frequency"]):
        name, v = event.format.name, event_values(event)
        if name == "sched_wakeup" and is_short(v["comm"]):
            runnable.append((event.time, True))
        elif name == "sched_switch" and is_short(v["prev_comm"]) and v["prev_state"] & ASLEEP:
            runnable.append((event.time, False))
        elif name == "sched_tune_boost" and run.case == "boost" and v["cpu_id"] == x.v.cpu:
            boosted.append((event.time, v["boost"] == x.v.fg))
        elif name == "cpu_frequency" and run.case == "clamp" and v["cpu_id"] == x.v.cpu:
            boosted.append((event.time, v["state"] >= x.v.fast_khz))
    of = [intervals(changes, x.v.warm_up_ns) for changes in (runnable, boosted)]
    first = max(found[0][0] for found in of) - x.v.slack_us * US
    last = of[0][-1][1]  # the short task's last sleep
    wanted, got = ([interval for interval in found if first <= interval[0] < last] for found in of)
    pairs = list(zip(wanted, got))
    return {"runs": len(wanted), "boosts": len(got), "begin_us": max(abs(w[0] - g[0]) for w, g in pairs) / US,
            "end_us": max(abs(w[1] - g[1]) for w, g in pairs) / US,
            "spans": [[((b - first) / MS, (e - b) / MS) for b, e in found[:6]] for found in (wanted, got)]}


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """The first six times that the short task could run, and when the CPU was boosted: a pair of lines each."""
    for axes, case in zip(figure.subplots(1, len(x.cases)), x.cases):
        rows = [(sched, host) for host, of_host in results.items() for sched in of_host]
        for y, (sched, host) in enumerate(rows):
            for off, bars, colour in zip((0, 0.4), results[host][sched][case]["spans"], ("tab:blue", "tab:red")):
                axes.broken_barh(bars, (y + off - 0.4, 0.35), color=colour,
                                 label=None if y else ("can run" if not off else "CPU boosted"))
        axes.set_yticks(range(len(rows)), [f"{sched}, {host}" for sched, host in rows], fontsize=7)
        axes.invert_yaxis()
        axes.set_title(case, fontsize=9)
        axes.set_xlabel("ms")
    figure.axes[0].legend(fontsize=7)
