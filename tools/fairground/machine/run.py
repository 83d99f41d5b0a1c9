# SPDX-License-Identifier: GPL-2.0-only
"""fairground run: boot the machine, with the terminal as its console if there is one."""

import argparse
import dataclasses
import shutil
import sys

from .. import result
from ..base.settings import Settings
from ..trace import top
from ..words import Command
from . import demo_picture
from .machine import Machine, Outcome

COMMAND = Command("run", machine=True, built="image", examples=(
    ("", "the demonstration, and a shell if there is a terminal"),
    ("--smp 1 --icount 1 --cmd 'hog -N 0,5 -t 1s'", "one command; its status is the status"),
    ("--monitor /dev/shm/machine", "top --attach /dev/shm/machine looks at it meanwhile"),
))


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def finish(outcome: Outcome) -> int:
    if outcome.problem:
        sys.stdout.flush()
        print(f"fairground: {outcome.problem}", file=sys.stderr)
    return outcome.status


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--monitor", metavar="FILE",
                        help="keep the machine's memory in this new file, for top --attach FILE")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """boot and run CMD, or the demonstration, or a shell if there is a terminal"""
    interactive = sys.stdin.isatty() and not settings.cmd
    if not settings.cmd and settings.kvm != "1" and "icount" not in settings.given:
        settings = dataclasses.replace(settings, icount=True)  # emulated CPUs run as the host lets them: no exact table
    if interactive:
        columns, rows = shutil.get_terminal_size()
        settings = dataclasses.replace(settings, append=f"rows={rows} cols={columns} {settings.append}".strip())
    with top.monitored(dataclasses.replace(settings, interactive=interactive), arguments.monitor) as how, \
            Machine(how) as machine:
        write(machine.header() + "\n")
        outcome = machine.interact() if interactive else machine.run(write)
        picture = "" if settings.cmd else demo_picture.save(outcome.console, settings.build)
        if picture:
            write(f"The demonstration's picture is {picture}" + ("\n" if interactive else f"\n{demo_picture.TO_TRY}\n"))
        result.tell([], result.of_settings(settings), [{**outcome.as_row(), "picture": picture or None}])
        return finish(outcome)
