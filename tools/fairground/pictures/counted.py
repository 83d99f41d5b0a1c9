# SPDX-License-Identifier: GPL-2.0-only
"""Latencies as they were counted: what cyclictest, jitterdebugger and our jitter print, and the waits of a trace."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..machine.image import TraceError
from .source import Array

US = 1000  # ns


class Series(NamedTuple):
    """Latencies of one thread or CPU, in ns: values in ascending order, and how often each was counted. Those @beyond
    the histogram are only known by their number; the longest of all is known."""

    values: Array
    counts: Array
    longest: int
    beyond: int = 0

    @property
    def number(self) -> int:
        return int(self.counts.sum()) + self.beyond


@dataclass
class Counted:
    """What a file counts, by the name of the thread or CPU; @resolution ns are between two values."""

    series: dict[str, Series]
    about: str
    resolution: int = US


def _series(rows: Mapping[int, int], longest: int, beyond: int = 0, unit: int = US) -> Series:
    values = sorted(value for value, count in rows.items() if count)
    if min((*rows.values(), longest, beyond, *values), default=0) < 0:
        raise TraceError("a number below zero is counted there: the file is damaged")
    return Series(np.array(values, np.int64) * unit, np.array([rows[value] for value in values], np.int64),
                  max(longest, values[-1] if values else 0) * unit, beyond)


def of_lengths(lengths: Array) -> Series:
    """The Series of single latencies."""
    values, counts = np.unique(lengths, return_counts=True)
    return Series(values, counts, int(values[-1]))


def of_json(data: Any) -> Counted:
    """What `cyclictest --json` and `jitterdebugger -o` write. TraceError if @data is something else."""
    try:
        what = "thread" if "thread" in data else "cpu"
        system, unit = data["sysinfo"], 1 if data["sysinfo"].get("resolution_in_ns") == 1 else US
        found = {}
        for number, each in data[what].items():
            rows = {int(value): int(count) for value, count in each["histogram"].items()}
            total = int(each["cycles" if what == "thread" else "count"])
            found[f"{what if what == 'thread' else 'CPU'} {int(number)}"] = _series(
                rows, int(each["max"]), total - sum(rows.values()), unit)
        if not found:
            raise TraceError("the file counts no latencies")
        command = data.get("cmdline:", data.get("cmdline", "jitterdebugger"))
        return Counted(found, f"{command}; {system['sysname']} {system['release']}", unit)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TraceError("the file is JSON, but neither of cyclictest --json nor of jitterdebugger") from error


def _totals(text: str, what: str, threads: int) -> list[int]:
    """The numbers of the line @what of cyclictest's summary, without their sum."""
    found = re.search(rf"^# {what}:((?: +\d+)+)[ \t]*$", text, re.MULTILINE)
    numbers = list(map(int, found[1].split())) if found else []
    if len(numbers) not in (threads, threads + 1):
        raise TraceError(f"cyclictest's histogram has no line \"# {what}\" for all threads: the output is cut off")
    return numbers[:threads]


def of_cyclictest(text: str) -> Counted:
    """What `cyclictest -h` prints: a line for each microsecond with a column for each thread, and a summary. With -H
    each has a column more, for all threads."""
    lines = re.findall(r"^(\d{6,}(?:[ \t]+\d{6,})+)[ \t]*$", text, re.MULTILINE)
    rows = [list(map(int, line.split())) for line in lines]
    threads = len(re.findall(r"^# Thread \d+:", text, re.MULTILINE))
    if not threads:
        raise TraceError("cyclictest's histogram has no summary: the output is cut off")
    if any(len(row) - 1 not in (threads, threads + 1) for row in rows):
        raise TraceError("cyclictest's histogram has lines of several lengths: the output is damaged")
    columns = [{row[0]: row[1 + nr] for row in rows} for nr in range(threads)]
    if [sum(column.values()) for column in columns] != _totals(text, "Total", threads):
        raise TraceError("cyclictest's histogram does not add up to its totals: lines are missing")
    longest, beyond = _totals(text, "Max Latencies", threads), _totals(text, "Histogram Overflows", threads)
    return Counted({f"thread {nr}": _series(column, longest[nr], beyond[nr]) for nr, column in enumerate(columns)},
                   "cyclictest")


def of_jitter(text: str) -> Counted:
    """What our `jitter -h` prints: a line for each microsecond in which any thread woke up."""
    head, _, tail = text.partition("us late  wakeups\n")
    rows = {int(us): int(count) for us, count in re.findall(r"^ *(\d+)  (\d+)\s*$", tail, re.MULTILINE)}
    later = re.search(r"^ *later  (\d+)\s*$", tail, re.MULTILINE)
    if not later:
        raise TraceError("jitter's histogram has no line \"later\": the output is cut off")
    threads = re.findall(r"^ *\d+ +\d+ +\d+ +\d+(?: +[\d.]+){4} +([\d.]+)\s*$", head, re.MULTILINE)
    if not threads:
        raise TraceError("jitter's table of threads is not before its histogram")
    about = re.findall(r"^\d+ threads?, policy .*$", head, re.MULTILINE)
    return Counted({"all threads": _series(rows, int(max(map(float, threads))), int(later[1]))},
                   "jitter: " + "".join(about[-1:]))


def read(data: bytes) -> Counted:
    """What the output @data of a program counts. TraceError if it is of none of the three."""
    text = data.decode(errors="replace")
    if text.lstrip().startswith("{"):
        try:
            return of_json(json.loads(text))
        except json.JSONDecodeError as error:
            raise TraceError(f"the file is no whole JSON: {error}") from error
    if "# Histogram" in text:
        return of_cyclictest(text)
    if "us late  wakeups\n" in text:
        return of_jitter(text)
    raise TraceError("this is no trace, and no output of cyclictest -h, jitterdebugger -o or jitter -h")


def quantile(series: Series, part: float) -> float | None:
    """The latency in ns that @part of all did not exceed; None if the histogram does not reach so far."""
    place = np.searchsorted(np.cumsum(series.counts), part * series.number)
    return float(series.values[place]) if place < len(series.values) else None


def in_bins(series: Series, first: int, number: int, width: int) -> Array:
    """How many of @series are in each of @number bins of @width ns, the first of which is the bin @first."""
    return np.bincount(series.values // width - first, weights=series.counts, minlength=number)[:number]


def names_of(found: Mapping[str, Series], most: int) -> Sequence[str]:
    """Those that are drawn: at most @most, the longest latencies first, then in the file's order."""
    chosen = sorted(found, key=lambda name: -found[name].longest)[:most]
    return [name for name in found if name in chosen]
