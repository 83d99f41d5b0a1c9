# SPDX-License-Identifier: GPL-2.0-only
"""Records that come with rows, in either form of a file of decisions: placements.py and balancing.py read them.

A record is a line of JSON that has lists of rows; in a trace.dat the rows are events of their own, before the record
and on its CPU. A NamedTuple names the fields of a row, in the order of decision.def.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from .decision_filter import known, parse_time
from .decisions import DAMAGE, PREFIX, SYSTEM, TEXTS, DecisionError, open_decisions, symbols
from .image import Format, TraceError
from .records import decoder, text_of
from .settings import UsageError
from .tracefile import TraceFile

Rows = dict[str, tuple[Any, ...]]


class Shape(NamedTuple):
    """What a kind of record has."""

    kind: str                                 # "select"
    fields: Sequence[str]
    lists: Mapping[str, tuple[str, Any]]      # {name of the list: (kind of its rows, their NamedTuple)}


class _Reader:
    """A function from the bytes of an event to the values of its fields, names for numbers that have some."""

    def __init__(self, event: Format, fields: Sequence[str]) -> None:
        self._decode = decoder(event, fields)
        self._texts = [place for place, name in enumerate(fields) if name in TEXTS]
        self._names = [(place, names) for place, name in enumerate(fields) if (names := symbols(event, name))]

    def __call__(self, data: bytes) -> list[Any]:
        values = list(self._decode(data))
        for place in self._texts:
            values[place] = text_of(values[place])
        for place, names in self._names:
            values[place] = names.get(values[place], str(values[place]))
        return values


def _from_json(path: str, shape: Shape) -> Iterator[tuple[int, Rows, Sequence[Any]]]:
    with open(path, "rb") as f:
        for number, line in enumerate(f, 1):
            found = json.loads(line)
            if found.get("kind") != shape.kind:
                continue
            try:
                rows = {name: tuple(row._make(item[field] for field in row._fields) for item in found[name])
                        for name, (_, row) in shape.lists.items()}
                yield found["time"], rows, [found[name] for name in shape.fields]
            except (KeyError, TypeError) as error:
                raise DecisionError(f"line {number} is not whole") from error


def _from_trace(trace: TraceFile, shape: Shape) -> Iterator[tuple[int, Rows, Sequence[Any]]]:
    formats = {f.name: f for f in trace.formats.values() if f.system == SYSTEM}
    lists = {PREFIX + kind: (name, row) for name, (kind, row) in shape.lists.items()}
    if not {PREFIX + shape.kind, *lists} <= set(formats):
        return
    readers = {event: _Reader(formats[event], row._fields) for event, (_, row) in lists.items()}
    record = _Reader(formats[PREFIX + shape.kind], shape.fields)
    pending: dict[int, Rows] = {}  # by the CPU that recorded them
    for event in trace.events({PREFIX + shape.kind, *lists}):
        rows = pending.setdefault(event.cpu, dict.fromkeys(shape.lists, ()))
        if event.format.name in lists:
            name, row = lists[event.format.name]
            rows[name] += (row._make(readers[event.format.name](event.data)),)
            continue
        yield event.time, pending.pop(event.cpu), record(event.data)


def read_rows(path: str, shape: Shape) -> Iterator[tuple[int, Rows, Sequence[Any]]]:
    """(time, {list: rows}, values of the fields) of every record of the file @path.

    Raises DecisionError if it is no good file of decisions.
    """
    trace = open_decisions(path).trace
    try:
        yield from _from_trace(trace, shape) if trace else _from_json(path, shape)
    except (TraceError, *DAMAGE) as error:
        raise DecisionError(f"the file is damaged: {error}") from error


# --- a command that prints them -------------------------------------------------------------------------------------


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
