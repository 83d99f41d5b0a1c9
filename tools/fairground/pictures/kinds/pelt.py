# SPDX-License-Identifier: GPL-2.0-only
"""Load averages over time, from the events sched_pelt_se and sched_pelt_cfs: each number is one that the scheduler
computed, at the end of a period of 1.05 ms. Between two of them a line is drawn."""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from ...base.errors import reading
from ...base.option_values import U16, whole
from ...machine.image import DAMAGED, TraceError
from ...trace.records import decoder
from ...trace.tracefile import TraceFile
from ..source import Array, Source, check_tasks, open_source as open_trace
from ..style import COLOURS, add_legend, finish_axis, new_figure, time_unit
from .curves import LINES, Curve, thinned

KINDS = {
    "pelt": ("load averages of tasks and CPUs: utilisation with its estimate, load, or what is runnable",
             ("run.dat --tasks burst", "utilisation, of schedsim --averages --trace run.dat")),
}
ENTITY, QUEUE = "sched_pelt_se", "sched_pelt_cfs"
CURVES = 8
AXES = {"util": "utilisation", "load": "load", "runnable": "runnable"}


@dataclass
class Averages(Source):
    """A trace, and what it has of one signal, by name. Estimates are there for utilisation."""

    curves: dict[str, Curve]
    estimates: dict[str, Curve]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--signal", choices=("util", "load", "runnable"), default="util",
                        help="which average; default: util")
    parser.add_argument("--tasks", metavar="REGEX", default="", help="only tasks, groups and CPUs whose name contains "
                        "this")
    parser.add_argument("--cpu", type=whole(0, U16), metavar="N", help="only what was computed on this CPU")


def suffix(arguments: argparse.Namespace) -> str:
    return "_pelt" if arguments.signal == "util" else f"_pelt_{arguments.signal}"


def values(trace: TraceFile, source: Source, signal: str) -> Iterator[tuple[int, int, str, int, int]]:
    """(time, CPU, name, average, estimate) of each record."""
    formats = {f.name: f for f in trace.formats.values() if f.name in (ENTITY, QUEUE)}
    read = {ENTITY: ("cpu", "group", "pid", signal, "enqueued", "ewma"), QUEUE: ("cpu", "group", signal, "enqueued")}
    decode = {f.id: decoder(f, read[name], ()) for name, f in formats.items()}
    for event in trace.events(formats):
        cpu, group, *rest = decode[event.format.id](event.data)
        if event.format.name == QUEUE:
            average, estimate = rest
            name = f"group {group}'s tasks on CPU {cpu}" if group else f"CPU {cpu}"
            yield event.time, cpu, name, average, estimate
        else:
            pid, average, *both = rest
            name = source.timeline.label(pid) if pid >= 0 else f"group {group} on CPU {cpu}"
            yield event.time, cpu, name, average, max(both)


def open_source(path: str, arguments: argparse.Namespace) -> Averages:
    """The file @path, and the averages in it."""
    check_tasks(arguments)
    source = open_trace(path, arguments)
    curves: dict[str, Curve] = {}
    estimates: dict[str, Curve] = {}
    window, wanted = source.window, re.compile(arguments.tasks)
    with reading(path, TraceError, DAMAGED):
        for time, cpu, name, average, estimate in values(TraceFile(path), source, arguments.signal):
            if window.start <= time <= window.end and arguments.cpu in (None, cpu) and wanted.search(name):
                curves.setdefault(name, Curve()).add(time - window.start, average, False)
                estimates.setdefault(name, Curve()).add(time - window.start, estimate, False)
    if not curves:
        raise TraceError(f"{path}: no load average is in it: schedsim --averages --trace FILE, or make trace "
                         "EVENTS='sched:*,pelt:*', and what --tasks, --cpu and --range leave")
    return Averages(source.path, source.timeline, window, curves, estimates if arguments.signal == "util" else {})


def is_queue(name: str) -> bool:
    return bool(re.search(r"(^|on )CPU \d+$", name))


def chosen(sources: Sequence[Averages], queues: bool) -> list[str]:
    """The names of what is drawn of CPUs' and groups' @queues, or of tasks and groups: of all files, the highest."""
    highest: dict[str, float] = {}
    for source in sources:
        for name, curve in source.curves.items():
            if is_queue(name) == queues:
                highest[name] = max(highest.get(name, 0), max(curve.values))
    return sorted(sorted(highest, key=lambda name: (-highest[name], name))[:CURVES])


def draw_curves(axis: Any, source: Averages, looks: dict[str, tuple[str, str]], unit: float) -> None:
    for name, (colour, line) in looks.items():
        if name not in source.curves:
            continue
        times, numbers, _ = thinned(source.curves[name], source.window.length)
        axis.plot(times / unit, numbers, color=colour, linestyle=line, linewidth=1.2, gid=f"average {name}")
        if name in source.estimates and not is_queue(name):
            times, numbers, _ = thinned(source.estimates[name], source.window.length)
            axis.step(times / unit, np.where(numbers > 0, numbers, np.nan), where="post", color=colour, linestyle=":",
                      linewidth=1.0, gid=f"estimate {name}")


def legend(sources: Sequence[Averages], looks: dict[str, tuple[str, str]], axis: Any) -> None:
    """Beside the first panel with these curves."""
    from matplotlib.lines import Line2D

    handles = [(Line2D([], [], color=colour, linestyle=line), name) for name, (colour, line) in looks.items()]
    queues = is_queue(next(iter(looks)))
    if not queues and sources[0].estimates:
        handles.append((Line2D([], [], color="black", linestyle=":", linewidth=1.0), "a task's estimate"))
    every = len({name for source in sources for name in source.curves if is_queue(name) == queues})
    add_legend(axis, handles, "" if every <= CURVES else f"{CURVES} of {every},\nthe highest")


def draw(sources: Sequence[Averages], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: of each of @sources a panel for tasks and one for CPUs and groups, on one axis of time."""
    kinds = [dict(zip(names, zip(cycle(COLOURS), cycle(LINES[:3])))) for names in (
        chosen(sources, False), chosen(sources, True)) if names]
    panels = [(source, looks) for source in sources for looks in kinds if looks.keys() & source.curves.keys()]
    figure, axes = new_figure(len(panels), 2.2, header, CURVES + 2, sharex=True)
    length = max(source.window.length for source in sources)
    unit, name = time_unit(length)
    for axis, (source, looks) in zip(axes, panels):
        draw_curves(axis, source, looks, unit)
        axis.set_ylim(bottom=0)
        axis.set_ylabel(AXES[arguments.signal])
        finish_axis(axis, f"{source.name}: {'CPUs and groups' if is_queue(next(iter(looks))) else 'tasks'}")
    for looks in kinds:
        legend(sources, looks, next(axis for axis, panel in zip(axes, panels) if panel[1] is looks))
    axes[-1].set_xlim(0, length / unit)
    axes[-1].set_xlabel(f"time, {name}   (each number is from the end of a period of 1.05 ms)")
    return figure


def mean(times: Array, numbers: Array) -> float:
    """Over the time from the first to the last number, with lines between them."""
    steps = np.diff(times)
    return float(np.average((numbers[1:] + numbers[:-1]) / 2, weights=steps)) if steps.sum() else float(numbers[0])


def report(source: Averages, arguments: argparse.Namespace) -> str:
    """The least, the mean and the greatest of each average, and the last estimate."""
    lines = [f"{source.name}: {AXES[arguments.signal]}", f"  {'of':<28} {'numbers':>8} {'least':>8} {'mean':>10} "
             f"{'greatest':>8}" + f" {'estimate':>8}" * bool(source.estimates)]
    for name in sorted(source.curves, key=lambda n: (is_queue(n), n)):
        times, numbers, _ = source.curves[name].columns()
        last = f" {source.estimates[name].values[-1]:8.0f}" if source.estimates else ""
        lines.append(f"  {name:<28} {len(times):8} {numbers.min():8.0f} {mean(times, numbers):10.2f} "
                     f"{numbers.max():8.0f}{last}")
    return "\n".join(lines)
