# SPDX-License-Identifier: GPL-2.0-only
"""make bench measures each policy and stands it beside Linux; what it leaves for programs."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

BUILD = os.environ.get("B", "build")


def bench(*words):
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "bench", "--kvm", "0", *words],
                          capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": "tools"})
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words, scheds", [((), ["cfs", "eevdf"]), (("--sched", "bore"), ["bore"])])
def test_policies_stand_beside_linux(words, scheds):
    status, told, _ = bench("--cmd", "bench yield_switch", *words)
    assert status == 0 and all(f"{sched}: " in told for sched in scheds), told
    found = json.loads(pathlib.Path(BUILD, "bench.json").read_text(encoding="utf-8"))
    assert found["policies"] == scheds and set(found["linux"]) == {"6.1", "6.12", "7.2"}
    row, = found["rows"]
    assert row["operation"] == "yield_switch" and list(row["instructions"]) == scheds
    assert row["best"] == min(row["linux"].values())
    for sched in scheds:
        assert 300 < row["instructions"][sched] < row["best"]
        assert row["ratio"][sched] == row["instructions"][sched] / row["best"]
        assert row["pass"][sched] == (row["ratio"][sched] <= found["goal"])


@pytest.mark.parametrize("cmd, status, says", [("true", 2, "it prints no figure of bench"),
                                               ("bench nothing", 1, "bench ended with status 2")])
def test_a_command_that_measures_nothing_is_told(cmd, status, says):
    ended, told, error = bench("--sched", "cfs", "--cmd", cmd)
    assert ended == status and says in error and not told, error
