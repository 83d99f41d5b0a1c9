# SPDX-License-Identifier: GPL-2.0-only
"""fairground run: boot the machine, with the terminal as its console if there is one.

At a terminal the demonstration is a run without one, so that it shows what it shows everywhere: no size of a terminal
and no pause before a key is part of it. A key ends it. The shell has a machine of its own.
"""

import argparse
import dataclasses
import os
import re
import select
import shutil
import sys

from .. import result
from ..base.progress import Line, Waiting
from ..base.settings import Settings
from ..trace import top
from ..words import Command
from . import demo_picture
from .machine import Machine, Outcome
from .terminal import keys_at_once

COMMAND = Command("run", machine=True, built="image", examples=(
    ("", "the demonstration, and a shell if there is a terminal"),
    ("--smp 1 --icount 1 --cmd 'hog -N 0,5 -t 1s'", "one command; its status is the status"),
    ("--monitor /dev/shm/machine", "top --attach /dev/shm/machine looks at it meanwhile"),
))

DAY_S = 86400
KEYS = 4096  # bytes that are thrown away with the key that ends the demonstration
GREETING = """
Try    hog -N 0,5,10 -t 2s                           shares and waits by nice value
       cat /sys/kernel/debug/sched/debug             every runqueue
       echo eevdf > /sys/kernel/debug/sched/fair_class    another scheduler
Leave  exit; Ctrl-A X ends the machine at once
"""
SHELL = f"cat <<'END'\n{GREETING}END\n[ -x /bin/bash ] && exec /bin/bash -l; exec /bin/sh -l"
PART = re.compile(r"^(\d)\. ", re.MULTILINE)


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def finish(outcome: Outcome) -> int:
    if outcome.problem:
        sys.stdout.flush()
        print(f"fairground: {outcome.problem}", file=sys.stderr)
    return outcome.status


class KeyPressed(Exception):
    """The user wants the shell, not the rest of the demonstration."""


class Watched:
    """Passes the console of the demonstration on, says in which part it is, and looks for a key."""

    def __init__(self) -> None:
        self._waiting = Waiting("the machine boots")

    def __call__(self, text: str) -> None:
        if select.select([sys.stdin], [], [], 0)[0]:
            os.read(sys.stdin.fileno(), KEYS)
            raise KeyPressed
        if not text:
            self._waiting.tick()
            return
        Line.show("")
        write(text)
        for part in PART.findall(text):
            self._waiting = Waiting(f"part {part} of 4: it is measured; any key gives a shell")


def demonstrate(settings: Settings, monitor: str | None) -> Outcome | None:
    """The demonstration on the terminal; None if a key ended it."""
    with top.monitored(dataclasses.replace(settings, timeout=DAY_S), monitor) as how, Machine(how) as machine, \
            keys_at_once():
        write(f"{machine.header()}\nAny key gives a shell at once.\n")
        try:
            return machine.run(Watched())
        except KeyPressed:
            return None
        finally:
            Line.show("")


def shell(settings: Settings, monitor: str | None) -> Outcome:
    columns, rows = shutil.get_terminal_size()
    append = f"rows={rows} cols={columns} {settings.append}".strip()
    with top.monitored(dataclasses.replace(settings, append=append, cmd=SHELL, interactive=True), monitor) as how, \
            Machine(how) as machine:
        return machine.interact()


def without_terminal(settings: Settings, monitor: str | None) -> Outcome:
    with top.monitored(settings, monitor) as how, Machine(how) as machine:
        write(machine.header() + "\n")
        return machine.run(write)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--monitor", metavar="FILE",
                        help="keep the machine's memory in this new file, for top --attach FILE")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """boot and run CMD, or the demonstration, or a shell if there is a terminal"""
    interactive = sys.stdin.isatty() and not settings.cmd
    if not settings.cmd and settings.kvm != "1" and "icount" not in settings.given:
        settings = dataclasses.replace(settings, icount=True)  # emulated CPUs run as the host lets them: no exact table
    outcome = (demonstrate if interactive else without_terminal)(settings, arguments.monitor)
    picture = demo_picture.save(outcome.console, settings.build) if outcome and not settings.cmd else ""
    if picture:
        write(f"The demonstration's picture is {picture}\n")
    if picture and not interactive:
        write(demo_picture.TO_TRY.format(other="cfs" if settings.sched == "eevdf" else "eevdf"))
    if interactive and not (outcome and outcome.problem):
        outcome = shell(settings, arguments.monitor)
    assert outcome
    result.tell([], result.of_settings(settings), [{**outcome.as_row(), "picture": picture or None}])
    return finish(outcome)
