# SPDX-License-Identifier: GPL-2.0-only
"""How long tasks waited for a CPU after they were woken: a histogram, as cyclictest's are drawn, and a distribution."""

import argparse
import re
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from ...base.settings import UsageError
from ...machine.image import TraceError
from ..source import Array, Source, open_source as open_source
from ..style import COLOURS, add_legend, duration_axis, finish_axis, new_figure

KINDS = {
    "latency": ("how long tasks waited for a CPU: histogram and distribution",
                ("cfs.dat eevdf.dat --tasks burst", "two schedulers, one axis")),
}
REPORTED = {"latency": "trace"}
LINES = ("-", "--", "-.", ":")
BINS_A_DECADE = 20
LEAST = 1          # ns: where waits of 0 are drawn, which the logarithmic axis does not have
CURVES = 8
QUANTILES = (0.5, 0.99, 0.999)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="REGEX", default="", help="only tasks whose name contains this")
    parser.add_argument("--all", action="store_true", help="also waits that a preemption began")


def suffix(arguments: argparse.Namespace) -> str:
    return "_latency_all" if arguments.all else "_latency"


def finished(source: Source, arguments: argparse.Namespace) -> tuple[Array, Array, Array]:
    """(pid, start, end) of the wanted waits of the wanted tasks that end in the window, in ns of the trace's clock.
    TraceError if there are none."""
    columns, window = source.timeline.waits, source.window
    start, end = np.frombuffer(columns.start, np.int64), np.frombuffer(columns.end, np.int64)
    woken = np.frombuffer(columns.woken, np.int8) == 1
    wanted = (end >= window.start) & (end <= window.end) & (woken | arguments.all)
    wanted[len(end) - source.timeline.unfinished:] = False
    pids, comms = np.frombuffer(columns.pid, np.int64), source.timeline.comms
    named = [pid for pid in np.unique(pids).tolist() if re.search(arguments.tasks, comms.get(pid, "?"))]
    wanted &= np.isin(pids, named)
    if not wanted.any():
        who = f"no task whose name contains {arguments.tasks}" if arguments.tasks else "no task"
        raise TraceError(f"{source.path}: {who} was woken, waited and then ran there" if not arguments.all else
                         f"{source.path}: {who} waited and then ran there")
    return pids[wanted], start[wanted], end[wanted]


def waits(source: Source, arguments: argparse.Namespace) -> dict[str, Array]:
    """The waits of finished(): name of the task -> their lengths in ns, ascending."""
    pids, start, end = finished(source, arguments)
    lengths, found = end - start, {}
    names = {pid: source.timeline.comms.get(pid, "?") for pid in np.unique(pids).tolist()}
    for name in sorted(set(names.values())):
        found[name] = np.sort(lengths[np.isin(pids, [pid for pid, of in names.items() if of == name])])
    return found


def curves(sources: Sequence[Source], arguments: argparse.Namespace) -> dict[str, Array]:
    """What is drawn: of one file a curve for each name, those with the longest waits; of several a curve for each."""
    if len(sources) > 1:
        return {source.name: np.sort(np.concatenate(list(waits(source, arguments).values()))) for source in sources}
    found = waits(sources[0], arguments)
    longest = sorted(found, key=lambda name: (-found[name][-1], name))
    return {name: found[name] for name in longest[:CURVES]}


def check(arguments: argparse.Namespace) -> None:
    """UsageError if --tasks is no regular expression."""
    try:
        re.compile(arguments.tasks)
    except re.error as error:
        raise UsageError(f"--tasks {arguments.tasks}: {error}") from error


def draw(sources: Sequence[Source], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: the histogram above the distribution, on one axis of latencies."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    check(arguments)
    shown = curves(sources, arguments)
    figure, (histogram, distribution) = new_figure(2, 2.4, header, sharex=True)
    lowest = max(min(lengths[0] for lengths in shown.values()), LEAST)
    highest = max(max(lengths[-1] for lengths in shown.values()), 10 * LEAST)
    borders = np.logspace(0, np.log10(highest) + 0.05, int(BINS_A_DECADE * np.log10(highest)) + 2)
    handles = []
    for (name, lengths), colour, line in zip(shown.items(), cycle(COLOURS), cycle(LINES)):
        values = np.maximum(lengths, LEAST)
        counts, _ = np.histogram(values, borders)
        handles.append((histogram.stairs(counts, borders / 1e3, color=colour, linestyle=line, linewidth=1.2), name))
        distribution.step(np.insert(values, 0, values[0]) / 1e3, np.arange(len(values) + 1) / len(values), color=colour,
                          where="post", linestyle=line, linewidth=1.3, gid=f"distribution {name}")
        distribution.axvline(values[-1] / 1e3, color=colour, linestyle=line, linewidth=0.6)
    duration_axis(histogram, lowest / 2e3, highest / 0.7e3)
    histogram.set(yscale="log", ylabel="waits")
    histogram.set_ylim(0.7)
    distribution.set(ylabel="part of the waits", ylim=(0, 1.03))
    zeros = any(lengths[0] < LEAST for lengths in shown.values())
    distribution.set_xlabel("latency   (thin vertical line: the longest"
                            + ("; waits of 0 are at 1 ns)" if zeros else ")"))
    histogram.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    histogram.yaxis.set_minor_formatter(NullFormatter())
    kind = "waits for a CPU" if arguments.all else "waits for a CPU after a wakeup"
    finish_axis(histogram, kind)
    finish_axis(distribution, "")
    title = "file" if len(sources) > 1 else f"commands, by their\nlongest waits; at most {CURVES}"
    add_legend(histogram, handles, title)
    return figure


def report(source: Source, arguments: argparse.Namespace) -> str:
    """The numbers behind the curves, for each name."""
    lines = [f"{source.name}: µs", f"  {'task':<16} {'waits':>9} {'mean':>12} "
             + " ".join(f"{'p' + format(100 * q, 'g'):>12}" for q in QUANTILES) + f" {'max':>12}"]
    for name, lengths in waits(source, arguments).items():
        quantiles = [lengths[max(0, int(np.ceil(q * len(lengths))) - 1)] for q in QUANTILES]
        lines.append(f"  {name:<16} {len(lengths):9} " + " ".join(
            f"{value / 1e3:12.3f}" for value in (lengths.mean(), *quantiles, lengths[-1])))
    return "\n".join(lines)
