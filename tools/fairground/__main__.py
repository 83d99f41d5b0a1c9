# SPDX-License-Identifier: GPL-2.0-only
"""Boot, measure, trace, draw and compare: the one command of Fairground (docs/command.md)."""

import argparse
import contextlib
import dataclasses
import io
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from . import (agreement, all_experiments, balancing, bench, bench_smp, compare, completion, convert, decision_report,
               demo_picture, experiment, fidelity, first_difference, gdb, graph, latency, placements, profile, repeat,
               report, result, scenarios, stat, sweep, switch_map, timehist, top, trace, tree)
from .command_examples import add_examples, leaves
from .cpio import ArchiveError
from .decision_file import DecisionError
from .expect import Missing
from .image import TraceError
from .lab import command as lab
from .machine import STATUS_NOT_STARTED, STATUS_PANIC, STATUS_TIMEOUT, Machine, Outcome, stop_all
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


def cmd_run(settings: Settings, arguments: argparse.Namespace) -> int:
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


def options_of_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--monitor", metavar="FILE", default=os.environ.get("MONITOR"),
                        help="keep the machine's memory in this new file, for top --attach FILE; default: $MONITOR")


def options_of_trace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", default=trace_file(), help="default: $OUT or trace.dat")
    parser.add_argument("--events", default=os.environ.get("EVENTS"),
                        help=f"events to record, as set_event takes them; default: $EVENTS or {trace.EVENTS}")


def options_of_repeat(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=repeat.RUNS)


def options_of_gdb(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--script", help="run this gdb script instead of a session")


Command = Callable[[Settings, argparse.Namespace], int]

COMMANDS: dict[str, Command] = {
    "run": cmd_run, "bench": bench.main, "bench-smp": bench_smp.main, "trace": trace.main, "top": top.main,
    "repeat": repeat.main, "gdb": gdb.main, "latency": latency.main, "timehist": timehist.main,
    "map": switch_map.main, "stat": stat.main, "profile": profile.main, "experiment": experiment.main,
    "experiments": all_experiments.main, "compare": compare.main, "sweep": sweep.main, "agreement": agreement.main,
    "scenarios": scenarios.main, "decisions": decision_report.main, "placements": placements.main,
    "balancing": balancing.main, "graph": graph.main, "convert": convert.main, "fidelity": fidelity.main,
    "first-difference": first_difference.main, "report": report.main, "lab": lab.main,
    "completion": completion.main,
}
OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "run": options_of_run, "bench": bench.options, "bench-smp": bench_smp.options, "trace": options_of_trace,
    "top": top.options, "latency": latency.options,
    "timehist": timehist.options, "map": switch_map.options, "stat": stat.options, "profile": profile.options,
    "repeat": options_of_repeat,
    "gdb": options_of_gdb,
    "experiment": experiment.options, "experiments": all_experiments.options, "compare": compare.options,
    "sweep": sweep.options,
    "agreement": agreement.options, "scenarios": scenarios.options,
    "decisions": decision_report.options, "placements": placements.options, "balancing": balancing.options,
    "graph": graph.options, "convert": convert.options, "fidelity": fidelity.options,
    "first-difference": first_difference.options, "report": report.options,
    "lab": lab.options,
}
READERS = ("timehist", "map", "decisions", "placements", "balancing", "graph", "convert", "report",
           "lab", "completion")  # they need no machine of the user's
# These print no object of rows with --json.
NO_OBJECT = {
    "gdb": "it is a session", "completion": "it prints what a shell runs",
    "lab": "grade --json FILE has the form of Gradescope, class --csv FILE that of a table",
    "top": "it prints a line of JSON for each look, and does not know the last one before the machine ends",
    **dict.fromkeys(("decisions", "placements", "balancing"), "lines of JSON, for files of any length: decisions.md"),
}
# The part of the tree that a command reads, and that an installed package does not have (tree.py).
NEED_TREE = {"gdb": "tools/gdb", "profile": "tools/qemu", "fidelity": "tests/fidelity", "scenarios": "tests/scenarios",
             "lab": "labs"}


STATUSES = {0: "done, and what was claimed holds", 1: "a claim, a comparison or a cell failed, or the machine panicked",
            2: "bad input, or output that cannot be written: one sentence says which",
            STATUS_TIMEOUT: "the machine took longer than TIMEOUT",
            STATUS_NOT_STARTED: "a program, a file of the build or a scheduler is missing",
            128 + signal.SIGINT: "Ctrl-C; finished parts are kept"}
MORE_STATUSES = "run: otherwise the status of CMD in the machine."


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands, with examples."""
    statuses = "\n".join(f"  {number:<4} {meaning}" for number, meaning in STATUSES.items())
    parser = argparse.ArgumentParser(prog="fairground", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=f"exit status:\n{statuses}\n  {MORE_STATUSES}")
    parser.add_argument("--build", default=tree.build(), help="build directory; default: $B or build")
    parser.add_argument("--version", action="version", version=f"fairground {tree.version()}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in COMMANDS.items():
        what = (function.__doc__ or "").splitlines()[0]
        sub = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        for setting in PARSERS if name not in READERS else ():
            sub.add_argument(f"--{setting}", metavar=setting.upper(), help=f"default: ${setting.upper()}")
        OPTIONS.get(name, lambda _: None)(sub)
        if name not in NO_OBJECT:
            for leaf in leaves(sub):
                result.option(leaf)
    add_examples(parser)
    return parser


def check_place(command: str) -> None:
    """Refuse what an installed package cannot do outside of a tree."""
    if not (tree.ROOT / NEED_TREE.get(command, "")).exists():
        raise UsageError(f"{command} needs the project's tree: change to it, or name it in $FAIRGROUND_TREE")


def end(number: int, _: FrameType | None) -> None:
    """Leave in order, and at once."""
    stop_all()
    sys.exit(128 + number)


class OutputError(Exception):
    """What is printed cannot be written. The text is one sentence for the user."""


class Output(io.FileIO):
    """The standard output, so that an error of it is told from those of other files."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"the output cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def checked_output() -> Iterator[None]:
    """Within, sys.stdout is an Output. All that was printed is written when it ends, even by an exception."""
    usual = sys.stdout
    if not isinstance(usual, io.TextIOWrapper):  # it was closed before Python began
        yield
        return
    file = io.BufferedWriter(Output(usual.fileno(), "w", closefd=False))
    errors = "backslashreplace" if usual.errors == "strict" else usual.errors
    sys.stdout = io.TextIOWrapper(file, usual.encoding, errors, line_buffering=usual.line_buffering,
                                  write_through=usual.write_through)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except (BrokenPipeError, OutputError):
        # Without this, Python 3.13 complains again when it drops what was not written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), usual.fileno())
        raise
    finally:
        sys.stdout = usual


def main(words: list[str] | None = None) -> int:
    """Run one command; returns its status. Any thread may call it: signals are not touched."""
    parser = make_parser()
    completion.complete(parser)
    arguments = parser.parse_args(words)
    try:
        check_place(arguments.command)
        settings = from_environment({name: getattr(arguments, name, None) for name in PARSERS}, build=arguments.build)
        wanted = arguments.command not in NO_OBJECT and arguments.json
        with result.only_object(wanted, sys.argv[1:] if words is None else words):
            return COMMANDS[arguments.command](settings, arguments)
    except (UsageError, ArchiveError, TraceError, DecisionError) as error:
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


def program() -> int:
    """The program `fairground`: main(), and signals end it in order."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, end)
    try:
        with checked_output():
            return main()
    except BrokenPipeError:
        return 128 + signal.SIGPIPE  # the reader has seen enough: `make run | head`
    except OutputError as error:
        print(f"fairground: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(program())
