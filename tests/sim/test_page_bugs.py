# SPDX-License-Identifier: GPL-2.0-only
"""The seeded bugs of the page for browsers (docs/browser.md): each shows in its workload, and can be named."""

import json
import pathlib
import re
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT, browse, page_or_skip

pytestmark = pytest.mark.nightly("a bug of the page's that cannot be found there")

DIFFERS = re.compile(r"as it should be ([\d.]+) ms, (\w+) (.*?); with the bug ([\d.]+) ms, (\w+) (.*)\.$")
SHARE, MEAN, LONGEST = 1, 4, 5  # columns of a task


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return browse("bugs", page_or_skip(), tmp_path_factory.mktemp("bugs"))


@pytest.fixture(name="bugs", scope="module")
def fixture_bugs(seen):
    text = pathlib.Path(ROOT, "web/page/bugs.ts").read_text(encoding="utf-8")
    names = re.findall(r"\{name: '(\w+)'", text)
    assert len(names) == len(seen["bugs"]) >= 8
    return dict(zip(names, seen["bugs"], strict=True))


@pytest.mark.nightly("a bug of the page that does not show")
def test_each_bug_shows_in_its_workload(seen, bugs):
    for name, bug in bugs.items():
        assert bug["focus"] == "bugtitle" and bug["error"] == "" and len(bug["lanes"]) == 2, name
        found = DIFFERS.search(bug["differing"])
        assert found and found.group(1, 2, 3) != found.group(4, 5, 6), (name, bug["differing"])
        assert bug["shown"][2].startswith(bug["lanes"][1])
    assert "the same" in seen["sound"]  # one task alone shows no bug
    assert seen["console"] == []
    assert all(re.match(r"file://.*/fairground\.html|blob:", url) for url in seen["requests"])


def test_the_first_difference_is_told_only_when_asked(bugs):
    assert {bug["before"] for bug in bugs.values()} == {""}


def test_one_answer_is_right(bugs):
    for name, bug in bugs.items():
        assert bug["unanswered"] == "Choose a rule first."
        assert len({rule for rule, _ in bug["answers"]}) == 4, name
        assert [verdict.partition(" ")[0] for _, verdict in bug["answers"]].count("Right.") == 1, name
    right = [next(rule for rule, verdict in bug["answers"] if verdict.startswith("Right")) for bug in bugs.values()]
    assert len(set(right)) == len(right)
    places = [[verdict.startswith("Right") for _, verdict in bug["answers"]].index(True) for bug in bugs.values()]
    assert set(places) == {0, 1, 2, 3}


def test_what_should_be_is_what_schedsim_decides(bugs, tmp_path):
    for name, bug in bugs.items():
        machine = [] if "--topology" in bug["words"]["work"] else ["--cpus", bug["words"]["cpus"]]
        subprocess.run([f"{BUILD}/schedsim", "--sched", bug["lanes"][0], "--time", f"{bug['words']['ms']}ms", *machine,
                        "--decisions", tmp_path / "d.json", *bug["words"]["work"].split()], check=True,
                       capture_output=True)
        decisions = [json.loads(line) for line in (tmp_path / "d.json").read_text().splitlines()[1:-1]]
        at = int(bug["shown"][0].partition(" ")[0]) - 1
        right = decisions[at]
        time, kind, rest, *_ = DIFFERS.search(bug["differing"]).groups()
        assert (f"{right['time'] / 1e6:.3f}", right["kind"]) == (time, kind), name
        assert rest.startswith(right.get("comm", "")), name


def column(bug, task, which):
    """Of a @task: the value as it should be, and with the bug."""
    return [float(next(row for row in rows if row[0] == task)[which]) for rows in bug["shares"]]


@pytest.mark.parametrize("name, task, which, sign", [
    ("sleepers_pay_for_their_sleep", "burst 3", LONGEST, 1), ("everybody_is_eligible", "hog 3", MEAN, 1),
    ("score_without_weight", "burst 5", MEAN, 1), ("no_burst_ends", "burst 5", MEAN, 1),
    ("start_debit_lost", "hog 1", SHARE, -1), ("slack_is_kept", "burst 1", SHARE, -1),
    ("group_without_urgency", "burst 3", MEAN, 1), ("container_never_first", "hog 4", SHARE, -1)])
def test_what_the_explanations_say_of_tasks(bugs, name, task, which, sign):
    right, wrong = column(bugs[name], task, which)
    assert sign * (wrong - right) > 0


def test_what_the_explanations_say_of_cpus(bugs):
    for name in "cache_not_searched_for_an_idle_cpu", "wake_affine_to_the_busier":
        right, wrong = bugs[name]["wasted"]
        assert wrong > right, name


def test_links_and_the_way_to_the_tour(seen):
    assert seen["left"] == [True, "hunting", False]
    title, lanes, work = seen["linked"]
    assert title.startswith("Bug ") and len(lanes) == 2 and work == "hogs:n=1"
    assert seen["phone"] == ["Bug 1 / 12", 390]
    assert seen["toTour"] == [True, "step", ["cfs"]]
    assert seen["back"][:2] == [True, "bugtitle"] and len(seen["back"][2]) == 2
