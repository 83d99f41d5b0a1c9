# SPDX-License-Identifier: GPL-2.0-only
"""Progress with the time that is left: on a terminal, of what takes longer than two seconds, and nowhere else."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = os.environ.get("B", "build")
LINUX = ROOT / "tests/sim/linux-6.1.dat"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

from fairground.base import progress
from fairground.base.progress import Progress

# A command for which each look at the clock is a second later.
SLOW = """import itertools, sys, types
from fairground.base import progress
progress.time = types.SimpleNamespace(monotonic=lambda clock=itertools.count(): float(next(clock)))
progress.LOOK_AT_CLOCK = 1
from fairground.__main__ import main
sys.exit(main(sys.argv[1:]))"""
CASES = {"latency {file}": "pages read", "stat {file}": "pages read", "graph share {file} -o {to}/x.svg": "pages read",
         "convert {file} -o {to}/x.pftrace": "pages read", "report {to}/x.html {file} --no-viewer": "pictures",
         "compare cfs bore hogs:n=2 --seeds 1..6 --time 10ms": "runs", "scenarios F-03": "runs",
         "experiments x10-boost-groups --hosts simulator --seconds 1 --out {to}/all": "runs"}


def read_all(terminal):
    """What is written to a terminal until nobody has it open any more."""
    said = b""
    while True:
        try:
            said += os.read(terminal, 4096)
        except OSError:
            return said


def run(words, to, terminal):
    """What a command says on stderr, which is a terminal or not."""
    line = words.format(file=LINUX, to=to).split()
    master, slave = pty.openpty()
    with open(to / "stdout", "w+b") as out, open(to / "stderr", "w+b") as err:
        done = subprocess.Popen([PYTHON, "-c", SLOW, "--build", BUILD, *line], stderr=slave if terminal else err,
                                stdout=out, cwd=ROOT, env={**os.environ, "TERM": "xterm",
                                                                           "PYTHONPATH": str(ROOT / "tools")})
        os.close(slave)
        said = read_all(master)
        os.close(master)
        assert done.wait() in (0, 1)
    assert " s left" not in (to / "stdout").read_text(encoding="utf-8")
    return said.decode() if terminal else (to / "stderr").read_text(encoding="utf-8")


@pytest.mark.sampled(7, "a command that does not tell how far it is")
@pytest.mark.parametrize("words", CASES)
def test_commands_tell_on_a_terminal_alone(words, tmp_path):
    said = run(words, tmp_path, True)
    told = [tuple(map(int, each)) for each in re.findall(rf"{CASES[words]} (\d+) of (\d+),.*? (\d+) s left", said)]
    assert len(told) > 1, said
    assert all(0 <= done <= total for done, total, _ in told) and max(told)[0] > 0
    assert re.sub(r"\[1/1\] .*\r\n", "", said).endswith(" \r")  # the line is free again
    assert " s left" not in run(words, tmp_path, False)


class Terminal(io.StringIO):
    """A stderr that is a terminal, and a clock that a test sets."""

    now, width = 0.0, 80

    def isatty(self):
        return True

    def fileno(self):
        return 2

    def size(self, _):
        return os.terminal_size((self.width, 24))


@pytest.fixture
def terminal(monkeypatch):
    found = Terminal()
    monkeypatch.setattr(progress.time, "monotonic", lambda: found.now)
    test = threading.current_thread()  # pytest-xdist does not always run a test in the main thread
    monkeypatch.setattr(progress, "threading", types.SimpleNamespace(current_thread=threading.current_thread,
                                                                     main_thread=lambda: test))
    monkeypatch.setattr(progress, "sys", types.SimpleNamespace(stderr=found))
    monkeypatch.setattr(progress.Line, "_told_at", -progress.DUMB_EVERY_S)
    monkeypatch.setattr(progress.Line, "_width", 0)
    monkeypatch.setattr(progress, "os", types.SimpleNamespace(environ={"TERM": "xterm"}, get_terminal_size=found.size))
    return found


def test_the_time_left_is_that_of_the_steps_left(terminal):
    with Progress("cells", 10) as work:
        for second in (1, 2, 3, 4):
            terminal.now = second
            work.step()
    assert re.findall(r"cells (\d+) of 10, (\d+) s left", terminal.getvalue()) == [("2", "8"), ("3", "7"), ("4", "6")]


def test_a_work_in_another_is_a_part_of_its_step(terminal):
    with Progress("pictures", 2) as outer:
        terminal.now = 8
        outer.step()
        with Progress("pages", 4) as inner:
            terminal.now = 10
            inner.step()
    assert "pictures 1 of 2, pages 1 of 4, 6 s left" in terminal.getvalue()


def test_the_line_goes_when_all_is_done(terminal):
    with Progress("cells", 2) as work:
        terminal.now = 5
        work.step()
    text = terminal.getvalue().split("\r")
    assert text[1].startswith("cells 1 of 2") and text[2] == " " * len(text[1]) and text[-1] == ""


def test_the_work_of_another_thread_is_not_told(terminal):
    def work(until):
        with Progress("cells", 2) as cells:
            terminal.now = until
            cells.step()

    other = threading.Thread(target=work, args=[5])
    other.start()
    other.join()
    assert terminal.getvalue() == ""
    work(10)
    assert terminal.getvalue().startswith("\rcells 1 of 2")


def test_a_narrow_terminal_gets_a_line_that_fits(terminal):
    """A line of its full width, or one more, would begin the next; so would blanks over an older, longer text."""
    with Progress("of the many pictures that there are in all these reports", 9) as work:
        for terminal.now, terminal.width in ((3, 80), (4, 40), (5, 20), (6, 40)):
            work.step()
    shown = terminal.getvalue().split("\r")[1:]
    assert len(shown[0]) <= 79 and len(shown[1]) == 39 and len(shown[2]) == 19 and len(shown[3]) == 39


def test_a_dumb_terminal_gets_lines_now_and_then(terminal):
    progress.os.environ["TERM"] = "dumb"
    with Progress("cells", 40) as work:
        for second in range(1, 31):
            terminal.now = second
            work.step()
    assert terminal.getvalue().splitlines() == [f"cells {done} of 40, {40 - done} s left" for done in (2, 12, 22)]


def test_what_has_no_steps_tells_for_how_long(terminal):
    told = progress.Waiting("building")
    for terminal.now in (1, 1.9, 3, 3.2, 7):
        told.tick()
    assert terminal.getvalue() == "\rbuilding, 3 s\rbuilding, 7 s"
