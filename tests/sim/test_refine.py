# SPDX-License-Identifier: GPL-2.0-only
"""`fairground sweep --refine`: points go where a metric bends, are the same again, and the table names them."""

import json

import pytest

from fairground.study.grid import Cell
from fairground.study.refine import HZ, Axis, axis_of, cells_at, choose, intervals
from fairground.base.settings import UsageError
from tests.sim.test_sweep import kept, rows, sweep

KINK = 6_130
TEXT = '''\
title = "Where turns bend"
policies = ["cfs", "eevdf"]
workloads = ["hogs:n=3 bursts:n=2"]
topologies = ["1x1x2x1"]
time = "60ms"
seeds = "1..2"

[tunables]
base_slice_ns = { policies = ["eevdf"], values = [1_000_000, 5_000_000, 9_000_000, 20_000_000] }

[costs]
switch = "2us"
'''


def cell(policy, value, seed=1, hz=250):
    return Cell(policy, "hogs", "1x1x1x1", hz, "1ms", seed, {"slice": value} if value is not None else {}, (), {}, {})


def refined(cells, metric, most, seeds=(1,), axis=Axis("slice")):
    """The points that are added, in rounds, as (policy, value)."""
    cells, added, rounds = list(cells), [], 0
    while points := choose(cells, axis, metric, most - len(added)):
        added += [(line.policy, value) for line, value in points]
        cells += cells_at(points, axis, seeds)
        rounds += 1
        assert rounds <= most
    return added


def test_a_parabola_bends_alike_everywhere_and_a_line_nowhere():
    curve = intervals({x: x * x for x in range(0, 50, 10)})
    assert [each.bend for each in curve] == pytest.approx([25.0] * 4)  # h^2 f''/8, and f'' = 2
    assert {each.bend for each in intervals({x: 3 * x + 7 for x in (0, 2, 11, 40)})} == {0}
    assert intervals({0: 1.0, 5: 2.0}) == []


def test_a_kink_attracts_the_points():
    """A metric is flat up to KINK and then grows: half of the points are within 1 % of the range around it, the others
    on the way there. A straight metric gets none."""
    def metric(each):
        return float(max(0, each.tunables["slice"] - KINK))

    grid = [cell("eevdf", x) for x in range(0, 10_001, 2_000)]
    added = [value for _, value in refined(grid, metric, 24)]
    assert len(added) == len(set(added)) == 24
    assert sum(abs(value - KINK) < 100 for value in added) >= 12
    assert all(abs(value - KINK) <= 3_000 for value in added)
    places = sorted({*added, *range(0, 10_001, 2_000)})
    around = [(a, b) for a, b in zip(places, places[1:]) if a <= KINK <= b]
    assert around[0][1] - around[0][0] <= 8
    assert refined(grid, lambda each: 3.0 * each.tunables["slice"], 24) == []


def test_the_line_that_bends_is_refined_and_others_are_not():
    """Two lines of one grid, in two seeds; only the mean of the second bends. A third has no such tunable."""
    def metric(each):
        if each.policy == "cfs":
            return float(each.tunables["slice"])
        return abs(each.tunables["slice"] - 500.0) + (100 if each.seed == 1 else -100)

    grid = [cell(policy, x, seed) for policy in ("cfs", "eevdf") for x in (0, 300, 800, 1000) for seed in (1, 2)]
    added = refined([*grid, cell("bore", None)], metric, 7, seeds=(1, 2))
    assert len(added) == 7 and {policy for policy, _ in added} == {"eevdf"}
    assert added == refined([*grid, cell("bore", None)], metric, 7, seeds=(1, 2))
    assert added[:4] == refined(grid, metric, 4, seeds=(1, 2))  # fewer points are the first of more


def test_values_that_are_missing_or_used_up():
    """A point of which a seed failed does not count, and is not tried again; between neighbours there is nothing."""
    grid = [cell("eevdf", x) for x in (0, 1, 2, 100, 200)]

    def metric(each):
        return None if each.tunables["slice"] == 51 else float(max(0, each.tunables["slice"] - 60))

    added = [value for _, value in refined(grid, metric, 50)]
    assert added.count(51) == 1 and len(added) == len(set(added)) and not {0, 1, 2, 100, 200} & set(added)
    assert refined([cell("eevdf", x) for x in (0, 1, 2)], lambda each: float(each.tunables["slice"] == 1), 9) == []


def test_the_axis():
    grid = [cell("cfs", x, hz=hz) for x in (1, 2, 3) for hz in (100, 250)]
    assert axis_of(grid, None) == axis_of(grid, "slice") == Axis("slice")
    more = [*grid, *(cell("cfs", 1, hz=hz) for hz in (300, 1000))]
    assert axis_of(more, HZ).at(more[0], 600).hz == 600
    for cells, name, message in ((grid, HZ, "--axis hz: .*: slice$"), (grid, "x", "--axis x"),
                                 (more, None, "--axis says along which of hz, slice"), (grid[:2], None, "no tunable")):
        with pytest.raises(UsageError, match=message):
            axis_of(cells, name)


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(TEXT)
    return path


@pytest.mark.nightly("a refinement that asks for the wrong cells")
def test_a_sweep_is_refined_and_again(grid):
    words = ("--refine", "switches", "--points")
    status, out, err = sweep(grid, *words, "3")
    assert status == 0, err
    assert out.startswith("16 cells: 0 were there, 16 run, 0 failed; 6 were added to the grid"), out
    assert len([line for line in err.splitlines() if " workers: " in line]) == 1
    found = rows(grid)
    added = {(row["base_slice_ns"], row["added"]) for row in found if row["added"]}
    assert len(found) == 16 and len({value for value, _ in added}) == 3 and min(nr for _, nr in added) == 1
    assert {row["policy"] for row in found if row["added"]} == {"eevdf"}
    assert not {value for value, _ in added} & {1_000_000, 5_000_000, 9_000_000, 20_000_000}
    # The cells that were added are those that the metric, worked out from the table, asks for.
    means = {}
    for row in found:
        if row["policy"] == "eevdf" and not row["added"]:
            means.setdefault(row["base_slice_ns"], []).append(row["switches"] / 2)
    best = max(intervals({value: sum(each) for value, each in means.items()}))
    assert ((best.low + best.high) // 2, 1) in added
    # The same again runs nothing; more points keep these; another metric or none leaves them out of the table.
    status, out, err = sweep(grid, *words, "3")
    assert status == 0 and out.startswith("16 cells: 16 were there, 0 run") and "workers" not in err
    assert rows(grid) == found
    status, out, _ = sweep(grid, *words, "5", "--json")
    assert status == 0 and {key: json.loads(out)[key] for key in ("cells", "found", "run", "added")} == {
        "cells": 20, "found": 16, "run": 4, "added": 10}
    assert {value for value, _ in added} <= {row["base_slice_ns"] for row in rows(grid) if row["added"]}
    status, out, _ = sweep(grid)
    assert status == 0 and out.startswith("10 cells: 10 were there") and "added" not in rows(grid)[0]


@pytest.mark.parametrize("words, message", [
    (("--refine", "switches"), "--refine METRIC and --points N belong together"),
    (("--points", "3"), "--refine METRIC and --points N belong together"),
    (("--axis", "hz"), "--refine METRIC and --points N belong together"),
    (("--refine", "switches", "--points", "3", "--axis", "hz"), "--axis hz: "),
    (("--refine", "switchs", "--points", "3"), "invalid choice: 'switchs'"),
    (("--refine", "switches", "--points", "0"), "--points"),
])
def test_options_that_do_not_fit_are_told(grid, words, message):
    status, _, err = sweep(grid, *words)
    assert status == 2 and message in err and not kept(grid)
