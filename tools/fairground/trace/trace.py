# SPDX-License-Identifier: GPL-2.0-only
"""trace.dat for trace-cmd and KernelShark, made from what a run left in the machine's memory: `make trace`."""

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
from dataclasses import replace

from .. import result
from ..base import whole
from ..base.errors import damage
from ..base.settings import TRACE_FILE, Settings, UsageError, trace_file
from ..machine.image import DAMAGED, Image, Statistics, TraceError, memory_file
from ..machine.machine import STATUS_NOT_STARTED, Machine, Outcome, commit
from ..words import Command
from .trace_dat import trace_dat

COMMAND = Command("trace", machine=True, built="image", examples=(
    ("--icount 1 --cmd 'hack -g 2' --out hack.dat", "for trace-cmd report, KernelShark, fairground graph"),
    ("--cmd 'hog -n 2' --events 'sched:sched_switch decision:*'", "switches, and why"),
))

# By default everything but the records of charges, load averages and decisions, which would fill the rings.
EVENTS = "*:*,!sched:sched_stat_runtime,!pelt:*,!decision:*,!raw_syscalls:*,!task:*"
NO_EVENT = re.compile(r"trace: no event matches (\S+)")  # what the kernel says of trace_event=


def about(settings: Settings, events: str | None = None) -> str:
    """What run @settings and EVENTS=@events make, and the command that repeats it: the head of pictures. Nothing of the
    host is in it."""
    s = settings
    command = s.repeat("trace", events=events)
    if s.cmd and "cmd" not in s.given:
        command += f" CMD={shlex.quote(s.cmd)}"
    return (f"Fairground {commit()}: {s.sched}; SMP={s.smp} HZ={s.hz} SEED={s.seed} MEM={s.mem} CPU={s.cpu}"
            f"{' ICOUNT=1' if s.icount else ''}{f' SHIFT={s.shift}' if s.shift else ''}\ncommand: {command}")


SHARED_MEMORY = "/dev/shm"


def memory_directory(megabytes: int) -> str:
    """A directory for a file of the guest's size: in RAM if the file fits there twice, otherwise the usual one."""
    try:
        if shutil.disk_usage(SHARED_MEMORY).free >= megabytes << 21:
            return SHARED_MEMORY
    except OSError:
        pass
    return tempfile.gettempdir()


def with_tracing(settings: Settings, ram: str, events: str) -> Settings:
    """@settings, with the memory in the file @ram and with @events recorded from the first switch on.

    The rings together get a quarter of the memory, unless APPEND says trace_buf_size=.
    """
    names = ",".join(re.split(r"[,\s]+", events.strip()))  # set_event takes both, the command line no spaces
    words = [f"trace_event={names}", f"trace_buf_size={settings.mem * 1024 // 4 // settings.cpus}", settings.append]
    return replace(settings, ram_file=ram, append=" ".join(filter(None, words)))


def convert(ram: str, out: str, about_run: str = "") -> Statistics:
    """Write the trace found in the memory file @ram to @out. Returns the statistics of all CPUs together."""
    image = Image(memory_file(ram))
    with damage(TraceError, DAMAGED):
        data = trace_dat(image, about_run)
    whole.write(out, data)
    return Statistics(*map(sum, zip(*(image.statistics(cpu) for cpu in range(image.cpus)))))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default=trace_file(), help="default: $OUT or trace.dat")
    parser.add_argument("--events", default=os.environ.get("EVENTS"),
                        help=f"events to record, as set_event takes them; default: $EVENTS or {EVENTS}")


def record(settings: Settings, path: str, wanted: str | None) -> tuple[Outcome, Statistics | None]:
    """Run CMD and save the events @wanted, the usual ones if that is None, in the file @path. Returns how the run
    ended, and what was saved; None if nothing was, which is told."""
    whole.check_place("OUT=", path)
    out = path if path != TRACE_FILE else None
    with tempfile.TemporaryDirectory(prefix="fairground-", dir=memory_directory(settings.mem)) as directory:
        ram = os.path.join(directory, "ram")
        with Machine(with_tracing(settings, ram, wanted or EVENTS)) as machine:
            print(machine.header("trace", events=wanted, out=out), flush=True)
            outcome = machine.run(lambda text: (sys.stdout.write(text), sys.stdout.flush()))
        unknown = NO_EVENT.findall(outcome.console)
        if unknown:
            raise UsageError(f"EVENTS={wanted}: no event is called {', '.join(unknown)} (docs/events.md)")
        if outcome.problem:
            print(f"fairground: {outcome.problem}", file=sys.stderr)
        try:
            return outcome, convert(ram, path, about(settings, wanted))
        except (OSError, TraceError) as error:
            print(f"fairground: {path}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
            return outcome, None


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run CMD and save what was traced as a trace.dat file for trace-cmd and KernelShark"""
    outcome, events = record(settings, arguments.out, arguments.events)
    if not events:
        return outcome.status or STATUS_NOT_STARTED
    said = (f"{arguments.out}: {events.held} events"
            + (f", {events.overwritten} older ones were overwritten" if events.overwritten else "")
            + (f", {events.dropped} later ones found no room" if events.dropped else "")
            + f"; read it with: trace-cmd report {arguments.out}")
    result.tell([said], result.of_settings(settings), [
        {"file": arguments.out, "events": events.held, "overwritten": events.overwritten, "dropped": events.dropped,
         **outcome.as_row()}])
    return outcome.status
