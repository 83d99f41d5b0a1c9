#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw who runs and who waits: the picture of the README.

The same workload on one simulated CPU under several policies, one panel each. A thick bar is a task that runs, a thin
line a task that waits for the CPU; where there is neither, it sleeps. Drawn from the simulator's own trace, so the
picture is a function of the source: the same again, byte for byte, with the same matplotlib.

Usage: picture.py BUILD OUT.svg
"""

import io
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

from fairground.image import event_values
from fairground.tracefile import TraceFile

POLICIES = {"cfs": "CFS", "eevdf": "EEVDF", "bore": "BORE (on EEVDF)"}
WORKLOAD = ("hogs:n=1", "hogs:n=1,nice=5", "bursts:n=1,run=2ms,sleep=10ms")
LABELS = ("hog, nice 0", "hog, nice 5", "2 ms of work,\n10 ms of sleep")
FIRST_MS, LAST_MS = 200, 320
COLOURS = ("#0072b2", "#e69f00", "#009e73")  # Okabe and Ito: told apart by everybody, and in grey
SLEEPS = 0xff


@dataclass
class Row:
    """What one task did: (start, length) in ms."""

    runs: list[tuple[float, float]] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)


def rows_of(path: pathlib.Path) -> list[Row]:
    """A Row for each task of the trace at @path, in order of pid, from FIRST_MS to LAST_MS."""
    rows: dict[int, Row] = {}
    since: dict[tuple[int, str], float] = {}

    def ends(pid: int, kind: str, now: float) -> None:
        begun = since.pop((pid, kind), None)
        if begun is None:
            return
        start, end = max(begun / 1e6, FIRST_MS), min(now / 1e6, LAST_MS)
        if start < end:
            getattr(rows.setdefault(pid, Row()), kind).append((start, end - start))

    for event in TraceFile(path).events({"sched_switch", "sched_wakeup", "sched_wakeup_new"}):
        values = event_values(event)
        if event.format.name != "sched_switch":
            since.setdefault((values["pid"], "waits"), event.time)
            continue
        prev, following = values["prev_pid"], values["next_pid"]
        ends(prev, "runs", event.time)
        if prev and not values["prev_state"] & SLEEPS:
            since[prev, "waits"] = event.time
        ends(following, "waits", event.time)
        since[following, "runs"] = event.time
    for pid, kind in list(since):
        ends(pid, kind, LAST_MS * 1e6)
    rows.pop(0, None)  # the idle task
    return [rows[pid] for pid in sorted(rows)]


def simulate(build: str, policy: str) -> list[Row]:
    """The rows of WORKLOAD under @policy."""
    with tempfile.TemporaryDirectory() as directory:
        trace = pathlib.Path(directory, "trace.dat")
        subprocess.run([f"{build}/schedsim", "--sched", policy, "--cpus", "1", "--time", f"{LAST_MS}ms",
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


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, out = sys.argv[1:]
    draw({title: simulate(build, policy) for policy, title in POLICIES.items()}, out)
    print(f"{out}: {', '.join(POLICIES)}; schedsim --cpus 1 {' '.join(WORKLOAD)}")


if __name__ == "__main__":
    main()
