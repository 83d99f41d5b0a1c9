# SPDX-License-Identifier: GPL-2.0-only
"""The files that a picture is about: their timelines as numpy arrays, and the window of time that is shown."""

import argparse
import os
import re
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import reading
from ..base.settings import UsageError
from ..machine.image import TraceError
from ..trace.timeline import Timeline
from ..trace.tracefile import run_lines

Array = Any  # numpy's arrays; mypy checks their use without numpy's types


class Window(NamedTuple):
    """What is shown, in ns of the trace's clock."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start

    def cut(self, start: Array, end: Array) -> tuple[Array, Array, Array]:
        """Intervals, cut to the window: which of them reach into it, and their starts and ends in ns since it began."""
        here = (end > self.start) & (start < self.end)
        return here, np.maximum(start[here], self.start) - self.start, np.minimum(end[here], self.end) - self.start


@dataclass
class Source:
    """A trace.dat, and the part of it that is shown."""

    path: str
    timeline: Timeline
    window: Window

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def runs(self) -> tuple[Array, Array, Array, Array]:
        """(CPU, pid, start, end) of all runs in the window, in ns since it began."""
        runs = self.timeline.runs
        here, start, end = self.window.cut(np.frombuffer(runs.start, np.int64), np.frombuffer(runs.end, np.int64))
        return np.frombuffer(runs.cpu, np.int64)[here], np.frombuffer(runs.pid, np.int64)[here], start, end

    def waits(self) -> tuple[Array, Array, Array]:
        """(pid, start, end) of all waits in the window, in ns since it began."""
        waits = self.timeline.waits
        here, start, end = self.window.cut(np.frombuffer(waits.start, np.int64), np.frombuffer(waits.end, np.int64))
        return np.frombuffer(waits.pid, np.int64)[here], start, end

    def ran(self) -> dict[int, float]:
        """pid -> ns that it ran in the window, in the order of pids."""
        _, pids, start, end = self.runs()
        known, place = np.unique(pids, return_inverse=True)
        return dict(zip(known.tolist(), np.bincount(place, weights=(end - start).astype(float)).tolist()))

    def header(self) -> list[str]:
        """What the trace says of its run, and when the window begins."""
        begin = self.timeline.begin
        lines = run_lines(self.path, self.timeline.about)
        return [*lines, *self.timeline.untold(), f"time 0 is {self.window.start / 1e9:.6f} s of the trace's clock"
                + (f", {(self.window.start - begin) / 1e9:.6f} s after its begin" if self.window.start > begin else "")]


def occupied(start: Array, end: Array, borders: Array) -> Array:
    """What part of the time between each two of @borders the intervals take, of which no two overlap."""
    order = np.argsort(start, kind="stable")
    edges = np.stack([start[order], end[order]], axis=1).ravel()
    total = np.stack([np.zeros(len(start)), (end - start)[order]], axis=1).ravel().cumsum()
    return np.diff(np.interp(borders, edges, total, left=0)) / np.diff(borders) if len(edges) else 0 * borders[1:]


def check_tasks(arguments: argparse.Namespace) -> None:
    """UsageError if --tasks is no pattern."""
    try:
        re.compile(arguments.tasks)
    except re.error as error:
        raise UsageError(f"--tasks {arguments.tasks}: {error}") from error


def open_source(path: str, arguments: argparse.Namespace) -> Source:
    """The file @path, from --min to --max. Says on stderr if events are lost."""
    first, last = arguments.min, arguments.max
    with reading(path, TraceError):
        timeline = Timeline(path)
        if not len(timeline.runs.pid):
            raise TraceError("nobody runs in this trace: it holds no sched_switch")
    start = timeline.begin + round((first or 0) * 1e9)
    end = timeline.end if last is None else min(timeline.end, timeline.begin + round(last * 1e9))
    if start >= end:
        raise UsageError(f"{path}: the trace is {(timeline.end - timeline.begin) / 1e9:.6f} s long; nothing is between "
                         "--min and --max")
    for line in timeline.untold():
        print(f"fairground: {path}: {line}", file=sys.stderr)
    return Source(path, timeline, Window(start, end))
