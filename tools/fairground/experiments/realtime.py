# SPDX-License-Identifier: GPL-2.0-only
"""x14-real-time, x15-priorities, x16-blocked: the turns of real-time tasks on one CPU, their order, and the picture."""

from typing import Any

from ..machine.image import event_values
from ..study.claims import Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run

SHORT_MS = 1  # a task that starts before one of a higher priority has the CPU for a moment


Turn = tuple[str, float, float]  # task, start, end in ms


def turns(run: Run, cpu: int = 0) -> list[Turn]:
    """The turns on @cpu, without those that are too short to be one."""
    found, since, last = [], 0, ""
    for event in run.events(["sched_switch"]):
        if event.cpu != cpu:
            continue
        values = event_values(event)
        if last and event.time - since > SHORT_MS * 1e6:
            found.append((last, since / 1e6, event.time / 1e6))
        comm = values["next_comm"] if values["next_pid"] else ""
        last = comm.rpartition("-")[0] or comm  # the simulator's tasks are numbered
        since = event.time
    return found


def out_of_turn(names: list[str]) -> int:
    """How many turns come before a yielding task that waited longer: after a yield the other one must be next of the
    two."""
    yielding = [name for name in names if name.startswith("yield")]
    return sum(a == b for a, b in zip(yielding, yielding[1:]))


def measure(run: Run) -> Figures:
    found = turns(run)
    names = [name for name, _, _ in found]
    together = found
    if any(name.startswith("yield") for name in names):  # of tasks that yield: until the first is done
        end = min(max(stop for name, _, stop in found if name == one) for one in set(names))
        together = [turn for turn in found if turn[2] <= end]
    return {"order": " ".join(names), "done_ms": found[-1][2] - found[0][1], "turns": len(found),
            "longest_ms": max(stop - start for _, start, stop in together),
            "out_of_turn": out_of_turn([name for name, _, _ in together]), "gantt": found}


def show(axes: Any, gantt: list[Turn], title: str) -> None:
    """Draw the turns @gantt, a line for each task."""
    names = sorted({name for name, _, _ in gantt})
    for y, task in enumerate(names):
        axes.broken_barh([(start, end - start) for name, start, end in gantt if name == task], (y - 0.4, 0.8),
                         color=f"C{y}")
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=9)


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    """The turns: a panel for each case."""
    of_host = next(iter(results.values()))["cfs"]
    for axes, case in zip(figure.subplots(len(of_host), 1, sharex=True, squeeze=False)[:, 0], of_host):
        show(axes, of_host[case]["gantt"], case)
    axes.set_xlabel("ms")
