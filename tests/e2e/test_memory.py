# SPDX-License-Identifier: GPL-2.0-only
"""Memory as programs see it: mappings, copy on write, program start; no page is lost; what happens when memory runs
out."""

import re
import shutil

import pytest

from tests.e2e.conftest import BUILD, dynamic_program, on_linux


def test_memcheck_on_linux():
    done = on_linux([f"{BUILD}/user/memcheck"])
    assert done.returncode == 0, done.stdout


@pytest.mark.sampled(15, "a wrong mapping on one size of machine")
@pytest.mark.parametrize("cpus", [1, 4])
def test_memcheck(guest, cpus):
    assert re.search(r"[1-9]\d* passed, 0 failed", guest("memcheck", cpus=cpus))


def free_memory(text):
    return [int(kb) for kb in re.findall(r"MemFree: +(\d+) kB", text)]


def test_fork_and_exit_return_every_page(guest):
    """Once the caches are warm, a thousand processes leave not one page behind."""
    text = guest("round() { i=0; while [ $i -lt 1000 ]; do (exit 1); i=$((i + 1)); done; }; "
                 "for turn in 1 2 3; do round; grep MemFree /proc/meminfo; done", cpus=1, icount=True)
    _, before, after = free_memory(text)
    assert before == after


def test_no_page_is_lost(guest):
    """Processes, programs and pipes come and go; afterwards as much memory is free as before.

    Caches of the allocators keep a few pages more or less; one page lost with every program would be 2,000 kB.
    """
    text = guest("round() { seq $1 | while read n; do (exit 1); /bin/true; done; hack -g 1 -l 5 > /dev/null; }; "
                 "show() { grep MemFree /proc/meminfo; }; round 100; round 100; show; round 500; show",
                 cpus=1, icount=True)
    before, after = free_memory(text)
    assert abs(after - before) < 200, text


def test_everybody_gets_memory_after_a_fork_bomb(guest):
    """Memory runs out long before process numbers do: forks fail, no process is killed, and all is well after the
    bomb."""
    text = guest("crash forkbomb; crash forkbomb; memcheck copy-on-write", cpus=2, mem=64, append="threads_max=100000")
    assert len(re.findall(r"processes, then (Out of memory|Resource temporarily unavailable)", text)) == 2
    assert "killing" not in text


def test_out_of_memory_kills_the_eater(boot):
    outcome = boot("crash memory; dmesg | grep -c 'Out of memory'; echo alive", cpus=2, mem=64)
    assert "SIGKILL" in outcome.console and "\nalive" in outcome.console, outcome.console
    assert re.search(r"Out of memory: killing process \d+ \(crash\)", outcome.console)


def test_dynamic_program(guest):
    """A program of this machine with its interpreter and C library: mapped, relocated and run."""
    put, files = dynamic_program(shutil.which("expr"))
    assert "\n42\n" in guest(f"{put} /root/expr 6 '*' 7", files=files).replace("\r", "")
