#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge placements by energy: does each woken task go where, by the Juno's table, it takes the least energy?

The rules are those of Linux 6.1 (docs/energy.md). The table is the published energy model of the Juno, not the one of
lib/. From the facts of a record alone (sched_decision_select with its rows of CPUs' use) it is worked out, in exact
integers and fractions, what each CPU would use with the task and has to spare then, which CPUs are candidates, what
each domain would take, and where the task belongs.

A placement is right, wrong, or not judged: it is not one by energy, rows are missing, or the machine is no Juno.

Usage: judge_energy.py FILE...    status 1: a placement is wrong; 2: not all could be judged
"""

import sys
from collections.abc import Iterator
from fractions import Fraction

from judging import Finding, Judge, Verdict, main, words_of

from fairground.decisions.placements import Energy, EnergyFlag, Placement, Use, UseFlag  # all that is shared

RULES = ("least_energy", "no_saving", "uses_nothing", "no_estimate")
# By the capacity of a CPU: (MHz, power of a busy CPU) of each point, the slowest first.
JUNO = {1024: ((450, 168), (625, 251), (800, 359), (950, 479), (1100, 616)),
        447: ((450, 33), (575, 46), (700, 61), (775, 76), (850, 93))}
ENOUGH = Fraction(4, 5)     # of a CPU's capacity: who uses less leaves room
HEADROOM = Fraction(5, 4)   # by which the governor exceeds what is used
WHOLE = 1024


def fair_use(use: Use, task: Energy, there: bool) -> int:
    """What fair tasks use of the CPU, with the task or without."""
    if use.has(UseFlag.COUNTED):
        averaged = use.util if there else max(use.util - task.util, 0)
    else:
        averaged = use.util + (task.util if there else 0)
    expected = use.estimate + (task.estimate if there else 0)
    return min(max(averaged, expected) if task.has(EnergyFlag.UTIL_EST) else averaged, use.full)


def clamps(use: Use, task: Energy, there: bool) -> tuple[int, int]:
    if not there:
        return use.least, use.most
    if use.has(UseFlag.CLAMP_IDLE):
        return task.least, task.most
    return max(use.least, task.least), max(use.most, task.most)


def asked(use: Use, task: Energy, there: bool) -> int:
    """The utilisation for which `schedutil` chooses a point."""
    if not task.has(EnergyFlag.CLAMPED):
        return use.full if use.has(UseFlag.REAL_TIME) else min(fair_use(use, task, there) + use.urgent, use.full)
    least, most = clamps(use, task, there)
    return min(max(min(fair_use(use, task, there) + use.urgent, most), least), use.full)


def fits(use: Use, task: Energy) -> bool:
    used = fair_use(use, task, True)
    enough = used < ENOUGH * use.capacity
    if not task.has(EnergyFlag.CLAMPED):
        return enough
    least, most = clamps(use, task, True)
    if most <= use.full and not most == use.full == WHOLE:
        enough = True
    return enough and (use.full == WHOLE or min(least, most) <= max(used, use.full))


def spare(use: Use, task: Energy) -> int:
    return max(use.capacity - fair_use(use, task, True), 0) if fits(use, task) else 0


def energy(cpus: list[Use], task: Energy, there: int) -> int:
    """Of a domain, with the task on the CPU numbered @there; -1: on none. In thousandths of the table's unit."""
    full = cpus[0].full
    points, (fastest, _) = JUNO[full], JUNO[full][-1]
    most = max(asked(use, task, use.of_cpu == there) for use in cpus)
    wanted = int(HEADROOM * fastest * 1000 * most / full)  # kHz
    mhz, power = next((point for point in points if point[0] * 1000 >= wanted), points[-1])
    used = sum(min(fair_use(use, task, False) + use.urgent, use.full) for use in cpus)
    used += max(task.util, task.estimate) if there >= 0 else 0
    return power * 1000 * fastest // mhz * min(used, full * len(cpus)) // full


def candidates(cpus: list[Use], task: Energy) -> tuple[int, int]:
    """The task's last CPU, and the one with the most to spare of the others, if it has more than that; -1: not one."""
    near = [use for use in cpus if use.has(UseFlag.ALLOWED) and use.has(UseFlag.NEAR) and spare(use, task)]
    last = next((use for use in near if use.has(UseFlag.LAST)), None)
    others = [use for use in near if use is not last]
    best = max(others, key=lambda use: (spare(use, task), -use.of_cpu), default=None)
    if best and last and spare(best, task) <= spare(last, task):
        best = None
    return last.of_cpu if last else -1, best.of_cpu if best else -1


def answer(p: Placement, domains: list[tuple[list[Use], Energy]]) -> tuple[str, int]:
    """By which rule, and which CPU."""
    costs: list[tuple[int, int]] = []  # of candidates elsewhere
    stay = None
    for cpus, task in domains:
        without = energy(cpus, task, -1)
        last, best = candidates(cpus, task)
        of = {cpu: energy(cpus, task, cpu) - without for cpu in (last, best) if cpu >= 0}
        if any(cost < 0 for cost in of.values()):
            return "no_estimate", p.last
        stay = of.get(last, stay)
        costs += [(of[best], best)] if best >= 0 else []
    if costs:
        cost, cpu = min(costs, key=lambda pair: pair[0])  # of equals the first
        if stay is None or cost < stay:
            return "least_energy", cpu
    return "no_saving", p.last


def steps(p: Placement) -> Iterator[tuple[str, Verdict]]:
    """Each step of the placement, and what is wrong with it."""
    if p.rule == "uses_nothing":
        yield "answer", "" if not p.energies and p.chosen == p.last else f"CPU {p.chosen}"
        return
    domains = [([use for use in p.uses if use.domain == task.domain], task) for task in p.energies]
    if not domains or len(p.uses) != sum(len(cpus) for cpus, _ in domains) or not all(cpus for cpus, _ in domains) \
            or any(use.full not in JUNO for use in p.uses):
        yield "answer", None
        return
    for cpus, task in domains:
        wrong = [use.of_cpu for use in cpus if (use.with_task, use.spare) != (fair_use(use, task, True),
                                                                              spare(use, task))]
        yield "use", f"CPUs {wrong}: what they use with the task" if wrong else ""
        right = candidates(cpus, task)
        yield "candidates", "" if (task.last, task.best) == right else f"{(task.last, task.best)}; right is {right}"
        found = (task.without, task.with_last, task.with_best)
        of = (energy(cpus, task, -1), *(energy(cpus, task, cpu) if cpu >= 0 else 0 for cpu in right))
        yield "energy", "" if found == of else f"{found}; right is {of}"
    found_answer, right_answer = (p.rule, p.chosen), answer(p, domains)
    if p.rule != "no_estimate" and len(p.uses) != p.nr_cpus:  # without an estimate later domains have no rows
        yield "answer", None
    else:
        yield "answer", "" if found_answer == right_answer else f"{found_answer}; right is {right_answer}"


class EnergyJudge(Judge):
    """Judges where tasks woke up that were placed by energy."""

    kinds = (Placement,)
    remembers = False

    def judge(self, p: Placement) -> Iterator[Finding]:
        for step, verdict in steps(p) if p.rule in RULES else ():
            yield ("energy", step), words_of(p), verdict


if __name__ == "__main__":
    sys.exit(main(__doc__, EnergyJudge))
