# SPDX-License-Identifier: GPL-2.0-only
"""Wrong solutions of lab 5 seen in the page for browsers: each beside the reference, as labs/README.md says."""

import json
import shutil

import pytest

from tests.sim.conftest import BUILD, ROOT, browse, fairground, page_or_skip

# Of each wrong solution: a run that shows it, and what the page doubts of what it says; "": nothing.
SHOWN = {"everybody_is_eligible": ("requests-of-three-sizes", "but it is right of V"),
         "mean_is_not_past": ("three-equal-hogs", "not eligible, but it is not right of V"),
         "least_vruntime_first": ("hogs-of-three-nice-values-and-sleepers", "but due before it is"),
         "search_without_subtrees": ("requests-of-three-sizes", "but due before it is"),
         "request_is_not_protected": ("requests-of-three-sizes", "")}


@pytest.fixture(name="records", scope="module")
def fixture_records(tmp_path_factory):
    """A directory with NAME/*.submission.json and NAME/*.reference.json."""
    page_or_skip()
    graded, chosen = tmp_path_factory.mktemp("graded"), tmp_path_factory.mktemp("chosen")
    for name, (run, _) in SHOWN.items():
        done = fairground("--build", BUILD, "lab", "grade", "--lab", "5", "--tiers", "simulator", "--records",
                          graded / name, "--wrong", name)
        assert f"{run}.submission.json, {run}.reference.json: drop both" in done.stdout, done.stderr
        (chosen / name).mkdir()
        for which in "submission", "reference":
            shutil.copy(graded / name / f"{run}.{which}.json", chosen / name)
    return chosen


@pytest.fixture(name="seen", scope="module")
def fixture_seen(records):
    return browse("lab", page_or_skip(), records)


def decisions(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[1:-1]]


def first_difference(right, wrong):
    keys = "time", "kind", "cpu", "pid", "answer"
    return next((a, b) for a, b in zip(right, wrong) if [a.get(k) for k in keys] != [b.get(k) for k in keys])


@pytest.mark.nightly("a record of a lab that the page does not open")
def test_the_page_shows_the_first_decision_that_is_another(seen, records):
    assert seen["console"] == []
    for name, (run, _) in SHOWN.items():
        a, b = first_difference(*(decisions(records / name / f"{run}.{which}.json")
                                  for which in ("reference", "submission")))
        assert seen[name]["lanes"] == [f"{run}.reference", f"{run}.submission"] and seen[name]["error"] == ""
        for which, d in ("reference", a), ("submission", b):
            words = f"{run}.{which}: {d['time'] / 1e6:.3f} ms, {d['kind']} {d['comm']} {d['pid'] or ''}: "
            assert words + ("yes" if d["answer"] else "no") in seen[name]["differs"], (name, seen[name]["differs"])


@pytest.mark.nightly("a record of a lab whose candidates the page does not show")
def test_the_candidates_of_that_decision_are_there(seen):
    for name in SHOWN:
        assert len(seen[name]["candidates"]) >= 3 and (seen[name]["chosen"] >= 0 or name == "mean_is_not_past"), name


@pytest.mark.nightly("a wrong reason that the page does not doubt")
def test_what_is_not_so_is_doubted_and_nothing_else(seen):
    for name, (_, doubt) in SHOWN.items():
        assert seen[name]["right"] == [], name
        wrong = seen[name]["wrong"]
        assert bool(wrong) == bool(doubt) and all(text.startswith(doubt) for text in wrong), name
