# SPDX-License-Identifier: GPL-2.0-only
"""x1-fdl-96: wakeup latencies of three servers in the simulator, and the picture."""

import re
from typing import Any

from ..base.expect import expect
from ..study.claims import SIMULATOR, Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run

QUANTILES = ("p50", "p99", "max")


def measure(x: Experiment, run: Run) -> Figures:
    """The quantiles of each server's wakeups, us: the last three columns before the number of runs."""
    found: Figures = {}
    for name in x.v.groups:
        row = expect(rf"^worker nice 0.* /{re.escape(name)} +\d+ (?: +[\d.]+){{6}} +([\d.]+) +([\d.]+) +([\d.]+)",
                     run.console)
        found[name] = {quantile: 1000 * float(ms) for quantile, ms in zip(QUANTILES, row.groups())}
    return found


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """The quantiles of each case, and the published ones."""
    of_host = results[SIMULATOR]
    shown = [(case, of_host[sched][case]) for sched in x.policies for case in x.cases
             if case in of_host.get(sched, {})]
    for axes, (case, found) in zip(figure.subplots(1, len(shown), sharey=True, squeeze=False)[0], shown):
        for nr, name in enumerate(x.v.groups):
            axes.plot(QUANTILES, [max(found[name][q], 1) for q in QUANTILES], "o-", color=f"C{nr}", label=name)
            for quantile, values in x.v.published.get(case, {}).get(name, {}).items():
                axes.plot([quantile] * len(values), values, "x", color=f"C{nr}")
        axes.set_yscale("log")
        axes.set_title(case, fontsize=9)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("wakeup latency, us (x: published, three runs)")
    figure.axes[0].legend(fontsize=8)
