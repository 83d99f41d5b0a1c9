# SPDX-License-Identifier: GPL-2.0-only
"""x6-knobs: gains in requests, and the picture."""

from typing import Any

from ..study.claims import SIMULATOR, Results
from ..study.experiment_file import Experiment


def value(results: Results, load: str, form: str, key: str) -> float:
    return results["cfs"][f"{load}-{form}"][key]


def gain(results: Results, load: str, form: str, base: str) -> float:
    """The gain in requests per second, in percent."""
    return 100 * (value(results, load, form, "requests") / value(results, load, base, "requests") - 1)


def gain_of_fifo(results: Results, load: str) -> float:
    """The gain of one queue for all CPUs over the knobs, in percent."""
    return 100 * (results["scx:fifo"][f"{load}-fifo"]["requests"] / value(results, load, "knobs", "requests") - 1)


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """Requests relative to the default settings, and the 99th percentile of waits."""
    axes = figure.subplots(1, 2)
    of_host = results[SIMULATOR]
    for nr, form in enumerate(form for form, *_ in x.v.forms):
        for at, load in enumerate(x.v.sleeps):
            axes[0].bar(at + 0.12 * nr, gain(of_host, load, form, "default"), 0.11, color=f"C{nr}",
                        label=None if at else form)
            axes[1].bar(at + 0.12 * nr, value(of_host, load, form, "p99_ms"), 0.11, color=f"C{nr}")
    axes[0].set_ylabel("requests, gain over default, %")
    axes[1].set_ylabel("p99 of waits, ms")
    for each in axes:
        each.set_xticks([at + 0.36 for at in range(len(x.v.sleeps))], x.v.sleeps)
    axes[0].legend(fontsize=8)
