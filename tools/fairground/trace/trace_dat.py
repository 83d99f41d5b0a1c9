# SPDX-License-Identifier: GPL-2.0-only
"""Write a trace.dat for trace-cmd and KernelShark.

The format is version 6, which every reader knows: texts (page header, event formats, symbols, names), options, a table
of where each CPU's data is, and the data. The data are ring buffer pages as the kernel wrote them. Nothing of the host
goes into the file, so identical runs give identical files.
"""

import struct
from collections.abc import Iterator
from typing import Protocol

from ..machine.image import PAGE, Format, Statistics

OPTION_CPUSTAT, OPTION_TRACECLOCK, OPTION_UNAME, OPTION_CPUCOUNT, OPTION_VERSION = 2, 4, 5, 8, 9


class Recording(Protocol):
    """What is written: the memory of a machine (image.Image), or what another tool recorded."""

    cpus: int
    texts: dict[str, str]
    formats: dict[int, Format]
    marker_ip: int

    def statistics(self, cpu: int) -> Statistics:
        """How many events of @cpu there are, and were lost."""

    def pages(self, cpu: int) -> Iterator[bytes]:
        """The ring's pages of @cpu, oldest first."""

    def comms(self) -> dict[int, str]:
        """Names of threads by id."""


def _sized(text: str, code: str) -> bytes:
    data = text.encode()
    return struct.pack(code, len(data)) + data


def _options(image: Recording, about_run: str) -> bytes:
    """Options are u16 id, u32 size, data; id 0 ends them."""
    options = [(OPTION_TRACECLOCK, image.texts["trace_clock"]), (OPTION_UNAME, image.texts["uname"])]
    if about_run:
        options.append((OPTION_VERSION, about_run))
    for cpu in range(image.cpus):
        found = image.statistics(cpu)
        options.append((OPTION_CPUSTAT, f"CPU: {cpu}\nentries: 0\noverrun: {found.overwritten}\n"
                        f"dropped events: {found.dropped}\nread events: {found.held}\n"))
    packed = [(number, text.encode() + b"\0") for number, text in options]
    packed.append((OPTION_CPUCOUNT, struct.pack("<I", image.cpus)))
    return b"".join(struct.pack("<HI", number, len(data)) + data for number, data in packed) + struct.pack("<H", 0)


def _formats(image: Recording) -> bytes:
    """The formats: first those of the ftrace system, then every other system with its name."""
    by_system: dict[str, list[bytes]] = {}
    for event in image.formats.values():
        by_system.setdefault(event.system, []).append(_sized(event.source, "<Q"))
    own = by_system.pop("ftrace", [])
    out = struct.pack("<I", len(own)) + b"".join(own) + struct.pack("<I", len(by_system))
    for system, formats in by_system.items():
        out += system.encode() + b"\0" + struct.pack("<I", len(formats)) + b"".join(formats)
    return out


def trace_dat(image: Recording, about_run: str = "") -> bytes:
    """The bytes of a trace.dat with everything that @image holds. @about_run says what run it is."""
    symbols = f"{image.marker_ip:016x} T tracing_mark_write\n"
    names = "".join(f"{tid} {comm}\n" for tid, comm in sorted(image.comms().items()))
    head = b"".join((
        b"\x17\x08\x44tracing6\0", struct.pack("<BBI", 0, 8, PAGE),  # little-endian, 8-byte longs
        b"header_page\0", _sized(image.texts["header_page"], "<Q"),
        b"header_event\0", _sized(image.texts["header_event"], "<Q"),
        _formats(image), _sized(symbols, "<I"), _sized("", "<I"), _sized(names, "<Q"),
        struct.pack("<I", image.cpus), b"options  \0", _options(image, about_run), b"flyrecord\0"))
    data = [b"".join(image.pages(cpu)) for cpu in range(image.cpus)]
    at = -(-(len(head) + 16 * image.cpus) // PAGE) * PAGE
    table = b""
    for pages in data:
        table += struct.pack("<QQ", at, len(pages))
        at += len(pages)
    return (head + table).ljust(-(-(len(head) + len(table)) // PAGE) * PAGE, b"\0") + b"".join(data)
