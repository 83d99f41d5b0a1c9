# SPDX-License-Identifier: GPL-2.0-only
"""The cost of many CPUs: the same work on 1 to 16 of them, under -icount.

All CPUs share one stream of instructions, so a time is the instructions of all CPUs together: work, waiting in loops
and whatever idle CPUs do. A kernel can lower that sum, but the sum does not fall as CPUs are added.
"""

import argparse
import dataclasses
import json
import os
import re
import statistics
from collections.abc import Mapping
from typing import Any

from .. import result
from ..base.expect import expect
from ..base.settings import MAX_CPUS, Settings, UsageError
from ..words import Command
from . import bench_linux
from .machine import commit, run_batch

COMMAND = Command("bench-smp", machine=True, built="image", examples=(
    ("1 2 4", "machines of one, two and four CPUs"),
))

SIZES = (1, 2, 4, 8, 16)
USAGE = 'usage: make bench-smp [ARGS="1 2 4 8 16"] [SCHED=cfs] [HZ=250] [APPEND=topology=...]'
MEMORY_MIB = 512
# Two tasks are pinned to CPU 0, so CPU 1 searches in vain whenever its own task sleeps.
CROWD = "taskset 1 burst -r 200ms -s 1ms -n 1 > /dev/null"
SLEEPER = "taskset 2 burst -r 100us -s 1ms -n 300 > /dev/null"
SCRIPT = f"""
look() {{ echo "= $1"; cat /proc/interrupts /sys/kernel/debug/lock_waits /proc/schedstat; }}
echo "domains" $(cat /sys/kernel/debug/sched/domains/cpu0/*/name 2>/dev/null)
hack -g 5 -f 10 -p
[ $(nproc) -gt 1 ] && bench futex_round_trip_2cpu
echo 1 > /proc/sys/kernel/sched_schedstats
look before; hack -g 5 -f 10 -p; look after
grep newidle /sys/kernel/debug/sched/debug; echo = searches
if [ $(nproc) -gt 1 ]; then {CROWD} & {CROWD} & {SLEEPER}; wait; fi
grep newidle /sys/kernel/debug/sched/debug
"""
ROWS = [("hack", "hack -g 5 -f 10, M instructions", ".1f"), ("round_trip", "wakeup of another CPU and back", ",.0f"),
        ("ipis", "interrupts between CPUs, per wakeup", ".3f"), ("newidle", "search of a newly idle CPU", ",.0f"),
        ("lock_waits", "waits for spin locks, per 1000 wakeups", ".1f"),
        ("lock_share", "time waiting for them, % of all CPUs'", ".3f")]


def total(pattern: str, text: str) -> int:
    return sum(int(n) for n in re.findall(pattern, text, re.MULTILINE))


def readings(text: str) -> dict[str, int]:
    """Sums over all CPUs: interrupts that ask for a switch, wakeups, waits for locks, and how long those took in ns."""
    resched = expect(r"^RES:([ \d]+)", text)[1]
    return {"ipis": sum(map(int, resched.split())), "wakeups": total(r"^cpu\d+ (?:\d+ ){4}(\d+) ", text),
            "waits": total(r"^\d+ (\d+) \d+\s*$", text), "wait_ns": total(r"^\d+ \d+ (\d+)\s*$", text)}


def newidle(text: str) -> tuple[int, int]:
    """(number, ns) of all searches of all CPUs."""
    return total(r"newidle_count +: (\d+)", text), total(r"newidle_ns +: (\d+)", text)


def figures(console: str, cpus: int) -> dict[str, Any]:
    """{name: value} of one machine, from what SCRIPT printed. A value that the machine lacks has no entry."""
    start, before, after = re.split(r"^= (?:before|after)\r?\n", console, flags=re.MULTILINE)
    after, searches = re.split(r"^= searches\r?\n", after, flags=re.MULTILINE)
    one, two = readings(before), readings(after)
    change = {name: two[name] - one[name] for name in one}
    elapsed_ns = 1e9 * float(expect(r"^Time: ([\d.]+)", before)[1])
    found = {"domains": expect(r"^domains *(.*?)\s*$", start)[1],
             "hack": 1e3 * float(expect(r"^Time: ([\d.]+)", start)[1]),
             "ipis": change["ipis"] / change["wakeups"], "lock_waits": 1e3 * change["waits"] / change["wakeups"],
             "lock_share": 100 * change["wait_ns"] / (elapsed_ns * cpus)}
    trip = re.search(r"^futex_round_trip_2cpu (\d+) ns", start, re.MULTILINE)
    if trip:
        found["round_trip"] = int(trip[1])
    (count, ns), (count_2, ns_2) = newidle(after), newidle(searches)
    if count_2 > count:
        found["newidle"] = (ns_2 - ns) / (count_2 - count)
    return found


def measure(settings: Settings, cpus: int) -> dict[str, Any]:
    settings = dataclasses.replace(settings, icount=True, cpus=cpus, smp=str(cpus), cmd=SCRIPT,
                                   mem=max(settings.mem, MEMORY_MIB))
    outcome = run_batch(settings)
    if outcome.status:
        raise SystemExit(f"fairground: bench-smp ended with status {outcome.status} on {cpus} CPUs: {outcome.problem}\n"
                         + outcome.console[-2000:])
    return figures(outcome.console, cpus)


def table(machines: Mapping[int, dict[str, Any]], linux: Mapping[str, bench_linux.Kernel]) -> str:
    """The table for @machines, {CPUs: figures}."""
    lines = [f"{'':<42}" + "".join(f"{cpus:>9}" for cpus in machines),
             f"{'domains':<42}" + "".join(f"{one['domains'].replace(' ', '+') or '-':>9}" for one in machines.values())]
    for name, title, style in ROWS:
        cells = (format(one[name], style) if name in one else "-" for one in machines.values())
        lines.append(f"{title:<42}" + "".join(f"{cell:>9}" for cell in cells))
        for release, kernel in linux.items():
            runs = kernel.smp.get(name, {})
            if runs:
                cells = (format(statistics.median(runs[str(cpus)]), style) if str(cpus) in runs else "-"
                         for cpus in machines)
                lines.append(f"  {'Linux ' + release:<40}" + "".join(f"{cell:>9}" for cell in cells))
    return "\n".join(lines)


def read_sizes(words: list[str]) -> list[int]:
    if not all(re.fullmatch("[0-9]{1,9}", word) and 1 <= int(word) <= MAX_CPUS for word in words):
        raise UsageError(f"{' '.join(words)}: numbers of CPUs from 1 to {MAX_CPUS} are expected; {USAGE}")
    return [int(word) for word in words] or list(SIZES)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sizes", nargs="*", metavar="CPUS", help=f"default: {' '.join(map(str, SIZES))}")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """print what the same work costs on more and more CPUs, beside Linux"""
    sizes = read_sizes(arguments.sizes)
    refused = [name.upper() for name in ("smp", "cmd", "icount") if name in settings.given]
    if refused:
        raise UsageError(f"{refused[0]}: the benchmark sets it; {USAGE}")
    machines = {cpus: measure(settings, cpus) for cpus in sizes}
    again = "".join(f" {name.upper()}={text}" for name, text in settings.given.items())
    head = f"{commit()}, -icount, sched={settings.sched} HZ={settings.hz}; again: make bench-smp " \
           f"ARGS=\"{' '.join(map(str, sizes))}\"{again}\ninstructions of all CPUs together; CPUs:"
    out = os.path.join(settings.build, "bench-smp.json")
    with open(out, "w", encoding="utf-8") as f:
        json.dump({"commit": commit(), "machines": machines}, f, indent=1)
    result.tell([head, table(machines, bench_linux.load()), f"The same for programs: {out}"],
                result.of_settings(settings, topology=",".join(map(str, sizes))),
                ({"cpus": cpus, **found} for cpus, found in machines.items()))
    return 0
