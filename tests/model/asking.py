# SPDX-License-Identifier: GPL-2.0-only
"""How tests ask a judge: they run its command, and get back what it printed."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MODEL = Path(__file__).parent
Counts = tuple[int, int, int]


class Answer(NamedTuple):
    """What a judge said of a file."""

    status: int
    table: dict[tuple[str, str], Counts]  # (right, not judged, wrong) by policy and decision
    complaints: list[str]
    err: str

    def sums(self) -> Counts:
        right, unjudged, wrong = (sum(row[i] for row in self.table.values()) for i in range(3))
        return right, unjudged, wrong


def ask(judge: str, *words: object) -> Answer:
    """Run judge.py, or judge_NAME.py, with @words."""
    command = [sys.executable, str(MODEL / f"{judge}.py"), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.split(": ", 1)[1] for line in done.stdout.splitlines()]
    head = next((i for i, line in enumerate(lines) if line.startswith("policy  ")), len(lines))
    rows = [line.split() for line in lines[head + 1:]]
    table = {(row[0], " ".join(row[1:-3])): (int(row[-3]), int(row[-2]), int(row[-1])) for row in rows}
    return Answer(done.returncode, table, lines[:head], done.stderr)
