# SPDX-License-Identifier: GPL-2.0-only
"""How far a command is and how long it will still take, from its third second on: on stderr, if that is a terminal."""

import sys
import threading
import time
from typing import ClassVar

AFTER_S = 2
EVERY_S = 0.5
LOOK_AT_CLOCK = 64  # steps without a look at it


class Progress:
    """Work of @total steps. A work within another is a part of its next step. Only the main thread's is told."""

    _all: ClassVar[list["Progress"]] = []  # from the outermost to the innermost
    _told_at: ClassVar[float] = 0
    _width: ClassVar[int] = 0              # of what stands on the terminal

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._every = LOOK_AT_CLOCK if total > LOOK_AT_CLOCK else 1
        self._start = time.monotonic()

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty() and threading.current_thread() is threading.main_thread():
            Progress._all.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in Progress._all:
            Progress._all.remove(self)
            if not Progress._all:
                Progress._show("")

    def step(self) -> None:
        """One more is done. Cheap enough for each page of a trace."""
        self._done += 1
        if self._done % self._every == 0 and Progress._all and Progress._all[-1] is self:
            Progress._tell()

    @classmethod
    def note(cls, text: str) -> None:
        """Print the line @text on stderr, terminal or not, without the one that tells how far it is."""
        cls._show("")
        print(text, file=sys.stderr, flush=True)

    @classmethod
    def _tell(cls) -> None:
        now, part = time.monotonic(), 0.0
        spent = now - cls._all[0]._start
        if spent < AFTER_S or now - cls._told_at < EVERY_S:
            return
        for work in reversed(cls._all):
            part = min((work._done + part) / max(work._total, 1), 1)
        done = ", ".join(f"{work._what} {work._done} of {work._total}" for work in cls._all if work._total > 1)
        cls._told_at = now
        cls._show(f"{done}, {spent * (1 / part - 1):.0f} s left" if done and part else "")

    @classmethod
    def _show(cls, text: str) -> None:
        """@text alone in the line, which is free again after ""."""
        if text or cls._width:
            print(f"\r{text:<{cls._width}}" + "\r" * (not text), end="", file=sys.stderr, flush=True)
        cls._width = len(text)
