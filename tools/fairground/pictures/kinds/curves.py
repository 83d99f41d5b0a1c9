# SPDX-License-Identifier: GPL-2.0-only
"""Numbers of fair policies over time, from decisions: lag, deadlines, BORE's scores, levels of FDL's buckets.

A point is what a decision's record says of one of its candidates; a curve joins the points of an entity, and ends where
it leaves its queue. A dot is a pick of the entity.
"""

import argparse
import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from math import nan
from typing import Any, NamedTuple

import numpy as np

from ...base.option_values import U16, U32, whole
from ...decisions.fair_decisions import SHAPES, Decision
from ...decisions.policy_numbers import AFTER_CHARGE, Points, deadlines, lags, levels, scores
from ...machine.image import TraceError
from ..decided import HOW, Decided, open_decided
from ..source import Array, check_tasks
from ..style import COLOURS, COLUMNS, MARKERS, add_legend, finish_axis, new_figure, time_unit

KINDS = {
    "lag": ("how much service each task is owed, from decisions; below zero it is ahead",
            ("run.json --tasks 'hog|burst'", "of these tasks")),
    "deadline": ("how far virtual deadlines are, from decisions of EEVDF and BORE",
                 ("run.json --cpu 0", "of one CPU's queue")),
    "score": ("BORE's scores of bursts, from decisions",
              ("bore.json", "BORE's scores")),
    "levels": ("the buckets of FDL's groups, from decisions",
               ("fdl.json", "FDL's buckets")),
}
REPORTED = {"lag": "decisions", "deadline": "decisions", "score": "decisions", "levels": "decisions"}
LINES = ("-", "--", "-.", ":")
CURVES = 8
ENOUGH = 20_000  # points of a curve; of more, each column of pixels has the least and the greatest
MS = 1e6


@dataclass
class Curve:
    """Columns: ns since the begin, the value then, and whether the entity was picked."""

    times: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    picked: "array[int]" = field(default_factory=lambda: array("b"))

    def add(self, time: int, value: float, picked: bool) -> None:
        self.times.append(time)
        self.values.append(value)
        self.picked.append(picked)

    def columns(self) -> tuple[Array, Array, Array]:
        return np.frombuffer(self.times, np.int64), np.frombuffer(self.values, float), np.frombuffer(
            self.picked, np.int8) == 1


class Numbers(NamedTuple):
    """What a kind of picture draws."""

    points: Callable[[Decision], Points]
    unit: float               # of the picture, in that of the points
    axis: str                 # label of the vertical axis
    stairs: bool              # the value stays until the next point
    without: str              # a sentence if there are no points


NUMBERS = {
    "lag": Numbers(lags, MS, "lag, ms of CPU time", False,
                   f"it has no picks, ticks and preemptions with candidates: {HOW}"),
    "deadline": Numbers(deadlines, MS, "deadline - V, virtual ms", False, "its policy has no virtual deadlines: EEVDF "
                        "and BORE have, schedsim --sched eevdf --decisions FILE"),
    "score": Numbers(scores, 1, "score", True, "its policy keeps no scores: BORE does, schedsim --sched bore "
                     "--decisions FILE"),
    "levels": Numbers(levels, MS, "ms until full", False, "no bucket of FDL is in it: schedsim --sched fdl --decisions "
                      "FILE group:name=a,deadline_rr=5ms, with tasks in that group"),
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="REGEX", default="", help="only entities whose name contains this")
    parser.add_argument("--cpu", type=whole(0, U16), metavar="N", help="only decisions about this CPU's queues")
    parser.add_argument("--group", type=whole(0, U32), metavar="N",
                        help="only those about queues of this group; 0: the root's")


def read_curves(source: Decided, arguments: argparse.Namespace) -> dict[str, Curve]:
    """name of the entity -> its curve."""
    found: dict[str, Curve] = {}
    kind, last = NUMBERS[arguments.kind], source.start
    policies: dict[str, None] = {}
    for time, d in source.records(SHAPES):  # of all kinds: in a trace.dat they share their rows
        last = time
        if (d.kind not in (*AFTER_CHARGE, "leave") or arguments.cpu not in (None, d.cpu)
                or arguments.group not in (None, d.group)):
            continue
        if d.kind == "leave":
            if d.subject in found and not d.answer:
                found[d.subject].add(time, nan, False)
            continue
        policies[d.policy] = None
        for name, value in kind.points(d):
            if name not in found:
                found[name] = Curve()
            found[name].add(time, value / kind.unit, d.kind == "pick" and bool(d.answer) and name == d.subject)
    source.end, source.policies = min(source.end, last), tuple(policies)
    return {name: curve for name, curve in found.items() if re.search(arguments.tasks, name)}


def open_source(path: str, arguments: argparse.Namespace) -> Decided:
    """The file @path, its data the curves of the kind."""
    check_tasks(arguments)
    source = open_decided(path, arguments)
    source.data = read_curves(source, arguments)
    if not source.data:
        raise TraceError(f"{path}: {NUMBERS[arguments.kind].without}")
    return source


def chosen(sources: Sequence[Decided]) -> list[str]:
    """The names of what is drawn: of all files, those with the most points."""
    points: dict[str, int] = {}
    for source in sources:
        for name, curve in source.data.items():
            points[name] = points.get(name, 0) + len(curve.times)
    return sorted(sorted(points, key=lambda name: (-points[name], name))[:CURVES])


def thinned(curve: Curve, span: int) -> tuple[Array, Array, Array]:
    """The columns of @curve; of many points only the least and the greatest in each column of pixels, so that no
    extreme is lost."""
    times, values, picked = curve.columns()
    if len(times) <= ENOUGH:
        return times, values, picked
    column = ((times - times[0]) * (COLUMNS) / max(span, 1)).astype(int)
    order = np.lexsort((values, column))  # NaN is last in its column
    finite = order[~np.isnan(values[order])]
    edge = np.flatnonzero(np.diff(column[finite], prepend=-1, append=-1))
    keep = np.unique(np.concatenate([finite[edge[:-1]], finite[edge[1:] - 1]]))
    return times[keep], values[keep], np.zeros(len(keep), bool)


def draw_source(axis: Any, source: Decided, arguments: argparse.Namespace, looks: dict[str, Any], unit: float) -> None:
    kind = NUMBERS[arguments.kind]
    for name, (colour, line, marker) in looks.items():
        if name not in source.data:
            continue
        times, values, picked = thinned(source.data[name], source.end - source.start)
        x = (times - source.start) / unit
        axis.plot(x, values, color=colour, linestyle=line, linewidth=1.1, gid=f"curve {name}",
                  drawstyle="steps-post" if kind.stairs else "default")
        axis.plot(x[picked], values[picked], color=colour, marker=marker, markersize=3.2, linestyle="none",
                  markeredgecolor="black", markeredgewidth=0.3, gid=f"picks {name}")
    low, high = axis.get_ylim()
    if arguments.kind in ("lag", "deadline"):
        axis.axhline(0, color="black", linewidth=0.9)
    if arguments.kind == "lag":
        axis.set_ylim(min(low, -0.05), max(high, 0.05))
        axis.axhspan(axis.get_ylim()[0], 0, facecolor="none", edgecolor="#b8b8b8", hatch="////", linewidth=0, zorder=-2)
    elif arguments.kind == "score":
        axis.set_ylim(-0.5, max(high, 4))
        axis.yaxis.get_major_locator().set_params(integer=True)
    elif arguments.kind == "levels":
        axis.set_ylim(max(high, 0.1), min(low, 0))  # upwards: fuller
        axis.axhline(0, color="black", linewidth=0.9)
    axis.set_ylabel(kind.axis)
    finish_axis(axis, source.name + (f": {source.policy}" if source.policy else ""))


NOTES = {"lag": "   (above 0: owed; hatched: ahead, under EEVDF not eligible; dots: picks)",
         "deadline": "   (below 0: late; dots: picks)", "score": "   (dots: picks)",
         "levels": "   (0: full, and due; below: overdue; dots: picks)"}


def draw(sources: Sequence[Decided], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a panel for each of @sources, on one axis of time."""
    from matplotlib.lines import Line2D

    names = chosen(sources)
    looks = {name: look for name, look in zip(names, zip(cycle(COLOURS), cycle(LINES), cycle(MARKERS)))}
    figure, axes = new_figure(len(sources), 2.2 if len(sources) > 1 else 3.0, header, len(names), sharex=True)
    length = max(source.end - source.start for source in sources)
    unit, name = time_unit(length)
    for axis, source in zip(axes, sources):
        draw_source(axis, source, arguments, looks, unit)
    axes[-1].set_xlim(0, length / unit)
    axes[-1].set_xlabel(f"time, {name}{NOTES[arguments.kind]}")
    every = len({of for source in sources for of in source.data})
    handles = [(Line2D([], [], color=colour, linestyle=line, marker=marker, markersize=3.5, markeredgecolor="black",
                       markeredgewidth=0.3), of) for of, (colour, line, marker) in looks.items()]
    add_legend(axes[0], handles, "" if every <= CURVES else f"{CURVES} of {every},\nmost often compared")
    return figure


def report(source: Decided, arguments: argparse.Namespace) -> str:
    """The least and the greatest value of each curve, and how often the entity was picked; of lags, how often with a
    lag below 0."""
    lag = arguments.kind == "lag"
    lines = [f"{source.name}: {NUMBERS[arguments.kind].axis}",
             f"  {'entity':<22} {'least':>12} {'mean':>12} {'greatest':>12} {'picks':>8}" + "   when ahead" * lag]
    for name in sorted(source.data):
        _, values, picked = source.data[name].columns()
        known = values[~np.isnan(values)]
        lines.append(f"  {name:<22} {known.min():12.6f} {known.mean():12.6f} {known.max():12.6f} {int(picked.sum()):8}"
                     + f" {int((values[picked] < -1e-6).sum()):12}" * lag)
    return "\n".join(lines)
