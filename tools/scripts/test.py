#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run every layer of the tests, cheapest first, as many at a time as there are CPUs, and add up the results.

    static   rules of the source, the scheduler's seam, types of the Python, a build by the other compiler, which must
             record the same bytes
    unit     hosted tests of sched/ and lib/, with sanitizers (cmocka); golden numbers against their model
    prop     random operations on the scheduler, some from a seed of the commit's own, and every short sequence of them;
             after each the invariants are checked
    sim      the simulator: its reports, the files it reads and writes, its errors (pytest)
    kernel   selftests inside the kernel at 1, 2, 4 and 8 CPUs; at 4 under each other scheduler
    e2e      the machine from outside (pytest)
    mutants  a sample of seeded bugs, each of which the layers above must notice
    labs     coursework: hand-outs, references and wrong solutions get the grades that they should

A layer reports in TAP (pytest in JUnit's XML), and its output is kept in BUILD/test/. A layer that runs no test has
failed. Every ten seconds a line says what each layer at work did last, or which of its tests failed. The last line of
all is `N passed, N failed, N skipped`.

Usage: test.py [LAYER...]    environment: B (build directory), MAKE
"""

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TextIO

from fairground.machine import commit, run_batch
from fairground.qemu import QemuError
from fairground.settings import PARSERS, SCHEDULERS, make_settings

BUILD = os.environ.get("B", "build")
MAKE = os.environ.get("MAKE", "make")
LOGS = os.path.join(BUILD, "test")
CPUS = (1, 2, 4, 8)
MUTANTS = 4
WORKERS = len(os.sched_getaffinity(0))
FRESH_OPS = "2000000"  # under each policy: one minute of CPU time, two beside the other layers
PROGRESS_S = 10
FAILURE = re.compile(r"^.*\b(?:not ok|FAILED|ERROR) .*$", re.MULTILINE)
RESULT = re.compile(r"^(?:\[ *[\d.]+\] )?(not )?ok \d+ ?-? ?(.*?)( # SKIP.*)?$", re.MULTILINE)
REASON = re.compile(r"# (\S+: check failed: .*)\n(?:.*\n){,3}?.*\bnot ok \d+ ?-? ?(.*)$", re.MULTILINE)
REASON_LENGTH = 200
PLAN = re.compile(r"^(?:\[ *[\d.]+\] )?1\.\.(\d+)", re.MULTILINE)


@dataclass
class Count:
    """Results of some tests. Failed ones are kept by name, with the reason where one was reported."""

    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)

    def add(self, other: "Count") -> None:
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed

    def __str__(self) -> str:
        return f"{self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped"


def count_tap(text: str) -> Count:
    """Count results in TAP or KTAP. Fewer results than planned are a failure: something ended early."""
    count = Count()
    results = RESULT.findall(text)
    reasons = {name: f"{name}: {reason}" for reason, name in REASON.findall(text)}
    for bad, name, skip in results:
        if bad:
            count.failed.append(reasons.get(name, name))
        elif skip:
            count.skipped += 1
        else:
            count.passed += 1
    planned = sum(map(int, PLAN.findall(text)))
    if planned > len(results):
        count.failed.append(f"{planned - len(results)} of {planned} tests did not report")
    return count


def count_junit(path: str) -> Count:
    count = Count()
    for case in xml.parse(path).iter("testcase"):
        problem = next((case.find(kind) for kind in ("failure", "error") if case.find(kind) is not None), None)
        if problem is not None:
            reason = problem.get("message", "").partition("\n")[0][:REASON_LENGTH]
            count.failed.append(f"{case.get('classname')}::{case.get('name')}: {reason}")
        elif case.find("skipped") is not None:
            count.skipped += 1
        else:
            count.passed += 1
    return count


at_work: dict[str, str] = {}  # name of a log -> its path, while a layer writes it


@contextlib.contextmanager
def open_log(name: str) -> Iterator[TextIO]:
    path = os.path.join(LOGS, name + ".log")
    with open(path, "w", encoding="utf-8") as log:
        at_work[name] = path
        try:
            yield log
        finally:
            del at_work[name]


def run(name: str, words: Sequence[str], **environment: str) -> tuple[int, str]:
    """Run @words with their output in a log. Returns (status, output)."""
    with open_log(name) as log:
        status = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                env={**os.environ, **environment}, check=False).returncode
    with open(log.name, encoding="utf-8", errors="replace") as log:
        return status, log.read()


def tap_layer(name: str, words: Sequence[str], **environment: str) -> Count:
    """Run a program that prints TAP, and count its results."""
    status, text = run(name, words, **environment)
    count = count_tap(text)
    if status and not count.failed:
        count.failed.append(f"{' '.join(words)} ended with status {status}")
    return count


# --- the layers -----------------------------------------------------------------------


def check(name: str, words: Sequence[str]) -> Count:
    status, text = run(name.replace(" ", "-"), words)
    if status:
        sys.stdout.write(text[-2000:])
    return Count(failed=[name]) if status else Count(passed=1)


def static() -> Count:
    other = "clang" if "clang" not in os.environ.get("CC", "gcc") else "gcc"
    count = check("tidy", [MAKE, "tidy"])
    build = [MAKE, f"-j{WORKERS}", "kernel", "sim", f"CC={other}", f"B={BUILD}-{other}"]
    count.add(check(f"{other} builds kernel and simulator", build))
    words = [sys.executable, "tools/scripts/same_records.py", f"{BUILD}/schedsim", f"{BUILD}-{other}/schedsim"]
    count.add(check(f"decisions are the same bytes when {other} compiles", words))
    for level in "13":  # gcc warns, and so fails, elsewhere than at -O2
        objects = [f"{BUILD}-O{level}/kernel/kernel/{name}.c.o" for name in ("fs/pipe", "trace/record")]
        count.add(check(f"-O{level} compiles", [MAKE, *objects, f"OPTIMIZE={level}", f"B={BUILD}-O{level}", "DEBUG=0"]))
    count.add(check("types of the Python", [MAKE, "types"]))
    count.add(check("sizes and circles", [MAKE, "size"]))
    count.add(pytest_layer("tools"))
    count.add(check("compile commands", [MAKE, "compdb", "CHECK=1"]))
    return count


def unit() -> Count:
    count = tap_layer("unit", [MAKE, "unit"], CMOCKA_MESSAGE_OUTPUT="TAP")
    count.add(tap_layer("golden", [MAKE, "golden"]))
    return count


def commit_seed() -> int:
    """The commit as a number; the time if the tree was changed or is no clone."""
    name = commit().rpartition("-g")[2]
    return int(name[:7], 16) if re.fullmatch(r"[0-9a-f]{7,12}", name) else int(time.time())


def prop() -> Count:
    count = tap_layer("prop", [MAKE, "prop"], CMOCKA_MESSAGE_OUTPUT="TAP")
    schedsim = f"{BUILD}/schedsim"
    # Operations that nobody has tried before: each commit has its own, and a second run of it repeats them.
    words = ["--sched", "all", "--seed", str(commit_seed()), "--ops", FRESH_OPS]
    print(f"prop     fresh operations: build/schedsim {' '.join(words)}", flush=True)
    count.add(check(f"fresh operations from seed {words[3]}", [schedsim, *words]))
    count.add(check("every sequence of operations", [schedsim, "--sched", "all", "--exhaustive", "5"]))
    return count


def selftests(cpus: int, sched: str = SCHEDULERS[0]) -> Count:
    """The kernel's own tests on a machine with @cpus CPUs under @sched."""
    given = {"smp": str(cpus), "sched": sched, "append": "selftest=all", "kvm": "0", "timeout": "900"}
    with open_log(f"kernel-{cpus}-{sched}") as log:
        outcome = run_batch(make_settings(given, build=BUILD), lambda text: print(text, end="", file=log, flush=True))
    count = count_tap(outcome.console)
    count.failed = [f"{name} (SMP={cpus} SCHED={sched})" for name in count.failed]
    if outcome.status and not count.failed:
        count.failed.append(f"SMP={cpus} SCHED={sched}: {outcome.problem or 'status ' + str(outcome.status)}")
    return count


def kernel() -> Count:
    count = Count()
    for cpus in CPUS:
        count.add(selftests(cpus))
    for sched in SCHEDULERS[1:]:
        count.add(selftests(4, sched))
    return count


def pytest_layer(name: str) -> Count:
    junit = os.path.join(LOGS, f"{name}.xml")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(junit)
    words = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", str(WORKERS), "--dist", "load",
             "--durations", "30", "--junitxml", junit, f"tests/{name}"]
    run(name, words)
    return count_junit(junit)


def sim() -> Count:
    return pytest_layer("sim")


def e2e() -> Count:
    return pytest_layer("e2e")


def mutants() -> Count:
    return tap_layer("mutants", [sys.executable, "tools/scripts/mutants.py", "--sample", str(MUTANTS)])


def labs() -> Count:
    return tap_layer("labs", [sys.executable, "-m", "fairground", "--build", BUILD, "lab", "check", "--seed",
                              str(commit_seed())])


LAYERS = {"static": static, "unit": unit, "prop": prop, "sim": sim, "kernel": kernel, "e2e": e2e,
          "mutants": mutants, "labs": labs}
NEEDS = {"static": "sim", "unit": "unit-programs", "prop": "prop-programs sim", "sim": "sim wasm page",
         "kernel": "image", "e2e": "image sim", "mutants": "image sim unit-programs",
         "labs": "image sim unit-programs"}  # targets that make builds before any layer starts


def clean_environment() -> None:
    """Remove the job slots of the make that runs us, and settings of a machine such as SMP= and SEED=."""
    for name in (*map(str.upper, PARSERS), "OUT", "EVENTS"):
        os.environ.pop(name, None)
    os.environ["MAKEFLAGS"] = re.sub(r"(^| )-?-j(observer-auth=)?\S*", "", os.environ.get("MAKEFLAGS", ""))


def build(layers: Sequence[str]) -> bool:
    wanted = sorted({target for layer in layers for target in NEEDS.get(layer, "").split()})
    words = [MAKE, f"-j{WORKERS}", "--no-print-directory", *wanted]
    return bool(wanted) and subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode != 0


def run_layer(name: str) -> Count:
    start = time.monotonic()
    try:
        count = LAYERS[name]()
    except (OSError, QemuError, xml.ParseError) as error:
        count = Count(failed=[f"{name}: {error}"])
    if not count.passed and not count.failed:
        count.failed.append(f"{name}: no test ran")
    failures = "".join(f"         FAILED {failure}\n" for failure in count.failed)
    print(f"{name:<8} {count}  ({time.monotonic() - start:.0f} s)\n{failures}", end="", flush=True)
    return count


def news(path: str) -> str:
    """The last line of a log, or the last failure in it if there is one."""
    with open(path, encoding="utf-8", errors="replace") as log:
        text = log.read()
    lines = FAILURE.findall(text) or text.strip().splitlines() or [""]
    return lines[-1].strip()[:80]


def show_progress(ended: threading.Event) -> None:
    """Print now and then what goes on, until @ended."""
    start = time.monotonic()
    while not ended.wait(PROGRESS_S):
        told = "; ".join(f"{name}: {news(path)}" for name, path in list(at_work.items()))
        print(f"  {time.monotonic() - start:.0f} s  {told}", flush=True)


def main() -> bool:
    os.makedirs(LOGS, exist_ok=True)
    layers = sys.argv[1:] or list(LAYERS)
    unknown = set(layers) - set(LAYERS)
    if unknown:
        sys.exit(f"test.py: no layer {' '.join(unknown)}; there are {' '.join(LAYERS)}")
    clean_environment()
    if build(layers):
        sys.exit("test.py: the programs under test do not build")
    total, ended = Count(), threading.Event()
    threading.Thread(target=show_progress, args=[ended], daemon=True).start()
    with ThreadPoolExecutor(WORKERS) as pool:
        for count in pool.map(run_layer, layers):
            total.add(count)
    ended.set()
    if total.failed:
        print(f"The output of each layer is in {LOGS}/.")
    print(total)
    return bool(total.failed)


if __name__ == "__main__":
    sys.exit(main())
