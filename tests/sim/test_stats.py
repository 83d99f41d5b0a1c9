# SPDX-License-Identifier: GPL-2.0-only
"""Many samples: intervals, sizes of differences, tests, and what is said of policies (docs/measuring.md)."""

import json
import math
import random
import re
import statistics

import pytest

from tests.sim.conftest import BUILD
from fairground.study import experiment, experiment_file
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


SHAPES = {
    "normal": lambda draw: draw.gauss(10, 2), "skewed": lambda draw: draw.expovariate(1),
    "long tail": lambda draw: math.exp(draw.gauss(0, 1.5)),
    "two heaps": lambda draw: draw.gauss(draw.choice((0, 9)), 1),
    "counts": lambda draw: float(int(draw.expovariate(0.4))),
}
DRAWS, LEAST = 1000, 0.93


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("nr", [5, 10, 20])
def test_an_interval_holds_the_median_whatever_the_shape(shape, nr):
    draw = random.Random(f"{shape} {nr}")
    everything = sorted(SHAPES[shape](draw) for _ in range(20_001))
    true = everything[10_000]
    found = [stats.median([SHAPES[shape](draw) for _ in range(nr)]) for _ in range(DRAWS)]
    assert LEAST <= sum(each.low <= true <= each.high for each in found) / DRAWS


@pytest.mark.parametrize("nr", [5, 10, 20])
def test_an_interval_holds_the_difference(nr):
    """Pairs that share most of what varies: b is a and 1 more, with noise."""
    draw = random.Random(nr)
    found = []
    for _ in range(DRAWS):
        a = [draw.expovariate(0.1) for _ in range(nr)]
        found.append(stats.difference(a, [each + 1 + draw.gauss(0, 1) for each in a]))
    assert LEAST <= sum(each.low <= 1 <= each.high for each in found) / DRAWS < 0.99
    assert statistics.fmean(each.shift for each in found) == pytest.approx(1, abs=0.05)


def test_an_interval_is_a_function_of_the_samples():
    assert stats.median([1, 2, 4, 8]) == stats.median([8, 2, 4, 1])
    assert stats.median([3, 3, 3]).text() == "3 [3, 3]" and stats.median([3]).text() == "3"
    assert stats.median(range(1, 21)) == stats.Median(10.5, 6, 15, 20)
    assert stats.median([50_000, 50_001]).text("{:.0f}").startswith("50000 [")
    assert stats.median([123_456]).text() == "123456" and stats.median([1 / 3]).text() == "0.3333"


def test_few_samples_have_students_interval_too():
    """The ranks of five are sure of 93.75 %. Mean 6, standard error 2.45, 2.776 of them to each side."""
    found = stats.median([0, 0, 10, 10, 10])
    assert (found.low, found.high) == pytest.approx((6 - 6.8, 6 + 6.8), abs=0.01)
    assert stats.bounds([0, 0, 10, 10, 10]) == pytest.approx((6 - 6.8, 6 + 6.8), abs=0.01)
    assert stats.median([1, 2, 3, 4, 5]) == stats.Median(3, 1, 5, 5)
    assert stats.median([0, 0, 10, 10, 10, 10]) == stats.Median(10, 0, 10, 6)


def test_the_test_of_signed_ranks():
    """Exact values: all of n pairs go one way, or all but the least; ties, which scipy's exact form does not take."""
    assert stats.signed_rank([1, 2, 3, 4, 5]) == 2 / 32 and stats.signed_rank([-1, 2, 3, 4, 5]) == 4 / 32
    assert stats.signed_rank([1, 1, 1, 1, 1]) == 2 / 32 and stats.signed_rank([0, 0, 1, 1, 1, 1, 1]) == 2 / 32
    assert stats.signed_rank([0, 0]) == 1 and stats.signed_rank([3]) == 1
    assert stats.signed_rank([3], "greater") == 0.5 and stats.signed_rank([3], "less") == 1
    assert stats.signed_rank(list(range(1, 21))) == pytest.approx(2 / 2**20)
    assert stats.cut_of(10) == 9 and stats.cut_of(20) == 53  # of the published tables: 8 and 52 are critical


def test_pairs_see_what_two_heaps_of_runs_do_not():
    """A difference of 1 between runs that vary by 50: the same seeds make it visible."""
    draw = random.Random(5)
    a = [draw.gauss(100, 50) for _ in range(20)]
    found = stats.difference(a, [each + 1 + draw.gauss(0, 0.2) for each in a])
    assert found.p < 1e-4 and 0.8 < found.low < 1 < found.high < 1.2
    assert found.part == pytest.approx(found.shift / found.a.median)


def test_equality_is_shown_by_a_test_too():
    draw = random.Random(6)
    a = [draw.gauss(100, 1) for _ in range(20)]
    near = stats.difference(a, [each + draw.gauss(0, 0.3) for each in a])
    assert near.equal_p < 0.001 and stats.verdict(near, near.p, near.equal_p) == "equal"
    far = stats.difference(a, [each + draw.gauss(0, 8) for each in a])
    assert far.equal_p > 0.05 and stats.verdict(far, far.p, far.equal_p) == "no difference shown"
    assert stats.difference(a, [each + 0.5 for each in a], within=0.001).equal_p > 0.9


def test_a_power_that_is_asked_for_is_the_power_that_comes():
    """Noether's number of pairs, of a difference of half a deviation: about four of five draws show it."""
    draw = random.Random(7)

    def pairs(nr):
        return stats.difference([0.0] * nr, [draw.gauss(0.5, 1) for _ in range(nr)])

    nr = int(stats.pairs_needed(pairs(400)))
    assert 30 <= nr <= 40
    assert 0.7 <= sum(pairs(nr).p < stats.LEVEL for _ in range(300)) / 300 <= 0.9
    assert stats.pairs_needed(stats.difference([1, 2], [2, 1])) == math.inf


def test_unequal_numbers_of_runs_are_no_pairs():
    with pytest.raises(ValueError):
        stats.difference([1, 2], [1, 2, 3])
    with pytest.raises(UsageError, match="at most 1000"):
        stats.difference([1.0] * 1001, [1.0] * 1001)


def test_corrected_for_the_number_of_tests():
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.holm([0.6, 0.7]) == [1.0, 1.0] and stats.holm([]) == []


def test_a_verdict_needs_a_test():
    """Three pairs can be as different as they like; of twenty tests of the same policy none may say more."""
    few = stats.difference([1, 2, 3], [7, 8, 9])
    assert stats.verdict(few, few.p, few.equal_p) == "too few seeds"
    clear = stats.difference([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12])
    assert stats.verdict(clear, clear.p, 1) == "higher" and stats.verdict(clear, 0.2, 1) == "no difference shown"
    draw = random.Random(1)
    found = [samples.Series("simulator", f"case {case}", policy, "m", tuple(draw.gauss(5, 1) for _ in range(10)))
             for case in range(20) for policy in ("cfs", "cfs-again")]
    assert {one.verdict for one in samples.compare(found)} == {"no difference shown"}


def test_all_tests_of_a_table_are_corrected_together():
    """Four metrics, of which each pair of ten goes up: 2 / 2^10, four times."""
    found = [samples.Series("simulator", "case", side, f"m{metric}", tuple(100.0 + nr + step for nr in range(10)))
             for metric in range(4) for side, step in (("a", 0), ("b", 0.1 + metric))]
    assert [one.p for one in samples.compare(found)] == pytest.approx([4 * 2 / 2**10] * 4)
    assert samples.compare(found)[0].equal_p == pytest.approx(4 / 2**10) and samples.compare(found)[1].equal_p == 1


def test_a_verdict_needs_runs_for_all_tests():
    """Six pairs can show a difference in one test, not in two; forty tests need eleven pairs."""
    clear = stats.difference([1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12])
    assert stats.verdict(clear, clear.p, 1, 1) == "higher"
    assert stats.verdict(clear, 2 * clear.p, 1, 2) == "too few seeds"
    assert [stats.fewest(tests) for tests in (1, 2, 6, 7, 23, 24, 40)] == [6, 7, 8, 9, 10, 10, 11]


def compared_one(a, b):
    return samples.compare([samples.Series("simulator", "case", name, "m", tuple(map(float, values)))
                            for name, values in (("a", a), ("b", b))])[0]


def test_a_verdict_is_told_with_what_would_change_it():
    a = [100 + nr / 10 for nr in range(8)]
    assert compared_one(a, a).said == "the same in every pair"
    assert compared_one(a, [each + 0.1 for each in a]).said == "higher, but within 1 %"
    assert compared_one(a, [each + 10 for each in a]).said == "higher"
    few = compared_one(a[:4], [each + 9 for each in a[:4]])
    told = re.fullmatch(r"too few seeds: (\d+) more for this one", few.said)
    assert told and 2 <= int(told[1]) <= 9
    assert compared_one(a, [each + 0.1 * (-1)**nr for nr, each in enumerate(a)]).said == "equal within 1 %"


def judged(values, holds, form="{:.1f}"):
    claim = Claim("value", "-", "> 5", ("cfs",), holds, lambda of_host: of_host["cfs"], form)
    return judge_seeds(claim, {nr: {"simulator": {"cfs": value}} for nr, value in enumerate(values)})


def test_a_claim_near_its_bound_is_open():
    row = judged([6, 6.1, 6.2, 6.3], lambda v: v > 5)
    assert row["pass"] and verdict(row) == "PASS" and row["shown"]["simulator"] == "6.2 [5.9, 6.4]"
    assert verdict(judged([4, 7, 5.1, 6.2], lambda v: v > 5)) == "OPEN in the simulator"
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


def test_help_says_what_each_status_means(capsys):
    with pytest.raises(SystemExit) as done:
        main(["--help"])
    told = capsys.readouterr().out
    assert done.value.code == 0 and all(f"\n  {number} " in told for number in (0, 1, 2, 124, 125, 130))
    assert main(["compare", "cfs"]) == 2
    assert main(["--build", "/nonexistent", "compare", "cfs", "bore", "shares"]) == 125
