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
import sys
from collections import Counter, defaultdict

import pytest
from conftest import BUILD

MODEL = pathlib.Path(__file__).parents[1] / "model"
sys.path.insert(0, str(MODEL))
import judge  # noqa: E402 (found above)
import judge_balance  # noqa: E402
import judge_class  # noqa: E402
import judge_cpu  # noqa: E402

POLICIES = ("cfs", "bore-cfs", "eevdf", "bore", "fdl")
MACHINES, OPERATIONS = 24, 400
# Operations to leave out: they change rules that the judges take as given, or pass weeks, with a billion periods.
RULES = "feature,tunable,swap,far_sleep"
FULL_SPEEDS = 2  # "speeds" of machines on which each CPU may reach the whole capacity are less
SHARE_US, PERIOD_US, SLICE_MS = 950_000, 1_000_000, 100


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


def note(counts, wrong, kind, verdict, text):
    counts[kind] += verdict == ""
    if verdict:
        wrong.append(f"{text}: {verdict}")


@pytest.mark.parametrize("policy", POLICIES)
def test_classes(tmp_path, policy):
    """What real-time and deadline tasks get, while CPUs leave and come back."""
    right, wrong = Counter(), []
    for head, path in machines(tmp_path, policy):
        court = judge_class.Court(head["hz"], SHARE_US, PERIOD_US, SLICE_MS, head["cpus"])
        for (_, kind), words, verdict in judge_class.judged(path, court):
            note(right, wrong, kind, verdict, words)
    assert not wrong
    assert not {kind for kind in ("pick", "enter", "leave", "select", "throttle", "preempt") if right[kind] < 20}


@pytest.mark.parametrize("policy", POLICIES)
def test_balancing(tmp_path, policy):
    """Every step of each pass. A hint to the level above outlives its pass unless levels are made anew."""
    right, wrong = Counter(), []
    for head, path in machines(tmp_path, policy, ",cpu_off"):
        if head["speeds"] >= FULL_SPEEDS:
            continue
        passes = list(judge_balance.read(path))
        hints = judge_balance.BalanceFlag.HINDERED | judge_balance.BalanceFlag.FREE
        judging = judge_balance.Judge({(p.local, p.domain) for p in passes if p.flags & hints})
        for p in passes:
            for step, verdict in judging.judge(p):
                note(right, wrong, step, verdict, f"{head['topology']}: {p.time} ns, CPU {p.cpu}, {step}")
    assert not wrong
    assert min(right[step] for step in ("who", "parts", "busiest", "rule", "amount", "tasks", "after", "hint")) > 50


@pytest.mark.parametrize("policy", POLICIES)
def test_fair_decisions(tmp_path, policy):
    """What a policy is asked. Quotas, whose timers may be late here, have an oracle beside the exploration."""
    counts, wrong = defaultdict(int), []
    for head, path in machines(tmp_path, policy, ",cpu_off,group_quota"):
        findings = judge.judge_file(path, head["hz"], {})
        wrong += findings.wrong
        for (_, kind), (right, _, _) in findings.counts.items():
            counts[kind] += right
    assert not wrong
    assert not {kind for kind in ("pick", "preempt", "place", "charge", "leave") if counts[kind] < 100}


@pytest.mark.parametrize("policy", POLICIES)
def test_wakeups(tmp_path, policy):
    """Where a task wakes up, on machines without threads."""
    right, wrong = Counter(), []
    for head, path in machines(tmp_path, policy, ",cpu_off"):
        if not head["topology"].startswith("1 thread") or head["speeds"] >= FULL_SPEEDS:
            continue
        for p in judge_cpu.read(path):
            if p.why & judge_cpu.WAKES:
                note(right, wrong, "wakeup", judge_cpu.judge(p, False), f"{p.time} ns, {p.comm}-{p.pid}")
    assert not wrong and right["wakeup"] > 15
