# SPDX-License-Identifier: GPL-2.0-only
"""A debug build: it checks every invariant of the scheduler every few ticks and every rule about locks at every lock,
under
the kernel's own tests and under absurd input.
"""

import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, TIMEOUT_S, settings
from fairground.machine import run_batch

DEBUG_BUILD = BUILD + "-debug"
FUZZ = "fuzz -s {seed} -n {number} && cat /proc/schedstat /proc/[0-9]*/stat > /dev/null && hog -n 8 -w 20ms"


@pytest.fixture(scope="module")
def debug_build(tmp_path_factory):
    """A directory with a debug kernel and the usual programs. One process builds, others wait for it."""
    make = ["make", "kernel", "DEBUG=1", f"B={os.path.relpath(DEBUG_BUILD, ROOT)}"]
    subprocess.run(["flock", BUILD, *make], cwd=ROOT, check=True, stdout=subprocess.DEVNULL, timeout=2 * TIMEOUT_S)
    build = tmp_path_factory.mktemp("debug")
    shutil.copy(os.path.join(DEBUG_BUILD, "fairground.elf"), build)
    shutil.copy(os.path.join(BUILD, "initramfs.cpio"), build)
    return str(build)


def boot_debug(build, command, **how):
    how = settings(command, **how)
    how.build = build
    return run_batch(how)


def test_selftests(debug_build):
    outcome = boot_debug(debug_build, "", append="selftest=all")
    assert outcome.status == 0 and re.search(r"# [1-9]\d+ passed, 0 failed", outcome.console), outcome.console


def test_orders_by_sysrq_keep_the_rules_of_locks(debug_build):
    """The scheduler's locks are for code without interrupts: a tick inside would wait for its own CPU."""
    orders = "for key in t l t; do echo $key > /proc/sysrq-trigger; done"
    outcome = boot_debug(debug_build, f"hog -n 4 -t 1s & {orders}; wait")
    assert outcome.status == 0, outcome.console
    assert outcome.console.count("\ncpu#0") == 2 and "NMI backtrace for cpu 3" in outcome.console


def test_no_left_over_byte_reaches_a_program(debug_build):
    """The kernel of a debug build fills variables, objects and pages with a pattern before their first use."""
    outcome = boot_debug(debug_build, "leakcheck", cpus=1, icount=True)
    assert outcome.status == 0 and re.search(r"^[67]\d passed, 0 failed$", outcome.console, re.M), outcome.console
    assert len(re.findall(r"^[^[].* not implemented$", outcome.console, re.M)) < 5  # its own lines, not the kernel's


@pytest.mark.parametrize("sched", ["cfs", "eevdf"])
def test_fuzz_with_every_check(debug_build, sched):
    outcome = boot_debug(debug_build, FUZZ.format(seed=1, number=5000), sched=sched)
    assert outcome.status == 0, outcome.console


@pytest.mark.parametrize("seed", [2, 3])
def test_fuzz(boot, seed):
    outcome = boot(FUZZ.format(seed=seed, number=10000))
    assert outcome.status == 0, outcome.console
    assert re.search(r"calls: 10000 in 100 processes", outcome.console)
    assert re.search(r"files: 10000 in 100 processes", outcome.console)
