# SPDX-License-Identifier: GPL-2.0-only
"""Instructions of an operation of the simulator (`make bench-sim` has the table): no change makes it dearer unseen."""

import shutil

import pytest

from tests.sim.conftest import BUILD

from bench_sim import for_an_operation

# A twentieth above the counts when the limits were set, with gcc 12.
MOST = {
    (64, "sleep and wake"): 943, (64, "the same, pinned"): 822, (64, "tick and switch"): 903,
    (1024, "sleep and wake"): 1320, (1024, "the same, pinned"): 908, (1024, "tick and switch"): 1019,
    (4096, "sleep and wake"): 1441, (4096, "tick and switch"): 1381,
}

pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind counts the instructions")


def holds(cpus, name):
    return 0 < for_an_operation(BUILD, "cfs", cpus, name) <= MOST[cpus, name]


@pytest.mark.parametrize("name", ["sleep and wake", "tick and switch"])
def test_an_operation_costs_no_more_than_it_did(name):
    assert holds(64, name)


@pytest.mark.nightly("an operation that costs more on a large machine, or more of every machine's events")
@pytest.mark.parametrize(("cpus", "name"), [limit for limit in MOST if limit[0] > 64 or "pinned" in limit[1]])
def test_an_operation_costs_no_more_on_any_machine(cpus, name):
    assert holds(cpus, name)
