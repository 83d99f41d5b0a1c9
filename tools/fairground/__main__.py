# SPDX-License-Identifier: GPL-2.0-only
"""Boot, measure, trace, draw and compare: the one command of Fairground (docs/command.md)."""

import argparse
import contextlib
import errno
import importlib
import io
import os
import signal
import sys
from collections.abc import Collection, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

from . import developer, result
from .base import names, tree
from .base.errors import InputError
from .base.expect import Missing
from .base.folded import Folded
from .base.printable import printable
from .base.settings import PARSERS, UsageError, from_environment
from .helps import leaves, show_examples
from .machine.machine import STATUS_NOT_STARTED, STATUS_PANIC, STATUS_TIMEOUT, stop_all
from .machine.qemu import QemuError
from .words import COMMANDS, PROGRAMS, SCRIPTS, Command, read

STATUSES = {0: "done, and what was claimed holds", 1: "a claim, a comparison or a cell failed, or the machine panicked",
            2: "bad input, or output that cannot be written: one sentence says which",
            STATUS_TIMEOUT: "the machine took longer than TIMEOUT",
            STATUS_NOT_STARTED: "a program, a file of the build or a scheduler is missing",
            128 + signal.SIGINT: "Ctrl-C; finished parts are kept"}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MORE_STATUSES = "run: otherwise the status of CMD in the machine."


def module_of(command: str) -> ModuleType:
    return importlib.import_module(f".{COMMANDS[command]}", __package__)


def add_options(command: Command, sub: argparse.ArgumentParser) -> None:
    """Give @sub the options of @command, and its examples."""
    for setting in PARSERS if command.machine else ():
        sub.add_argument(f"--{setting}", metavar=setting.upper(), help=f"default: ${setting.upper()}")
    getattr(module_of(command.name), "options", lambda _: None)(sub)
    if not command.no_object:
        for leaf in leaves(sub):
            result.option(leaf)
    show_examples(sub, command.name, command.examples)


def make_parser(commands_wanted: Collection[str] = COMMANDS, loaded: bool = True) -> argparse.ArgumentParser:
    """The parser of these commands, with their options and examples if they are @loaded."""
    statuses = "\n".join(f"  {number:<4} {meaning}" for number, meaning in STATUSES.items())
    parser = argparse.ArgumentParser(prog="fairground", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=f"for those who work on the project:\n{developer.help_text()}\n\n"
                                            f"exit status:\n{statuses}\n  {MORE_STATUSES}")
    parser.add_argument("--build", default=tree.build(), help="build directory; default: $B or build")
    parser.add_argument("--version", action="version", version=f"fairground {tree.version()}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in commands_wanted:
        command, what = read(name)
        sub = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        if loaded:
            add_options(command, sub)
    return parser


def options_first(words: Sequence[str]) -> int:
    """How many of @words come before the one that says what is to be done."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] == "--build" else 1
    return at


def wanted(words: Sequence[str]) -> Collection[str]:
    """The command that @words name, alone; all commands if they name none. Raises UsageError for another word."""
    at = options_first(words)
    if at >= len(words) or "_ARGCOMPLETE" in os.environ:
        return COMMANDS
    if words[at] in COMMANDS:
        return words[at:at + 1]
    meant = names.nearest(words[at], [*COMMANDS, *PROGRAMS])
    raise UsageError(f"no command is called {words[at]}" + (f"; is {meant} meant?" if meant else "")
                     + " (fairground --help, make help)")


def check_place(word: str, part: str) -> None:
    """Refuse what an installed package cannot do outside of a tree: @word needs this @part of it."""
    if not (tree.ROOT / part).exists():
        raise UsageError(f"{word} needs the project's tree: change to it, or name it in $FAIRGROUND_TREE")


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


def hold_standard_files() -> None:
    """What is closed must not become another file's number, and is missed by those who write there."""
    while (held := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(held)
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")
    if sys.stderr.isatty() and isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = Folded(sys.stderr.buffer, sys.stderr.encoding, sys.stderr.errors, line_buffering=True, waits=False)


@contextlib.contextmanager
def checked_output() -> Iterator[None]:
    """Within, sys.stdout is an Output. All that was printed is written when it ends, even by an exception."""
    usual = sys.stdout
    if not isinstance(usual, io.TextIOWrapper):  # a program of Python's brought something else
        yield
        return
    file = io.BufferedWriter(Output(usual.fileno(), "w", closefd=False))
    errors = "backslashreplace" if usual.errors == "strict" else usual.errors
    form = Folded if usual.isatty() else io.TextIOWrapper
    sys.stdout = form(file, usual.encoding, errors, line_buffering=usual.line_buffering,
                      write_through=usual.write_through)
    try:
        try:
            yield
        finally:
            if isinstance(sys.stdout, Folded):
                sys.stdout.end()
            sys.stdout.flush()
    except (BrokenPipeError, OutputError):
        # Without this, Python 3.13 complains again when it drops what was not written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), usual.fileno())
        raise
    finally:
        sys.stdout = usual


def run_command(words: Sequence[str]) -> int:
    """Run one command; returns its status."""
    commands = wanted(words)
    parser = make_parser(commands, loaded=commands is not COMMANDS or "_ARGCOMPLETE" in os.environ)
    if "_ARGCOMPLETE" in os.environ:
        module_of("completion").complete(parser)
    arguments = parser.parse_args(words)
    command, _ = read(arguments.command)
    check_place(command.name, command.tree)
    settings = from_environment({name: getattr(arguments, name, None) for name in PARSERS}, build=arguments.build)
    as_object = not command.no_object and arguments.json
    with result.only_object(as_object, words):
        return int(module_of(command.name).main(settings, arguments))


def run_program(words: Sequence[str], at: int) -> int:
    """Run the program of the developer's word that is the one @at of @words; returns its status."""
    parser = argparse.ArgumentParser(prog="fairground")
    parser.add_argument("--build", default=tree.build())
    build = parser.parse_args(words[:at]).build
    check_place(words[at], SCRIPTS)
    return developer.run(words[at], words[at + 1:], build)


def main(words: list[str] | None = None) -> int:
    """Run one command or program; returns its status. Any thread may call it: signals are not touched."""
    words = sys.argv[1:] if words is None else words
    at = options_first(words)
    try:
        return run_program(words, at) if words[at:] and words[at] in PROGRAMS else run_command(words)
    except InputError as error:
        print(f"fairground: {printable(str(error))}", file=sys.stderr)
        return 2
    except Missing as error:
        print(f"fairground: {error}", file=sys.stderr)
        return STATUS_PANIC
    except QemuError as error:
        print(f"fairground: {error}", file=sys.stderr)
        return STATUS_NOT_STARTED
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # of the output
        raise
    except OSError as error:  # the host's: no room, no permission
        name = f"{error.filename}: " if error.filename else ""
        place = f"; $TMPDIR is {os.environ.get('TMPDIR', '/tmp')}" if not name and error.errno in NO_ROOM else ""
        print(f"fairground: {name}{error.strerror or error}{place}", file=sys.stderr)
        return 2


def program() -> int:
    """The program `fairground`: main(), and signals end it in order."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, end)
    hold_standard_files()
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
