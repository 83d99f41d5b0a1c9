# SPDX-License-Identifier: GPL-2.0-only
"""A trace as Chrome's JSON: chrome://tracing, Perfetto and speedscope open it.

Each CPU is a thread of the process "CPUs" and has a slice for each time that a task had it. Arrows lead from the place
of a wakeup to the beginning of the run that it brought. Two counters show how many tasks run and wait.
"""

import json
from collections.abc import Iterator
from typing import Any, TextIO

from ..machine.image import event_values
from ..trace.timeline import SWITCH, WAKEUPS, Timeline, edges
from ..trace.tracefile import TraceFile

CPUS, COUNTS = 1, 2  # processes, which group the rows


def microseconds(time: int) -> float:
    """@time in the form's unit, and 0.1 ns more. Readers multiply by 1000 and cut what is behind the point: without
    that, 1.001 would become 1000 ns, and neighbours would overlap."""
    return (time * 10 + 1) / 10000


def thread(cpu: int) -> int:
    """The row of @cpu. Perfetto takes thread 0 for Linux's idle task, which all processes share."""
    return cpu + 1


def named(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": name}}


def slices(timeline: Timeline) -> Iterator[dict[str, Any]]:
    """A slice for each run."""
    for cpu, pid, start, end in zip(*timeline.runs):
        yield {"ph": "X", "pid": CPUS, "tid": thread(cpu), "name": timeline.label(pid), "ts": microseconds(start),
               "dur": microseconds(end - start), "args": {"pid": pid}}


def arrows(trace: TraceFile) -> Iterator[dict[str, Any]]:
    """From each wakeup to the run that it brought."""
    woken: dict[int, tuple[int, int]] = {}
    number = 0
    for event in trace.events({SWITCH, *WAKEUPS}):
        values = event_values(event)
        if event.format.name != SWITCH:
            woken.setdefault(values["pid"], (event.time, event.cpu))
        elif begin := woken.pop(values["next_pid"], None):
            number += 1
            common = {"cat": "wakeup", "name": "wakeup", "id": number, "pid": CPUS}
            yield {**common, "ph": "s", "tid": thread(begin[1]), "ts": microseconds(begin[0])}
            yield {**common, "ph": "f", "bp": "e", "tid": thread(event.cpu), "ts": microseconds(event.time)}


def counters(timeline: Timeline) -> Iterator[dict[str, Any]]:
    runs, waits = timeline.runs, timeline.waits
    for name, starts, ends in (("running", runs.start, runs.end), ("waiting", waits.start, waits.end)):
        for time, level in edges(starts, ends):
            yield {"ph": "C", "pid": COUNTS, "name": name, "ts": microseconds(time), "args": {"tasks": level}}


def write(out: TextIO, trace: TraceFile, timeline: Timeline, about: str) -> str:
    """Write the trace to @out; returns what that was, in words."""
    rows = [named("process_name", CPUS, 0, "CPUs"), named("process_name", COUNTS, 0, "tasks"),
            *(named("thread_name", CPUS, thread(cpu), f"CPU {cpu}") for cpu in range(timeline.cpus))]
    number = 0
    out.write('{"displayTimeUnit": "ns", "otherData": %s, "traceEvents": [\n' % json.dumps({"run": about}))
    for source in (rows, slices(timeline), arrows(trace), counters(timeline)):
        for row in source:
            out.write((",\n" if number else "") + json.dumps(row))
            number += 1
    out.write("\n]}\n")
    return f"{len(timeline.runs.pid)} runs"
