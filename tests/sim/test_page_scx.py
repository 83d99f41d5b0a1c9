# SPDX-License-Identifier: GPL-2.0-only
"""Programs for sched_ext in the page for browsers (docs/browser.md): shares, decisions, a stall, one's own."""

import re
import shutil
import subprocess

import pytest

from tests.sim.conftest import BUILD, ROOT, browse, page_or_skip, simulated
from tests.sim.test_scx import load, loaded

WORK = ("--time", "1000ms", "hogs:n=2", "hogs:n=1,nice=10")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    page, place = page_or_skip(), tmp_path_factory.mktemp("page")
    shutil.copy(f"{ROOT}/examples/scx/fifo.bpf.c", place / "own.bpf.c")
    shutil.copy(load(str(place / "own.bpf.c")).replace(".so", ".wasm"), place / "own.wasm")
    return browse("scx", page, place)


def test_programs_run_beside_policies(seen, tmp_path):
    assert seen["lanes"] == seen["chosen"] == ["cfs", "scx:vtime"] and seen["error"] == "" and seen["console"] == []
    assert seen["choices"][-7:] == [f"scx:{name}" for name in
                                    ("central", "fifo", "group", "llc", "stall", "vtime", "wake")]
    for words, rows in zip((["--sched", "cfs"], ["--scx", loaded("vtime")]), seen["shares"], strict=True):
        result = simulated("--decisions", tmp_path / "d.json", *words, *WORK)
        assert [row[0] for row in rows] == ["hog 1", "hog 2", "hog 3"]
        assert rows[2][1] == f"{result['tasks'][1]['cpu_ns'] / 1e7:.2f}", rows
    assert seen["shares"][0][2] != seen["shares"][1][2]


def test_decisions_of_a_program_are_shown_and_explained(seen):
    head, rule = seen["decision"]
    assert head == "A program for sched_ext decides (ext, CPU 0)" and "because" in rule and rule.count(" ") > 6
    columns, *rows = seen["table"]
    assert columns == ["task", "weight", "vtime", "slice left", "waits in"] and len(rows) > 1
    assert {row[4] for row in rows} > {"queue 0x0"} and {row[4] for row in rows} <= {"queue 0x0", "the local queue",
                                                                                     "no queue"}
    assert "hog" in seen["why"] and "ms (eevdf" in seen["whyFutures"].replace("cfs, ", "")


def test_another_policy_from_a_moment_on_throws_the_program_out(seen):
    lanes, differs, error = seen["forked"]
    assert lanes == ["cfs", "scx:vtime", "scx:vtime → eevdf"] and error == ""
    assert differs.startswith("The first decision that differs") and '"policies":["cfs","scx:vtime"]' in seen["linked"]


def test_a_stall_is_told_and_the_fair_class_goes_on(seen):
    run = subprocess.run([f"{BUILD}/schedsim", "--scx", loaded("stall"), "--time", "5s", "hogs:n=3"], check=True,
                         capture_output=True, text=True)
    assert seen["stall"] == re.sub("^schedsim: ", "", run.stderr.strip(), flags=re.MULTILINE)
    assert "hog[1] failed to run for 2.060s" in seen["stall"]
    (_, before), (_, after) = seen["after"]
    assert "(ext, CPU 0)" in before and "(cfs, CPU 0)" in after


def test_a_program_of_ones_own_is_dropped_on_the_page(seen):
    assert seen["own"] == [["scx:stall", "scx:own"]] * 2
    assert seen["bad"] == "--scx own.wasm: it is no WebAssembly module"
    assert len(seen["others"]) == 3
    for name, said in seen["others"].items():
        assert said.startswith(f"{name}: of a program for sched_ext the page takes the .wasm alone"), said
