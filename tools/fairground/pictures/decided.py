# SPDX-License-Identifier: GPL-2.0-only
"""Files of decisions as sources of pictures: their records, one after the other, in the window that is shown."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.settings import UsageError
from ..decisions.decision_file import DecisionError, DecisionFile, NoDecisions, Shape, open_file
from ..machine.image import TraceError
from ..trace.tracefile import lost_text

HOW = "record them with schedsim --decisions FILE, or make trace EVENTS='decision:*' (docs/decisions.md)"


@dataclass
class Decided:
    """A file of decisions. Times are in ns since its begin."""

    path: str
    file: DecisionFile
    begin: int        # by the clock of the file
    start: int        # of what is shown
    end: int          # of the last record that is shown
    data: Any = None  # what the kind of picture made of the records
    policies: tuple[str, ...] = ()  # that the records name, in their order; otherwise the file's policy counts

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def policy(self) -> str:
        """The policies of the run: it may have been swapped."""
        return ", ".join(self.policies) or str(self.file.provenance.header.get("sched", ""))

    def header(self) -> list[str]:
        """What the file says of its run."""
        said = self.file.provenance.header
        cpus = self.file.provenance.cpus
        parts = [f"{cpus} CPU{'s' * (cpus != 1)}", *(f"{word} {said[key]}" for key, word in (
            ("hz", "HZ"), ("seed", "seed"), ("commit", "commit")) if key in said)]
        lines = [f"{self.name}: {self.policy or 'decisions'}; " + ", ".join(parts)]
        if command := said.get("command"):
            lines.append(f"command: {command}")
        return lines + ([lost_text(self.file.lost)] if self.file.lost else [])

    def records(self, shapes: Sequence[Shape]) -> Iterator[tuple[int, Any]]:
        """(ns since the begin, record) of all in the window."""
        try:
            for record in self.file.records(shapes):
                time = record.time - self.begin
                if self.start <= time <= self.end:
                    yield time, record
        except DecisionError as error:
            raise TraceError(f"{self.path}: {error}") from error


def open_decided(path: str, arguments: argparse.Namespace) -> Decided:
    """The file @path, from --min to --max. Says on stderr if events are lost."""
    try:
        file = open_file(path)
        spans = file.trace.spans().values() if file.trace else []
    except NoDecisions as error:
        raise TraceError(f"{path}: there are no decisions in it: {HOW}") from error
    except DecisionError as error:
        raise TraceError(f"{path}: {error}") from error
    begin = min((first for first, _ in spans), default=0)
    end = max((last for _, last in spans), default=1 << 62) - begin
    start = round((arguments.min or 0) * 1e9)
    if start >= end:
        raise UsageError(f"{path}: nothing is between --min and --max")
    if file.lost:
        print(f"fairground: {path}: {lost_text(file.lost)}", file=sys.stderr)
    last = end if arguments.max is None else min(end, round(arguments.max * 1e9))
    return Decided(path, file, begin, start, last)
