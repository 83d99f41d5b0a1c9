# SPDX-License-Identifier: GPL-2.0-only
"""A cell of a sweep on the kernel: it boots under ICOUNT=1, and the metrics of `compare` are taken from its trace.

Counted are the threads that were started while the cell's command ran. So the shell and process 1 are not.
"""

import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.settings import Settings, make_settings
from ..machine.image import Event, event_values
from ..machine.linux_trace import record_on_linux
from ..trace.latency import Wait, latencies
from ..trace.record import RecordError, run_recorded
from ..trace.timeline import EVENTS, SWITCH
from ..trace.tracefile import TraceFile
from .sweep_worker import place, spent_s

FORK, NEW, MIGRATION = "sched_process_fork", "sched_wakeup_new", "sched_migrate_task"
RECORDED = (*EVENTS, FORK, MIGRATION)
WORST = 0.99


def quantile(values: Sequence[int], part: float) -> int:
    """The least of @values that @part of all do not exceed; 0 of none."""
    return sorted(values)[max(0, -int(-part * len(values) // 1) - 1)] if values else 0


def worst(waits: Sequence[Wait], names: Mapping[int, str]) -> float:
    """The 99th percentile of @waits in ms, of the tasks of that name for which it is largest."""
    by_name = defaultdict(list)
    for wait in waits:
        by_name[names[wait.pid]].append(wait.end - wait.start)
    return max((quantile(each, WORST) for each in by_name.values()), default=0) / 1e6


def started(values: Mapping[str, Sequence[Mapping[str, Any]]]) -> set[int]:
    """The tasks that a trace saw start; it may tell that by their first wakeup alone."""
    return {fork["child_pid"] for fork in values[FORK]} or {new["pid"] for new in values[NEW]}


def metrics(events: Sequence[Event], everybody: bool = False) -> dict[str, float]:
    """The metrics of compare that a trace tells; it does not know the ideal share, nor who was allowed where.
    @everybody: of all tasks, not of those that were started meanwhile."""
    values = {name: [event_values(e) for e in events if e.format.name == name] for name in (FORK, NEW, MIGRATION)}
    found = latencies(e for e in events if e.format.name in EVENTS)
    ours = set(found.tasks) if everybody else started(values)
    waits = [wait for wait in found.waits if wait.pid in ours]
    names = {pid: task.comm for pid, task in found.tasks.items()}
    return {"wait_ms": sum(wait.end - wait.start for wait in waits) / len(waits) / 1e6 if waits else 0.0,
            "wait_p99_ms": worst(waits, names), "wake_p99_ms": worst([wait for wait in waits if wait.woken], names),
            "done_ms": sum(task.run_ns for pid, task in found.tasks.items() if pid in ours) / 1e6,
            "switches": sum(e.format.name == SWITCH for e in events),
            "migrations": sum(each["pid"] in ours for each in values[MIGRATION])}


def run_machines(image: Mapping[str, bytes], texts: Mapping[str, str],
                 command: str) -> tuple[list[dict[str, float]], float]:
    """The metrics of @command on the machine with the settings @texts, as a batch of one, and the seconds of a
    processor that it took. @image: the kernel and its initramfs."""
    before = spent_s()
    return [measure(make_settings(texts, build=place(image)), command)], spent_s() - before


def measure(settings: Settings, command: str) -> dict[str, float]:
    """The metrics of @command on the machine with @settings."""
    return measured(lambda out, events: run_recorded(settings, command, out, ",".join(events)))


def measure_on_linux(release: str, settings: Settings, command: str) -> dict[str, float]:
    """The metrics of @command on Debian's kernel @release."""
    return measured(lambda out, events: record_on_linux(settings, release, command, out, events))


def measured(record: Callable[[str, Sequence[str]], object]) -> dict[str, float]:
    """The metrics of what record(file, events) records."""
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        out = os.path.join(directory, "run.dat")
        record(out, [f"sched:{name}" for name in RECORDED])
        found = metrics(list(TraceFile(out).events(RECORDED)))
    if not found["done_ms"]:
        raise RecordError("the command started no process")
    return found
