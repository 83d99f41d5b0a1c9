# SPDX-License-Identifier: GPL-2.0-only
"""trace.dat for trace-cmd and KernelShark, made from what a run left in the machine's memory.

The format is version 6, which every reader knows: texts (page header, event formats, symbols, names), options, a table
of where each CPU's data is, and the data. The data are ring buffer pages as the kernel wrote them. Nothing of the host
goes into the file, so identical runs give identical files.
"""

import argparse
import os
import re
import shlex
import shutil
import struct
import sys
import tempfile
from dataclasses import replace

from .image import PAGE, Image, Statistics, TraceError, memory_file
from .machine import STATUS_NOT_STARTED, Machine, commit
from .settings import Settings, UsageError

# By default everything but the records of charges and decisions, which would fill the rings.
EVENTS = "*:*,!sched:sched_stat_runtime,!decision:*,!raw_syscalls:*,!task:*"
NO_EVENT = re.compile(r"trace: no event matches (\S+)")  # what the kernel says of trace_event=
OPTION_CPUSTAT, OPTION_TRACECLOCK, OPTION_UNAME, OPTION_CPUCOUNT, OPTION_VERSION = 2, 4, 5, 8, 9


def _sized(text: str, code: str) -> bytes:
    data = text.encode()
    return struct.pack(code, len(data)) + data


def about(settings: Settings) -> str:
    """What run @settings make, and the command that repeats it: the head of pictures. Nothing of the host is in it."""
    s = settings
    command = s.repeat("trace") + (f" CMD={shlex.quote(s.cmd)}" if s.cmd and "cmd" not in s.given else "")
    return (f"Fairground {commit()}: {s.sched}; SMP={s.smp} HZ={s.hz} SEED={s.seed} MEM={s.mem} CPU={s.cpu}"
            f"{' ICOUNT=1' if s.icount else ''}\ncommand: {command}")


def _options(image: Image, about_run: str) -> bytes:
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


def _formats(image: Image) -> bytes:
    """The formats: first those of the ftrace system, then every other system with its name."""
    by_system: dict[str, list[bytes]] = {}
    for event in image.formats.values():
        by_system.setdefault(event.system, []).append(_sized(event.source, "<Q"))
    own = by_system.pop("ftrace")
    out = struct.pack("<I", len(own)) + b"".join(own) + struct.pack("<I", len(by_system))
    for system, formats in by_system.items():
        out += system.encode() + b"\0" + struct.pack("<I", len(formats)) + b"".join(formats)
    return out


def trace_dat(image: Image, about_run: str = "") -> bytes:
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


# --- make trace -------------------------------------------------------------------------------------------------

SHARED_MEMORY = "/dev/shm"


def memory_directory(megabytes: int) -> str:
    """A directory for a file of the guest's size: in RAM if the file fits there twice, otherwise the usual one."""
    try:
        if shutil.disk_usage(SHARED_MEMORY).free >= megabytes << 21:
            return SHARED_MEMORY
    except OSError:
        pass
    return tempfile.gettempdir()


def with_tracing(settings: Settings, ram: str, events: str) -> Settings:
    """@settings, with the memory in the file @ram and with @events recorded from the first switch on.

    The rings together get a quarter of the memory, unless APPEND says trace_buf_size=.
    """
    words = [f"trace_event={events}", f"trace_buf_size={settings.mem * 1024 // 4 // settings.cpus}", settings.append]
    return replace(settings, ram_file=ram, append=" ".join(filter(None, words)))


def convert(ram: str, out: str, about_run: str = "") -> Statistics:
    """Write the trace found in the memory file @ram to @out. Returns the statistics of all CPUs together."""
    image = Image(memory_file(ram))
    data = trace_dat(image, about_run)
    with open(out, "wb") as f:
        f.write(data)
    return Statistics(*map(sum, zip(*(image.statistics(cpu) for cpu in range(image.cpus)))))


def _check_place(path: str) -> None:
    """Refuse, before the run and not after it, a file that cannot be written."""
    directory = os.path.dirname(path) or "."
    if not os.path.isdir(directory):
        raise UsageError(f"OUT={path}: there is no such directory")
    if os.path.isdir(path):
        raise UsageError(f"OUT={path}: this is a directory; the name of a file is expected")
    if not os.access(path if os.path.exists(path) else directory, os.W_OK):
        raise UsageError(f"OUT={path}: it cannot be written")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """run CMD and save what was traced as a trace.dat file for trace-cmd and KernelShark"""
    _check_place(arguments.out)
    with tempfile.TemporaryDirectory(prefix="fairground-", dir=memory_directory(settings.mem)) as directory:
        ram = os.path.join(directory, "ram")
        with Machine(with_tracing(settings, ram, arguments.events or EVENTS)) as machine:
            print(machine.header("trace"), flush=True)
            outcome = machine.run(lambda text: (sys.stdout.write(text), sys.stdout.flush()))
        unknown = NO_EVENT.findall(outcome.console)
        if unknown:
            raise UsageError(f"EVENTS={arguments.events}: no event is called {', '.join(unknown)} (docs/events.md)")
        if outcome.problem:
            print(f"fairground: {outcome.problem}", file=sys.stderr)
        try:
            events = convert(ram, arguments.out, about(settings))
        except (OSError, TraceError) as error:
            print(f"fairground: {arguments.out}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
            return outcome.status or STATUS_NOT_STARTED
    print(f"{arguments.out}: {events.held} events"
          + (f", {events.overwritten} older ones were overwritten" if events.overwritten else "")
          + (f", {events.dropped} later ones found no room" if events.dropped else "")
          + f"; read it with: trace-cmd report {arguments.out}")
    return outcome.status
