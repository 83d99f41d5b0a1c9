# SPDX-License-Identifier: GPL-2.0-only
"""The command `fairground decisions`: print, count and compare decisions (docs/decisions.md).

Nothing is printed before the whole file is known to be good, so a bad file gives one sentence and status 2. Of a file
that is cut off the decisions before that are printed too.
"""

import argparse
import sys
import tempfile
from typing import Any

from ..base.option_values import U64, parse_number
from ..base.printable import printable
from ..base.settings import UsageError
from ..words import Command
from . import decision_filter, decision_text
from .decision_diff import NOTHING, Comparison, Run
from .decision_file import CutOff, DecisionError, DecisionFile, open_file
from .decision_filter import Filter, Seen
from .decision_kinds import SHAPES, Record, has_own_form
from .decision_text import Shares, Statistics
from .fair_decisions import Decision, Groups

COMMAND = Command("decisions", no_object="lines of JSON, for files of any length: decisions.md", examples=(
    ("run.json --kind pick --limit 20", "the first picks"),
    ("run.json --kind pick --limit 20 --narrow", "for a narrow terminal, or a page"),
    ("run.json --stats", "how often each rule"),
    ("run.json --kind select --stats", "which rule chose CPUs, and how often"),
    ("run.json --kind balance --full", "every balancing pass, with all that it compared"),
))

IN_MEMORY = 1 << 24  # more text waits in a file
SAME, DIFFERENT, NOT_COMPARABLE = 0, 1, 2


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="JSON lines or a trace.dat")
    decision_filter.options(parser)
    parser.add_argument("--limit", metavar="N", help="only the first N decisions that match")
    parser.add_argument("--full", action="store_true", help="the candidates of each decision too")
    parser.add_argument("--narrow", action="store_true", help="the line of a decision is folded at 80 columns")
    parser.add_argument("--stats", action="store_true", help="how often each rule decided, and among how many")
    parser.add_argument("--diff", nargs=2, metavar=("A", "B"), help="the first decision that differs between two runs")


def _limit(text: str | None) -> int | None:
    return None if text is None else parse_number("--limit", text, 1, U64)


def _open(path: str) -> DecisionFile:
    try:
        return open_file(path)
    except DecisionError as error:
        raise DecisionError(f"{path}: {error}") from error


def _told(d: Record, apart: bool, arguments: argparse.Namespace, groups: Groups) -> list[str]:
    """The lines for a decision: in its own form if it stands @apart from other kinds, and with its rows if all of it is
    asked for.
    """
    if apart:
        lines = decision_text.own(d, arguments.full)
    else:
        lines = decision_text.full(d, groups.path(d.group)) if arguments.full else [decision_text.line(d)]
    return decision_text.folded(lines[0]) + lines[1:] if arguments.narrow else lines


def _show(path: str, arguments: argparse.Namespace) -> None:
    """Print the decisions of the file @path, or their statistics."""
    file, limit = _open(path), _limit(arguments.limit)
    wanted, seen, groups, matches, cut = Filter(arguments, file), Seen(), Groups(), 0, ""
    apart = has_own_form(wanted.kinds)
    statistics: Shares | Statistics = Shares() if apart else Statistics()
    with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8") as out:
        try:
            for d in file.records(SHAPES):
                seen.add(d)
                if isinstance(d, Decision):
                    groups.add(d)
                if not wanted.accepts(d):
                    continue
                statistics.add(d)
                if not arguments.stats:
                    out.write("\n".join(_told(d, apart, arguments, groups)) + "\n")
                matches += 1
                if matches == limit:
                    break
        except CutOff as error:
            cut = f"{error}; {seen.nr} decisions come before that"
        if not seen.nr:
            raise DecisionError(cut or NOTHING)
        if not matches:
            raise DecisionError("; ".join(filter(None, (cut, f"no decision matches; there are {seen.nr} {seen.text}"))))
        if arguments.stats:
            out.write("\n".join(statistics.table()) + "\n")
        out.seek(0)
        for text in out:
            sys.stdout.write(text)
    sys.stdout.flush()
    unknown = f"{file.unknown} decisions are of a kind that this tool does not know" if file.unknown else ""
    for what in filter(None, (seen.missing(file), unknown)):
        print(f"fairground: {path}: {what}", file=sys.stderr)
    if cut:
        raise DecisionError(cut)


def _diff(paths: list[str], arguments: argparse.Namespace) -> int:
    """Print the first difference between two files."""
    for option in ("limit", "full", "narrow", "stats", "file"):
        if getattr(arguments, option):
            raise UsageError(f"{'' if option == 'file' else '--'}{option} has no meaning beside --diff")
    files = [_open(path) for path in paths]
    wanted = Filter(arguments, *files, kinds=("pick",))
    comparison = Comparison(*(Run(path, file) for path, file in zip(paths, files)))
    comparison.compare(wanted)
    print("\n".join(comparison.report()))
    return DIFFERENT if comparison.differences else SAME


def main(_: Any, arguments: argparse.Namespace) -> int:
    """print, count and compare decisions of the scheduler that kernel or simulator recorded"""
    path = arguments.file
    try:
        if arguments.diff:
            return _diff(arguments.diff, arguments)
        if not path:
            raise UsageError("a file of decisions is expected: fairground decisions FILE (docs/decisions.md)")
        _show(path, arguments)
    except DecisionError as error:
        text = str(error)
        said = text if arguments.diff or text.startswith(f"{path}: ") else f"{path}: {text}"
        print(f"fairground: {printable(said)}", file=sys.stderr)
        return NOT_COMPARABLE
    return 0
