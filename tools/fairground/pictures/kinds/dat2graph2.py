# SPDX-License-Identifier: GPL-2.0-only
"""Which task ran on each CPU, and when; over the bars, if that is wanted, the CPU's frequency. The kind and its options
are named as the tool of schedgraph whose picture it is; nothing else is taken from there."""

import argparse
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.option_values import parse_cpus
from ...base.settings import UsageError
from ..pixels import Bars, Row, averaged, means
from ..source import Source, open_source as open_trace
from ..style import COLUMNS, OTHERS, WIDTH, Style, add_legend, finish_axis, new_figure, style, time_unit
from . import opp
from .opp import Speeds

KINDS = {
    "dat2graph2": ("which task ran on each CPU, and when",
                   ("hack.dat --color-by-command --format png", "a colour for each name")),
}
REPORTED = {"dat2graph2": "trace"}
BAR = 0.84         # of the height of a CPU's row
LABELS = 150       # bars that have their task's name on them, the longest
LETTER = 0.065     # inches
PACKAGES = re.compile(r"\b(\d+) packages?\b|\bsockets=(\d+)\b")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--color-by-command", action="store_true", help="a colour for each name, not for each thread")
    parser.add_argument("--target", metavar="NAME", help="colours for threads of this name; all others are black")
    parser.add_argument("--socket-order", nargs="?", const="", metavar="LIST",
                        help="CPUs in order of their sockets; LIST says which they are, for example 0,2/1,3, unless "
                        "the trace says how many sockets there are")
    parser.add_argument("-C", "--cpus", help="only these CPUs, for example 2,3")
    parser.add_argument("--frequency", action="store_true", help="a line over each CPU's bars: its frequency, from the "
                        "events power:cpu_frequency; the row's height is the highest of the trace")


def suffix(arguments: argparse.Namespace) -> str:
    return "_color" if arguments.color_by_command else ""


def open_source(path: str, arguments: argparse.Namespace) -> Source:
    """The file @path; with --frequency one that has frequencies."""
    return (opp.open_source if arguments.frequency else open_trace)(path, arguments)


def sockets(source: Source, text: str | None) -> list[list[int]]:
    """The CPUs by socket; one list of all if they are to be in order of their numbers."""
    cpus = source.timeline.cpus
    if text is None:
        return [list(range(cpus))]
    if text:
        found = [sorted(parse_cpus(part) or ()) for part in text.split("/")]
        if sorted(cpu for socket in found for cpu in socket) != list(range(cpus)):
            raise UsageError(f"--socket-order {text}: each of the CPUs 0-{cpus - 1} of {source.path} is expected once")
        return found
    said = PACKAGES.search(source.timeline.about)
    number = int(said[1] or said[2]) if said else 0
    if not number or cpus % number:
        raise UsageError(f"{source.path} does not say which CPUs share a socket: --socket-order 0,2/1,3 does")
    return np.arange(cpus).reshape(number, -1).tolist()


class Tasks:
    """What is coloured together: threads, or all threads of a name; and how. Those that ran longest come first."""

    def __init__(self, sources: Sequence[Source], by_command: bool, target: str | None) -> None:
        self.by_command, self.target = by_command, target
        ran: dict[str, int] = {}
        for source in sources:
            _, pids, start, end = source.runs()
            for pid in np.unique(pids).tolist():
                key = self.key(source, pid)
                ran[key] = ran.get(key, 0) + int((end - start)[pids == pid].sum())
        self.keys = sorted(ran, key=lambda key: (-ran[key], key))
        if target and target not in {key.rpartition("-")[0] or key for key in self.keys} | set(self.keys):
            raise UsageError(f"--target {target}: no such task runs there")
        coloured = [key for key in self.keys if self.is_target(key)]
        self.styles = {key: style(nr) for nr, key in enumerate(coloured)}

    def key(self, source: Source, pid: int) -> str:
        return source.timeline.comms.get(pid, "?") if self.by_command else source.timeline.label(pid)

    def is_target(self, key: str) -> bool:
        return not self.target or self.target in (key, key.rpartition("-")[0])

    def style(self, key: str) -> Style:
        return self.styles.get(key, Style(OTHERS, ""))

    def legend(self) -> list[tuple[Any, str]]:
        from matplotlib.patches import Patch

        entries = [(self.patch(key), key) for key in self.styles]
        return entries + ([(Patch(facecolor=OTHERS), "all others")] if self.target else [])

    def patch(self, key: str) -> Any:
        from matplotlib.patches import Patch

        colour, hatch = self.style(key)
        return Patch(facecolor=colour, hatch=hatch, edgecolor="black", linewidth=0)


def draw_labels(axis: Any, shown: list[tuple[float, float, float, str]], scale: float) -> None:
    """@shown: (length, middle, row, name) of bars, of which those with room for it get their name. @scale: inches."""
    for length, middle, row, name in shown:
        if length * scale > LETTER * len(name) + 0.06:
            axis.text(middle, row, name, ha="center", va="center", fontsize=5.5, clip_on=True,
                      bbox={"facecolor": "white", "pad": 0.6, "linewidth": 0, "alpha": 0.85})


def draw_source(axis: Any, source: Source, tasks: Tasks, order: list[int], unit: float) -> None:
    cpus, pids, start, end = source.runs()
    row_of = np.full(source.timeline.cpus, -1)
    row_of[order] = np.arange(len(order))
    shown = row_of[cpus] >= 0
    known, numbers = np.unique(pids[shown], return_inverse=True)
    keys = np.array([tasks.keys.index(tasks.key(source, pid)) for pid in known.tolist()], int)[numbers]
    rows, start, end, length = row_of[cpus][shown], start[shown] / unit, end[shown] / unit, source.window.length / unit
    axis.add_artist(Bars([Row(row - BAR / 2, BAR, start[rows == row], end[rows == row], keys[rows == row])
                          for row in range(len(order))],
                         [tasks.style(key) for key in tasks.keys], [f"task {key}" for key in tasks.keys]))
    longest = np.argsort(start - end, kind="stable")[:LABELS].tolist()
    draw_labels(axis, [(end[i] - start[i], (start[i] + end[i]) / 2, rows[i], tasks.keys[keys[i]]) for i in longest],
                0.8 * WIDTH / length)
    every = max(1, len(order) // 32)
    axis.set_yticks(range(0, len(order), every), [str(cpu) for cpu in order[::every]])
    axis.set_ylim(-0.6, len(order) - 0.4)
    axis.set_ylabel("CPU")


def draw_frequencies(axis: Any, source: Speeds, order: list[int], unit: float, highest: float) -> None:
    """A line over the bars of each CPU: at the lower edge 0, at the upper one the @highest frequency of all."""
    for row, cpu in enumerate(order):
        if cpu not in source.speeds:
            continue
        times, mhz = source.steps(cpu)
        borders = averaged(times, np.linspace(0, source.window.length, COLUMNS + 1))
        mhz = means(times, mhz, borders)
        heights = row - BAR / 2 + BAR * np.append(mhz, mhz[-1]) / highest
        for colour, width, name in (("white", 2.4, "below"), ("black", 1.0, "MHz")):  # seen on bars and between them
            axis.step(borders / unit, heights, where="post", color=colour, linewidth=width, gid=f"{name} {cpu}")


def frequency_entry(highest: float) -> tuple[Any, str]:
    """Of the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color="black", linewidth=1.0), f"frequency; top: {highest:g} MHz"


def draw(sources: Sequence[Source], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a panel for each of @sources, on one axis of time."""
    tasks = Tasks(sources, arguments.color_by_command, arguments.target)
    speeds = [source for source in sources if isinstance(source, Speeds)]
    highest = max((source.highest() for source in speeds), default=0.0)
    entries = [frequency_entry(highest)] * bool(speeds) + tasks.legend()
    wanted = parse_cpus(arguments.cpus)
    grouped = [[[cpu for cpu in socket if wanted is None or cpu in wanted] for socket in
                sockets(source, arguments.socket_order)] for source in sources]
    if any(not sum(map(len, groups)) for groups in grouped):
        raise UsageError(f"--cpus {arguments.cpus}: there are no such CPUs")
    most = max(sum(map(len, groups)) for groups in grouped)
    figure, axes = new_figure(len(sources), min(8.0, max(1.5, 0.45 + 0.24 * most)), header,
                              len(entries), sharex=True)
    length = max(source.window.length for source in sources)
    unit, name = time_unit(length)
    for axis, source, groups in zip(axes, sources, grouped):
        order = [cpu for socket in groups for cpu in socket]
        draw_source(axis, source, tasks, order, unit)
        if isinstance(source, Speeds):
            draw_frequencies(axis, source, order, unit, highest)
        for border in np.cumsum([len(socket) for socket in groups])[:-1]:
            axis.axhline(border - 0.5, color="black", linewidth=0.6, linestyle=(0, (6, 3)))
        finish_axis(axis, source.name)
    axes[-1].set_xlim(0, length / unit)
    axes[-1].set_xlabel(f"time, {name}   (white: nobody runs)")
    add_legend(axes[0], entries, "command" if arguments.color_by_command else "thread")
    return figure


def mean_mhz(source: Source, cpu: int) -> str:
    """A column: the mean frequency of @cpu since the first one that is known; nothing without frequencies."""
    if not isinstance(source, Speeds):
        return ""
    if cpu not in source.speeds:
        return f" {'?':>9}"
    borders, mhz = source.steps(cpu)
    return f" {np.average(mhz, weights=np.diff(borders)):9.3f}"


def report(source: Source, _: argparse.Namespace) -> str:
    """How long each CPU was busy in the window; with --frequency how fast it was."""
    cpus, pids, start, end = source.runs()
    lines = [f"{source.name}: {source.window.length / 1e6:.3f} ms", f"{'CPU':>5} {'busy ms':>13} {'busy %':>7} "
             f"{'runs':>9} {'tasks':>6}" + f" {'mean MHz':>9}" * isinstance(source, Speeds)]
    for cpu in range(source.timeline.cpus):
        here = cpus == cpu
        busy = int((end - start)[here].sum())
        lines.append(f"{cpu:5} {busy / 1e6:13.6f} {100 * busy / source.window.length:7.2f} {int(here.sum()):9} "
                     f"{len(np.unique(pids[here])):6}{mean_mhz(source, cpu)}")
    return "\n".join(lines)
