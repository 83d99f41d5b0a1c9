# SPDX-License-Identifier: GPL-2.0-only
"""The frequency of each CPU over time, from the events power:cpu_frequency of the simulator, Fairground or Linux."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import reading
from ...machine.image import DAMAGED, TraceError
from ...trace.records import decoder
from ...trace.tracefile import TraceFile
from ..pixels import Level, Steps, averaged, means
from ..source import Array, Source, open_source as open_trace
from ..style import COLOURS, COLUMNS, add_legend, finish_axis, new_figure, time_unit

KINDS = {
    "opp": ("the frequency of each CPU, and how busy it was",
            ("juno.dat", "frequencies")),
}
EVENT = "cpu_frequency"
CURVES = 12
GREY = "#d0d0d0"
SMOOTH = 101  # columns of pixels


@dataclass
class Speeds(Source):
    """A trace, and by CPU what its frequency was: (since, MHz), ns since the window began."""

    speeds: dict[int, list[tuple[int, float]]]

    def highest(self) -> float:
        """MHz, of all CPUs in the window."""
        return max(mhz for rows in self.speeds.values() for _, mhz in rows)

    def steps(self, cpu: int) -> tuple[Array, Array]:
        """(borders, MHz between each two of them) from the first known frequency of @cpu to the end of the window."""
        times, mhz = np.array(self.speeds[cpu]).T
        return np.append(times, self.window.length), mhz


def open_source(path: str, arguments: argparse.Namespace) -> Speeds:
    """The file @path, and the frequencies in it."""
    source = open_trace(path, arguments)
    found: dict[int, list[tuple[int, float]]] = {}
    with reading(path, TraceError, DAMAGED):
        trace = TraceFile(path)
        formats = {f.name: f for f in trace.formats.values()}
        if EVENT in formats:
            read = decoder(formats[EVENT], ("state", "cpu_id"))
            for event in trace.events({EVENT}):
                khz, cpu = read(event.data)
                rows, time = found.setdefault(cpu, []), max(0, event.time - source.window.start)
                if rows and rows[-1][0] == time:
                    rows.pop()
                if time < source.window.length:
                    rows.append((time, khz / 1e3))
    found = {cpu: rows for cpu, rows in found.items() if rows}
    if not found:
        raise TraceError(f"{path}: no frequency is in it: record power:cpu_frequency, or schedsim --opp juno "
                         "--governor schedutil --trace FILE")
    return Speeds(source.path, source.timeline, source.window, dict(sorted(found.items())))


def busy(source: Source, cpus: list[int]) -> tuple[Array, Array]:
    """(times, what part of @cpus is busy between each two of them)."""
    of, _, start, end = source.runs()
    mine = np.isin(of, cpus)
    times = np.concatenate([[0, source.window.length], start[mine], end[mine]])
    steps = np.repeat([0, 1, -1], [2, mine.sum(), mine.sum()])
    order = np.argsort(times, kind="stable")
    times = times[order]
    changes = np.flatnonzero(np.diff(times, append=times[-1] + 1))  # of the changes at one moment only the last
    return times[changes], np.cumsum(steps[order])[changes][:-1] / len(cpus)


def alike(source: Speeds) -> list[list[int]]:
    """CPUs that always have the same frequency, which are drawn once."""
    groups: dict[tuple[tuple[int, float], ...], list[int]] = {}
    for cpu, rows in source.speeds.items():
        groups.setdefault(tuple(rows), []).append(cpu)
    return list(groups.values())


def smooth(values: Array) -> Array:
    """The means of @values over SMOOTH of them, the middle ones counting most, so that a period makes no beat."""
    window = np.bartlett(SMOOTH + 2)[1:-1]
    return np.convolve(values, window, "same") / np.convolve(np.ones(len(values)), window, "same")


def draw_busy(axis: Any, source: Speeds, cpus: list[int], unit: float) -> None:
    """Behind the frequencies of @axis, on an axis of its own at the right, what part of @cpus is busy."""
    own = axis.twinx()
    times, part = busy(source, cpus)
    own.add_artist(Steps(times / unit, [Level(f"busy {cpus[0]}", np.zeros(len(part)), 100 * part,
                                              {"facecolor": GREY})]))
    borders = np.linspace(0, source.window.length, COLUMNS + 1)
    own.plot((borders[1:] + borders[:-1]) / 2 / unit, 100 * smooth(means(times, part, borders)), color="#808080",
             linewidth=0.8, gid=f"mean {cpus[0]}")
    own.set(ylim=(0, 112), yticks=(0, 50, 100), ylabel="busy, %")
    own.spines["top"].set_visible(False)
    own.set_zorder(axis.get_zorder() - 1)
    axis.patch.set_visible(False)


def draw(sources: Sequence[Speeds], _: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a panel for each set of CPUs of each of @sources, on one axis of time."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    panels = [(source, cpus) for source in sources for cpus in alike(source)][:CURVES]
    figure, axes = new_figure(len(panels), 1.5, header, sharex=True)
    length = max(source.window.length for source in sources)
    unit, name = time_unit(length)
    for axis, (source, cpus) in zip(axes, panels):
        times, mhz = source.steps(cpus[0])
        borders = averaged(times, np.linspace(0, source.window.length, COLUMNS + 1))
        shown = means(times, mhz, borders)
        draw_busy(axis, source, cpus, unit)
        axis.step(borders / unit, np.append(shown, shown[-1]), where="post", color=COLOURS[0], linewidth=1.3,
                  gid=f"MHz {cpus[0]}")
        axis.set(ylim=(0, mhz.max() * 1.12), ylabel="MHz")
        many = ", ".join(map(str, cpus))
        finish_axis(axis, f"{source.name}: CPU{'s' * (len(cpus) > 1)} {many}")
    axes[-1].set_xlim(0, length / unit)
    axes[-1].set_xlabel(f"time, {name}")
    add_legend(axes[0], [(Line2D([], [], color=COLOURS[0]), "frequency"), (Patch(facecolor=GREY), "busy"),
                         (Line2D([], [], color="#808080", linewidth=0.8), "its mean")], aside=1.08)
    return figure


def report(source: Speeds, _: argparse.Namespace) -> str:
    """How long each CPU had each frequency."""
    lines = [f"{source.name}: ms at each frequency"]
    for cpu, rows in source.speeds.items():
        spent: dict[float, int] = {}
        for (since, mhz), until in zip(rows, [*(time for time, _ in rows[1:]), source.window.length]):
            spent[mhz] = spent.get(mhz, 0) + until - since
        lines.append(f"  CPU {cpu:<4} {len(rows) - 1:5} changes: " + ", ".join(
            f"{mhz:g} MHz {ns / 1e6:.6f}" for mhz, ns in sorted(spent.items()))
            + (f"; not known before the first, {rows[0][0] / 1e6:.6f}" if rows[0][0] else ""))
    return "\n".join(lines)
