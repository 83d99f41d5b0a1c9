# SPDX-License-Identifier: GPL-2.0-only
"""Read a trace.dat: `make trace` and the simulator write such files, and trace-cmd records them on Linux.

This is the counterpart of trace_dat.py. It gives the same Events as image.Image, from a file instead of the memory. The
traced machine may have 32 bits or the big end first; all numbers of the file are as it stores them. Version 6 is read
here. Version 7, which trace-cmd writes unless told otherwise, and compresses, is first turned into it
by trace-cmd itself, and a perf.data by perfdata.py.
"""

import heapq
import mmap
import os
import re
import struct
import subprocess
import tempfile
from collections.abc import Collection, Iterator

from ..base.errors import damage
from ..base.printable import printable
from ..base.progress import Progress
from ..machine.image import (COMMIT_MASK, DAMAGED, LOST_EVENTS, LOST_STORED, Event, Format, Layout, TraceError,
                             parse_format, split_page)
from . import perfdata, unpack

MAGIC = b"\x17\x08\x44tracing"
MAGICS = (MAGIC, perfdata.MAGIC)
MAGIC_SIZE = max(map(len, MAGICS))  # so many bytes of a file tell whether it is a trace
LEAVES = 1 << 20  # bytes of the file that leave this machine's memory at once when they have been read
ORDERS = (b"\0", b"\1")  # little end first, big end first
COMMIT_SIZE = re.compile(r"field: *local_t commit;\s*offset:\d+;\s*size:([48]);")
OPTIONS, RECORDS = b"options  \0", b"flyrecord\0"
OPTION_END, OPTION_CPUSTAT, OPTION_UNAME, OPTION_VERSION = 0, 2, 5, 9
LOST = re.compile(r"^(CPU|overrun|dropped events): ([0-9]{1,20})$", re.MULTILINE)
OURS = re.compile(r"(?:Fairground|schedsim) ")


def run_lines(path: str | os.PathLike[str], about: str) -> list[str]:
    """The lines that say which run is in the trace @path: @about, what the trace says of it, after the file's name."""
    return f"{os.path.basename(path)}: {about}".split("\n") if about else []


class Lost(int):
    """How many events are missing. @at_least: a gap of which no number is recorded counts as one of them."""

    at_least: bool

    def __new__(cls, number: int = 0, at_least: bool = False) -> "Lost":
        self = super().__new__(cls, number)
        self.at_least = at_least
        return self

    def __add__(self, other: int) -> "Lost":
        return Lost(int(self) + int(other), self.at_least or getattr(other, "at_least", False))

    __radd__ = __add__


def lost_text(lost: int, what: str = "this") -> str:
    """What is told of @lost events, "" of none: @what is printed of the others."""
    return f"{lost_number(lost)}; {what} is about the rest" if lost else ""


def lost_number(lost: int) -> str:
    """How many events are missing."""
    least = "at least " if getattr(lost, "at_least", False) else ""
    were, they = ("event was", "it") if lost == 1 else ("events were", "they")
    return f"{least}{lost} {were} lost before {they} could be saved"


def no_wakeups(wakeups: int, unknown: int) -> str:
    """What is told of a trace with so many @wakeups and @unknown waits after a sleep; "" if there are wakeups."""
    return "" if wakeups or not unknown else (
        f"the trace has no sched_wakeup: waits after a sleep are unknown, {unknown} of them, and only those after a "
        "preemption are counted")


class _Reader:
    """A position in the bytes of a file."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self.data, self.at, self.order = data, 0, "<"

    def take(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self.data):
            raise TraceError("the file ends too early")
        return self.data[self.at - size:self.at]

    def number(self, code: str) -> int:
        return int(struct.unpack(self.order + code, self.take(struct.calcsize("<" + code)))[0])

    def string(self) -> bytes:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise TraceError("the file ends too early")
        return self.take(end + 1 - self.at)[:-1]

    def sized(self, code: str) -> str:
        return self.take(self.number(code)).decode(errors="replace")

    def expect(self, mark: bytes, what: str) -> None:
        if self.take(len(mark)) != mark:
            raise TraceError(f"there is no {what} where one is expected")


def _map(path: str | os.PathLike[str]) -> mmap.mmap:
    with open(path, "rb") as f:
        try:
            return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise TraceError("the file is empty") from error


def _as_version_6(path: str | os.PathLike[str], version: str) -> mmap.mmap:
    """The bytes of the file @path of another @version, as version 6 would have them."""
    with tempfile.TemporaryDirectory(prefix="fairground-") as directory:
        plain = os.path.join(directory, "trace.dat")
        words = ["trace-cmd", "convert", "--file-version", "6", "--compression", "none", "-i", path, "-o", plain]
        try:
            unpack.run(words, path, capture_output=True)
            return _map(plain)
        except FileNotFoundError as error:
            raise TraceError(f"the file has version {version}, for which trace-cmd is needed (sh tools/setup.sh "
                             "--for traces, or install the package trace-cmd)") from error
        except subprocess.CalledProcessError as error:
            raise TraceError(f"the file has version {version}, and trace-cmd cannot read it: it is damaged, or of a "
                             "newer trace-cmd than the one here") from error


def _version(reader: _Reader) -> str:
    if not MAGIC.startswith(reader.data[:len(MAGIC)]):
        raise TraceError("this is not a trace.dat file, nor a perf.data")
    reader.take(len(MAGIC))
    return reader.string().decode(errors="replace")


def _read(path: str | os.PathLike[str]) -> bytes | mmap.mmap:
    """The bytes of the trace in the file @path, as version 6 has them."""
    data = _map(path)
    if data[:len(perfdata.MAGIC)] == perfdata.MAGIC:
        return perfdata.as_trace_dat(path, data)
    version = _version(_Reader(data))
    return data if version == "6" else _as_version_6(path, version)


class TraceFile:
    """The trace in the file @path: a trace.dat, or a perf.data."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path, self._data = path, _read(path)
        self.formats: dict[int, Format] = {}
        with damage(TraceError, DAMAGED):
            self._parse(_Reader(self._data))

    def _parse(self, reader: _Reader) -> None:
        _version(reader)
        self.page_size, self._layout = self._header(reader)
        self._formats(reader)
        reader.sized("I")  # symbols
        reader.sized("I")  # texts of trace_printk()
        self._names = reader.sized("Q")
        self.cpus = reader.number("I")
        self._options = list(self._read_options(reader))
        self._where = [(reader.number("Q"), reader.number("Q")) for _ in range(self.cpus)]

    def as_version_6(self) -> bytes:
        """The bytes of the file, as version 6 has them."""
        return self._data[:]

    @staticmethod
    def _header(reader: _Reader) -> tuple[int, Layout]:
        """The size of a page, and the layout of pages, which a kernel tells in a text; without one, by its `long`."""
        order, long = reader.take(1), reader.take(1)[0]
        if order not in ORDERS or long not in (4, 8):
            raise TraceError("the traced machine has neither 32 nor 64 bits, or its byte order is not known")
        little = order == ORDERS[0]
        reader.order = "<" if little else ">"
        size = reader.number("I")
        reader.expect(b"header_page\0", "page header")
        told = COMMIT_SIZE.search(reader.sized("Q"))
        reader.expect(b"header_event\0", "event header")
        reader.sized("Q")
        return size, Layout(little, int(told[1]) if told else long)

    def _formats(self, reader: _Reader) -> None:
        self._system("ftrace", reader)
        for _ in range(reader.number("I")):
            self._system(reader.string().decode(), reader)

    def _system(self, name: str, reader: _Reader) -> None:
        for _ in range(reader.number("I")):
            event = parse_format(name, reader.sized("Q"), reader.order == "<")
            self.formats[event.id] = event

    @staticmethod
    def _read_options(reader: _Reader) -> Iterator[tuple[int, bytes]]:
        mark = reader.take(len(OPTIONS))
        if mark == OPTIONS:
            while (number := reader.number("H")) != OPTION_END:
                yield number, reader.take(reader.number("I"))
            mark = reader.take(len(RECORDS))
        if mark != RECORDS:
            raise TraceError("there are no records where they are expected")

    def option(self, number: int) -> list[str]:
        """The texts of the options with this @number, which trace-cmd dump --options prints too."""
        texts = [data.split(b"\0")[0].decode(errors="replace") for n, data in self._options if n == number]
        return ["\n".join(map(printable, text.split("\n"))) for text in texts]

    @property
    def about(self) -> str:
        """What run this is: of Fairground a line with commit, policy and machine, and one with the command."""
        version, uname = self.option(OPTION_VERSION), self.option(OPTION_UNAME)
        return version[0] if version and OURS.match(version[0]) else "".join(uname[:1])

    def run_lines(self) -> list[str]:
        """The lines above a table that say which run this is."""
        return run_lines(self._path, self.about)

    def comms(self) -> dict[int, str]:
        """Names of threads by id."""
        lines = (line.partition(" ") for line in self._names.split("\n"))
        return {int(tid): printable(comm) for tid, _, comm in lines if re.fullmatch(r"-?\d+", tid)}

    def _pages(self, cpu: int) -> Iterator[bytes]:
        start, size = self._where[cpu]
        if start + size > len(self._data):
            raise TraceError("the file ends too early")
        for at in range(start, start + size, self.page_size):
            yield self._data[at:at + self.page_size]
            read = at // LEAVES * LEAVES
            if read and at - read < self.page_size and isinstance(self._data, mmap.mmap):
                self._data.madvise(mmap.MADV_DONTNEED, read - LEAVES, LEAVES)

    def lost(self) -> Lost:
        """How many events are known to be missing: overwritten before they could be saved, or dropped for want of
        room."""
        known = [{name: int(number) for name, number in LOST.findall(text)} for text in self.option(OPTION_CPUSTAT)]
        overrun = {of["CPU"]: of.get("overrun", 0) for of in known if "CPU" in of}
        # Pages tell of what was overwritten before them; statistics also of what was before pages that were read.
        with damage(TraceError, DAMAGED):
            return sum((max(sum(map(self._lost, self._pages(cpu)), Lost()), Lost(overrun.get(cpu, 0)))
                        for cpu in range(self.cpus)), Lost(sum(of.get("dropped events", 0) for of in known)))

    def _lost(self, page: bytes) -> Lost:
        _, commit = self._layout.page_header.unpack_from(page)
        if not commit & LOST_EVENTS:
            return Lost()
        if not commit & LOST_STORED:
            return Lost(1, at_least=True)
        at = self._layout.page_header.size + (commit & COMMIT_MASK)
        return Lost(self._layout.lost.unpack_from(page, at)[0])

    def spans(self) -> dict[int, tuple[int, int]]:
        """{CPU: the times of its first and of its last event}, without CPUs that have no events."""
        found = {}
        with damage(TraceError, DAMAGED):
            for cpu in range(self.cpus):
                first = next((time for page in self._pages(cpu)
                              for time, _, _ in split_page(page, self._layout)), None)
                if first is not None:
                    found[cpu] = first, self._last_time(cpu)
        return found

    def _last_time(self, cpu: int) -> int:
        start, size = self._where[cpu]
        for at in reversed(range(start, start + size, self.page_size)):
            times = [time for time, _, _ in split_page(self._data[at:at + self.page_size], self._layout)]
            if times:
                return times[-1]
        return 0

    def events(self, names: Collection[str] | None = None) -> Iterator[Event]:
        """Yield every Event, or those with one of @names, in order of time; at equal times the lower CPU first."""
        wanted = {i for i, f in self.formats.items() if names is None or f.name in names}
        pages = sum(size // self.page_size for _, size in self._where)
        with Progress("pages read", pages) as progress:
            by_cpu = (self._cpu_events(cpu, wanted, progress) for cpu in range(self.cpus))
            with damage(TraceError, DAMAGED):
                yield from heapq.merge(*by_cpu)  # an Event begins with its time and its CPU

    def _cpu_events(self, cpu: int, wanted: set[int], progress: Progress) -> Iterator[Event]:
        for page in self._pages(cpu):
            progress.step()
            for time, payload, _ in split_page(page, self._layout):
                kind, flags, preempt_count, pid = self._layout.common.unpack_from(payload)
                if kind in wanted:
                    yield Event(time, cpu, self.formats[kind], flags, preempt_count, pid, payload)
