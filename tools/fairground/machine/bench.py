# SPDX-License-Identifier: GPL-2.0-only
"""The costs of kernel operations, in instructions, beside Linux in the same QEMU.

Under -icount an instruction is a nanosecond, so the guest's `bench` prints exact, repeatable counts. The goal for each
operation is at most a third of what the best of the Linux kernels needs (baselines.json, bench_linux.py).
"""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .. import result
from ..base.expect import Missing
from ..base.progress import Progress
from ..base.settings import Settings, UsageError
from ..judge.fidelity import MODEL
from ..words import Command
from . import bench_linux
from .bench_linux import FIGURE, MEMORY_MIB, RELEASES, TWO_CPUS
from .linux import KERNELS
from .machine import at_once, commit, run_batch

COMMAND = Command("bench", machine=True, built="image", examples=(
    ("", "all operations, beside Linux's"),
    ("--cmd 'bench yield_switch'", "one of them"),
    ("--sched bore", "another policy"),
    ("--fresh", "Debian's kernels boot, too: sh tools/setup.sh --compare"),
))

GOAL = 1 / 3
# Rows on a CPU of several speeds, by the governor. It decides at each wakeup, but may only choose the fastest point.
GOVERNED = {"wake_performance": "performance", "wake_sched": "sched", "wake_schedutil": "schedutil",
            "wake_ondemand": "ondemand"}
ONLY_FASTEST = "echo 850000 > /sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq; "
ONLY_OURS = ("deadline_late", "record_pick_10", "record_select", *GOVERNED)
NAME, CELL, RATIO = 25, 10, 12  # widths of columns

Figures = Mapping[str, Mapping[str, int]]  # policy -> operation -> instructions


# --- measuring ------------------------------------------------------------------------------------------------------


def measure(settings: Settings, cpus: int) -> dict[str, int]:
    """{operation: instructions} with @cpus CPUs; without the operations that the guest could not measure."""
    settings = dataclasses.replace(settings, icount=True, cpus=cpus, smp=str(cpus), cmd=settings.cmd or "bench",
                                   mem=max(settings.mem, MEMORY_MIB))
    outcome = run_batch(settings, sys.stderr.write if os.environ.get("V") == "1" else None)
    if outcome.status:
        raise Missing(f"bench ended with status {outcome.status} {outcome.problem}\n{outcome.console[-2000:]}")
    return {name: int(value) for name, value in FIGURE.findall(outcome.console) if value != "-"}


def measure_governed(settings: Settings, name: str) -> dict[str, int]:
    """The row @name of GOVERNED: a round of two wakeups and two sleeps each."""
    machine = dataclasses.replace(settings, append=f"{settings.append} opp=juno-a53 governor={GOVERNED[name]}",
                                  cmd=ONLY_FASTEST + "bench futex_round_trip")
    return {name: measure(machine, 1)["futex_round_trip"]}


def measure_all(settings: Settings, scheds: Sequence[str]) -> dict[str, dict[str, int]]:
    """Policy -> {operation: instructions}: all operations, or those that the user's command measures."""
    jobs = []
    with at_once(len(os.sched_getaffinity(0))) as pool:
        for sched in scheds:
            ours = dataclasses.replace(settings, sched=sched, append=f"preempt={MODEL} {settings.append}".strip())
            jobs.append((sched, pool.submit(measure, ours, 1)))
            if not settings.cmd:
                two = dataclasses.replace(ours, cmd="bench record_select " + " ".join(TWO_CPUS))
                jobs.append((sched, pool.submit(measure, two, 2)))
                jobs += [(sched, pool.submit(measure_governed, ours, name)) for name in GOVERNED]
        figures: dict[str, dict[str, int]] = {sched: {} for sched in scheds}
        with Progress("boot", len(jobs)) as progress:
            for sched, job in jobs:
                figures[sched].update(job.result())
                progress.step()
    return figures


# --- the table ------------------------------------------------------------------------------------------------------


def compare(figures: Figures, linux: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    """One row for each operation: ours and Linux's, the best Linux, our ratios to it, and whether they meet the goal.
    First those that Linux has; for the others Linux's part is None."""
    measured = {name for ours in figures.values() for name in ours}
    rows = []
    for name in [*linux, *ONLY_OURS]:
        if name not in measured:
            continue
        ours = {sched: found.get(name) for sched, found in figures.items()}
        theirs = linux.get(name)
        best = min(theirs.values()) if theirs else None
        ratio = {sched: n / best for sched, n in ours.items() if n is not None} if best else None
        rows.append({"operation": name, "instructions": ours, "linux": theirs, "best": best, "ratio": ratio,
                     "pass": ratio and {sched: r <= GOAL for sched, r in ratio.items()}})
    return rows


def number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def verdict(row: Mapping[str, Any], sched: str) -> str:
    """The ratio of a policy to the best Linux, and whether it meets the goal."""
    if not row["ratio"]:
        return ""
    if sched not in row["ratio"]:
        return "-"
    return f"{row['ratio'][sched]:.3f} {'yes' if row['pass'][sched] else ' no'}"


def table(rows: Sequence[Mapping[str, Any]], scheds: Sequence[str]) -> str:
    """Ours, Linux's, and our ratios to the best Linux."""
    names = [f"Linux {RELEASES[0]}", *RELEASES[1:]]
    lines = [f"{'operation':<{NAME}}" + "".join(f"{name:>{CELL}}" for name in [*scheds, *names])
             + "".join(f"{sched + '/best':>{RATIO}}" for sched in scheds)]
    for row in rows:
        cells = [number(row["instructions"][sched]) for sched in scheds]
        if row["linux"]:
            cells += [number(row["linux"].get(release)) for release in RELEASES]
        lines.append((f"{row['operation']:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)
                      + "".join(f"{verdict(row, sched):>{RATIO}}" for sched in scheds)).rstrip())
    compared = [row for row in rows if row["linux"]]
    for sched in scheds:
        met = sum(row["pass"].get(sched, False) for row in compared)
        lines.append(f"{sched}: {met} of {len(compared)} operations cost at most a third of the best Linux's "
                     "instructions.")
    return "\n".join(lines)


# --- the command ----------------------------------------------------------------------------------------------------


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fresh", action="store_true", help="boot Debian's kernels too and keep their figures")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """print what operations cost under cfs and eevdf, beside Linux; with CMD="bench NAME...", these only"""
    if arguments.fresh and settings.cmd:
        raise UsageError("--fresh measures all of Linux's figures: without CMD=")
    if arguments.fresh:
        bench_linux.keep({**bench_linux.load(), **bench_linux.measure_all(settings.build)})
    scheds = [settings.sched] if "sched" in settings.given else list(KERNELS)
    kernels = bench_linux.load()
    rows = compare(measure_all(settings, scheds), bench_linux.medians(kernels))
    if not rows:
        raise UsageError(f'CMD="{settings.cmd}": it prints no figure of bench, as CMD="bench yield_switch" does')
    linux = {release: {"version": k.version, "model": k.model, "hz": k.hz, "qemu": k.qemu, "parameters": k.parameters}
             for release, k in kernels.items()}
    out = os.path.join(settings.build, "bench.json")
    with open(out, "w", encoding="utf-8") as f:
        json.dump({"commit": commit(), "goal": GOAL, "policies": scheds, "linux": linux, "rows": rows}, f, indent=1)
    result.tell([*bench_linux.describe(kernels, settings.build),
                 "instructions per operation (nanosleep: ns late), -icount, one CPU (_2cpu: two), "
                 f"preempt={MODEL}; at most {GOAL:.3f} of the best Linux?",
                 table(rows, scheds), f"The same for programs: {out}"],
                result.of_settings(settings, topology=None, sched=",".join(scheds)), rows, goal=GOAL)
    return 0
