# SPDX-License-Identifier: GPL-2.0-only
"""Objects that a hand-out brings: they spare the first build, and none of them is stale."""

import pathlib
import subprocess
import sys
import tarfile

import pytest

from fairground.lab import handout, ready
from tests.conftest import BUILD

ROOT = pathlib.Path(__file__).parents[2]


def compiled(said):
    return {line.split()[-2 if line.endswith(")") else -1] for line in said.splitlines() if line.startswith("  CC")}


@pytest.fixture(name="tree")
def a_tree(tmp_path):
    """A hand-out with the objects of three made-up files, of which b.c includes a.h."""
    build, tree = tmp_path / "objects", tmp_path / "tree"
    (build / "sim/sched").mkdir(parents=True)
    for name, needs in (("a", "sched/a.c build/inc/sched/sched/a.h"), ("b", "sched/b.c \\\n build/inc/sched/sched/a.h"),
                        ("c", "sched/c.c")):
        (build / f"sim/sched/{name}.c.o").write_text(name, encoding="utf-8")
        (build / f"sim/sched/{name}.c.d").write_text(f"build/sim/sched/{name}.c.o: {needs}\n", encoding="utf-8")
    (tree / "labs").mkdir(parents=True)
    (tree / "sched").mkdir()
    files = {}
    for name in ("sched/a.c", "sched/a.h", "sched/b.c", "sched/c.c"):
        (tree / name).write_text(name, encoding="utf-8")
        files[name] = handout.digest(name.encode())
    (tree / handout.MANIFEST).write_text(f'{{"lab": 2, "files": {str(files).replace(chr(39), chr(34))}}}', "utf-8")
    with tarfile.open(ready.archive(tree), "w:xz") as tar:
        tar.add(build / "sim", "sim")
    return tree


@pytest.mark.parametrize("edited, left", [(None, "abc"), ("sched/c.c", "ab"), ("sched/a.h", "c"), ("sched/b.c", "ac")])
def test_an_object_of_a_file_that_was_edited_is_not_used(tree, tmp_path, edited, left):
    if edited:
        (tree / edited).write_text("edited", encoding="utf-8")
    ready.unpack(tree, tmp_path / "build")
    found = sorted((tmp_path / "build").rglob("*.o"))
    assert "".join(path.read_text(encoding="utf-8") for path in found) == left
    assert len({path.stat().st_mtime_ns for path in found}) == 1
    assert found[0].stat().st_mtime_ns > (tree / "sched/a.c").stat().st_mtime_ns


def test_objects_of_another_compiler_are_not_used(tree, tmp_path):
    ready.archive(tree).rename(tree / "labs/objects-x86_64-linux-gnu-1.0.tar.xz")
    ready.unpack(tree, tmp_path / "build")
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize("name, brought", [
    ("unit/test_rt", False), ("unit/test_rt-2", False), ("unit/prop_sched", False), ("unit/sched/rt/rt.c.o", True),
    ("unit/tests/unit/test_rt.c.o", True)])
def test_no_program_is_brought(name, brought):
    """That of a reference, whose name ends with the lab's number, has the answers."""
    assert (ready.is_object(tarfile.TarInfo(name)) is not None) == brought


@pytest.mark.nightly("objects of a hand-out that make does not take, so that the first grade waits for a whole build")
def test_the_first_grade_compiles_what_the_student_writes(tmp_path):
    tree = tmp_path / "tree"
    subprocess.run([sys.executable, "-m", "fairground", "--build", BUILD, "lab", "handout", "2", tree, "--objects"],
                   cwd=ROOT, env={"PYTHONPATH": "tools", "PATH": "/usr/bin:/bin"}, check=True, capture_output=True)
    environment = {"PYTHONPATH": "tools", "PATH": "/usr/bin:/bin", "FAIRGROUND_COMMIT": "lab"}
    place = subprocess.run(
        [sys.executable, "-c", "import pathlib; from fairground.lab import workshop\n"
         "w = workshop.Workshop(pathlib.Path('build'), 2); w.prepare(); print(w.tree)"],
        cwd=tree, env=environment, check=True, capture_output=True, text=True).stdout.strip()
    done = subprocess.run(["make", "-j2", "B=build", "build/schedsim", "build/unit/test_rt", "image"], cwd=place,
                          env=environment, check=True, capture_output=True, text=True)
    assert "sched/rt/rt.c" in compiled(done.stdout)
    assert len(compiled(done.stdout)) < 12, compiled(done.stdout)
