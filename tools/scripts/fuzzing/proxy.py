# SPDX-License-Identifier: GPL-2.0-only
"""Between AFL++ and the machine: a fork server, as AFL++'s documentation calls the program that it asks for a run over
one descriptor and that answers over another. This one forks nothing: each run is one script in the machine.

Usage: proxy.py BUILD OUT SCHED SMP    started by AFL++, with the script as standard input
"""

import ctypes
import os
import pathlib
import signal
import struct
import sys
import traceback

from . import places
from .guest import MAX_PROGRAM, Guest, machine_of

ORDERS, ANSWERS = 198, 199  # the descriptors
HELLO = 0x80000001 | 0x40000000  # a size of the map is behind it, less one and shifted by one
CRASHED = signal.SIGABRT  # as status of a process
MOST_KEPT = 20  # scripts that are wrong


def map_of_afl() -> int | None:
    """The address of the memory in which AFL++ looks for what was reached; None: nobody looks."""
    if not (number := os.environ.get("__AFL_SHM_ID")):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    return int(libc.shmat(int(number), None, 0))


class Notes:
    """What is kept for the report: totals, places, and a console for each crash."""

    def __init__(self, out: pathlib.Path, kernel: str) -> None:
        self._out, self._kernel = out, kernel
        self._runs = self._crashes = 0

    def run(self, script: bytes, wrong: str, guest: Guest) -> None:
        self._runs += 1
        self._crashes += bool(wrong)
        if wrong and self._crashes <= MOST_KEPT:
            number = 1 + len(list(self._out.glob("wrong-*.script")))
            (self._out / f"wrong-{number}.script").write_bytes(script)
            (self._out / f"wrong-{number}.log").write_text(f"{wrong}\n{guest.console()}", encoding="utf-8")

    def end(self, guest: Guest) -> None:
        (self._out / "totals").write_text(f"{self._runs} {guest.calls} {self._crashes}\n", encoding="ascii")
        places.keep(self._out / "places", self._kernel, guest.ever())


def serve(guest: Guest, notes: Notes) -> None:
    """Answer until AFL++ goes."""
    reached_map = map_of_afl()
    guest.start()
    os.write(ANSWERS, struct.pack("<I", HELLO | guest.nr_places << 1))  # the map has one byte more
    while len(os.read(ORDERS, 4)) == 4:
        guest.start()
        script = os.pread(0, MAX_PROGRAM, 0)
        os.write(ANSWERS, struct.pack("<I", guest.pid))
        wrong = guest.run(script)
        reached = b"\1" + guest.reached()  # something is always reached
        if reached_map:
            ctypes.memmove(reached_map, reached, len(reached))
        notes.run(script, wrong, guest)
        if wrong:
            guest.stop()
        os.write(ANSWERS, struct.pack("<I", CRASHED if wrong else 0))


def leave(*_: object) -> None:
    raise SystemExit


def main(words: list[str]) -> None:
    build, out, sched, smp = words
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = machine_of(build, sched, smp)
    guest, notes = Guest(settings), Notes(pathlib.Path(out), settings.kernel)
    try:
        serve(guest, notes)
    except Exception:  # AFL++ closes standard error, and says only that nobody answers
        (pathlib.Path(out) / "proxy.log").write_text(traceback.format_exc(), encoding="utf-8")
        raise
    finally:
        notes.end(guest)
        guest.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
