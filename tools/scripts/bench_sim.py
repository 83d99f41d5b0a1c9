#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How fast the simulator is, and what a decision costs as a runqueue grows.

An operation is a call of the scheduler: a switch, a wakeup, a tick, a block, a yield. The first table counts operations
per second of CPU time on one core, without invariant checks and measurement, for workloads that do hardly anything
else. The seconds are those of the host and as noisy as it is busy. The instructions are counted with valgrind and
exact: in that table those of an operation in a shorter run, on which tests/sim/test_instructions.py sets limits; then
of an operation on 4096 CPUs of one speed, and in 512 frequency domains under each governor; and of a tick and its
switch as the queue grows.

Usage: bench_sim.py     environment: B (build directory)
"""

import os
import re
import shutil
import subprocess
import tempfile
from typing import Any

from fairground.base.expect import expect
from fairground.machine.machine import commit

import usage

# (CPUs, topology, simulated time of the sleepers)
MACHINES = [(1, "1x1", "10s"), (64, "2x32x1", "500ms"), (1024, "4x8x32x1", "40ms"), (4096, "8x16x32x1", "10ms")]
# simulated time in which instructions are counted: of sleepers, of hogs
COUNTED = {1: ("100ms", "2s"), 64: ("25ms", "400ms"), 1024: ("2ms", "200ms"), 4096: ("600us", "100ms")}
RUNS = 3
GOVERNORS = ("performance", "sched", "schedutil", "ondemand")
SPEED_TIMES = ("1ms", "3ms")
QUEUES = (1, 10, 100, 1000, 10_000, 100_000)


def workloads(cpus: int) -> list[tuple[str, list[str]]]:
    """(name, text) of workloads in which every CPU is busy and switches all the time."""
    pinned = [f"bursts:n=4,run=50us,sleep=50us,cpus={cpu}" for cpu in range(cpus)]
    return [("sleep and wake", [f"bursts:n={4 * cpus},run=50us,sleep=50us"]),
            ("the same, pinned", pinned),
            ("tick and switch", [f"hogs:n={2 * cpus}"])]


def bench(build: str, words: list[str]) -> dict[str, Any]:
    """The figures that schedsim --bench prints about a run."""
    done = subprocess.run([f"{build}/schedsim", "--bench", *words], capture_output=True, text=True, check=True)
    line = next(text for text in done.stdout.splitlines() if text.startswith("bench: "))
    return {key: value if key == "sched" else int(value) for key, value in re.findall(r"(\w+)=(\S+)", line)}


def for_an_operation(build: str, sched: str, cpus: int, name: str) -> float:
    """Instructions of each operation on the machine with so many CPUs; the start of the tasks does not count."""
    topology = next(text for number, text, _ in MACHINES if number == cpus)
    words = ["--sched", sched, "--topology", topology, "--time", COUNTED[cpus][name == "tick and switch"],
             *dict(workloads(cpus))[name]]
    run = bench(build, words)
    return instructions(build, "sim_run", words) / (run["operations"] - run["tasks"])


def speed_table(build: str, sched: str) -> None:
    print(f"{'CPUs':>5}  {'workload':<18} {'operations':>11} {'million/s':>10} {'instructions':>13}"
          f"  {'bytes a task':>12} {'a CPU':>7}")
    counts = shutil.which("valgrind")
    for cpus, topology, time in MACHINES:
        for name, texts in workloads(cpus):
            span = time if name != "tick and switch" else f"{2_000_000 // cpus}ms"
            words = ["--sched", sched, "--topology", topology, "--time", span, *texts]
            best = max((bench(build, words) for _ in range(RUNS)), key=lambda b: int(b["operations_per_s"]))
            each = f"{for_an_operation(build, sched, cpus, name):,.0f}" if counts else "no valgrind"
            print(f"{cpus:>5}  {name:<18} {best['operations']:>11,} {best['operations_per_s'] / 1e6:>10.2f} {each:>13}"
                  f"  {best['bytes_per_task']:>12,} {best['bytes_per_cpu']:>7,}", flush=True)


def instructions(build: str, function: str, words: list[str]) -> int:
    """Instructions of @function() and of what it calls, in a run of schedsim --bench."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--toggle-collect={function}",
                               f"--callgrind-out-file={directory}/out", f"{build}/schedsim", "--bench", *words],
                              capture_output=True, text=True, check=True)
    return int(expect(r"Collected : (\d+)", done.stderr)[1])


def pick_table(build: str, sched: str) -> None:
    """Print the cost of a tick and its switch, on one CPU with more and more runnable tasks and a tick every ms."""
    print(f"\n{'runnable':>9} {'instructions for a tick and its switch':>40}")
    if not shutil.which("valgrind"):
        print("          needs valgrind")
        return
    before: float | None = None
    for n in QUEUES:
        def words(ms: int, n: int = n) -> list[str]:
            return ["--sched", sched, "--hz", "1000", "--set", "tunable_scaling=0", "--time", f"{ms}ms", f"hogs:n={n}"]
        short, long = (instructions(build, "sim_run", words(ms)) for ms in (500, 2500))
        each = (long - short) / 2000
        grows = "" if before is None else f"  {each - before:+.0f}"
        print(f"{n:>9,} {each:>40.0f}{grows}", flush=True)
        before = each


def speeds_table(build: str, sched: str) -> None:
    """Print what an operation costs where CPUs have several speeds, and the speed by that at one speed.

    No CPU has more to do than it can at its slowest point: else governors that slow down would do other work.
    """
    print(f"\n{'4096 CPUs in 512 frequency domains':<36} {'instructions an operation':>25} {'speed':>7}")
    if not shutil.which("valgrind"):
        print("          needs valgrind")
        return
    one_speed = 0.0
    for governor in ("", *GOVERNORS):
        words = ["--sched", sched, "--topology", "nodes=8,llcs=64,cores=8"]
        words += [f"bursts:n=2,run=17us,sleep=83us,cpus={cpu}" for cpu in range(4096)]
        words += ["--opp", "juno-a53", "--governor", governor] if governor else []
        first, second = ([*words, "--time", time] for time in SPEED_TIMES)
        spent = instructions(build, "sim_run", second) - instructions(build, "sim_run", first)
        done = bench(build, second)["operations"] - bench(build, first)["operations"]
        one_speed = one_speed or spent / done
        print(f"{governor or 'one speed':<36} {spent / done:>25.0f} {one_speed / (spent / done):>7.0%}", flush=True)


def main() -> None:
    usage.words(__doc__, 0, 0)
    build = os.environ.get("B", "build")
    shown = subprocess.run([f"{build}/schedsim", "--help"], capture_output=True, text=True, check=True).stdout
    names = expect(r"fair policy: (.*)", shown)[1].split(", ")
    print(f"simulator of {commit()}; HZ 250 (table of ticks: 1000), seed 1, all costs 0; "
          f"best of {RUNS}; command: make bench-sim\n")
    speed_table(build, names[0])
    speeds_table(build, names[0])
    for sched in names:
        print(f"\n{sched}:", end="")
        pick_table(build, sched)


if __name__ == "__main__":
    main()
