# SPDX-License-Identifier: GPL-2.0-only
"""Which tests follow from a change of which file. CONTRIBUTING.md has the same as a table for people.

A row of RULES is a pattern for paths and what follows: directories and files of tests. What a rule names with {stem} is
each file of tests that goes by the name of the changed file: see mentioning(). For files of kernel/ the rest is in
kernel_tests.py.
"""

import fnmatch
import pathlib
import re
import subprocess
from collections.abc import Iterator

import kernel_tests
from docblocks import tested
from fairground.base.tree import ROOT

SOURCE = "tests/static/test_source.py"
RULES = (
    ("tests/*/test_*.py", ("{self}",)),
    ("tests/unit/*", ("tests/unit",)),
    ("tests/prop/*", ("tests/prop",)),
    ("tests/oracle/*", ("tests/unit", "tests/prop")),
    ("tests/kernel/*", ("tests/kernel",)),
    ("tests/hosted/*", ("tests/prop/test_prop.py",)),
    ("tests/model/*", ("tests/static", "tests/sim/test_judge.py", "{stem}")),
    ("tests/mutants/*", ("tests/mutants",)),
    ("tests/spin/*", ("tests/spin",)),
    ("tests/scenarios/*", ("tests/sim/test_scenarios.py", "tests/e2e/test_scenarios.py")),
    ("tests/*", ("{stem}",)),
    ("sched/*", ("tests/unit", "tests/prop", "tests/kernel", "tests/sim/test_judge.py", "tests/sim/test_scenarios.py",
                 "{stem}")),
    ("lib/*", ("tests/unit", "tests/kernel")),
    ("sim/*", ("tests/sim/test_determinism.py", "tests/sim/test_output.py", "tests/sim/test_wasm.py",
               "tests/sim/test_workloads.py", "{stem}")),
    ("kernel/*", ("tests/kernel", "{stem}")),
    ("arch/*", ("tests/kernel", "tests/e2e/test_boot.py", "tests/e2e/test_programs.py", "{stem}")),
    ("user/*", ("tests/e2e/test_programs.py", "{stem}")),
    ("tools/fairground/lab/*", ("tests/sim/test_labs.py", "tests/sim/test_lab_class.py",
                                "tests/sim/test_lab_command.py")),
    ("tools/fairground/*", ("tests/tools/test_install.py", "tests/e2e/test_badinput.py", "{stem}")),
    ("tools/*", ("{stem}",)),
    ("labs/*", ("tests/labs", "tests/sim/test_labs.py")),
    ("web/*", ("tests/sim/test_page.py", "tests/sim/test_page_tour.py", "tests/sim/test_page_own.py")),
    ("experiments/*", ("tests/sim/test_experiment_files.py", "tests/e2e/test_figures.py")),
    ("examples/*", ("tests/sim/test_expressions.py", "tests/sim/test_traits.py", "{stem}")),
    ("*Makefile", ("tests/e2e/test_badinput.py",)),
    ("mk/*", ("tests/e2e/test_badinput.py",)),
)


def git(*words: str) -> list[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()


def changed_files() -> list[str]:
    """The files that differ from the last commit, or if none does those that the last commit changed."""
    here = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    return sorted(here or git("diff", "--name-only", "HEAD~1", "HEAD"))


def test_files() -> Iterator[pathlib.Path]:
    yield from sorted(pathlib.Path(ROOT, "tests").glob("*/test_*.py"))


def mentioning(path: str) -> Iterator[str]:
    """The files of tests that have the name of the file @path in theirs, import it, or quote it as a command."""
    stem = pathlib.PurePath(path).stem
    name = re.escape(stem).replace("_", "[-_]")
    used = re.compile(rf"fairground[\w.]* import [^\n]*\b{stem}\b|fairground\.[\w.]*\b{stem}\b|^import {stem}\b"
                      rf"|\"{name}[\" ]|/{name}[.\" ]", re.MULTILINE)
    for file in test_files():
        if stem in file.stem or path.startswith("tools/") and used.search(file.read_text(encoding="utf-8")):
            yield str(file.relative_to(ROOT))


def pages(path: str) -> Iterator[str]:
    """The tests of the sessions in the page @path."""
    for first, _ in tested(str(ROOT / path)):
        yield f"tests/e2e/test_docs.py::test_page[{path}:{first}]"


def follow(path: str) -> Iterator[str]:
    """The tests that follow from a change of the file @path, some of them twice."""
    yield SOURCE
    if path.startswith("kernel/"):
        yield from kernel_tests.hosted_tests(path)
        yield from kernel_tests.sessions(path)
    if path.endswith(".md") and (ROOT / path).exists():
        yield from pages(path)
    for pattern, wanted in RULES:
        if fnmatch.fnmatch(path, pattern):
            for name in wanted:
                if name == "{stem}":
                    yield from mentioning(path)
                elif name != "{self}" or (ROOT / path).exists():
                    yield path if name == "{self}" else name
            return


def tests_for(paths: list[str]) -> list[str]:
    """What pytest is to run for a change of the files @paths: directories, files and tests, each once."""
    found = {name for path in paths for name in follow(path)}
    return sorted(name for name in found if not any(
        other != name and name.startswith((f"{other}/", f"{other}::")) for other in found))
