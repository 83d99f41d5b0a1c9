# SPDX-License-Identifier: GPL-2.0-only
"""docs/seeds.md: no published value of an experiment is missing, and what was kept is of the experiments as they are.
"""

import json
import re

import pytest

from fairground.study.experiment_file import load, names
import seedsdocs

ROWS = [row for of in seedsdocs.publications() for row in of["rows"]]
PUBLISHED = [name for name in names() if re.match(r"x\d", name)]


def named(name):
    """The patterns of the rows about the experiment @name."""
    return [row.get("claims", "") for row in ROWS if row.get("experiment") == name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_each_published_value_has_a_row(name):
    assert named(name), f"{name} is in no row"
    claims = [claim for claim in load(name).claims() if claim.published != "-"]
    assert [claim.text for claim in claims if not any(re.search(each, claim.text) for each in named(name))] == []


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_was_kept_is_of_the_experiment_as_it_is(name):
    if name not in seedsdocs.kept():
        pytest.skip("not run for this page, which says so")
    now = {claim.text: claim.published for claim in load(name).claims()}
    kept = {row["claim"]: row["published"] for row in seedsdocs.kept()[name]["claims"] if row["published"] != "-"}
    assert {text: now.get(text) for text in kept} == kept


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["row"][:40])
def test_a_row_is_measured_or_says_why_not(row):
    assert ("experiment" in row) != ("verdict" in row)
    if "experiment" in row:
        assert any(re.search(row.get("claims", ""), claim.text) for claim in load(row["experiment"]).claims())
    else:
        assert row["verdict"] in ("there", "not reproduced")
        assert "see" in row or "note" in row


def test_results_are_taken_and_told(tmp_path, monkeypatch):
    """A verdict that changed is in the page; what another run left there is kept."""
    monkeypatch.setattr(seedsdocs, "KEPT", tmp_path / "kept.json")
    (tmp_path / "x3-burst").mkdir()
    row = {"claim": "burst 0 ms: average use of a CPU", "published": "0.800", "shown": {"simulator": "0.123"},
           "judged": True, "failed": ["simulator"], "pass": False, "reproduced": True}
    (tmp_path / "x3-burst/results.json").write_text(json.dumps(
        {"experiment": "x3-burst", "header": "Fairground abc: of a test", "claims": [row]}))
    seedsdocs.KEPT.write_text(json.dumps(seedsdocs.take(tmp_path)))
    page = seedsdocs.page()
    line = "| burst 0 ms: average use of a CPU | 0.800 | simulator 0.123 | FAIL in the simulator |"
    assert line in page and "| x3-burst | Fairground abc: of a test |" in page
    assert page.count("not run for this page") > 9
    assert list(seedsdocs.take(tmp_path / "x3-burst")) == ["x3-burst"]
