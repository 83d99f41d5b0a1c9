# SPDX-License-Identifier: GPL-2.0-only
"""x11-perf-sched-latency: scripts in which pairs of hogs meet, their delays, and the picture."""

from typing import Any

from ..study.claims import SIMULATOR, Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run

MS = 1e6
# The second of a pair starts away from the ticks, which come every 4 ms: it starts with a tick, when an even hundredth
# of a second begins, and needs 1.4 ms to get going. If it started close to a tick, both tasks would be owed the same
# whenever a turn ends, and under EEVDF chance would decide which is next.
LATER = ("even() { read t _ < /proc/uptime; case $t in *[02468]) ;; *) false; esac; }; "
         "later() { while even; do :; done; until even; do :; done; }")


def from_cold(x: Experiment, seconds: int) -> str:
    """The commands of a run in which a pair of hogs on one CPU runs after the pair on the other. Busy CPUs share one
    stream of instructions under ICOUNT=1: ticks of two pairs at once would delay each other in a pattern that repeats,
    and a few us in each turn add up. The hogs make no system calls (-q): under EEVDF a turn would end there."""
    return "; ".join([LATER, *(f"hog -q -a {cpu} -t {seconds + 1}s & later; hog -q -a {cpu} -t {seconds + 1}s & wait"
                               for cpu in x.v.cpus)])


def after_history(x: Experiment, apart: float, seconds: int) -> str:
    """Both pairs meet at the same time: where the scores are apart, what their ticks add does not matter."""
    together = x.v.history + seconds + 2
    longer = round(x.v.history * (apart - 1))
    worker = 'of() { for p in $(pidof hog); do grep -q "^PPid:.$1$" /proc/$p/status && echo $p; done; }'
    return (f"{worker}; hog -q -a 4 -t {longer + together}s & a=$!; hog -q -a 5 -t {longer + together}s & b=$!; "
            f"sleep {longer}; hog -q -a 6 -t {together}s & c=$!; hog -q -a 7 -t {together}s & d=$!; "
            f"sleep {x.v.history}; for p in $a $c; do taskset -pc 2 $(of $p); done; "
            "for p in $b $d; do taskset -pc 3 $(of $p); done; wait")


def delays_on(run: Run, cpu: int) -> tuple[int, list[int]]:
    """(number of tasks that used @cpu, their delays) from half a second after the last came: perf was started later."""
    found = run.latencies({cpu})
    hogs = {pid for pid, task in found.tasks.items() if task.run_ns > run.seconds * 1e9 / 10}
    came = {wait.pid: wait.end for wait in reversed(found.waits) if wait.pid in hogs}
    start = max(came.values()) + 5e8
    return len(hogs), [wait.end - wait.start for wait in found.waits
                       if wait.pid in hogs and start <= wait.end < start + run.seconds * 1e9]


def measure(x: Experiment, run: Run) -> Figures:
    found = [delays_on(run, cpu) for cpu in x.v.cpus]
    delays = [delay for _, of_cpu in found for delay in of_cpu]
    return {"tasks": sum(tasks for tasks, _ in found), "switches_10s": len(delays) * 10 / run.seconds,
            "average_ms": sum(delays) / len(delays) / MS, "longest_ms": max(delays) / MS}


def apart(x: Experiment) -> list[str]:
    """The cases in which the bursts of a pair differ, in the order of the ratios."""
    return [case for case, how in x.cases.items() if how.values["apart"]]


def span(x: Experiment, of_host: Results) -> tuple[float, float]:
    """The first and last R around the chosen one, without a gap, at which the switches are as published."""
    published = x.v.published["bore-cfs"][0]
    good = [abs(of_host["bore-cfs"][case]["switches_10s"] - published) <= x.v.part * published for case in apart(x)]
    first = last = x.v.ratios.index(x.v.chosen)
    if not good[first]:
        return 0, 0
    while first and good[first - 1]:
        first -= 1
    while last + 1 < len(good) and good[last + 1]:
        last += 1
    return x.v.ratios[first], x.v.ratios[last]


def draw_ratios(x: Experiment, axes: Any, of_host: Results) -> None:
    """Switches of bore-cfs by R, and the published number."""
    published = x.v.published["bore-cfs"][0]
    axes.axhspan(published * (1 - x.v.part), published * (1 + x.v.part), color="0.85")
    axes.axhline(published, color="0.5", linewidth=1)
    axes.plot(x.v.ratios, [of_host["bore-cfs"][case]["switches_10s"] for case in apart(x)], "o-", markersize=3)
    axes.set_xscale("log", base=2)
    axes.set_xticks(x.v.ratios, [f"{ratio:g}" for ratio in x.v.ratios], fontsize=7)
    axes.set_xlabel(f"R: bursts of {x.v.history} s and R x {x.v.history} s")
    axes.set_title("bore-cfs, switches in 10 s (simulator)", fontsize=10)


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """Bars: published, kernel, simulator for each scheduler. A curve: BORE's switches by the past of its pairs."""
    curve = SIMULATOR in results and "bore-cfs" in results[SIMULATOR]
    panels = figure.subplots(1, 3 + curve)
    for index, (axes, (title, key, _)) in enumerate(zip(panels, x.v.figures)):
        scheds = [s for s in x.policies if any(s in of_host for of_host in results.values())]
        bars = {"published": [x.v.published[s][index] for s in scheds]}
        bars.update((host, [of_host[s][x.v.compared[s]][key] for s in scheds]) for host, of_host in results.items())
        for nr, (label, values) in enumerate(bars.items()):
            at = [i + (nr - (len(bars) - 1) / 2) * 0.27 for i in range(len(scheds))]
            drawn = axes.bar(at, values, width=0.25, label=label)
            axes.bar_label(drawn, fmt="%.4g", fontsize=6)
        axes.set_xticks(range(len(scheds)), scheds)
        axes.set_title(title, fontsize=10)
    if curve:
        draw_ratios(x, panels[3], results[SIMULATOR])
    figure.axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3, fontsize=8)
