# SPDX-License-Identifier: GPL-2.0-only
"""Read a trace.dat (version 6): `make trace` and the simulator write such files, and trace-cmd records them on Linux.

This is the counterpart of trace.py. It gives the same Events as image.Image, from a file instead of the memory.
"""

import heapq
import mmap
import os
import re
import struct
from collections.abc import Collection, Iterator

from .image import (COMMIT_MASK, LOST_EVENTS, LOST_STORED, PAGE_HEADER, Event, Format, TraceError, parse_format,
                    split_page)

MAGIC = b"\x17\x08\x44tracing"
OPTIONS, RECORDS = b"options  \0", b"flyrecord\0"
OPTION_END = 0


class _Reader:
    """A position in the bytes of a file."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self.data):
            raise TraceError("the file ends too early")
        return self.data[self.at - size:self.at]

    def number(self, code: str) -> int:
        return int(struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0])

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


class TraceFile:
    """The trace in the file @path."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with open(path, "rb") as f:
            try:
                data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError as error:
                raise TraceError("the file is empty") from error
        reader = _Reader(data)
        self._data = data
        self.formats: dict[int, Format] = {}
        self.page_size = self._header(reader)
        self._formats(reader)
        reader.sized("I")  # symbols
        reader.sized("I")  # texts of trace_printk()
        self._names = reader.sized("Q")
        self.cpus = reader.number("I")
        self._options(reader)
        self._where = [struct.unpack("<QQ", reader.take(16)) for _ in range(self.cpus)]

    @staticmethod
    def _header(reader: _Reader) -> int:
        if reader.take(len(MAGIC)) != MAGIC:
            raise TraceError("this is not a trace.dat file")
        version = reader.string().decode(errors="replace")
        if version != "6":
            raise TraceError(f"the file has version {version}; trace-cmd convert --file-version 6 makes it readable")
        if reader.take(2) != b"\0\x08":
            raise TraceError("only traces of little-endian 64-bit machines can be read")
        size = reader.number("I")
        reader.expect(b"header_page\0", "page header")
        reader.sized("Q")
        reader.expect(b"header_event\0", "event header")
        reader.sized("Q")
        return size

    def _formats(self, reader: _Reader) -> None:
        self._system("ftrace", reader)
        for _ in range(reader.number("I")):
            self._system(reader.string().decode(), reader)

    def _system(self, name: str, reader: _Reader) -> None:
        for _ in range(reader.number("I")):
            event = parse_format(name, reader.sized("Q"))
            self.formats[event.id] = event

    @staticmethod
    def _options(reader: _Reader) -> None:
        mark = reader.take(len(OPTIONS))
        if mark == OPTIONS:
            while reader.number("H") != OPTION_END:
                reader.sized("I")
            mark = reader.take(len(RECORDS))
        if mark != RECORDS:
            raise TraceError("there are no records where they are expected")

    def comms(self) -> dict[int, str]:
        """Names of threads by id."""
        lines = (line.partition(" ") for line in self._names.splitlines())
        return {int(tid): comm for tid, _, comm in lines if re.fullmatch(r"-?\d+", tid)}

    def _pages(self, cpu: int) -> Iterator[bytes]:
        start, size = self._where[cpu]
        if start + size > len(self._data):
            raise TraceError("the file ends too early")
        for at in range(start, start + size, self.page_size):
            yield self._data[at:at + self.page_size]

    def lost(self) -> int:
        """How many events are known to be missing. They were overwritten before they could be saved."""
        return sum(self._lost(page) for cpu in range(self.cpus) for page in self._pages(cpu))

    @staticmethod
    def _lost(page: bytes) -> int:
        _, commit = PAGE_HEADER.unpack_from(page)
        if not commit & LOST_EVENTS:
            return 0
        if not commit & LOST_STORED:
            return 1  # at least
        return struct.unpack_from("<Q", page, PAGE_HEADER.size + (commit & COMMIT_MASK))[0]

    def events(self, names: Collection[str] | None = None) -> Iterator[Event]:
        """Yield every Event, or those with one of @names, in order of time; at equal times the lower CPU first."""
        wanted = {i for i, f in self.formats.items() if names is None or f.name in names}
        by_cpu = (self._cpu_events(cpu, wanted) for cpu in range(self.cpus))
        yield from heapq.merge(*by_cpu, key=lambda e: (e.time, e.cpu))

    def _cpu_events(self, cpu: int, wanted: set[int]) -> Iterator[Event]:
        for page in self._pages(cpu):
            for time, payload, _ in split_page(page):
                kind, flags, preempt_count, pid = struct.unpack_from("<HBBi", payload)
                if kind in wanted:
                    yield Event(time, cpu, self.formats[kind], flags, preempt_count, pid, payload)
