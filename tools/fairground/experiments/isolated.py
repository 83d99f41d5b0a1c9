# SPDX-License-Identifier: GPL-2.0-only
"""x14-isolated: turns of real-time tasks on two isolated CPUs, and the picture."""

from typing import Any

from ..study.claims import KERNEL, Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run
from .realtime import show, turns


def measure(x: Experiment, run: Run) -> Figures:
    """For each policy's CPU the order of turns, the longest of them, and how long all took."""
    found: Figures = {}
    for policy, cpu in x.v.cpu_of.items():
        gantt = turns(run, cpu)
        found[policy] = {"order": " ".join(name for name, _, _ in gantt), "done_ms": gantt[-1][2] - gantt[0][1],
                         "longest_ms": max(stop - start for _, start, stop in gantt), "gantt": gantt}
    return found


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """The turns: a panel for each case and CPU, which begins with the first turn."""
    panels = figure.subplots(len(x.cases) * len(x.v.cpu_of), 1, sharex=True, squeeze=False)[:, 0]
    shown = [(case, policy) for case in x.cases for policy in x.v.cpu_of]
    for axes, (case, policy) in zip(panels, shown):
        gantt = results[KERNEL]["cfs"][case][policy]["gantt"]
        start = gantt[0][1]
        show(axes, [(name, at - start, end - start) for name, at, end in gantt],
             f"{case}: {policy}, CPU {x.v.cpu_of[policy]}")
    panels[-1].set_xlabel("ms")
