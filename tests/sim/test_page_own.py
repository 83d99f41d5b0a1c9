# SPDX-License-Identifier: GPL-2.0-only
"""Writing a policy in the page for browsers (docs/browser.md): it runs beside the others, mistakes and loops are told
by line, one that is too slow is ended, and its C is the simulator's."""

import json
import pathlib
import re
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT, browse, page_or_skip

pytestmark = pytest.mark.nightly("a policy of one's own that the page runs otherwise than schedsim")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return browse("own", page_or_skip(), tmp_path_factory.mktemp("own"))


@pytest.mark.nightly("an own policy that no key opens")
def test_it_is_opened_by_keyboard_and_runs_beside_the_others(seen):
    focus, lanes, said, shares = seen["opened"]
    assert (focus, lanes, said) == ("owntitle", ["turns", "cfs", "eevdf"], "")
    assert "hog 1" in shares and "burst 3" in shares
    assert seen["console"] == []
    assert all(re.match(r"file://.*/fairground\.html|blob:", url) for url in seen["requests"])


@pytest.mark.parametrize("name", ["turns", "strides", "deadlines"])
def test_examples_decide_what_schedsim_decides_and_are_exported(seen, name, tmp_path):
    run, source = seen["runs"][name], f"{ROOT}/examples/policies/{name}.policy"
    assert seen["examples"] == ["turns", "strides", "deadlines"]
    assert run["lanes"] == [name, "cfs", "eevdf"] and run["offered"] == name
    assert run["text"] == pathlib.Path(source).read_text(encoding="utf-8")
    exported = subprocess.run([f"{BUILD}/schedsim", "--export", source], capture_output=True, text=True, check=True)
    assert (run["link"], run["c"]) == (f"{name}.c", exported.stdout)
    subprocess.run([f"{BUILD}/schedsim", "--plugin", source, "--sched", name, "--cpus", "1", "--time", "100ms",
                    "--decisions", tmp_path / "d.json", "hogs:n=2", "bursts:run=2ms,sleep=10ms"], check=True,
                   capture_output=True)
    decisions = [json.loads(line) for line in (tmp_path / "d.json").read_text().splitlines()[1:-1]]
    place, rule, head = run["shown"]
    shown = decisions[int(place.partition(" ")[0]) - 1]
    assert place == f"41 / {len(decisions)}   {shown['time'] / 1e6:.3f} ms"
    assert rule.startswith(f"{shown['kind']}: {shown['comm']} {shown['pid']}")
    assert head.startswith(f"{name}, CPU 0; key") and str(shown["candidates"][0]["vruntime"]) in head


def test_a_mistake_is_told_and_its_line_selected(seen):
    assert seen["mistake"] == ['Line 5: "clok" is not known.', "    a = clok", "policy", ""]
    before, after = seen["kept"]  # also arrow keys step nothing in the editor
    assert before == after and before[0] == ["deadlines", "cfs", "eevdf"]


def test_a_loop_without_end_is_told_by_its_line(seen):
    said, line, lanes = seen["loops"]
    assert said.startswith("Line 5: this loop does not end") and line == "    while 1 {"
    assert lanes == ["deadlines", "cfs", "eevdf"]


def test_one_that_is_too_slow_is_ended_and_all_is_kept(seen):
    error, lanes, place, kept = seen["slow"]
    assert "was ended" in error and lanes == ["deadlines", "cfs", "eevdf"] and place.startswith("41 / ") and kept


def test_what_holds_is_said_and_what_does_not_is_shrunk_as_schedsim_does(seen, tmp_path):
    checked = seen["checked"]
    assert checked["held"]["said"].startswith("In 20,000 random operations") and not checked["held"]["rows"]
    starves = checked["starves"]
    assert starves["said"] == "A check failed." and "starves among equals" in starves["head"]
    (tmp_path / "own.policy").write_text("policy unfair\npromises even\nentity a\nkey a\nplace {\n    a = clock\n}\n"
                                         "charge {\n    a -= delta\n}\n")
    native = subprocess.run([f"{BUILD}/schedsim", "--plugin", "own.policy", "--sched", "unfair", "--seed", "1", "--ops",
                             "20000"], cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert native.splitlines()[-1].strip() == starves["replay"]
    operations = starves["replay"].rpartition('"machine.')[2].rstrip('"').split()[1:]
    assert [row[1] for row in starves["rows"]] == operations != []
    assert [row[0] for row in starves["rows"]] == [str(nr + 1) for nr in range(len(operations))]
    assert all(len(row[2]) > 5 for row in starves["rows"])


def test_checks_find_loops_and_shares_that_were_promised(seen):
    hangs, greedy = seen["checked"]["hangs"], seen["checked"]["greedy"]
    assert hangs["wrong"].startswith("Line 25: this loop does not end") and "yield" in hangs["rows"][-1][1]
    assert "promises to be proportional" in greedy["said"] and re.search(r"nice 10: 2\d\.\d %, due were 2\.4 %",
                                                                         greedy["said"])


def test_a_fork_goes_on_with_it(seen):
    lanes, differs = seen["forked"]
    assert lanes == ["strides", "cfs", "eevdf", "cfs → strides"] and "The first decision that differs" in differs


def test_link_and_the_way_out(seen):
    assert seen["left"] == [True, "writing", False] and seen["without"] == ["cfs", "eevdf"]
    assert seen["again"] == [["strides", "cfs", "eevdf"], True]
    assert seen["toTour"] == [True, ["cfs"]]
    assert seen["linked"] == [["strides", "cfs", "eevdf"], True, 390]
    assert seen["hostile"] == ['Line 2: A declaration or a hook is expected, not "<".', 0]
