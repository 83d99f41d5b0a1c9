# SPDX-License-Identifier: GPL-2.0-only
"""What the commands `fairground placements` and `fairground balancing` share: options, filters, counts."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from ..base.errors import reading
from ..base.option_values import U16, U64, known, parse_number, parse_time, ranges
from ..base.settings import UsageError
from .decision_file import CutOff, DecisionError, Shape, missing, open_file

NAMES_SHOWN = 12


class Record(Protocol):
    """What a record must have to be filtered."""

    @property
    def time(self) -> int: ...

    @property
    def rule(self) -> str: ...


T = TypeVar("T", bound=Record)


class Kind(NamedTuple, Generic[T]):
    """The records that such a command is about."""

    what: str                                     # one of them is called
    shapes: tuple[Shape, ...]
    rules: Collection[str]                        # that may decide
    cpu: Callable[[T], int]                       # for --cpu
    tasks: Callable[[T], Iterable[tuple[str, int]]]  # for --task: names and pids
    whole: Callable[[T], bool]                    # are all rows there that were recorded?
    line: Callable[[T], str]
    table: Callable[[T], Iterable[str]]
    statistics: Callable[[Sequence[T]], Iterable[str]]


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


class Filter(Generic[T]):
    """What the options say. Raises UsageError for bad ones."""

    def __init__(self, arguments: argparse.Namespace, kind: Kind[T], matches: Callable[[T], bool]) -> None:
        """@matches: what else must be true of a record."""
        self._kind, self._matches = kind, matches
        self.start, self.end = parse_time("--from", arguments.start), parse_time("--to", arguments.end)
        if self.start is not None and self.end is not None and self.end < self.start:
            raise UsageError(f"--to {arguments.end}: this is before --from {arguments.start}")
        self.cpu = None if arguments.on is None else parse_number("--cpu", arguments.on, 0, U16)
        self.limit = None if arguments.limit is None else parse_number("--limit", arguments.limit, 1, U64)
        known("--rule", arguments.rule and [arguments.rule], kind.rules)
        self.rule, self.task = arguments.rule, arguments.task

    def accepts(self, record: T) -> bool:
        return (self.rule in (None, record.rule) and self.cpu in (None, self._kind.cpu(record))
                and (self.start is None or record.time >= self.start) and (self.end is None or record.time <= self.end)
                and (self.task is None or any(self.task in (comm, str(pid)) for comm, pid in self._kind.tasks(record)))
                and self._matches(record))


class _Seen(Generic[T]):
    """What a file has, for the sentence that a filter matched nothing."""

    def __init__(self, kind: Kind[T]) -> None:
        self._kind = kind
        self.cpus: set[int] = set()
        self.names: set[str] = set()
        self.rules: set[str] = set()
        self.times: list[int] = []
        self.nr = self.incomplete = 0

    def add(self, record: T) -> None:
        self.nr += 1
        self.incomplete += not self._kind.whole(record)
        self.cpus.add(self._kind.cpu(record))
        self.names.update(comm for comm, _ in self._kind.tasks(record))
        self.rules.add(record.rule)
        self.times = [min([*self.times, record.time]), max([*self.times, record.time])]

    @property
    def text(self) -> str:
        names = sorted(self.names)
        about = f", about {', '.join(names[:NAMES_SHOWN])}{' ...' * (len(names) > NAMES_SHOWN)}" if names else ""
        return (f"no {self._kind.what} matches; there are {self.nr} from {self.times[0] / 1e6:.3f} to "
                f"{self.times[-1] / 1e6:.3f} ms, on CPUs {ranges(self.cpus)}, by the rules "
                f"{', '.join(sorted(self.rules))}{about}")


def shares(what: str, counts: Counter[str], sentences: Mapping[str, str], of: str = "rule") -> Iterator[str]:
    """A table of how often each rule decided, or of another list of names."""
    yield f"{what:>10}  {'share':>6}  {of}"
    for rule, number in counts.most_common():
        yield f"{number:>10}  {100 * number / counts.total():5.1f}%  {sentences.get(rule, rule)}"


def _find(arguments: argparse.Namespace, kind: Kind[T], wanted: Filter[T]) -> tuple[list[T], str, str]:
    """(the records that are wanted, what is known to be missing, a sentence if the file is cut off). Raises
    DecisionError if there are none."""
    file, seen, found, cut = open_file(arguments.file), _Seen(kind), [], ""
    try:
        for record in file.records(kind.shapes):
            seen.add(record)
            if wanted.accepts(record):
                found.append(record)
            if len(found) == wanted.limit:
                break
    except CutOff as error:
        cut = str(error)
    if not found:
        none = seen.text if seen.nr else f"it has no {kind.what}"
        raise DecisionError("; ".join(filter(None, (cut, none))))
    return found, missing(file, seen.incomplete, seen.nr, f"{kind.what}s lack rows"), cut


def show(arguments: argparse.Namespace, kind: Kind[T], matches: Callable[[T], bool] = lambda record: True) -> int:
    """Prints the records of @kind that the options ask for and that match, or their statistics. Returns the status."""
    if not arguments.file:
        raise UsageError(f"a file of decisions is expected: fairground {arguments.command} FILE (docs/decisions.md)")
    wanted = Filter(arguments, kind, matches)
    with reading(arguments.file, DecisionError):
        records, lacking, cut = _find(arguments, kind, wanted)
    for text in kind.statistics(records) if arguments.stats else ():
        print(text)
    for record in () if arguments.stats else records:
        print(kind.line(record))
        for text in kind.table(record) if arguments.full else ():
            print(text)
    sys.stdout.flush()
    for text in filter(None, (lacking, cut)):
        print(f"fairground: {arguments.file}: {text}", file=sys.stderr)
    return 2 if cut else 0
