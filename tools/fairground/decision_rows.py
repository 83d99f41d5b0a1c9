# SPDX-License-Identifier: GPL-2.0-only
"""What the commands `fairground placements` and `fairground balancing` share: options, filters, counts."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from .decision_file import DecisionError
from .option_values import known, parse_time
from .settings import UsageError


class Record(Protocol):
    """What a record must have to be filtered."""

    @property
    def time(self) -> int: ...

    @property
    def rule(self) -> str: ...


T = TypeVar("T", bound=Record)


def options(parser: argparse.ArgumentParser, rules: Iterable[str], cpu: str, task: str, full: str) -> None:
    """The options of such a command. @cpu, @task and @full say what those of these names mean."""
    parser.add_argument("file", nargs="?", default=os.environ.get("FILE") or None,
                        help="JSON lines or a trace.dat; default: $FILE")
    parser.add_argument("--task", metavar="NAME|PID", help=task)
    parser.add_argument("--cpu", dest="on", metavar="CPU", help=cpu)
    parser.add_argument("--rule", metavar="NAME", help=f"only by this rule: {', '.join(rules)}")
    parser.add_argument("--from", dest="start", metavar="TIME", help="not before, for example 500ms")
    parser.add_argument("--to", dest="end", metavar="TIME", help="not after, for example 1.5s")
    parser.add_argument("--limit", metavar="N", help="only the first N that match")
    parser.add_argument("--full", action="store_true", help=full)
    parser.add_argument("--stats", action="store_true", help="how often each rule decided")


def wanted(arguments: argparse.Namespace, rules: Iterable[str], read: Callable[[str], Iterator[T]],
           matches: Callable[[T], bool]) -> Iterator[T]:
    """The records that the options ask for, and that match. Raises UsageError for bad ones, before the first."""
    start, end = parse_time("--from", arguments.start), parse_time("--to", arguments.end)
    for option, text in (("--cpu", arguments.on), ("--limit", arguments.limit)):
        if text is not None and not text.isdecimal():
            raise UsageError(f"{option} {text}: a number is expected")
    known("--rule", arguments.rule and [arguments.rule], set(rules))
    left = int(arguments.limit) if arguments.limit else -1
    for record in read(arguments.file):
        if (not matches(record) or arguments.rule not in (None, record.rule)
                or start is not None and record.time < start or end is not None and record.time > end):
            continue
        if not left:
            return
        left -= 1
        yield record


def shares(what: str, counts: Counter[str], sentences: Mapping[str, str], of: str = "rule") -> Iterator[str]:
    """A table of how often each rule decided, or of another list of names."""
    yield f"{what:>10}  {'share':>6}  {of}"
    for rule, number in counts.most_common():
        yield f"{number:>10}  {100 * number / counts.total():5.1f}%  {sentences.get(rule, rule)}"


def show(arguments: argparse.Namespace, found: Callable[[], Iterator[T]], what: str,
         line: Callable[[T], str], table: Callable[[T], Iterable[str]],
         statistics: Callable[[Sequence[T]], Iterable[str]]) -> int:
    """Prints the records @found, or their statistics. @what one of them is called. Returns the status."""
    if not arguments.file:
        raise UsageError(f"a file of decisions is expected: fairground {arguments.command} FILE (docs/decisions.md)")
    try:
        records = list(found())
    except DecisionError as error:
        print(f"fairground: {arguments.file}: {error}", file=sys.stderr)
        return 2
    if not records:
        print(f"fairground: {arguments.file}: no {what} matches", file=sys.stderr)
        return 2
    for text in statistics(records) if arguments.stats else ():
        print(text)
    for record in () if arguments.stats else records:
        print(line(record))
        for text in table(record) if arguments.full else ():
            print(text)
    return 0
