# SPDX-License-Identifier: GPL-2.0-only
"""A task that wakes every millisecond on each CPU, among four that never sleep: how late does it run?

As SCHED_FIFO it does not compete with them, so the fair policy makes no difference. jitterdebugger, whose figures are
published, was run like that. As SCHED_OTHER it competes, and each BORE is compared with the policy on which it builds.
"""

import math
from typing import Any

from ..experiment import Claim, Figures, Results, Run, rule, shown

TITLE = "A sleeper of 1 ms on each CPU among four tasks that never sleep: wake-up latency"
SOURCE = "jitterdebugger beside `stress -c 48` on 12 CPUs: the worst maximum under CFS, under both BOREs lower; " \
         "averages alike, for its threads are SCHED_FIFO"
SETTINGS = {"smp": "4", "hz": "250"}
SECONDS = 10
SCHEDULERS = ("cfs", "bore-cfs", "eevdf", "bore")
CASES = ("fifo", "other")
SIZE = (10, 4.5)

NR_CPUS, HOGS, PERIOD_US, PRIO = 4, 4, 1000, 80
WARM_UP = 20  # the first wakeups of each sleeper do not count: it starts and gets its policy
# The emulated CPUs share one stream of instructions, and others may take up to this much of a wait.
NOISE_US = 20
US = 1e3
QUANTITIES = ("mean", "p99", "max")
# The first is not later than the second.
LATER = (("bore-cfs", "cfs", "p99"), ("bore-cfs", "cfs", "max"), ("bore", "eevdf", "p99"))


def kernel(case: str, seconds: int) -> str:
    """The sleepers start when the hogs run, and end before them."""
    hogs = "".join(f"hog -n {HOGS} -a {cpu} -t {seconds}s & " for cpu in range(NR_CPUS))
    policy = f"-p {PRIO}" if case == "fifo" else ""
    loops = (seconds * 1_000_000 - 500_000) // PERIOD_US
    return f"{hogs}sleep 0.1; jitter -t {NR_CPUS} -i {PERIOD_US} -d 0 -l {loops} -a 0-{NR_CPUS - 1} {policy}; wait"


def workload(case: str, seconds: int) -> dict[str, Any]:
    policy = {"policy": "SCHED_FIFO", "priority": PRIO} if case == "fifo" else {}
    tasks = {}
    for cpu in range(NR_CPUS):
        tasks[f"hog{cpu}"] = {"instance": HOGS, "loop": -1, "cpus": [cpu], "run": 1000000}
        tasks[f"jitter{cpu}"] = {"loop": -1, "cpus": [cpu], "delay": 100_000, **policy, "run": 5,
                                 "timer": {"ref": f"unique{cpu}", "period": PERIOD_US}}
    return {"global": {"duration": seconds}, "tasks": tasks}


def measure(run: Run) -> Figures:
    """The times from a wakeup to running, of all wakeups of the sleepers' threads."""
    found = run.latencies()
    by_task: dict[int, list[float]] = {}
    for wait in found.waits:
        if wait.woken and found.tasks[wait.pid].comm.startswith("jitter"):
            by_task.setdefault(wait.pid, []).append((wait.end - wait.start) / US)
    sleepers = [waits[WARM_UP:] for waits in by_task.values() if len(waits) > 2 * WARM_UP]
    waits = sorted(wait for of_task in sleepers for wait in of_task)
    nr = len(waits)
    return {"sleepers": len(sleepers), "wakeups": nr, "mean_us": sum(waits) / nr, "p50_us": waits[nr // 2],
            "p99_us": waits[nr * 99 // 100], "max_us": waits[-1],
            "curve": [waits[nr * i // 1000] for i in range(1000)] + waits[-1:]}


def claims() -> list[Claim]:
    found = []
    for sched in SCHEDULERS:
        found.append(rule(f"{sched}: sleepers seen, each case", f"= {NR_CPUS}", [sched], lambda v: v == NR_CPUS,
                          lambda r, s=sched: min(r[s][c]["sleepers"] for c in CASES), "{:.0f}"))
    for sched in SCHEDULERS[1:]:
        found.append(rule(f"fifo: mean latency, {sched} - cfs, us", "within 5", ["cfs", sched], lambda v: abs(v) < 5,
                          lambda r, s=sched: r[s]["fifo"]["mean_us"] - r["cfs"]["fifo"]["mean_us"], "{:+.2f}"))
    for sched, base, quantity in LATER:
        found.append(rule(f"other: {quantity}, {sched} - {base}, us", f"<= {NOISE_US}", [base, sched],
                          lambda v: v <= NOISE_US,
                          lambda r, s=sched, b=base, q=f"{quantity}_us": r[s]["other"][q] - r[b]["other"][q],
                          "{:+.2f}"))
    for sched in SCHEDULERS:
        for quantity in QUANTITIES:
            found.append(shown(f"other, {sched}: {quantity}, us", [sched],
                               lambda r, s=sched, q=f"{quantity}_us": r[s]["other"][q], "{:.2f}"))
    return found


def draw(figure: Any, results: dict[str, Results]) -> None:
    """The part of the wakeups that was later than the time on the axis."""
    for axes, case in zip(figure.subplots(1, len(CASES)), CASES):
        for host, of_host in results.items():
            for nr, (sched, cases) in enumerate(of_host.items()):
                curve = [max(us, 0.1) for us in cases[case]["curve"]]
                axes.plot(curve, [1 - i / 1000 + 1e-4 for i in range(len(curve))], color=f"C{nr}",
                          linestyle="-" if host == "kernel" else ":", label=f"{sched}, {host}")
        axes.set_xscale("log")
        axes.set_yscale("log")
        low, high = (math.log10(us) for us in axes.get_xlim())
        axes.set_xlim(10 ** math.floor(low), 10 ** math.ceil(high))  # whole decades, so that their labels fit
        axes.set_xlabel("us")
        axes.set_title(f"sleeper: {case}", fontsize=10)
    figure.axes[0].set_ylabel("part of the wakeups later than this")
    figure.axes[-1].legend(fontsize=7)
