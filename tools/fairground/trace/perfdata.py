# SPDX-License-Identifier: GPL-2.0-only
"""Read a perf.data, as `perf sched record` makes them, through `perf script`: the bytes of a trace.dat of the same.

perf prints each sample as a line, with the fields that SCRIPT asks for. The events of FIELDS become records with the
fields that Linux gives them; of every other tracepoint the record has one text, what perf prints of it. perf tells of
lost samples in percent, and not always, so the records that say how many they are are read here.
"""

import mmap
import os
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from ..machine.image import PAGE, PAGE_HEADER, TIME_EXTEND, Format, Statistics, TraceError, parse_format
from . import unpack
from .trace_dat import trace_dat

MAGIC = b"PERFILE2"
SCRIPT = ("perf", "script", "--force", "--header", "--ns", "--fields", "tid,cpu,time,event,trace", "--input")
LINE = re.compile(r"\s*(-?\d+) +\[(\d+)\] +(\d+)\.(\d{9}): +([\w-]+):([\w-]+)(?::\w*)?: ?(.*)")
ABOUT = re.compile(r"# (os release|perf version|nrcpus online|cmdline) : (.*?) *\n")

# By event the fields that perf prints, in order; an event may have one of several forms. A name after a slash is what
# the field is called in Linux's format, where it is called otherwise in the text.
WOKEN, DELAYED = ("comm pid prio target_cpu",), ("comm pid delay",)
FIELDS: Mapping[str, Sequence[str]] = {
    "sched_switch": ("prev_comm prev_pid prev_prio prev_state next_comm next_pid next_prio",),
    "sched_waking": WOKEN, "sched_wakeup": WOKEN, "sched_wakeup_new": WOKEN,
    "sched_migrate_task": ("comm pid prio orig_cpu dest_cpu",),
    "sched_stat_runtime": ("comm pid runtime vruntime", "comm pid runtime"),
    "sched_stat_wait": DELAYED, "sched_stat_sleep": DELAYED, "sched_stat_blocked": DELAYED,
    "sched_stat_iowait": DELAYED,
    "sched_process_fork": ("comm/parent_comm pid/parent_pid child_comm child_pid",),
    "cpu_frequency": ("state cpu_id",), "cpu_idle": ("state cpu_id",),
}
UNSIGNED = ("runtime", "vruntime", "delay")
STATES = "SDTtXZPI"           # of bits 0 to 7 of prev_state
PREEMPTED, GONE = 0x100, 0x10
GAP = (1 << 27) - 1           # ns between two events of a page that need no entry of their own
TEXT_MOST = 2048              # bytes of a text; a record has to fit on a page
COMMON = """format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

"""

# --- the file itself: is it whole, and what was lost ------------------------------------------------------------------

PIPED = 16                                     # bytes of the header that `perf record -o -` writes
HEADER = struct.Struct("<8x8Q4Q")              # of a file: its size, places and sizes of sections, bits of features
LOST, LOST_SAMPLES = 2, 13                     # records that say how many samples are missing,
LOST_AT = {LOST: 16, LOST_SAMPLES: 8}          # and where they do so
TRACING_DATA, AUXTRACE = 66, 71
FOLLOWED = {TRACING_DATA: "<I", AUXTRACE: "<Q"}  # records after which come as many bytes as they say


class _Bytes:
    """The bytes of a perf.data. TraceError where there are none."""

    def __init__(self, data: bytes | mmap.mmap) -> None:
        self.data = data

    def has(self, at: int, size: int) -> None:
        if at + size > len(self.data):
            raise TraceError("the file ends too early")

    def numbers(self, code: str, at: int) -> tuple[int, ...]:
        self.has(at, struct.calcsize(code))
        return struct.unpack_from(code, self.data, at)


def _records_at(file: _Bytes) -> tuple[int, int]:
    """Where the records of @file begin and end."""
    size, = file.numbers("<Q", len(MAGIC))
    if size == PIPED:
        return PIPED, len(file.data)
    if size != HEADER.size:
        raise TraceError("of perf's files only those of little-endian machines, in the second format, can be read")
    _, _, attributes, attributes_size, start, length, _, _, *features = file.numbers(HEADER.format, 0)
    if not length:
        raise TraceError("the recording has no end: perf record was killed, or has not ended yet")
    file.has(attributes, attributes_size)
    file.has(start, length)
    for number in range(sum(map(int.bit_count, features))):
        file.has(*file.numbers("<QQ", start + length + 16 * number))
    return start, start + length


def lost_samples(data: bytes | mmap.mmap) -> int:
    """How many samples the perf.data @data says were lost. TraceError if the file is not whole."""
    file = _Bytes(data)
    at, end = _records_at(file)
    lost = dict.fromkeys(LOST_AT, 0)
    while at < end:
        kind, size = file.numbers("<I2xH", at)
        if size < 8:
            raise TraceError("the file is damaged: a record has no length")
        file.has(at, size)
        if kind in lost:
            lost[kind] += file.numbers("<Q", at + LOST_AT[kind])[0]
        more = file.numbers(FOLLOWED[kind], at + 8)[0] if kind in FOLLOWED else 0
        at += size + -(-more // 8) * 8
    return max(lost.values())  # the kernel tells of what a ring lost, and perf may tell of the same at the end


# --- what perf prints -------------------------------------------------------------------------------------------------


def _pattern(fields: str) -> re.Pattern[str]:
    """What perf prints of an event with @fields."""
    words = []
    for field in fields.split():
        name = field.split("/")[0]
        value = ".*" if name.endswith("comm") else r"\S+" if name == "prev_state" else r"-?\d+(?: \[ns\])?"
        words.append(f"{'==> ' if name == 'next_comm' else ''}{name}=({value})")
    return re.compile(" ".join(words))


def state(letters: str) -> int:
    """The bits of prev_state that are printed as @letters. One of another version of Linux: the task has ended."""
    bits = PREEMPTED if letters.endswith("+") else 0
    for letter in re.findall(r"[A-Za-z]", letters.replace("R", "")):
        bits |= 1 << STATES.index(letter) if letter in STATES else GONE
    return bits


@dataclass
class Shape:
    """How records of an event are made of what perf prints: its format, and its fields, or () if it is one text."""

    format: Format
    names: tuple[str, ...]
    pattern: re.Pattern[str]
    layout: struct.Struct

    def record(self, pid: int, text: str) -> bytes:
        """The record of the event with this @text, by the thread @pid."""
        common = struct.pack("<HBBi", self.format.id, 0, 0, pid)
        if not self.names:
            raw = text.encode()[:TEXT_MOST] + b"\0"
            return common + struct.pack("<HH", len(common) + 4, len(raw)) + raw + bytes(-len(raw) % 4)
        found = self.pattern.fullmatch(text)
        if not found:
            raise TraceError(f"perf prints {self.format.name} in a form that this tool does not know: {text}")
        return common + self.layout.pack(*map(_value, self.names, found.groups()))


def _value(name: str, text: str) -> int | bytes:
    if name.endswith("comm"):
        return text.encode()[:15]
    return state(text) if name == "prev_state" else int(text.removesuffix(" [ns]"))


def _shape(number: int, system: str, name: str, text: str) -> Shape:
    """The Shape with this @number of the event @name, of which the first @text is given."""
    forms = FIELDS.get(name, ())
    form = next((form for form in forms if _pattern(form).fullmatch(text)), forms[0] if forms else "")
    names = tuple(field.split("/")[-1] for field in form.split())
    at, lines, layout = 8, "", "<"
    for field in names:
        kind, code, size, signed = (f"char {field}[16]", "16s", 16, 0) if field.endswith("comm") else (
            f"u64 {field}", "Q", 8, 0) if field in UNSIGNED else (f"s64 {field}", "q", 8, 1)
        lines += f"\tfield:{kind};\toffset:{at};\tsize:{size};\tsigned:{signed};\n"
        at, layout = at + size, layout + code
    lines = lines or "\tfield:__data_loc char[] text;\toffset:8;\tsize:4;\tsigned:0;\n"
    source = f"name: {re.sub('-', '_', name)}\nID: {number}\n{COMMON}{lines}\nprint fmt: \"\"\n"
    return Shape(parse_format(system, source), names, _pattern(form), struct.Struct(layout))


# --- a recording of perf ----------------------------------------------------------------------------------------------


class Recording:
    """What perf prints of a file, as trace_dat() takes it; @lost samples are missing."""

    marker_ip = 0

    def __init__(self, lines: IO[str], lost: int) -> None:
        self.formats: dict[int, Format] = {}
        self._shapes: dict[tuple[str, str], Shape] = {}
        self._events: dict[int, list[tuple[int, bytes]]] = {}  # by CPU: (time in ns, record)
        self._names: dict[int, str] = {}
        self._lost = lost
        about: dict[str, str] = {}
        for line in lines:
            if sample := LINE.match(line):
                self._add(*sample.groups())
            elif found := ABOUT.match(line):
                about[found[1]] = found[2]
        if not self._events:
            raise TraceError("the file has no samples of tracepoints: record it with perf sched record")
        for events in self._events.values():
            events.sort(key=lambda event: event[0])
        self.cpus = max(int(about.get("nrcpus online", 1)), max(self._events) + 1)
        self.texts = {"trace_clock": "perf", "header_page": "", "header_event": "", "uname":
                      f"Linux {about.get('os release', '?')}, recorded by perf {about.get('perf version', '?')}: "
                      f"{about.get('cmdline', '?')}"}

    def _add(self, pid: str, cpu: str, seconds: str, ns: str, system: str, name: str, text: str) -> None:
        shape = self._shapes.get((system, name))
        if not shape:
            shape = self._shapes[system, name] = _shape(len(self._shapes) + 1, system, name, text)
            self.formats[shape.format.id] = shape.format
        record = shape.record(int(pid), text)
        self._events.setdefault(int(cpu), []).append((int(seconds + ns), record))

    def comms(self) -> dict[int, str]:
        return {}  # events have names beside their threads

    def statistics(self, cpu: int) -> Statistics:
        """Lost samples are counted for CPU 0: the file does not tell of which CPU each is."""
        return Statistics(len(self._events.get(cpu, ())), 0, 0 if cpu else self._lost)

    def pages(self, cpu: int) -> Iterator[bytes]:
        """The events of @cpu on pages as the ring has them."""
        page, begin, before = bytearray(), 0, 0
        for time, record in self._events.get(cpu, ()):
            if PAGE_HEADER.size + len(page) + 16 + len(record) > PAGE:
                yield _page(begin, page)
                page = bytearray()
            begin, before = (begin, before) if page else (time, time)
            gap, before = time - before, time
            if gap >> 27:
                page += struct.pack("<II", TIME_EXTEND | (gap & GAP) << 5, gap >> 27)
                gap = 0
            page += struct.pack("<II", gap << 5, len(record) + 4) + record
        if page:
            yield _page(begin, page)


def _page(begin: int, entries: bytearray) -> bytes:
    return (PAGE_HEADER.pack(begin, len(entries)) + entries).ljust(PAGE, b"\0")


def as_trace_dat(path: str | os.PathLike[str], data: bytes | mmap.mmap) -> bytes:
    """The bytes of a trace.dat with the events of the perf.data at @path, whose bytes are @data."""
    lost = lost_samples(data)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as out:
        try:
            unpack.run([*SCRIPT, os.path.abspath(path)], path, stdout=out, stderr=subprocess.PIPE,
                       env={**os.environ, "LC_ALL": "C", "PERF_CONFIG": os.devnull})
        except FileNotFoundError as error:
            raise TraceError("the file is a perf.data, for which perf is needed (apt-get install linux-perf, or sh "
                             "tools/setup.sh --for test)") from error
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").split("\n")
            why = next((line.strip() for line in reversed(said) if line.strip()), f"status {error.returncode}")
            raise TraceError(f"the file is a perf.data, and perf cannot read it: {why}") from error
        out.seek(0)
        return trace_dat(Recording(out, lost))
