# SPDX-License-Identifier: GPL-2.0-only
"""Bursts in a group with a quota: when does the limit make them late, and how much saved runtime prevents it?

Two tasks run 80 ms each, at the same time, every 200 ms: 160 ms of CPU time that a group of 100 ms in each 100 ms must
provide. On average the group has that time. Whether it has it when it is needed depends on two things: the phase, which
is the time from the beginning of a period to the start of the bursts, and the burst, which is how much of an unused
period may be kept.
"""

import re
from typing import Any

from ..expect import expect
from ..experiment import KERNEL, Claim, Figures, Results, Run, rule
from ..image import event_values
from ..timeline import SLEEPS, SWITCH, WAKEUPS

TITLE = "Two bursts of 80 ms every 200 ms under a quota of 100 ms in 100 ms: lateness by phase and burst"
SOURCE = "the burst feature's example, schbench -m 1 -t 3 -c 80000 -R 10: 80 % of a CPU on average, throttled in 8 " \
         "of 10 runs, which is 0.8 of the phases; the expectation for each phase follows from the arithmetic"
SETTINGS = {"smp": "4", "hz": "1000"}
SECONDS = 18
SCHEDULERS = ("cfs",)
CASES = ("0", "20", "40", "60", "100")  # the burst, ms
TWICE = ("20",)
SIZE = (9, 4.5)

PHASES = tuple(range(5, 100, 10))
RUN_MS, EVERY_MS, QUOTA_MS, PERIOD_MS = 80, 200, 100, 100
COSTS_US = 200  # ticks and switches add this to a burst in the simulator; in the kernel the 80 ms contain them
WITHIN_MS = 6  # a slice of 5 ms, which one task may hold while the other is throttled, and a tick


def times_each(seconds: int) -> int:
    return max(2, seconds * 1000 // EVERY_MS // len(PHASES) - 1)


def kernel(case: str, seconds: int) -> str:
    """Print the group's counters before each phase and at the end. One burst comes first, with the pool half full."""
    times = times_each(seconds)
    return "; ".join([
        "cd /sys/fs/cgroup/cpu", "mkdir limited", "cd limited",
        f"echo {QUOTA_MS * 1000} > cpu.cfs_quota_us", f"echo {PERIOD_MS * 1000} > cpu.cfs_period_us",
        f"echo {int(case) * 1000} > cpu.cfs_burst_us",
        f"member() {{ echo 0 > tasks; exec burst -P {EVERY_MS}ms -r {RUN_MS}ms \"$@\"; }}",
        "(member -n 1)",
        f"for phase in {' '.join(map(str, PHASES))}",
        "do echo phase $phase; cat cpu.stat",
        f"(member -o ${{phase}}ms -n {times}) & (member -o ${{phase}}ms -n {times})",
        "wait", "done", "echo end", "cat cpu.stat"])


def counters(text: str) -> dict[str, int]:
    return {name: int(value) for name, value in re.findall(r"^(nr_\w+|\w+_time) (\d+)\r?$", text, re.M)}


def workload(case: str, seconds: int) -> dict[str, Any]:
    """The same as rt-app JSON, with two tasks for each phase, which start in a period that no task has used."""
    times = times_each(seconds)
    task: dict[str, Any] = {"taskgroup": "/limited", "run": RUN_MS * 1000 - COSTS_US,
            "timer": {"ref": "unique", "period": EVERY_MS * 1000, "mode": "absolute"}}
    tasks = {"before": {**task, "loop": 1}}
    for nr, phase in enumerate(PHASES):
        start_ms = (2 + nr * (times + 1)) * EVERY_MS + phase
        tasks[f"phase{phase}"] = {**task, "instance": 2, "loop": times, "delay": start_ms * 1000}
    limits = {"quota": QUOTA_MS * 1000, "period": PERIOD_MS * 1000, "burst": int(case) * 1000}
    return {"global": {"duration": -(-(3 + len(PHASES) * (times + 1)) * EVERY_MS // 1000)},
            "taskgroups": {"/limited": limits}, "tasks": tasks}


def measure(run: Run) -> Figures:
    found = measure_kernel(run) if run.host == KERNEL else measure_simulator(run)
    spent = sum(task.run_ns for task in run.latencies().tasks.values() if re.match(r"burst|phase|before", task.comm))
    bursting_ms = times_each(run.seconds) * len(PHASES) * EVERY_MS
    return {**found, "use": (spent / 1e6 - RUN_MS) / bursting_ms}


def measure_simulator(run: Run) -> Figures:
    """The simulator's figures, from its trace. A burst lasts from a wakeup to the sleep after it. A task that loses its
    CPU to no other task is throttled. The report's table of groups says how many periods used savings."""
    excess, throttled = dict.fromkeys(PHASES, 0.0), dict.fromkeys(PHASES, 0)
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
            if phase and lasted > RUN_MS * 1e6 / 2:  # the task ends after its last wakeup
                excess[int(phase[1])] = max(excess[int(phase[1])], lasted / 1e6 - RUN_MS)
    bursts = expect(r"^/limited +(?:\S+ +){5}(\d+) ", run.console)
    return {"excess_ms": list(excess.values()), "throttled": list(throttled.values()), "bursts": [int(bursts[1])]}


def measure_kernel(run: Run) -> Figures:
    """For each phase: the latest end of a burst beyond its 80 ms, and by how much the group's counters grew."""
    parts = re.split(r"^(?:phase \d+|end)\r?$", run.console, flags=re.M)[1:]
    excess, throttled, bursts = [], [], []
    for part, following in zip(parts, parts[1:]):
        longest = max(float(us) for us in re.findall(r"response time(?: +\S+){4} +(\S+)", part))
        before, after = counters(part), counters(following)
        excess.append(longest / 1e3 - RUN_MS)
        throttled.append(after["nr_throttled"] - before["nr_throttled"])
        bursts.append(after["nr_bursts"] - before["nr_bursts"])
    return {"excess_ms": excess, "throttled": throttled, "bursts": bursts}


def expected(burst: int, phase: int) -> float:
    """
    A full pool lasts for a while with both running; what is left of a period then is the gap. Who starts early enough
    to use it up waits for the period's end. Who starts late has a second full pool, and waits for the third if that
    does not last either.
    """
    lasts = (QUOTA_MS + burst) / 2
    gap = PERIOD_MS - lasts
    if lasts >= RUN_MS:
        return 0
    if phase < gap:
        return gap - phase
    in_second_period = RUN_MS - (PERIOD_MS - phase)
    return gap if in_second_period > lasts else 0


def claims() -> list[Claim]:
    found = []
    for case in CASES:
        found.append(rule(f"burst {case} ms: off the expected, ms, at most", f"<= {WITHIN_MS}", ["cfs"],
                          lambda v: v <= WITHIN_MS,
                          lambda r, c=case: max(abs(got - expected(int(c), phase)) for phase, got in
                                                zip(PHASES, r["cfs"][c]["excess_ms"])), "{:.2f}"))
        found.append(rule(f"burst {case} ms: average use of a CPU", "0.8 +- 0.02", ["cfs"],
                          lambda v: abs(v - 0.8) <= 0.02, lambda r, c=case: r["cfs"][c]["use"], "{:.3f}", "0.80"))
    found.append(rule("burst 0: part of the phases throttled", "0.7 to 0.9", ["cfs"],
                      lambda v: 0.7 <= v <= 0.9,
                      lambda r: sum(n > 0 for n in r["cfs"]["0"]["throttled"]) / len(PHASES), "{:.2f}", "0.8"))
    for case in CASES[3:]:
        found.append(rule(f"burst {case} ms: times throttled", "0", ["cfs"], lambda v: v == 0,
                          lambda r, c=case: sum(r["cfs"][c]["throttled"]), "{:.0f}"))
        found.append(rule(f"burst {case} ms: periods that used savings", "> 0", ["cfs"], lambda v: v > 0,
                          lambda r, c=case: sum(r["cfs"][c]["bursts"]), "{:.0f}"))
    return found


def draw(figure: Any, results: dict[str, Results]) -> None:
    axes = figure.subplots()
    for nr, case in enumerate(CASES):
        for host, of_host in results.items():
            axes.plot(PHASES, of_host["cfs"][case]["excess_ms"], "o-" if host == KERNEL else "x--", color=f"C{nr}",
                      label=f"burst {case} ms, {host}")
        axes.plot(range(100), [expected(int(case), phase) for phase in range(100)], ":", color=f"C{nr}")
    axes.set_ylim(bottom=-1)
    axes.set_xlabel("phase: start of the bursts after the beginning of a period, ms")
    axes.set_ylabel("later than 80 ms by, ms (dotted: expected)")
    axes.legend(fontsize=8)
