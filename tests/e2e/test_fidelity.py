# SPDX-License-Identifier: GPL-2.0-only
"""The fast third of the rows of make fidelity: each within its bound of Linux's figure, or explained. And make
first-difference between two policies of ours.
"""

import glob
import json
import os
import subprocess
import sys

import pytest

BUILD = os.environ.get("B", "build")


def fairground(*words):
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, *words], text=True, check=False,
                          capture_output=True, env={**os.environ, "PYTHONPATH": "tools"})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly("a row of make fidelity that is out of its bound")
@pytest.mark.parametrize("sched", ["cfs", "eevdf"])
def test_switches_shares_and_latencies_are_linuxs(sched):
    assert ", 0 fail" in fairground("fidelity", "--fast", "--scheds", sched)


@pytest.mark.nightly("a program for sched_ext that gives other shares than on Linux, or waits")
def test_shares_and_waits_under_a_program_are_linuxs():
    assert ", 0 explained, 0 fail" in fairground("fidelity", "--scheds", "scx:vtime", "--runs", "1")


@pytest.mark.nightly("metrics of a run on Linux that are those of another thing")
@pytest.mark.skipif(not glob.glob(f"{BUILD}/linux/boot/vmlinuz-6.12.*"), reason="setup.sh --compare fetches it")
def test_linux_is_a_side_of_a_comparison():
    """Two hogs on two CPUs work all the time on both, and nobody else counts."""
    told = json.loads(fairground("compare", "linux:6.12", "kernel:+eevdf", "shares", "--seeds", "1..2", "--time",
                                 "500ms", "--json"))
    for runs in told["samples"].values():
        for side, figures in runs["Linux 6.12 and kernel"].items():
            assert figures["shares"]["done_ms"] == pytest.approx(1000, rel=0.05), side
            assert 0 < figures["shares"]["wait_p99_ms"] < 100 and figures["shares"]["migrations"] < 60, side


@pytest.mark.parametrize("other, says", [("cfs", "no difference: "), ("eevdf", "then one differs")])
def test_the_first_difference_of_two_policies(other, says):
    text = fairground("first-difference", "cfs", other, "--smp", "1", "--cmd",
                      "mix -t 100ms hog:n=3 burst:run=311us,sleep=2713us")
    assert says in text
    if other != "cfs":
        assert "\ncfs, CPU 0" in text and f"\n{other}, CPU 0" in text and text.count(" * mix#") == 2, text
