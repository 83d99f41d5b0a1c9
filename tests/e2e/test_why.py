# SPDX-License-Identifier: GPL-2.0-only
"""`fairground why --cmd`: the machine's longest waits, beside what the program saw of them by its own clock."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.e2e.conftest import BUILD, ROOT

pytestmark = pytest.mark.exact


def test_the_longest_wait_is_the_one_that_the_program_saw(tmp_path):
    """Three hogs print their longest gaps. Who ran instead fills each wait, by a rule that is recorded."""
    done = subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "why", "--smp", "1", "--icount", "1",
                           "--sched", "eevdf", "--cmd", "hog -n 3 -t 100ms", "--waits", "20", "--json"],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": f"{ROOT}/tools", "OUT": str(tmp_path / "x.dat"),
                               "TASK": "hog"})
    assert done.returncode == 0, done.stderr
    gaps = [float(ms) for ms in re.findall(r"^ *\d+ +0(?: +\S+){5} +\d+ +\d+ +([\d.]+) ", done.stderr, re.MULTILINE)]
    found = json.loads(done.stdout)
    assert len(gaps) == 3 and len(found["rows"]) == 20 and found["wakeups_known"] and found["decisions_known"]
    assert found["rows"][0]["wait_ns"] / 1e6 == pytest.approx(max(gaps), abs=0.2)
    assert found["sched"] == "eevdf" and not any(row["futures"] for row in found["rows"])  # of the simulator alone
    for row in found["rows"]:
        assert sum(each["ns"] for each in row["ran_instead"]) == row["wait_ns"]
        for each in row["ran_instead"]:
            assert each["rule"] or each["pid"] is None, row
    assert any(each["rule"] == "earliest_deadline" for row in found["rows"] for each in row["ran_instead"])
