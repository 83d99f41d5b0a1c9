#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How far boots of Linux lie apart, beside seeds of the kernel and of the simulator: the table of docs/measuring.md.

Usage: boot_variance.py DIR

Each seed is one boot of Debian's kernel and one of ours, of the same machine, programs, tick and preemption model. A
boot runs the five workloads of `compare` one after the other. DIR keeps its trace, HOST-SEED.dat; one that is there
already is not recorded again. The figures are kept in experiments/boots.json, and the table is made of that file alone.
It wants what `sh tools/setup.sh --compare` fetches.
"""

import json
import os
import pathlib
import re
import statistics
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import usage
from fairground.base import stats
from fairground.base.expect import Missing
from fairground.base.packages import load
from fairground.base.settings import Settings, make_settings
from fairground.machine.image import Event, event_values
from fairground.machine.linux import find_kernel
from fairground.machine.linux_trace import record_on_linux
from fairground.machine.qemu import QemuError, choose
from fairground.result import of_trace
from fairground.study.compare import METRICS, WORKLOADS, Comparison, known_workloads
from fairground.study.side import Side, Workload, parts_of
from fairground.study.sweep_kernel import FORK, RECORDED, metrics
from fairground.trace.record import RecordError, run_recorded
from fairground.trace.tracefile import TraceFile

BUILD = os.environ.get("B", "build")
KEPT = pathlib.Path("experiments/boots.json")
PAGE = pathlib.Path("docs/measuring.md")
MARKED = re.compile(r"(<!-- Made from experiments/boots.json[^\n]*-->\n).*?(<!-- end -->)", re.DOTALL)
SEEDS, TIME, CPUS = range(1, 31), "300ms", "cpus=2"
TIMES = {"messages": "1s"}  # schbench counts in whole seconds
NAMES = [*map(str, SEEDS), f"{SEEDS[0]}-again"]  # of the boots
LINUX, KERNEL, SIMULATOR = "linux:6.12", "kernel:+eevdf", "sim:+eevdf"
HOSTS = (LINUX, KERNEL, SIMULATOR)
SHELL = "sh"
Figures = list[dict[str, dict[str, float]]]  # of each run: by workload and metric


def side_of(host: str) -> Side:
    return Side(host, parts_of(f"{host}+{CPUS}"))


def record(host: str, seed: int, path: pathlib.Path) -> None:
    """Boot @host, run the workloads one after the other, and save the trace as @path."""
    side = side_of(host)
    work = Workload("all", kernel="; ".join(kernel for _, kernel in WORKLOADS.values()))
    settings = make_settings(side.boot(work, Settings(), seed), build=BUILD)
    command, part = side.command(work, seed, TIME), path.with_suffix(".part")
    events = [f"sched:{name}" for name in RECORDED]
    if side.linux:
        record_on_linux(settings, side.linux, command, str(part), events)
    else:
        run_recorded(settings, command, str(part), ",".join(events))
    part.rename(path)


def split(events: Sequence[Event], nr: int) -> Iterator[Sequence[Event]]:
    """The events of each of the last @nr programs that the shell started, one after the other."""
    starts = [at for at, event in enumerate(events)
              if event.format.name == FORK and event_values(event)["parent_comm"] == SHELL][-nr:]
    for start, end in zip(starts, [*starts[1:], len(events)]):
        yield events[start:end]


def measure(path: pathlib.Path) -> dict[str, dict[str, float]]:
    """The metrics of each workload in the trace @path of a boot."""
    parts = split(list(TraceFile(path).events(RECORDED)), len(WORKLOADS))
    return {name: metrics(events) for name, events in zip(WORKLOADS, parts, strict=True)}


def boots(host: str, directory: pathlib.Path) -> Figures:
    """The metrics of each seed on @host, which is booted for those that have no trace in @directory."""
    for name in NAMES:
        path = directory / f"{host}-{name}.dat"
        if not path.exists():
            print(f"recording {path.name}", file=sys.stderr)
            record(host, int(name.partition("-")[0]), path)
    return [measure(directory / f"{host}-{name}.dat") for name in NAMES]


def simulated() -> Figures:
    """The metrics of each seed in the simulator. A run has the time that the same workload has in a boot."""
    found: dict[int, dict[str, dict[str, float]]] = {seed: {} for seed in SEEDS}
    for name, work in known_workloads().items():
        if name in WORKLOADS:
            run = Comparison(Settings(), [side_of(SIMULATOR)], [work], SEEDS, TIMES.get(name, TIME)).collect()
            for seed, of_seed in run.items():
                found[seed][name] = of_seed["simulator"][SIMULATOR][name]
    return list(found.values())


# --- what is kept ---------------------------------------------------------------------------------------------------


def spread(values: Sequence[float]) -> float:
    """The coefficient of variation of @values: their standard deviation as a part of their mean, in percent."""
    mean = statistics.fmean(values)
    return 100 * statistics.stdev(values) / mean if mean else 0.0


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the spread of all runs is with 95 % confidence: B. Efron's bootstrap, corrected for bias and skewness."""
    if len(set(values)) == 1:
        return 0.0, 0.0
    scipy, numpy = load("scipy.stats", "an interval"), load("numpy", "an interval")

    def spreads(samples: Any, axis: int = -1) -> Any:
        means = samples.mean(axis=axis)
        return 100 * samples.std(axis=axis, ddof=1) / numpy.where(means, means, 1)

    found = scipy.bootstrap((numpy.array(values),), spreads, method="BCa", random_state=1).confidence_interval
    return float(found.low), float(found.high)


def other_spread(a: Sequence[float], b: Sequence[float]) -> float:
    """The p of the test of M. Brown and A. Forsythe (1974) that @a and @b vary alike, as parts of their medians."""
    scaled = [[value / (statistics.median(values) or 1) for value in values] for values in (a, b)]
    if all(len(set(values)) == 1 for values in scaled):
        return 1.0
    return float(load("scipy.stats", "a test").levene(*scaled, center="median").pvalue)


def kept(about: dict[str, Any], figures: dict[str, Figures]) -> dict[str, Any]:
    """What the page is made of: @about, and for each metric of each workload the samples and spreads of each host."""
    rows: list[dict[str, Any]] = []
    for workload in WORKLOADS:
        for metric in figures[LINUX][0][workload]:
            samples = {host: [float(f"{one[workload][metric]:.6g}") for one in of[:len(SEEDS)]]
                       for host, of in figures.items()}
            rows.append({"workload": workload, "metric": metric, "p": other_spread(samples[LINUX], samples[KERNEL]),
                         "spread": {host: [spread(values), *interval(values)] for host, values in samples.items()},
                         "samples": samples})
    for row, p in zip(rows, stats.holm([row["p"] for row in rows])):
        row["p"] = p
    again = {host: of[0] == of[-1] for host, of in figures.items() if host != SIMULATOR}
    return {**about, "seeds": len(SEEDS), "again": again, "rows": rows}


# --- the page -------------------------------------------------------------------------------------------------------


def short(value: float) -> str:
    """The @value with two digits, or all before the point."""
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"


def cells(row: dict[str, Any]) -> Iterator[str]:
    for host in HOSTS:
        middle, (of_all, low, high) = statistics.median(row["samples"][host]), row["spread"][host]
        yield f"{stats.number(middle)}: {short(of_all)} % [{short(low)}, {short(high)}]"


def verdict(row: dict[str, Any]) -> str:
    if row["p"] >= stats.LEVEL:
        return "no difference shown"
    return "wider here" if row["spread"][KERNEL][0] > row["spread"][LINUX][0] else "wider on Linux"


def said(told: dict[str, Any]) -> str:
    """What the table shows, in a sentence or two."""
    rows = told["rows"]
    verdicts = [verdict(row) for row in rows]
    quotients = [row["spread"][KERNEL][0] / row["spread"][LINUX][0] for row in rows if row["spread"][LINUX][0]]
    again = "the same figures on both" if all(told["again"].values()) else "other figures on " + " and ".join(
        host for host, same in told["again"].items() if not same)
    return (f"Of {len(rows)} spreads, each of {told['seeds']} runs, {verdicts.count('wider on Linux')} are shown to be "
            f"wider on Linux, {verdicts.count('wider here')} in this kernel.\n"
            f"The median of the quotients, this kernel by Linux, is {statistics.median(quotients):.2g}. "
            f"The same seed twice gave {again}.\n")


def table(told: dict[str, Any]) -> Iterator[str]:
    yield f"| | Linux {told['linux']} | this kernel | simulator | |"
    yield "|---|---|---|---|---|"
    for row in told["rows"]:
        yield f"| `{row['workload']}`: {METRICS[row['metric']]} | {' | '.join(cells(row))} | {verdict(row)} |"


def page() -> str:
    """The text of the page, with the table of what is kept."""
    told = json.loads(KEPT.read_text(encoding="utf-8"))
    text = "\n".join([said(told), *table(told), "", f"Kept from Fairground {told['commit']}, {told['qemu']}.", ""])
    return MARKED.sub(lambda match: f"{match[1]}{text}{match[2]}", PAGE.read_text(encoding="utf-8"))


def main() -> None:
    where, = usage.words(__doc__, 1, 1)
    directory = pathlib.Path(where)
    directory.mkdir(parents=True, exist_ok=True)
    try:
        kernel = pathlib.Path(find_kernel(BUILD, side_of(LINUX).linux or "")).name.removeprefix("vmlinuz-")
        figures = {LINUX: boots(LINUX, directory), KERNEL: boots(KERNEL, directory), SIMULATOR: simulated()}
    except (Missing, QemuError, RecordError) as error:
        sys.exit(f"boot_variance.py: {error}")
    qemu = choose(make_settings({"icount": "1", "smp": "2"}, build=BUILD))[0]
    ours = of_trace(TraceFile(directory / f"{KERNEL}-{NAMES[0]}.dat").about)
    told = kept({"commit": ours["commit"], "linux": kernel, "qemu": qemu.name}, figures)
    KEPT.write_text(json.dumps(told).replace(', {"workload"', ',\n{"workload"') + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
