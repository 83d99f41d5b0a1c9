# SPDX-License-Identifier: GPL-2.0-only
"""race-or-pace: the picture."""

from typing import Any

from ..study.claims import Results
from ..study.experiment_file import Experiment


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """Energy and PerfIndex of each case."""
    for axes, key, label in zip(figure.subplots(1, 2), ("energy", "perf"), ("energy", "PerfIndex")):
        for nr, (host, of_host) in enumerate(results.items()):
            for sched, cases in of_host.items():
                axes.bar([at + 0.4 * nr for at in range(len(cases))], [case[key] for case in cases.values()], 0.35,
                         color=f"C{nr}", label=f"{sched}, {host}")
        axes.set_xticks(range(len(x.cases)), list(x.cases), fontsize=7, rotation=40)
        axes.set_ylabel(label)
