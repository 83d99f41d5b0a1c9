# SPDX-License-Identifier: GPL-2.0-only
"""How many tasks run and how many wait, as schedgraph's tool of this name draws it.

The height of green is the number of tasks that run, that of red above it how many wait, the dotted line the number of
CPUs. Above the line that cannot be helped; below it, a CPU idles meanwhile: the scheduler does not
conserve work, unless affinities forbid the idle CPU.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..pixels import Level, Steps
from ..source import Array, Source, open_source as open_source
from ..style import add_legend, finish_axis, new_figure, time_unit

KINDS = {
    "running_waiting": ("how many tasks ran and waited; red below the dotted line: a CPU idled meanwhile",
                        ("cfs.dat eevdf.dat -o both.pdf", "two runs above each other")),
}
REPORTED = {"running_waiting": "trace"}
GREEN, RED = "#66c5ab", "#e69e66"


class Counts(NamedTuple):
    """From times[i] to times[i + 1], in ns, so many tasks run and wait."""

    times: Array
    running: Array
    waiting: Array

    def integral(self, values: Array) -> float:
        """In tasks x ns."""
        return float((values * np.diff(self.times)).sum())

    def wasted(self, cpus: int) -> Array:
        """How many tasks wait that an idle CPU could run."""
        return np.minimum(self.waiting, cpus - self.running)


def counts(source: Source) -> Counts:
    """How many tasks run and wait, in the window of @source."""
    _, _, run_start, run_end = source.runs()
    _, wait_start, wait_end = source.waits()
    times = np.concatenate([[0, source.window.length], run_start, run_end, wait_start, wait_end])
    sizes = [2, len(run_start), len(run_end), len(wait_start), len(wait_end)]
    runs, waits = np.repeat([0, 1, -1, 0, 0], sizes), np.repeat([0, 0, 0, 1, -1], sizes)
    order = np.argsort(times, kind="stable")
    times = times[order]
    changes = np.flatnonzero(np.diff(times, append=times[-1] + 1))  # of the changes at one moment only the last
    return Counts(times[changes], np.cumsum(runs[order])[changes][:-1], np.cumsum(waits[order])[changes][:-1])


def suffix(_: argparse.Namespace) -> str:
    return "_rw"


def draw_source(axis: Any, source: Source, unit: float) -> None:
    found, cpus = counts(source), source.timeline.cpus
    runnable, nobody = found.running + found.waiting, np.zeros(len(found.running))
    axis.add_artist(Steps(found.times / unit, [
        Level("runnable", nobody, runnable, {"facecolor": RED}),
        Level("wasted", found.running, found.running + found.wasted(cpus),
              {"facecolor": "none", "edgecolor": "black", "hatch": "//////"}),
        Level("running", nobody, found.running, {"facecolor": GREEN})]))
    axis.axhline(cpus, color="black", linestyle=":", linewidth=1.2)
    axis.set_ylim(0, max(cpus, runnable.max()) * 1.08)
    axis.set_ylabel("tasks")
    finish_axis(axis, source.name)


def legend() -> list[tuple[Any, str]]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [(Patch(facecolor=GREEN), "running"), (Patch(facecolor=RED), "waiting"),
            (Patch(facecolor=RED, edgecolor="black", hatch="//////", linewidth=0), "waiting while\na CPU idles"),
            (Line2D([], [], color="black", linestyle=":"), "CPUs")]


def draw(sources: Sequence[Source], _: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a panel for each of @sources, on one axis of time."""
    figure, axes = new_figure(len(sources), 2.2 if len(sources) > 1 else 3.2, header, sharex=True)
    length = max(source.window.length for source in sources)
    unit, name = time_unit(length)
    for axis, source in zip(axes, sources):
        draw_source(axis, source, unit)
    axes[-1].set_xlim(0, length / unit)
    axes[-1].set_xlabel(f"time, {name}")
    add_legend(axes[0], legend())
    return figure


def report(source: Source, _: argparse.Namespace) -> str:
    """The integrals of the curves."""
    found, cpus = counts(source), source.timeline.cpus
    wasted = found.wasted(cpus)
    below = int(np.diff(found.times)[wasted > 0].sum())
    lines = [
        f"{source.name}: {source.window.length / 1e6:.3f} ms, {cpus} CPUs",
        f"  running, the green area       {found.integral(found.running) / 1e6:14.6f} task ms",
        f"  waiting, the red area         {found.integral(found.waiting) / 1e6:14.6f} task ms",
        f"  waiting while a CPU idles     {found.integral(wasted) / 1e6:14.6f} task ms, in {below / 1e6:.6f} ms of "
        "time",
    ]
    if below:
        lines.append("  work is not conserved then, unless affinities forbid the idle CPUs")
    if source.timeline.unfinished:
        lines.append(f"  waits that do not end in the trace: {source.timeline.unfinished}")
    return "\n".join(lines)
