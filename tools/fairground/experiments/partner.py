# SPDX-License-Identifier: GPL-2.0-only
"""x17-compute-and-partner: the turns of both tasks, what they say, and the picture."""

from typing import Any

from ..machine.image import event_values
from ..study.claims import Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run


SET_UP_NS = 1_000_000  # turns in which a task is set up are shorter than this
MS = 1e6
COLOURS = {"compute": "tab:blue", "partner": "tab:orange"}


def turns(x: Experiment, run: Run) -> list[tuple[str, int, int]]:
    """(task, start, end) of each turn on the CPU, from the first turn of one of the two to the end of the last."""
    names = {"compute": "compute", run.case: "partner"}
    found: list[tuple[str, int, int]] = []
    since: int | None = None
    for event in run.events(["sched_switch"]):
        if event.cpu != x.v.cpu:
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


def measure(x: Experiment, run: Run) -> Figures:
    found = turns(x, run)
    start = next(begin for _, begin, end in found if end - begin > SET_UP_NS)
    done = {who: max(end for w, _, end in found if w == who) - start for who in COLOURS}
    busy = sum(end - max(begin, start) for _, begin, end in found if end > start)
    total = max(done.values())
    return {"compute_done_ms": done["compute"] / MS, "partner_done_ms": done["partner"] / MS,
            "lead": (done["compute"] - done["partner"]) / total, "turns": len(found), "idle_ms": (total - busy) / MS,
            "gantt": [(who, (begin - start) / MS, (end - start) / MS) for who, begin, end in found if end > start]}


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """The turns of both tasks: a line for each scheduler and host, a panel for each case."""
    for axes, case in zip(figure.subplots(len(x.cases), 1, sharex=True), x.cases):
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
