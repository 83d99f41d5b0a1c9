# SPDX-License-Identifier: GPL-2.0-only
"""What the texts of a hand-out cite must be in it: files, and tests that a student is told to run."""

import pathlib
import re
from collections.abc import Iterator

READ = ("README.md", "labs", "sched", "sim", "lib", "kernel", "arch", "user", "examples", "mk/commands.mk",
        "tests/unit", "tests/oracle", "tests/model", "tests/guest")
BROWSER = re.compile(r"_wasi\.[ch]$")  # parts of the page for browsers, of which a hand-out has no other
KINDS = {".md", ".toml", ".c", ".h", ".S", ".def", ".py", ".mk"}
PATH = re.compile(r"(?<![\w./-])((?:docs|labs|tests|examples|experiments|web|tools|sched|sim|lib|mk)"
                  r"/[\w./-]*\w\.(?:md|json|toml|c|h|def|py|sh|mk|mjs|ts))\b")
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)  # the compiler finds it elsewhere, or says so
ONE_TEST = re.compile(r"make unit TESTS=([\w-]+) TEST=([\w-]+)")
EXAMPLES = {"examples/policies/mine.c", "sched/fair/mine/mine.c", "sched/mine/mine.c"}  # of a policy to be written


def _texts(tree: pathlib.Path) -> Iterator[pathlib.Path]:
    for name in READ:
        top = tree / name
        yield from [top] if top.is_file() else sorted(path for path in top.rglob("*")
                                                             if path.suffix in KINDS and not BROWSER.search(path.name))


def of_text(text: str, tree: pathlib.Path) -> list[str]:
    """What @text cites and @tree does not have."""
    missing = [name for name in dict.fromkeys(PATH.findall(INCLUDE.sub("", text)))
               if name not in EXAMPLES and not (tree / name).exists()]
    for program, test in ONE_TEST.findall(text):
        path = tree / f"tests/unit/test_{program}.c"
        if test != "NAME" and not (path.exists() and f"cmocka_unit_test({test})" in path.read_text("utf-8")):
            missing.append(f"{test} of tests/unit/test_{program}.c")
    return missing


def missing(tree: pathlib.Path) -> list[str]:
    """A sentence about each file of the hand-out @tree and each thing that it cites and that is not there."""
    return [f"{path.relative_to(tree)} cites {name}, which is not in the hand-out"
            for path in _texts(tree) for name in of_text(path.read_text(encoding="utf-8"), tree)]
