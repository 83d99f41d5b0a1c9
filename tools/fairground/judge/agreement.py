# SPDX-License-Identifier: GPL-2.0-only
"""Does the simulator decide as the kernel does? The same workload on both, decision by decision.

Decisions of all kinds are compared (docs/decisions.md), each kind by itself: on this CPU, about this task, with this
answer, by this rule. Of a pick the task counts; by which rule it was picked may depend on who else is about. The kernel
runs under ICOUNT=1. The simulator is told only what it cannot know: when each task began, relative to the tick, and
what operations cost (calibrate.py). From then on it decides alone. The two sequences of each CPU are then aligned with
the fewest edits (optimal string alignment: insert, delete, replace, or exchange two neighbours).

Where both hosts decided at one time, with the same tasks in the same states, the numbers are compared too
(agreement_numbers.py): no such number may differ. A row says how many decisions were compared, and names the rule and
the number of each difference.

Two neighbours change places when a tie was decided the other way, because an instruction cost more or less than the
simulator assumes. Such an exchange is counted apart and is no disagreement. Every other edit is one:

    agreement = 1 - edits / decisions of the longer sequence

Beside each row stand the rules by which the two decided where they differ, the kernel's first, most frequent first.
With --show, and where the agreement is too low, the first disagreement follows, with both queues side by side.

The FLOORS of picks are some five points below the least of ten runs, of one or two seconds each, that began at
different parts of a tick; OTHER_FLOORS are some ten points below the least of all workloads. A change that lowers the
agreement fails.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .. import result
from ..base.settings import SCHEDULERS, Settings, UsageError, make_settings
from ..decisions.decision_diff import side
from ..decisions.decision_kinds import KINDS, Record, family, read
from ..decisions.decision_text import side_by_side
from ..machine import simulator
from ..machine.image import TraceError, event_values
from ..machine.machine import commit
from ..trace.latency import latencies
from ..trace.record import RecordError, run_recorded
from ..trace.timeline import EVENTS
from ..trace.tracefile import TraceFile
from ..words import Command
from .agreement_numbers import Compared, Host, Seen, compare_numbers, time_bound
from .calibrate import calibrate

COMMAND = Command("agreement", machine=True, built="image sim", examples=(
    ("--scheds cfs,eevdf --show", "with the first disagreement of each row"),
))

TRACED = "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,decision:*"
SECONDS = 2  # how long a run lasts; the tests use less
FEWEST_TURNS = 10  # a task with fewer turns is part of the machinery around the workload
FEWEST_DECISIONS = 40  # of a kind; with fewer the agreement means nothing
TABLE = "{:<10} {:<9} {:<8} {:>7} {:>10} {:>6} {:>6} {:>10} {:>8} {:>7}  {:<4}  {}"


class Case(NamedTuple):
    """A workload: the command for the kernel's shell, the periods of its sleepers, and who is a real-time task.

    Periods are by role: a program's name and its nice value, which below -20 stands for a real-time priority.
    """

    command: str
    periods_us: dict[str, int]
    real_time: dict[str, str] = {}  # the policy of each such program
    free: tuple[str, ...] = ()      # programs whose tasks may run on any CPU
    scheds: tuple[str, ...] = ()    # with which it runs; (): with all
    tunables: dict[str, int] = {}   # of both hosts


HOG: dict[str, Any] = {"loop": -1, "run": 1_000_000}
PERIODS_US = {"jitter+0a": 3000, "jitter+0b": 7300}


def sleeper(period_us: int) -> dict[str, Any]:
    return {"loop": -1, "run": 4, "timer": {"ref": "unique", "period": period_us}}


# The hosts begin the period of throttling at different times.
NO_THROTTLING = {"sched_rt_runtime_us": -1}
CASES = {
    "nices": Case("t={seconds}; hog -q -N 0,5,10 -a 1 -t ${{t}}s", {}),
    "two CPUs": Case("t={seconds}; hog -q -N 0,5 -a 0 -t ${{t}}s & hog -q -N -3,3,7 -a 1 -t ${{t}}s; wait", {}),
    "sleepers": Case("t={seconds}; hog -q -N 3,5 -a 1 -t ${{t}}s & jitter -i 3000 -l $((330 * t)) -S 1 -a 1 & "
                     "jitter -i 7300 -l $((135 * t)) -S 1 -a 1; wait", PERIODS_US),
    "anywhere": Case("t={seconds}; hog -q -N 3,5 -a 1 -t ${{t}}s & jitter -i 3000 -l $((330 * t)) -S 1 & "
                     "jitter -i 7300 -l $((135 * t)) -S 1; wait", PERIODS_US, free=("jitter",), scheds=("cfs",)),
    "real time": Case("t={seconds}; chrt -r 30 hog -q -n 2 -a 1 -t ${{t}}s & "
                      "jitter -p 80 -i 3000 -l $((330 * t)) -S 1 -a 1 & "
                      "jitter -p 70 -i 7300 -l $((135 * t)) -S 1 -a 1; wait", {"jitter-101": 3000, "jitter-91": 7300},
                      {"hog": "SCHED_RR", "jitter": "SCHED_FIFO"}, scheds=("cfs",), tunables=NO_THROTTLING),
    "pushed": Case("t={seconds}; chrt -r 30 hog -q -t ${{t}}s & jitter -p 80 -i 3000 -l $((330 * t)) -S 1 -a 1 & "
                   "jitter -p 70 -i 7300 -l $((135 * t)) -S 1 -a 0; wait", {"jitter-101": 3000, "jitter-91": 7300},
                   {"hog": "SCHED_RR", "jitter": "SCHED_FIFO"}, ("hog",), scheds=("cfs",)),
}
FLOORS = {
    ("nices", "cfs"): 0.91, ("two CPUs", "cfs"): 0.90, ("sleepers", "cfs"): 0.81,
    ("nices", "fdl"): 0.91, ("two CPUs", "fdl"): 0.90, ("sleepers", "fdl"): 0.84,
    ("nices", "eevdf"): 0.89, ("two CPUs", "eevdf"): 0.89, ("sleepers", "eevdf"): 0.74,
    ("nices", "bore"): 0.70, ("two CPUs", "bore"): 0.65, ("sleepers", "bore"): 0.80,
    ("nices", "bore-cfs"): 0.88, ("two CPUs", "bore-cfs"): 0.89, ("sleepers", "bore-cfs"): 0.79,
    ("anywhere", "cfs"): 0.90, ("real time", "cfs"): 0.85, ("pushed", "cfs"): 0.90,
}


# Of kinds other than picks, over all workloads.
OTHER_FLOORS = {
    "cfs": {"preempt": 0.90, "tick": 0.50, "place": 0.95, "charge": 0.75, "leave": 0.95, "balance": 0.80,
            "select": 0.90, "enter": 0.90, "push": 0.90},
    "fdl": {"preempt": 0.90, "tick": 0.50, "place": 0.95, "charge": 0.75, "leave": 0.95, "balance": 0.80},
    "eevdf": {"preempt": 0.60, "tick": 0.50, "place": 0.95, "charge": 0.48, "leave": 0.92, "balance": 0.80},
    "bore": {"preempt": 0.75, "tick": 0.48, "place": 0.95, "charge": 0.50, "leave": 0.95, "balance": 0.80},
    "bore-cfs": {"preempt": 0.90, "tick": 0.48, "place": 0.95, "charge": 0.68, "leave": 0.95, "balance": 0.80},
}


def cases_of(sched: str) -> list[str]:
    return [name for name, case in CASES.items() if sched in (case.scheds or (sched,))]


class Decision(NamedTuple):
    """At this time, in ns, it is decided about the task with this role, by this rule."""

    time: int
    role: str
    rule: str = ""
    answer: tuple[Any, ...] = ()
    record: Record | None = None
    nr: int = 0      # of the record, in its file
    others: int = 0  # decisions about its CPU so far that are about tasks without a role

    @property
    def token(self) -> str:
        """What must be the same on both hosts."""
        return f"{self.role} {self.answer} {self.rule}" if self.answer else self.role


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


def decisions(path: str, role_of: Callable[[Record], str], cpus: list[int], start: int,
              end: int) -> dict[str, Decisions]:
    """{kind: {cpu: [Decision]}} from @start to @end of the file @path.

    Tasks without a role are left out; so is the return from one of them, and a pick of the task that runs already.
    """
    found: dict[str, Decisions] = {kind: {cpu: [] for cpu in cpus} for kind in KINDS}
    others = dict.fromkeys(cpus, 0)
    for nr, d in enumerate(read(path)):
        if d.cpu not in cpus or not start <= d.time < end:
            continue
        role, of_cpu = role_of(d) if d.pid else "nobody" if d.kind == "balance" else "", found[d.kind][d.cpu]
        others[d.cpu] += not role
        is_pick = d.kind == "pick" and not d.group
        if role and not (is_pick and of_cpu and of_cpu[-1].role == role):
            of_cpu.append(Decision(d.time, role, d.rule, () if is_pick else family(d).verdict(d), d, nr,
                                   others[d.cpu]))
    return found


# --- alignment -----------------------------------------------------------------------------------------------------


EDIT, EXCHANGE = 1000, 1  # what they cost: the alignment with exchanges is preferred
FAR = 1 << 60             # outside the band


def is_exchange(a: Sequence[str], b: Sequence[str], i: int, j: int) -> bool:
    """Do @a up to @i and @b up to @j end in two different elements, the other way round?"""
    return i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1] and a[i - 1] != b[j - 1]


def alignment(a: Sequence[str], b: Sequence[str], band: int) -> list[dict[int, int]]:
    """The costs of optimal string alignments: [i][j] is that of @a up to @i and @b up to @j.

    Only those with |i - j| <= @band: an alignment with at most so many edits needs no others.
    """
    rows = [{j: EDIT * j for j in range(min(len(b), band) + 1)}]
    for i, x in enumerate(a, 1):
        above, row, first = rows[-1], dict[int, int](), max(i - band, 0)
        before, corner, left = a[i - 2] if i > 1 else None, above.get(first - 1, FAR), FAR
        for j in range(first, min(i + band, len(b)) + 1):  # most of an agreement's time: no calls but one
            up = above.get(j, FAR)
            best = (up if up < left else left) + EDIT
            if j and x == b[j - 1]:
                best = corner if corner < best else best
            elif j:
                best = corner + EDIT if corner + EDIT < best else best
                if before == b[j - 1] and is_exchange(a, b, i, j):
                    best = min(best, rows[-2].get(j - 2, FAR) + EXCHANGE)
            row[j] = left = best
            corner = up
        rows.append(row)
    return rows


def best_alignment(a: Sequence[str], b: Sequence[str]) -> list[dict[int, int]]:
    """An alignment in a band that is wide enough."""
    band = abs(len(a) - len(b)) + 16
    while True:
        rows = alignment(a, b, band)
        if rows[-1][len(b)] < EDIT * (band + 1) or band > max(len(a), len(b)):
            return rows
        band *= 4


def align(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """(edits, exchanges) of an optimal string alignment of the sequences @a and @b."""
    return divmod(best_alignment(a, b)[-1][len(b)], EDIT)


def edited(a: Sequence[str], b: Sequence[str]) -> tuple[int, int, list[tuple[int, int]]]:
    """(edits, exchanges, for each edit the places in @a and @b where it is, the last first) of an optimal alignment."""
    rows, i, j = best_alignment(a, b), len(a), len(b)
    places = []
    while i or j:
        cost = rows[i][j]
        if i and j and cost == rows[i - 1].get(j - 1, FAR) + EDIT * (a[i - 1] != b[j - 1]):
            i, j, changed = i - 1, j - 1, a[i - 1] != b[j - 1]
        elif is_exchange(a, b, i, j) and cost == rows[i - 2].get(j - 2, FAR) + EXCHANGE:
            i, j, changed = i - 2, j - 2, False
        else:
            left = bool(i) and cost == rows[i - 1].get(j, FAR) + EDIT
            i, j, changed = i - left, j - (not left), True
        if changed:
            places.append((i, j))
    return *divmod(rows[-1][len(b)], EDIT), places


def at(of_cpu: list[Decision], place: int) -> Decision | None:
    return of_cpu[place] if place < len(of_cpu) else None


def compare(kernel: Decisions, simulated: Decisions) -> Counts:
    """Numbers of decisions, edits and exchanges, and the rules of both at the edits, added up over all CPUs; the first
    disagreement, which is (kernel's decision, simulator's), either of them None at the end of its sequence."""
    edits = exchanges = longer = 0
    rules: Counter[str] = Counter()
    first: list[tuple[int, Decision | None, Decision | None]] = []
    for cpu, of_cpu in kernel.items():
        a, b = [d.token for d in of_cpu], [d.token for d in simulated[cpu]]
        more_edits, more_exchanges, places = edited(a, b)
        edits, exchanges, longer = edits + more_edits, exchanges + more_exchanges, longer + max(len(a), len(b))
        pairs = [(at(of_cpu, i), at(simulated[cpu], j)) for i, j in places]
        rules.update("/".join(dict.fromkeys(d.rule for d in pair if d)) for pair in pairs)
        if pairs:
            first.append((next((d.time for d in pairs[-1] if d), 0), *pairs[-1]))
    return {"kernel": sum(map(len, kernel.values())), "simulator": sum(map(len, simulated.values())),
            "edits": edits, "exchanges": exchanges, "agreement": 1 - edits / longer if longer else 0.0,
            "rules": rules, "first": min(first, key=lambda found: found[0])[1:] if first else None}


def disagreement(counts: Counts) -> list[str]:
    """The first disagreement as lines: both decisions with their rules, and both queues side by side."""
    if not counts["first"]:
        return []
    ours, theirs = (d.record if d else None for d in counts["first"])
    return ["", "the first disagreement:", *side_by_side(side("kernel", ours), side("simulator", theirs)), ""]


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
        where: dict[str, Any] = {} if role.startswith(case.free) else {"cpus": cpus_of[role]}
        tasks[role] = {"delay": delay_us, **where, **urgency(case, role), **what}
    return {"global": {"duration": seconds + 1}, "tasks": tasks}


def urgency(case: Case, role: str) -> dict[str, Any]:
    """The keys of rt-app that say how urgent @role is."""
    nice = nice_of(role)
    if nice >= -20:
        return {"priority": nice}
    return {"policy": case.real_time[role.partition("-")[0]], "priority": 99 - (nice + 120)}


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


def simulated_role(d: Record) -> str:
    base, dash, number = d.comm.rpartition("-")
    return base if dash and number.isdigit() and base else ""


def seen(of_cpu: list[Decision], origin: int) -> list[Seen]:
    return [Seen(d.nr, d.record, d.token, d.time - origin, d.others) for d in of_cpu if d.record]


class Run(NamedTuple):
    """What one host decided, who its tasks are, and the time of the tick from which both count."""

    decisions: dict[str, Decisions]
    role_of: Callable[[Any], str]
    origin: int

    def host(self, cpu: int) -> Host:
        charges, places = (seen(self.decisions[kind][cpu], self.origin) for kind in ("charge", "place"))
        return Host(self.role_of, charges, places)


def numbers(kind: str, ours: Run, theirs: Run, hosts: dict[int, tuple[Host, Host]], bound: int) -> Compared:
    """The numbers of decisions of @kind that both made at one time, over all CPUs. @hosts: of each CPU, both."""
    total = Compared(0, 0, Counter())
    for cpu in ours.decisions[kind]:
        one, two = (seen(run.decisions[kind][cpu], run.origin) for run in (ours, theirs))
        total = total.plus(compare_numbers(one, two, hosts[cpu], bound))
    return total


def agree(settings: Settings, name: str, costs: Mapping[str, int], directory: str,
          seconds: int = SECONDS) -> dict[str, Counts]:
    """Run case @name on both hosts for @seconds. Returns the counts of compare() for each kind of decision of which
    there are enough, and those of numbers() under "numbers"."""
    case = CASES[name]
    stem = os.path.join(directory, f"{settings.sched}-{name.replace(' ', '-')}")
    prepare = "".join(f"echo {value} > /proc/sys/kernel/{key}; " for key, value in case.tunables.items())
    run_recorded(settings, prepare + case.command.format(seconds=seconds), f"{stem}-kernel.dat", TRACED)
    kernel = TraceFile(f"{stem}-kernel.dat")
    roles = roles_of(kernel, ("hog", "jitter"))
    used = cpus_used(kernel, roles)
    starts = starts_of(kernel, roles, case.periods_us)
    tick_ns = 1_000_000_000 // settings.hz
    with open(f"{stem}.json", "w", encoding="utf-8") as f:
        json.dump(workload(case, starts, used, tick_ns, seconds), f, indent=1)
    words = [word for key, value in case.tunables.items() for word in ("--set", f"{key}={value}")]
    simulator.run(settings, f"{stem}.json", None, costs, ("--decisions", f"{stem}-simulator.dat", *words))
    twin = TraceFile(f"{stem}-simulator.dat")
    base = min(starts.values()) // tick_ns * tick_ns
    begin, length = max(starts.values()) - base, int(seconds * 0.9e9)
    cpus = sorted({cpu for cpus in used.values() for cpu in cpus})

    def run(host: str, role_of: Callable[[Any], str], origin: int) -> Run:
        start = origin + begin
        return Run(decisions(f"{stem}-{host}.dat", role_of, cpus, start, start + length), role_of, origin)
    ours = run("kernel", lambda d: roles.get(d.pid, ""), base)
    theirs = run("simulator", simulated_role, next(iter(twin.events())).time)
    hosts = {cpu: (ours.host(cpu), theirs.host(cpu)) for cpu in cpus}
    counts: dict[str, Counts] = {}
    for kind in KINDS:
        count = compare(ours.decisions[kind], theirs.decisions[kind])
        if kind == "pick" or max(count["kernel"], count["simulator"]) >= FEWEST_DECISIONS:
            counts[kind] = {**count, "numbers": numbers(kind, ours, theirs, hosts, time_bound(costs))}
    return counts


def settings_for(sched: str, build: str, seed: str = "1") -> Settings:
    return replace(make_settings({"sched": sched, "smp": "2", "hz": "250", "icount": "1", "kvm": "0", "seed": seed}),
                   build=build)


def floor_of(name: str, sched: str, kind: str) -> float:
    """0 for a policy that nobody has measured."""
    return FLOORS.get((name, sched), 0.0) if kind == "pick" else OTHER_FLOORS.get(sched, {}).get(kind, 0.0)


def row(name: str, sched: str, kind: str, counts: Counts) -> tuple[str, bool]:
    floor = floor_of(name, sched, kind)
    compared, wrong, fields = counts["numbers"]
    good = counts["agreement"] >= floor and not wrong
    worst = ", ".join(f"{field} {nr}" for field, nr in fields.most_common(3))
    why = [f"numbers differ in {wrong}: {worst}"] if wrong else []
    why += [f"{rule} {nr}" for rule, nr in counts["rules"].most_common(3)]
    return TABLE.format(name, sched, kind, counts["kernel"], counts["simulator"], counts["edits"], counts["exchanges"],
                        f"{100 * counts['agreement']:.1f} %", f"{100 * floor:.1f} %", compared,
                        "PASS" if good else "FAIL", ", ".join(why)), good


def as_json(name: str, sched: str, kind: str, counts: Counts, good: bool) -> dict[str, Any]:
    """The same row for programs."""
    compared, wrong, fields = counts["numbers"]
    return {"workload": name, "sched": sched, "kind": kind, "kernel": counts["kernel"],
            "simulator": counts["simulator"], "edits": counts["edits"], "exchanges": counts["exchanges"],
            "agreement": counts["agreement"], "floor": floor_of(name, sched, kind), "numbers": compared,
            "numbers_that_differ": wrong, "fields": dict(fields), "rules": dict(counts["rules"]), "pass": good}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--scheds", default=",".join(SCHEDULERS), help="default: all")
    parser.add_argument("--cases", default=",".join(CASES), help="default: all")
    parser.add_argument("--show", action="store_true", help="the first disagreement of each row, with both queues")


def main(settings: Settings, arguments: argparse.Namespace) -> int:
    """compare the kernel's decisions with the simulator's, workload by workload, scheduler by scheduler"""
    scheds, cases = arguments.scheds.split(","), arguments.cases.split(",")
    for what, names, known in (("scheduler", scheds, SCHEDULERS), ("case", cases, CASES)):
        for name in names:
            if name not in known:
                raise UsageError(f"{name}: there is no such {what}, only {', '.join(known)}")
    directory = os.path.join(settings.build, "agreement")
    os.makedirs(directory, exist_ok=True)
    chosen = f"--scheds {arguments.scheds}" if tuple(scheds) != tuple(SCHEDULERS) else ""
    print(f"Fairground {commit()}: HZ=250 SMP=2 SEED={settings.seed} ICOUNT=1; Again: "
          f"{settings.repeat('agreement', args=chosen)}")
    found: list[dict[str, Any]] = []
    try:
        for sched in scheds:
            how = settings_for(sched, settings.build, str(settings.seed))
            costs = calibrate(how, TRACED)
            print(f"{sched}: costs of the kernel, ns: " + ", ".join(f"{name} {ns}" for name, ns in costs.items()))
            for name in [name for name in cases_of(sched) if name in cases]:
                if sched == scheds[0] and name == cases[0]:
                    print(TABLE.format("workload", "scheduler", "kind", "kernel", "simulator", "edits", "ties",
                                       "agreement", "at least", "numbers", "", "edits by rule"))
                for kind, counts in agree(how, name, costs, directory).items():
                    text, good = row(name, sched, kind, counts)
                    print("\n".join([text, *(disagreement(counts) if arguments.show or not good else ())]), flush=True)
                    found.append(as_json(name, sched, kind, counts, good))
    except (RecordError, TraceError) as error:
        print(f"fairground: agreement: {error}", file=sys.stderr)
        return 1
    head = result.of_settings(settings, sched=",".join(scheds), hz=250, topology="2")
    result.tell([], head, found)
    return int(not all(row["pass"] for row in found))
