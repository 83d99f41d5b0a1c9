# SPDX-License-Identifier: GPL-2.0-only
"""A row for each task: a bar where it runs, a line where it waits. `side` compares runs; `arrows` shows who woke whom,
and who took the CPU from whom."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.errors import reading
from ...base.settings import UsageError
from ...machine.image import DAMAGED, TraceError
from ...trace.records import decoder
from ...trace.timeline import SWITCH
from ...trace.tracefile import TraceFile
from ..pixels import Bars, Row
from ..source import Array, Source, check_tasks, open_source as open_trace
from ..style import Style, add_legend, finish_axis, new_figure, style, time_unit

KINDS = {
    "side": ("a row for each task, several runs on one axis of time: bar, it runs; line, it waits",
             ("cfs.dat eevdf.dat bore.dat --range 0.05-0.15", "100 ms of three runs")),
    "arrows": ("the same, with arrows: who woke whom, who took the CPU from whom",
               ("hack.dat --max 0.02", "who woke whom in the first 20 ms")),
}
REPORTED = {"side": "traces"}
ROWS, ARROWS = 24, 400
BLACK, RED = "black", "#d55e00"
POLICY = re.compile(r"(?:Fairground|schedsim) \S+: (\S+);")


@dataclass
class Tasks(Source):
    """A trace; of `arrows` also who woke and who preempted whom: (time, from pid, to pid)."""

    wakeups: list[tuple[int, int, int]]
    preemptions: list[tuple[int, int, int]]

    @property
    def title(self) -> str:
        said = POLICY.match(self.timeline.about)
        return f"{said[1]}: {self.name}" if said else self.name


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="REGEX", default="", help="only tasks whose NAME-PID contains this")
    parser.add_argument("--asleep", action="store_true", help="a dotted line where a task sleeps between two runs")


def open_source(path: str, arguments: argparse.Namespace) -> Tasks:
    check_tasks(arguments)
    source = open_trace(path, arguments)
    found = Tasks(source.path, source.timeline, source.window, [], [])
    if arguments.kind == "arrows":
        with reading(path, TraceError, DAMAGED):
            read_arrows(found)
    return found


def read_arrows(source: Tasks) -> None:
    """Who woke whom: the task that runs where sched_waking is recorded, otherwise sched_wakeup. Who preempted whom: who
    follows a task that could go on."""
    trace = TraceFile(source.path)
    formats = {f.name: f for f in trace.formats.values()}
    waking = "sched_waking" if "sched_waking" in formats else "sched_wakeup"
    woken = decoder(formats[waking], ("pid",))
    switch = decoder(formats[SWITCH], ("prev_pid", "prev_state", "next_pid"))
    for event in trace.events({waking, SWITCH}):
        time = event.time - source.window.start
        if not 0 <= time < source.window.length:
            continue
        if event.format.name == waking:
            pid, = woken(event.data)
            if event.pid and event.pid != pid:
                source.wakeups.append((time, event.pid, pid))
        else:
            prev, state, following = switch(event.data)
            if prev and following and not state & 0xff:
                source.preemptions.append((time, following, prev))


def wanted_of(source: Tasks, arguments: argparse.Namespace) -> list[int]:
    """The pids that --tasks chooses, the longest running first."""
    ran = source.ran()
    wanted = [pid for pid in ran if re.search(arguments.tasks, source.timeline.label(pid))]
    if not wanted:
        raise TraceError(f"{source.path}: no task with such a name runs there")
    return sorted(wanted, key=lambda pid: -ran[pid])


def rows_of(source: Tasks, arguments: argparse.Namespace) -> list[int]:
    """The pids that get a row, in order; the longest running, if there are too many."""
    return sorted(wanted_of(source, arguments)[:ROWS])


def few(source: Tasks, arguments: argparse.Namespace) -> str:
    """What the picture says of tasks without a row; "" if there are none."""
    every = len(wanted_of(source, arguments))
    return f"; the {ROWS} of {every} tasks that ran longest: --tasks chooses others" if every > ROWS else ""


def rows(pids: list[int], of: Array, start: Array, end: Array, height: float) -> list[Row]:
    """A row for each of @pids; interval i is that of the pid of[i]. The axis grows downwards."""
    return [Row(nr + height / 2, -height, start[of == pid], end[of == pid], np.full((of == pid).sum(), nr))
            for nr, pid in enumerate(pids)]


def sleeps(source: Tasks, pid: int) -> tuple[Array, Array]:
    """Begin and end of each time between two runs in which the task neither runs nor waits."""
    _, run_pids, run_start, run_end = source.runs()
    wait_pids, wait_start, wait_end = source.waits()
    start = np.concatenate([run_start[run_pids == pid], wait_start[wait_pids == pid]])
    end = np.concatenate([run_end[run_pids == pid], wait_end[wait_pids == pid]])
    order = np.lexsort((end, start))
    begins, ends = np.maximum.accumulate(end[order])[:-1], start[order][1:]
    return begins[ends > begins], ends[ends > begins]


def draw_sleeps(axis: Any, source: Tasks, pids: list[int], unit: float) -> None:
    for nr, pid in enumerate(pids):
        begins, ends = sleeps(source, pid)
        axis.hlines(np.full(len(begins), nr), begins / unit, ends / unit, colors=BLACK, linestyles="dotted",
                    linewidth=0.9)


def draw_source(axis: Any, source: Tasks, pids: list[int], looks: dict[str, Style], unit: float, title: str) -> None:
    _, run_pids, start, end = source.runs()
    wait_pids, wait_start, wait_end = source.waits()
    every = [looks[key_of(source, pids, pid)] for pid in pids]
    axis.add_artist(Bars(rows(pids, wait_pids, wait_start / unit, wait_end / unit, 0.12),
                         [Style(look.colour, "") for look in every], [f"waits {pid}" for pid in pids], alpha=0.6))
    axis.add_artist(Bars(rows(pids, run_pids, start / unit, end / unit, 0.66), every, [f"runs {pid}" for pid in pids]))
    axis.set_yticks(range(len(pids)), [source.timeline.label(pid) for pid in pids], fontsize=7)
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(len(pids) - 0.45, -0.55)
    finish_axis(axis, title)


def key_of(source: Tasks, pids: list[int], pid: int) -> str:
    """The same of the tasks of several runs that correspond: the third with its name, for example."""
    name = source.timeline.comms.get(pid, "?")
    return f"{name}#{[of for of in pids if source.timeline.comms.get(of, '?') == name].index(pid)}"


def draw_arrows(axis: Any, source: Tasks, pids: list[int], unit: float) -> None:
    row = {pid: nr for nr, pid in enumerate(pids)}
    aside = source.window.length / unit / 400  # so that both can be seen, where a wakeup preempts
    for found, colour, line, shift in ((source.wakeups, BLACK, "-", 0.0), (source.preemptions, RED, "--", aside)):
        shown = [(time, a, b) for time, a, b in found if a in row and b in row and a != b]
        if len(shown) > ARROWS:
            raise UsageError(f"{source.path}: {len(shown)} arrows cannot be told apart: choose with --range or --tasks")
        for time, a, b in shown:
            x = time / unit + shift
            axis.annotate("", (x, row[b]), (x, row[a]), arrowprops={
                "arrowstyle": "-|>", "color": colour, "linestyle": line, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0,
                "mutation_scale": 7})


def draw(sources: Sequence[Tasks], arguments: argparse.Namespace, header: Sequence[str]) -> Any:
    """The picture: a panel for each of @sources, on one axis of time. Tasks that correspond have one colour."""
    from matplotlib.lines import Line2D

    rows = [rows_of(source, arguments) for source in sources]
    keys = dict.fromkeys(key_of(source, pids, pid) for source, pids in zip(sources, rows) for pid in pids)
    looks = {key: style(nr) for nr, key in enumerate(keys)}
    height = max(1.1, 0.45 + 0.24 * max(map(len, rows)))
    figure, axes = new_figure(len(sources), height, header, sharex=True)
    length = max(source.window.length for source in sources)
    unit, name = time_unit(length)
    for axis, source, pids in zip(axes, sources, rows):
        draw_source(axis, source, pids, looks, unit, source.title + few(source, arguments))
        if arguments.asleep:
            draw_sleeps(axis, source, pids, unit)
        if arguments.kind == "arrows":
            draw_arrows(axis, source, pids, unit)
    axes[-1].set_xlim(0, length / unit)
    axes[-1].set_xlabel(f"time, {name}   (bar: runs, thin line: waits{', dots: sleeps' if arguments.asleep else ''})")
    if arguments.kind == "arrows":
        add_legend(axes[0], [(Line2D([], [], color=BLACK, marker=">", markersize=3.5), "wakes"),
                             (Line2D([], [], color=RED, linestyle="--", marker=">", markersize=3.5),
                              "takes the\nCPU from")])
    return figure


def report(source: Tasks, arguments: argparse.Namespace) -> str:
    """How long each task ran and waited."""
    _, pids, start, end = source.runs()
    wait_pids, wait_start, wait_end = source.waits()
    lines = [source.title + few(source, arguments),
             f"  {'task':<22} {'runs':>7} {'ran ms':>13} {'waits':>7} {'waited ms':>13}"
             f" {'longest ms':>13}" + (f" {'asleep ms':>13}" if arguments.asleep else "")]
    for pid in rows_of(source, arguments):
        ran, waited = (end - start)[pids == pid], (wait_end - wait_start)[wait_pids == pid]
        lines.append(f"  {source.timeline.label(pid):<22} {len(ran):7} {ran.sum() / 1e6:13.6f} {len(waited):7} "
                     f"{waited.sum() / 1e6:13.6f} {max(waited, default=0) / 1e6:13.6f}")
        if arguments.asleep:
            begins, ends = sleeps(source, pid)
            lines[-1] += f" {(ends - begins).sum() / 1e6:13.6f}"
    if arguments.kind == "arrows":
        lines.append(f"  wakeups by tasks: {len(source.wakeups)}; preemptions: {len(source.preemptions)}")
    return "\n".join(lines)
