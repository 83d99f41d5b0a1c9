# SPDX-License-Identifier: GPL-2.0-only
"""Run a command on the machine and keep its trace. Experiments and comparisons are made of such runs."""

import os
import sys
import tempfile
from dataclasses import replace

from ..base.settings import Settings
from ..machine.machine import Machine, Outcome, run_batch
from ..machine.scheduler_end import SchedulerEnded
from .trace import about, convert, memory_directory, with_tracing


class RecordError(Exception):
    """The run went wrong or its trace is not complete. The text is one sentence for the user."""


def ended_well(outcome: Outcome, command: str) -> str:
    """The console's text of a run that ended with status 0; any other status is an error: SchedulerEnded if it is that
    of the scheduler."""
    if outcome.scheduler_ended:
        raise SchedulerEnded(outcome.problem)
    if outcome.status:
        sys.stderr.write(outcome.console[-2000:])
        raise RecordError(f"the kernel's run ended with status {outcome.status}: {outcome.problem or command}")
    return outcome.console


def run_unrecorded(settings: Settings, command: str) -> str:
    """Run @command without a trace and return the console's text. For runs too long to record."""
    return ended_well(run_batch(replace(settings, cmd=command)), command)


def run_recorded(settings: Settings, command: str, out: str, events: str) -> str:
    """Run @command, record @events, save the trace as @out, and return the console's text."""
    with tempfile.TemporaryDirectory(prefix="fairground-", dir=memory_directory(settings.mem)) as directory:
        ram = os.path.join(directory, "ram")
        with Machine(with_tracing(replace(settings, cmd=command), ram, events)) as machine:
            console = ended_well(machine.run(), command)
        found = convert(ram, out, about(replace(settings, cmd=command)))
    if lost := found.overwritten + found.dropped:
        raise RecordError(f"{lost} events of {out} were lost; MEM=... gives the tracer more room")
    return console
