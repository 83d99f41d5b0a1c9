# SPDX-License-Identifier: GPL-2.0-only
"""Does the simulator decide as the kernel does? The same workload on both, decision by decision.

A decision is a pick of the fair policy (docs/decisions.md): on this CPU, this task is next, by this rule. The kernel
runs under ICOUNT=1. The simulator is told only what it cannot know: when each task began, relative to the tick, and
what operations cost (calibrate.py). From then on it decides alone. The two
sequences of each CPU are then aligned with the fewest edits (optimal string alignment: insert, delete, replace, or
exchange two neighbours).

Two neighbours change places when a tie was decided the other way, because an instruction cost more or less than the
simulator assumes. Such an exchange is counted apart and is no disagreement. Every other edit is one:

    agreement = 1 - edits / decisions of the longer sequence

Beside each row stand the rules by which the kernel decided where the two differ, most frequent first.

The FLOORS are some five points below the least of ten runs, of one or two seconds each, that began at different parts
of a tick. A change that lowers the agreement fails.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from . import simulator
from .calibrate import calibrate
from .decisions import Decision as Record
from .decisions import read
from .image import TraceError, event_values
from .latency import latencies
from .machine import commit
from .record import RecordError, run_recorded
from .settings import SCHEDULERS, Settings, UsageError, make_settings
from .timeline import EVENTS
from .tracefile import TraceFile

TRACED = "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,decision:sched_decision_pick"
SECONDS = 2  # how long a run lasts; the tests use less
FEWEST_TURNS = 10  # a task with fewer turns is part of the machinery around the workload
TABLE = "{:<10} {:<9} {:>7} {:>10} {:>6} {:>6} {:>10} {:>8}  {:<4}  {}"


class Case(NamedTuple):
    """A workload: the command for the kernel's shell, and the periods of its sleepers.

    Periods are by role: a program's name and its nice value.
    """

    command: str
    periods_us: dict[str, int]


HOG: dict[str, Any] = {"loop": -1, "run": 1_000_000}
PERIODS_US = {"jitter+0a": 3000, "jitter+0b": 7300}


def sleeper(period_us: int) -> dict[str, Any]:
    return {"loop": -1, "run": 4, "timer": {"ref": "unique", "period": period_us}}


CASES = {
    "nices": Case("t={seconds}; hog -q -N 0,5,10 -a 1 -t ${{t}}s", {}),
    "two CPUs": Case("t={seconds}; hog -q -N 0,5 -a 0 -t ${{t}}s & hog -q -N -3,3,7 -a 1 -t ${{t}}s; wait", {}),
    "sleepers": Case("t={seconds}; hog -q -N 3,5 -a 1 -t ${{t}}s & jitter -i 3000 -l $((330 * t)) -S 1 -a 1 & "
                     "jitter -i 7300 -l $((135 * t)) -S 1 -a 1; wait", PERIODS_US),
}
FLOORS = {
    ("nices", "cfs"): 0.91, ("two CPUs", "cfs"): 0.90, ("sleepers", "cfs"): 0.81,
    ("nices", "fdl"): 0.91, ("two CPUs", "fdl"): 0.90, ("sleepers", "fdl"): 0.84,
    ("nices", "eevdf"): 0.89, ("two CPUs", "eevdf"): 0.89, ("sleepers", "eevdf"): 0.74,
    ("nices", "bore"): 0.70, ("two CPUs", "bore"): 0.65, ("sleepers", "bore"): 0.80,
    ("nices", "bore-cfs"): 0.88, ("two CPUs", "bore-cfs"): 0.89, ("sleepers", "bore-cfs"): 0.79,
}


class Decision(NamedTuple):
    """At this time, in ns, the task with this role is next, by this rule."""

    time: int
    role: str
    rule: str = ""


Decisions = dict[int, list[Decision]]  # of each CPU
Counts = dict[str, Any]


# --- what a trace says ----------------------------------------------------------------------------------------------


def roles_of(trace: TraceFile, programs: Collection[str]) -> dict[int, str]:
    """{pid: role} of the tasks of @programs that had many turns.

    Letters tell tasks of one role apart: `a` had the most turns. A hog is not woken any more once it runs. A task of
    that program that is woken in the second half waits for its children.
    """
    found = latencies(trace.events(EVENTS))
    nice, switches = {}, []
    for event in trace.events(["sched_switch"]):
        values = event_values(event)
        nice[values["next_pid"]] = values["next_prio"] - 120
        switches.append(event.time)
    half = (switches[0] + switches[-1]) // 2
    parents = {event_values(event)["pid"] for event in trace.events(["sched_wakeup"]) if event.time > half}
    by_role: dict[str, list[int]] = {}
    for pid, task in sorted(found.tasks.items(), key=lambda item: -int(item[1].switches)):
        waits = task.comm == "hog" and pid in parents
        if task.comm in programs and task.switches >= FEWEST_TURNS and not waits:
            by_role.setdefault(f"{task.comm}{nice[pid]:+d}", []).append(pid)
    return {pid: role if len(pids) == 1 else role + "abcdefgh"[nr]
            for role, pids in by_role.items() for nr, pid in enumerate(pids)}


def starts_of(trace: TraceFile, roles: dict[int, str], periods_us: Mapping[str, int]) -> dict[str, int]:
    """{role: ns}: when each task begins. A sleeper begins with its first period, a hog with its last wakeup."""
    woken: dict[str, list[int]] = {}
    for event in trace.events(["sched_wakeup"]):
        pid = event_values(event)["pid"]
        if pid in roles:
            woken.setdefault(roles[pid], []).append(event.time)
    starts = {}
    for role, times in woken.items():
        period_ns = 1000 * periods_us.get(role, 0)
        pairs = zip(times, times[1:]) if period_ns else [(times[-1], times[-1])]
        starts[role] = next(a for a, b in pairs if abs(b - a - period_ns) < 100_000)
    return starts


def decisions(path: str, role_of: Callable[[Record], str], cpus: list[int], start: int, end: int) -> Decisions:
    """{cpu: [Decision]} from @start to @end of the picks in the file @path.

    Tasks without a role are left out; so is the return from one of them, and a pick of the task that runs already.
    """
    found: Decisions = {cpu: [] for cpu in cpus}
    for pick in read(path):
        if pick.kind == "pick" and pick.cpu in found and start <= pick.time < end:
            role = role_of(pick)
            of_cpu = found[pick.cpu]
            if role and not (of_cpu and of_cpu[-1].role == role):
                of_cpu.append(Decision(pick.time, role, pick.rule))
    return found


# --- alignment -----------------------------------------------------------------------------------------------------


EDIT, EXCHANGE = 1000, 1  # what they cost: the alignment with exchanges is preferred


def is_exchange(a: Sequence[str], b: Sequence[str], i: int, j: int) -> bool:
    """Do @a up to @i and @b up to @j end in two different elements, the other way round?"""
    return i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1] and a[i - 1] != b[j - 1]


def alignment(a: Sequence[str], b: Sequence[str]) -> list[list[int]]:
    """The costs of optimal string alignments: [i][j] is that of @a up to @i and @b up to @j."""
    rows = [[EDIT * j for j in range(len(b) + 1)]]
    for i, x in enumerate(a, 1):
        row, above = [EDIT * i], rows[-1]
        for j, y in enumerate(b, 1):
            best = min(above[j - 1] + EDIT * (x != y), above[j] + EDIT, row[j - 1] + EDIT)
            if is_exchange(a, b, i, j):
                best = min(best, rows[-2][j - 2] + EXCHANGE)
            row.append(best)
        rows.append(row)
    return rows


def align(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """(edits, exchanges) of an optimal string alignment of the sequences @a and @b."""
    return divmod(alignment(a, b)[-1][-1], EDIT)


def edited(a: Sequence[str], b: Sequence[str]) -> tuple[int, int, list[int]]:
    """(edits, exchanges, for each edit the place in @a where it is) of an optimal alignment."""
    rows, i, j = alignment(a, b), len(a), len(b)
    places = []
    while i or j:
        if i and j and rows[i][j] == rows[i - 1][j - 1] + EDIT * (a[i - 1] != b[j - 1]):
            i, j, changed = i - 1, j - 1, a[i - 1] != b[j - 1]
        elif is_exchange(a, b, i, j) and rows[i][j] == rows[i - 2][j - 2] + EXCHANGE:
            i, j, changed = i - 2, j - 2, False
        else:
            left = bool(i) and rows[i][j] == rows[i - 1][j] + EDIT
            i, j, changed = i - left, j - (not left), True
        if changed:
            places.append(i)
    return *divmod(rows[-1][-1], EDIT), places


def compare(kernel: Decisions, simulated: Decisions) -> Counts:
    """Numbers of decisions, edits and exchanges, and the kernel's rules at the edits, added up over all CPUs."""
    edits = exchanges = longer = 0
    rules: Counter[str] = Counter()
    for cpu, of_cpu in kernel.items():
        a, b = [d.role for d in of_cpu], [d.role for d in simulated[cpu]]
        more_edits, more_exchanges, places = edited(a, b)
        edits, exchanges, longer = edits + more_edits, exchanges + more_exchanges, longer + max(len(a), len(b))
        rules.update(of_cpu[min(at, len(of_cpu) - 1)].rule for at in places if of_cpu)
    return {"kernel": sum(map(len, kernel.values())), "simulator": sum(map(len, simulated.values())),
            "edits": edits, "exchanges": exchanges, "agreement": 1 - edits / longer if longer else 0.0,
            "rules": rules}


# --- both runs -----------------------------------------------------------------------------------------------------


def workload(case: Case, starts: dict[str, int], cpus_of: dict[str, list[int]], tick_ns: int,
             seconds: int) -> dict[str, Any]:
    """The kernel's tasks as rt-app JSON. Each begins when its original did, counted from a tick before all of them."""
    base = min(starts.values()) // tick_ns * tick_ns
    tasks = {}
    for role in sorted(starts, key=lambda role: starts[role]):
        period_us = case.periods_us.get(role)
        what = sleeper(period_us) if period_us else HOG
        delay_us = (starts[role] - base + 500) // 1000
        tasks[role] = {"delay": delay_us, "cpus": cpus_of[role], "priority": nice_of(role), **what}
    return {"global": {"duration": seconds + 1}, "tasks": tasks}


def nice_of(role: str) -> int:
    return int(role.rstrip("abcdefgh").replace("+", " +").replace("-", " -").split()[-1])


def cpus_used(trace: TraceFile, roles: dict[int, str]) -> dict[str, list[int]]:
    """{role: CPUs on which it ran}. A pinned task has one."""
    used: dict[str, list[int]] = {}
    for event in trace.events(["sched_switch"]):
        values = event_values(event)
        if values["next_pid"] in roles:
            used.setdefault(roles[values["next_pid"]], []).append(event.cpu)
    return {role: sorted(set(cpus[len(cpus) // 4:])) for role, cpus in used.items()}


def simulated_role(pick: Record) -> str:
    base, dash, number = pick.comm.rpartition("-")
    return base if dash and number.isdigit() and base else ""


def agree(settings: Settings, name: str, costs: Mapping[str, int], directory: str, seconds: int = SECONDS) -> Counts:
    """Run case @name on both hosts for @seconds, and return the counts of compare()."""
    case = CASES[name]
    stem = os.path.join(directory, f"{settings.sched}-{name.replace(' ', '-')}")
    run_recorded(settings, case.command.format(seconds=seconds), f"{stem}-kernel.dat", TRACED)
    kernel = TraceFile(f"{stem}-kernel.dat")
    roles = roles_of(kernel, ("hog", "jitter"))
    starts = starts_of(kernel, roles, case.periods_us)
    tick_ns = 1_000_000_000 // settings.hz
    with open(f"{stem}.json", "w", encoding="utf-8") as f:
        json.dump(workload(case, starts, cpus_used(kernel, roles), tick_ns, seconds), f, indent=1)
    simulator.run(settings, f"{stem}.json", None, costs, ("--decisions", f"{stem}-simulator.dat"))
    twin = TraceFile(f"{stem}-simulator.dat")
    base = min(starts.values()) // tick_ns * tick_ns
    begin, length = max(starts.values()) - base, int(seconds * 0.9e9)
    origin = next(iter(twin.events())).time
    cpus = sorted({cpu for used in cpus_used(kernel, roles).values() for cpu in used})
    ours = decisions(f"{stem}-kernel.dat", lambda pick: roles.get(pick.pid, ""), cpus, base + begin,
                     base + begin + length)
    theirs = decisions(f"{stem}-simulator.dat", simulated_role, cpus, origin + begin, origin + begin + length)
    return compare(ours, theirs)


def settings_for(sched: str, build: str, seed: str = "1") -> Settings:
    return replace(make_settings({"sched": sched, "smp": "2", "hz": "250", "icount": "1", "kvm": "0", "seed": seed}),
                   build=build)


def row(name: str, sched: str, counts: Counts) -> tuple[str, bool]:
    floor = FLOORS.get((name, sched), 0.0)
    good = counts["agreement"] >= floor
    return TABLE.format(name, sched, counts["kernel"], counts["simulator"], counts["edits"], counts["exchanges"],
                        f"{100 * counts['agreement']:.1f} %", f"{100 * floor:.1f} %", "PASS" if good else "FAIL",
                        ", ".join(f"{rule} {nr}" for rule, nr in counts["rules"].most_common(3))), good


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scheds", default=",".join(SCHEDULERS), help="default: all")
    parser.add_argument("--cases", default=",".join(CASES), help="default: all")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """compare the kernel's decisions with the simulator's, workload by workload, scheduler by scheduler"""
    scheds, cases = arguments.scheds.split(","), arguments.cases.split(",")
    for what, names, known in (("scheduler", scheds, SCHEDULERS), ("case", cases, CASES)):
        for name in names:
            if name not in known:
                raise UsageError(f"{name}: there is no such {what}, only {', '.join(known)}")
    directory = os.path.join(settings.build, "agreement")
    os.makedirs(directory, exist_ok=True)
    chosen = f" SCHEDS={arguments.scheds}" if tuple(scheds) != tuple(SCHEDULERS) else ""
    print(f"Fairground {commit()}: HZ=250 SMP=2 SEED={settings.seed} ICOUNT=1; Again: "
          f"{settings.repeat('agreement')}{chosen}")
    all_good = True
    try:
        for sched in scheds:
            how = settings_for(sched, settings.build, str(settings.seed))
            costs = calibrate(how, TRACED)
            print(f"{sched}: costs of the kernel, ns: " + ", ".join(f"{name} {ns}" for name, ns in costs.items()))
            for name in cases:
                text, good = row(name, sched, agree(how, name, costs, directory))
                if sched == scheds[0] and name == cases[0]:
                    print(TABLE.format("workload", "scheduler", "kernel", "simulator", "edits", "ties", "agreement",
                                       "at least", "", "edits by rule"))
                print(text, flush=True)
                all_good = all_good and good
    except (RecordError, TraceError) as error:
        print(f"fairground: agreement: {error}", file=sys.stderr)
        return 1
    return int(not all_good)
