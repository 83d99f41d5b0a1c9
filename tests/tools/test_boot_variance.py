# SPDX-License-Identifier: GPL-2.0-only
"""The spreads of boots in docs/measuring.md: the programs of a boot, known spreads, verdicts, kept rows."""

import json
import random

import pytest

import boot_variance

KEPT = json.loads(boot_variance.KEPT.read_text(encoding="utf-8"))
ROWS = KEPT["rows"]


def drawn(seed, spread, mean=100.0):
    draw = random.Random(seed)
    return [draw.gauss(mean, spread) for _ in range(30)]


def test_the_spread_of_a_known_distribution():
    """4 % of the mean, whatever the unit; nineteen of twenty intervals hold it, or nearly."""
    assert boot_variance.spread([3.0, 3.0, 3.0]) == 0 == boot_variance.spread([0.0, 0.0])
    assert boot_variance.spread([90.0, 110.0]) == pytest.approx(100 * 200**0.5 / 100)
    held = 0
    for seed in range(100):
        values = drawn(seed, 4.0)
        assert boot_variance.spread(values) == pytest.approx(boot_variance.spread([7 * each for each in values]))
        low, high = boot_variance.interval(values)
        held += low <= 4 <= high
    assert 88 <= held <= 99
    assert boot_variance.interval([5.0] * 30) == (0, 0)
    assert 0 <= boot_variance.interval([0.0] * 28 + [1.0, 2.0])[0]


def test_a_wider_spread_is_seen_and_an_equal_one_is_not():
    """Of one shape, with another mean: no difference; three times as wide: one."""
    alarms = sum(boot_variance.other_spread(drawn(seed, 4.0), drawn(1000 + seed, 8.0, 200.0)) < 0.05
                 for seed in range(200))
    assert 2 <= alarms <= 20
    assert boot_variance.other_spread(drawn(1, 2.0), drawn(2, 6.0)) < 0.001
    assert boot_variance.other_spread([2.0] * 30, [3.0] * 30) == 1


@pytest.mark.nightly("the figures of one workload that are another's")
def test_the_programs_of_a_boot_are_told_apart(tmp_path):
    """Two CPUs work all the time where hogs are; the messages go through pipes in no time."""
    boot_variance.record(boot_variance.KERNEL, 3, tmp_path / "run.dat")
    found = boot_variance.measure(tmp_path / "run.dat")
    assert list(found) == list(boot_variance.WORKLOADS)
    done = {name: figures["done_ms"] for name, figures in found.items()}
    assert done["shares"] == pytest.approx(600, rel=0.05) and done["sleepers"] == pytest.approx(600, rel=0.05)
    assert done["messages"] == pytest.approx(2000, rel=0.05) and done["pipes"] < 50 and 500 < done["jobs"] < 900


def row(linux, kernel, p):
    return {"workload": "shares", "metric": "wait_ms", "p": p, "samples": {host: [2.0] for host in boot_variance.HOSTS},
            "spread": {"linux:6.12": [linux, 1, 200], "kernel:+eevdf": [kernel, 0.5, 3], "sim:+eevdf": [1, 1, 1]}}


def test_what_is_said():
    rows = [row(4.0, 2.0, 0.01), row(4.0, 16.0, 0.01), row(4.0, 4.0, 0.2), row(0.0, 4.0, 0.2)]
    assert [boot_variance.verdict(one) for one in rows] == [
        "wider on Linux", "wider here", "no difference shown", "no difference shown"]
    told = {"linux": "6.12.1", "seeds": 7, "rows": rows, "again": {"linux:6.12": False, "kernel:+eevdf": True}}
    text = boot_variance.said(told)
    assert "Of 4 spreads, each of 7 runs, 1 are shown to be wider on Linux, 1 in this kernel." in text
    assert "by Linux, is 1. " in text and "gave other figures on linux:6.12." in text
    assert list(boot_variance.table(told))[2] == (
        "| `shares`: mean wait, ms | 2: 4 % [1, 200] | 2: 2 % [0.5, 3] | 2: 1 % [1, 1] | wider on Linux |")


def test_kept_rows_are_of_their_samples():
    """Nothing in the file that its samples do not say: they are counted, and the spreads are theirs."""
    assert {one["workload"] for one in ROWS} == set(boot_variance.WORKLOADS)
    figures = {host: [{name: {one["metric"]: one["samples"][host][nr] for one in ROWS if one["workload"] == name}
                       for name in boot_variance.WORKLOADS} for nr in range(KEPT["seeds"])]
               for host in boot_variance.HOSTS}
    again = boot_variance.kept({}, figures)["rows"]
    for one, other in zip(ROWS, again, strict=True):
        assert other["p"] == pytest.approx(one["p"], rel=1e-3), one["metric"]
        for host in boot_variance.HOSTS:
            assert len(one["samples"][host]) == KEPT["seeds"]
            assert other["spread"][host] == pytest.approx(one["spread"][host], rel=1e-3), (one["metric"], host)
