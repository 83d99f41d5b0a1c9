#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge the placements of a run: is each chosen CPU the one that the rules of Linux 6.1 give, by brute force?

The rules in the order of their force, from the facts of a record (sched_decision_select and its rows):

    aim      a wakeup near the waker's CPU or the last one: whichever idles, if they share a cache; the waker's if it
             is alone there and about to sleep; the last one if it idles; the less loaded for its capacity
    answer   the CPU aimed at, the last, the recent one, the first of the cache from the one aimed at on, if it is free
             and allowed; otherwise the one aimed at. A new task: an idle CPU, if its parent's does not idle
    speeds   where CPUs have several capacities, a free CPU must have enough for the task, too; the search is that of
             the cache if it has all capacities, else of the machine; without a fit the free CPU with most is taken

Other records of the task tell more: it must be queued where the answer says, it fell asleep on its last CPU, and its
recent CPU is the last one of its last placement that found neither that nor the CPU aimed at free.

A placement is right, wrong, or not judged: CPUs are missing or changed meanwhile, averages decide that the record does
not have, or features and policies had their say. Machines with threads are searched in another order, and are for
another judge. Nothing of sched/ is used.

Usage: judge_cpu.py FILE...    status 1: a placement is wrong; 2: not all could be judged
"""

import sys
from collections.abc import Iterator
from fractions import Fraction

from judge_energy import RULES as BY_ENERGY
from judging import NOT_JUDGED, RIGHT, Finding, Judge, Run, Verdict, main, words_of

from fairground.decisions.fair_decisions import Decision  # how a file is read is all that is shared
from fairground.decisions.placements import EXECS, NEW, SYNC, WAKES, Cpu, Flag, Placement


FASTEST = 1024


def aim_of(p: Placement, waker: Cpu, last: Cpu) -> str | None:
    """The aim of a wakeup whose waker is elsewhere, or None where the record does not tell."""
    if not p.bias_pct:
        return None  # the waker wakes many, or shares no domain: aiming was not asked for
    if waker.has(Flag.IDLE) and waker.cache == last.cache:
        return "last_idles" if last.has(Flag.IDLE) else "waker_idles"
    if p.why & SYNC and waker.nr_running == 1:
        return "waker_sleeps"
    if last.has(Flag.IDLE):
        return "last_idles"
    if p.why & SYNC:
        return None  # the waker's own load would not count, and is not in the record
    here = Fraction((waker.load + p.load) * 100, waker.capacity)
    there = Fraction(max(last.load - p.load, 0) * (100 + p.bias_pct), last.capacity)
    return "waker_lighter" if here < there else "ran_there"


def judge_aim(p: Placement, cpus: dict[int, Cpu]) -> Verdict:
    if p.waker == p.last or not cpus[p.waker].has(Flag.ALLOWED):
        return RIGHT if (p.aim, p.aimed) == ("ran_there", p.last) else f"aimed at {p.aimed}, and not where it ran last"
    aim = aim_of(p, cpus[p.waker], cpus[p.last])
    if aim is None:
        return NOT_JUDGED
    aimed = p.last if aim in ("ran_there", "last_idles") else p.waker
    return RIGHT if (p.aim, p.aimed) == (aim, aimed) else f"aimed at {p.aimed} by {p.aim}; right is {aimed} by {aim}"


def fits(p: Placement, cpu: Cpu) -> bool:
    """Has @cpu a fifth more than the task uses, or than its clamps allow? On the fastest 1024 is no clamp."""
    if p.most <= cpu.full and (p.most, cpu.full) != (FASTEST, FASTEST):
        enough = True
    else:
        enough = Fraction(p.util * 5, 4) < cpu.capacity
    wanted = min(p.least, p.most)
    return enough and (wanted <= p.util or cpu.full == FASTEST or wanted <= cpu.full)


def searched(p: Placement, cpus: dict[int, Cpu]) -> list[Cpu] | None:
    """The CPUs among which one with enough for the task is searched, in order; None: the record does not tell."""
    speeds = {cpu.full for cpu in cpus.values()}
    cache = [cpu for cpu in cpus.values() if cpu.cache == cpus[p.aimed].cache]
    if {cpu.full for cpu in cache} == speeds:
        among = cache
    elif len({cpu.cache for cpu in cpus.values()}) == 2:
        among = list(cpus.values())
    else:
        return None  # a node or the machine: records do not tell what belongs to a node
    return sorted(among, key=lambda cpu: (cpu.of_cpu < p.aimed, cpu.of_cpu))


def fastest_of(p: Placement, cpus: dict[int, Cpu]) -> tuple[str, int] | None:
    """As answer_of(), on a machine of several capacities, after the three CPUs that are tried first."""
    among = searched(p, cpus)
    if among is None:
        return None
    free = [cpu for cpu in among if cpu.has(Flag.FREE) and cpu.has(Flag.ALLOWED)]
    for cpu in free:
        if fits(p, cpu):
            return "free_and_fits", cpu.of_cpu
    if not free:
        return "none_free", p.aimed
    return "most_capacity", max(free, key=lambda cpu: cpu.capacity).of_cpu  # of equals the first


def answer_of(p: Placement, cpus: dict[int, Cpu]) -> tuple[str, int] | None:
    """The rule and the CPU that are right, or None where the record does not tell."""
    uneven = len({cpu.full for cpu in cpus.values()}) > 1

    def suits(number: int) -> bool:
        cpu = cpus[number]
        return cpu.has(Flag.FREE) and cpu.has(Flag.ALLOWED) and (not uneven or fits(p, cpu))

    if suits(p.aimed):
        return "aim_free", p.aimed
    for rule, number in (("last_free", p.last), ("recent_free", p.recent)):
        if number in cpus and cpus[number].cache == cpus[p.aimed].cache and suits(number):
            return rule, number
    if uneven:
        return fastest_of(p, cpus)
    around = sorted((c for c in cpus if cpus[c].cache == cpus[p.aimed].cache and cpus[c].has(Flag.ALLOWED)),
                    key=lambda c: (c - p.aimed - 1) % (max(cpus) + 1))
    return next((("free_in_cache", c) for c in around[:p.scan] if suits(c)), ("none_free", p.aimed))


def judge_waker(p: Placement, cpus: dict[int, Cpu]) -> Verdict:
    """Can the waker be on that CPU? Who begins is placed by its parent or itself, and there the search begins."""
    if not p.why & WAKES:
        if p.waker != p.aimed or p.why & NEW and p.last != p.waker:
            return f"the parent is on CPU {p.waker}, the search begins on CPU {p.aimed}, and it was on CPU {p.last}"
        return RIGHT
    waker = cpus.get(p.waker)
    if p.bias_pct and (p.waker == p.last or waker and not waker.has(Flag.ALLOWED)):
        return f"the loads of two CPUs were to be compared, but CPU {p.waker} of the waker is the last or not allowed"
    return RIGHT


def judge_wakeup(p: Placement, cpus: dict[int, Cpu]) -> Verdict:
    if p.rule in BY_ENERGY:
        return NOT_JUDGED if (p.aim, p.aimed) == ("ran_there", p.last) else f"aimed at {p.aimed}"
    if p.last not in cpus or p.waker not in cpus:
        return NOT_JUDGED  # that CPU left
    aim = judge_aim(p, cpus)
    if aim or p.rule in ("policy_chose", "free_in_node", "free_in_machine", "only_allowed"):
        return aim or NOT_JUDGED
    answer = answer_of(p, cpus)
    if answer is None:
        return NOT_JUDGED
    if (p.rule, p.chosen) != answer:
        return f"CPU {p.chosen} by {p.rule}; right is {answer[1]} by {answer[0]}"
    return aim


def judge_new(p: Placement, cpus: dict[int, Cpu]) -> Verdict:
    if p.aimed not in cpus or not cpus[p.aimed].has(Flag.ALLOWED):
        return NOT_JUDGED
    if cpus[p.aimed].has(Flag.IDLE):
        return RIGHT if p.chosen == p.aimed else f"CPU {p.chosen}, though the parent's idles"
    if p.why & EXECS and cpus[p.aimed].nr_running == 1:  # it is alone there: without it that CPU idles
        return RIGHT if p.chosen == p.aimed else f"CPU {p.chosen}, though it is alone where it runs"
    idle = [c for c in cpus if cpus[c].has(Flag.IDLE) and cpus[c].has(Flag.ALLOWED)]
    if not idle:
        return NOT_JUDGED  # averages decide that are not in the record
    return RIGHT if cpus[p.chosen].has(Flag.FREE) else f"CPU {p.chosen}, though {idle} idle"


# Rules by which a task that does not wake up gets its CPU, and what each claims.
BEGINS = {
    "aim_free": lambda p, cpus: p.chosen == p.aimed and cpus[p.aimed].has(Flag.FREE),
    "idlest": lambda p, cpus: True,  # of which averages tell
    "none_idler": lambda p, cpus: p.chosen == p.aimed,
    "only_allowed": lambda p, cpus: p.aimed not in cpus or not cpus[p.aimed].has(Flag.ALLOWED),
    "policy_chose": lambda p, cpus: True,  # it has its own reasons
}


def judge_reason(p: Placement, cpus: dict[int, Cpu]) -> Verdict:
    """Does the rule hold that a task got its CPU by, which is new or execs? Wakeups give theirs with the answer."""
    holds = BEGINS.get(p.rule)
    if not holds:
        return f"no task that begins is placed by {p.rule}"
    return RIGHT if holds(p, cpus) else f"the reason given is {p.rule}, and that does not hold"


def judge_order(p: Placement) -> Verdict:
    """The rows begin with the CPU where the task ran last, and go around."""
    order = [cpu.of_cpu for cpu in p.cpus]
    right = sorted(order, key=lambda cpu: (cpu < p.last, cpu))
    return RIGHT if order == right else f"it ran last on CPU {p.last}, and the rows are those of CPUs {order}"


def judge(p: Placement, flat: bool) -> Verdict:
    """@flat: the machine has one cache and no threads."""
    cpus = {cpu.of_cpu: cpu for cpu in p.cpus}
    if not p.complete:
        return NOT_JUDGED
    order = judge_order(p)
    if order or any(cpu.has(Flag.CHANGED) for cpu in p.cpus):
        return order or NOT_JUDGED
    if p.chosen not in cpus:
        return f"CPU {p.chosen} is not in service"
    if not cpus[p.chosen].has(Flag.ALLOWED) and any(cpu.has(Flag.ALLOWED) for cpu in p.cpus):
        return f"CPU {p.chosen} is not allowed"
    waker = judge_waker(p, cpus)
    if waker:
        return waker
    if p.why & WAKES:
        return judge_wakeup(p, cpus)
    return judge_reason(p, cpus) or (judge_new(p, cpus) if flat else NOT_JUDGED)


KEEPS_RECENT = {"aim_free", "last_free", *BY_ENERGY}  # with these the search ended before it


class Recent:
    """Which CPU is the recent one of each task, by its placements so far."""

    def __init__(self) -> None:
        self.before: dict[int, tuple[Placement, set[int]]] = {}  # by pid: the last one, and what may be recent since

    def judge(self, p: Placement) -> Verdict:
        last, may = self.before.get(p.pid, (None, set[int]()))
        if not last or p.why & NEW or p.recent in may:
            return RIGHT
        if last.time == p.time and last.waker != p.waker:
            return RIGHT  # which of the two came first is not known
        return f"its recent CPU is {p.recent}, and by its placements so far {' or '.join(map(str, sorted(may)))}"

    def note(self, p: Placement, verdict: Verdict) -> None:
        """A wrong recent CPU is not believed; of what else is wrong, what it did to that CPU is not known."""
        wrong = self.judge(p)
        if verdict and not wrong:
            self.before.pop(p.pid, None)
            return
        may = self.before[p.pid][1] if wrong else {p.recent}
        if p.why & WAKES and p.rule not in KEEPS_RECENT:
            may = may | {p.last} if p.rule == "only_allowed" else {p.last}
        self.before[p.pid] = p, may


class PlacementJudge(Judge):
    """Judges on which CPU each task woke up or started."""

    kinds = (Placement, Decision)

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.slept: dict[int, int] = {}  # by pid: the CPU on which the task fell asleep
        self.recent = Recent()
        self.waiting: dict[int, tuple[int, Finding]] = {}  # by pid: the CPU chosen, where the task must be queued next

    def judge(self, p: Placement | Decision) -> Iterator[Finding]:
        if isinstance(p, Decision):
            if p.rule in ("arrives_absent", "arrives_new") and p.pid not in self.waiting:
                self.recent.before.pop(p.pid, None)  # a new task whose placement is not told, perhaps with an old pid
            yield from self.arrives(p)
            if p.pid and p.kind == "leave" and p.rule == "sleeps" and not p.answer:
                self.slept[p.pid] = p.cpu
            elif p.pid and p.kind in ("place", "leave"):
                self.slept.pop(p.pid, None)
            return
        verdict = judge(p, len(p.sharing()) == len(p.cpus))
        verdict = verdict or self.recent.judge(p) or verdict
        slept = self.slept.get(p.pid, p.last)
        if p.why & WAKES and slept != p.last:
            verdict = f"it fell asleep on CPU {slept}, and not on CPU {p.last}"
        self.recent.note(p, verdict)
        if p.pid in self.waiting:
            yield self.waiting.pop(p.pid)[1]
        finding = ("placement", "wakeup" if p.why & WAKES else "start"), words_of(p), verdict
        if p.why & EXECS:
            yield finding  # it goes there later, unless it may not any more
        else:
            self.waiting[p.pid] = p.chosen, finding

    def arrives(self, d: Decision) -> Iterator[Finding]:
        """Is @d about a task that was given a CPU? Then it must be queued there, before anything else happens to it."""
        if d.pid not in self.waiting or d.rule in ("departs", "arrives_absent"):
            return  # it takes its virtual time along
        chosen, (key, words, verdict) = self.waiting.pop(d.pid)
        if d.rule in ("arrives_woken", "arrives_new") and d.cpu != chosen:
            verdict = verdict or f"CPU {chosen}, but it was queued on CPU {d.cpu}"
        yield key, words, verdict

    def end(self) -> Iterator[Finding]:
        for _, finding in self.waiting.values():
            yield finding


if __name__ == "__main__":
    sys.exit(main(__doc__, PlacementJudge))
