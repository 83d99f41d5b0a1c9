# SPDX-License-Identifier: GPL-2.0-only
"""Writes a trace.dat as a machine of another kind would have: 32 or 64 bits, either end first. The events are those of
a trace that is there; this shares no code with the reader but the list of fields."""

import re
import struct
import zlib
from typing import NamedTuple

from fairground.trace.tracefile import TraceFile

PAGE = 4096
FIELD = re.compile(r"field:(.*?);\s*offset:(\d+);\s*size:(\d+);\s*signed:(\d);")
HEADER_PAGE = ("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               "\tfield: local_t commit;\toffset:8;\tsize:{long};\tsigned:1;\n"
               "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
               "\tfield: char data;\toffset:{start};\tsize:{rest};\tsigned:1;\n")


class Machine(NamedTuple):
    """What writes: the order as struct names it, and bytes of a long."""

    order: str
    long: int

    def pack(self, code, *values):
        return struct.pack(self.order + code, *values)

    def sized(self, text, code="Q"):
        return self.pack(code, len(text.encode())) + text.encode()

    def word(self, kind, gap):
        return self.pack("I", kind | gap << 5 if self.order == "<" else kind << 27 | gap)


class Place(NamedTuple):
    """A field where it was, and where it is on the other machine."""

    was: int
    size: int
    now: int
    wide: int
    kind: str  # text, place (of a text of any length), number, or numbers in bytes that are copied


def places_of(machine, event):
    """The fields of @event, and the text of its format on @machine."""
    found, at = [], 0
    def moved(line):
        nonlocal at
        declared, was, size, signed = line[1], *map(int, line.groups()[1:])
        kind = "place" if "__data_loc" in declared else "text" if declared.startswith("char ") else "number"
        wide = machine.long if re.match(r"(unsigned )?long \w+$", declared) else size
        if kind == "number" and size not in (1, 2, 4, 8):
            kind = "bytes"
        align = 1 if kind in ("text", "bytes") else min(wide, machine.long)
        at = -(-at // align) * align
        found.append(Place(was, size, at, wide, kind))
        at += wide
        return f"field:{declared};\toffset:{found[-1].now};\tsize:{wide};\tsigned:{signed};"
    return found, FIELD.sub(moved, event.source)


def record_of(machine, places, data):
    """The record @data of this machine on @machine."""
    end = max(place.now + place.wide for place in places)
    out, tail = bytearray(end + -end % 4), b""
    for place in places:
        raw = data[place.was:place.was + place.size]
        if place.kind == "place":
            where = int.from_bytes(raw, "little")
            text = data[where & 0xffff:(where & 0xffff) + (where >> 16)]
            raw = machine.pack("I", len(out) + len(tail) | len(text) << 16)
            tail += text
        elif place.kind == "number":
            value = int.from_bytes(raw, "little") & (1 << 8 * place.wide) - 1
            raw = value.to_bytes(place.wide, "little" if machine.order == "<" else "big")
        out[place.now:place.now + place.wide] = raw
    return bytes(out) + tail + bytes(-len(tail) % 4)


def pages_of(machine, events, lost):
    """Ring pages with the @events, (time, record) each. @lost: nr of a page -> how many are missing before it, None if
    the page does not tell."""
    flag = {nr: 1 << 31 | (0 if number is None else 1 << 30) for nr, number in lost.items()}
    room = PAGE - 8 - 2 * machine.long
    pages, page, begin, before = [], b"", 0, 0

    def close():
        commit = len(page) | flag.get(len(pages), 0)
        number = lost.get(len(pages)) or 0
        count = "I" if machine.long == 4 else "Q"
        pages.append((machine.pack("Q" + count, begin, commit) + page + machine.pack(count, number)).ljust(PAGE, b"\0"))

    for time, record in events:
        if page and len(page) + len(record) + 16 > room:
            close()
            page = b""
        begin, before = (begin, before) if page else (time, time)
        gap, before = time - before, time
        if gap >> 27:
            page += machine.word(30, gap & (1 << 27) - 1) + machine.pack("I", gap >> 27)
            gap = 0
        small = len(record) <= 112
        page += machine.word(len(record) // 4 if small else 0, gap)
        page += record if small else machine.pack("I", len(record) + 4) + record
    if page:
        close()
    return b"".join(pages)


def trace_dat(path, order="<", long=8, keep=lambda event: True, lost=None):
    """The trace in the file @path as a machine with this @order ("<" or ">") and @long would have written it, with the
    events that @keep lets pass. @lost: as of pages_of(), for CPU 0."""
    trace, machine = TraceFile(path), Machine(order, long)
    events = [event for event in trace.events() if keep(event)]
    kinds = {of.name: of for of in trace.formats.values() if of.system != "ftrace"}
    shapes = {name: places_of(machine, of) for name, of in kinds.items()}
    systems = {}
    for name, of in kinds.items():
        systems.setdefault(of.system, []).append(machine.sized(shapes[name][1]))
    head = b"\x17\x08\x44tracing6\0" + bytes([order == ">", long]) + machine.pack("I", PAGE)
    head += b"header_page\0" + machine.sized(HEADER_PAGE.format(long=long, start=8 + long, rest=PAGE - 8 - long))
    head += b"header_event\0" + machine.sized("") + machine.pack("II", 0, len(systems))
    for name, texts in systems.items():
        head += name.encode() + b"\0" + machine.pack("I", len(texts)) + b"".join(texts)
    head += machine.sized("", "I") * 2
    head += machine.sized("".join(f"{pid} {comm}\n" for pid, comm in trace.comms().items()))
    head += machine.pack("I", trace.cpus) + b"flyrecord\0"
    data = [pages_of(machine, [(event.time, record_of(machine, shapes[event.format.name][0], event.data))
                               for event in events if event.cpu == cpu], (lost or {}) if cpu == 0 else {})
            for cpu in range(trace.cpus)]
    at = first = -(-(len(head) + 16 * trace.cpus) // PAGE) * PAGE
    for pages in data:
        head += machine.pack("QQ", at, len(pages))
        at += len(pages)
    return head.ljust(first, b"\0") + b"".join(data)


# --- version 7, packed by zlib ----------------------------------------------------------------------------------------


def _packed(raw: bytes) -> bytes:
    """@raw as one piece that zlib packed: its size before and after first."""
    packed = zlib.compress(raw)
    return struct.pack("<II", len(packed), len(raw)) + packed


class _Plain:
    """A trace of version 7 that is not packed. A part of it is packed where it lies, and its place keeps its size."""

    def __init__(self, plain: bytes) -> None:
        self.all = bytearray(plain)

    def put(self, at: int, size: int, packed: bytes) -> bool:
        """Put @packed in place of the @size bytes at @at, if there is room for it."""
        if len(packed) <= size:
            self.all[at:at + len(packed)] = packed
        return len(packed) <= size

    def section(self, at: int) -> None:
        size, = struct.unpack_from("<Q", self.all, at + 8)
        if self.put(at + 16, size, _packed(bytes(self.all[at + 16:at + 16 + size]))):
            self.all[at + 2] |= 1

    def buffer(self, option: bytes) -> None:
        """The pages of all CPUs: a number of pieces, here one, and each piece."""
        at, = struct.unpack_from("<Q", option)
        after = option.index(b"\0", option.index(b"\0", 8) + 1) + 1  # name and clock
        number, = struct.unpack_from("<I", option, after + 4)
        for _, start, size in struct.iter_unpack("<IQQ", option[after + 8:after + 8 + 20 * number]):
            piece = _packed(bytes(self.all[start:start + size]))
            assert not size or self.put(start, size, struct.pack("<I", 1) + piece)
        self.all[at + 2] |= 1


def zlib_packed(plain: bytes) -> bytes:
    """The trace @plain, of version 7, as a trace-cmd with zlib writes it. Debian's has none."""
    trace, at = _Plain(plain), plain.index(b"none\0")
    trace.all[at:at + 5] = b"zlib\0"
    options, = struct.unpack_from("<Q", plain, plain.index(b"\0", at + 5) + 1)
    at, size = options + 16, struct.unpack_from("<Q", plain, options + 8)[0]
    while at < options + 16 + size:
        kind, length = struct.unpack_from("<HI", plain, at)
        option = plain[at + 6:at + 6 + length]
        if 16 <= kind <= 21:
            trace.section(struct.unpack("<Q", option)[0])
        elif kind == 3:
            trace.buffer(option)
        at += 6 + length
    trace.section(options)
    return bytes(trace.all)
