# SPDX-License-Identifier: GPL-2.0-only
"""The same run twice is the same run: console and trace are equal to the bit, on one CPU and on four."""

import os
import subprocess
import sys
import time

import pytest

from tests.e2e.conftest import TIMEOUT_S, settings
from fairground.machine.machine import Machine
from fairground.machine.repeat import repeat

# Everything that could differ: processes on all CPUs, pipes, migration, sleeping and waking by timer, idle CPUs.
EXPERIMENT = "hack -g 1 -f 4 -l 20 & burst -r 200us -s 700us -n 10 & hog -n 3 -t 10ms; wait; cat /proc/schedstat"


def identical_runs(runs, **how):
    """The number of runs that agree. A busy host may have disturbed one in ten (at least one), which was then
    repeated."""
    outcome, seen = repeat(settings(EXPERIMENT, icount=True, **how), runs)
    assert outcome.status == 0, outcome.console
    print(f"{how}: " + ", ".join(f"{times} x {digest[:16]}" for digest, times in seen))
    return seen[0][1]


@pytest.mark.sampled(4, "a machine on which two runs differ")
@pytest.mark.parametrize("cpus, runs", [(1, 3), (2, 5), (4, 20), (16, 3)])
def test_runs_are_identical(cpus, runs):
    assert identical_runs(runs, cpus=cpus) == runs


def test_the_seed_is_part_of_the_run():
    digests = {repeat(settings("head -c 32 /dev/urandom | md5sum", icount=True, seed=seed), 1)[1][0][0]
               for seed in (1, 2)}
    assert len(digests) == 2


# --- on the host ----------------------------------------------------------------------

FIRST = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK


def may_be_real_time():
    script = f"import os; os.sched_setscheduler(0, {FIRST}, os.sched_param(1))"
    return not subprocess.run([sys.executable, "-c", script], stderr=subprocess.DEVNULL, check=False).returncode


def threads_of_a_running_machine(**how):
    """(is the main thread, policy, host CPUs) of QEMU's threads while the guest runs."""
    with Machine(settings("hog -t 1000s", **how)) as machine:
        open(machine.console, "wb").close()
        process = machine.start(f"file,id=console,path={machine.console}", stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while "Linux version" not in open(machine.console, encoding="utf-8", errors="replace").read():
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
            tids = map(int, os.listdir(f"/proc/{process.pid}/task"))
            return [(tid == process.pid, os.sched_getscheduler(tid), os.sched_getaffinity(tid)) for tid in tids]
        finally:
            process.kill()
            process.wait()


def test_threads_of_a_repeatable_machine_take_turns():
    """All threads are on one host CPU. Only the main thread has a higher priority, if that is allowed here."""
    threads = threads_of_a_running_machine(icount=True)
    first = FIRST if may_be_real_time() else os.SCHED_OTHER
    assert sorted(main for main, *_ in threads)[-2:] == [False, True]
    assert all(policy == (first if main else os.SCHED_OTHER) for main, policy, _ in threads), threads
    (cpus,) = {frozenset(cpus) for *_, cpus in threads}
    assert len(cpus) == 1 and cpus <= os.sched_getaffinity(0)


def test_threads_of_other_machines_are_left_alone():
    threads = threads_of_a_running_machine()
    assert len(threads) > 1
    assert all(policy == os.sched_getscheduler(0) and cpus == os.sched_getaffinity(0) for _, policy, cpus in threads)
