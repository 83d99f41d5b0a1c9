# SPDX-License-Identifier: GPL-2.0-only
"""The costs of the kernel's operations, in the form that the simulator takes (schedsim --cost-*).

The costs are measured under ICOUNT=1, where an instruction is a nanosecond. The events that the experiments record are
switched on, because recording is part of the price there.

    tick      from the entry of the timer's handler to its exit, when it woke nobody
    timer     the same, when it ended a sleep and woke the sleeper
    switch    a sched_yield() that switches, less the price of entering the kernel
"""

import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from ..base.settings import Settings, make_settings
from ..machine.image import Event
from ..trace.record import RecordError, run_recorded
from ..trace.tracefile import TraceFile

COMMAND = "hog -n 2 -a 0 -t 300ms & jitter -i 1000 -l 200 -p 80; wait; bench null_syscall yield_switch"
HANDLERS = "irq_vectors:local_timer_entry,irq_vectors:local_timer_exit"
FEWEST = 50  # samples of each kind; with fewer the median means nothing


def handler_times(events: Iterable[Event]) -> tuple[list[int], list[int]]:
    """How long the timer's handlers took, in ns: first those that woke no task, then those that woke one."""
    quiet: list[int] = []
    waking: list[int] = []
    entered: int | None = None
    woke = False
    for event in events:
        if event.format.name == "local_timer_entry":
            entered, woke = event.time, False
        elif event.format.name == "sched_wakeup":
            woke = True
        elif event.format.name == "local_timer_exit" and entered is not None:
            (waking if woke else quiet).append(event.time - entered)
            entered = None
    return quiet, waking


def calibrate(settings: Settings, events: str) -> dict[str, int]:
    """{cost: ns} in the kernel of @settings while it records @events."""
    how = replace(make_settings({"icount": "1", "kvm": "0", "smp": "1", "seed": str(settings.seed)}),
                  build=settings.build, sched=settings.sched, mem=settings.mem)
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        out = os.path.join(directory, "costs.dat")
        console = run_recorded(how, COMMAND, out, f"{events},{HANDLERS}")
        quiet, waking = handler_times(TraceFile(out).events(
            ("local_timer_entry", "local_timer_exit", "sched_wakeup")))
    prices = dict(re.findall(r"^(\w+) (\d+) ns$", console, re.MULTILINE))
    if min(len(quiet), len(waking)) < FEWEST or len(prices) != 2:
        raise RecordError(f"the costs could not be measured: {len(quiet)} ticks, {len(waking)} timers, {prices}")
    return {"tick": round(median(quiet)), "timer": round(median(waking)),
            "switch": int(prices["yield_switch"]) - int(prices["null_syscall"])}
