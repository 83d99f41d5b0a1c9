# SPDX-License-Identifier: GPL-2.0-only
"""The README's pictures are those that are drawn, and show what the simulator reports."""

import re
import subprocess
import sys

import pytest

from tests.sim.conftest import BUILD, ROOT

import picture


@pytest.mark.parametrize("policy", picture.POLICIES)
def test_bars_fill_the_time_and_nobody_runs_twice(policy):
    """One CPU and programs that never sleep: the bars of all rows are the whole window, without overlap."""
    rows = picture.simulate(BUILD, policy)
    bars = sorted(bar for row in rows for bar in row.runs)
    assert sum(length for _, length in bars) == pytest.approx(picture.LAST_MS - picture.FIRST_MS)
    assert all(start + length <= following + 1e-6 for (start, length), (following, _) in zip(bars, bars[1:]))


@pytest.mark.parametrize("policy", picture.POLICIES)
def test_a_task_that_never_sleeps_runs_or_waits(policy):
    for row in picture.simulate(BUILD, policy)[:2]:
        assert sum(length for _, length in row.runs + row.waits) == pytest.approx(picture.LAST_MS - picture.FIRST_MS)


def test_the_picture_in_the_readme_is_the_one_that_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    subprocess.run([sys.executable, f"{ROOT}/tools/scripts/picture.py", tmp_path], check=True,
                   env={"PYTHONPATH": f"{ROOT}/tools", "PATH": "/usr/bin:/bin", "B": BUILD})
    version = re.compile(r"Matplotlib v[\d.]+")
    for name in ("policies", "lag", *picture.GRAPHS, *(f"linux_{kind}" for kind in picture.GRAPHS)):
        drawn = (tmp_path / f"{name}.svg").read_text()
        kept = open(f"{ROOT}/docs/img/{name}.svg", encoding="utf-8").read()
        if version.search(drawn)[0] != version.search(kept)[0]:
            pytest.skip("another matplotlib draws the same in other words")
        assert drawn == kept, f"{name}: the scheduler decides, or matplotlib draws, otherwise now: make picture"
