# SPDX-License-Identifier: GPL-2.0-only
"""x3-burst: lateness and throttling by phase, what the arithmetic expects, and the picture."""

import re
from typing import Any

from ..base.expect import expect
from ..machine.image import event_values
from ..study.claims import KERNEL, Figures, Results
from ..study.experiment_file import Experiment
from ..study.runs import Run
from ..trace.timeline import SLEEPS, SWITCH, WAKEUPS


def times_each(x: Experiment, seconds: int) -> int:
    return max(2, seconds * 1000 // x.v.every_ms // len(x.v.phases) - 1)


def counters(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"^(nr_\w+|\w+_time) (\d+)\r?$", text, re.M)}


def measure(x: Experiment, run: Run) -> Figures:
    found = measure_kernel(x, run) if run.host == KERNEL else measure_simulator(x, run)
    spent = sum(task.run_ns for task in run.latencies().tasks.values() if re.match(r"burst|phase|before", task.comm))
    bursting_ms = times_each(x, run.seconds) * len(x.v.phases) * x.v.every_ms
    return {**found, "use": (spent / 1e6 - x.v.run_ms) / bursting_ms}


def measure_simulator(x: Experiment, run: Run) -> Figures:
    """The simulator's figures, from its trace. A burst lasts from a wakeup to the sleep after it. A task that loses its
    CPU to no other task is throttled. The report's table of groups says how many periods used savings."""
    excess, throttled = dict.fromkeys(x.v.phases, 0.0), dict.fromkeys(x.v.phases, 0)
    woken: dict[int, int] = {}
    for event in run.events((SWITCH, *WAKEUPS)):
        values = event_values(event)
        if event.format.name in WAKEUPS:
            woken.setdefault(values["pid"], event.time)
            continue
        phase = re.match(r"phase(\d+)-", values["prev_comm"])
        if phase and not values["prev_state"] & SLEEPS:
            throttled[int(phase[1])] += values["next_pid"] == 0
        elif values["prev_pid"] in woken:
            lasted = event.time - woken.pop(values["prev_pid"])
            if phase and lasted > x.v.run_ms * 1e6 / 2:  # the task ends after its last wakeup
                excess[int(phase[1])] = max(excess[int(phase[1])], lasted / 1e6 - x.v.run_ms)
    bursts = expect(r"^/limited +(?:\S+ +){5}(\d+) ", run.console)
    return {"excess_ms": list(excess.values()), "throttled": list(throttled.values()), "bursts": [int(bursts[1])]}


def measure_kernel(x: Experiment, run: Run) -> Figures:
    """For each phase: the latest end of a burst beyond its 80 ms, and by how much the group's counters grew."""
    parts = re.split(r"^(?:phase \d+|end)\r?$", run.console, flags=re.M)[1:]
    excess, throttled, bursts = [], [], []
    for part, following in zip(parts, parts[1:]):
        longest = max(float(us) for us in re.findall(r"response time(?: +\S+){4} +(\S+)", part))
        before, after = counters(part), counters(following)
        excess.append(longest / 1e3 - x.v.run_ms)
        throttled.append(after["nr_throttled"] - before["nr_throttled"])
        bursts.append(after["nr_bursts"] - before["nr_bursts"])
    return {"excess_ms": excess, "throttled": throttled, "bursts": bursts}


def expected(x: Experiment, burst: int, phase: int) -> float:
    """
    A full pool lasts for a while with both running; what is left of a period then is the gap. Who starts early enough
    to use it up waits for the period's end. Who starts late has a second full pool, and waits for the third if that
    does not last either.
    """
    lasts = (x.v.quota_ms + burst) / 2
    gap = x.v.period_ms - lasts
    if lasts >= x.v.run_ms:
        return 0
    if phase < gap:
        return gap - phase
    in_second_period = x.v.run_ms - (x.v.period_ms - phase)
    return gap if in_second_period > lasts else 0


def draw(x: Experiment, figure: Any, results: dict[str, Results]) -> None:
    axes = figure.subplots()
    for nr, case in enumerate(x.cases):
        for host, of_host in results.items():
            axes.plot(x.v.phases, of_host["cfs"][case]["excess_ms"], "o-" if host == KERNEL else "x--", color=f"C{nr}",
                      label=f"burst {case} ms, {host}")
        axes.plot(range(100), [expected(x, int(case), phase) for phase in range(100)], ":", color=f"C{nr}")
    axes.set_ylim(bottom=-1)
    axes.set_xlabel("phase: start of the bursts after the beginning of a period, ms")
    axes.set_ylabel("later than 80 ms by, ms (dotted: expected)")
    axes.legend(fontsize=8)
