# SPDX-License-Identifier: GPL-2.0-only
"""What machines and simulators that run side by side share."""

import os
import pathlib
import subprocess
import sys
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from fairground.base.settings import Settings
from fairground.machine.machine import Machine, at_once


def test_a_pool_that_is_left_early_begins_nothing_more():
    """A signal ends `lab check` with hundreds of submissions to come."""
    begun = []

    def wait_for_the_end(nr):
        begun.append(nr)
        with pytest.raises(RuntimeError):  # a pool that ends takes nothing
            while True:
                pool.submit(int)
                time.sleep(0.01)

    with pytest.raises(SystemExit), at_once(1) as pool:
        first = pool.submit(wait_for_the_end, 0)
        for nr in range(1, 10):
            pool.submit(wait_for_the_end, nr)
        while not begun:
            time.sleep(0.01)
        sys.exit(1)
    first.result()
    assert begun == [0]


class Writer:
    """A process that writes one more of @pieces to the file @path each time that it is asked whether it has ended."""

    def __init__(self, path, *pieces):
        self.path, self.pieces = path, list(pieces)

    def poll(self):
        if not self.pieces:
            return 0
        with open(self.path, "ab") as file:
            file.write(self.pieces.pop(0))
        return None


def test_an_end_of_a_line_may_come_in_two_pieces(tmp_path):
    """QEMU writes bytes as they come, and on a busy host the console is read between the two."""
    machine = Machine.__new__(Machine)  # without QEMU
    machine.settings, machine.console = Settings(), str(tmp_path / "console")
    (tmp_path / "console").touch()
    told = []
    pieces = b"one\r", b"\n10 %\r", b"20 %\r\ntwo\r", b"\n", b"end\r"
    assert not machine._follow(Writer(machine.console, *pieces), told.append)  # pylint: disable=protected-access
    assert "".join(told) == "one\n10 %\r20 %\ntwo\nend\r"


STARTS_MORE = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from fairground.__main__ import end
import signal
signal.signal(signal.SIGTERM, end)
subprocess.run(["sh", "-c", "sh -c 'setsid sleep 1000 & sleep 1000 & sleep 1000 & echo $$; wait' & wait"],
               start_new_session=sys.argv[2] == "leads", check=False)
"""


def marked_processes(marked):
    """The processes that have @marked in their environment; zombies have none."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if marked.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("kind", ["leads", "is in our group"])
def test_a_signal_ends_what_children_have_started(kind, tmp_path):
    """A compiler is the child of a compiler's driver, of make, and of us."""
    marked = f"MARK={tmp_path}"
    process = subprocess.Popen([sys.executable, "-c", STARTS_MORE, os.path.join(ROOT, "tools"), kind],
                               stdout=subprocess.PIPE, env={**os.environ, "MARK": str(tmp_path)})
    try:
        process.stdout.readline()
        for _ in range(3000):
            if len(marked_processes(marked)) >= 6:  # with the first
                break
            time.sleep(0.01)
        process.terminate()
        assert process.wait() == 128 + 15
        for _ in range(1000):  # the signal was sent; on a busy machine it takes a while
            if not marked_processes(marked):
                break
            time.sleep(0.01)
        assert not marked_processes(marked)
    finally:
        for pid in marked_processes(marked):
            os.kill(pid, 9)
        process.wait()
        process.stdout.close()
