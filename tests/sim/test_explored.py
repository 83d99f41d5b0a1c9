# SPDX-License-Identifier: GPL-2.0-only
"""Machines under random operations: every decision that they record is one that the judges of tests/model give.

An exploration meets what no workload does: affinities that change while a task waits, wakeups inside other operations,
clocks that differ, CPUs that leave. The judges know the rules and nothing of sched/; each looks at the machines that
its rules are made for.
"""

import json
import os
import pathlib
import subprocess
from collections import Counter

import pytest
from tests.sim.conftest import BUILD

MODEL = pathlib.Path(__file__).parents[1] / "model"
from judge import FairJudge
from judge_balance import BalanceJudge
from judge_class import ClassJudge
from judge_cpu import PlacementJudge
from judging import examine

from fairground.decisions.placements import read

POLICIES = ("cfs", "bore-cfs", "eevdf", "bore", "fdl")
MACHINES, OPERATIONS = 36, 400
# Operations to leave out: they change rules that the judges take as given, or pass weeks, with a billion periods.
RULES = "feature,tunable,swap,far_sleep"
FULL_SPEEDS = 2  # "speeds" of machines on which each CPU may reach the whole capacity are less


def explore(path, policy, seed, without):
    """The first line of the file of decisions that the exploration writes to @path."""
    subprocess.run([os.path.join(BUILD, "schedsim"), "--sched", policy, "--seed", str(seed), "--ops", str(OPERATIONS),
                    "--decisions", str(path), "--without", without], check=True, stdout=subprocess.DEVNULL)
    with path.open(encoding="utf-8") as lines:
        return json.loads(next(lines))


def machines(tmp_path, policy, without=""):
    """(what machine it is, the file of its decisions) of each."""
    for number in range(MACHINES):
        path = tmp_path / "d.json"
        seed = 100 * (1 + POLICIES.index(policy)) + number
        yield explore(path, policy, seed, RULES + without), str(path)


def judged(path, kind, right, wrong):
    """Add up what the judge finds in @path: right decisions by what was decided, and complaints."""
    found = examine(path, [kind])
    wrong += found.wrong
    for (_, what), counts in found.counts.items():
        right[what] += counts[0]


@pytest.mark.sampled(2, "a decision of a class in an exploration under one policy")
@pytest.mark.parametrize("policy", POLICIES)
def test_classes(tmp_path, policy):
    """What real-time and deadline tasks get, while CPUs leave and come back."""
    right, wrong = Counter(), []
    for _, path in machines(tmp_path, policy):
        judged(path, ClassJudge, right, wrong)
    assert not wrong
    assert not {kind for kind in ("pick", "enter", "leave", "select", "throttle", "preempt") if right[kind] < 20}


@pytest.mark.sampled(2, "a step of balancing in an exploration under one policy")
@pytest.mark.parametrize("policy", POLICIES)
def test_balancing(tmp_path, policy):
    """Every step of each pass. A hint to the level above outlives its pass unless levels are made anew."""
    right, wrong = Counter(), []
    for head, path in machines(tmp_path, policy, ",cpu_off"):
        if head["speeds"] < FULL_SPEEDS:
            judged(path, BalanceJudge, right, wrong)
    assert not wrong
    steps = ("who", "rows", "parts", "busiest", "rule", "amount", "tasks", "where", "after", "hint")
    assert min(right[step] for step in steps) > 50


@pytest.mark.sampled(2, "a fair decision in an exploration under one policy")
@pytest.mark.parametrize("policy", POLICIES)
def test_fair_decisions(tmp_path, policy):
    """What a policy is asked. Quotas, whose timers may be late here, have an oracle beside the exploration."""
    right, wrong = Counter(), []
    for _, path in machines(tmp_path, policy, ",cpu_off,group_quota"):
        judged(path, FairJudge, right, wrong)
    assert not wrong
    assert not {kind for kind in ("pick", "preempt", "place", "charge", "leave") if right[kind] < 100}


@pytest.mark.sampled(2, "a placement in an exploration under one policy")
@pytest.mark.parametrize("policy", POLICIES)
def test_wakeups(tmp_path, policy):
    """Where a task wakes up, on machines without threads."""
    right, wrong = Counter(), []
    for head, path in machines(tmp_path, policy, ",cpu_off"):
        if head["topology"].startswith("1 thread") and head["speeds"] < FULL_SPEEDS:
            judged(path, PlacementJudge, right, wrong)
    assert not wrong and right["wakeup"] > 15


def test_energy_decides_often_enough(tmp_path):
    """Its oracle sees only what is reached: idle machines under schedutil, with fast CPUs and slow ones."""
    rules = Counter()
    for seed in range(60):
        explore(tmp_path / "d.json", "cfs", seed, RULES)
        rules += Counter(p.rule for p in read(str(tmp_path / "d.json")))
    assert rules["no_saving"] > 20 and rules["least_energy"] > 1
