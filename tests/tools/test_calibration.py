# SPDX-License-Identifier: GPL-2.0-only
"""docs/calibration.md: loads that are the same on each host, errors, and rows that are of the cases as they are."""

import json
import os

import pytest

import calibration
from fairground.judge.fidelity import load_cases
from fairground.machine.linux import KERNELS

BUILD = os.environ.get("B", "build")
KEPT = json.loads(calibration.KEPT.read_text(encoding="utf-8"))["rows"]


@pytest.mark.parametrize("command, words", [
    ("mix -t 2s hog:n=2,policy=rr:10 burst:run=311us,sleep=2713us,nice=5,name=x", [
        "--time", "2s", "hogs:n=2,policy=rr,prio=10", "bursts:run=311us,sleep=2713us,nice=5,n=1,policy=normal"]),
    ("mix -t 1s hog:cpus=0-1,slice=3ms", ["--time", "1s", "hogs:cpus=0-1,slice=3ms,n=1,policy=normal"]),
    ("mix -t 1s fork:run=731us", None), ("mix -t 1s hog:group=a", None), ("hack -g 1", None),
    ("mix -t 1s burst:run=1ms,sleep=2ms,deadline=4ms/9ms", None), ("mkdir a\nmix -t 1s hog\nrmdir a", None),
])
def test_a_mix_is_told_to_the_simulator_or_left_out(command, words):
    assert calibration.words_of(command) == words


def test_figures_are_those_of_mix():
    """Two hogs of nice 0 and 5 share one CPU as their weights, 1024 and 335; each part has its own figures."""
    runs = calibration.simulated(BUILD, "cfs", "mix -t 2s hog:nice=5,name=low hog:name=high", 1)
    assert len(runs) == len(calibration.SEEDS)
    for run in runs:
        assert run["high.share"] == pytest.approx(100 * 1024 / 1359, abs=0.5)
        assert run["low.share"] + run["high.share"] == pytest.approx(100)
        assert run["low.cpu_ms"] + run["high.cpu_ms"] == pytest.approx(2000, rel=0.01)
        assert run["low.wait_ms"] == pytest.approx(run["high.cpu_ms"], rel=0.02) and run["low.slices"] > 50
    for run in calibration.simulated(BUILD, "cfs", "mix -t 1s hog burst:run=311us,sleep=2713us,policy=fifo:10", 1):
        assert 0 < run["burst.late_p50_us"] < 20 and run["burst.bursts"] == pytest.approx(1e6 / (311 + 2713), rel=0.02)


def test_what_a_build_left_is_kept_with_the_simulators_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "SEEDS", range(1, 3))
    row = {"sched": "cfs", "ours_runs": [997.0], "linux_runs": [998.0, 999.0]}
    (tmp_path / "fidelity.json").write_text(json.dumps({"commit": "abc", "rows": [
        row | {"row": name} for name in ("hogs-2.hog.wait_ms", "hogs-2.hog.unknown", "forks-2.hog.cpu_ms")]}))
    os.symlink(os.path.abspath(f"{BUILD}/schedsim"), tmp_path / "schedsim")
    kept = calibration.take(str(tmp_path))
    assert kept["commit"] == "abc" and [one["row"] for one in kept["rows"]] == ["hogs-2.hog.wait_ms"]
    one, = kept["rows"]
    assert one["kernel"] == [997.0] and one["Linux"] == [998.0, 999.0]
    assert one["simulator"] == pytest.approx([1000, 1000], rel=0.02)


def rows(figure, *errors):
    return [{"sched": "cfs", "row": f"case-{nr}.{figure}", "simulator": [100.0 + each], "kernel": [90.0, 100.0, 300.0],
             "Linux": [200.0]} for nr, each in enumerate(errors)]


def test_errors_are_of_medians_and_the_worst_is_named():
    lines = list(calibration.by_metric(rows("hog.wait_ms", 1.0, -2.0, 3.0, 40.0)))
    assert lines[0] == "| waits | simulator by kernel | 4 | 2.0 % | 40.0 % | 40.0 %: case-3.hog.wait_ms, cfs |"
    assert "| waits | kernel by Linux | 4 | 50.0 % | 50.0 % | 50.0 %" in lines[1]
    late, = list(calibration.by_workload(rows("burst.late_p50_us", -30.0)))
    assert late == "| case-0.burst.late_p50_us | cfs | 70 | 100 | 200 | -30.0 us | -100.0 us | -130.0 us |"
    moved, = list(calibration.by_workload(rows("hog.migrations", 7.0)))
    assert moved == "| case-0.hog.migrations | cfs | 107 | 100 | 200 | +7.0 | -100.0 | -93.0 |"


def test_published_numbers_are_counted():
    def claim(published, ours, verdict="not reproduced"):
        return {"claim": "x", "published": published, "shown": {"simulator": ours}, "verdict": verdict}
    told = {"x0": {"claims": [claim("+20.00", "+6.28"), claim("-1.0", "+0.5"), claim("100", "150 [1, 2]", "PASS"),
                              claim("4", "2"), claim("small", "0.6"), claim("0", "1")]}, "x00": {"claims": []}}
    assert list(calibration.published(told)) == ["| [x0](experiments.md#x0) | 5 | 1 | 1 of 2 | 1 | 0.5 | 1.5 |"]


@pytest.mark.parametrize("sched", KERNELS)
def test_kept_rows_are_of_the_cases_as_they_are(sched):
    cases = {case.name: case for case in load_cases(sched)}
    of = [row for row in KEPT if row["sched"] == sched]
    assert len(of) > 40 and {calibration.metric_of(row["row"]) for row in of} == set(calibration.METRICS)
    for row in of:
        case, _, figure = row["row"].partition(".")
        assert calibration.words_of(cases[case].cmd) and row["row"] in {each.name for each in cases[case].rows}, figure
        assert all(row[host] for host in (calibration.SIMULATOR, calibration.KERNEL, calibration.LINUX))
