# SPDX-License-Identifier: GPL-2.0-only
"""Is a record of decisions one of the run that was asked for? A judge says whether each decision follows from what was
recorded with it. The reference, which the grader runs with the same words, says how much of what there was to decide.
"""

import pathlib
import re
from dataclasses import dataclass

TIME = re.compile(r'^\{"time": (\d+)', re.MULTILINE)
TASK = re.compile(r'"comm": "([^"]*)", "pid": (\d+)')


@dataclass(frozen=True)
class Outline:
    """Who is in a record, how many decisions it has, and when the last was made."""

    tasks: frozenset[tuple[str, str]]
    decisions: int
    last_ns: int

    def __str__(self) -> str:
        return f"{self.decisions} decisions about {len(self.tasks)} tasks up to {self.last_ns / 1e6:.3f} ms"


def outline(record: pathlib.Path) -> Outline:
    """The outline of the file @record, as the simulator writes it."""
    text = record.read_text(encoding="utf-8", errors="replace")
    times = list(map(int, TIME.findall(text)))
    return Outline(frozenset(TASK.findall(text)), len(times), max(times, default=0))


def another_run(mine: Outline, reference: Outline) -> str:
    """A sentence if @mine is of another run than @reference; "" if it may be the same. Where a judge leaves a choice,
    the two may differ a little.
    """
    alike = mine.tasks == reference.tasks and 10 * mine.last_ns >= 9 * reference.last_ns and \
        3 * reference.decisions <= 4 * mine.decisions <= 5 * reference.decisions
    if alike:
        return ""
    if mine.tasks != reference.tasks:
        return f"this is the record of another run: it has {mine}, and the reference's {reference}"
    return (f"each decision is right, but the run is another: it has {mine}, and the reference's {reference}. "
            "Something is not done that no decision tells of: a CPU is not told, a switch not asked for, a timer not "
            "started")
