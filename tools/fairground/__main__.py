# SPDX-License-Identifier: GPL-2.0-only
"""The command line: python3 -m fairground COMMAND [--setting VALUE]..."""

import argparse
import dataclasses
import os
import shutil
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import (agreement, balancing, bench, bench_smp, convert, decision_report, experiment, fidelity,
               first_difference, gdb, graph, latency, placements, repeat, report, scenarios, trace)
from .cpio import ArchiveError
from .expect import Missing
from .lab import command as lab
from .machine import STATUS_NOT_STARTED, STATUS_PANIC, Machine, Outcome, stop_all
from .qemu import QemuError
from .settings import PARSERS, Settings, UsageError, from_environment, trace_file


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def finish(outcome: Outcome) -> int:
    if outcome.problem:
        sys.stdout.flush()
        print(f"fairground: {outcome.problem}", file=sys.stderr)
    return outcome.status


def cmd_run(settings: Settings, _: Any) -> int:
    """boot and run CMD, or the demonstration, or a shell if there is a terminal"""
    interactive = sys.stdin.isatty() and not settings.cmd
    if not settings.cmd and settings.kvm != "1" and "icount" not in settings.given:
        settings = dataclasses.replace(settings, icount=True)  # emulated CPUs run as the host lets them: no exact table
    if interactive:
        columns, rows = shutil.get_terminal_size()
        settings = dataclasses.replace(settings, append=f"rows={rows} cols={columns} {settings.append}".strip())
    with Machine(dataclasses.replace(settings, interactive=interactive)) as machine:
        write(machine.header() + "\n")
        return finish(machine.interact() if interactive else machine.run(write))


def options_of_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default=trace_file(), help="default: $OUT or trace.dat")
    parser.add_argument("--events", default=os.environ.get("EVENTS"),
                        help=f"events to record, as set_event takes them; default: $EVENTS or {trace.EVENTS}")


def options_of_repeat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=3)


def options_of_gdb(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--script", help="run this gdb script instead of a session")


Command = Callable[[Settings, argparse.Namespace], int]

COMMANDS: dict[str, Command] = {
    "run": cmd_run, "bench": bench.main, "bench-smp": bench_smp.main, "trace": trace.main, "repeat": repeat.main,
    "gdb": gdb.main, "latency": latency.main, "experiment": experiment.main, "agreement": agreement.main,
    "scenarios": scenarios.main, "decisions": decision_report.main, "placements": placements.main,
    "balancing": balancing.main, "graph": graph.main, "convert": convert.main, "fidelity": fidelity.main,
    "first-difference": first_difference.main, "report": report.main, "lab": lab.main,
}
OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "bench-smp": bench_smp.options, "trace": options_of_trace, "latency": latency.options,
    "repeat": options_of_repeat, "gdb": options_of_gdb,
    "experiment": experiment.options, "agreement": agreement.options, "scenarios": scenarios.options,
    "decisions": decision_report.options, "placements": placements.options, "balancing": balancing.options,
    "graph": graph.options, "convert": convert.options, "fidelity": fidelity.options,
    "first-difference": first_difference.options, "report": report.options,
    "lab": lab.options,
}
READERS = ("decisions", "placements", "balancing", "graph", "convert", "report",
           "lab")  # they need no machine of the user's


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fairground", description=__doc__)
    parser.add_argument("--build", default=os.environ.get("B", "build"), help="build directory")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in COMMANDS.items():
        sub = commands.add_parser(name, help=(function.__doc__ or "").splitlines()[0])
        for setting in PARSERS if name not in READERS else ():
            sub.add_argument(f"--{setting}", metavar=setting.upper(), help=f"default: ${setting.upper()}")
        OPTIONS.get(name, lambda _: None)(sub)
    return parser.parse_args(words)


def end(number: int, _: FrameType | None) -> None:
    """Leave in order, and at once."""
    stop_all()
    sys.exit(128 + number)


def main(words: list[str] | None = None) -> int:
    """Run one command; returns its status. Any thread may call it: signals are not touched."""
    arguments = parse(words)
    try:
        settings = from_environment({name: getattr(arguments, name, None) for name in PARSERS}, build=arguments.build)
        return COMMANDS[arguments.command](settings, arguments)
    except (UsageError, ArchiveError) as error:
        print(f"fairground: {error}", file=sys.stderr)
        return 2
    except Missing as error:
        print(f"fairground: {error}", file=sys.stderr)
        return STATUS_PANIC
    except QemuError as error:
        print(f"fairground: {error}", file=sys.stderr)
        return STATUS_NOT_STARTED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has seen enough (`make run | head`). Without this, Python complains again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, end)
    sys.exit(main())
