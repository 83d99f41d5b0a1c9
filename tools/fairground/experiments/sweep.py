# SPDX-License-Identifier: GPL-2.0-only
"""x9-boost-sweep: points, energy and PerfIndex of each case, the published table's layout, and the picture."""

import re
from typing import Any

from ..base.expect import expect
from ..study.claims import Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run

CPUS = 4  # of the published machine, which share what the domain's energy is of
POINTS = r"^0: \d+ \S+ from CPU 0 +\S+ +\d+ +[\d.]+ +([\d.]+) +([\d.]+)  (.*)$"
ACTIVATIONS = r"^task0 nice 0 /fg +1 +([\d.]+)(?: +[\d.-]+){8} +(\d+)"


def measure(x: Experiment, run: Run) -> Figures:
    """From the files `energy`, before and after, and burst's table; or from the simulator's report."""
    seconds = run.seconds * (1 if run.host == "kernel" else x.v.simulated)
    if run.host == "kernel":
        busy, energy = of_files(run.console)
        took = float(expect(r"response time +[\d.]+ +([\d.]+)", run.console)[1])
    else:
        cpus, shared, points = expect(POINTS, run.console).groups()
        busy = {int(mhz): float(part) for mhz, part in (word.split(":") for word in points.split())}
        energy = (float(cpus) + float(shared)) / CPUS
        share, activations = expect(ACTIVATIONS, run.console).groups()
        took = float(share) / 100 * CPUS * seconds * 1e6 / int(activations)
    point = max(busy, key=lambda mhz: busy[mhz])
    return {"mhz": point, "most": 100 * busy[point] / sum(busy.values()), "energy": energy / seconds,
            "took": took}


def of_files(console: str) -> tuple[dict[int, float], float]:
    """Busy ns by MHz, and energy: of the CPU, and a CPU's part of what is shared."""
    files = [(int(energy), {int(khz) // 1000: int(ns) for khz, ns in re.findall(r"busy (\d+) \d+ (\d+)", lines)})
             for energy, lines in re.findall(r"^energy (\d+)\n((?:\w+ \d+ \d+ \d+\n)+)", console, re.MULTILINE)]
    (domain, _), (cpu, before), (domain_end, _), (cpu_end, after) = files
    return ({mhz: float(ns - before[mhz]) for mhz, ns in after.items()},
            (cpu_end - cpu + (domain_end - domain) / CPUS) / 1e9)


def perf(x: Experiment, cases: dict[str, Figures], duty: int, boost: int) -> float:
    """PerfIndex: the slack of an activation, by what it is at the fastest point."""
    slack: list[float] = [x.v.period_us - cases[f"{duty}-{name}"]["took"] for name in (boost, "fastest")]
    return slack[0] / slack[1]


def change(x: Experiment, cases: dict[str, Figures], duty: int, boost: int, metric: str) -> float:
    """Of PerfIndex or energy, % of what it is without a boost."""
    def of(b: int) -> float:
        return perf(x, cases, duty, b) if metric == "perf" else float(cases[f"{duty}-{b}"]["energy"])
    return 100 * (of(boost) / of(0) - 1)


def steps(x: Experiment, cases: dict[str, Figures], duty: int, metric: str) -> list[tuple[int, float]]:
    """From each boost to the next: points up, and the change of the metric, %."""
    found = []
    for before, boost in zip(x.v.boosts, x.v.boosts[1:]):
        up = cases[f"{duty}-{boost}"]["mhz"] - cases[f"{duty}-{before}"]["mhz"]
        one, other = (1 + change(x, cases, duty, b, metric) / 100 for b in (before, boost))
        found.append((up, 100 * (other / one - 1)))
    return found


def line_of(x: Experiment, duty: int, nr: int) -> int:
    """The line of the published table, which has one for each boost above 0, and a rule after each duty cycle."""
    return 136 + 5 * [row[0] for row in x.v.duties].index(duty) + nr


def of_no_change(published: float, same: float) -> float | str:
    """The published change, as a word if it is smaller than @same: no number to compare with."""
    return published if abs(published) >= same else f"{published:+.2f}"


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """Change of energy and of PerfIndex over duty cycles, a line for each boost; published ones dashed."""
    rows = x.v.duties
    at = [row[0] for row in rows]
    for axes, metric, nr in zip(figure.subplots(1, 2), ("energy", "perf"), (2, 3)):
        for boost, colour in zip(x.v.boosts[1:], ("C0", "C1", "C2", "C3")):
            axes.plot(at, [row[nr][x.v.boosts.index(boost) - 1] for row in rows], "--", color=colour)
            for host, mark in zip(results, ("o", "s")):
                of = results[host]["cfs"]
                axes.plot(at, [change(x, of, duty, boost, metric) for duty in at], color=colour, marker=mark,
                          label=f"boost {boost}, {host}")
        axes.set_xlabel("duty cycle at the fastest point, %; dashed: published")
        axes.set_ylabel("energy, %" if metric == "energy" else "PerfIndex, %")
    figure.axes[0].legend(fontsize=7)
