# SPDX-License-Identifier: GPL-2.0-only
"""Many samples: intervals, sizes of differences, tests, and what is said of policies (docs/measuring.md)."""

import json
import random

import pytest

from tests.sim.conftest import BUILD
from fairground.study import compare, experiment, experiment_file
from fairground.base import samples, stats
from fairground.__main__ import main
from fairground.study.claims import Claim, judge_seeds, verdict
from fairground.study.runs import other_start
from fairground.base.settings import UsageError
from tests.sim.test_experiment_files import SMALL


def test_seeds_are_ranges_and_lists():
    assert stats.parse_seeds("1..4") == [1, 2, 3, 4] and stats.parse_seeds("7, 9..10") == [7, 9, 10]


@pytest.mark.parametrize("text", ["", "x", "4..1", "1,1", "0..3", "1..", "1-3"])
def test_bad_seeds_are_one_sentence(text):
    with pytest.raises(UsageError, match=f"--seeds {text}"):
        stats.parse_seeds(text)


def test_the_interval_holds_the_mean_of_most_samples():
    """Of 200 samples from a known distribution about 95 % have the mean in their interval."""
    draw = random.Random(4)
    inside = sum(found.low <= 10 <= found.high for found in (
        stats.mean([draw.gauss(10, 2) for _ in range(20)]) for _ in range(200)))
    assert 175 <= inside <= 198


def test_an_interval_is_a_function_of_the_samples():
    assert stats.mean([1, 2, 4, 8]) == stats.mean([1, 2, 4, 8])
    assert stats.mean([3, 3, 3]).text() == "3 [3, 3]" and stats.mean([3]).text() == "3"


def test_sizes_of_differences():
    assert stats.cliffs_delta([1, 2], [3, 4]) == 1 and stats.cliffs_delta([3, 4], [1, 2]) == -1
    assert stats.cliffs_delta([1, 2, 3], [1, 2, 3]) == 0 and stats.cliffs_delta([1, 1], [1, 2]) == 0.5
    assert stats.difference([1, 2, 3, 4], [5, 6, 7, 8]).size == "large"
    assert stats.difference([5, 5], [5, 5]).p == 1


def test_corrected_for_the_number_of_tests():
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.holm([0.6, 0.7]) == [1.0, 1.0] and stats.holm([]) == []


def test_a_verdict_needs_a_test():
    """Three runs of each can be as different as they like; of twenty tests of the same policy none may say more."""
    few = stats.difference([1, 2, 3], [7, 8, 9])
    assert stats.verdict(few, few.p) == "too few seeds"
    clear = stats.difference([1, 2, 3, 4, 5], [7, 8, 9, 10, 11])
    assert stats.verdict(clear, clear.p) == "higher" and stats.verdict(clear, 0.2) == "no difference shown"
    draw = random.Random(1)
    found = [samples.Series("simulator", f"case {case}", policy, "m", tuple(draw.gauss(5, 1) for _ in range(10)))
             for case in range(20) for policy in ("cfs", "cfs-again")]
    assert {one.verdict for one in samples.compare(found)} == {"no difference shown"}


def test_a_verdict_needs_runs_for_all_tests():
    """Five runs can show a difference in six tests, not in seven; forty tests need seven runs."""
    clear = stats.difference([1, 2, 3, 4, 5], [7, 8, 9, 10, 11])
    assert stats.verdict(clear, 6 * clear.p, 6) == "higher" and stats.verdict(clear, 7 * clear.p, 7) == "too few seeds"
    assert [stats.fewest(tests) for tests in (1, 2, 6, 7, 23, 24, 40)] == [4, 5, 5, 6, 6, 7, 7]


def judged(values, holds, form="{:.1f}"):
    claim = Claim("value", "-", "> 5", ("cfs",), holds, lambda of_host: of_host["cfs"], form)
    return judge_seeds(claim, {nr: {"simulator": {"cfs": value}} for nr, value in enumerate(values)})


def test_a_claim_near_its_bound_is_open():
    row = judged([6, 6.1, 6.2, 6.3], lambda v: v > 5)
    assert row["pass"] and verdict(row) == "PASS" and row["shown"]["simulator"].startswith("6.2 [6.")
    assert verdict(judged([4, 7, 4.1, 6.2], lambda v: v > 5)) == "OPEN in the simulator"
    assert verdict(judged([4, 4, 5, 4.1], lambda v: v > 5)) == "FAIL in the simulator"


def test_a_value_that_is_no_number_must_hold_for_each_seed():
    spans = [(5, 7), (5, 8)]
    assert not judged(spans, lambda v: v[1] >= 8, "{0[0]} to {0[1]}")["pass"]
    assert judged(spans, lambda v: v[1] >= 7, "{0[0]} to {0[1]}")["pass"]


def test_the_kernel_starts_otherwise_with_each_seed():
    assert other_start(1) == other_start(1) and len({other_start(seed) for seed in range(1, 21)}) == 20
    assert "usleep" in other_start(3)


BURSTS = SMALL.replace('policies = ["cfs"]', 'policies = ["cfs", "eevdf"]').replace("LEAST", "0") \
    .replace("hogs:n=2", "hogs:n=3 bursts:n=3,run=1ms,sleep=4ms").replace("[machine]", 'seeds = "1..3"\n[machine]')


def test_an_experiment_of_many_seeds(monkeypatch, tmp_path, capsys):
    """Its own seeds, or the user's: a claim has an interval, and policies are compared by a test."""
    (tmp_path / "x0.toml").write_text(BURSTS, encoding="utf-8")
    monkeypatch.setattr(experiment_file, "FOLDER", tmp_path)
    monkeypatch.setattr(experiment, "calibrate", lambda *_: {})
    out = tmp_path / "out"
    assert main(["--build", BUILD, "experiment", "x0", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "SEEDS=1..3" in told and "--vary 1 " in told and "too few seeds" in told and "one run" not in told
    assert main(["--build", BUILD, "experiment", "x0", "--seeds", "2,4..9", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "SEEDS=2,4..9" in told and "--vary 2 " in told
    kept = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert list(kept["figures"]) == ["2", "4", "5", "6", "7", "8", "9"]
    share = [kept["figures"][seed]["simulator"]["cfs"]["two"]["share"] for seed in kept["figures"]]
    assert len(set(share)) > 1 and kept["claims"][0]["values"]["simulator"] == share
    assert kept["comparisons"][0]["policies"] == ["cfs", "eevdf"] and kept["comparisons"][0]["p"] <= 1


def compared(capsys, *words):
    assert main(["--build", BUILD, "compare", *words]) == 0
    return capsys.readouterr().out


def test_a_file_of_examples_is_told_from_here(capsys, monkeypatch):
    """Its path is relative, so two checkouts print the same."""
    monkeypatch.chdir(compare.ROOT)
    assert "\nperiodic: --cpus 4 examples/periodic.json\n" in compared(
        capsys, "cfs,bore", "periodic", "--seeds", "1..2", "--time", "20ms")
    monkeypatch.chdir(compare.ROOT / "docs")
    assert compare.workloads(["periodic"]) == {"periodic": "--cpus 4 ../examples/periodic.json"}


def test_policies_are_compared(capsys):
    told = compared(capsys, "cfs,eevdf", "shares", "--seeds", "1..8", "--time", "500ms")
    assert "cfs, eevdf, shares: switches" in told and told.rstrip().count("higher") >= 1
    assert told == compared(capsys, "cfs,eevdf", "shares", "--seeds", "1..8", "--time", "500ms")


def test_few_seeds_give_no_verdict_and_json_has_every_sample(capsys):
    found = json.loads(compared(capsys, "cfs,eevdf", "--cpus 2 hogs:n=3", "--seeds", "1..3", "--time", "200ms",
                                "--json"))
    assert list(found["samples"]) == ["1", "2", "3"]
    assert {one["verdict"] for one in found["rows"]} == {"too few seeds"}


def test_ticks_come_as_often_as_hz_says(capsys):
    words = ("cfs,eevdf", "--cpus 1 hogs:n=3", "--seeds", "1..3", "--time", "1s", "--json")
    found = {hz: json.loads(compared(capsys, *words, *hz)) for hz in ((), ("--hz", "250"), ("--hz", "1000"))}
    assert [one["hz"] for one in found.values()] == [250, 250, 1000]
    samples = [one["samples"] for one in found.values()]
    assert samples[0] == samples[1] != samples[2]
    kept = json.loads(compared(capsys, words[0], "--cpus 1 --hz 1000 hogs:n=3", *words[2:]))
    switches = [list(one["1"]["simulator"]["cfs"].values())[0]["switches"] for one in (samples[2], kept["samples"])]
    assert switches[0] == switches[1] and kept["hz"] is None  # what the workload says counts


@pytest.mark.parametrize("words, message", [
    (["cfs"], "two or more different policies"), (["cfs,cfs"], "two or more different"), (["cfs,o1"], "one of cfs, "),
    (["cfs,bore", "--seeds", "none"], "--seeds none"), (["cfs,bore", "hogz"], "hogz"),
])
def test_bad_comparisons_are_one_sentence(capsys, words, message):
    assert main(["--build", BUILD, "compare", *words]) != 0
    told = capsys.readouterr()
    assert message in told.err and len(told.err.splitlines()) == 1 and not told.out


def test_help_says_what_each_status_means(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--help"])
    told = capsys.readouterr().out
    assert done.value.code == 0 and all(f"\n  {number} " in told for number in (0, 1, 2, 124, 125, 130))
    assert main(["compare", "cfs"]) == 2 and main(["--build", "/nonexistent", "compare", "cfs,bore", "shares"]) == 125
