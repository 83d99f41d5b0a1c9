#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Does a program for sched_ext let a task starve? `make traits SRC=FILE.bpf.c` asks, once the program is compiled.

Small workloads come first, so that the answer is a short run: one of the fewest tasks and CPUs, and of the least time.
The status is 1 if somebody starves, or if the scheduler is thrown out.

Usage: scx_traits.py FILE.so[,NAME=VALUE...]
"""

import functools
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence

import usage

BUILD = os.environ.get("B", "build")
MS = 1_000_000
PATIENCE_MS, TIME_MS = 2000, 10_000  # a hog without CPU time for so long starves
BURSTS = ("bursts:n=2,run=2ms,sleep=10ms",)
FILLING = "bursts:n={},run=2ms,sleep=2ms"  # four a CPU want twice what it has
HOGS = [("0",) * n for n in (1, 2, 3, 5)] + [("0", "10"), ("0", "0", "5", "10")]  # nice values
CPUS = (1, 2, 4)


def workloads() -> list[tuple[int, tuple[str, ...]]]:
    """(CPUs, what runs), the smallest first. A hog is a group of its own, so that its CPU time is told apart."""
    found = [(cpus, (*(f"hogs:n=1,nice={nice},group=g{nr}" for nr, nice in enumerate(nices)), *more))
             for cpus in CPUS for nices in HOGS for more in ((), BURSTS) if len(nices) + 2 * len(more) > cpus]
    found += [(cpus, ("hogs:n=1,cpus=0,group=g0", "hogs:n=1,cpus=0,group=g1", "hogs:n=1,group=h")) for cpus in CPUS[1:]]
    found += [(cpus, ("hogs:n=1,group=g0", FILLING.format(4 * cpus))) for cpus in CPUS]
    return sorted(found, key=lambda each: (sum(2 if word.startswith("bursts") else 1 for word in each[1]), each[0]))


def words(cpus: int, load: Sequence[str], time_ms: int) -> list[str]:
    return ["--cpus", str(cpus), "--time", f"{time_ms}ms", *load]


@functools.lru_cache(maxsize=None)
def simulate(spec: str, cpus: int, load: tuple[str, ...], time_ms: int) -> tuple[dict[str, int], int, str]:
    """(The CPU time of each hog, the longest wait of the others, why the scheduler was thrown out or "")."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([f"{BUILD}/schedsim", "--json", out.name, "--scx", spec, *words(cpus, load, time_ms)],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr.strip())
        result = json.load(out)["results"][0]
        rows = result["tasks"]
    hogs = {row["group"]: row["cpu_ns"] for row in rows if row["name"] == "hog"}
    others = max((row["wait_ns"]["max"] for row in rows if row["name"] != "hog"), default=0)
    return hogs, others, result.get("sched_ended", {}).get("reason", "")


def starving(spec: str, cpus: int, load: tuple[str, ...], time_ms: int) -> str:
    """Who starves at @time_ms, the first if there are several; "" if nobody does."""
    now, others, thrown = simulate(spec, cpus, load, time_ms)
    if thrown:
        return f"is thrown out ({thrown})"
    if others >= PATIENCE_MS * MS:
        return f"lets a burst wait for {PATIENCE_MS / 1000:g} s"
    before = simulate(spec, cpus, load, time_ms - PATIENCE_MS)[0] if time_ms > PATIENCE_MS else {}
    for nr, (group, ns) in enumerate(now.items()):
        if time_ms >= PATIENCE_MS and ns == before.get(group, 0):
            return f"gives hog {nr + 1} of {len(now)} nothing for {PATIENCE_MS / 1000:g} s"
    return ""


def shortest(spec: str, cpus: int, load: tuple[str, ...], time_ms: int) -> int:
    """The least time up to @time_ms at which somebody starves, who did not 500 ms before."""
    least, most = time_ms - 500, time_ms
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if starving(spec, cpus, load, middle) else (middle, most)
    return most


def main() -> int:
    spec = usage.words(__doc__, 1, 1)[0]
    name = os.path.basename(spec.partition(",")[0]).removesuffix(".so")
    tried = workloads()
    for cpus, load in tried:
        for time_ms in range(500, TIME_MS + 1, 500):
            if starving(spec, cpus, load, time_ms):
                time_ms = shortest(spec, cpus, load, time_ms)
                command = [f"{BUILD}/schedsim", "--scx", spec, *words(cpus, load, time_ms)]
                print(f"{name} {starving(spec, cpus, load, time_ms)}, at {time_ms / 1000:g} s of\n"
                      f"  {shlex.join(command)}")
                return 1
    print(f"{name}: nobody starves: each task ran within {PATIENCE_MS / 1000:g} s at any time of {TIME_MS // 1000} s, "
          f"in {len(tried)} workloads on {', '.join(map(str, CPUS))} CPUs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
