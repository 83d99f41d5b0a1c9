# SPDX-License-Identifier: GPL-2.0-only
"""Decisions of the real-time and deadline classes: all are right, a wrong one is seen, recording changes nothing."""

import json
import os
import subprocess
from dataclasses import replace

import pytest
from tests.sim.conftest import BUILD, ROOT, fairground_decisions

from asking import ask
from judge_class import Court

from fairground.decisions.class_decisions import read

SHARE_US = 90_000  # of each 100 ms
LIMITS = ["--rt-runtime-us", str(SHARE_US), "--rt-period-us", "100000", "--rr-timeslice-ms", "20"]
MIXED = ("hogs:n=2 hogs:n=2,policy=rr,prio=3 bursts:n=2,run=2ms,sleep=9ms,policy=fifo "
         "bursts:n=2,run=700us,sleep=4ms,policy=rr,prio=20 yielders:n=3,run=1ms,policy=rr,prio=3 "
         "periodic:policy=deadline,period=10ms,run=3ms,runtime=1ms,deadline=8ms,n=2 "
         "bursts:n=3,run=1ms,sleep=2ms,policy=deadline,runtime=2ms,period=20ms,deadline=7ms")


def judged(path):
    """(exit status, {(policy, act): (right, not judged, wrong)}, the complaints)."""
    answer = ask("judge_class", path, *LIMITS)
    assert not answer.err
    return answer[:3]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The path of a file of decisions, and its lines."""
    path = tmp_path_factory.mktemp("class") / "d.json"
    subprocess.run([os.path.join(BUILD, "schedsim"), "--cpus", "2", "--time", "400ms", "--set",
                    f"sched_rt_runtime_us={SHARE_US}", "--set", "sched_rt_period_us=100000", "--set",
                    "sched_rr_timeslice_ms=20", "--decisions", str(path),
                    *MIXED.split()], check=True, stdout=subprocess.DEVNULL)
    return path, path.read_text(encoding="utf-8").splitlines()


def test_every_decision_is_right(recorded):
    status, table, complaints = judged(recorded[0])
    assert status == 0 and not complaints and all(wrong == 0 for _, _, wrong in table.values())
    acts = {act for _, act in table}
    assert acts == {"pick", "preempt", "tick", "select", "enter", "leave", "yield", "throttle", "replenish", "push",
                    "pull"}
    right = {key: row[0] for key, row in table.items()}
    assert all(right[key] > 10 for key in (
        ("deadline", "pick"), ("deadline", "enter"), ("deadline", "throttle"), ("deadline", "replenish"),
        ("deadline", "preempt"), ("fifo", "pick"), ("rr", "pick"), ("rr", "enter"), ("rr", "leave")))
    assert sum(row[1] for row in table.values()) < sum(right.values()) / 100


SERVED = ("hogs:n=2,policy=fifo,prio=5 hogs:n=3 bursts:n=2,run=2ms,sleep=9ms,policy=rr,prio=9 "
          "bursts:n=3,run=1ms,sleep=2ms,policy=deadline,runtime=2ms,period=20ms,deadline=7ms "
          "bursts:n=2,run=1ms,sleep=300ms")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The same of a run with fair servers."""
    path = tmp_path_factory.mktemp("class") / "served.json"
    subprocess.run([os.path.join(BUILD, "schedsim"), "--sched", "eevdf", "--cpus", "2", "--time", "4s", "--decisions",
                    str(path), "--set", "sched_rr_timeslice_ms=20", *SERVED.split()], check=True,
                   stdout=subprocess.DEVNULL)
    return path, path.read_text(encoding="utf-8").splitlines()


def test_every_decision_about_the_fair_server_is_right(served):
    status, table, complaints = judged(served[0])
    assert status == 0 and not complaints
    right = {act: row[0] for (policy, act), row in table.items() if policy == "fair_server"}
    assert right["pick"] > 50 and all(right[act] > 1 for act in ("enter", "throttle", "replenish"))


def subject_of(d):
    return next((row for row in d["tasks"] if row["flags"] & 0x400), {"slice": 0, "budget": 0, "flags": 0})


# A condition for the decision that is changed, and the change.
CHANGES = [
    ("rr", "pick", lambda d: len(d["tasks"]) > 1, lambda d: d.update(pid=d["tasks"][-1]["pid"])),
    ("fifo", "pick", lambda d: True, lambda d: d.update(active=d["active"] | 2)),
    ("rr", "tick", lambda d: subject_of(d)["slice"] > 1, lambda d: d.update(slice=d["slice"] - 1)),
    ("rr", "tick", lambda d: d["answer"] == 0, lambda d: d.update(answer=1)),
    ("fifo", "enter", lambda d: d["position"] > 0, lambda d: d.update(position=0)),
    ("rr", "yield", lambda d: d["position"] > 0, lambda d: d.update(position=0)),
    ("fifo", "preempt", lambda d: True, lambda d: d.update(answer=1 - d["answer"])),
    ("rr", "push", lambda d: True, lambda d: d.update(to=d["cpu"])),
    ("real_time", "throttle", lambda d: True, lambda d: d.update(used=SHARE_US * 1000)),
    ("deadline", "pick", lambda d: len({row["deadline"] for row in d["tasks"] if not row["flags"] & 0x2000}) > 1,
     lambda d: d.update(pid=max((row["deadline"], row["pid"]) for row in d["tasks"] if not row["flags"] & 0x2000)[1])),
    ("deadline", "enter", lambda d: d["call"] == 1, lambda d: d.update(deadline=d["deadline"] + 1)),
    ("deadline", "enter", lambda d: d["call"] == 1, lambda d: d.update(budget=d["budget"] + 1)),
    ("deadline", "throttle", lambda d: True, lambda d: d.update(replenish_at=d["replenish_at"] - 1)),
    ("deadline", "replenish", lambda d: True, lambda d: d.update(budget=d["budget"] + 1)),
    ("deadline", "preempt", lambda d: True, lambda d: d.update(answer=1 - d["answer"])),
    # A task that stays is not sent away. A pick and a choice of a CPU change no number. Each rule claims something.
    ("rr", "select", lambda d: d["rule"] in ("stays", "displaces"), lambda d: d.update(to=1 - d["to"])),
    ("fifo", "select", lambda d: True, lambda d: d.update(rule="cpu_leaves")),
    ("fifo", "select", lambda d: True, lambda d: d.update(prio=d["prio"] + 1)),
    ("deadline", "select", lambda d: d["rule"] == "stays", lambda d: d.update(to=1 - d["to"])),
    ("deadline", "select", lambda d: True, lambda d: d.update(budget=d["budget"] + 1)),
    ("deadline", "pick", lambda d: True, lambda d: d.update(deadline=d["deadline"] + 1)),
    ("deadline", "pick", lambda d: True, lambda d: d.update(budget=d["budget"] + 1)),
    ("deadline", "throttle", lambda d: True, lambda d: d.update(rule="cpu_leaves")),
    ("real_time", "throttle", lambda d: True, lambda d: d.update(rule="cpu_leaves")),
    ("real_time", "replenish", lambda d: True, lambda d: d.update(rule="cpu_leaves")),
    ("rr", "pick", lambda d: True, lambda d: d.update(rule="nobody")),
    ("rr", "pick", lambda d: True, lambda d: d.update(to=1 - d["to"])),
    ("rr", "enter", lambda d: d["call"] == 1, lambda d: d.update(rule="arrives_new")),
    ("rr", "leave", lambda d: True, lambda d: d.update(rule="yields")),
    ("rr", "tick", lambda d: d["rule"] == "slice_lasts", lambda d: d.update(rule="slice_alone")),
]


@pytest.mark.sampled(4, "a rule of a class that its judge overlooks")
@pytest.mark.parametrize("policy, act, fits, change", CHANGES)
def test_one_wrong_decision_among_many_is_seen(recorded, tmp_path, policy, act, fits, change):
    """A single number of a single decision is changed in a file of right ones."""
    lines = list(recorded[1])
    for number, line in enumerate(lines[1:], 1):
        d = json.loads(line)
        if d["kind"] == "class" and (d["policy"], d["act"]) == (policy, act) and fits(d):
            change(d)
            lines[number] = json.dumps(d)
            break
    else:
        pytest.fail("there is no such decision")
    path = tmp_path / "d.json"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, table, complaints = judged(path)
    assert status == 1 and table[policy, act][2] >= 1 and f"{policy} {act}" in complaints[0]


@pytest.mark.sampled(3, "a rule of the fair server that its judge overlooks")
@pytest.mark.parametrize("act, change", [
    ("pick", lambda d: d["tasks"][-1].update(flags=0x6000)),
    ("enter", lambda d: d.update(deadline=d["deadline"] + 1)),
    ("throttle", lambda d: d.update(replenish_at=d["replenish_at"] - 1)),
    ("replenish", lambda d: d.update(clock=d["clock"] - 1025)),
    ("replenish", lambda d: d.update(budget=d["budget"] - 1)),
])
def test_one_wrong_decision_about_the_fair_server_is_seen(served, tmp_path, act, change):
    lines = list(served[1])
    number, d = next((number, d) for number, d in enumerate(map(json.loads, lines[1:]), 1)
                     if d["kind"] == "class" and (d["policy"], d["act"]) == ("fair_server", act))
    change(d)
    lines[number] = json.dumps(d)
    path = tmp_path / "d.json"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, table, complaints = judged(path)
    assert status == 1 and table["fair_server", act][2] == 1 and f"fair_server {act}" in complaints[0]


def test_of_equal_cpus_the_waker_s_or_the_next_in_turn_is_taken(tmp_path):
    """Several CPUs behind one cache idle: the last push to one of them goes to another, and that is seen."""
    path = tmp_path / "d.json"
    subprocess.run([os.path.join(BUILD, "schedsim"), "--cpus", "4", "--time", "100ms", "--decisions", str(path),
                    "bursts:n=3,run=2ms,sleep=9ms,policy=fifo,prio=9", "bursts:n=2,run=1ms,sleep=4ms,policy=rr"],
                   check=True, stdout=subprocess.DEVNULL)
    lines = path.read_text(encoding="utf-8").splitlines()
    moves = [(n, d) for n, d in enumerate(map(json.loads, lines[1:]), 1) if d["kind"] == "class" and (
        d["act"] == "push" or d["rule"] == "least_urgent_there") and sum(c["nr_running"] == 0 for c in d["cpus"]) > 1]
    number, d = moves[-1]
    other = next(c["of_cpu"] for c in d["cpus"] if not c["nr_running"] and c["of_cpu"] != d["to"])
    lines[number] = json.dumps({**d, "to": other})
    assert len({d["to"] for _, d in moves}) > 2 and judged(path)[0] == 0
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, _, complaints = judged(path)
    assert status == 1 and "with the least urgent work" in complaints[0]


def test_a_task_that_moves_in_its_list_is_seen(recorded, tmp_path):
    """Each record is right by itself, but two tasks of one priority changed places in between."""
    lines = list(recorded[1])
    for number, line in enumerate(lines[1:], 1):
        d = json.loads(line)
        if d["kind"] != "class" or d["act"] != "pick" or d["policy"] == "deadline" or len(d["tasks"]) < 3:
            continue
        a, b = d["tasks"][1:3]
        if a["prio"] == b["prio"]:
            d["tasks"][1:3] = [b, a]
            lines[number] = json.dumps(d)
            break
    path = tmp_path / "d.json"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    status, _, complaints = judged(path)
    assert status == 1 and "the queue has" in complaints[0]


@pytest.mark.parametrize("prompt", [True, False])
def test_a_turn_that_goes_on_after_its_end_is_seen(tmp_path, prompt):
    """The tick that ends a turn, and the next tick of the same task without a pick in between."""
    path = tmp_path / "d.json"
    subprocess.run([os.path.join(BUILD, "schedsim"), "--cpus", "1", "--time", "150ms", "--decisions", str(path),
                    "hogs:n=2,policy=rr"], check=True, stdout=subprocess.DEVNULL)
    court = Court(250, 950_000, 1_000_000, 100, prompt=prompt)
    for d in read(str(path)):
        assert not court.judge(d)
        if d.kind == "tick" and d.answer:
            break
    first, second = d.candidates
    goes_on = replace(d, answer=0, rule="slice_lasts", slice=d.slice - 1,
                      candidates=(second, first._replace(slice=d.slice)))
    assert bool(court.judge(goes_on)) == prompt


def test_recording_changes_nothing(traced_alike):
    traced_alike(f"--cpus 2 --time 400ms {MIXED}")


def test_they_are_printed_among_the_others(recorded):
    out = fairground_decisions(recorded[0], "--policy", "deadline", "--kind", "throttle", "--limit", "1", "--full")
    assert "throttled, because it ran for its budget. Afterwards: deadline in" in out and "bandwidth" in out
    out = fairground_decisions(recorded[0], "--rule", "slice_over", "--limit", "3")
    assert out.count("turn is over") == 3 and out.count("its slice is used up") == 3
    table = {tuple(line.split()[:3]) for line in fairground_decisions(recorded[0], "--stats").splitlines()}
    assert {("rr", "pick", "most_urgent"), ("cfs", "pick", "only_one"),
            ("deadline", "pick", "earliest_deadline")} <= table
