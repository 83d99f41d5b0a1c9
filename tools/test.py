#!/usr/bin/env python3
"""Run every layer of the tests, cheapest first, and add up what passed.

    static   rules of the source, the scheduler's seam, a build by the other compiler
    unit     hosted tests of sched/ and lib/, with sanitizers (cmocka)
    prop     random operations on the scheduler and every short sequence of them, invariants after each
    sim      the simulator: what it reports, reads, writes and refuses (pytest)
    kernel   selftests inside the kernel at 1, 2, 4 and 8 CPUs; at 4 under each other scheduler
    e2e      the machine from outside (pytest)
    mutants  a sample of seeded bugs, each of which the layers above must notice

A layer reports in TAP (pytest in JUnit's XML), its output is kept in BUILD/test/. A layer that runs no test has
failed. The last line is `N passed, N failed, N skipped`.

Usage: test.py [LAYER...]    environment: B (build directory), MAKE
"""

import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field

from fairground.machine import run_batch
from fairground.qemu import QemuError
from fairground.settings import SCHEDULERS, make_settings

BUILD = os.environ.get("B", "build")
MAKE = os.environ.get("MAKE", "make")
LOGS = os.path.join(BUILD, "test")
CPUS = (1, 2, 4, 8)
MUTANTS = 4
RESULT = re.compile(r"^(?:\[ *[\d.]+\] )?(not )?ok \d+ ?-? ?(.*?)( # SKIP.*)?$", re.MULTILINE)
PLAN = re.compile(r"^(?:\[ *[\d.]+\] )?1\.\.(\d+)", re.MULTILINE)


@dataclass
class Count:
    """Results of some tests; the names of those that failed."""

    passed: int = 0
    skipped: int = 0
    failed: list = field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed

    def __str__(self):
        return f"{self.passed} passed, {len(self.failed)} failed, {self.skipped} skipped"


def count_tap(text):
    """Results in TAP or KTAP. Fewer results than planned is a failure: something ended early."""
    count = Count()
    results = RESULT.findall(text)
    for bad, name, skip in results:
        if bad:
            count.failed.append(name)
        elif skip:
            count.skipped += 1
        else:
            count.passed += 1
    planned = sum(map(int, PLAN.findall(text)))
    if planned > len(results):
        count.failed.append(f"{planned - len(results)} of {planned} tests did not report")
    return count


def count_junit(path):
    count = Count()
    for case in xml.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed.append(f"{case.get('classname')}::{case.get('name')}")
        elif case.find("skipped") is not None:
            count.skipped += 1
        else:
            count.passed += 1
    return count


def run(name, words, **environment):
    """Run @words with their output in a log. Returns (status, output)."""
    path = os.path.join(LOGS, name + ".log")
    with open(path, "w", encoding="utf-8") as log:
        status = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                env={**os.environ, **environment}, check=False).returncode
    with open(path, encoding="utf-8", errors="replace") as log:
        return status, log.read()


def tap_layer(name, words, **environment):
    """A layer of programs that print TAP."""
    status, text = run(name, words, **environment)
    count = count_tap(text)
    if status and not count.failed:
        count.failed.append(f"{' '.join(words)} ended with status {status}")
    return count


# --- the layers -----------------------------------------------------------------------


def check(name, words):
    status, text = run(name.replace(" ", "-"), words)
    if status:
        sys.stdout.write(text[-2000:])
    return Count(failed=[name]) if status else Count(passed=1)


def static():
    other = "clang" if "clang" not in os.environ.get("CC", "gcc") else "gcc"
    count = check("tidy", [MAKE, "tidy"])
    build = [MAKE, "kernel", "sim", f"CC={other}", f"B={BUILD}-{other}"]
    count.add(check(f"{other} builds kernel and simulator", build))
    return count


def unit():
    return tap_layer("unit", [MAKE, "unit"], CMOCKA_MESSAGE_OUTPUT="TAP")


def prop():
    count = tap_layer("prop", [MAKE, "prop"], CMOCKA_MESSAGE_OUTPUT="TAP")
    schedsim = f"{BUILD}/schedsim"
    count.add(check("random operations", [schedsim, "--sched", "all", "--seed", "1", "--ops", "400000"]))
    count.add(check("every sequence of operations", [schedsim, "--sched", "all", "--exhaustive", "5"]))
    return count


def selftests(cpus, sched=SCHEDULERS[0]):
    """The kernel's own tests on a machine with @cpus CPUs under @sched."""
    given = {"smp": str(cpus), "sched": sched, "append": "selftest=all", "kvm": "0", "timeout": "400"}
    outcome = run_batch(make_settings(given, build=BUILD))
    with open(os.path.join(LOGS, f"kernel-{cpus}-{sched}.log"), "w", encoding="utf-8") as log:
        log.write(outcome.console)
    count = count_tap(outcome.console)
    count.failed = [f"{name} (SMP={cpus} SCHED={sched})" for name in count.failed]
    if outcome.status and not count.failed:
        count.failed.append(f"SMP={cpus} SCHED={sched}: {outcome.problem or 'status ' + str(outcome.status)}")
    return count


def kernel():
    count = Count()
    for cpus in CPUS:
        count.add(selftests(cpus))
    for sched in SCHEDULERS[1:]:
        count.add(selftests(4, sched))
    return count


def pytest_layer(name):
    junit = os.path.join(LOGS, f"{name}.xml")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(os.cpu_count()), "--dist",
             "load", "--junitxml", junit, f"tests/{name}"]
    run(name, words)
    return count_junit(junit)


def sim():
    return pytest_layer("sim")


def e2e():
    return pytest_layer("e2e")


def mutants():
    return tap_layer("mutants", [sys.executable, "tools/mutate.py", "--sample", str(MUTANTS)])


LAYERS = {"static": static, "unit": unit, "prop": prop, "sim": sim, "kernel": kernel, "e2e": e2e,
          "mutants": mutants}


def run_layer(name):
    print(f"{name:<8} ...", end="", flush=True)
    start = time.monotonic()
    try:
        count = LAYERS[name]()
    except (OSError, QemuError, xml.ParseError) as error:
        count = Count(failed=[f"{name}: {error}"])
    if not count.passed and not count.failed:
        count.failed.append(f"{name}: no test ran")
    print(f"\r{name:<8} {count}  ({time.monotonic() - start:.0f} s)")
    for failure in count.failed:
        print(f"         FAILED {failure}")
    return count


def main():
    os.makedirs(LOGS, exist_ok=True)
    unknown = set(sys.argv[1:]) - set(LAYERS)
    if unknown:
        sys.exit(f"test.py: no layer {' '.join(unknown)}; there are {' '.join(LAYERS)}")
    total = Count()
    for name in sys.argv[1:] or LAYERS:
        total.add(run_layer(name))
    if total.failed:
        print(f"The output of each layer is in {LOGS}/.")
    print(total)
    return bool(total.failed)


if __name__ == "__main__":
    sys.exit(main())
