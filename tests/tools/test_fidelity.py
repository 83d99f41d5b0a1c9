# SPDX-License-Identifier: GPL-2.0-only
"""The comparison with Linux: its bounds, its list of rows, what is kept of Linux, its errors."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

import fit_fidelity
from fairground.judge import fidelity
from fairground.base.expect import Missing
from fairground.machine.linux import KERNELS

KNOWN = fidelity.Explained("a reason", 1.2, 1.5)
LINES = {"amounts": 5.0, "counts": 5.0, "migrations": 25.0, "latencies": 10.0}  # per cent, as docs/fidelity.md has them


@pytest.mark.parametrize("kind, percent", LINES.items())
def test_a_row_passes_up_to_its_bound(kind, percent):
    row = fidelity.Row("case.figure", kind)
    for sign in (1, -1):
        assert row.verdict([1000 + sign * 10 * percent], [1000]) == "PASS"
        assert row.verdict([1000 + sign * (10 * percent + 0.1)], [1000]) == "FAIL"


@pytest.mark.parametrize("kind, linux, ours, verdict", [
    ("counts", 3, 4, "PASS"), ("counts", 3, 5, "FAIL"), ("counts", 0, 1, "PASS"), ("counts", 0, 2, "FAIL"),
    ("latencies", 5, 2, "PASS"), ("latencies", 5, 8.1, "FAIL"), ("amounts", 7, 7.4, "FAIL"),
    ("migrations", 6, 9, "PASS"), ("migrations", 6, 10, "FAIL"), ("points", 69, 70, "PASS"), ("points", 2, 3.1, "FAIL"),
    ("waits", 90000, 94000, "PASS"), ("waits", 90000, 85999, "FAIL")])
def test_small_figures_may_differ_by_a_step(kind, linux, ours, verdict):
    assert fidelity.Row("case.figure", kind).verdict([ours], [linux]) == verdict


@pytest.mark.parametrize("ours, linux, verdict", [
    ([100, 200, 300], [190, 205, 290], "PASS"),   # the medians alone
    ([270], [190, 205, 290], "SPREAD"), ([304], [190, 205, 290], "SPREAD"), ([305], [190, 205, 290], "FAIL"),
    ([181], [190, 205, 290], "SPREAD"), ([180], [190, 205, 290], "FAIL"),
    ([205, 310, 330], [190, 205, 290], "FAIL"),   # one of ours among Linux's is not enough
    ([205, 280, 330], [190, 205, 290], "SPREAD")])
def test_medians_of_runs_are_compared_and_linuxs_runs_with_each_other(ours, linux, verdict):
    assert fidelity.Row("case.figure", "counts").verdict(ours, linux) == verdict


def test_each_run_has_pauses_of_its_own_and_the_same_cases():
    cases = fidelity.load_cases("cfs")[:3]
    scripts = [fidelity.script(cases, run) for run in range(fidelity.RUNS)]
    assert len(set(scripts)) == fidelity.RUNS and scripts[1] == fidelity.script(cases, 1)
    assert len({re.sub(r"(?m)^sleep .*$", "", text) for text in scripts}) == 1


@pytest.mark.parametrize("ours, verdict", [(104, "PASS"), (119, "FAIL"), (120, "EXPLAINED"), (150, "EXPLAINED"),
                                           (151, "FAIL"), (90, "FAIL")])
def test_an_explained_row_has_bounds_of_its_own(ours, verdict):
    assert fidelity.Row("case.figure", "counts", KNOWN).verdict([ours], [100]) == verdict


def kept_of(sched):
    """The cases for @sched, and what is kept of its Linux."""
    cases, release = fidelity.load_cases(sched), fidelity.release_of(sched)
    linux = fidelity.kept(fidelity.place_of(sched, release), cases)
    assert linux["version"].startswith(f"Linux version {release}.")
    return cases, linux


@pytest.mark.parametrize("sched", [*KERNELS, *fidelity.programs()])
def test_every_row_has_linuxs_figure_and_every_entry_its_reason(sched):
    cases, linux = kept_of(sched)
    assert linux["model"] == (fidelity.MODEL if sched in KERNELS else "lazy")
    headings = re.findall(r"^### (.*)$", fidelity.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for case in cases:
        for row in case.rows:
            runs = len(linux[case.name][row.name.removeprefix(case.name + ".")])
            assert fidelity.FAST_RUNS <= runs <= fidelity.KEPT_RUNS, row.name
            assert not row.explained or row.explained.reason in headings, row


@pytest.mark.parametrize("release, sched", fidelity.LATER.items())
def test_figures_of_a_later_release_are_kept(release, sched):
    cases = fidelity.load_cases(sched)
    linux = fidelity.kept(fidelity.ROOM / f"linux-{release}.toml", cases)
    assert linux["version"].startswith(f"Linux version {release}.")
    for case in cases:
        assert all(linux[case.name][row.name.removeprefix(case.name + ".")] for row in case.rows), case


@pytest.mark.parametrize("sched", [*KERNELS, *fidelity.programs()])
def test_every_bound_can_fail(sched):
    """An entry is at most twice as wide as Linux's own runs, and is of a figure that can be a row."""
    cases, linux = kept_of(sched)
    for row, runs in ((row, linux[case.name][row.name.removeprefix(case.name + ".")])
                      for case in cases for row in case.rows if row.explained):
        assert row.tells(runs), (row, runs)
        if row.bounded:
            assert row.explained.low < row.explained.high and not row.too_wide(runs), (row, runs)


@pytest.mark.parametrize("linux, tells", [
    ([100, 100, 100], True), ([80, 100, 130], True), ([80, 100, 131], False), ([3, 2842, 2825], False),
    ([1, 1, 2], True), ([1, 1, 3], False)])
def test_runs_far_apart_tell_nothing(linux, tells):
    assert fidelity.Row("case.figure", "counts").tells(linux) == tells


@pytest.mark.parametrize("ours, linux, explained, verdict", [
    ([100], [80, 100, 131], None, "NO ROW"), ([132], [80, 100, 131], None, "BEYOND"),
    ([79, 70], [80, 100, 131], KNOWN, "BEYOND"), ([79, 80], [80, 100, 131], KNOWN, "NO ROW"),
    ([60, 100, 190], [100], fidelity.Explained("ours are far apart"), "NO ROW"),
    ([101, 190], [100], fidelity.Explained("ours are far apart"), "BEYOND"), ([101, 190], [100], None, "FAIL")])
def test_a_figure_is_no_row_if_no_bound_of_it_could_fail(ours, linux, explained, verdict):
    assert fidelity.Row("case.figure", "counts", explained).verdict(ours, linux) == verdict


def test_what_is_no_row_is_listed_with_its_runs(capsys):
    figures = ("a", "b", "c")
    case = fidelity.Case("x", "", 1, False, (), {}, [fidelity.Row(f"x.{name}", "counts") for name in figures])
    table = fidelity.judge([case], {"x": {"a": [50], "b": [10, 20], "c": [999]}},
                           {"x": {"a": [50], "b": [12, 80], "c": [12, 80]}})
    fidelity.print_table(table)
    rows, others = capsys.readouterr().out.split("\n\n")
    assert [line.split()[0] for line in rows.splitlines()] == ["row", "x.a"]
    assert [line.split() for line in others.splitlines()[1:]] == [
        ["x.b", "10..20", "12..80"], ["x.c", "999", "12..80", "beyond"]]
    assert fidelity.summary(table).endswith("1 rows: 1 pass, 0 among Linux's runs, 0 explained, 0 fail; "
                                            "2 figures are no rows")


@pytest.mark.parametrize("linux, low, high, too_wide", [
    ([100, 100, 100], 0.8, 0.9, False), ([100, 100, 100], 0.8, 0.91, True),   # as wide as the usual bound
    ([90, 100, 110], 0.5, 0.9, False), ([90, 100, 110], 0.5, 0.91, True),     # twice as far apart as the runs
    ([100, 100, 100], 2, 2.19, False), ([100, 100, 100], 2, 2.21, True),      # of a figure twice as large
    ([2825, 2842, 3], 0.00032, 3130, True), ([100, 100, 100], 0, 0, False)])
def test_how_wide_an_entry_may_be_is_linuxs_own_spread(linux, low, high, too_wide):
    row = fidelity.Row("case.figure", "counts", fidelity.Explained("a reason", low, high))
    assert row.too_wide(linux) == too_wide


@pytest.mark.parametrize("ours, linux, kind", [
    ([100, 101, 104], [99, 100], "no entry"),
    ([80, 90, 108], [70, 100, 110], "no entry"),            # among Linux's runs
    ([80, 200], [80, 100, 131], "no entry"),                # Linux's runs tell nothing
    ([84, 85, 86], [99, 100, 101], "bounds"), ([200, 205], [99, 100, 101], "bounds"),
    ([100] * 7 + [120] * 3, [99, 100, 101], "apart"),       # a fifth of the medians of five are 120
    ([3, 4, 5], [0, 0, 0], "apart")])                       # no multiple of Linux's
def test_entries_are_fitted_to_runs(ours, linux, kind):
    entry = fit_fidelity.fit(fidelity.Row("case.figure", "counts", KNOWN), ours, linux)
    assert kind == ("no entry" if not entry else "bounds" if entry.high else "apart"), entry
    if kind == "bounds":
        fitted = fidelity.Row("case.figure", "counts", entry)
        assert not fitted.too_wide(linux)
        assert {fitted.verdict([one], linux) for one in (min(ours), max(ours))} == {"EXPLAINED"}


def test_there_are_enough_rows_and_a_fast_part():
    for sched in KERNELS:
        cases = fidelity.load_cases(sched)
        rows = [row for case in cases for row in case.rows]
        fast = [row for case in cases if case.fast for row in case.rows]
        assert len(rows) >= 60 and len(rows) / 6 < len(fast) < len(rows) / 2
        assert [case.fast for case in cases] == sorted((case.fast for case in cases), reverse=True)


def test_an_entry_may_be_a_case_for_each_value_and_number_of_cpus():
    entry = {"each": ["7us", "9us"], "cpus": [1, 4], "cmd": "a EACH b 3*CPUS c CPUS", "counts": ["n"]}
    known = {"x-9us-4.n": KNOWN}
    assert [(case.name, case.cpus, case.cmd) for case in fidelity.cases_of("x", entry, known)] == [
        ("x-7us", 1, "a 7us b 3 c 1"), ("x-7us-4", 4, "a 7us b 12 c 4"),
        ("x-9us", 1, "a 9us b 3 c 1"), ("x-9us-4", 4, "a 9us b 12 c 4")]
    assert [case.rows[0].explained for case in fidelity.cases_of("x", entry, known)] == [None, None, None, KNOWN]
    assert [case.name for case in fidelity.cases_of("y", {"cpus": 4, "cmd": "a"}, {})] == ["y"]


def test_a_changed_command_has_no_figure_of_linux(tmp_path):
    case = fidelity.load_cases("cfs")[0]
    kept = tmp_path / "linux.toml"
    runs = [fidelity.Measured("Linux version 6.1", "voluntary", "QEMU", {case.name: dict.fromkeys(
        (row.name.removeprefix(case.name + ".") for row in case.rows), value)}) for value in (12.5, 123456)]
    fidelity.keep(kept, fidelity.figures_of(runs), [case], {"version": "Linux version 6.1"}, "digest")
    assert fidelity.kept(kept, [case])[case.name]["hog.slices"] == [12.5, 123456]
    kept.write_text(kept.read_text().replace("hog:n=2", "hog:n=3"))
    with pytest.raises(Missing, match="ARGS=--fresh"):
        fidelity.kept(kept, [case])


def test_figures_of_other_cases_stay_while_the_kernel_is_the_same(tmp_path):
    cases, kept = fidelity.load_cases("cfs")[:2], tmp_path / "linux.toml"

    def keep(case, value, version, program):
        names = [row.name.removeprefix(case.name + ".") for row in case.rows]
        fidelity.keep(kept, {case.name: dict.fromkeys(names, [value])}, cases, {"version": version}, program)
    keep(cases[0], 1, "6.1.1", "one")
    keep(cases[1], 2, "6.1.1", "two")
    data = fidelity.kept(kept, cases)
    assert [data[case.name]["mix"] for case in cases] == ["one", "two"]
    assert [data[case.name]["hog.slices" if not i else "n0.slices"] for i, case in enumerate(cases)] == [[1], [2]]
    for value in range(3, 14):
        keep(cases[1], value, "6.1.1", "two")
    assert fidelity.kept(kept, cases)[cases[1].name]["n0.slices"] == list(range(4, 14))
    keep(cases[1], 3, "6.1.1", "three")
    assert fidelity.kept(kept, cases)[cases[1].name]["n0.slices"] == [3]
    keep(cases[1], 3, "6.1.2", "two")
    with pytest.raises(Missing, match=f"no figures of {cases[0].name}"):
        fidelity.kept(kept, cases)


def run_tool(*words):
    return subprocess.run([sys.executable, "-m", "fairground", "--build", "/nonexistent", *words],
                          capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT / "tools")})


@pytest.mark.parametrize("words, status, says", [
    (("fidelity", "--fresh"), 1, "sh tools/setup.sh --compare fetches it"),
    (("fidelity", "--fresh", "--fast"), 2, "without --fast"),
    (("fidelity", "--scheds", "bore"), 2, "Linux has no other"),
    (("fidelity", "nothing"), 2, "there is no such case"),
    (("fidelity", "--scheds", "scx:nothing"), 1, "neither examples/scx/nothing.bpf.c nor"),
    (("first-difference", "cfs"), 2, "two sides are expected"),
    (("first-difference", "cfs", "eevdf"), 2, 'CMD="..." is missing'),
    (("first-difference", "cfs", "linux-5.4", "--cmd", "x"), 2, "linux-6.1 or linux-6.12 is expected"),
    (("first-difference", "cfs", "linux-6.1", "--cmd", "x"), 1, "sh tools/setup.sh --compare fetches it")])
def test_what_cannot_be_done_is_said_in_one_sentence(words, status, says):
    done = run_tool(*words)
    assert done.returncode == status and says in done.stderr and done.stderr.count("\n") == 1, done.stderr
