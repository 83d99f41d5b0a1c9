# SPDX-License-Identifier: GPL-2.0-only
"""The costs of kernel operations, in instructions, beside Linux in the same QEMU.

Under -icount an instruction is a nanosecond, so the guest's `bench` prints exact, repeatable counts. The goal
for each operation is at most a third of what the better of the Linux kernels needs (baselines.json).
"""

import dataclasses
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from . import result
from .machine import commit, run_batch
from .settings import Settings

GOAL = 1 / 3
MEMORY_MIB = 1024  # at least: room for 10,000 threads
# Rows on a CPU of several speeds, by the governor. It decides at each wakeup, but may only choose the fastest point.
GOVERNED = {"wake_performance": "performance", "wake_sched": "sched", "wake_schedutil": "schedutil",
            "wake_ondemand": "ondemand"}
ONLY_FASTEST = "echo 850000 > /sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq; "
LINE = re.compile(r"^(\w+) (\d+|-) ns$", re.MULTILINE)
COLUMNS = "{:<26} {:>9} {:>11} {:>11} {:>7}  {}"


def load_baselines() -> dict[str, Any]:
    path = os.path.join(os.path.dirname(__file__), "baselines.json")
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def measure(settings: Settings, cpus: int) -> dict[str, int]:
    """{operation: instructions} with @cpus CPUs; without the operations that the guest could not measure."""
    settings = dataclasses.replace(settings, icount=True, cpus=cpus, smp=str(cpus), cmd=settings.cmd or "bench",
                                   mem=max(settings.mem, MEMORY_MIB))
    outcome = run_batch(settings, sys.stderr.write if os.environ.get("V") == "1" else None)
    if outcome.status:
        sys.stderr.write(outcome.console[-2000:])
        raise SystemExit(f"fairground: bench ended with status {outcome.status} {outcome.problem}")
    return {name: int(value) for name, value in LINE.findall(outcome.console) if value != "-"}


def measure_governed(settings: Settings) -> dict[str, int]:
    """The same for GOVERNED: a round of two wakeups and two sleeps each."""
    def one(governor: str) -> int:
        machine = dataclasses.replace(settings, append=f"opp=juno-a53 governor={governor}",
                                      cmd=ONLY_FASTEST + "bench futex_round_trip")
        return measure(machine, 1)["futex_round_trip"]
    return {name: one(governor) for name, governor in GOVERNED.items()}


def compare(figures: dict[str, int], baselines: dict[str, Any]) -> list[dict[str, Any]]:
    """One row for each operation: name, ours, Linux's, the ratio to the better Linux, whether that meets the goal."""
    rows = []
    for name, linux in baselines["operations"].items():
        ours = figures.get(name)
        ratio = None if ours is None else ours / min(linux)
        rows.append({"operation": name, "instructions": ours, "linux": dict(zip(baselines["kernels"], linux)),
                     "ratio": ratio, "pass": ratio is not None and ratio <= GOAL})
    return rows


def ours_alone(figures: dict[str, int], baselines: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows, without a verdict, of the operations that were not measured on Linux."""
    return [{"operation": name, "instructions": figures[name]} for name in baselines["only_ours"]["operations"]
            if name in figures]


def table(rows: list[dict[str, Any]], kernels: list[str], alone: Sequence[dict[str, Any]] = ()) -> str:
    lines = [COLUMNS.format("operation", "ours", *(f"Linux {k}" for k in kernels), "ratio", f"<= {GOAL:.2f}")]
    for row in rows:
        measured = row["ratio"] is not None
        lines.append(COLUMNS.format(row["operation"], f"{row['instructions']:,}" if measured else "-",
                                    *(f"{n:,}" for n in row["linux"].values()),
                                    f"{row['ratio']:.3f}" if measured else "-",
                                    "yes" if row["pass"] else "no" if measured else "not measured"))
    lines += [f"{row['operation']:<26} {row['instructions']:>9,}" for row in alone]
    met = sum(row["pass"] for row in rows)
    return "\n".join(lines + [f"{met} of {len(rows)} operations cost at most a third of Linux's instructions."])


def main(settings: Settings, _: Any) -> int:
    """print what operations cost beside Linux; with CMD="bench NAME...", these only"""
    baselines = load_baselines()
    figures = measure(settings, 1)
    if not settings.cmd:
        names = [name for name in baselines["operations"] if name.endswith("_2cpu")]
        figures.update(measure(dataclasses.replace(settings, cmd="bench " + " ".join(names)), 2))
        figures.update(measure_governed(settings))
    else:
        baselines["operations"] = {n: v for n, v in baselines["operations"].items() if n in figures}
    rows, alone = compare(figures, baselines), ours_alone(figures, baselines)
    out = os.path.join(settings.build, "bench.json")
    with open(out, "w", encoding="utf-8") as f:
        json.dump({"commit": commit(), "goal": GOAL, "rows": rows + alone}, f, indent=1)
    result.tell(["instructions per operation (nanosleep: ns late), -icount, one CPU (_2cpu: two)",
                 table(rows, baselines["kernels"], alone), f"The same for programs: {out}"],
                result.of_settings(settings, topology=None), rows + alone, goal=GOAL)
    return 0
