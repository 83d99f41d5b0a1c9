# SPDX-License-Identifier: GPL-2.0-only
"""The first words of the command `fairground`. `make` hands on each word that is no target of its own, so they are the
same there (mk/commands.mk), and asks what is to be built first: `python3 -m fairground.words WORD...`.

A command is a module of a room; nothing else names it (docs/command.md). It has main(settings, arguments), whose first
line of documentation is the command's help, and options(parser) if it has options. Its COMMAND says the rest, in
constants, for it is read from the text of the module: only the one that runs is loaded.
"""

import pathlib
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

from .base import unloaded


class Command(NamedTuple):
    """A word for everybody. Its help ends with the examples: words behind it, and what they do."""

    name: str
    examples: Sequence[tuple[str, str]]
    machine: bool = False  # it has the options of a machine: --smp, --sched...
    built: str = ""  # the targets of make that come first
    tree: str = ""  # the part of the tree that it reads, which an installed package does not have (base/tree.py)
    no_object: str = ""  # why there is no --json


ROOMS = pathlib.Path(__file__).parent
LINE = re.compile(r'^COMMAND = Command\("([^"]+)"', re.MULTILINE)


def find() -> dict[str, str]:
    """name -> the command's module."""
    found = {}
    for path in (*ROOMS.glob("*.py"), *ROOMS.glob("*/*.py")):
        if line := LINE.search(path.read_text(encoding="utf-8")):
            found[line[1]] = ".".join(path.relative_to(ROOMS).with_suffix("").parts)
    return dict(sorted(found.items()))


COMMANDS = find()


def read(name: str) -> tuple[Command, str]:
    """What the module of the command @name says of it, and its help, without loading the module."""
    path = ROOMS.joinpath(*COMMANDS[name].split(".")).with_suffix(".py")
    module = unloaded.parsed(path)
    what = unloaded.documentation(module, "main")
    assert what, f"{path}: main() has no documentation, which is the command's help"
    return Command(name, **unloaded.arguments(unloaded.assigned(module, "COMMAND"))), what


class Program(NamedTuple):
    """What a developer's word runs, and what that is good for."""

    words: Sequence[str]  # {build}: the build directory
    what: str
    built: str = ""  # the targets of make that come first


SCRIPTS = "tools/scripts"
PAGES = "docs/book/img"
# For those who work on the project, and only in its tree. Each has a --help of its own.
PROGRAMS = {
    "bench-sim": Program(["python3", f"{SCRIPTS}/bench_sim.py"],
                         "measure the simulator's speed at 1 to 4096 CPUs", "sim"),
    "bench-balance": Program(["python3", f"{SCRIPTS}/balance_cost.py"], "measure what balancing costs each CPU", "sim"),
    "book": Program(["python3", f"{SCRIPTS}/book.py"], "make the book, a site and a PDF, with every link checked"),
    "calibration": Program(["python3", f"{SCRIPTS}/calibration.py"],
                           "keep what make fidelity left in ARGS=BUILD, and make docs/calibration.md of it", "sim"),
    "compdb": Program(["python3", f"{SCRIPTS}/compdb.py"], "write compile_commands.json for clangd"),
    "digest": Program(["python3", f"{SCRIPTS}/digest.py"],
                      "print digests of all decisions: a change changes none", "sim"),
    "explore": Program(["python3", f"{SCRIPTS}/explore.py"], "random operations from many seeds, in parallel", "sim"),
    "fuzz": Program(["python3", "-m", "fuzzing"],
                    "system calls that AFL++ draws by the kernel's places that they reach", "image"),
    "golden": Program(["python3", "tests/model/golden.py"], "compare the unit tests' golden numbers with the model's"),
    "judge": Program(["python3", "tests/model/campaign.py"],
                     "judge millions of decisions of simulator and kernel", "image sim"),
    "man": Program(["python3", f"{SCRIPTS}/manpages.py", "{build}/man", "{build}/schedsim"],
                   "write the manual pages: build/man", "sim"),
    "mutants": Program(["python3", f"{SCRIPTS}/mutants.py"],
                       "plant every seeded bug; its test must notice it", "image sim unit-programs"),
    "mutate": Program(["python3", "-m", "mutation"], "generate mutations of sched/ and count what tests notice"),
    "nightly": Program(["python3", "-m", "pytest", "-q", "--collect-only", "--nightly", "tests"],
                       "print the tests that make test leaves out, with what only they notice"),
    "notebook": Program(["python3", f"{SCRIPTS}/notebook.py"],
                        "run examples/results.ipynb and keep what it shows", "sim"),
    "picture": Program(["python3", f"{SCRIPTS}/picture.py"],
                       "draw the pictures of the pages anew: docs/img/*.svg", "sim"),
    "page-figures": Program(["python3", "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "tests/sim/test_wasm.py",
                             "tests/sim/test_page_speed.py"],
                            "measure the page for browsers: bytes, speed, memory", "sim wasm page"),
    "page-pictures": Program(["node", "tests/tools/book_pictures.mjs", "{build}/web/node_modules",
                              "{build}/fairground.html", PAGES],
                             f"the book's pictures of the page: {PAGES}/*.png", "sim wasm page"),
    "questions": Program(["python3", f"{SCRIPTS}/questions.py"],
                         "make a bank of questions with numbers for each student: QTI, Moodle", "sim"),
    "release": Program(["python3", f"{SCRIPTS}/release.py"],
                       "make a release of this commit: source, images, page, wheel, with checksums"),
    "seeds": Program(["python3", f"{SCRIPTS}/seedsdocs.py"],
                     "keep what make experiments left in ARGS=DIR, and make docs/seeds.md of it"),
    "site": Program(["python3", f"{SCRIPTS}/website.py"],
                    "make one folder for any web server: page, gallery, book, documentation, image", "image iso page"),
    "size": Program(["python3", f"{SCRIPTS}/size.py"], "print lines and bytes by room, and the reading path", "kernel"),
    "slides": Program(["python3", f"{SCRIPTS}/slides.py"], "make the slides of the chapters: HTML and PDF"),
}


def built_first(words: Sequence[str]) -> str:
    """The targets of make that come before @words; none for those that are no words of ours."""
    return " ".join(PROGRAMS[word].built if word in PROGRAMS else read(word)[0].built
                    for word in words if word in PROGRAMS or word in COMMANDS)


if __name__ == "__main__":
    print(built_first(sys.argv[1:]))
