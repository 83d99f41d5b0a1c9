"""Run a command on the machine and keep its trace: what experiments and comparisons are made of."""

import os
import sys
import tempfile
from dataclasses import replace

from .machine import Machine
from .trace import convert, memory_directory, with_tracing


class RecordError(Exception):
    """The run went wrong or its trace is not complete. The text is one sentence for the user."""


def run_recorded(settings, command, out, events):
    """Run @command with @events recorded, save the trace as @out. Returns the console's text."""
    with tempfile.TemporaryDirectory(prefix="fairground-", dir=memory_directory(settings.mem)) as directory:
        ram = os.path.join(directory, "ram")
        with Machine(with_tracing(replace(settings, cmd=command), ram, events)) as machine:
            outcome = machine.run()
        if outcome.status:
            sys.stderr.write(outcome.console[-2000:])
            raise RecordError(f"the kernel's run ended with status {outcome.status}: {outcome.problem or command}")
        _, lost = convert(ram, out)
    if lost:
        raise RecordError(f"{lost} events of {out} were lost; MEM=... gives the tracer more room")
    return outcome.console
