# SPDX-License-Identifier: GPL-2.0-only
"""The first words of the command `fairground`. `make` hands on each word that is no target of its own, so they are the
same there (mk/commands.mk)."""

from collections.abc import Sequence
from typing import NamedTuple

# Each is a module with main(settings, arguments), whose first line of documentation is the command's help, and with
# options(parser) if it has options. Only the one that runs is loaded.
COMMANDS = {
    "run": "machine.run", "bench": "machine.bench", "bench-smp": "machine.bench_smp", "trace": "trace.trace",
    "top": "trace.top", "repeat": "machine.repeat", "gdb": "machine.gdb", "latency": "trace.latency",
    "timehist": "trace.timehist", "map": "trace.switch_map", "stat": "trace.stat", "profile": "machine.profile",
    "experiment": "study.experiment", "experiments": "study.all_experiments", "compare": "study.compare",
    "sweep": "study.sweep", "agreement": "judge.agreement", "scenarios": "judge.scenarios",
    "decisions": "decisions.decision_report", "graph": "pictures.graph", "convert": "trace.convert",
    "fidelity": "judge.fidelity", "first-difference": "judge.first_difference", "report": "pictures.report",
    "lab": "lab.command", "settings": "settings_table", "completion": "completion",
}


class Program(NamedTuple):
    """What a developer's word runs, and what that is good for."""

    words: Sequence[str]  # {build}: the build directory
    what: str


SCRIPTS = "tools/scripts"
PAGES = "docs/book/img"
# For those who work on the project, and only in its tree. Each has a --help of its own.
PROGRAMS = {
    "bench-sim": Program(["python3", f"{SCRIPTS}/bench_sim.py"], "measure the simulator's speed at 1 to 4096 CPUs"),
    "bench-balance": Program(["python3", f"{SCRIPTS}/balance_cost.py"], "measure what balancing costs each CPU"),
    "book": Program(["python3", f"{SCRIPTS}/book.py"], "make the book, a site and a PDF, with every link checked"),
    "compdb": Program(["python3", f"{SCRIPTS}/compdb.py"], "write compile_commands.json for clangd"),
    "digest": Program(["python3", f"{SCRIPTS}/digest.py"], "print digests of all decisions: a change changes none"),
    "explore": Program(["python3", f"{SCRIPTS}/explore.py"], "random operations from many seeds, in parallel"),
    "golden": Program(["python3", "tests/model/golden.py"], "compare the unit tests' golden numbers with the model's"),
    "judge": Program(["python3", "tests/model/campaign.py"], "judge millions of decisions of simulator and kernel"),
    "mutants": Program(["python3", f"{SCRIPTS}/mutants.py"], "plant every seeded bug; its test must notice it"),
    "mutate": Program(["python3", "-m", "mutation"], "generate mutations of sched/ and count what tests notice"),
    "nightly": Program(["python3", "-m", "pytest", "-q", "--collect-only", "--nightly", "tests"],
                       "print the tests that make test leaves out, with what only they notice"),
    "picture": Program(["python3", f"{SCRIPTS}/picture.py"], "draw the pictures of the pages anew: docs/img/*.svg"),
    "page-figures": Program(["python3", "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "tests/sim/test_wasm.py",
                             "tests/sim/test_page_speed.py"], "measure the page for browsers: bytes, speed, memory"),
    "page-pictures": Program(["node", "tests/tools/book_pictures.mjs", "{build}/web/node_modules",
                              "{build}/fairground.html", PAGES], f"the book's pictures of the page: {PAGES}/*.png"),
    "size": Program(["python3", f"{SCRIPTS}/size.py"], "print lines and bytes by room, and the reading path"),
}
