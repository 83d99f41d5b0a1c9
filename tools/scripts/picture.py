#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw the pictures of the README and of docs/pictures.md.

policies.svg shows who runs and who waits. The same workload on one simulated CPU under several policies, one panel
each. A thick bar is a task that runs, a thin line a task that waits for the CPU; where there is neither, it sleeps. The
others are those that `fairground graph` makes of one run (docs/pictures.md), and of a trace of Linux that is kept in
the tests. All are a function of the source: the same again, byte for byte, with the same matplotlib.

Usage: picture.py [DIRECTORY]     default: docs/img; environment: B (build directory)
"""

import collections
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

from fairground.__main__ import main as fairground
from fairground.trace.timeline import Timeline

import usage

ROOT = pathlib.Path(__file__).resolve().parents[2]
POLICIES = {"cfs": "CFS", "eevdf": "EEVDF", "bore": "BORE (on EEVDF)"}
WORKLOAD = ("hogs:n=1", "hogs:n=1,nice=5", "bursts:n=1,run=2ms,sleep=10ms")
LABELS = ("hog, nice 0", "hog, nice 5", "2 ms of work,\n10 ms of sleep")
GRAPHS: dict[str, list[str]] = {"dat2graph2": ["--socket-order"], "running_waiting": []}  # kind -> options
RUN = "--topology 2x1x4 --time 120ms hogs:n=5 bursts:n=6,run=1ms-4ms,sleep=1ms-6ms".split()
LINUX = "tests/sim/linux-6.1.dat"
FIRST_MS, LAST_MS, END_MS = 200, 320, 400  # what is shown, and simulated
COLOURS = ("#0072b2", "#e69f00", "#009e73")  # Okabe and Ito: told apart by everybody, and in grey


@dataclass
class Row:
    """What one task did: (start, length) in ms."""

    runs: list[tuple[float, float]] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)


def rows_of(path: pathlib.Path) -> list[Row]:
    """A Row for each task of the trace at @path, in order of pid, from FIRST_MS to LAST_MS."""
    timeline, rows = Timeline(path), collections.defaultdict[int, Row](Row)
    runs, waits = timeline.runs, timeline.waits
    for kind, columns in (("runs", zip(runs.pid, runs.start, runs.end)),
                          ("waits", zip(waits.pid, waits.start, waits.end))):
        for pid, begun, ended in columns:
            start, end = max(begun / 1e6, FIRST_MS), min(ended / 1e6, LAST_MS)
            if start < end:
                getattr(rows[pid], kind).append((start, end - start))
    return [rows[pid] for pid in sorted(rows)]


def simulate(build: str, policy: str) -> list[Row]:
    """The rows of WORKLOAD under @policy."""
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory, "trace.dat")
        subprocess.run([f"{build}/schedsim", "--sched", policy, "--cpus", "1", "--time", f"{END_MS}ms",
                        "--trace", trace, *WORKLOAD], check=True, stdout=subprocess.DEVNULL)
        return rows_of(trace)


def draw(panels: dict[str, list[Row]], out: str) -> None:
    """@panels: title -> rows. Written to @out as SVG."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "fairground"
    figure = Figure(figsize=(9, 1.35 * len(panels) + 0.6), layout="constrained")
    axes = figure.subplots(len(panels), 1, sharex=True)
    for axis, (title, rows) in zip(axes, panels.items()):
        for y, (row, colour) in enumerate(zip(rows, COLOURS)):
            axis.broken_barh(row.waits, (y - 0.06, 0.12), color=colour, alpha=0.55, linewidth=0)
            axis.broken_barh(row.runs, (y - 0.36, 0.72), color=colour, linewidth=0)
        axis.set_yticks(range(len(rows)), LABELS, fontsize=8)
        axis.set_ylim(len(rows) - 0.45, -0.55)
        axis.set_title(title, loc="left", fontsize=9, fontweight="bold")
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    axes[-1].set_xlim(FIRST_MS, LAST_MS)
    axes[-1].set_xlabel("time, ms   (bar: runs, line: waits)", fontsize=8)
    axes[-1].tick_params(axis="x", labelsize=8)
    text = io.StringIO()
    FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    pathlib.Path(out).write_text(re.sub(r" +$", "", text.getvalue(), flags=re.MULTILINE), encoding="utf-8")


def draw_lag(build: str, directory: str) -> None:
    """lag.svg: the lags of WORKLOAD under EEVDF."""
    with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(io.StringIO()):
        record = f"{work}/eevdf.json"
        subprocess.run([f"{build}/schedsim", "--sched", "eevdf", "--time", "120ms", "--decisions", record,
                        *WORKLOAD], check=True, stdout=subprocess.DEVNULL)
        if status := fairground(["graph", "lag", record, "--no-header", "-o", f"{directory}/lag.svg"]):
            sys.exit(status)


def draw_graph(kind: str, trace: str, *words: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        status = fairground(["graph", kind, trace, "--no-header", *words])
    if status:
        sys.exit(status)


def draw_graphs(build: str, directory: str) -> None:
    """A picture of each of GRAPHS, named as its kind, in @directory; and of LINUX."""
    with tempfile.TemporaryDirectory() as work:
        trace = f"{work}/run.dat"
        subprocess.run([f"{build}/schedsim", "--trace", trace, *RUN], check=True, stdout=subprocess.DEVNULL)
        for kind, options in GRAPHS.items():
            draw_graph(kind, trace, *options, "-o", f"{directory}/{kind}.svg")
            draw_graph(kind, str(ROOT / LINUX), "-o", f"{directory}/linux_{kind}.svg")


def main() -> None:
    directory, = usage.words(__doc__, 0, 1) or ["docs/img"]
    build = os.environ.get("B", "build")
    draw({title: simulate(build, policy) for policy, title in POLICIES.items()}, f"{directory}/policies.svg")
    print(f"{directory}/policies.svg: {', '.join(POLICIES)}; schedsim --cpus 1 {' '.join(WORKLOAD)}")
    draw_lag(build, directory)
    draw_graphs(build, directory)
    print(f"{directory}/: lag, {', '.join(GRAPHS)}; schedsim {' '.join(RUN)}")
    print(f"{directory}/: {', '.join(f'linux_{kind}' for kind in GRAPHS)}; {LINUX}")


if __name__ == "__main__":
    main()
