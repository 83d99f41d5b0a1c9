# SPDX-License-Identifier: GPL-2.0-only
"""rt-pressure: what each of several hogs got of their time together."""

import re
from typing import Any

from ..study.claims import Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run

OF_A_HOG = {"kernel": r"^ +\d+ +0 +[\d.]+ +([\d.]+) ", "simulator": r"^hog\S* nice 0 +1 +([\d.]+) "}


def measure(x: Experiment, run: Run) -> Figures:
    """Of CPU ms in the kernel's table, of the share of the machine in the simulator's."""
    got = sorted(map(float, re.findall(OF_A_HOG[run.host], run.console, re.MULTILINE)))
    assert len(got) == x.v.hogs
    parts = [100 * hog / sum(got) for hog in got]
    machine = run.seconds * 2000 / 100 if run.host == "kernel" else 1
    return {"least": parts[0], "most": parts[-1], "fair": sum(got) / machine, "parts": parts}


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """The parts of the hogs, beside those on Linux 6.1."""
    axes = figure.subplots()
    bars = [("Linux 6.1", sorted(x.v.linux))]
    bars += [(f"{sched}, {host}", cases["half"]["parts"]) for host, of_host in results.items()
             for sched, cases in of_host.items()]
    for hog in range(x.v.hogs):
        axes.bar([at + 0.2 * hog for at in range(len(bars))], [parts[hog] for _, parts in bars], 0.18, color=f"C{hog}")
    axes.axhline(100 / x.v.hogs, color="black", linewidth=0.5)
    axes.set_xticks([at + 0.3 for at in range(len(bars))], [name for name, _ in bars], fontsize=7, rotation=20)
    axes.set_ylabel("% of what the hogs got")
