# SPDX-License-Identifier: GPL-2.0-only
"""A policy in expressions, exported as C, built into the kernel: it decides there as its text does in the simulator,
and so in the page, whose decisions are the simulator's (tests/sim/test_session.py)."""

import os
import subprocess
from dataclasses import replace

import pytest

from tests.e2e.conftest import BUILD, ROOT
from fairground.judge import agreement
from fairground.machine import simulator
from fairground.judge.calibrate import calibrate
from tests.e2e.test_agreement import mutants

NAME = "turns"
TEXT = os.path.join(ROOT, "examples/policies", f"{NAME}.policy")


@pytest.fixture(scope="module", name="with_policy")
def kernel_with_policy(tmp_path_factory):
    """The build directory of a kernel that has the exported C."""
    tree = tmp_path_factory.mktemp("exported") / "tree"
    mutants.refresh(tree)
    (tree / "examples/policies").mkdir(parents=True, exist_ok=True)
    done = subprocess.run([f"{BUILD}/schedsim", "--export", TEXT], check=True, capture_output=True, text=True)
    (tree / "examples/policies" / f"{NAME}.c").write_text(done.stdout)
    made = subprocess.run(["make", "-j2", "image", f"POLICIES=examples/policies/{NAME}.c"], cwd=tree, check=False,
                          capture_output=True, text=True, env=mutants.environment())
    assert made.returncode == 0, made.stdout + made.stderr
    return str(tree / "build")


@pytest.mark.nightly("a policy whose exported C decides otherwise in the kernel")
def test_the_kernel_decides_as_the_text_does(with_policy, tmp_path, monkeypatch):
    how = replace(agreement.settings_for("cfs", with_policy), sched=NAME)
    run = simulator.run

    def as_text(given, workload, out, costs, more=()):
        return run(replace(given, build=BUILD), workload, out, costs, ("--plugin", TEXT, *more))
    monkeypatch.setattr(simulator, "run", as_text)
    found = agreement.agree(how, "nices", calibrate(how, agreement.TRACED), str(tmp_path), seconds=1)
    for kind in "pick", "tick":
        counts = found[kind]
        assert counts["kernel"] == counts["simulator"] > 100 and counts["numbers"].pairs > 100, kind
        text = agreement.row("nices", NAME, kind, counts)[0]
        assert counts["edits"] == counts["exchanges"] == counts["numbers"].wrong == 0, text
