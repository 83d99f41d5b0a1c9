# SPDX-License-Identifier: GPL-2.0-only
"""How long tasks waited for a CPU, as distributions: what part waited at most so long, and, on logarithmic axes, what
part waited longer, where the tail can be read. The histogram is the kind `latency`."""

import argparse
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np

from ..source import Source, open_source as open_source
from ..style import COLOURS, add_legend, duration_axis, finish_axis, new_figure
from .latency import CURVES, LEAST, LINES, check, curves, options as options, report as report

KINDS = {
    "cdf": ("how long tasks waited for a CPU: distribution, and its tail on logarithmic axes",
            ("hack.dat --all", "also waits that a preemption began")),
}
REPORTED = {"cdf": "traces"}
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def suffix(arguments: argparse.Namespace) -> str:
    return "_cdf_all" if arguments.all else "_cdf"


def draw(sources: Sequence[Source], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: the distribution above its complement, on one axis of latencies."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    check(arguments)
    shown = curves(sources, arguments)
    figure, (whole, tail) = new_figure(2, 2.4, header, sharex=True)
    handles = []
    for (name, lengths), colour, line, marker in zip(shown.items(), cycle(COLOURS), cycle(LINES), cycle(MARKERS)):
        values, number = np.maximum(lengths, LEAST) / 1e3, len(lengths)
        look = {"color": colour, "linestyle": line, "linewidth": 1.2, "marker": marker, "markersize": 3.2,
                "markeredgecolor": "black", "markeredgewidth": 0.3, "where": "post"}
        x, y = np.insert(values, 0, values[0]), np.arange(number + 1) / number
        handles.append((whole.step(x, y, gid=f"distribution {name}", markevery=max(1, number // 8), **look)[0], name))
        tail.step(x[:-1], 1 - y[:-1], gid=f"tail {name}", markevery=[max(0, number - 10 ** i) for i in range(
            len(str(number)))], **look)
        tail.plot(values[-1:], [1 / number], color=colour, marker="|", markersize=9)
    whole.set(ylabel="part of the waits", ylim=(0, 1.03))
    tail.set(yscale="log", ylabel="part that waited longer")
    tail.set_xlabel("latency   (bar at the end: the longest)")
    lengths = np.concatenate(list(shown.values()))
    tail.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    tail.yaxis.set_minor_formatter(NullFormatter())
    duration_axis(tail, max(lengths.min(), LEAST) / 1.5e3, max(lengths.max(), LEAST) * 1.5e-3)
    for axis in (whole, tail):
        axis.grid(color="#d8d8d8", linewidth=0.4)
    finish_axis(whole, "waits for a CPU" if arguments.all else "waits for a CPU after a wakeup")
    finish_axis(tail, "")
    add_legend(whole, handles, "file" if len(sources) > 1 else f"commands, by their\nlongest waits; at most {CURVES}")
    return figure
