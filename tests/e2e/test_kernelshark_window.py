# SPDX-License-Identifier: GPL-2.0-only
"""KernelShark itself, in a window on a display without a screen: what it draws of each CPU is who ran there.

Its first graphs are those of CPUs 0 and 1, each on a black base line; below the time axis a coloured pixel is a task.
"""

import contextlib
import os
import shutil
import struct
import subprocess
import time

import pytest

from tests.e2e.conftest import BUILD
from fairground.trace.timeline import Timeline
from tests.e2e.test_trace import record

WIDTH, HEIGHT = 1600, 1400
TIMEOUT_S = 600
POLL_S = 1
ABOVE = 4  # pixels above the base line: inside a task's bar
BLACK, WHITE = (0, 0, 0), (255, 255, 255)

pytestmark = pytest.mark.skipif(not shutil.which("kernelshark") or not shutil.which("Xvfb"),
                                reason="needs apt-get install kernelshark xvfb")


class Screen:
    """The picture that Xvfb keeps in the file @path, in the format of xwd(1)."""

    def __init__(self, path):
        data = path.read_bytes()
        head = struct.unpack_from(">25I", data)
        self.width, self.height, self.stride = head[4], head[5], head[12]
        self.data, self.start = data, head[0] + 12 * head[19]

    def at(self, x, y):
        blue, green, red = self.data[(place := self.start + y * self.stride + 4 * x):place + 3]
        return red, green, blue

    def base_lines(self):
        """(y, first x, last x) of black lines of 300 pixels or more, from the top: of the axis, of CPU 0, of CPU 1."""
        found = []
        for y in range(self.height):
            row = self.data[self.start + y * self.stride:self.start + (y + 1) * self.stride]
            black = bytes(3)
            first = next((x for x in range(0, self.width - 300, 20) if all(
                row[4 * i:4 * i + 3] == black for i in range(x, x + 300))), None)
            if first is not None and not (found and found[-1][0] == y - 1):
                last = first
                while last + 1 < self.width and row[4 * last + 4:4 * last + 7] == black:
                    last += 1
                while first and row[4 * first - 4:4 * first - 1] == black:
                    first -= 1
                found.append((y, first, last))
        return found


@contextlib.contextmanager
def running(words, log, **environment):
    with open(log, "wb") as out, subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                                  env={**os.environ, **environment}) as process:
        try:
            yield process
        finally:
            process.kill()


def drawn(path, directory):
    """KernelShark's window of the trace @path, once its graphs are there, and what it said."""
    (directory / "home").mkdir()
    (directory / "home/setting.ini").write_text("[General]\nnoRootWarn=true\n")  # a dialog, if root starts it
    read, write = os.pipe()
    display = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-wr",
               "-fbdir", str(directory)]
    with open(directory / "xvfb.log", "wb") as log, subprocess.Popen(
            display, pass_fds=[write], stdout=log, stderr=log) as server:
        try:
            os.close(write)
            with os.fdopen(read) as told:
                name = f":{told.readline().strip()}"
            home = str(directory / "home")
            with running(["kernelshark", "-i", str(path)], directory / "shark.log", DISPLAY=name, HOME=home,
                         KS_USER_CACHE_DIR=home, XDG_RUNTIME_DIR=home, QT_QPA_PLATFORM="xcb") as shark:
                end, lines, before = time.monotonic() + TIMEOUT_S, [], None
                while len(lines) < 3 or lines != before:  # twice the same: all is drawn
                    assert shark.poll() is None and time.monotonic() < end, (directory / "shark.log").read_text()
                    time.sleep(POLL_S)
                    before, screen = lines, Screen(directory / "Xvfb_screen0")
                    lines = screen.base_lines()
                return screen, lines, (directory / "shark.log").read_text()
        finally:
            server.kill()


def check(path, directory):
    """Each column of pixels in which one task alone ran has that task's colour, and no other has it."""
    screen, (axis, *cpus), said = drawn(path, directory)
    if keep := os.environ.get("KEEP_SCREENSHOT"):
        shutil.copy(directory / "Xvfb_screen0", keep)
    assert "Loading" in said and "rror" not in said.replace("failed to initialize", ""), said
    line, (_, left, right) = Timeline(path), axis
    step = (line.end - line.begin) / (right - left)
    colours, pixels = {}, 0
    for cpu, (y, _, _) in enumerate(cpus[:2]):
        runs = [(start, end, pid) for on, pid, start, end in zip(line.runs.cpu, line.runs.pid, line.runs.start,
                                                                 line.runs.end) if on == cpu and pid]
        for start, end, pid in runs:
            first, last = (left + (moment - line.begin) / step for moment in (start, end))
            for x in range(int(first) + 3, int(last) - 2):
                colours.setdefault(pid, {}).setdefault(screen.at(x, y - ABOVE), 0)
                colours[pid][screen.at(x, y - ABOVE)] += 1
                pixels += 1
    assert pixels > 200 and len(colours) > 2, (pixels, colours)
    usual = {pid: max(each, key=each.get) for pid, each in colours.items()}
    assert sum(colours[pid][colour] for pid, colour in usual.items()) > 0.95 * pixels, colours
    assert len(set(usual.values())) == len(usual) and not {BLACK, WHITE} & set(usual.values()), usual


def test_a_trace_of_the_simulator(tmp_path):
    path = tmp_path / "sim.dat"
    subprocess.run([f"{BUILD}/schedsim", "--cpus", "2", "--time", "300ms", "--trace", path, "hogs:n=3",
                    "bursts:n=2,run=2ms,sleep=5ms"], check=True, stdout=subprocess.DEVNULL)
    check(path, tmp_path)


def test_a_trace_of_the_machine(tmp_path):
    path = tmp_path / "machine.dat"
    status, text = record(path, "hog -q -n 5 -t 300ms", smp=2, icount=1)
    assert status == 0, text
    check(path, tmp_path)
