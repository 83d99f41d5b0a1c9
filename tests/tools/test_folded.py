# SPDX-License-Identifier: GPL-2.0-only
"""Lines on narrow terminals are folded between words: no number is broken, whatever the pieces they come in."""

import fcntl
import os
import random
import re
import struct
import subprocess
import sys
import termios

import pytest

from tests.conftest import BUILD, ROOT, drawn_seed
from tests.sim.test_progress import read_all

from fairground.base import folded
from fairground.base.folded import Folder

LINUX = os.path.join(ROOT, "tests/sim/linux-6.1.dat")


@pytest.fixture(autouse=True)
def of_40_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")


def words(text):
    return re.findall(r"[^\s-]\S*", text)


def test_no_word_is_broken_whatever_the_pieces():
    draw = random.Random(drawn_seed())
    for _ in range(200):
        text = "".join(draw.choice(("7", "123456.789", "a", "word", " ", "   ", "\n", "\t", "-" * 60, " \x1b[7m ", "|"))
                       for _ in range(draw.randrange(80)))
        folder, got, at = Folder(waits=True), "", 0
        while at < len(text):
            piece = draw.randrange(1, 9)
            got += folder.fold(text[at:at + piece])
            at += piece
        got += folder.rest()
        plain, shown = (re.sub(r"\x1b\[7m", "", each) for each in (text, got))
        assert words(shown) == words(plain)
        assert all(len(line) <= 40 or len(line.split()) == 1 for line in re.split("[\r\n]", shown)), shown


def test_what_fits_and_what_is_copied_stays_as_it_is():
    text = f"{'x' * 19} {'y' * 20}\ncommand: schedsim {'hogs:n=2 ' * 9}\nAgain: make run CMD='{'hog ' * 20}'\n"
    assert Folder(waits=True).fold(text) == text


def test_a_bar_and_a_size_that_changes(monkeypatch):
    folder = Folder(waits=True)
    assert folder.fold("=" * 99 + "\n") == "=" * 40 + "\n"
    assert folder.fold(f"{'a' * 30} {'b' * 30}\n") == f"{'a' * 30} \n    {'b' * 30}\n"
    monkeypatch.setenv("COLUMNS", "80")
    assert folder.fold(f"{'a' * 30} {'b' * 30}\n") == f"{'a' * 30} {'b' * 30}\n"


def shown(command, columns=40):
    """What a terminal of @columns shows of a command, and its status."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, cwd=ROOT, env={
            "PATH": os.environ["PATH"], "PYTHONPATH": "tools", "KVM": "0", "B": BUILD}) as done:
        os.close(slave)
        said = read_all(master).decode().replace("\r\n", "\n")
    os.close(master)
    return said, done.wait()


TOOL = (sys.executable, "-m", "fairground")


@pytest.mark.parametrize("command, status", [
    ((*TOOL, "latency", LINUX), 0), ((*TOOL, "timehist", "--summary", LINUX), 0), ((*TOOL, "--help"), 0),
    ((*TOOL, "experiment"), 0), ((*TOOL, "latency", "/" + "no such file, " * 9), 2), (("make", "-s", "help"), 0),
    ((*TOOL, "--build", BUILD, "run", "--smp", "1", "--icount", "1", "--cmd", "hog -N 0,5,10 -t 20ms"), 0),
], ids=lambda value: value[-1][:30] if isinstance(value, tuple) else "")
def test_at_40_columns(command, status):
    """The same words as on a wide terminal, in lines that fit unless they are one word or are there to be copied."""
    wide, narrow = shown(command, 400), shown(command)
    assert narrow[1] == wide[1] == status, narrow[0]
    if "--help" not in command:  # argparse folds by itself, by other rules
        assert words(narrow[0]) == words(wide[0])
    long = [line for line in re.split("[\r\n]", narrow[0])
            if len(line) > 40 and len(line.split()) > 1 and not line.startswith(folded.COPIED)]
    assert not long and narrow[0].count("\n") > wide[0].count("\n"), narrow[0]


@pytest.mark.skipif(not os.path.exists(os.path.join(BUILD, "schedsim")), reason="make sim")
def test_the_simulator_prints_narrow_tables_where_wide_ones_do_not_fit():
    command = (os.path.join(BUILD, "schedsim"), "--time", "20ms", "hogs:n=2")
    wide, narrow = shown(command, 160)[0], shown(command, 100)[0]
    assert max(map(len, wide.splitlines())) > 140 and max(map(len, narrow.splitlines())) <= 80
    assert narrow.replace(" --narrow", "") == shown((*command, "--narrow"), 160)[0].replace(" --narrow", "")
