# SPDX-License-Identifier: GPL-2.0-only
"""Two tasks that never sleep on each of two CPUs: how often they switch, and how long one waits for the other.

The rule behind the published figures is that a turn ends at the first tick at which more than a slice is over. With
12 CPUs the tunables are scaled by four. So each of two equal tasks has a slice of 12 ms under CFS (turns of 16 ms at a
tick of 4 ms) and of 3 ms under EEVDF (turns of 4 ms). BORE on CFS mixes turns of 4 and 8 ms. Two tasks with an equal
past do not do so for long: the published figures come from pairs whose bursts, CPU time without a sleep, differ by a
factor of about six (docs/experiments.md). So there are two kinds of cases: pairs from a cold start, and pairs that met
after one task had run HISTORY seconds alone and the other R times as long.
"""

from typing import Any

from ..experiment import SIMULATOR, Claim, Figures, Results, Run, near, rule, shown

TITLE = "Two tasks that never sleep on each of two CPUs: switches and delays"
SOURCE = "perf sched latency of `stress -c 2` on CPU 2 and on CPU 3, 10 s, Linux 6.1.29, 12 CPUs, HZ=250, BORE 2.2.8"
SETTINGS = {"smp": "12", "hz": "250"}
SECONDS = 10
TIMEOUT = "7200"
SCHEDULERS = ("cfs", "bore-cfs", "eevdf")
RATIOS = (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)  # R
APART = {f"apart-{ratio:g}": ratio for ratio in RATIOS}
CASES = ("hogs", *APART)
HISTORY = 20
CHOSEN = "apart-6"  # the one case of the kernel, where two minutes of history take ten minutes of the host
SIZE = (15, 4.4)

PUBLISHED = {"cfs": (1255, 15.907, 16.008), "bore-cfs": (3308, 6.042, 8.014), "eevdf": (5007, 3.994, 4.009)}
MS = 1e6


CPUS = (2, 3)
LATER_US = 9000  # how much later the second of each pair starts: stress forks its tasks one by one
# The same in the kernel's shell, and away from the ticks, which come every 4 ms. The second task starts with a tick,
# when an even hundredth of a second begins, and needs 1.4 ms to get going. If it started close to a tick, both tasks
# would be owed the same whenever a turn ends, and under EEVDF chance would decide which is next.
LATER = ("even() { read t _ < /proc/uptime; case $t in *[02468]) ;; *) false; esac; }; "
         "later() { while even; do :; done; until even; do :; done; }")


def runs(host: str, sched: str, case: str) -> bool:
    return case == "hogs" or sched == "bore-cfs" and (host == SIMULATOR or case == CHOSEN)


def kernel(case: str, seconds: int) -> str:
    """From a cold start, one pair runs after the other. Busy CPUs share one stream of instructions under ICOUNT=1, so
    the ticks of two pairs would delay each other in a pattern that repeats, and a few us in each turn add up. Where the
    scores are apart this does not matter, and both pairs meet at the same time."""
    if case == "hogs":
        return "; ".join([LATER, *(f"hog -a {cpu} -t {seconds + 1}s & later; hog -a {cpu} -t {seconds + 1}s & wait"
                                   for cpu in CPUS)])
    together = HISTORY + seconds + 2
    longer = round(HISTORY * (APART[case] - 1))
    worker = 'of() { for p in $(pidof hog); do grep -q "^PPid:.$1$" /proc/$p/status && echo $p; done; }'
    return (f"{worker}; hog -q -a 4 -t {longer + together}s & a=$!; hog -q -a 5 -t {longer + together}s & b=$!; "
            f"sleep {longer}; hog -q -a 6 -t {together}s & c=$!; hog -q -a 7 -t {together}s & d=$!; sleep {HISTORY}; "
            "for p in $a $c; do taskset -pc 2 $(of $p); done; for p in $b $d; do taskset -pc 3 $(of $p); done; wait")


def paired(cpu: int, alone_on: int, history: float, delay_us: int) -> dict[str, Any]:
    """A task that runs @history seconds on the CPU @alone_on, then on @cpu for ever."""
    task = {"phases": {"alone": {"run": round(history * 1e6), "cpus": [alone_on]},
                       "paired": {"loop": -1, "run": 1000000, "cpus": [cpu]}}}
    return {**task, "delay": delay_us} if delay_us else task


def workload(case: str, seconds: int) -> dict[str, Any]:
    tasks = {}
    if case == "hogs":
        for cpu in CPUS:
            hog = {"loop": -1, "run": 1000000, "cpus": [cpu]}
            tasks[f"hog{cpu}"] = hog
            tasks[f"late{cpu}"] = {**hog, "delay": LATER_US}
        return {"global": {"duration": seconds + 1}, "tasks": tasks}
    longest = HISTORY * APART[case]
    for cpu in CPUS:
        tasks[f"old{cpu}"] = paired(cpu, cpu + 2, longest, 0)
        tasks[f"young{cpu}"] = paired(cpu, cpu + 4, HISTORY, round((longest - HISTORY) * 1e6) + LATER_US)
    return {"global": {"duration": round(longest) + seconds + 2}, "tasks": tasks}


def delays_on(run: Run, cpu: int) -> tuple[int, list[int]]:
    """(number of tasks that used @cpu, their delays) from half a second after the last came: perf was started later."""
    found = run.latencies({cpu})
    hogs = {pid for pid, task in found.tasks.items() if task.run_ns > run.seconds * 1e9 / 10}
    came = {wait.pid: wait.end for wait in reversed(found.waits) if wait.pid in hogs}
    start = max(came.values()) + 5e8
    return len(hogs), [wait.end - wait.start for wait in found.waits
                       if wait.pid in hogs and start <= wait.end < start + run.seconds * 1e9]


def measure(run: Run) -> Figures:
    found = [delays_on(run, cpu) for cpu in CPUS]
    delays = [delay for _, of_cpu in found for delay in of_cpu]
    return {"tasks": sum(tasks for tasks, _ in found), "switches_10s": len(delays) * 10 / run.seconds,
            "average_ms": sum(delays) / len(delays) / MS, "longest_ms": max(delays) / MS}


FIGURES = (("switches in 10 s", "switches_10s", "{:.0f}"), ("average delay, ms", "average_ms", "{:.3f}"),
           ("longest delay, ms", "longest_ms", "{:.3f}"))
PART = 0.05


def case_of(sched: str) -> str:
    """The case whose figures are compared with the published ones."""
    return CHOSEN if sched == "bore-cfs" else "hogs"


def span(of_host: Results) -> tuple[float, float]:
    """The first and last R around the chosen one, without a gap, at which the switches are as published."""
    published = PUBLISHED["bore-cfs"][0]
    good = [abs(of_host["bore-cfs"][case]["switches_10s"] - published) <= PART * published for case in APART]
    first = last = list(APART).index(CHOSEN)
    if not good[first]:
        return 0, 0
    while first and good[first - 1]:
        first -= 1
    while last + 1 < len(good) and good[last + 1]:
        last += 1
    return RATIOS[first], RATIOS[last]


def claims() -> list[Claim]:
    found = []
    for sched, published in PUBLISHED.items():
        past = f", {HISTORY} s and {APART[CHOSEN] * HISTORY} s old" if sched == "bore-cfs" else ""
        for (text, key, form), value in zip(FIGURES, published):
            found.append(near(f"{sched}{past}: {text}", value, PART, [sched],
                              lambda r, s=sched, k=key: r[s][case_of(s)][k], form))
    for text, key, form in FIGURES:
        found.append(shown(f"bore-cfs from a cold start: {text}", ["bore-cfs"],
                           lambda r, k=key: r["bore-cfs"]["hogs"][k], form))
    found.append(rule("bore-cfs: as published if bursts are R times apart", "5 to 7 at least", ["bore-cfs"],
                      lambda v: v[0] <= 5 and v[1] >= 7, span, "{0[0]:g} to {0[1]:g}", hosts=(SIMULATOR,)))
    for sched, ratio in (("bore-cfs", 2.64), ("eevdf", 3.99)):
        found.append(near(f"switches, {sched} to cfs", ratio, PART, ["cfs", sched],
                          lambda r, s=sched: r[s][case_of(s)]["switches_10s"] / r["cfs"]["hogs"]["switches_10s"],
                          "{:.2f}"))
    found.append(rule("tasks that ran, each scheduler", "= 4", SCHEDULERS[:1], lambda v: v == 4,
                      lambda r: min(r[s]["hogs"]["tasks"] for s in r), "{:.0f}"))
    return found


def draw_ratios(axes: Any, of_host: Results) -> None:
    """Switches of bore-cfs by R, and the published number."""
    published = PUBLISHED["bore-cfs"][0]
    axes.axhspan(published * (1 - PART), published * (1 + PART), color="0.85")
    axes.axhline(published, color="0.5", linewidth=1)
    axes.plot(RATIOS, [of_host["bore-cfs"][case]["switches_10s"] for case in APART], "o-", markersize=3)
    axes.set_xscale("log", base=2)
    axes.set_xticks(RATIOS, [f"{ratio:g}" for ratio in RATIOS], fontsize=7)
    axes.set_xlabel(f"R: bursts of {HISTORY} s and R x {HISTORY} s")
    axes.set_title("bore-cfs, switches in 10 s (simulator)", fontsize=10)


def draw(figure: Any, results: dict[str, Results]) -> None:
    """Bars: published, kernel, simulator for each scheduler. A curve: BORE's switches by the past of its pairs."""
    curve = SIMULATOR in results and "bore-cfs" in results[SIMULATOR]
    panels = figure.subplots(1, 3 + curve)
    for index, (axes, (title, key, _)) in enumerate(zip(panels, FIGURES)):
        scheds = [s for s in SCHEDULERS if any(s in of_host for of_host in results.values())]
        bars = {"published": [PUBLISHED[s][index] for s in scheds]}
        bars.update((host, [of_host[s][case_of(s)][key] for s in scheds]) for host, of_host in results.items())
        for nr, (label, values) in enumerate(bars.items()):
            at = [i + (nr - (len(bars) - 1) / 2) * 0.27 for i in range(len(scheds))]
            drawn = axes.bar(at, values, width=0.25, label=label)
            axes.bar_label(drawn, fmt="%.4g", fontsize=6)
        axes.set_xticks(range(len(scheds)), scheds)
        axes.set_title(title, fontsize=10)
    if curve:
        draw_ratios(panels[3], results[SIMULATOR])
    figure.axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=3, fontsize=8)
