# SPDX-License-Identifier: GPL-2.0-only
"""A task that computes and one with the same work that gives the CPU up after each round of it.

BORE tells them apart: the task that gives the CPU up has short bursts, gets more of the CPU and is done first. For CFS
and EEVDF both are equal. While the partner waits for I/O the other computes. Under CFS both come to their last round
together, and then the CPU idles until the last I/O is done.
"""

from typing import Any

from ..experiment import Claim, Figures, Results, Run, rule
from ..image import event_values

TITLE = "A task that computes beside one that yields, sleeps or waits for I/O after each round of its work"
SOURCE = "four matrix multiplications each on one of 12 CPUs, Linux 6.1.29, HZ=250, BORE 2.2.8; pictures, no figures"
SETTINGS = {"smp": "12", "hz": "250"}
SECONDS = 8
SCHEDULERS = ("cfs", "bore-cfs", "eevdf")
CASES = ("yield", "sleep", "io")
SIZE = (11, 6)

CPU, ROUNDS, SLEEP_US, IO_US = 2, 8, 1, 10_000
SET_UP_NS = 1_000_000  # turns in which a task is set up are shorter than this
MS = 1e6
COLOURS = {"compute": "tab:blue", "partner": "tab:orange"}


def round_us(seconds: int) -> int:
    """The length of a round, so that both tasks together have work for @seconds."""
    return seconds * 1_000_000 // (2 * ROUNDS)


def kernel(case: str, seconds: int) -> str:
    return f"duel -a {CPU} -n {ROUNDS} -r {round_us(seconds)}us -s {SLEEP_US}us -i {IO_US}us {case}"


def workload(case: str, seconds: int) -> dict[str, Any]:
    after: dict[str, dict[str, Any]] = {"yield": {"yield": ""}, "sleep": {"sleep": SLEEP_US}, "io": {"sleep": IO_US}}
    task = {"cpus": [CPU], "loop": ROUNDS, "run": round_us(seconds)}
    return {"global": {"duration": 4 * seconds}, "tasks": {"compute": task, case: {**task, **after[case]}}}


def turns(run: Run) -> list[tuple[str, int, int]]:
    """(task, start, end) of each turn on the CPU, from the first turn of one of the two to the end of the last."""
    names = {"compute": "compute", run.case: "partner"}
    found: list[tuple[str, int, int]] = []
    since: int | None = None
    for event in run.events(["sched_switch"]):
        if event.cpu != CPU:
            continue
        v = event_values(event)
        who = names.get(role(v["prev_comm"]))
        if who and since is not None:
            found.append((who, since, event.time))
        since = event.time
    return found


def role(comm: str) -> str:
    """The simulator numbers the instances of a task: compute-0."""
    base, dash, number = comm.rpartition("-")
    return base if dash and number.isdigit() else comm


def measure(run: Run) -> Figures:
    found = turns(run)
    start = next(begin for _, begin, end in found if end - begin > SET_UP_NS)
    done = {who: max(end for w, _, end in found if w == who) - start for who in COLOURS}
    busy = sum(end - max(begin, start) for _, begin, end in found if end > start)
    total = max(done.values())
    return {"compute_done_ms": done["compute"] / MS, "partner_done_ms": done["partner"] / MS,
            "lead": (done["compute"] - done["partner"]) / total, "turns": len(found), "idle_ms": (total - busy) / MS,
            "gantt": [(who, (begin - start) / MS, (end - start) / MS) for who, begin, end in found if end > start]}


def claims() -> list[Claim]:
    found = []
    for case in CASES:
        found.append(rule(f"bore-cfs, {case}: partner's lead / total", "> 0.15", ["bore-cfs"], lambda v: v > 0.15,
                          lambda r, c=case: r["bore-cfs"][c]["lead"], "{:+.3f}"))
        for sched in ("cfs", "eevdf"):
            found.append(rule(f"{sched}, {case}: partner's lead / total", "within 0.05", [sched],
                              lambda v: abs(v) < 0.05, lambda r, s=sched, c=case: r[s][c]["lead"], "{:+.3f}"))
        found.append(rule(f"{case}: turns, eevdf over bore-cfs", "> 1", ["bore-cfs", "eevdf"], lambda v: v > 1,
                          lambda r, c=case: r["eevdf"][c]["turns"] / r["bore-cfs"][c]["turns"], "{:.2f}"))
        found.append(rule(f"{case}: turns, bore-cfs over cfs", "> 1", ["bore-cfs", "cfs"], lambda v: v > 1,
                          lambda r, c=case: r["bore-cfs"][c]["turns"] / r["cfs"][c]["turns"], "{:.2f}"))
    found.append(rule("cfs, io: idle while not all is done, ms", "> 5", ["cfs"], lambda v: v > IO_US / 2000,
                      lambda r: r["cfs"]["io"]["idle_ms"], "{:.2f}"))
    found.append(rule("bore-cfs, io: the same", "< 0.5", ["bore-cfs"], lambda v: v < 0.5,
                      lambda r: r["bore-cfs"]["io"]["idle_ms"], "{:.2f}"))
    return found


def draw(figure: Any, results: dict[str, Results]) -> None:
    """The turns of both tasks: a line for each scheduler and host, a panel for each case."""
    for axes, case in zip(figure.subplots(len(CASES), 1, sharex=True), CASES):
        lines = [(sched, host) for host, of_host in results.items() for sched in of_host]
        for y, (sched, host) in enumerate(lines):
            for who, colour in COLOURS.items():
                bars = [(b, e - b) for w, b, e in results[host][sched][case]["gantt"] if w == who]
                axes.broken_barh(bars, (y - 0.4, 0.8), color=colour, label=who if not y else None)
        axes.set_yticks(range(len(lines)), [f"{sched}, {host}" for sched, host in lines], fontsize=7)
        axes.invert_yaxis()
        axes.set_title(f"partner: {case}", fontsize=9)
    axes.set_xlabel("ms")
    figure.axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=8)
