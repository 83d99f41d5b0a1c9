# SPDX-License-Identifier: GPL-2.0-only
"""x7-contention: how often the locks of the shared queue were taken and busy, and the picture."""

import re
from typing import Any

from ..study.claims import SIMULATOR, Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run


def measure(x: Experiment, run: Run) -> Figures:
    if run.host == SIMULATOR:
        locks = re.search(r"shard locks: (\d+) taken, ([\d.]+) % after waiting, ([\d.]+) CPU ms", run.console)
        return {"taken": int(locks[1]) if locks else 0,
                "busy_percent": float(locks[2]) if locks else 0,
                "wait_percent": float(locks[3]) / (run.seconds * 10 * x.v.cpus) if locks else 0}
    counts: dict[str, int] = {}
    for name, value in re.findall(r"\.(shared_\w+) +: (\d+)", run.console):
        counts[name] = counts.get(name, 0) + int(value)
    taken = counts["shared_linked"] + counts["shared_unlinked"] + counts["shared_refused"]
    return {"taken": taken, "busy_percent": 100 * counts["shared_contended"] / taken if taken else 0}


def value(results: Results, case: str, key: str) -> float:
    return results["cfs"][case][key]


def relative(results: Results, case: str) -> float:
    return 100 * value(results, case, "rate") / value(results, "off", "rate")


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    axes = figure.subplots(1, 2)
    for at, case in enumerate(x.cases):
        if SIMULATOR in results:
            axes[0].bar(at, value(results[SIMULATOR], case, "rate"), color=f"C{at}")
        for nr, (host, of_host) in enumerate(results.items()):
            axes[1].bar(at + 0.4 * nr, value(of_host, case, "busy_percent"), 0.35, color=f"C{nr}",
                        label=host if not at else None)
    axes[0].set_xticks(range(len(x.cases)), x.cases)
    axes[1].set_xticks([at + 0.2 * (len(results) - 1) for at in range(len(x.cases))], x.cases)
    axes[0].set_ylabel("round trips/s, simulator")
    axes[1].set_ylabel("lock found busy, %")
    axes[1].legend(fontsize=8)
