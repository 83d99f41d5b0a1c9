# SPDX-License-Identifier: GPL-2.0-only
"""Files of decisions, whatever their form, one record after the other. docs/decisions.md describes the forms.

Lines of JSON come from `schedsim --decisions FILE`, the records' own bytes from `schedsim --decisions FILE.bin`, and
events of the system `decision` are in a trace.dat of the kernel or the simulator. The latter two describe themselves:
fields, and the names of rules and policies, come from their formats.

A Shape says how the records of one kind are read; decision_kinds.py has those of all.
"""

import itertools
import json
import os
import re
import shutil
import stat
import struct
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from ..base.errors import FileError, damage
from ..base.printable import printable
from ..machine.image import DAMAGED, Event, Format, TraceError, parse_format, text_of
from ..trace.records import decoder
from ..trace.tracefile import MAGICS, MAGIC_SIZE, TraceFile, lost_number
from .decision_types import Numbers, is_comm, is_name

SCHEMA = "fairground-decisions/4"
SYSTEM, PREFIX = "decision", "sched_decision_"
BINARY_MAGIC, BINARY_VERSION = b"FGDECIDE", 1
BINARY_HEAD, BINARY_EVENT = struct.Struct("<8sII"), struct.Struct("<QHHI")  # time, type, size, CPU
TEXTS = ("comm",)
END = "end"  # the kind of the last line of JSON
ONLY_NUMBERS, ONLY_TEXTS = {int}, {str}
TIME_MAX = (1 << 64) - 1
CPUS_MAX = 1 << 16
HEAD_MAX = 1 << 20  # bytes of the first line

Rows = tuple[tuple[Any, ...], ...]


class DecisionError(FileError):
    """The file holds no decisions that this tool can read. The text is one sentence for the user."""


class NoDecisions(DecisionError):
    """The file is a trace of other events."""


class CutOff(DecisionError):
    """The end of the file is not there. All decisions before that were read."""

    def __init__(self) -> None:
        super().__init__("the file is cut off: its run was killed, or a part of it is lost")


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function from a mapping to the values of @names."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda row: tuple(row[name] for name in names)


def choices_of(texts: Sequence[str]) -> list[str]:
    """The fields, among those that are @texts, that are names of rules, policies or acts."""
    return [name for name in texts if name not in TEXTS]


class _Fields:
    """The fields of a record or a row, and what they can hold."""

    def __init__(self, kind: str, numbers: Sequence[str], texts: Sequence[str]) -> None:
        self._numbers, self._in_range = _getter(numbers), Numbers(kind, numbers).check
        self._texts, self._choices = _getter([*texts]), _getter(choices_of(texts))
        self._comms = _getter([name for name in texts if name in TEXTS])

    def check(self, row: Mapping[str, Any]) -> None:
        """Raises KeyError if a field is missing, TypeError if one is of another type, ValueError with a sentence if
        the field cannot hold its value."""
        numbers = self._numbers(row)
        if not {*map(type, numbers)} <= ONLY_NUMBERS or not {*map(type, self._texts(row))} <= ONLY_TEXTS:
            raise TypeError
        self._in_range(numbers)
        if not all(map(is_name, self._choices(row))):
            raise ValueError("a name of a rule, a policy or an act is expected where there is none")
        if not all(map(is_comm, self._comms(row))):
            raise ValueError("a comm is longer than the name of a task can be, or has control characters")


class Row:
    """How the rows of one list are read: @row is a NamedTuple, its fields in the order of decision.def."""

    def __init__(self, kind: str, row: Any) -> None:
        self.kind, self.make, self.fields = kind, row._make, row._fields
        self._values = _getter(row._fields)
        texts = [name for name, of in row.__annotations__.items() if of is str]
        self.choices = choices_of(texts)
        self._check = _Fields(kind, [name for name, of in row.__annotations__.items() if of is not str], texts).check

    def of_json(self, row: Mapping[str, Any]) -> Any:
        """The row that an object of JSON has. Raises what _Fields.check() does."""
        self._check(row)
        return self.make(self._values(row))


class Shape:
    """How the records of one kind are read: the fields, those of them that are texts, and the lists of rows."""

    def __init__(self, kind: str, fields: Sequence[str], texts: Sequence[str], lists: Mapping[str, Row],
                 make: Callable[[int, str, Rows, Sequence[Any]], Any]) -> None:
        """@make(time, kind, rows, values) makes what is yielded; @lists is in the order of its rows."""
        self.kind, self.fields, self.lists, self.make = kind, fields, lists, make
        self._rows = tuple(lists.items())
        self.choices = choices_of([name for name in fields if name in texts])
        self._values = _getter(fields)
        self._check = _Fields(kind, ["time", *(name for name in fields if name not in texts)],
                              [name for name in fields if name in texts]).check

    def of_json(self, d: Mapping[str, Any]) -> Any:
        """The record that a line of JSON has. Raises what _Fields.check() does."""
        self._check(d)
        rows = tuple(tuple(map(row.of_json, d[name])) for name, row in self._rows)
        return self.make(d["time"], self.kind, rows, self._values(d))


@dataclass(frozen=True)
class Provenance:
    """What run a file tells about."""

    cpus: int
    sched: str                 # the policy, if the file says it once for all
    header: dict[str, Any]     # what run it is, as the first line of JSON has it; a trace.dat says less

    @property
    def text(self) -> str:
        parts = [self.sched, f"{self.cpus} CPU{'s' * (self.cpus != 1)}", str(self.header.get("command", ""))]
        return ", ".join(part for part in parts if part)


class DecisionFile:
    """A file of decisions."""

    provenance: Provenance
    lost = 0          # events that are known to be missing
    unknown = 0       # records of kinds that the last iteration was not asked for
    trace: TraceFile | None = None  # what the file is, if it is one
    copy: Any = None  # of a pipe: the file that was made of it

    def records(self, shapes: Sequence[Shape]) -> Iterator[Any]:
        """Every record of one of @shapes: in order of time, or as the simulator made them. Raises CutOff after the
        last one if the file should go on."""
        raise NotImplementedError

    def names(self, field: str) -> set[str]:
        """The names that the file itself knows for @field of a record."""
        del field
        return set()


def missing(file: DecisionFile, incomplete: int, nr: int, what: str = "decisions lack candidates") -> str:
    """What is known to be missing in @file, "" if nothing: @incomplete of @nr records lack rows, as @what says."""
    parts = [lost_number(file.lost)] if file.lost else []
    if incomplete:
        parts.append(f"{incomplete} of {nr} {what}")
    return " and ".join(parts)


# --- lines of JSON ------------------------------------------------------------------------------------------------


def _header(line: bytes) -> dict[str, Any]:
    """What run a file is of, from its first line."""
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    schema = header.get("schema") if isinstance(header, dict) else None
    if not isinstance(schema, str) or not schema.startswith(SCHEMA.partition("/")[0] + "/"):
        raise DecisionError("this is not a file of decisions: lines of JSON, or a trace.dat, are expected")
    if schema != SCHEMA:
        raise DecisionError(f"the file has schema {schema}, this tool reads {SCHEMA}: take both from one commit")
    return {name: printable(of) if isinstance(of, str) else of for name, of in header.items()}


def _provenance(header: dict[str, Any]) -> Provenance:
    cpus, sched = header.get("cpus"), header.get("sched")
    if type(cpus) is not int or not 0 < cpus <= CPUS_MAX or not isinstance(sched, str):
        raise DecisionError("its first line does not say how many CPUs, or what policy, the run had")
    return Provenance(cpus, sched, header)


def _json(number: int, line: bytes) -> Any:
    """What the @line of this @number has."""
    try:
        return json.loads(line)
    except ValueError as error:
        raise DecisionError(f"line {number} is not a decision") from error
    except RecursionError as error:
        raise DecisionError(f"line {number} is not a decision: its brackets are nested too deeply") from error


class _JsonFile(DecisionFile):
    """The form of schedsim --decisions FILE."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        with open(path, "rb") as f:
            header = _header(f.readline(HEAD_MAX))
        self.provenance = _provenance(header)

    def records(self, shapes: Sequence[Shape]) -> Iterator[Any]:
        by_kind = {shape.kind: shape for shape in shapes}
        self.unknown = 0
        number, ended = 1, False
        with open(self._path, "rb") as f:
            f.readline()
            for number, line in enumerate(f, 2):
                if ended:
                    raise DecisionError(f"line {number} comes after the end of the decisions")
                if not line.endswith(b"\n"):
                    break
                row = _json(number, line)
                if ended := row == {"kind": END, "decisions": number - 2}:
                    continue
                try:
                    if row["kind"] == END:
                        raise DecisionError(f"{row['decisions']} decisions were recorded, {number - 2} are in the file")
                    shape = by_kind.get(row["kind"])
                    record = shape.of_json(row) if shape else None
                except KeyError as error:
                    raise DecisionError(f"line {number} has no field {error.args[0]}") from error
                except TypeError as error:
                    raise DecisionError(f"line {number} is not a decision") from error
                except ValueError as error:
                    raise DecisionError(f"line {number} is not a decision: {error}") from error
                if shape:
                    yield record
                else:
                    self.unknown += 1
        if not ended:
            raise CutOff


# --- events -------------------------------------------------------------------------------------------------------


def symbols(event: Format, field: str) -> dict[int, str]:
    """{number: name} of the field, from the print format of @event."""
    found = re.search(rf"__print_symbolic\(REC->{field},(.*?)\)", event.source, re.DOTALL)
    pairs = re.findall(r'\{ *(\d+|0x[0-9a-f]+), *"([^"]*)" *\}', found[1] if found else "")
    return {int(number, 16 if number.startswith("0x") else 10): name for number, name in pairs}


class _Reader:
    """A function from the bytes of an event to the values of its fields, names for numbers that have some.

    Raises ValueError if the format has no names for a field of @choices.
    """

    def __init__(self, event: Format, fields: Sequence[str], choices: Sequence[str]) -> None:
        self._decode = decoder(event, fields)
        self._texts = [place for place, name in enumerate(fields) if name in TEXTS]
        self._names = [(place, names) for place, name in enumerate(fields) if (names := symbols(event, name))]
        if not set(choices) <= {fields[place] for place, _ in self._names}:
            raise ValueError

    def __call__(self, data: bytes) -> list[Any]:
        values = list(self._decode(data))
        for place in self._texts:
            values[place] = text_of(values[place])
        for place, names in self._names:
            values[place] = names.get(values[place], str(values[place]))
        return values


class _List(NamedTuple):
    """Where rows of an event go: the record's event, the number of its list, and how they are read."""

    record: str
    place: int
    read: _Reader
    make: Callable[[Iterable[Any]], Any]


class EventFile(DecisionFile):
    """Events with formats: each record after its rows, on one CPU. gdb reads a live machine's so."""

    _formats: dict[str, Format]  # of the system decision, by name

    def _events(self, names: set[str]) -> Iterator[Event]:
        raise NotImplementedError

    def names(self, field: str) -> set[str]:
        return {name for event in self._formats.values() for number, name in symbols(event, field).items()
                if number != 255}

    def _rows_of(self) -> set[str]:
        """Events that are rows: the record that comes after them counts them."""
        return {name for name, event in self._formats.items()
                if not any(field.name == "rule" for field in event.fields)}

    def records(self, shapes: Sequence[Shape]) -> Iterator[Any]:
        readable = {PREFIX + shape.kind: shape for shape in shapes if all(
            PREFIX + kind in self._formats for kind in (shape.kind, *(row.kind for row in shape.lists.values())))}
        with damage(DecisionError, DAMAGED):
            readers = {name: _Reader(self._formats[name], shape.fields, shape.choices)
                       for name, shape in readable.items()}
            # Kinds with the same rows share them: whichever comes next has them.
            lists = {PREFIX + row.kind: _List(name, place, _Reader(self._formats[PREFIX + row.kind], row.fields,
                                                                   row.choices), row.make)
                     for name, shape in readable.items() for place, row in enumerate(shape.lists.values())}
        owner = {name: next((lists[PREFIX + row.kind].record for row in shape.lists.values()), name)
                 for name, shape in readable.items()}
        pending: dict[tuple[int, str], tuple[list[Any], ...]] = {}  # by the CPU that recorded them
        self.unknown = 0
        with damage(DecisionError, DAMAGED):
            for event in self._events(set(self._formats) - (self._rows_of() - set(lists))):
                name = event.format.name
                if of := lists.get(name):
                    key = event.cpu, of.record
                    if key not in pending:
                        pending[key] = tuple([] for _ in readable[of.record].lists)
                    pending[key][of.place].append(of.make(of.read(event.data)))
                elif event.time > TIME_MAX:
                    raise ValueError
                elif shape := readable.get(name):
                    rows = pending.pop((event.cpu, owner[name]), ((),) * len(shape.lists))
                    yield shape.make(event.time, shape.kind, tuple(map(tuple, rows)), readers[name](event.data))
                else:
                    self.unknown += 1


OURS = re.compile(r"(?:Fairground|schedsim) (?P<commit>\S+): (?P<sched>\S+); (?P<what>.*)")


def _header_of_trace(about: str) -> dict[str, Any]:
    """What run a trace.dat is of, as far as it says so (trace.about(), report_about())."""
    found = OURS.match(about)
    if not found:
        return {}
    header: dict[str, Any] = {"sched": found["sched"], "commit": found["commit"]}
    hz, command = re.search(r"\bHZ[ =](\d+)", found["what"]), re.search(r"^command: (.*)", about, re.MULTILINE)
    if topology := re.match(r"(\d+ CPUs?, .*?);", found["what"]):
        header["topology"] = topology[1]
    if hz:
        header["hz"] = int(hz[1])
    if command:
        header["command"] = command[1]
    return header


class _TraceDecisions(EventFile):
    """The form of make trace EVENTS='decision:*', and of schedsim --decisions FILE.dat."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.trace = self._trace = trace = TraceFile(path)
        self.lost = trace.lost()
        self._formats = {f.name: f for f in trace.formats.values() if f.system == SYSTEM}
        if not self._formats:
            raise NoDecisions("the trace has no decisions: record it with EVENTS='decision:*'")
        self.provenance = Provenance(trace.cpus, "", _header_of_trace(trace.about))

    def _events(self, names: set[str]) -> Iterator[Event]:
        return self._trace.events(names)


class _BinaryFile(EventFile):
    """The form of schedsim --decisions FILE.bin: the records' own bytes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with open(path, "rb") as f:
            self._data = f.read()
        if len(self._data) < BINARY_HEAD.size:
            raise CutOff
        with damage(DecisionError, "the file is damaged"):
            _, version, size = BINARY_HEAD.unpack_from(self._data)
            if version != BINARY_VERSION:
                raise DecisionError(f"the file has version {version} of this form, this tool reads {BINARY_VERSION}: "
                                    "take both from one commit")
            self._start = BINARY_HEAD.size + size
            if self._start > len(self._data):
                raise CutOff
            line, _, texts = self._data[BINARY_HEAD.size:self._start].decode().partition("\n")
            self.provenance = _provenance(_header(line.encode()))
            events = [parse_format(SYSTEM, text) for text in re.split(r"^(?=name: )", texts, flags=re.MULTILINE)[1:]]
        self._by_id = {event.id: event for event in events}
        self._formats = {event.name: event for event in events}

    def _events(self, names: set[str]) -> Iterator[Event]:
        data, at, nr = self._data, self._start, 0
        for nr in itertools.count():
            if at + BINARY_EVENT.size > len(data):
                raise CutOff
            time, number, size, cpu = BINARY_EVENT.unpack_from(data, at)
            at += 8  # an event's offsets count from its type on
            event = self._by_id.get(number)
            if not number or not event or size < 8:
                break
            if at + size > len(data):
                raise CutOff
            if event.name in names:
                yield Event(time, cpu, event, 0, 0, 0, data[at:at + size])
            at += size
        if (time, number, size, cpu) != (nr, 0, 8, 0) or at + size != len(data):
            raise DecisionError("the file is damaged")


# --- any ----------------------------------------------------------------------------------------------------------


def _copy_of_pipe(path: str | os.PathLike[str]) -> Any:
    """What the pipe @path says, as a file that lasts as long as the object that is returned; None: it is no pipe. A
    file of decisions is read more than once."""
    mode = os.stat(path).st_mode
    if stat.S_ISCHR(mode):
        raise DecisionError("this is a terminal or another device: a file or a pipe is expected")
    if not stat.S_ISFIFO(mode):
        return None
    copy = tempfile.NamedTemporaryFile(prefix="fairground-")
    with open(path, "rb") as f:
        shutil.copyfileobj(f, copy)
    copy.flush()
    return copy


def open_file(path: str | os.PathLike[str]) -> DecisionFile:
    """The file or pipe @path, in any form. Raises DecisionError if it holds no decisions, or is cut off."""
    try:
        with damage(DecisionError, "the file is damaged"):
            if copy := _copy_of_pipe(path):
                file = open_file(copy.name)
                file.copy = copy
                return file
            with open(path, "rb") as f:
                start = f.read(max(MAGIC_SIZE, len(BINARY_MAGIC)))
            if not start:
                raise DecisionError("the file is empty")
            if start.startswith(BINARY_MAGIC):
                return _BinaryFile(path)
            return _TraceDecisions(path) if start.startswith(MAGICS) else _JsonFile(path)
    except OSError as error:
        raise DecisionError(error.strerror or str(error)) from error
