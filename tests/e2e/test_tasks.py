# SPDX-License-Identifier: GPL-2.0-only
"""Processes, threads, signals and timers: the same checks pass on Linux and here."""

import pytest

from tests.e2e.conftest import BUILD, PASSED, on_linux


def test_task_semantics_on_linux():
    done = on_linux([f"{BUILD}/user/taskcheck"])
    assert PASSED.search(done.stdout), done.stdout


@pytest.mark.sampled(13, "a wrong call on one size of machine")
@pytest.mark.parametrize("cpus", [1, 4])
def test_task_semantics(guest, cpus):
    assert PASSED.search(guest("taskcheck", cpus=cpus))


def test_timers_count_every_period(guest):
    """In virtual time no signal of a timer comes too late to be counted."""
    assert "1 passed, 0 failed" in guest("VIRTUAL_TIME=1 taskcheck timer-counts", cpus=2, icount=True)


def test_end_of_init_is_an_orderly_end(boot):
    """Process 1 cannot be killed; the status is that of its job."""
    outcome = boot("kill -9 1; kill -TERM 1; kill -STOP 1; kill -SEGV 1; exit 7")
    assert outcome.status == 7, outcome.console


def test_kernel_threads_take_no_signals(guest):
    console = guest("for s in 9 15 19; do for p in $(ps -o pid,comm | awk '/ttyd|watchdog/ {print $1}'); do"
                    " kill -$s $p; done; done; sleep 0.1; ps -o comm")
    assert "ttyd" in console and "watchdog" in console


def test_fork_without_end(guest):
    """fork fails because of the limit or for lack of memory; no other process is harmed, and all can be removed.

    The shell itself waits without a fork, which would end it until the memory of the dead is free.
    """
    console = guest("(while :; do sleep 100 & done) 2>/tmp/out; read line </tmp/out; echo $line; kill -9 -1;"
                    " until { set -- /proc/[0-9]*; [ $# -lt 10 ]; }; do :; done; echo all gone")
    assert "can't fork: " in console and "Out of memory" not in console
    assert "all gone" in console
