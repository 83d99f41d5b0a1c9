# SPDX-License-Identifier: GPL-2.0-only
"""Write a trace in the form of another tool: fairground convert FILE -o NAME (docs/tracing.md)."""

import argparse
import pathlib
import sys
from dataclasses import dataclass
from typing import Any

from .. import result
from ..base import whole
from ..base.errors import reading
from ..base.settings import UsageError
from ..decisions.decision_file import DecisionError, DecisionFile, open_file
from ..forms import chrome, perfetto, table, text
from ..machine.image import TraceError
from ..words import Command
from .timeline import Timeline, missing_events
from .tracefile import TraceFile, lost_text

COMMAND = Command("convert", examples=(
    ("hack.dat -o hack.pftrace", "for ui.perfetto.dev"),
    ("hack.dat -o waits.parquet --table waits", "for pandas.read_parquet()"),
))

FORMS = {".pftrace": "Perfetto's protobuf", ".json": "Chrome's JSON", ".csv": "a table", ".parquet": "a table",
         ".txt": "events as text"}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a trace.dat of Fairground or of Linux, a perf.data, or decisions")
    parser.add_argument("-o", "--output", metavar="NAME", required=True,
                        help="; ".join(f"NAME{suffix}: {what}" for suffix, what in FORMS.items()))
    parser.add_argument("--table", choices=table.TABLES, default="runs",
                        help="; ".join(f"{name}: {what}" for name, what in table.TABLES.items()) + "; default: runs")


@dataclass
class Sources:
    """What the file @path has of the three. Each is None if the file has none of it."""

    path: str
    trace: TraceFile | None = None
    timeline: Timeline | None = None
    decisions: DecisionFile | None = None

    @property
    def about(self) -> str:
        """What run it is."""
        if self.trace:
            return self.trace.about
        assert self.decisions
        return self.decisions.provenance.text

    @property
    def lost(self) -> int:
        return self.trace.lost() if self.trace else 0


def open_sources(path: str) -> Sources:
    """Read the file @path. TraceError with a sentence if it is neither a trace nor decisions."""
    found = Sources(path)
    with reading(path, TraceError):
        try:
            found.trace = TraceFile(path)
        except TraceError as no_trace:
            try:
                found.decisions = open_file(path)
                return found
            except DecisionError as error:
                raise TraceError(f"{no_trace}; nor does it hold decisions: {error}") from error
        names = {f.name for f in found.trace.formats.values()}
        found.timeline = None if missing_events(found.trace) else Timeline(found.trace)
        found.decisions = open_file(path) if "sched_decision_candidate" in names else None
    return found


def need(have: object, path: str, what: str) -> None:
    if have is None:
        raise TraceError(f"{path}: there {what} in this file")


def write(found: Sources, out: str, name: str) -> str:
    """Write @found to the file @out, in the form that its suffix names; returns what was written, in words."""
    suffix = pathlib.Path(out).suffix
    if suffix == ".pftrace":
        with open(out, "wb") as binary:
            return perfetto.write(binary, found.trace, found.timeline, found.decisions, found.about)
    if suffix == ".json":
        need(found.timeline, found.path, "are no switches")
        assert found.trace and found.timeline
        with open(out, "w", encoding="utf-8") as f:
            return chrome.write(f, found.trace, found.timeline, found.about)
    if suffix == ".txt":
        need(found.trace, found.path, "is no trace")
        assert found.trace
        with open(out, "w", encoding="utf-8") as f:
            return text.write(f, found.trace)
    wanted = {"runs": found.timeline, "waits": found.timeline, "events": found.trace}.get(name, found.decisions)
    need(wanted, found.path, "is no trace" if name in ("runs", "waits", "events") else "are no decisions")
    columns = table.make(name, found.trace, found.timeline, found.decisions)
    if suffix == ".csv":
        with open(out, "w", encoding="utf-8", newline="") as f:
            number = table.write_csv(f, columns)
    else:
        number = table.write_parquet(out, columns, found.about)
    return f"{number} {name}"


def main(_: Any, arguments: argparse.Namespace) -> int:
    """write a trace for Perfetto, Chrome, pandas, grep"""
    out = str(arguments.output)
    if pathlib.Path(out).suffix not in FORMS:
        raise UsageError(f"--output {out}: a name that ends in {', '.join(FORMS)} is expected")
    try:
        found = open_sources(arguments.file)
        with whole.unfinished(out) as part:
            said = write(found, part, arguments.table)
    except OSError as error:
        raise UsageError(f"--output {out}: {error.strerror or error}") from error
    if lost := found.lost:
        print(f"fairground: {arguments.file}: {lost_text(lost)}", file=sys.stderr)
    result.tell([f"{out}: {said}"], lambda: result.of_runs([arguments.file]),
                [{"file": out, "has": said, "lost": found.lost}])
    return 0
