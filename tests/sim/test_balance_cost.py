# SPDX-License-Identifier: GPL-2.0-only
"""The cost of balancing for each CPU hardly grows with the machine (`make bench-balance` has the table)."""

import math
import os
import shutil
import subprocess
import sys

import pytest

from tests.sim.conftest import BUILD, ROOT

from balance_cost import balance_instructions, churn, crowded, half_idle, looks

SMALL, LARGE = (64, "2x32x1"), (1024, "4x8x32x1")


@pytest.mark.parametrize("load", [half_idle, crowded])
def test_ticks_cost_grows_no_faster_than_the_logarithm_of_the_cpus(load):
    """Long enough for passes over the whole of the larger machine: every 1 to 2 s if the CPU idles."""
    small, large = (looks(BUILD, topology, 5, load(cpus)) for cpus, topology in (SMALL, LARGE))
    assert 0 < large <= small * math.log2(LARGE[0]) / math.log2(SMALL[0])


@pytest.mark.nightly("a search whose cost grows with the machine")
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind counts the instructions")
def test_searches_of_newly_idle_cpus_cost_no_more_than_that():
    small, large = (balance_instructions(BUILD, "balance_newly_idle", cpus, topology, 0.05, churn(cpus))
                    for cpus, topology in (SMALL, LARGE))
    assert 0 < large <= small * math.log2(LARGE[0]) / math.log2(SMALL[0])


def test_unknown_machines_are_refused_with_the_usage():
    done = subprocess.run([sys.executable, f"{ROOT}/tools/scripts/balance_cost.py", "63"], capture_output=True,
                          text=True, check=False, env={**os.environ, "PYTHONPATH": f"{ROOT}/tools", "B": BUILD})
    assert done.returncode == 1 and "usage: make bench-balance" in done.stderr and not done.stdout
