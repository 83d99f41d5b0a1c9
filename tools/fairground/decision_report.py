# SPDX-License-Identifier: GPL-2.0-only
"""The command `fairground decisions`: print, count and compare decisions (docs/decisions.md).

Nothing is printed before the whole file is known to be good, so a bad file gives one sentence and status 2.
"""

import argparse
import heapq
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from . import class_decisions, decision_filter, decision_text, quota_decisions
from .class_decisions import ClassDecision
from .decision_diff import NOTHING, Comparison, Run, missing
from .decision_filter import Filter, Seen
from .decisions import Decision, DecisionError, DecisionFile, open_decisions
from .quota_decisions import QuotaDecision
from .settings import UsageError

IN_MEMORY = 1 << 24  # more text waits in a file
SAME, DIFFERENT, NOT_COMPARABLE = 0, 1, 2


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default=os.environ.get("FILE") or None,
                        help="JSON lines or a trace.dat; default: $FILE")
    decision_filter.options(parser)
    parser.add_argument("--limit", metavar="N", help="only the first N decisions that match")
    parser.add_argument("--full", action="store_true", help="the candidates of each decision too")
    parser.add_argument("--stats", action="store_true", help="how often each rule decided, and among how many")
    parser.add_argument("--diff", nargs=2, metavar=("A", "B"), help="the first decision that differs between two runs")


def _limit(text: str | None) -> int | None:
    if text is not None and (not text.isdecimal() or not int(text)):
        raise UsageError(f"--limit {text}: a number from 1 is expected")
    return int(text) if text else None


def _open(path: str) -> DecisionFile:
    try:
        return open_decisions(path)
    except DecisionError as error:
        raise DecisionError(f"{path}: {error}") from error


def _all(path: str, file: DecisionFile) -> Iterable[Decision | ClassDecision | QuotaDecision]:
    """The decisions of fair policies, of the other classes and about quotas, by time."""
    every: tuple[Iterator[Decision | ClassDecision | QuotaDecision], ...] = (
        iter(file), class_decisions.read(path), quota_decisions.read(path))
    return heapq.merge(*every, key=attrgetter("time"))


def _show(path: str, arguments: argparse.Namespace) -> None:
    """Print the decisions of the file @path, or their statistics."""
    file, limit = _open(path), _limit(arguments.limit)
    wanted, seen, statistics, matches, nr = Filter(arguments, file), Seen(), decision_text.Statistics(), 0, 0
    with tempfile.SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8") as out:
        for d in _all(path, file):
            nr += 1
            seen.add(d)
            if not wanted.accepts(d):
                continue
            statistics.add(d)
            if not arguments.stats:
                out.write("\n".join(decision_text.full(d) if arguments.full else [decision_text.line(d)]) + "\n")
            matches += 1
            if matches == limit:
                break
        if not nr:
            raise DecisionError(NOTHING)
        if not matches:
            raise DecisionError(f"no decision matches; there are {nr} {seen.text}")
        if arguments.stats:
            out.write("\n".join(statistics.table()) + "\n")
        out.seek(0)
        for text in out:
            sys.stdout.write(text)
    sys.stdout.flush()
    unknown = f"{file.unknown} decisions are of a kind that this tool does not know" if file.unknown else ""
    for what in filter(None, (missing(file), unknown)):
        print(f"fairground: {path}: {what}", file=sys.stderr)


def _diff(paths: list[str], arguments: argparse.Namespace) -> int:
    """Print the first difference between two files."""
    for option in ("limit", "full", "stats", "file"):
        if getattr(arguments, option) and (option != "file" or arguments.file != os.environ.get("FILE")):
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
        print(f"fairground: {text if arguments.diff or text.startswith(f'{path}: ') else f'{path}: {text}'}",
              file=sys.stderr)
        return NOT_COMPARABLE
    return 0
