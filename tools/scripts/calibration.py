#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""docs/calibration.md: how far the simulator, the kernel, Linux and publications are apart, by metric and workload.

Usage: calibration.py BUILD    keeps what `make fidelity` left in BUILD, runs its mixes in the simulator, makes the page

The figures are kept in experiments/calibration.json, and those of publications in experiments/kept.json, so the page is
made without running anything.
"""

import json
import os
import pathlib
import re
import shlex
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import seedsdocs
import usage
from fairground.judge.fidelity import load_cases
from fairground.machine.linux import KERNELS
from fairground.machine.simulator import results
from fairground.study.side import USUAL_COSTS

KEPT = pathlib.Path("experiments/calibration.json")
PAGE = pathlib.Path("docs/calibration.md")
SEEDS = range(1, 6)
KINDS = {"hog": "hogs", "burst": "bursts", "yield": "yielders"}  # of a mix, and as schedsim calls them
KEYS = {"n", "nice", "policy", "cpus", "slice", "run", "sleep"}  # that both know
MIX = re.compile(r"mix -t (\S+) ([^\n|&;]+)")
SIMULATOR, KERNEL, LINUX = "simulator", "kernel", "Linux"
PAIRS = ((SIMULATOR, KERNEL), (KERNEL, LINUX), (SIMULATOR, LINUX))
LATENESS, MIGRATIONS = "lateness of wakeups", "migrations"
UNITS = {LATENESS: " us", MIGRATIONS: ""}  # of errors that are no percentages
METRICS = {"CPU time, shares": ("cpu_ms", "share"), "waits": ("wait_ms",), "turns": ("slices", "bursts"),
           LATENESS: ("late_mean_us", "late_p50_us", "late_p99_us"), MIGRATIONS: ("migrations",)}
NUMBER = re.compile(r"[-+]?\d[\d.]*")
Row = dict[str, Any]

INTRO = """# Calibration

<!-- Made from experiments/calibration.json, experiments/kept.json; `make calibration ARGS=build` keeps figures. -->

Which numbers of a run may be believed, and how far? Here the same load ran in the simulator, in the kernel under
`ICOUNT=1`, and on Debian's kernels in the same emulated machine ([beside Linux](fidelity.md)). An error is the
difference of two medians, as a part of the second one; of lateness it is in us, of migrations a number.

## By metric

*Half* of the figures have at most this error, *nine in ten* at most the next one.
"""
READING = """
## How to read it

* A sleep of a fair task ends up to 50 us late in the kernel and on Linux, by the slack of its timer, and at its time in
  the simulator; real-time tasks have no slack. Where a wakeup waits for the turn of another task, the phase decides how
  many of few are late.
* On four CPUs the place where each task begins decides, on Linux too
  ([why](fidelity.md#figures-that-a-phase-decides)), and so do [turns of the
  emulator](fidelity.md#turns-of-the-emulator).
* A difference between two policies on one host is surer than a number: what both sides lack drops out of it
  ([measuring](measuring.md#seeds-are-pairs)).
* **Not claimed:** times of any real machine. The emulator has no caches and no pipelines, so the price of a move, of a
  cold cache or of a shared core is in no figure of the kernel. The simulator has them only with
  [`--caches`](simulator.md). Energy is that of a table of frequencies, and was never measured.
"""
PUBLISHED = """
## Against published figures of hardware

Of each experiment the published numbers, and ours in the simulator or the kernel ([row by row](seeds.md)). *Same sign*
counts the differences, which have one. The quotient is ours by the published one, of numbers that are no differences.

| experiment | numbers | within the bound | same sign | quotient: median | least | most |
|---|---|---|---|---|---|---|
"""
CASES = """
## By workload

Medians. The cases are those of [tests/fidelity/rows.toml](../tests/fidelity/rows.toml) that the simulator can run;
Linux is 6.1 beside `cfs` and 6.12 beside `eevdf`. The simulator ran with {seeds} seeds, kernel and Linux booted three
to ten times. Kept from Fairground {commit}.
"""


# --- the simulator's runs of a mix ----------------------------------------------------------------------------------


def words_of(command: str) -> list[str] | None:
    """The words for schedsim that make the load of the mix @command; None if it is no single one, or schedsim does not
    know all of it."""
    found = MIX.fullmatch(command.strip())
    words = ["--time", found[1]] if found else []
    for part in shlex.split(found[2]) if found else ():
        kind, _, keys = part.partition(":")
        given = dict(re.findall(r"(\w+)=([^,]+)", keys))
        given.pop("name", None)
        if kind not in KINDS or set(given) - KEYS:
            return None
        policy, _, prio = given.pop("policy", "normal").partition(":")
        given |= {"n": given.get("n", "1"), "policy": policy, **({"prio": prio} if prio else {})}
        words.append(f"{KINDS[kind]}:" + ",".join(f"{key}={value}" for key, value in given.items()))
    return words or None


def names_of(command: str) -> list[str]:
    """How each part of the mix @command is called: by its name, or its kind."""
    found = MIX.fullmatch(command.strip())
    parts = shlex.split(found[2]) if found else []
    return [named[1] if (named := re.search(r"\bname=(\w+)", part)) else part.partition(":")[0] for part in parts]


def figures_of(run: dict[str, Any], names: Sequence[str]) -> dict[str, float]:
    """The figures of a @run as mix calls them, PART.FIGURE; none if the parts cannot be told apart in it."""
    tasks = run["tasks"]
    if len(tasks) != len(names):
        return {}
    total = sum(task["cpu_ns"] for task in tasks) or 1
    found: dict[str, float] = {}
    for name, task in zip(names, tasks):
        late = task["wakeup_ns"]
        found |= {f"{name}.{figure}": value for figure, value in {
            "cpu_ms": task["cpu_ns"] / 1e6, "share": 100 * task["cpu_ns"] / total,
            "wait_ms": task["wait_ns"]["mean"] * task["wait_ns"]["n"] / 1e6, "slices": task["runs"],
            "bursts": task["wakeups"], "migrations": task["migrations"], "late_mean_us": late["mean"] / 1e3,
            "late_p50_us": late["p50"] / 1e3, "late_p99_us": late["p99"] / 1e3}.items()}
    return found


def simulated(build: str, sched: str, command: str, cpus: int) -> list[dict[str, float]]:
    """The figures of the mix @command in the simulator, of each of SEEDS; none if it cannot run it."""
    words = words_of(command)
    if words is None:
        return []
    costs = [word for name, value in USUAL_COSTS.items() for word in (f"--{name}", value)]
    return [figures_of(results(build, ["--sched", sched, "--topology", f"1x1x{cpus}x1", "--seed", str(seed), "--vary",
                                        str(seed), *costs, *words])["results"][0], names_of(command))
            for seed in SEEDS]


def take(build: str) -> dict[str, Any]:
    """What is to be kept: each figure of `make fidelity` that is a METRIC, and the simulator's of the same mix."""
    told = json.loads(pathlib.Path(build, "fidelity.json").read_text(encoding="utf-8"))
    rows = []
    for sched in KERNELS:
        cases = {case.name: case for case in load_cases(sched)}
        runs = {name: simulated(build, sched, case.cmd, case.cpus) for name, case in cases.items()}
        for line in told["rows"]:
            case, _, figure = line["row"].partition(".")
            values = [run[figure] for run in runs.get(case, ()) if figure in run]
            if line["sched"] == sched and metric_of(line["row"]) and values:
                rows.append({"sched": sched, "row": line["row"], SIMULATOR: values, KERNEL: line["ours_runs"],
                             LINUX: line["linux_runs"]})
    return {"commit": told["commit"], "rows": rows}


# --- the page -------------------------------------------------------------------------------------------------------


def metric_of(row: str) -> str:
    """The metric of which @row is a figure; "" of none."""
    return next((metric for metric, figures in METRICS.items() if row.rpartition(".")[2] in figures), "")


def error(row: Row, a: str, b: str) -> float:
    """How far the host @a is from @b: in percent, or in the unit of the metric."""
    of_a, of_b = statistics.median(row[a]), statistics.median(row[b])
    return of_a - of_b if metric_of(row["row"]) in UNITS else 100 * (of_a - of_b) / of_b if of_b else 0.0


def part(values: Iterable[float], share: float) -> float:
    """The least of @values that the @share of all do not exceed."""
    in_order = sorted(values)
    return in_order[max(0, -int(-share * len(in_order) // 1) - 1)]


def by_metric(rows: Sequence[Row]) -> Iterator[str]:
    for metric in METRICS:
        of = [row for row in rows if metric_of(row["row"]) == metric]
        unit = UNITS.get(metric, " %")
        for a, b in PAIRS if of else ():
            errors = {(row["row"], row["sched"]): abs(error(row, a, b)) for row in of}
            worst = max(errors, key=lambda key: errors[key])
            yield (f"| {metric} | {a} by {b} | {len(of)} | {part(errors.values(), 0.5):.1f}{unit} | "
                   f"{part(errors.values(), 0.9):.1f}{unit} | {errors[worst]:.1f}{unit}: {', '.join(worst)} |")


def by_workload(rows: Sequence[Row]) -> Iterator[str]:
    for row in sorted(rows, key=lambda row: (row["row"], row["sched"])):
        unit = UNITS.get(metric_of(row["row"]), " %")
        middle = " | ".join(f"{statistics.median(row[host]):.5g}" for host in (SIMULATOR, KERNEL, LINUX))
        errors = " | ".join(f"{error(row, a, b):+.1f}{unit}" for a, b in PAIRS)
        yield f"| {row['row']} | {row['sched']} | {middle} | {errors} |"


def published(results: dict[str, Any]) -> Iterator[str]:
    """A line for each experiment with published numbers."""
    for name, of in results.items():
        numbers = [(claim, float(claim["published"]), float(found[0])) for claim in of["claims"]
                   if NUMBER.fullmatch(claim["published"]) and claim["shown"]
                   and (found := NUMBER.match(next(iter(claim["shown"].values()))))]
        if not numbers:
            continue
        signed = [(theirs, ours) for claim, theirs, ours in numbers if claim["published"][0] in "+-"]
        plain = sorted(ours / theirs for claim, theirs, ours in numbers if claim["published"][0] not in "+-" and theirs)
        quotients = f"{statistics.median(plain):.3g} | {plain[0]:.3g} | {plain[-1]:.3g}" if plain else "- | - | -"
        same = f"{sum(theirs * ours > 0 for theirs, ours in signed)} of {len(signed)}" if signed else "-"
        yield (f"| [{name}](experiments.md#{name}) | {len(numbers)} | "
               f"{sum(claim['verdict'] == 'PASS' for claim, *_ in numbers)} | {same} | {quotients} |")


def page() -> str:
    """The text of the page."""
    told = json.loads(KEPT.read_text(encoding="utf-8"))
    rows = told["rows"]
    return "\n".join([
        INTRO, "| metric | | figures | half | nine in ten | the worst |", "|---|---|---|---|---|---|", *by_metric(rows),
        READING.rstrip("\n"), PUBLISHED.rstrip("\n"), *published(seedsdocs.kept()),
        CASES.format(seeds=len(SEEDS), commit=told["commit"]),
        "| figure | policy | simulator | kernel | Linux | simulator by kernel | kernel by Linux | simulator by Linux |",
        "|---|---|---|---|---|---|---|---|", *by_workload(rows)]) + "\n"


def main() -> None:
    build, = usage.words(__doc__, 1, 1)
    if not os.path.exists(f"{build}/fidelity.json"):
        sys.exit(f"{build}/fidelity.json: not there; make fidelity makes it")
    KEPT.write_text(json.dumps(take(build), indent=None).replace('}, {"sched"', '},\n{"sched"') + "\n",
                    encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
