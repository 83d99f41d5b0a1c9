# SPDX-License-Identifier: GPL-2.0-only
"""The fast third of the rows of make fidelity: each within its bound of Linux's figure, or explained."""

import os
import subprocess
import sys

import pytest

BUILD = os.environ.get("B", "build")


@pytest.mark.parametrize("sched", ["cfs", "eevdf"])
def test_switches_shares_and_latencies_are_linuxs(sched):
    words = [sys.executable, "-m", "fairground", "--build", BUILD, "fidelity", "--fast", "--scheds", sched]
    done = subprocess.run(words, text=True, capture_output=True, check=False,
                          env={**os.environ, "PYTHONPATH": "tools"})
    assert done.returncode == 0 and ", 0 fail" in done.stdout, done.stdout + done.stderr
