# SPDX-License-Identifier: GPL-2.0-only
"""Runs whose trace a filter of the student's own reads: is each number of each task right?

The filter is Python that reads a trace as text and prints a table. What is right is computed another way: not along the
trace, but task by task, from the trace's binary form.
"""

import pathlib
import re
import shlex
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..forms import text
from ..machine.image import Event, event_values
from ..trace.timeline import SLEEPS
from ..trace.tracefile import TraceFile
from . import box
from .results import Result, drawn
from .spec import Lab, LabError, Run
from .workshop import Workshop

WAKEUPS = ("sched_wakeup", "sched_wakeup_new")
COLUMNS = ("run_ns", "waits", "wait_ns", "preempted", "share")
FILTER_LIMITS = box.Limits(cpu_s=10, wall_s=60, memory_mb=1024)
SIMULATOR_LIMITS = box.Limits(cpu_s=20, wall_s=120, writes_files=True)
PYTHON = pathlib.Path(sys.executable).resolve()

Numbers = dict[str, int]  # by column


@dataclass(frozen=True)
class _Moment:
    """Something that happened to a task."""

    time: int
    what: str            # "woken", "in" or "out"
    runnable: bool = True
    known: bool = True   # of a task that leaves a CPU: since when it ran


def _histories(events: Iterable[Event]) -> tuple[dict[int, list[_Moment]], dict[int, str], int, int]:
    """({pid: what happened to it}, names, time of the first and of the last event)"""
    found: dict[int, list[_Moment]] = {}
    names: dict[int, str] = {}
    seen: set[int] = set()
    begin, end = -1, 0
    for event in events:
        begin, end = event.time if begin < 0 else begin, event.time
        values = event_values(event)
        if event.format.name in WAKEUPS:
            found.setdefault(values["pid"], []).append(_Moment(event.time, "woken"))
        elif event.format.name == "sched_switch":
            found.setdefault(values["prev_pid"], []).append(
                _Moment(event.time, "out", not values["prev_state"] & SLEEPS, event.cpu in seen))
            found.setdefault(values["next_pid"], []).append(_Moment(event.time, "in"))
            names[values["prev_pid"]], names[values["next_pid"]] = values["prev_comm"], values["next_comm"]
            seen.add(event.cpu)
    return found, names, begin, end


def _waits(history: list[_Moment]) -> Iterator[int]:
    """The length of each wait: it begins with a wakeup, or when a task that could go on leaves its CPU."""
    begin: int | None = None
    runs = False
    for moment in history:
        if moment.what == "in":
            if begin is not None:
                yield moment.time - begin
            begin, runs = None, True
        elif moment.what != "woken":
            begin, runs = (moment.time if moment.runnable else None), False
        elif begin is None and not runs:
            begin = moment.time


def _numbers(history: list[_Moment], begin: int, end: int) -> Numbers:
    run, since = 0, None
    for moment in history:
        if moment.what == "in":
            since = moment.time
        elif moment.what != "woken":
            run += moment.time - since if since is not None and moment.known else 0
            since = None
    run += end - since if since is not None else 0
    waits = list(_waits(history))
    return {"run_ns": run, "waits": len(waits), "wait_ns": sum(waits),
            "preempted": sum(moment.what == "out" and moment.runnable for moment in history),
            "share": 1000 * run // max(1, end - begin)}


def part(events: list[Event]) -> range:
    """Which of @events are a part that begins and ends amid runs: at no time of a switch or wakeup. Of no task it says
    first that it was woken and then that it leaves a CPU: whether that one ran or waited nothing would tell.
    """
    moved = {event.time for event in events if event.format.name in ("sched_switch", *WAKEUPS)}
    places = [place for place, event in enumerate(events) if event.time not in moved]
    kept = places[len(places) // 4:9 * len(places) // 10]
    for first in kept:
        histories = _histories(events[first:kept[-1] + 1])[0].values()
        if not any([moment.what for moment in history[:2]] == ["woken", "out"] for history in histories):
            return range(first, kept[-1] + 1)
    raise LabError("the trace has no part in which each task's state is told")


def truth(events: Iterable[Event]) -> tuple[dict[int, Numbers], dict[int, str]]:
    """({pid: its numbers}, {pid: its name}) of each task that had a CPU in @events."""
    histories, names, begin, end = _histories(events)
    return {pid: _numbers(history, begin, end) for pid, history in histories.items()
            if pid and any(moment.what != "woken" for moment in history)}, names


def parse(printed: str) -> tuple[dict[int, Numbers], str]:
    """({pid: the numbers in @printed, what a student's filter said}, why that cannot be read or "")"""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    if not lines or lines[0] != ["pid", *COLUMNS]:
        return {}, f"the first line that your filter printed is not \"pid {' '.join(COLUMNS)}\""
    said: dict[int, Numbers] = {}
    for nr, words in enumerate(lines[1:], 2):
        if len(words) != len(COLUMNS) + 1 or not all(re.fullmatch("-?[0-9]{1,30}", word) for word in words):
            return {}, f"line {nr} that your filter printed is not {len(COLUMNS) + 1} whole numbers"
        pid, *numbers = map(int, words)
        if pid in said:
            return {}, f"your filter printed two lines for pid {pid}"
        said[pid] = dict(zip(COLUMNS, numbers))
    return said, ""


def compare(said: dict[int, Numbers], right: dict[int, Numbers], names: dict[int, str]) -> tuple[int, list[str]]:
    """(columns that are right of every task, a sentence about each of the others)"""
    if extra := said.keys() - right.keys():
        pid = min(extra)
        return 0, ["there is a line for pid 0, which is no task: that CPU idles" if not pid else
                   f"there is a line for pid {pid}, which never had a CPU"]
    if missing := right.keys() - said.keys():
        return 0, [f"there is no line for {names[min(missing)]}-{min(missing)}"]
    sentences = []
    for column in COLUMNS:
        wrong = [pid for pid in right if said[pid][column] != right[pid][column]]
        if wrong:
            pid = wrong[0]
            sentences.append(f"{column} of {names[pid]}-{pid}: you say {said[pid][column]}, {right[pid][column]} is "
                             f"right (wrong of {len(wrong)} of {len(right)} tasks)")
    return len(COLUMNS) - len(sentences), sentences


def run_filter(name: str, directory: pathlib.Path, reads: pathlib.Path | None = None) -> box.Ended:
    """Run the filter @name of @directory, which reads the text @reads."""
    view = box.View((name,), (sysconfig.get_path("stdlib"),), opens=True, loads=True)
    return box.program([str(PYTHON), "-I", "-S", "-B", name], directory, FILTER_LIMITS, view, reads=reads)


def judge(lab: Lab, workshop: Workshop, run: Run, record: pathlib.Path, tier: str, again: str) -> Result:
    """Have the student's filter read the trace @record, or a part of it."""
    name = lab.files[0]
    events = list(TraceFile(record).events())
    places = part(events) if run.options.get("part") else range(len(events))
    events = [events[place] for place in places]
    readable = record.with_suffix(".txt")
    readable.write_text("\n".join([text.HEAD, *map(text.line, events), ""]), encoding="utf-8")
    ended = run_filter(name, workshop.tree, readable)
    head = 2  # line of the first event
    again += (f"\nthen: PYTHONPATH=tools python3 -m fairground convert run.dat -o run.txt\n"
              f"and:  sed -n '{places[0] + head},{places[-1] + head}p' run.txt | python3 {name}")
    if ended.timed_out:
        return Result(tier, run.title, 0, run.points, "your filter did not end: a loop that never leaves?", again)
    if ended.status:
        last = (ended.text.strip().splitlines() or [ended.how])[-1]
        return Result(tier, run.title, 0, run.points, f"your filter failed: {last[:200]}", again)
    said, problem = parse(ended.text)
    if problem:
        return Result(tier, run.title, 0, run.points, problem, again)
    good, sentences = compare(said, *truth(events))
    if not sentences:
        return Result(tier, run.title, run.points, run.points, f"{len(said)} tasks, all right")
    return Result(tier, run.title, round(run.points * good / len(COLUMNS), 1), run.points, sentences[0],
                  "\n".join([*sentences[1:], again]))


def simulated(lab: Lab, workshop: Workshop, run: Run, seed: int) -> Result:
    """A run of the simulator whose trace the student's filter reads."""
    words = ["--seed", str(seed), *shlex.split(drawn(run.words, seed))]
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        record = pathlib.Path(directory) / "run.dat"
        ended = box.tool(["build/schedsim", "--trace", str(record), *words], workshop.tree, SIMULATOR_LIMITS,
                         workshop.environment(), [record.parent])
        if ended.status or ended.timed_out:
            raise LabError(f"lab {lab.number}, {run.title}: the simulator did not run: {ended.how}")
        again = f"Again: make sim && {shlex.join(['build/schedsim', '--trace', 'run.dat', *words])}"
        return judge(lab, workshop, run, record, "simulator", again)
