#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Build what the tests need, run them with a worker more than there are CPUs, and add up results and costs.

    static   rules of the source, types of the Python, other levels of optimisation
    unit     hosted tests of sched/ and lib/, with sanitizers (cmocka); golden numbers against their model
    prop     random operations on the scheduler, from a seed, and every short sequence of them
    sim      the simulator: its reports, the files it reads and writes, its errors; the page for browsers
    kernel   selftests inside the kernel at 1, 2, 4 and 8 CPUs; at 4 under each other scheduler
    e2e      the machine from outside
    tools    the tools of this project
    mutants  a sample of seeded bugs, each of which the layers above must notice
    labs     coursework: hand-outs, references and wrong solutions get the grades that they should

A layer is a directory of tests/. What follows from the changes in the tree is run first; --changed runs nothing else
(tools/scripts/changes.py). The costs of all tests are in BUILD/test-times.json. The last line of all is
`N passed, N failed, N skipped`.

Usage: test.py [--tier daily|fifth|all] [--changed] [--keep-costs] [LAYER...]
Environment: B (build directory), MAKE, CC
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import Any

import changes
from fairground.machine.machine import commit, stop_all
from fairground.base.settings import PARSERS

BUILD = os.environ.get("B", "build")
MAKE = os.environ.get("MAKE", "make")
CPUS = len(os.sched_getaffinity(0))
WORKERS = CPUS + 1  # of pytest: tests of terminals and browsers wait, too
TIMES = pathlib.Path(BUILD, "test-times.json")
NEEDS = {"static": "kernel sim", "unit": "unit-programs", "prop": "prop-programs sim", "sim": "sim wasm page",
         "kernel": "image", "e2e": "image sim", "tools": "sim", "mutants": "image sim unit-programs",
         "labs": "image sim unit-programs"}  # targets that make builds before a layer's tests start
SLOWEST = 20
COSTS = pathlib.Path("tests/costs.json")
SHORT_S = 2  # a test whose costs are kept only in the sum of its file
SUBREAPER = 36  # prctl(2): what our descendants leave behind becomes ours


def clean_environment() -> None:
    """Remove the job slots of the make that runs us, and settings of a machine such as SMP= and SEED=."""
    for name in (*map(str.upper, PARSERS), "OUT", "EVENTS"):
        os.environ.pop(name, None)
    os.environ["MAKEFLAGS"] = re.sub(r"(^| )-?-j(observer-auth=)?\S*", "", os.environ.get("MAKEFLAGS", ""))


def layer_of(name: str) -> str:
    """The layer of a file of tests, or of a test in it."""
    return name.split("/")[1]


def build(files: list[str]) -> tuple[float, float]:
    """Make what these files and directories of tests need. Returns seconds on the clock and of CPU time."""
    wanted = sorted({target for name in files for target in NEEDS[layer_of(name)].split()})
    began, spent = time.monotonic(), os.times()
    words = [MAKE, f"-j{CPUS}", "--no-print-directory", *wanted]
    if subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode:
        sys.exit("test.py: the programs under test do not build")
    now = os.times()
    return time.monotonic() - began, sum(now[2:4]) - sum(spent[2:4])


def end(number: int, _: FrameType | None) -> None:
    """Leave, and leave no process behind."""
    stop_all()
    sys.exit(128 + number)


def be_tidy() -> None:
    """Whatever ends this program takes the workers and their machines along."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, end)


def pytest(options: argparse.Namespace, files: list[str], first: list[str]) -> int:
    drawn = int(subprocess.run(["git", "rev-list", "--count", "HEAD"], capture_output=True, text=True,
                               check=False).stdout or 0)
    print(f"The number of commits, {drawn}, draws samples, and of the nightly tests a fifth.", flush=True)
    words = [sys.executable, "-m", "pytest", "-q", "--no-header", "-n", str(WORKERS), "--tier", options.tier,
             "--drawn", str(drawn), "--first", ",".join(first), *files]
    return subprocess.run(words, stdin=subprocess.DEVNULL, check=False,
                          env={**os.environ, "PYTHONPATH": "tools:tools/scripts"}).returncode


# --- the report -------------------------------------------------------------------------------


def add_up(tests: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """What each layer cost."""
    total: dict[str, dict[str, float]] = {}
    for name, row in tests.items():
        of_layer = total.setdefault(layer_of(name), {"tests": 0, "cpu_s": 0, "boots": 0, "boot_cpu_s": 0})
        of_layer["tests"] += 1
        for what in ("cpu_s", "boots", "boot_cpu_s"):
            of_layer[what] += row[what]
    return total


def report(found: dict[str, Any]) -> None:
    print(f"\n{'layer':<9}{'tests':>7}{'CPU s':>9}{'boots':>7}{'their CPU s':>13}")
    print(f"{'build':<9}{'':>7}{found['build']['cpu_s']:>9.0f}")
    for layer, row in sorted(add_up(found["tests"]).items(), key=lambda pair: -pair[1]["cpu_s"]):
        print(f"{layer:<9}{row['tests']:>7}{row['cpu_s']:>9.0f}{row['boots']:>7}{row['boot_cpu_s']:>13.0f}")
    cpu_s = sum(row["cpu_s"] for row in found["tests"].values()) + found["build"]["cpu_s"]
    print(f"{cpu_s:.0f} s of CPU time; {found['build']['wall_s']:.0f} s for the build and {found['wall_s']:.0f} s for "
          f"the tests; {found['commit']}; all costs: {TIMES}")
    print(f"\nThe slowest {SLOWEST}, in CPU seconds:")
    for name, row in sorted(found["tests"].items(), key=lambda pair: -pair[1]["cpu_s"])[:SLOWEST]:
        print(f"{row['cpu_s']:>8.1f}  {name}")
    for what in ("skipped", "failed"):
        for text in found[what]:
            print(f"{what.upper()} {text}")


def keep_costs() -> int:
    """Write COSTS from the last run: what it did not run costs as much as before."""
    kept: dict[str, float] = json.loads(COSTS.read_text(encoding="utf-8")) if COSTS.exists() else {}
    rows = json.loads(TIMES.read_text(encoding="utf-8"))["tests"]
    for file in {name.partition("::")[0] for name in rows}:
        kept[file] = round(sum(row["cpu_s"] for name, row in rows.items()
                               if name.startswith(f"{file}::") and row["cpu_s"] < SHORT_S))
    kept.update({name: round(row["cpu_s"]) for name, row in rows.items() if row["cpu_s"] >= SHORT_S})
    COSTS.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n", encoding="utf-8")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Build what the tests need, run them, and add up the results.")
    parser.add_argument("--tier", choices=("daily", "fifth", "all"), default="daily")
    parser.add_argument("--changed", action="store_true", help="run only what follows from the changes in the tree")
    parser.add_argument("--keep-costs", action="store_true", help="only write tests/costs.json from the last run")
    parser.add_argument("layers", nargs="*", choices=[[], *NEEDS], metavar="LAYER", help="default: all")
    options = parser.parse_args()
    if options.keep_costs:
        return keep_costs()
    clean_environment()
    be_tidy()
    first = changes.tests_for(changes.changed_files())
    if options.changed and not first:
        print("No test follows from the changes in the tree.\n0 passed, 0 failed, 0 skipped")
        return 0
    files = first if options.changed else [f"tests/{layer}" for layer in options.layers or NEEDS]
    began = time.time()
    wall_s, cpu_s = build(files)
    status = pytest(options, files, first)
    stop_all()
    if not TIMES.exists() or TIMES.stat().st_mtime < began:
        sys.exit("test.py: pytest did not come to its end")
    found = {"commit": commit(), "build": {"wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1)},
             **json.loads(TIMES.read_text(encoding="utf-8"))}
    TIMES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    report(found)
    print(f"{found['passed']} passed, {len(found['failed'])} failed, {len(found['skipped'])} skipped")
    # 5: no test was chosen, which cannot be of a change: the checks of the source follow from each.
    return int(bool(found["failed"]) or status not in ((0,) if options.changed else (0, 5)))


if __name__ == "__main__":
    sys.exit(main())
