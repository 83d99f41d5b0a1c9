# SPDX-License-Identifier: GPL-2.0-only
"""A trace as text, for grep, awk and programs of one's own: an event a line, the fields as tracefs prints them.

    1.004000000 [000] sched_switch: prev_comm=hog prev_pid=3 prev_prio=120 prev_state=R ==> next_comm=burst ...

Times are whole ns, unlike those of `trace-cmd report`. A task that could go on has Linux's `R`, or `R+` if it was amid
kernel code.
"""

from typing import Any, TextIO

from ..machine.image import Event, event_values
from ..trace.tracefile import TraceFile

STATES = "SDTtXZPI"   # of bits 0 to 7 of prev_state; none of them: R
PREEMPTED = 0x100
HEAD = "# time, s    CPU   event: fields"


def state(bits: int) -> str:
    """Linux's letters for @bits of prev_state."""
    letters = "|".join(letter for bit, letter in enumerate(STATES) if bits >> bit & 1) or "R"
    return letters + ("+" if bits & PREEMPTED else "")


def line(event: Event) -> str:
    values: dict[str, Any] = event_values(event)
    words = [f"{name}={state(value) if name == 'prev_state' else value}" for name, value in values.items()]
    if event.format.name == "sched_switch":
        words.insert(next((at for at, word in enumerate(words) if word.startswith("next_")), len(words)), "==>")
    seconds, ns = divmod(event.time, 1_000_000_000)
    return f"{seconds}.{ns:09} [{event.cpu:03}] {event.format.name}: {' '.join(words)}"


def write(out: TextIO, trace: TraceFile) -> str:
    """Write the events of @trace to @out; returns what was written, in words."""
    number = 0
    out.write(f"{HEAD}\n")
    for event in trace.events():
        out.write(f"{line(event)}\n")
        number += 1
    return f"{number} events"
