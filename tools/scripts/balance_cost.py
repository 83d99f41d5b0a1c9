#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The cost of balancing to each CPU as the simulated machine grows. The goal is the logarithm of the CPUs at most.

A tick's pass over a domain looks at every runqueue of it once, so /proc/schedstat tells the number: passes times CPUs.
The other columns are instructions, counted by valgrind: those of the balancing part of the tick, and those of CPUs that
are about to idle and search for work. A search takes no time here. So the rule that ends a search when it takes longer
than the CPU usually idles never applies.

Usage: balance_cost.py [CPUS...]     CPUs: 64 256 1024 4096; environment: B (build directory)
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from bench_sim import instructions
import usage
from fairground.machine.machine import commit

HZ = 250
# CPUs -> topology; seconds simulated for looks, for looks under churn, for instructions
MACHINES = {64: ("2x32x1", 20, 2, 4), 256: ("2x4x32x1", 15, 0.5, 2), 1024: ("4x8x32x1", 10, 0.2, 1),
            4096: ("8x16x32x1", 10, 0.06, 0.5)}
TICK = (0, 1)  # the kinds of a tick's passes, in the order of /proc/schedstat: idle, busy, newly idle


def half_idle(cpus: int) -> str:
    return f"hogs:n={cpus // 2}"


def crowded(cpus: int) -> str:
    return f"hogs:n={cpus * 3 // 2}"


def churn(cpus: int) -> str:
    return f"bursts:n={cpus * 2},run=1ms-5ms,sleep=1ms-5ms"


def looks(build: str, topology: str, seconds: float, workload: str) -> float:
    """How many runqueues ticks looked at, per CPU and tick."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "schedstat")
        subprocess.run([f"{build}/schedsim", "--topology", topology, "--time", f"{int(seconds * 1000)}ms",
                        "--hz", str(HZ), "--set", "sched_schedstats=1", "--schedstat", path, workload],
                       check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as f:
            text = f.read()
    total = 0
    for mask, numbers in re.findall(r"^domain\d+ ([0-9a-f,]+) (.*)$", text, re.MULTILINE):
        passes = list(map(int, numbers.split()))[:24:8]
        total += bin(int(mask.replace(",", ""), 16)).count("1") * sum(passes[kind] for kind in TICK)
    return total / (len(re.findall(r"^cpu\d", text, re.MULTILINE)) * seconds * HZ)


def balance_instructions(build: str, function: str, cpus: int, topology: str, seconds: float, workload: str) -> float:
    """Instructions of @function and of what it calls, per CPU and tick."""
    words = ["--hz", str(HZ), "--topology", topology, "--time", f"{int(seconds * 1000)}ms", workload]
    return instructions(build, function, words) / (cpus * seconds * HZ)


def row(build: str, cpus: int, count: bool) -> str:
    topology, span, churn_span, count_span = MACHINES[cpus]
    cells = [looks(build, topology, span, half_idle(cpus)), looks(build, topology, span, crowded(cpus)),
             looks(build, topology, churn_span, churn(cpus))]
    counted = [balance_instructions(build, "balance_tick", cpus, topology, count_span, load(cpus))
               for load in (half_idle, crowded)] if count else []
    if count:
        counted.append(balance_instructions(build, "balance_newly_idle", cpus, topology, min(churn_span, 0.5),
                                            churn(cpus)))
    return (f"{cpus:>5}  {topology:<10}" + "".join(f"{cell:>10.2f}" for cell in cells)
            + ("".join(f"{cell:>11,.0f}" for cell in counted) or "  no valgrind"))


def main() -> None:
    words = usage.words(__doc__)
    build = os.environ.get("B", "build")
    if not all(word.isdigit() and int(word) in MACHINES for word in words):
        sys.exit(f"balance_cost: {' '.join(words)}: no such machine\n"
                 "usage: make bench-balance [ARGS=\"64 256 1024 4096\"]")
    print(f"simulator of {commit()}; HZ {HZ}, cfs, seed 1; for each CPU and tick; loads: "
          "half of the CPUs idle, 3 tasks for 2 CPUs,\nsleepers that want all CPUs; again: make bench-balance"
          + (f" ARGS=\"{' '.join(words)}\"" if words else "") + "\n"
          f"{'':<17}{'runqueues looked at by ticks':>30}{'instructions of ticks':>22}{'newly idle':>11}\n"
          f"{'CPUs':>5}  {'topology':<10}{'half idle':>10}{'crowded':>10}{'churn':>10}"
          f"{'half idle':>11}{'crowded':>11}{'churn':>11}")
    for cpus in map(int, words or MACHINES):
        print(row(build, cpus, bool(shutil.which("valgrind"))), flush=True)


if __name__ == "__main__":
    main()
