# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own tests, on machines of several sizes and under each policy."""

import pytest

from fairground.machine.machine import run_batch
from fairground.base.settings import SCHEDULERS, make_settings
from tests.conftest import BUILD

MACHINES = [(cpus, SCHEDULERS[0]) for cpus in (1, 2, 4, 8)] + [(4, sched) for sched in SCHEDULERS[1:]]


@pytest.mark.sampled(17, "a selftest that fails on one size of machine or under one policy")
@pytest.mark.parametrize("cpus, sched", MACHINES)
def test_selftests(tap, cpus, sched):
    given = {"smp": str(cpus), "sched": sched, "append": "selftest=all", "kvm": "0", "timeout": "900"}
    outcome = run_batch(make_settings(given, build=BUILD))
    tap(f"{outcome.console}\n{outcome.problem}", outcome.status)
