# SPDX-License-Identifier: GPL-2.0-only
"""Histograms of latencies as cyclictest's are drawn: microseconds in a row, counts on a logarithmic axis, a line for
each CPU or thread, and its longest marked."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np

from ...base.errors import reading
from ...base.settings import UsageError
from ...machine.image import TraceError
from ...trace.tracefile import MAGICS, MAGIC_SIZE
from .. import counted
from ..counted import US, Counted, Series
from ..source import Source, open_source as open_trace
from ..style import COLOURS, MARKERS, add_legend, finish_axis, new_figure
from . import latency

KINDS = {
    "histogram": ("latencies of each CPU or thread: of a trace, or as cyclictest, jitterdebugger and jitter count",
                  ("cyclictest.txt jitter.json --upto 200", "two programs' outputs, up to 200 µs"),
                  ("hack.dat --by thread", "the waits of each thread in a trace")),
}
MOST_BINS = 400
CURVES = 8
LEAST = 0.7           # where the logarithmic axis of counts begins
QUANTILES = (0.5, 0.99, 0.999)
WIDEST = 1e9          # µs


@dataclass
class Histogram:
    """The latencies of one file, and what is said of them above the picture."""

    path: str
    counted: Counted
    lines: list[str]

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def header(self) -> list[str]:
        return self.lines


def positive(text: str) -> float:
    """A number of microseconds, as an option has it."""
    value = float(text)
    if not 1e-3 <= value <= WIDEST:
        raise argparse.ArgumentTypeError(f"{text}: a number from 0.001 to {WIDEST:g} is expected")
    return value


def options(parser: argparse.ArgumentParser) -> None:
    latency.options(parser)
    parser.add_argument("--by", choices=("cpu", "thread", "command"), default="cpu",
                        help="of a trace: a line for each of these; default: the CPU where the wait ended")
    parser.add_argument("--bin", type=positive, metavar="US", help="width of a bin, µs; default: not too many bins")
    parser.add_argument("--upto", type=positive, metavar="US", help="where the axis ends; default: after the longest")


def _of_trace(source: Source, arguments: argparse.Namespace) -> Counted:
    """The waits of a trace: by the CPU where they ended, by thread or by command."""
    latency.check(arguments)
    pids, start, end = latency.finished(source, arguments)
    if arguments.by == "cpu":
        runs = source.timeline.runs
        began = {(pid, since): cpu for cpu, pid, since in zip(runs.cpu, runs.pid, runs.start)}
        keys = [began.get(each, -1) for each in zip(pids.tolist(), end.tolist())]
        named = {cpu: f"CPU {cpu}" if cpu >= 0 else "unknown CPU" for cpu in keys}
    else:
        keys = pids.tolist()
        of = source.timeline
        named = {pid: of.comms.get(pid, "?") if arguments.by == "command" else of.label(pid) for pid in keys}
    names = np.array([named[key] for key in keys])
    order = dict.fromkeys(named[key] for key in sorted(named))
    return Counted({name: counted.of_lengths((end - start)[names == name]) for name in order}, "", 1)


def open_source(path: str, arguments: argparse.Namespace) -> Histogram:
    """The file @path: a trace, or the output of a program that counts."""
    with reading(path, TraceError), open(path, "rb") as f:
        start = f.read(MAGIC_SIZE)
        data = b"" if start.startswith(MAGICS) else start + f.read()
    if start.startswith(MAGICS):
        source = open_trace(path, arguments)
        return Histogram(path, _of_trace(source, arguments), source.header())
    if arguments.min is not None or arguments.max is not None:
        raise UsageError(f"{path}: --min, --max and --range choose a part of a trace, and this is none")
    with reading(path, TraceError):
        if not data:
            raise TraceError("the file is empty")
        found = counted.read(data)
    return Histogram(path, found, [f"{os.path.basename(path)}: {found.about}"])


def _width(sources: Sequence[Histogram], upto: int, arguments: argparse.Namespace) -> int:
    """The width of a bin in ns: --bin, or 1, 2 or 5 times a power of ten, so that there are not too many."""
    if arguments.bin:
        return max(1, round(arguments.bin * US))
    least = max(source.counted.resolution for source in sources)
    steps = (step * 10 ** power for power in range(12) for step in (1, 2, 5))
    return next(step for step in steps if step >= least and upto / step <= MOST_BINS)


def _longest(source: Histogram) -> int:
    return max(series.longest for series in source.counted.series.values())


def _mark(axis: Any, series: Series, counts: Sequence[float], level: float, width: int, look: dict[str, Any]) -> Any:
    """Mark the longest latency: on its bin, or at the right end, at @level, if it is beyond that. Returns the mark."""
    upto, place = len(counts) * width, series.longest // width
    seen = series.longest < upto
    height = max(1.0, counts[place]) if seen else level
    where = (series.longest // width + 0.5) * width if seen else upto
    axis.vlines(where / US, LEAST, height, color=look["color"], linestyle=look["linestyle"], linewidth=0.6)
    return axis.plot([where / US], [height], marker=look["marker"] if seen else ">", markersize=6, clip_on=False,
                     markeredgecolor="black", markeredgewidth=0.4, zorder=5, **{
                         key: look[key] for key in ("color", "linestyle")})[0]


def _panel(axis: Any, source: Histogram, upto: int, width: int) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, NullFormatter

    number, found = -(-upto // width), source.counted.series
    edges, entries = np.arange(number + 1) * width / US, []
    names, highest = counted.names_of(found, CURVES), 10.0
    for nr, (name, colour, line, marker) in enumerate(zip(names, COLOURS, cycle(latency.LINES), MARKERS)):
        series, look = found[name], {"color": colour, "linestyle": line, "marker": marker}
        counts = counted.in_bins(series, 0, number, width)
        axis.stairs(counts, edges, baseline=LEAST, color=colour, linestyle=line, linewidth=1.1, gid=f"series {name}")
        highest = max(highest, counts.max())
        mark = _mark(axis, series, counts, 1.5 ** nr, width, look)
        handle = Line2D([], [], markersize=5, markeredgecolor="black", markeredgewidth=0.4, linewidth=1.1,
                        **{**look, "marker": mark.get_marker()})
        entries.append((handle, f"{name}: {series.longest / US:g} µs"))
    axis.set(yscale="log", ylabel="count", xlim=(0, upto / US))
    axis.set_ylim(LEAST, 1.6 * highest)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid(axis="y", color="#d8d8d8", linewidth=0.4)
    left_out = len(found) - len(entries)
    finish_axis(axis, source.name)
    add_legend(axis, entries, "longest" + (f"; {left_out} more are\nin the table" if left_out else ""))


def draw(sources: Sequence[Histogram], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a panel for each file, on one axis of latencies."""
    longest = max(map(_longest, sources))
    upto = round(arguments.upto * US) if arguments.upto else longest + max(1, longest // 40)
    width = _width(sources, upto, arguments)
    if upto / width > 100 * MOST_BINS:
        raise UsageError(f"--bin {arguments.bin:g}: that are {upto // width} bins; at most {100 * MOST_BINS} are drawn")
    figure, axes = new_figure(len(sources), 2.6, header, CURVES, sharex=True)
    for axis, source in zip(axes, sources):
        _panel(axis, source, -(-upto // width) * width, width)
    axes[-1].set_xlabel(f"latency, µs; bins of {width / US:g} µs   (mark: the longest; ▶: it is further right)")
    return figure


def report(source: Histogram, _: argparse.Namespace) -> str:
    """The numbers behind the lines, for each of them."""
    lines = [f"{source.name}: µs", f"  {'series':<20} {'count':>9} " + " ".join(
        f"{'p' + format(100 * q, 'g'):>12}" for q in QUANTILES) + f" {'max':>12}"]
    for name, series in source.counted.series.items():
        found = [counted.quantile(series, q) for q in QUANTILES]
        lines.append(f"  {name:<20} {series.number:9} " + " ".join(
            f"{'beyond' if value is None else format(value / US, '.3f'):>12}" for value in found)
            + f" {series.longest / US:12.3f}" + (f"  {series.beyond} beyond the histogram" if series.beyond else ""))
    return "\n".join(lines)
