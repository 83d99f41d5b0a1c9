#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge the balancing passes of a run: is each what the rules of Linux 6.1 give, by brute force?

Each step is made again from a record alone (sched_decision_balance and its rows): which CPU balances for its part; the
sums and the state of each part from its CPUs; the busiest part; whether tasks should move; how much; the busiest
runqueue; what becomes of each task, and where the scan ends; the outcome; the failures, the interval and the hint to
the level above that remain. Nothing of sched/ is used.

A step is right, wrong, or not judged. Not judged: rows are missing, or what a rule asks for is in no record: affinity
to CPUs other than the destination, tasks that came at the last moment, features of a run that changed meanwhile.
One rule is not Linux's: a CPU that idles takes cache-hot tasks at once (docs/balancing.md).

Usage: judge_balance.py FILE...    status 1: a step is wrong; 2: not all could be judged
"""

import sys
from collections.abc import Iterator
from fractions import Fraction

import judging
from judging import NOT_JUDGED, RIGHT, Finding, Run, Verdict

from fairground.decisions.balancing import BalanceFlag, Domain, Part, PartFlag, Pass, Runqueue, Task, TaskFlag
from fairground.decisions.class_decisions import ClassDecision
from fairground.decisions.fair_decisions import Decision

CAPACITY = 1024                # of a whole CPU
PINNED_INTERVAL_MS = 512       # up to this the interval doubles while everything is pinned
STATES = ("has_spare", "fully_busy", "misfit", "imbalanced", "overloaded")


def same(what: str, found: object, right: object) -> Verdict:
    return RIGHT if found == right else f"{what} {found}; right is {right}"


# --- parts ----------------------------------------------------------------------------------------------------------


def is_reduced(rq: Runqueue, pct: int) -> bool:
    """Real-time and deadline tasks take more of a CPU than the margin covers."""
    return Fraction(rq.full, rq.capacity) > Fraction(pct, 100)


def is_faster(capacity: int, other: int) -> bool:
    """Clearly: by 54 of 1024."""
    return Fraction(capacity, other) > Fraction(1078, 1024)


def misfit_of(cpus: list[Runqueue], p: Pass) -> int:
    """The greatest load of a task whose CPU is too slow; where all are equal, and the CPU that balances has more to
    offer than what the task has: of one alone on a reduced CPU. 0: there is none."""
    if p.domain & Domain.ASYM_CPUCAPACITY:
        return max((c.misfit for c in cpus), default=0)
    if p.idleness == "busy":
        return 0
    return max((c.load for c in cpus if c.nr_fair == 1 and is_reduced(c, p.imbalance_pct)), default=0)


def state_of(cpus: list[Runqueue], pct: int, hindered: bool, misfit: int) -> str:
    """What a part with these CPUs is like: the table of groups."""
    tasks, size = sum(c.nr_running for c in cpus), len(cpus)
    if not cpus:
        return "imbalanced" if hindered else "fully_busy"  # none of them takes part: no capacity to spare
    capacity = sum(c.capacity for c in cpus)
    used = Fraction(sum(c.util for c in cpus), capacity)
    wanted = Fraction(sum(c.runnable for c in cpus), capacity)
    margin = Fraction(pct, 100)
    if tasks > size and (used * margin > 1 or wanted > margin):
        return "overloaded"
    if hindered:
        return "imbalanced"
    if misfit:
        return "misfit"
    return "has_spare" if tasks < size or (wanted <= margin and used * margin < 1) else "fully_busy"


def mean_load(load: int, capacity: int) -> int:
    return load * CAPACITY // capacity if capacity else 0


def part_of(number: int, cpus: list[Runqueue], p: Pass, hindered: bool, size: int) -> Part:
    """The part that these CPUs make."""
    load, capacity = sum(c.load for c in cpus), sum(c.capacity for c in cpus)
    misfit = misfit_of(cpus, p) if number != p.local else 0
    state = state_of(cpus, p.imbalance_pct, hindered, misfit)
    return Part(part=number, state=state, size=size, weight=len(cpus), nr_running=sum(c.nr_running for c in cpus),
                flags=(number == p.local) * PartFlag.LOCAL | hindered * PartFlag.HINDERED,
                nr_fair=sum(c.nr_fair for c in cpus), idle_cpus=sum(c.idle for c in cpus), load=load,
                util=sum(c.util for c in cpus), runnable=sum(c.runnable for c in cpus), capacity=capacity,
                avg_load=mean_load(load, capacity) if state == "overloaded" else 0, misfit=misfit)


def can_lose(part: Part, local: Part, cpus: list[Runqueue], here: int) -> bool:
    """To a CPU of capacity @here where CPUs differ, from a part with these @cpus: no task of a part that is full, or
    has room, to one that is clearly slower than the slowest of them."""
    if part.state == "misfit":
        return local.state == "has_spare" and all(is_faster(here, c.capacity) for c in cpus)
    return part.state not in ("has_spare", "fully_busy") or any(not is_faster(c.capacity, here) for c in cpus)


def busiest_of(parts: list[Part]) -> Part | None:
    """Of equals the first."""
    def order(part: Part) -> tuple[int, int, int]:
        rank = STATES.index(part.state)
        if part.state == "overloaded":
            return rank, part.avg_load, 0
        if part.state == "misfit":
            return rank, part.misfit, 0
        return (rank, -part.idle_cpus, part.nr_running) if part.state == "has_spare" else (rank, 0, 0)

    with_tasks = [part for part in parts if part.nr_fair]
    return max(with_tasks, key=order) if with_tasks else None


# --- should tasks move, and how much? ---------------------------------------------------------------------------------


def spreads(p: Pass, local: Part) -> bool:
    """Its CPUs are a domain of their own, and that prefers siblings: all levels below a memory node do."""
    return local.size > 1 and not p.domain & Domain.ASYM_CPUCAPACITY


def by_idle_counts(p: Pass, local: Part, busiest: Part) -> str:
    if p.idleness == "busy":
        return "cpu_busy"
    if busiest.weight > 1 and local.idle_cpus <= busiest.idle_cpus + 1:
        return "hardly_idler"
    return "only_task" if busiest.nr_fair == 1 else "idler_here"


def rule_of(p: Pass, parts: list[Part], local: Part, busiest: Part | None) -> str:
    """The decision table: state of the busiest part against that of the local one."""
    if not busiest:
        return "no_other_tasks"
    if busiest.state == "misfit":
        return "misfit"
    if busiest.state == "imbalanced":
        return "hindered_within"
    if STATES.index(local.state) > STATES.index(busiest.state):
        return "worse_here"
    if local.state == "overloaded":
        everywhere = Fraction(sum(part.load for part in parts) * CAPACITY, sum(part.capacity for part in parts))
        differ = (local.avg_load < busiest.avg_load and local.avg_load < everywhere
                  and 100 * busiest.avg_load > p.imbalance_pct * local.avg_load)
        return "loads_differ" if differ else "loads_alike"
    if spreads(p, local) and local.state == "has_spare" and busiest.nr_running > local.nr_running + 1:
        return "spreads"
    return "waits_there" if busiest.state == "overloaded" else by_idle_counts(p, local, busiest)


def has_room(measured: list[Runqueue]) -> Verdict:
    """While balancing rests for EAS each CPU has a fifth to spare, or a clamp by which that is enough."""
    return RIGHT if all(5 * rq.util < 4 * rq.capacity for rq in measured) else NOT_JUDGED


# The rules by which tasks should move.
MOVES = {"misfit", "hindered_within", "loads_differ", "spreads", "waits_there", "idler_here"}


def spare_amount(p: Pass, local: Part, busiest: Part) -> tuple[str, int]:
    """The local part has room."""
    if busiest.state == "overloaded" and not p.domain & Domain.SHARE_LLC:
        room = max(local.capacity - local.util, 0)
        return ("util", room) if room or p.idleness == "busy" else ("tasks", 1)
    if busiest.weight == 1 or spreads(p, local):
        tasks = max(busiest.nr_running - local.nr_running, 0)
    else:
        tasks = max(local.idle_cpus - busiest.idle_cpus, 0)
    if p.domain & Domain.NUMA and tasks <= 2 and local.nr_running + 1 <= p.imb_numa_nr:
        tasks = 0
    return "tasks", tasks // 2


def amount_of(p: Pass, parts: list[Part], local: Part, busiest: Part) -> tuple[str, int]:
    if busiest.state == "misfit":
        return ("misfit", 1) if p.domain & Domain.ASYM_CPUCAPACITY else ("load", busiest.misfit)
    if busiest.state == "imbalanced":
        return "tasks", 1
    if local.state == "has_spare":
        return spare_amount(p, local, busiest)
    here = mean_load(local.load, local.capacity)
    everywhere = mean_load(sum(part.load for part in parts), sum(part.capacity for part in parts))
    above, below = busiest.avg_load - everywhere, everywhere - here
    if here >= busiest.avg_load or below <= 0:
        return "load", 0
    lack = below * local.capacity
    return "load", (min(above * busiest.capacity, lack) if above >= 0 else lack) // CAPACITY


def source_of(p: Pass, rows: list[Runqueue], amount: str, imbalance: int, here: int) -> int:
    """The CPU with the most of it. Of equals the first; -1: none has anything."""
    def has(rq: Runqueue) -> Fraction:
        if p.domain & Domain.ASYM_CPUCAPACITY and rq.nr_fair == 1 and not is_faster(here, rq.capacity):
            return Fraction(0)  # it would be pushed to a CPU that is no faster
        if amount == "misfit":
            return Fraction(rq.misfit if rq.nr_fair else 0)
        if amount == "tasks":
            return Fraction(rq.nr_fair)
        if amount == "util":
            return Fraction(rq.util if rq.nr_fair > 1 else 0)
        # Moving the only task would move the imbalance, unless it would have more of a CPU elsewhere.
        too_much = rq.nr_fair == 1 and rq.load > imbalance and not is_reduced(rq, p.imbalance_pct)
        return Fraction(0 if not rq.nr_fair or too_much else rq.load, rq.capacity)

    best = max(rows, key=has, default=None)
    return best.of_cpu if best and has(best) else -1


def with_amount(cpu: int, rows: list[Runqueue], amount: str) -> str:
    """The CPU and how much of @amount it has, for people."""
    if cpu < 0:
        return "nobody"
    field = {"tasks": "nr_fair"}.get(amount, amount)
    return f"CPU {cpu}" + "".join(f" with {getattr(rq, field)} of {amount}" for rq in rows if rq.of_cpu == cpu)


# --- tasks ------------------------------------------------------------------------------------------------------------


def is_hot(p: Pass, t: Task) -> bool:
    if t.has(TaskFlag.IDLE) or p.domain & Domain.SHARE_CPUCAPACITY:
        return False
    if p.flags & BalanceFlag.HOT_BUDDY and t.has(TaskFlag.NOMINATED) and t.has(TaskFlag.COMPANY):
        return True
    return t.since_ran < p.hot_ns


def size_of(amount: str, t: Task) -> int:
    return {"tasks": 1, "misfit": 1, "util": t.util, "load": max(t.load, 1)}[amount]


def fate_of(p: Pass, t: Task, left: int) -> str:
    """What becomes of a waiting task while so much is left to be moved."""
    if t.has(TaskFlag.THROTTLED):
        return "throttled"
    if not t.has(TaskFlag.ALLOWED):
        return "pinned"
    if t.has(TaskFlag.RUNS):
        return "running"
    if p.idleness != "idle" and is_hot(p, t) and p.failed <= p.cache_nice_tries:
        return "cache_hot"
    size = size_of(p.amount, t)
    if p.amount == "misfit":
        return "fits" if t.has(TaskFlag.FITS) else "moved"
    if p.amount == "load" and p.flags & BalanceFlag.LB_MIN and size < 16 and not p.failed:
        return "too_small"
    if p.amount in ("load", "util"):
        size >>= p.failed
    return "too_big" if size > left else "moved"


class Scan:
    """The tasks that were looked at for one destination, in their order."""

    def __init__(self, p: Pass, rows: list[Task], left: int, fair: int) -> None:
        """@fair: fair tasks on the runqueue."""
        self.p, self.rows, self.left, self.fair = p, rows, left, fair
        self.running, self.looks, self.moved = rows[0].nr_running, min(p.nr_migrate, rows[0].nr_running), 0

    def is_over(self) -> bool:
        """Nothing is left to be moved, or to be looked at; a CPU without work leaves one, and newly idle takes one."""
        idle = self.p.idleness != "busy"
        return (self.left <= 0 or not self.looks or self.running <= 1 and (idle or self.running < 1)
                or self.p.idleness == "newly_idle" and self.moved > 0 or self.moved >= self.fair)

    def judge(self) -> Verdict:
        for t in self.rows:
            if self.is_over():
                return f"task {t.pid} is looked at, though the scan is over"
            problem = same(f"before task {t.pid} tasks and amount", (t.nr_running, t.left), (self.running, self.left))
            problem = problem or same(f"task {t.pid} is", t.fate, fate_of(self.p, t, self.left))
            if problem:
                return problem
            self.looks -= 1
            if t.fate == "moved":
                self.left -= size_of(self.p.amount, t)
                self.running -= 1
                self.moved += 1
        return RIGHT if self.is_over() else f"the scan ends too early, {self.left} left and {self.looks} looks"


# The fields of sched_decision_runqueue that a pass goes by, for each reason to read a runqueue.
READ = {"asked": {"nr_running"}, "crowded": {"nr_running"}, "searched": {"nr_fair", "capacity", "full"},
        "measured": {"nr_running", "nr_fair", "load", "util", "runnable", "capacity", "full", "misfit"}}


def beside_the_point(rq: Runqueue, amount: str) -> Verdict:
    """A number that the pass had no reason to read."""
    read = READ[rq.look] | ({amount} if rq.look == "searched" else set())
    return next((f"the {name} of CPU {rq.of_cpu} is {getattr(rq, name)}, which is only {rq.look}"
                 for name in READ["measured"] - read if getattr(rq, name)), RIGHT)


def scans_of(tasks: tuple[Task, ...]) -> Iterator[list[Task]]:
    """The rows of each scan: a task that is asked to come ends the last one."""
    rows: list[Task] = []
    for t in tasks:
        if rows and rows[-1].to != t.to:
            yield rows
            rows = []
        rows.append(t)
    if rows:
        yield rows


# --- a pass -----------------------------------------------------------------------------------------------------------


class Judge:
    """Judges the passes of one file in their order: some rules go from one pass to another."""

    def __init__(self, tells: set[tuple[int, int]]) -> None:
        """@tells: (local part, domain) of passes that have a level above."""
        self.tells = tells
        self.hindered: dict[tuple[int, int], bool] = {}                # (first CPU, size) of a part: as it was told
        self.locals: dict[tuple[int, int], list[int]] = {}             # (local part, domain): its CPUs
        self.rounds: dict[tuple[int, int], tuple[Pass, bool]] = {}     # before this one; was a task pinned?

    def judge(self, p: Pass) -> Iterator[tuple[str, Verdict]]:
        """(step, verdict) of each step."""
        if not p.complete or not p.runqueues and (p.parts or p.rule == "another_balances"):
            yield "pass", NOT_JUDGED  # lost, or their events were off
            return
        before, self.before_pinned = self.rounds.pop((p.local, p.domain), (None, False)) if p.round else (None, False)
        measured = [rq for rq in p.runqueues if rq.look == "measured"]
        yield "who", self.who(p)
        yield "rows", next(filter(None, (beside_the_point(rq, p.amount) for rq in p.runqueues)), RIGHT)
        if not measured:
            yield "outcome", same("outcome", p.outcome, "skipped")
            yield "after", same("failures and interval", (p.failed_now, p.interval_now_ms), (p.failed, p.interval_ms))
            return
        parts = self.parts(p, measured)
        yield "CPUs", self.cpus(p, measured, before)
        yield "parts", next(filter(None, (same(f"part {row.part} is", row, parts[row.part]) for row in p.parts)), RIGHT)
        yield from self.moves(p, [parts[row.part] for row in p.parts])

    # Which CPU balances?

    def who(self, p: Pass) -> Verdict:
        asked = [rq for rq in p.runqueues if rq.look == "asked"]
        if p.round:
            return RIGHT if not asked else "CPUs are asked in a later round"
        if p.idleness == "newly_idle":
            return self.where(p)
        cpus = self.locals.get((p.local, p.domain))
        first = next((rq.of_cpu for rq in asked if rq.idle), min(rq.of_cpu for rq in asked))
        order = [rq.of_cpu for rq in asked]
        if order != sorted(order) or any(rq.idle for rq in asked[:-1]):
            return f"CPUs are asked in the order {order}, beyond the first that idles"
        if cpus and order != cpus[:len(order)] or cpus and not asked[-1].idle and order != cpus:
            return f"the CPUs asked are {order} of {cpus}"
        return same("skipped", (p.outcome, p.rule) == ("skipped", "another_balances"), first != p.cpu)

    def where(self, p: Pass) -> Verdict:
        """A newly idle CPU: behind its cache, or behind the next cache with waiting tasks."""
        if p.rule == "work_came":
            return NOT_JUDGED
        crowded = [rq for rq in p.runqueues if rq.look == "crowded"]
        beyond = [rq for rq in crowded if rq.part != p.local or p.domain & Domain.SHARE_LLC]
        problem = same("skipped", p.outcome == "skipped", not beyond)
        if problem or not beyond or p.domain & Domain.SHARE_LLC:
            return problem
        measured = [rq for rq in p.runqueues if rq.look == "measured"]
        after = sorted(beyond, key=lambda rq: (rq.of_cpu <= p.searched_from, rq.of_cpu))
        caches = {after[0].cache} | {rq.cache for rq in measured if rq.of_cpu == p.cpu}
        if {rq.cache for rq in measured} != caches:
            return f"caches of {sorted({rq.cache for rq in measured})} are compared; right are {sorted(caches)}"
        return RIGHT

    # Comparing parts

    def cpus(self, p: Pass, measured: list[Runqueue], before: Pass | None) -> Verdict:
        """Which CPUs take part."""
        found = sorted(rq.of_cpu for rq in measured)
        if len(set(found)) != len(found):
            return f"a CPU is measured twice: {found}"
        if before:
            left_out = {before.source} | {t.to for t in before.tasks} - {before.tasks[-1].to}
            earlier = {rq.of_cpu for rq in before.runqueues if rq.look == "measured"}
            return same("round", p.round, before.round + 1) or same("CPUs", found, sorted(earlier - left_out))
        if p.round:
            return NOT_JUDGED
        if p.idleness != "newly_idle":
            self.locals[p.local, p.domain] = sorted(rq.of_cpu for rq in measured if rq.part == p.local)
        if p.idleness != "newly_idle" or p.domain & Domain.SHARE_LLC:
            return same("CPUs measured", [row.weight for row in p.parts], [row.size for row in p.parts])
        return RIGHT

    def parts(self, p: Pass, measured: list[Runqueue]) -> dict[int, Part]:
        return {row.part: part_of(row.part, [rq for rq in measured if rq.part == row.part], p,
                                  self.hindered.get((row.part, row.size), False), row.size) for row in p.parts}

    # Moving tasks

    def moves(self, p: Pass, parts: list[Part]) -> Iterator[tuple[str, Verdict]]:
        local = next(part for part in parts if part.part == p.local)
        measured = [rq for rq in p.runqueues if rq.look == "measured"]
        here = next(rq.capacity for rq in measured if rq.of_cpu == p.cpu)
        losers = [part for part in parts if part is not local and (not p.domain & Domain.ASYM_CPUCAPACITY or can_lose(
            part, local, [rq for rq in measured if rq.part == part.part], here))]
        busiest = busiest_of(losers)
        if p.rule == "placed_by_energy":
            yield "rule", has_room(measured)
            yield "busiest", same("busiest and imbalance", (p.busiest, p.source, p.imbalance), (-1, -1, 0))
            yield from self.tasks(p)
            return
        rule = rule_of(p, parts, local, busiest)
        amount, imbalance = amount_of(p, parts, local, busiest) if busiest and rule in MOVES else ("load", 0)
        if rule in MOVES and not imbalance:
            rule = "nothing_to_move"
        if imbalance:
            yield "busiest", same("busiest", p.busiest, busiest.part if busiest else -1)
            yield "amount", same("imbalance", (p.amount, p.imbalance), (amount, imbalance))
            searched = [rq for rq in p.runqueues if rq.look == "searched"]
            expected = sorted(rq.of_cpu for rq in p.runqueues if rq.look == "measured" and busiest
                              and rq.part == busiest.part)
            yield "runqueue", (same("runqueues searched", [rq.of_cpu for rq in searched], expected)
                               or same("source", with_amount(p.source, searched, amount),
                                       with_amount(source_of(p, searched, amount, imbalance, here), searched, amount)))
            if p.source < 0:
                rule = "no_runqueue"
        else:
            yield "busiest", same("busiest and imbalance", (p.busiest, p.source, p.imbalance), (-1, -1, 0))
        # Where the load is only just below the mean, it comes to the same.
        alike = {p.rule, rule} == {"loads_alike", "nothing_to_move"}
        yield "rule", RIGHT if alike else same("rule", p.rule, rule)
        yield from self.tasks(p)

    def tasks(self, p: Pass) -> Iterator[tuple[str, Verdict]]:
        asked = [t for t in p.tasks if t.fate in ("pushed", "not_pushable")]
        rows = p.tasks
        if self.may_push(p) and p.outcome in ("pushed", "failed"):
            rows, asked = p.tasks[:-1], list(p.tasks[-1:])
            right = [self.push_fate(t) for t in asked] or ["asked"]
            yield "push", same("running task is", [t.fate for t in asked], right)
        elif asked:
            yield "push", "the running task is asked to come, too early"
        left, moved = p.imbalance, 0
        fair = next((rq.nr_fair for rq in p.runqueues if rq.look == "searched" and rq.of_cpu == p.source), 0)
        for scan_rows in scans_of(rows):
            scan = Scan(p, scan_rows, left, fair - moved)
            yield "tasks", scan.judge()
            left, moved = scan.left, moved + scan.moved
        if p.source >= 0 and not rows and p.source_running > 1:
            yield "tasks", NOT_JUDGED  # fair tasks left before the runqueue was locked
        yield "tasks", same("left", (p.left, p.nr_moved), (left, moved))
        held_runner = rows is not p.tasks and any(t.fate == "pinned" for t in asked)
        yield from self.after(p, rows, moved, held_runner)

    @staticmethod
    def may_push(p: Pass) -> bool:
        failed = p.failed + (p.idleness != "newly_idle")
        if p.amount == "misfit" or p.amount == "tasks" and failed > p.cache_nice_tries + 2:
            return True
        there = next((rq for rq in p.runqueues if rq.look == "searched" and rq.of_cpu == p.source), None)
        to = p.tasks[-1].to if p.tasks else p.cpu
        here = next((rq for rq in p.runqueues if rq.look == "measured" and rq.of_cpu == to), None)
        return (there is not None and here is not None and p.idleness != "busy" and there.nr_fair == 1
                and is_reduced(there, p.imbalance_pct)
                and there.capacity * p.imbalance_pct < here.capacity * 100)

    @staticmethod
    def push_fate(t: Task) -> str:
        if not t.has(TaskFlag.PUSHABLE):
            return "not_pushable"
        return "pushed" if t.has(TaskFlag.ALLOWED) else "pinned"

    # The outcome

    def after(self, p: Pass, rows: tuple[Task, ...], moved: int, held_runner: bool) -> Iterator[tuple[str, Verdict]]:
        pinned = any(t.fate == "pinned" for t in rows) or self.before_pinned
        # Affinity alone holds everything: somebody was looked at, and nobody could have moved.
        held = p.source >= 0 and bool(rows) and all(t.fate in ("pinned", "throttled") for t in rows)
        yield "outcome", same("outcome", p.outcome, self.outcome(p, moved, held))
        if p.outcome == "again":
            self.rounds[p.local, p.domain] = p, pinned
        now = (p.failed_now, p.interval_now_ms)
        yield "after", same("failures and interval", now, self.remains(p, held, held_runner))
        yield "hint", self.hint(p, pinned, held)

    def outcome(self, p: Pass, moved: int, held: bool) -> str:
        if p.source < 0:
            return "balanced"
        if moved:
            return "moved"
        if not held:
            return "pushed" if p.tasks and p.tasks[-1].fate == "pushed" else "failed"
        others = [rq for rq in p.runqueues if rq.look == "measured" and rq.part != p.local and rq.of_cpu != p.source]
        return "again" if others else "pinned"

    def remains(self, p: Pass, held: bool, held_runner: bool) -> tuple[int, int]:
        """(failures, interval) from now on. @held_runner: the running task was asked to come, but must stay."""
        if p.outcome == "again":
            return p.failed, p.interval_ms
        if p.outcome in ("moved", "pushed"):
            return 0, p.min_interval_ms
        newly_idle = p.idleness == "newly_idle"
        failed = p.outcome == "failed"
        all_held = held_runner and p.source_running == 1 if failed else held or p.round
        longest = max(PINNED_INTERVAL_MS if all_held else 0, p.max_interval_ms)
        longer = p.interval_ms * (2 if not newly_idle and p.interval_ms < longest else 1)
        if failed:
            return p.failed + (not newly_idle), longer if held_runner else p.min_interval_ms
        return 0, longer

    def hint(self, p: Pass, pinned: bool, held: bool) -> Verdict:
        """What the level above is told."""
        told = {BalanceFlag.HINDERED: True, BalanceFlag.FREE: False}.get(
            BalanceFlag(p.flags & (BalanceFlag.HINDERED | BalanceFlag.FREE)))
        if told is not None:
            self.hindered[min(row.part for row in p.parts), sum(row.size for row in p.parts)] = told
        if (p.local, p.domain) not in self.tells:
            return NOT_JUDGED  # there may be no level above
        right = True if p.source >= 0 and pinned and p.left > 0 else False if p.source < 0 and not p.round else None
        return same("hint", told, right)


class Whereabouts:
    """On which runqueue each task is, by the decisions about places, arrivals and departures of all classes."""

    def __init__(self) -> None:
        self.on: dict[int, int] = {}

    def note(self, d: Decision | ClassDecision) -> None:
        if d.pid and d.kind in ("place", "enter", "leave") and d.rule != "arrives_absent":
            self.on[d.pid] = d.cpu

    def judge(self, p: Pass) -> Verdict:
        """The tasks that the pass looked at were on its source, and those that moved are where they went."""
        if p.source < 0:
            return NOT_JUDGED
        for t in {t.pid: t for t in p.tasks}.values():  # the last row of each: pinned here, it may have moved there
            right = t.to if t.fate == "moved" else p.source
            if self.on.get(t.pid, right) != right:
                return f"task {t.pid} is {t.fate}, and it is on CPU {self.on[t.pid]}, not on CPU {right}"
        return RIGHT if any(t.pid in self.on for t in p.tasks) else NOT_JUDGED


class BalanceJudge(judging.Judge):
    """Judges each step of the passes of a file."""

    kinds = (Pass, Decision, ClassDecision)

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.passes: list[Pass] = []
        self.places = Whereabouts()

    def judge(self, d: Pass | Decision | ClassDecision) -> Iterator[Finding]:
        if not isinstance(d, Pass):
            self.places.note(d)
            return
        self.passes.append(d)
        if d.tasks:
            yield ("balance", "where"), words_of(d), self.places.judge(d)

    def end(self) -> Iterator[Finding]:
        hints = BalanceFlag.HINDERED | BalanceFlag.FREE
        judge = Judge({(p.local, p.domain) for p in self.passes if p.flags & hints})
        for p in self.passes:
            for step, verdict in judge.judge(p):
                yield ("balance", step), f"{words_of(p)}, {step}", verdict


def words_of(p: Pass) -> str:
    return f"{p.time} ns, CPU {p.cpu} at {p.level}"


if __name__ == "__main__":
    sys.exit(judging.main(__doc__, BalanceJudge))
