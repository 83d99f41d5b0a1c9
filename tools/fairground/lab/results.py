# SPDX-License-Identifier: GPL-2.0-only
"""What one test or run gave: its points, and what a student is told."""

import random
import re
from dataclasses import dataclass

DRAWN = re.compile(r"\{(\d+)-(\d+)\}")


@dataclass(frozen=True)
class Measure:
    """A number of a run that leaderboards show. Less is better."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Result:
    """A test or a run: its points, and what a student is told."""

    tier: str
    name: str
    points: float
    most: float
    message: str = ""
    detail: str = ""
    measure: Measure | None = None

    @property
    def passed(self) -> bool:
        return self.points == self.most


def drawn(words: str, seed: int) -> str:
    """@words with a number for each {LEAST-MOST}, drawn by @seed, and {seed} replaced."""
    source = random.Random(f"{seed} {words}")
    return DRAWN.sub(lambda m: str(source.randint(int(m[1]), int(m[2]))), words).replace("{seed}", str(seed))
