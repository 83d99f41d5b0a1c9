# SPDX-License-Identifier: GPL-2.0-only
"""How far a command is and how long it will still take, from its third second on: on stderr, if that is a terminal.
It is one line, which fits the terminal and is written again and again; a dumb terminal gets a new line now and then."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import ClassVar

AFTER_S = 2
EVERY_S = 0.5
DUMB_EVERY_S = 10  # on a terminal that cannot write over a line
LOOK_AT_CLOCK = 64  # steps without a look at it


def is_dumb() -> bool:
    """True if the terminal cannot go back to the start of a line."""
    return os.environ.get("TERM", "") in ("", "dumb")


class Line:
    """The one line of the terminal that says how far all is."""

    _told_at: ClassVar[float] = -DUMB_EVERY_S
    _width: ClassVar[int] = 0              # of what stands there

    @classmethod
    def due(cls, now: float) -> bool:
        """True if it is time for another text."""
        return now - cls._told_at >= (DUMB_EVERY_S if is_dumb() else EVERY_S)

    @classmethod
    def show(cls, text: str) -> None:
        """@text alone in the line, which is free again after ""."""
        if text:
            cls._told_at = time.monotonic()
        if is_dumb():
            print(text, end="\n" if text else "", file=sys.stderr, flush=True)
            return
        try:
            room = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1
        except (OSError, ValueError):
            room = 79
        text = text[:room]
        if text or cls._width:
            print(f"\r{text:<{min(cls._width, room)}}" + "\r" * (not text), end="", file=sys.stderr, flush=True)
        cls._width = len(text)


class Waiting:
    """Something that has no steps to count: @what it does, and for how long it has done so."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._start = time.monotonic()

    def tick(self) -> None:
        """Called often. The line is shown from the third second on."""
        now = time.monotonic()
        if sys.stderr.isatty() and now - self._start >= AFTER_S and Line.due(now):
            Line.show(f"{self.what}, {now - self._start:.0f} s")


@contextlib.contextmanager
def waiting(what: str) -> Iterator[Waiting]:
    """Tells of @what, which may change, while the main thread waits for a program that does it."""
    ended, told = threading.Event(), Waiting(what)
    if threading.current_thread() is not threading.main_thread():
        yield told
        return

    def tell() -> None:
        while not ended.wait(EVERY_S):
            told.tick()

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        ended.set()
        thread.join()
        Line.show("")


class Progress:
    """Work of @total steps. A work within another is a part of its next step. Only the main thread's is told."""

    _all: ClassVar[list["Progress"]] = []  # from the outermost to the innermost

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
                Line.show("")

    def step(self) -> None:
        """One more is done. Cheap enough for each page of a trace."""
        self._done += 1
        if self._done % self._every == 0 and Progress._all and Progress._all[-1] is self:
            Progress._tell()

    @classmethod
    def note(cls, text: str) -> None:
        """Print the line @text on stderr, terminal or not, without the one that tells how far it is."""
        Line.show("")
        print(text, file=sys.stderr, flush=True)

    @classmethod
    def _tell(cls) -> None:
        now, part = time.monotonic(), 0.0
        spent = now - cls._all[0]._start
        if spent < AFTER_S or not Line.due(now):
            return
        for work in reversed(cls._all):
            part = min((work._done + part) / max(work._total, 1), 1)
        done = ", ".join(f"{work._what} {work._done} of {work._total}" for work in cls._all if work._total > 1)
        Line.show(f"{done}, {spent * (1 / part - 1):.0f} s left" if done and part else "")
