# SPDX-License-Identifier: GPL-2.0-only
"""A tree for a course of several labs: nothing in it answers them, and with all of them done each has all points."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from fairground.lab import handout, regions, spec, submission
from tests.conftest import BUILD

ROOT = pathlib.Path(__file__).parents[2]
COURSE = ("2", "3", "4", "6", "7")
LABS = [spec.find(number) for number in COURSE]
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": "tools"}


def lab_command(tree, *words):
    return subprocess.run([sys.executable, "-m", "fairground", "lab", *words], cwd=tree, env=ENVIRONMENT, check=False,
                          capture_output=True, text=True)


@pytest.fixture(name="tree", scope="module")
def a_tree(tmp_path_factory):
    tree = tmp_path_factory.mktemp("course") / "tree"
    done = lab_command(ROOT, "public-tree", str(tree), *(word for number in COURSE for word in ("--lab", number)))
    assert done.returncode == 0 and "labs 2, 3, 4, 6, 7" in done.stdout, done.stderr
    return tree


def test_nothing_in_a_public_tree_answers_its_labs(tree):
    names = {str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()}
    assert not {pathlib.PurePath(name).name for name in names} & set(handout.INSTRUCTORS)
    assert not any(name.startswith(("labs/attacks", "labs/gradescope", "docs/book", ".git/")) for name in names)
    assert {name.split("/")[1] for name in names if name.count("/") > 1 and name.startswith("labs/")} == {
        lab.directory.name for lab in LABS}
    for lab in LABS:
        trunk = handout.texts(lab)
        given = {name: (tree / name).read_text(encoding="utf-8") for name in lab.files}
        assert regions.read(given, lab) == regions.stubs(lab)
        assert regions.outside(given, lab) == regions.outside(trunk, lab)


def test_what_is_handed_in_of_one_lab_is_not_charged_for_the_others(tree, tmp_path):
    lab = spec.find("4")
    assert not submission.read(lab, tree).changed
    shutil.copytree(tree, tmp_path / "mine")
    weight = tmp_path / "mine/sched/fair/core/weight.c"  # of lab 3
    weight.write_text(weight.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert not submission.read(lab, tmp_path / "mine").changed
    policy = tmp_path / "mine/sched/fair/core/policy.h"
    policy.write_text(policy.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert submission.read(lab, tmp_path / "mine").changed == (
        "sched/fair/core/policy.h: it is not that of the hand-out",)


def test_a_public_tree_asks_which_lab_is_meant(tree):
    said = lab_command(tree, "grade", "--tiers", "unit", "--trusted").stderr
    assert said.endswith("has labs 2, 3, 4, 6, 7: which? --lab NN\n") and said.count("\n") == 1


@pytest.mark.parametrize("name, edits, says", [
    ("weight.c", [("return delta;", "return delta")], "sched/fair/core/weight.c:"),
    ("policy.h", [("#include", "int x x;\n#include")], "sched/fair/core/policy.h:"),
    ("weight.c", [("#include", "static int mine(void) { return 0; }\n#include"),
                  ("return delta;", "return delta + mine();")], "there is no function mine()"),
], ids=["in_a_region", "elsewhere", "what_stands_outside_of_regions"])
def test_code_that_does_not_compile_is_told_so_in_the_students_own_tree(tree, tmp_path, name, edits, says):
    shutil.copytree(tree, tmp_path / "mine")
    mine = tmp_path / "mine/sched/fair/core" / name
    text = mine.read_text(encoding="utf-8")
    for before, after in edits:
        assert before in text
        text = text.replace(before, after, 1)
    mine.write_text(text, encoding="utf-8")
    done = lab_command(tmp_path / "mine", "grade", "--lab", "3", "--tiers", "unit", "--trusted")
    assert done.returncode == 1 and re.search(f"it does not compile: .*{re.escape(says)}", done.stdout), done.stderr
    assert done.stdout.endswith("score 0 of 40\n") and "Traceback" not in done.stderr


@pytest.mark.nightly("a tree of several labs that does not build or boot, or whose labs cannot all be done")
def test_a_course_builds_boots_and_can_be_done(tree):
    """With the objects of this build, so that only what has stubs is compiled anew."""
    shutil.copytree(BUILD, tree / "build", symlinks=True, ignore=shutil.ignore_patterns("labs", "mut*"))
    make = ["make", "-s", "-j2"]
    subprocess.run([*make, "image", "sim"], cwd=tree, env=ENVIRONMENT, check=True, capture_output=True)
    done = subprocess.run(["make", "-s", "run", "ICOUNT=1", "SMP=1", "TIMEOUT=120", "CMD=echo it runs"], cwd=tree,
                          env=ENVIRONMENT, check=False, capture_output=True, text=True)
    assert "it runs" in done.stdout and done.returncode == 0
    for lab in LABS:
        texts = {name: (tree / name).read_text(encoding="utf-8") for name in lab.files}
        for name, text in regions.put(texts, lab, regions.read(handout.texts(lab), lab)).items():
            (tree / name).write_text(text, encoding="utf-8")
    for number in COURSE:
        graded = lab_command(tree, "grade", "--lab", number, "--tiers", "unit,simulator").stdout
        assert graded.endswith("score 80 of 80\n"), graded
