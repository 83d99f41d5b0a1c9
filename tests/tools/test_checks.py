# SPDX-License-Identifier: GPL-2.0-only
"""The checks of the source find what they are for, and nothing else."""

import contextlib
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

from fairground.__main__ import make_parser
from fairground.base import edit, names
from fairground.words import COMMANDS, PROGRAMS
from tests import conftest

import changes
import commit_message
import editorconfig
import golden
import mutants
import reading_path
import tidy

C, PYTHON = pathlib.Path("a.c"), pathlib.Path("a.py")


@pytest.fixture(autouse=True)
def in_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("path, text, line", [
    (C, "int a;\n\tint b; \n", 2), (C, "int a;\r\n", 1), (C, "int a;", 1), (C, "        int a;\n", 1),
    (C, "\t \tint a;\n", 1), (C, "\t" + "x" * 93 + "\n", 1), (PYTHON, "\tpass\n", 1), (PYTHON, "x" * 121 + "\n", 1)])
def test_editorconfig_is_checked(path, text, line):
    assert [number for number, _ in editorconfig.problems(path, text)] == [line]


@pytest.mark.parametrize("path, text", [
    (C, "\tint a;\n\t       aligned;\n/*\n * text\n */\n"), (C, "#define A(x)          \\\n\tx\n"),
    (C, "\t" + "x" * 92 + "\n"), (PYTHON, "    pass\n" + "x" * 120 + "\n"), (C, "")])
def test_what_editorconfig_allows(path, text):
    assert not list(editorconfig.problems(path, text))


@pytest.mark.parametrize("message, words", [
    ("sched/fair: a new task starts to the right\n\nWhy.\n", None), ("no area here\n", "area"),
    ("a: b\nno empty line\n", "second"), ("area: " + "x" * 67 + "\n", "73"), ("area: " + "x" * 66 + "\n", None),
    ("fixup! whatever\n", None)])
def test_commit_messages(message, words):
    found = list(commit_message.problems(message))
    assert found == [] if words is None else len(found) == 1 and words in found[0]


SOURCE = """/* SPDX */
/* About. */

/* What it does. */
static bool first(int a,
\t\t  int b)
{
\treturn a;
}

struct thing {
\tint a;
};

void second(void)
{
\tif (first(1, 2)) {
\t}
}
"""


@pytest.mark.parametrize("name, lines", [("first", (4, 9)), ("second", (15, 19)), ("struct thing", (11, 13))])
def test_a_definition_is_found_with_its_comment(name, lines):
    first, end = edit.definition(SOURCE, name)
    assert SOURCE[first:end].splitlines() == SOURCE.splitlines()[lines[0] - 1:lines[1]]


@pytest.mark.parametrize("name", ["third", "struct other"])
def test_a_definition_that_is_not_there(name):
    assert edit.definition(SOURCE, name) is None


def test_a_change_is_made_in_its_function_alone():
    text = edit.Edit("a.c", "{", "{ /* here */", "first").apply(SOURCE)
    assert text.count("here") == 1 and text.index("here") < text.index("struct thing")


@pytest.mark.parametrize("before, function, words", [
    ("return b;", "first", "0 times in first of a.c, not once: return b;"), ("{", "", "4 times in the file of a.c"),
    ("return a;", "third", "a.c has no third")])
def test_a_change_without_one_place_is_refused(before, function, words):
    with pytest.raises(edit.EditError, match=words):
        edit.Edit("a.c", before, "", function).apply(SOURCE)


def test_a_row_of_which_one_change_fails_changes_nothing(tmp_path):
    (tmp_path / "a.c").write_text(SOURCE)
    with pytest.raises(edit.EditError):
        edit.plant((edit.Edit("a.c", "int a;", "int c;"), edit.Edit("b.c", "x", "y")), tmp_path)
    assert (tmp_path / "a.c").read_text() == SOURCE


@pytest.fixture
def reading_page(tmp_path, monkeypatch):
    """Writes the page of the reading path."""
    page = tmp_path / "reading.md"
    monkeypatch.setattr(reading_path, "PAGE", page)
    return page.write_text


def test_a_reading_path_that_names_what_is_gone_is_found(reading_page):
    reading_page("| [sched/core/wake.c](../sched/core/wake.c) | `sched_wake` `no_such_thing` | why |\n")
    found = list(reading_path.problems())
    assert len(found) == 1 and "no_such_thing in sched/core/wake.c" in found[0]


ROW = "| [sched/core/rq.c](../sched/core/rq.c) | `rq_update_timer` | why |\n"
AWAY = "\n## Look away\n\n| functions | why |\n|---|---|\n| `earlier` "


@pytest.mark.parametrize("page, words", [
    (ROW, ["calls earlier(), which is not"]),
    (ROW + AWAY + "| no |\n", []),
    (ROW + AWAY + "`rq_update_timer` | no |\n", ["rq_update_timer() is on the reading path and looked away",
                                               "nothing on the reading path calls it"]),
    (ROW + AWAY + "`sched_wake` | no |\n", ["sched_wake() is looked away, but nothing on the reading path calls it"]),
])
def test_a_reading_path_is_closed(reading_page, page, words):
    reading_page(page)
    found = list(reading_path.problems())
    assert len(found) == len(words) and all(word in line for word, line in zip(words, found))


@pytest.mark.parametrize(("comment", "body", "told"), [
    ("Moves the pages of @p. lock held.", "move(p);", True),
    ("Moves the pages of @p. lock held.", "debug_assert(spin_is_held(&p->lock));\n\tmove(p);", False),
    ("Sets the timer. Interrupts off.", "set();", True),
    ("Frees it. No locks held.", "might_sleep();\n\tfree(p);", False),
    ("Drops the lock, if it is held by us, and sleeps.", "sleep();", False),
])
def test_tidy_tells_a_demand_that_is_not_asserted(tmp_path, comment, body, told):
    assert bool(demands_of(tmp_path, comment, body, "kernel/fs/pages.c")) is told


@pytest.mark.parametrize(("comment", "body", "told"), [
    ("The sum of @rq. Lock held.", "add(rq);", True),
    ("The sum of @rq, locked, or 0.", "add(rq);", True),
    ("The sum of @rq,\n * locked: it changes.", "add(rq);", True),
    ("Makes it known. Locked: @rq, @d.", "add(rq);", True),
    ("Makes it known. Locked: @rq, @d.", "debug_assert_locked(rq);\n\tadd(rq);", False),
    ("The sum of @rq, locked, or 0.", "assert_locked(rq);\n\tadd(rq);", False),
    ("A hint if its lock is not held.", "add(rq);", False),
    ("The sum of @rq, which need not be locked.", "add(rq);", False),
])
def test_tidy_tells_a_demand_of_the_scheduler(tmp_path, comment, body, told):
    assert bool(demands_of(tmp_path, comment, body, "sched/core/sum.c")) is told


def demands_of(directory, comment, body, name):
    """What tidy says of a function in the file @name."""
    path = directory / "file.c"
    path.write_text(f"/* {comment} */\nstatic void work(struct rq *rq)\n{{\n\t{body}\n}}\n")
    file = tidy.File(path)
    file.path = pathlib.Path(name)
    return list(tidy.unkept_demands([file]))


def test_a_page_that_names_a_file_that_is_gone_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("`core/switch.c`, `sched/mine/mine.c` and\n`fair/switch.c`\n")
    found = list(tidy.files_that_are_gone([tidy.File(page)]))
    assert len(found) == 1 and found[0].endswith("page.md:2: names fair/switch.c, which is not there")


def test_a_golden_number_that_differs_is_found_and_mended(tmp_path, monkeypatch):
    monkeypatch.setattr(golden, "TESTS", tmp_path)
    block = next(b for b in golden.BLOCKS if b.function == "one_long_update_differs_from_many_by_rounding_only")
    right = (ROOT / "tests" / "unit" / block.file).read_text()
    (tmp_path / block.file).write_text(right.replace("{ 16, 299, 13684 }", "{ 16, 299, 13685 }"))
    assert "13685 stands there, the model says 13684" in golden.compare(block, write=False)[0]
    golden.compare(block, write=True)
    assert (tmp_path / block.file).read_text() == right


@pytest.mark.parametrize("is_there", [False, True])
def test_objects_that_another_test_removes_meanwhile_are_not_copied(tmp_path, monkeypatch, is_there):
    """An object that is there and cannot be copied is an error."""
    (tmp_path / "build").mkdir()
    for name in ("kept.o", "other.o"):
        (tmp_path / "build" / name).write_text(name)
    (tmp_path / "build/tree-1.unfinished").mkdir()
    copy, gone = shutil.copy2, os.path.join("build", "other.o")

    def refuse(source, *where, **how):
        if os.fspath(source) != gone and getattr(source, "path", None) != gone:
            return copy(source, *where, **how)
        if not is_there:
            os.unlink(gone)
        raise OSError("refused")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mutants, "SCRATCH", pathlib.Path("build/mutants"))
    monkeypatch.setattr(mutants, "BUILT", pathlib.Path("build"))
    monkeypatch.setattr(shutil, "copytree", functools.partial(shutil.copytree, copy_function=refuse))
    with pytest.raises(shutil.Error) if is_there else contextlib.nullcontext():
        mutants.seed([], tmp_path / "copy")
    assert sorted(os.listdir("copy/build")) == ["kept.o"]


def header(run, noticed_by):
    return mutants.Mutant("a_bug", "lib.toml:4", "x", tuple(noticed_by.split()), run, ())


@pytest.mark.parametrize("run, noticed_by, wrong", [
    ("unit pelt", "R3 the_decay_table_is_exact", ""), ("unit ring", "test_raw_pages timeout", ""),
    ("unit dl", "the_earliest_deadline_runs the_m_earliest_deadlines_run", "the_m_earliest_deadlines_run"),
    ("unit pelt", "the_decay_table", "the_decay_table"), ("unit pelt", "R99", "R99"),
    ("kernel mm_page_* 1", "mm_page_blocks", ""), ("kernel mm_copy* 1", "mm_page_blocks", "mm_page_blocks"),
    ("guest 2 taskcheck cpu-times", "cpu-times", ""), ("guest timeout 9 filecheck x", "requeue", "requeue"),
    ("guest true", "143", ""), ("scenario cfs F-01", "F-01", ""), ("scenario cfs F-01", "F-02", "F-02"),
    ("judge balance --cpus 4 hogs:n=3", "amount", ""), ("judge balance --cpus 4 hogs:n=3", "amounting", "amounting"),
    ("prop --sched cfs", "oracle T3 world.c", ""), ("replay cfs machine.1000 fork", "the_oracle", "the_oracle")])
def test_a_seeded_bug_names_a_test_of_its_program(run, noticed_by, wrong):
    assert mutants.misnamed(header(run, noticed_by)) == wrong.split()


@pytest.mark.parametrize("run", ["unit no_such", "scenario cfs F-99", "judge no_such --cpus 4", "layer x"])
def test_a_seeded_bug_without_a_program_is_found(run):
    with pytest.raises(mutants.Problem):
        mutants.misnamed(header(run, "R3"))


RIGHT = """[one]
breaks = "x"
noticed-by = "R3"
run = "unit pelt"
file = "sched/fair/core/pelt.c"
function = "decay"
before = 'HALF_LIFE * 63'
after = 'HALF_LIFE * 64'
"""


@pytest.mark.parametrize("old, new, words", [
    ("x", "y", None), ("R3", "no_such_test", "a.toml:1: no_such_test is no invariant and no test of: unit pelt"),
    ("unit pelt", "unit no_such", "a.toml:1: run needs tests/unit/test_no_such.c, which is not there"),
    ("run = ", "ran = ", "a.toml:4: unknown key ran"), ("HALF_LIFE * 63", "n > 63", "a.toml:1: 0 times in decay of"),
    ("file", "# file", "a.toml:1: one lacks the key file")])
def test_tidy_tells_a_wrong_row(tmp_path, monkeypatch, old, new, words):
    (tmp_path / "a.toml").write_text(RIGHT.replace(old, new, 1))
    monkeypatch.setattr(mutants, "ROWS", tmp_path)
    found = list(tidy.stale_mutants())
    assert found == [] if words is None else len(found) == 1 and words in found[0]


SETTING = r"[A-Z_]+=(?:\"[^\"]*\"|'[^']*'|[^\s`]*)"
TYPED = re.compile(rf"(?:^ *(?:\$ )?|`|&& )make ((?:build/[\w./-]+|-j\d+|{SETTING}|[a-z][\w-]*| )+)", re.MULTILINE)
BLOCK = re.compile(r"^```\n.*?^```$|^    .*$|`[^`]+`", re.MULTILINE | re.DOTALL)  # of a page: what a reader types
PAGES = [path for path in tidy.repository_files() if path.suffix == ".md" and path.parts[0] != "tests"
         and path.name != "CHANGELOG.md" and path.parts[:2] != ("docs", "adr")]


def targets():
    text = re.search(r"^TARGETS := ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
    return {*text.replace("\\", "").split(), "unit-programs", "prop-programs", "seam"}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_what_a_page_tells_to_type_is_known(page, capsys):
    """Targets, words and settings are there, and fairground takes the words of ARGS."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    for typed in TYPED.findall("\n".join(blocks)):
        given = [word for word in shlex.split(typed) if not word.startswith("-j")]
        settings = dict(word.split("=", 1) for word in given if "=" in word)
        for word in given:
            assert "=" in word or "/" in word or word in {*targets(), *COMMANDS, *PROGRAMS}, f"{word} of make {typed}"
            if word in COMMANDS and settings.get("ARGS", "...") not in ("...", "--help"):
                make_parser([word]).parse_args([word, *shlex.split(settings["ARGS"])])
        assert not names.unknown(settings), f"make {typed}"


SCRIPTS = sorted(path for path in (ROOT / "tools/scripts").iterdir()
                  if path.suffix == ".sh" or path.suffix == ".py" and '\nif __name__ == "__main__"' in path.read_text())


@pytest.mark.parametrize("path", [*SCRIPTS, ROOT / "tools/setup.sh"], ids=lambda path: path.name)
def test_help_is_printed_and_nothing_else_done(path, tmp_path):
    """In an empty directory, where a program that does its work would fail or leave something."""
    words = ["sh" if path.suffix == ".sh" else sys.executable, str(path), "--help"]
    done = subprocess.run(words, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "tools"), "FAIRGROUND_TREE": str(ROOT)})
    assert done.returncode == 0 and not done.stderr and not list(tmp_path.iterdir()), done.stderr
    assert len(done.stdout.split()) > 10 and re.search(r"^usage: |^Usage: ", done.stdout, re.MULTILINE), done.stdout


def test_setup_names_each_tool_once():
    text = (ROOT / "tools" / "setup.sh").read_text()
    needs = re.findall(r"^[a-z,]+ +(?:cmd|file|static) (\S+)", text, re.MULTILINE)
    assert len(needs) == len(set(needs)) and "mypy" in needs
    subprocess.run(["sh", "-n", "tools/setup.sh"], check=True)


def test_setup_says_that_a_system_is_too_old(tmp_path):
    """Elsewhere the first command would end in a traceback, and the C library of its musl-gcc lacks system calls."""
    (tmp_path / "python").write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.10.12\n', encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    done = subprocess.run(["sh", "tools/setup.sh", "--for", "sim"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHON": str(tmp_path / "python")})
    assert done.returncode == 1 and done.stderr.startswith("setup: this system is too old: Python 3.10.12, where 3.11")


@pytest.mark.parametrize("path", ["docs/tracing.md", "tools/fairground/trace/latency.py", "sched/rt/rt.c",
                                  "kernel/fs/pipe.c", "kernel/base/main.c", "tests/hosted/pipe.c",
                                  "user/bin/hog.c"])
def test_what_follows_from_a_change_can_be_run(path):
    """A test that is not there ends pytest before the others."""
    words = [sys.executable, "-m", "pytest", "-q", "--collect-only", *changes.tests_for([path])]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_file_costs_what_its_tests_of_this_run_cost(monkeypatch):
    """Its nightly tests do not split it by day. Of files that nobody knows one is taken to be long."""
    monkeypatch.setattr(conftest, "known_costs", lambda: {"a.py": 3, "a.py::day": 5, "a.py::nightly": 900})
    assert conftest.cost_of_files(["a.py::day", "a.py::short", "b.py::one", "b.py::two"]) == {
        "a.py": 3 + 5, "b.py": conftest.UNKNOWN_S}


@pytest.mark.parametrize("goals, kinds", [
    (["image", "sim"], {"CC kernel", "USER user", "CC sim"}), (["unit-programs", "prop-programs"], {"CC tests"}),
    (["unit", "TESTS=pelt"], {"CC lib"})])
def test_a_build_from_nothing_counts_its_files(tmp_path, goals, kinds):
    """The compiler's lines have the numbers 1 to n of n, kernel, programs and simulator apart."""
    made = subprocess.run(["make", "-n", *goals, f"B={tmp_path}/build"], cwd=ROOT, capture_output=True, text=True,
                          check=True, env={**os.environ, "MAKEFLAGS": ""}).stdout
    lines = re.findall(r'echo "  (CC|AS|USER) +(?:\[(\d+)/(\d+)\] )?(\w+)/', made)
    assert {f"{kind} {room}" for kind, _, _, room in lines} >= kinds
    totals = list(dict.fromkeys(total for _, _, total, _ in lines))
    numbers = [int(number) for _, number, _, _ in lines]
    assert numbers == [nr for total in totals for nr in range(1, int(total) + 1)]
