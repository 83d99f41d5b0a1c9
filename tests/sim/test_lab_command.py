# SPDX-License-Identifier: GPL-2.0-only
"""The command `fairground lab`: what it cannot do it says in a sentence, and it leaves nothing behind."""

import os
import pathlib
import signal
import subprocess
import sys
import threading

import pytest

ROOT = pathlib.Path(__file__).parents[2]

from fairground.__main__ import main
from fairground.lab import grade, handout, outputs, roster, spec
from fairground.base.settings import UsageError


@pytest.fixture(name="lab")
def the_command(tmp_path, capsys):
    """lab(word, ...) runs the command with a build directory of its own; it returns (status, output, errors)."""
    def run(*words):
        status = main(["--build", str(tmp_path / "build"), "lab", *map(str, words)])
        return status, *capsys.readouterr()
    return run


@pytest.fixture(name="refused")
def a_sentence(lab):
    """refused(word, ...): the sentence with which the command ends, having printed nothing."""
    def run(*words):
        status, out, err = lab(*words)
        assert (status, out, err.count("\n")) == (2, "", 1), (status, out, err)
        return err.removeprefix("fairground: ").rstrip("\n")
    return run


@pytest.fixture(name="handed_in")
def an_empty_submission(tmp_path):
    (tmp_path / "class/ann").mkdir(parents=True)
    return tmp_path / "class/ann"


# --- files that are written -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad, why", [("/nonexistent/r", "No such file or directory"), (".", "Is a directory"),
                                      ("README.md/x", "Not a directory"), ("/proc/x", "No such file or directory")])
def test_what_cannot_be_written_is_said_before_any_work(refused, handed_in, tmp_path, monkeypatch, bad, why):
    grade = ("grade", "--lab", "5", handed_in)
    a_class, csv = ("class", "--lab", "5", handed_in.parent), ("--csv", tmp_path / "grades.csv")
    expected = f"{bad}: cannot be written: {why}"
    assert refused(*grade, "--json", bad) == expected
    assert refused(*a_class, "--csv", bad) == expected
    assert refused(*a_class, *csv, "--page", bad) == expected
    if bad in ("README.md/x", "/proc/x"):
        assert refused(*a_class, *csv, "--results", bad) == expected
    monkeypatch.setenv("GITHUB_OUTPUT", bad)
    assert refused(*grade, "--github") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class"]


def reading(pipe, got):
    """A thread that reads @pipe and appends what was written to @got."""
    reader = threading.Thread(target=lambda: got.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    return reader


def test_a_pipe_is_written_through_and_once(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    outputs.check(pipe)
    reader = reading(pipe, got)
    outputs.write(pipe, "whole")
    reader.join(60)
    assert got == ["whole"] and pipe.is_fifo()


def test_the_grade_goes_into_a_pipe(lab, handed_in, tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = reading(pipe, got)
    status, out, _ = lab("grade", "--lab", "5", "--json", pipe, handed_in)
    reader.join(60)
    assert status == 1 and "not graded" in out
    assert pipe.is_fifo() and '"score": 0' in got[0]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    outputs.check(path)
    outputs.write(path, "new")
    assert path.read_text(encoding="utf-8") == "new"
    outputs.append(path, "er")
    assert path.read_text(encoding="utf-8") == "newer"
    link = tmp_path / "link"
    link.symlink_to(path)
    outputs.write(link, "through")
    assert link.is_symlink() and path.read_text(encoding="utf-8") == "through"
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        outputs.write(tmp_path / "absent/file", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


@pytest.mark.parametrize("bad, why", [("/proc/x", "No such file or directory"), ("README.md/x", "Not a directory")])
def test_a_tree_that_cannot_be_written(refused, handed_in, bad, why):
    assert refused("handout", "5", bad) == f"{bad}: cannot be written: {why}"
    assert refused("export", "--lab", "5", handed_in.parent, bad) == f"{bad}: cannot be written: {why}"


def test_a_build_directory_that_cannot_be_written(refused, handed_in, tmp_path):
    lock = tmp_path / "build/labs/lock-0"
    lock.mkdir(parents=True)
    said = f"{lock}: cannot be written: Is a directory; B=DIR names another build directory"
    assert refused("grade", "--lab", "5", handed_in) == said


# --- files that are read --------------------------------------------------------------------------------------------


def test_a_tree_that_git_does_not_know_is_listed(tmp_path):
    names = ["Makefile", "docs/a.md", "kernel/mm/a.c", "tests/model/judge.py"]
    for name in [*names, "docs/more/a.md", "README.md", "kernel/a.orig", "tools/__pycache__/a.pyc", "tools/a.dat",
                 "user/build/a.c", "tests/model/hogs.py"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text", encoding="utf-8")
    assert handout.source_files(tmp_path) == names


def test_without_git_the_files_are_the_same(monkeypatch):
    known = handout.source_files()
    monkeypatch.setenv("PATH", "")
    assert handout.source_files() == known


def test_who_reads_the_list_of_settings_may_go():
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([sys.executable, "-m", "fairground", "settings"], stdout=write_end, stderr=subprocess.PIPE,
                          check=False, env={"PYTHONPATH": str(ROOT / "tools")})
    os.close(write_end)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


# --- a class --------------------------------------------------------------------------------------------------------


def test_what_is_no_submission_is_said_once(lab, handed_in, tmp_path):
    (handed_in.parent / "a\nb").mkdir()
    (handed_in.parent / "grades.csv").write_text("", encoding="utf-8")
    status, out, err = lab("class", "--lab", "5", "--csv", tmp_path / "grades.csv", "--jobs", "1", handed_in.parent)
    assert status == 0
    assert err == f"fairground: {handed_in.parent}: passed over, for neither directory nor archive: grades.csv\n"
    assert sorted(line.split(": ")[1] for line in out.splitlines()) == ["a\\nb 0", "ann 0"]


def test_a_worker_that_cannot_work_is_a_sentence(refused, handed_in, tmp_path):
    (tmp_path / "build/labs/lock-0").mkdir(parents=True)
    sentence = refused("class", "--lab", "5", "--csv", tmp_path / "grades.csv", "--jobs", "1", handed_in.parent)
    assert sentence.endswith("B=DIR names another build directory")


A_CLASS = """
import os, pathlib, sys, tempfile
sys.path.insert(0, sys.argv[1])
import signal
from fairground.__main__ import end
from fairground.lab import grade, roster
def of_submission(lab, path, *_):
    with tempfile.TemporaryDirectory():
        os.write(1, b"begun\\n")
        signal.pause()
signal.signal(signal.SIGTERM, end)
grade.of_submission = of_submission
found = dict.fromkeys("abcd", pathlib.Path("."))
list(roster.rows(None, found, pathlib.Path(sys.argv[2]), 1, [], 2))
"""


def test_a_signal_leaves_no_temporary_directories(tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with subprocess.Popen([sys.executable, "-c", A_CLASS, str(ROOT / "tools"), str(tmp_path / "build")],
                          stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)}) as process:
        begun = [process.stdout.readline() for _ in range(2)]
        process.terminate()
        assert process.wait(60) == 128 + signal.SIGTERM and begun == [b"begun\n"] * 2
    assert not list(temporary.iterdir())


def killed(lab, path, *_):
    """In place of the grading: a process that is ended from outside, each time or, of a file's student, once."""
    if str(path) == "always" or path.exists():
        path.unlink(missing_ok=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return grade.Grade(lab, 1, [], notes=["graded"])


def test_the_end_of_a_worker_costs_nobody_a_grade(tmp_path, monkeypatch):
    monkeypatch.setattr(grade, "of_submission", killed)
    (tmp_path / "once").touch()
    found = {"a": tmp_path / "a", "b": pathlib.Path("always"), "c": tmp_path / "once", "d": tmp_path / "d"}
    rows = list(roster.rows(spec.find("5"), found, tmp_path / "build", 1, [], 2))
    assert {row.student: row.grade.notes for row in rows} == {"a": ["graded"], "b": [], "c": ["graded"],
                                                              "d": ["graded"]} and len(rows) == 4
    assert [row.sentence for row in rows if row.student == "b"] == [roster.ENDED]
    with pytest.raises(spec.LabError, match="again and again"):
        list(roster.rows(spec.find("5"), dict.fromkeys("abcd", pathlib.Path("always")), tmp_path / "build", 1, [], 2))


def test_workers_end_with_a_command_that_is_killed(tmp_path):
    """They hold the pipe that this test reads to its end."""
    with subprocess.Popen([sys.executable, "-c", A_CLASS, str(ROOT / "tools"), str(tmp_path / "build")],
                          stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        assert [process.stdout.readline() for _ in range(2)] == [b"begun\n"] * 2
        process.kill()
        assert process.stdout.read() == b""


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["", "unit,,kernel", " "])
def test_a_part_without_a_name(refused, handed_in, given):
    sentence = refused("grade", "--lab", "5", "--tiers", given, handed_in)
    assert sentence.startswith("--tiers ") and "a part has no name" in sentence
    assert sentence.endswith("there are unit, simulator, kernel")
