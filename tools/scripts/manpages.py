#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write the manual pages fairground.1 and schedsim.1, from the programs' own helps.

Usage: manpages.py DIRECTORY [SCHEDSIM]    without SCHEDSIM, a simulator that was built, only the first
"""

import argparse
import pathlib
import re
import subprocess
import textwrap
from collections.abc import Iterable, Iterator

import usage
from fairground import __main__ as program
from fairground.base import tree
from fairground.base.names import SETTINGS
from fairground.base.settings import PARSERS
from fairground.helps import parsers

ENVIRONMENT = {"B": "the build directory", "FAIRGROUND_TREE": "the project's tree, for commands that need it",
               "FAIRGROUND_PYTHON": "where Python packages are that the system does not have",
               "OUT": "the trace that is written, or read", "NO_COLOR": "if set: no colours"}
OPTION = re.compile(r"^  (\S+(?: (?!  )\S+)*)(?:  +(.*))?$")


def escaped(text: str) -> str:
    """@text, so that roff prints it as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def head(name: str, what: str) -> list[str]:
    return [f'.TH {name.upper()} 1 "" "Fairground {tree.version()}" "User Commands"', ".SH NAME",
            f"{name} \\- {escaped(what)}", ".ad l", ".nh"]


def item(term: str, text: str) -> list[str]:
    return [".TP", f"\\fB{escaped(term)}\\fR", escaped(text) or "\\&"]


def verbatim(lines: Iterable[str]) -> list[str]:
    return [".nf", *map(escaped, lines), ".fi"]


def filled(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The help of @action with its values in place, as argparse prints it."""
    return parser._get_formatter()._expand_help(action) if action.help else ""


def is_of_machine(action: argparse.Action) -> bool:
    """Is @action one that every command with a machine has?"""
    return action.dest in PARSERS and action.help == f"default: ${action.dest.upper()}"


def machine() -> Iterator[str]:
    """The settings of a machine."""
    yield from (".SH MACHINE", escaped("Options of each command that boots a machine. The variable of the same name in "
                                       "capitals does as well."))
    for name, values, default, what in (row for _, rows in SETTINGS for row in rows if row[0].lower() in PARSERS):
        yield from item(f"--{name.lower()} {values}", what + (f"; default: {default}" if default else ""))


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    if any(map(is_of_machine, parser._actions)):
        yield from (".PP", escaped("It has the options of a machine: see MACHINE."))
    for action in (each for each in parser._actions if not is_of_machine(each)):
        if isinstance(action, (argparse._HelpAction, argparse._SubParsersAction)) or action.help == argparse.SUPPRESS:
            continue
        value = str(action.metavar or (action.choices and "{" + ",".join(map(str, action.choices)) + "}")
                    or action.dest.upper())
        value = "" if action.nargs == 0 else value
        term = ", ".join(f"{name} {value}".strip() for name in action.option_strings) or value
        yield from item(term, filled(parser, action))


def section(path: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """What is said of the command to which the words @path lead."""
    yield f".SS fairground {escaped(path)}"
    yield escaped(" ".join((parser.description or "").split()) or path)
    yield from options_of(parser)
    examples = (parser.epilog or "").partition("examples:\n")[2].splitlines()
    if examples:
        yield from (".PP", "Examples:", *verbatim(examples))


def fairground() -> str:
    top = program.make_parser()
    lines = [*head("fairground", "boot, measure, trace, draw and compare schedulers of CPUs"), ".SH SYNOPSIS",
             "\\fBfairground\\fR [\\-\\-build DIR] COMMAND [OPTIONS]", ".SH DESCRIPTION",
             escaped("Fairground is a small kernel about CPU scheduling, and a simulator of the same scheduler. "
                     "`fairground COMMAND --help` is what stands here of a command."), ".SH COMMANDS"]
    for path, parser in parsers(top):
        if path:
            lines += section(path, parser)
    lines += [*machine(), ".SH EXIT STATUS"]
    for number, meaning in program.STATUSES.items():
        lines += item(str(number), meaning)
    lines += [".PP", escaped(program.MORE_STATUSES), ".SH ENVIRONMENT"]
    for name, what in ENVIRONMENT.items():
        lines += item(name, what)
    return "\n".join([*lines, ".SH SEE ALSO", "schedsim(1), trace\\-cmd(1), perf\\-sched(1)", ""])


def schedsim(path: str) -> str:
    text = subprocess.run([path, "--help"], capture_output=True, text=True, check=True).stdout
    usage_line, _, rest = text.partition("\n")
    lines = [*head("schedsim", "simulate Fairground's scheduler"), ".SH SYNOPSIS",
             escaped(usage_line.removeprefix("usage: ")), ".SH DESCRIPTION"]
    term, said = "", list[str]()

    def close() -> None:
        nonlocal term
        if term:
            lines.extend(item(term, " ".join(said)))
        term = ""
        said.clear()

    for line in rest.splitlines():
        if re.match(r"\w.*:$", line) and len(line) < 20:
            close()
            lines.append(f".SH {escaped(line[:-1].upper())}")
        elif found := OPTION.match(line):
            close()
            term = found[1]
            said += [found[2] or ""]
        elif term and line.startswith("   "):
            said.append(line.strip())
        else:
            close()
            lines += [".PP", escaped(line)] if line.startswith("Keys") else [escaped(line)] if line else [".PP"]
    close()
    return "\n".join([*lines, ".SH SEE ALSO", "fairground(1)", ""])


def write(directory: str, simulator: str = "") -> list[pathlib.Path]:
    """Write the pages into @directory; returns where they are."""
    place = pathlib.Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    pages = {"fairground.1": fairground(), **({"schedsim.1": schedsim(simulator)} if simulator else {})}
    for name, text in pages.items():
        (place / name).write_text(text, encoding="utf-8")
    return [place / name for name in pages]


if __name__ == "__main__":
    words = usage.words(textwrap.dedent(__doc__), 1, 2)
    for page in write(*words):
        print(page)
