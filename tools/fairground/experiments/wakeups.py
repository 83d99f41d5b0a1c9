# SPDX-License-Identifier: GPL-2.0-only
"""x13-wake-latency: from a wakeup to running, of all sleepers, and the picture."""

import math
from typing import Any

from ..study.claims import Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run


US = 1e3


def measure(x: Experiment, run: Run) -> Figures:
    """The times from a wakeup to running, of all wakeups of the sleepers' threads."""
    found = run.latencies()
    by_task: dict[int, list[float]] = {}
    for wait in found.waits:
        if wait.woken and found.tasks[wait.pid].comm.startswith("jitter"):
            by_task.setdefault(wait.pid, []).append((wait.end - wait.start) / US)
    sleepers = [waits[x.v.warm_up:] for waits in by_task.values() if len(waits) > 2 * x.v.warm_up]
    waits = sorted(wait for of_task in sleepers for wait in of_task)
    nr = len(waits)
    return {"sleepers": len(sleepers), "wakeups": nr, "mean_us": sum(waits) / nr, "p50_us": waits[nr // 2],
            "p99_us": waits[nr * 99 // 100], "max_us": waits[-1],
            "late_percent": 100 * sum(wait > x.v.late_us for wait in waits) / nr,
            "curve": [waits[nr * i // 1000] for i in range(1000)] + waits[-1:]}


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """The part of the wakeups that was later than the time on the axis."""
    for axes, case in zip(figure.subplots(1, len(x.cases)), x.cases):
        for host, of_host in results.items():
            for nr, (sched, cases) in enumerate(of_host.items()):
                curve = [max(us, 0.1) for us in cases[case]["curve"]]
                axes.plot(curve, [1 - i / 1000 + 1e-4 for i in range(len(curve))], color=f"C{nr}",
                          linestyle="-" if host == "kernel" else ":", label=f"{sched}, {host}")
        axes.set_xscale("log")
        axes.set_yscale("log")
        low, high = (math.log10(us) for us in axes.get_xlim())
        axes.set_xlim(10 ** math.floor(low), 10 ** math.ceil(high))  # whole decades, so that their labels fit
        axes.set_xlabel("us")
        axes.set_title(f"sleeper: {case}", fontsize=10)
    figure.axes[0].set_ylabel("part of the wakeups later than this")
    figure.axes[-1].legend(fontsize=7)
