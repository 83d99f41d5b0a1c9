# SPDX-License-Identifier: GPL-2.0-only
"""x3-schbench: the tails of schbench's requests, by phase, and the picture."""

import re
from typing import Any

from ..base.expect import expect
from ..study.claims import KERNEL, Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run
from .burst import counters
from .schbench import percentiles


def report(text: str) -> dict[str, float]:
    """What schbench printed: latencies in us by percentile, and its last line."""
    last = expect(r"rps: ([\d.]+) .* p95/cputime ([\d.]+)% p99/cputime ([\d.]+)%", text)
    return {**percentiles(text), **dict(zip(("rps", "p95/cputime", "p99/cputime"), map(float, last.groups())))}


def measure(x: Experiment, run: Run) -> Figures:
    parts = re.split(r"^(?:phase \d+|end)\r?$", run.console, flags=re.M)[1:]
    *runs, shown = [report(part) for part in parts[:-1]]
    throttled = [counters(after)["nr_throttled"] - counters(before)["nr_throttled"]
                 for before, after in zip(parts, parts[1:])][:-1]
    tails = [one["99.0"] for one in runs]
    return {"late": sum(us >= x.v.long_us for us in tails), "throttled": sum(nr > 0 for nr in throttled),
            "worst": max(tails), "tails": tails, "shown": shown}


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    axes = figure.subplots()
    for case in x.cases:
        axes.plot(x.v.phases, [us / 1e3 for us in results[KERNEL]["cfs"][case]["tails"]], "o-", label=f"burst: {case}")
    axes.set_ylim(bottom=-1)
    axes.set_xlabel("phase: start of the requests after the beginning of a period, ms")
    axes.set_ylabel("p99 of the latency, ms")
    axes.legend(fontsize=8)
