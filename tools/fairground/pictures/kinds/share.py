# SPDX-License-Identifier: GPL-2.0-only
"""What part of a CPU each task gets over time, beside what an ideal machine would give it.

The ideal machine serves all runnable tasks at once, each by the weight of its nice value; nobody gets more than one
CPU, and what that leaves goes to the others. It knows nothing of groups and affinities, and real-time tasks come
first.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from ...base.settings import UsageError
from ..source import Array, Source, occupied, open_source as open_source
from ..style import COLOURS, MARKERS, add_legend, finish_axis, new_figure, time_unit

KINDS = {
    "share": ("what part of a CPU each task got over time, beside what an ideal machine would give it",
              ("hogs.dat --window 50", "in windows of 50 ms")),
}
REPORTED = {"share": "trace"}
TASKS, WINDOWS, MOST_WINDOWS = 8, 60, 2000
NICE_0, STEP, REAL_TIME = 120, 1.25, 100  # a step of nice is a quarter more weight


@dataclass
class Shares:
    """Of each shown task the share in each window: got and ideal, in CPUs."""

    borders: Array
    got: dict[int, Array]
    ideal: dict[int, Array]


def fluid(weights: dict[int, float], cpus: int) -> dict[int, float]:
    """The rate, in CPUs, at which an ideal machine serves each of @weights; infinite weights are real-time tasks."""
    rates: dict[int, float] = {}
    left, room = dict(weights), float(cpus)
    for urgent in (True, False):
        group = {pid: 1.0 if urgent else w for pid, w in left.items() if (w == float("inf")) == urgent}
        while group and room > 0:
            total = sum(group.values())
            full = [pid for pid, w in group.items() if w * room >= total]
            if not full:
                rates.update({pid: w * room / total for pid, w in group.items()})
                room = 0
                break
            for pid in full:
                rates[pid] = min(1.0, room)
                room -= rates[pid]
                del group[pid]
    return rates


def ideal_service(source: Source, shown: Sequence[int], borders: Array) -> dict[int, Array]:
    """ns of service that each of @shown has had at each of @borders on the ideal machine."""
    _, pids, start, end = source.runs()
    wait_pids, wait_start, wait_end = source.waits()
    who = np.concatenate([pids, wait_pids, pids, wait_pids])
    when = np.concatenate([start, wait_start, end, wait_end])
    step = np.repeat([1, -1], [len(pids) + len(wait_pids)] * 2)
    order = np.lexsort((-step, when))  # a task that goes on at the same moment never leaves
    when_list, who_list, step_list = when[order].tolist(), who[order].tolist(), step[order].tolist()
    priorities, cpus = source.timeline.priorities, source.timeline.cpus
    weights = {pid: float("inf") if priorities.get(pid, NICE_0) < REAL_TIME
               else STEP ** (NICE_0 - priorities.get(pid, NICE_0)) for pid in set(who_list)}
    counts, present, rates = dict.fromkeys(weights, 0), frozenset[int](), {}
    known: dict[frozenset[int], dict[int, float]] = {}
    points: dict[int, list[tuple[int, float]]] = {pid: [(0, 0.0)] for pid in shown}  # (since, rate)
    for nr, (time, pid, change) in enumerate(zip(when_list, who_list, step_list)):
        counts[pid] += change
        if nr + 1 < len(when_list) and when_list[nr + 1] == time:
            continue
        now = frozenset(pid for pid, number in counts.items() if number)
        if now == present:
            continue
        present = now
        if now not in known:
            known[now] = fluid({pid: weights[pid] for pid in now}, cpus)
        rates = known[now]
        for pid, rows in points.items():
            rate = rates.get(pid, 0.0)
            if rate != rows[-1][1]:
                rows.append((time, rate))
    return {pid: served(rows, source.window.length, borders) for pid, rows in points.items()}


def served(rows: list[tuple[int, float]], length: int, borders: Array) -> Array:
    times, rates = np.array([*rows, (length, 0.0)]).T
    total = np.concatenate([[0.0], np.cumsum(np.diff(times) * rates[:-1])])
    return np.interp(borders, times, total)


def shares(source: Source, arguments: argparse.Namespace) -> Shares:
    """The shares of the TASKS that ran longest."""
    if arguments.window is not None and not 1e-6 <= arguments.window < 1e12:
        raise UsageError("--window: ms above 0 are expected")
    length = source.window.length
    number = WINDOWS if arguments.window is None else max(1, round(length / (arguments.window * 1e6)))
    if number > MOST_WINDOWS:
        raise UsageError(f"--window: that would be {number} windows; at most {MOST_WINDOWS} can be told apart")
    borders = np.linspace(0, length, number + 1)
    _, pids, start, end = source.runs()
    ran = source.ran()
    shown = sorted(ran, key=lambda pid: -ran[pid])[:TASKS]
    got = {pid: occupied(start[pids == pid], end[pids == pid], borders) for pid in shown}
    ideal = ideal_service(source, shown, borders)
    return Shares(borders, got, {pid: np.diff(ideal[pid]) / np.diff(borders) for pid in shown})


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--window", type=float, metavar="MS", help="length of the windows; default: 60 windows")


def draw_source(axis: Any, source: Source, found: Shares, unit: float) -> None:
    x = found.borders / unit
    for pid, colour, marker in zip(sorted(found.got), cycle(COLOURS), cycle(MARKERS)):
        axis.stairs(100 * found.ideal[pid], x, color=colour, linestyle=":", linewidth=1.6, baseline=None)
        axis.stairs(100 * found.got[pid], x, color=colour, linewidth=1.1, baseline=None, gid=f"share {pid}")
        axis.plot((x[:-1] + x[1:]) / 2, 100 * found.got[pid], color=colour, marker=marker, markersize=3,
                  linestyle="none", markevery=max(1, len(x) // 15), markeredgecolor="black", markeredgewidth=0.3)
    axis.set_ylim(0, None)
    axis.set_ylabel("% of a CPU")
    finish_axis(axis, source.name)


def draw(sources: Sequence[Source], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a panel for each of @sources, on one axis of time."""
    from matplotlib.lines import Line2D

    figure, axes = new_figure(len(sources), 2.2 if len(sources) > 1 else 3.0, header, TASKS + 1, sharex=True)
    length = max(source.window.length for source in sources)
    unit, name = time_unit(length)
    for axis, source in zip(axes, sources):
        found = shares(source, arguments)
        draw_source(axis, source, found, unit)
        looks = zip(sorted(found.got), cycle(COLOURS), cycle(MARKERS))
        handles = [(Line2D([], [], color=colour, marker=marker, markersize=3.5, markeredgecolor="black",
                           markeredgewidth=0.3), source.timeline.label(pid)) for pid, colour, marker in looks]
        every = len({*source.timeline.runs.pid})
        add_legend(axis, [*handles, (Line2D([], [], color="black", linestyle=":", linewidth=1.6), "ideal")],
                   "" if every <= TASKS else f"{TASKS} of {every}")
    axes[-1].set_xlim(0, length / unit)
    axes[-1].set_xlabel(f"time, {name}   (means of windows; dotted: an ideal machine without groups and affinities)")
    return figure


def report(source: Source, arguments: argparse.Namespace) -> str:
    """Shares of the whole window, and the greatest difference in one of the small ones; in % of a CPU."""
    found = shares(source, arguments)
    width = float(found.borders[1]) / 1e6
    lines = [f"{source.name}: % of a CPU; windows of {width:.3f} ms",
             f"  {'task':<22} {'share':>9} {'ideal':>9} {'error':>9} {'greatest error in a window':>28}"]
    for pid in sorted(found.got):
        got, ideal = 100 * found.got[pid], 100 * found.ideal[pid]
        error = got - ideal
        lines.append(f"  {source.timeline.label(pid):<22} {got.mean():9.4f} {ideal.mean():9.4f} {error.mean():+9.4f} "
                     f"{error[np.argmax(np.abs(error))]:+28.4f}")
    return "\n".join(lines)
