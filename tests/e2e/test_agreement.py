# SPDX-License-Identifier: GPL-2.0-only
"""The simulator decides as the kernel does: the agreement reached, workload by workload and scheduler by scheduler, and
the arithmetic behind it."""

import pytest

from conftest import BUILD
from fairground import agreement
from fairground.agreement import align, compare, Decision
from fairground.calibrate import calibrate
from fairground.settings import SCHEDULERS


@pytest.mark.parametrize("a, b, edits, exchanges", [
    ("ABCABC", "ABCABC", 0, 0),
    ("ABCABC", "ABCBAC", 0, 1),    # a tie decided the other way
    ("ABCABC", "ABABC", 1, 0),     # one turn less
    ("ABCABC", "ABXABC", 1, 0),    # another task
    ("ABAB", "BABA", 0, 2),
    ("", "AB", 2, 0),
    ("AAAA", "BBBB", 4, 0),
])
def test_alignment(a, b, edits, exchanges):
    assert align(a, b) == align(b, a) == (edits, exchanges)


def test_agreement_is_over_all_cpus():
    def one(text):
        return [Decision(i, role) for i, role in enumerate(text)]
    counts = compare({0: one("ABAB"), 1: one("CDCDCD")}, {0: one("ABAB"), 1: one("CDCD")})
    assert (counts["kernel"], counts["simulator"], counts["edits"]) == (10, 8, 2)
    assert counts["agreement"] == pytest.approx(0.8)


def test_two_runs_that_have_nothing_in_common_do_not_agree():
    sides = [{0: [Decision(0, role)] * 10} for role in "AB"]
    assert compare(*sides)["agreement"] == 0


@pytest.mark.parametrize("sched", SCHEDULERS)
def test_kernel_and_simulator_agree(tmp_path, sched):
    """The agreement is as good as when FLOORS was written. Half of the time suffices, except with BORE's longer
    turns."""
    settings = agreement.settings_for(sched, BUILD)
    costs = calibrate(settings, agreement.TRACED)
    for name in agreement.CASES:
        counts = agreement.agree(settings, name, costs, str(tmp_path), seconds=2 if sched == "bore" else 1)
        text, good = agreement.row(name, sched, counts)
        assert good and agreement.FLOORS[name, sched] > 0, text


def test_another_policy_does_not_agree(tmp_path, monkeypatch):
    """EEVDF in the kernel, CFS in the simulator: the comparison can tell."""
    settings = agreement.settings_for("eevdf", BUILD)
    run = agreement.simulator.run

    def as_cfs(how, *rest):
        return run(agreement.replace(how, sched="cfs"), *rest)
    monkeypatch.setattr(agreement.simulator, "run", as_cfs)
    counts = agreement.agree(settings, "nices", {}, str(tmp_path), seconds=1)
    assert counts["agreement"] < agreement.FLOORS["nices", "eevdf"]
