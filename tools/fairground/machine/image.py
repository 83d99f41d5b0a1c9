# SPDX-License-Identifier: GPL-2.0-only
"""Find and decode what the tracer left in the machine's memory.

The guest's RAM is a file that outlives QEMU, so this works after a normal end, a panic or a kill. At physical
address 0x7000 the kernel keeps a header (struct trace_image in kernel/trace/trace.c) that leads to everything
else: one ring of 4096-byte pages per CPU in Linux's ring buffer format (struct ring in kernel/trace/ring.h), the
texts of the `format` files, and the names of threads.

`Image` needs only a function that reads memory: memory_file() for the RAM file. The gdb commands pass one that reads a
live machine.
"""

import heapq
import itertools
import mmap
import re
import struct
from collections import namedtuple
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ..base.errors import FileError, damage
from ..base.expect import expect
from ..base.printable import printable

IMAGE_PA = 0x7000
COMMIT = r"Fairground (.{24}) x86_64"  # in an image and its traces: the name, filled up with blanks
IMAGE = struct.Struct("<8sIIQQQQQQ")
RING = struct.Struct("<15Q")
RING_STRIDE = 128
SLOT = struct.Struct("<QQ")
CMDLINE = struct.Struct("<i16s")
PAGE = 4096
COMMIT_MASK, LOST_EVENTS, LOST_STORED = (1 << 27) - 1, 1 << 31, 1 << 30
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31  # entries that are no events: nothing, and two that move the time
STAMP_BITS = 59  # of a time that are in a TIME_STAMP
PCI_HOLE_END = 1 << 32
DAMAGED = "the trace is damaged"
LOW_RAM_MAX = 2 << 30  # QEMU's q35 puts the rest of the memory above 4 GiB

Read = Callable[[int, int], bytes]  # (physical address, length) -> memory


class Field(NamedTuple):
    """One field of an event's record."""

    name: str
    offset: int
    size: int
    signed: bool
    text: bool


class Format(NamedTuple):
    """An event as its `format` file describes it."""

    system: str
    name: str
    id: int
    fields: tuple[Field, ...]
    source: str
    little: bool = True  # the byte order of records


class Layout:
    """How the machine of a trace stores numbers: a @little end first or the big one, and bytes of a `long`, in which a
    ring counts the bytes of a page."""

    def __init__(self, little: bool = True, long: int = 8) -> None:
        self.little, self.order = little, "<" if little else ">"
        count = {4: "I", 8: "Q"}[long]
        self.page_header = struct.Struct(f"{self.order}Q{count}")
        self.lost = struct.Struct(self.order + count)
        self.word = struct.Struct(self.order + "I")
        self.common = struct.Struct(self.order + "HBBi")  # what each record begins with


class Event(NamedTuple):
    """One recorded event. The time is in ns."""

    time: int
    cpu: int
    format: Format
    flags: int
    preempt_count: int
    pid: int
    data: bytes


Ring = namedtuple("Ring", "page time used written head tail index dropped slots nr_pages mode read lost "
                  "nr_consumed reserved")


class Statistics(NamedTuple):
    """Numbers of events in the ring of a CPU, since it was cleared."""

    held: int         # that pages() holds
    overwritten: int  # before them
    dropped: int      # that found the ring full, with overwrite=0


class TraceError(FileError):
    """There is no trace, or not one that this tool can read. The text is one sentence for the user."""


OURS = Layout()
PAGE_HEADER = OURS.page_header


def parse_format(system: str, source: str, little: bool = True) -> Format:
    """A Format from the text of an event's `format` file, of a machine with this byte order."""
    fields = []
    for line in re.finditer(r"field:(.*?);\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d)", source):
        declaration, offset, size, signed = line[1], *map(int, line.groups()[1:])
        name = re.sub(r"\[.*\]$", "", declaration).split()[-1]
        is_text = declaration.startswith(("char ", "__data_loc char"))
        fields.append(Field(name, offset, size, bool(signed), is_text))
    name, number = expect(r"\Aname: (\w+)\nID: (\d+)\n", source).groups()
    return Format(system, name, int(number), tuple(fields), source, little)


@lru_cache(maxsize=1 << 16)
def text_of(raw: bytes) -> str:
    """The text that @raw begins with, in a line: a task may be called anything."""
    return printable(raw.split(b"\0")[0].decode(errors="replace").removesuffix("\n"))


def field_value(field: Field, data: bytes, little: bool = True) -> int | str:
    """The value of @field in the record @data, of a machine with this byte order: a number or a text."""
    order: Literal["little", "big"] = "little" if little else "big"
    raw = data[field.offset:field.offset + field.size] if field.size else data[field.offset:]
    if not field.text:
        return int.from_bytes(raw, order, signed=field.signed)
    if field.size == 4:  # __data_loc: where the text is
        where = int.from_bytes(raw, order)
        raw = data[where & 0xffff:(where & 0xffff) + (where >> 16)]
    return text_of(raw)


def event_values(event: Event) -> dict[str, Any]:
    """The event's own fields by name, in order."""
    return {f.name: field_value(f, event.data, event.format.little) for f in event.format.fields
            if not f.name.startswith("common_")}


def split_page(page: bytes, layout: Layout = OURS) -> Iterator[tuple[int, bytes, int]]:
    """Yield (time, payload, offset of the next entry) for each event of a ring page of this @layout."""
    time, commit = layout.page_header.unpack_from(page)
    at, end = layout.page_header.size, layout.page_header.size + (commit & COMMIT_MASK)
    read_word, little = layout.word.unpack_from, layout.little
    while at < end:
        word, = read_word(page, at)
        kind, gap = (word & 31, word >> 5) if little else (word >> 27, word & COMMIT_MASK)
        at += 4
        if 0 < kind < PADDING:
            size = kind * 4
        else:
            array, = read_word(page, at)
            at += 4
            if kind == PADDING and not gap:
                return  # nothing is on the rest of the page
            if kind == TIME_STAMP:
                time, gap = time >> STAMP_BITS << STAMP_BITS, array << 27 | gap
            elif kind == TIME_EXTEND:
                gap += array << 27
            size = array - 4
        time += gap
        if kind >= PADDING:
            at += size if kind == PADDING else 0  # an event that was discarded
            continue
        yield time, page[at:at + size], at + size
        at += size


def cut_page(page: bytes, skip: int, lost: int) -> bytes:
    """The page without its first @skip events, padded with zeros. Its header says that @lost events are missing."""
    time, commit = PAGE_HEADER.unpack_from(page)
    start = PAGE_HEADER.size
    for time, _, start in itertools.islice(split_page(page), skip):
        pass
    data = page[start:PAGE_HEADER.size + commit]
    commit = len(data)
    if lost:
        commit |= LOST_EVENTS
        if PAGE_HEADER.size + len(data) + 8 <= PAGE:
            commit |= LOST_STORED
            data += struct.pack("<Q", lost)
    return (PAGE_HEADER.pack(time, commit) + data).ljust(PAGE, b"\0")


class Image:
    """The tracer's memory, read with @read(physical address, length)."""

    def __init__(self, read: Read) -> None:
        self._read = read
        with damage(TraceError, DAMAGED):
            self._read_texts()

    def _read_texts(self) -> None:
        (magic, version, self.cpus, self._direct_map, self._rings, info, self._cmdlines, self._nr_cmdlines,
         self.marker_ip) = IMAGE.unpack(self._read(IMAGE_PA, IMAGE.size))
        if magic.rstrip(b"\0") != b"FGTRACE":
            raise TraceError("no trace in this memory: the kernel did not get as far as starting its tracer")
        if version != 1:
            raise TraceError(f"the trace has layout {version}, this tool knows 1: take both from one commit")
        self.texts: dict[str, str] = {}
        self.formats: dict[int, Format] = {}
        for what, text in self._info(info):
            if text.startswith("name: "):
                event = parse_format(what, text)
                self.formats[event.id] = event
            else:
                self.texts[what] = text

    def _info(self, at: int) -> Iterator[tuple[str, str]]:
        while what := self._string(at):
            text = self._string(at + len(what) + 1)
            yield what, text
            at += len(what) + len(text) + 2

    def _string(self, at: int) -> str:
        data = b""
        while b"\0" not in data:
            data += self._read(at + len(data), 256)
        return data.split(b"\0")[0].decode()

    def _ring(self, cpu: int) -> Ring:
        ring = Ring(*RING.unpack(self._read(self._rings + cpu * RING_STRIDE, RING.size)))
        if not 0 <= ring.head - ring.tail <= 2 * ring.nr_pages:  # a live one may be between two writes
            raise TraceError(DAMAGED)
        return ring

    def _slot(self, ring: Ring, page_nr: int) -> tuple[int, int]:
        at = ring.slots - self._direct_map + page_nr % ring.nr_pages * SLOT.size
        page, first = SLOT.unpack(self._read(at, SLOT.size))
        return page - self._direct_map, first

    def statistics(self, cpu: int) -> Statistics:
        """How many events of @cpu there are, and were lost."""
        ring = self._ring(cpu)
        with damage(TraceError, DAMAGED):
            oldest = max(self._slot(ring, ring.tail)[1], ring.read)
        return Statistics(ring.written - oldest, ring.lost + oldest - ring.read, ring.dropped)

    def pages(self, cpu: int, newest: int | None = None) -> Iterator[bytes]:
        """Yield the ring's pages, oldest first, without events that were read or cleared during the run.

        With @newest, only as many of the last pages as hold that many events.
        """
        ring = self._ring(cpu)
        wanted, start = ring.read, ring.tail
        if newest is not None:
            start = ring.head
            while start > ring.tail and ring.written - self._slot(ring, start)[1] < newest:
                start -= 1
            wanted = max(wanted, self._slot(ring, start)[1])
        for page_nr in range(start, ring.head + 1):
            pa, first = self._slot(ring, page_nr)
            after = self._slot(ring, page_nr + 1)[1] if page_nr < ring.head else ring.written
            if after > wanted:
                yield cut_page(self._read(pa, PAGE), max(wanted - first, 0), max(first - wanted, 0))
                wanted = after

    def started(self) -> bool:
        """Was anything recorded? Before that the rings may have no pages yet."""
        return any(self._ring(cpu).written for cpu in range(self.cpus))

    def news(self, cpu: int, seen: int) -> tuple[list[Event], int, int]:
        """Of a machine that runs: the events of @cpu from number @seen on, the number of the next one, and how many
        between were overwritten before they could be read."""
        ring, lost = self._ring(cpu), 0
        seen = seen if seen <= ring.written else 0  # the guest has replaced or cleared the ring
        start = ring.head
        while start > ring.tail and self._slot(ring, start)[1] > seen:
            start -= 1
        found: list[Event] = []
        for page_nr in range(start, ring.head + 1):
            pa, first = self._slot(ring, page_nr)
            page = self._read(pa, PAGE)
            if self._ring(cpu).tail > page_nr:  # the writer came round, and has or had begun to write there
                continue
            lost += max(first - seen, 0)
            payloads = [(time, payload) for time, payload, _ in split_page(page)]
            for time, payload in payloads[max(seen - first, 0):]:
                kind, flags, preempt_count, pid = struct.unpack_from("<HBBi", payload)
                found.append(Event(time, cpu, self.formats[kind], flags, preempt_count, pid, payload))
            seen = max(seen, first + len(payloads))
        return found, seen, lost

    def events(self, newest: int | None = None) -> Iterator[Event]:
        """Yield every Event in order of time, at equal times the lower CPU first.

        With @newest, only about that many of the last ones of each CPU.
        """
        by_cpu = (self._cpu_events(cpu, newest) for cpu in range(self.cpus))
        with damage(TraceError, DAMAGED):
            yield from heapq.merge(*by_cpu)  # an Event begins with its time and its CPU

    def _cpu_events(self, cpu: int, newest: int | None) -> Iterator[Event]:
        for page in self.pages(cpu, newest):
            for time, payload, _ in split_page(page):
                kind, flags, preempt_count, pid = struct.unpack_from("<HBBi", payload)
                yield Event(time, cpu, self.formats[kind], flags, preempt_count, pid, payload)

    def comms(self) -> dict[int, str]:
        """Names of threads by id."""
        raw = self._read(self._cmdlines, self._nr_cmdlines * CMDLINE.size)
        return {tid: text_of(comm) for tid, comm in CMDLINE.iter_unpack(raw) if tid}


# --- the file that was the machine's memory ----------------------------------------------------------------------


def memory_file(path: str) -> Read:
    """A function that reads physical memory from the RAM file @path of a QEMU q35 machine."""
    with open(path, "rb") as f, damage(TraceError, "the file is empty"):
        ram = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)

    def read(pa: int, length: int) -> bytes:
        offset = pa if pa < PCI_HOLE_END else pa - PCI_HOLE_END + LOW_RAM_MAX
        if offset + length > len(ram):
            raise TraceError(f"the trace refers to memory at {pa:#x}, which the machine did not have")
        return ram[offset:offset + length]

    return read


def commit_in(data: bytes) -> bytes:
    """The name of the commit, with its blanks, in @data, a kernel or what it recorded."""
    return expect(COMMIT, data.decode("latin-1"))[1].encode("latin-1")
